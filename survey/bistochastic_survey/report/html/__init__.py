"""HTML made of plain text and numbers: elements, tables, shaded and with bars, whole pages.

Everything is escaped unless it is ``Markup``, which only the
functions of this folder make. So a category named ``<script>`` is shown as it is spelled.
"""

from bistochastic_survey.report.html.elements import Markup, element, facts, join, table
from bistochastic_survey.report.html.page import fragment, page, section
from bistochastic_survey.report.html.pictures import bars, between, heat

__all__ = [
    "Markup",
    "bars",
    "between",
    "element",
    "facts",
    "fragment",
    "heat",
    "join",
    "page",
    "section",
    "table",
]
