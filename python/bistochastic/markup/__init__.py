"""HTML made of plain text and numbers: elements, tables, pictures, whole pages.

Everything is escaped unless it is :class:`~bistochastic.markup.elements.Markup`, which only the
functions of this folder make. So a category named ``<script>`` is shown as it is spelled.
"""

from bistochastic.markup.elements import Markup, element, facts, join, table
from bistochastic.markup.page import fragment, page, section
from bistochastic.markup.pictures import bars, heat, titled

__all__ = [
    "Markup",
    "bars",
    "element",
    "facts",
    "fragment",
    "heat",
    "join",
    "page",
    "section",
    "table",
    "titled",
]
