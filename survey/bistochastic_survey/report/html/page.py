"""Complete pages that need no other files, and fragments for notebooks.

A page holds its style. Its policy lets a browser load nothing else: it names the
style by its digest.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from bistochastic_survey.report.html.elements import Markup, element
from bistochastic_survey.report.html.pictures import steps


@cache
def _style(name: str) -> str:
    """Read a style: of tables wherever they stand, or of a whole page."""
    read = Path(__file__).with_name(f"{name}.css").read_text(encoding="utf-8")
    return read + steps() if name == "fragment" else read


def page(
    title: str,
    *children: object,
    lead: object = None,
    banner: object = None,
    summary: object = None,
    contents: Sequence[tuple[str, str]] = (),
    footer: object = None,
) -> str:
    """Write a whole page: a head, ``children`` as the main part, and a footer.

    ``summary`` is in a box below the title, and ``banner`` in a frame above everything.
    ``contents`` are (id, words) of sections, as links.
    """
    style = _style("fragment") + _style("page")
    policy = f"default-src 'none'; style-src {_digest(style)}; base-uri 'none'; form-action 'none'"
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width,initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        Markup(f"<style>{style}</style>"),
    ]
    listed = [element("li", element("a", words, href=f"#{id}")) for id, words in contents]
    nav = element("nav", element("ol", listed), class_="bs-contents", aria_label="Contents")
    body = [
        element("a", "Skip to the text", class_="bs-skip", href="#main"),
        element(
            "header",
            None if banner is None else element("p", banner, class_="bs-banner"),
            element("h1", title),
            None if lead is None else element("p", lead, class_="bs-lead"),
            None if summary is None else element("div", summary, class_="bs-box"),
        ),
        nav if contents else None,
        element("main", *children, id="main", tabindex="-1"),
        None if footer is None else element("footer", element("p", footer)),
    ]
    whole = element("html", element("head", head), "\n", element("body", body), lang="en")
    return f"<!doctype html>\n{whole}\n"


def section(title: object, *children: object, id: str) -> Markup:
    """Make a section of a page with a heading that links can point to."""
    head = element("h2", title, id=f"{id}-title")
    return element("section", head, *children, "\n", id=id, aria_labelledby=f"{id}-title")


def fragment(*children: object) -> Markup:
    """Make a fragment for a notebook, with the style that tables need."""
    return element("div", Markup(f"<style>{_style('fragment')}</style>"), *children)


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
