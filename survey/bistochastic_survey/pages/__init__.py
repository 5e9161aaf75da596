"""Pages and pieces of pages: templates with everything escaped, one style, shades and bars.

Nothing here knows a plan, a release or an audit: these folders give what their templates show.
"""

from bistochastic_survey.pages.templates import render

__all__ = ["render"]
