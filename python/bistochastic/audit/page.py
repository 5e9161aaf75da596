"""An audit as a page of its own, and as a piece for notebooks. Both say that they stay inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bistochastic import _core, markup
from bistochastic.audit.results import NOT_FOR_RELEASE, listed
from bistochastic.audit.words import findings, lead, percent, sections
from bistochastic.files.whole import write as write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bistochastic.audit.results import Audit, Marginal
    from bistochastic.audit.words import Section
    from bistochastic.markup import Markup

_BANNER = NOT_FOR_RELEASE[0].upper() + NOT_FOR_RELEASE[1:]
# Longer lists of categories are in the object alone.
_LEVELS = 60


def write(audit: Audit, path: object) -> None:
    """Write the page; an old file stays until the new one is whole."""
    write_whole(_core.as_path("path", path), "path", page(audit))


def page(audit: Audit) -> str:
    """The whole page."""
    every = sections(audit)
    parts = [_first(audit)]
    parts += [_section(audit, each) for each in every]
    contents = [("first", "Findings"), *((each.id, each.title) for each in every)]
    if audit.notes:
        parts.append(markup.section("Not measured", _list(audit.notes), id="left-out"))
        contents.append(("left-out", "Not measured"))
    return markup.page(
        "Audit of a release",
        *parts,
        lead=_words(lead(audit)),
        banner=_BANNER,
        contents=contents,
        footer=f"{_BANNER}. Keep this page as confidential as the original.",
    )


def notebook(audit: Audit) -> str:
    """What to look at first, and the two attacks that matter most."""
    every = {each.id: each for each in sections(audit)}
    tables = [
        markup.table(header, rows, caption=caption, left=range(texts), scroll=False)
        for name in ("guesses", "linkage")
        for caption, header, rows, texts in every[name].tables
    ]
    banner = markup.element("p", markup.element("strong", _BANNER))
    return str(markup.fragment(banner, _list(findings(audit)), *tables))


def _words(sentence: str) -> list[Markup]:
    """A sentence whose names in backticks are set as code; names hold no backtick themselves."""
    parts = sentence.split("`")
    return [markup.element("code", part) if i % 2 else markup.join(part)
            for i, part in enumerate(parts)]  # fmt: skip


def _list(sentences: Iterable[str]) -> Markup:
    return markup.element("ul", [markup.element("li", _words(each)) for each in sentences])


def _first(audit: Audit) -> Markup:
    found = list(findings(audit))
    what = _list(found) if found else markup.element("p", "Nothing stands out.")
    return markup.section("Findings", what, id="first")


def _section(audit: Audit, section: Section) -> Markup:
    tables = [
        markup.table(header, rows, caption=caption, left=range(texts))
        for caption, header, rows, texts in section.tables
    ]
    words = markup.element("p", _words(section.words))
    picture = _picture(audit, section.id)
    more = [_levels(each) for each in audit.marginals] if section.id == "use" else []
    return markup.section(section.title, words, picture, *tables, *more, id=section.id)


def _picture(audit: Audit, name: str) -> Markup | None:
    if name == "guesses" and audit.guesses:
        items = [(listed(g.columns), g.rate) for g in audit.guesses]
        title = "How often the best guess of each attribute hits"
    elif name == "linkage" and audit.linkages:
        items = [(each.attack, each.first) for each in audit.linkages]
        title = "How many rows are traced to their person"
    else:
        return None
    return markup.bars(
        [(label, rate.observed, rate.low, rate.high) for label, rate in items],
        title=title,
        most=1.0,
        shown=percent,
    )


def _levels(marginal: Marginal) -> Markup:
    """The shares of one attribute, category by category."""
    estimated = marginal.estimated or (None,) * len(marginal.categories)
    rows = [
        [_level(level), percent(true), percent(said), "none" if told is None else f"{told:.2%}"]
        for level, true, said, told in zip(
            marginal.categories[:_LEVELS], marginal.true, marginal.reported, estimated, strict=False
        )
    ]
    header = ("level", "true", "reported", "estimated")
    name = listed(marginal.columns)
    shares = markup.table(header, rows, caption=f"Shares of {name}")
    more = len(marginal.categories) - len(rows)
    note = markup.element("p", f"{more} more levels are in audit.marginals.") if more else None
    return markup.element("details", markup.element("summary", f"Shares of {name}"), shares, note)


def _level(level: object) -> str:
    if isinstance(level, tuple):
        return ", ".join(map(_level, level))
    return "missing" if level is None else str(level)
