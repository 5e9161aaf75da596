"""Pages and pieces of pages: templates with everything escaped, one style, shades and bars.

Nothing here knows a plan, a release or an audit: these folders give what their templates show.

Whatever is filled in is escaped, so a category named ``<script>`` is shown as it is spelled. What
cannot be printed, or turns the direction of writing, is shown as Python writes it: half of a pair
cannot be stored in a file, and one label must not look like another.
"""

import base64
import hashlib
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from bistochastic_survey.wording import visible_lines


@cache
def environment() -> Environment:
    """Return the environment of all templates."""
    made = Environment(
        loader=PackageLoader("bistochastic_survey", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["sha256"] = _digest
    return made


def render(name: str, **given: object) -> str:
    """Fill in the template ``<name>.html.j2``.

    >>> render("notebook", caption="<b>", pairs=[("a", "b")]).partition("<tbody>")[2]
    '<tr><th scope="row">a</th><td>b</td></tr></tbody></table></div>'
    """
    return environment().get_template(f"{name}.html.j2").render(given)


def _shown(value: object) -> object:
    """Return what is written in the place of an expression. Markup is of templates alone."""
    return value if hasattr(value, "__html__") else visible_lines(str(value))


def _digest(style: str) -> str:
    """Name a style as the policy of a page does."""
    return f"sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}"
