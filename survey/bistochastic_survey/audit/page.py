"""An audit as a page of its own, and as a piece for notebooks. Both say that they stay inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bistochastic_survey import checks
from bistochastic_survey.audit.results import NOT_FOR_RELEASE, listed
from bistochastic_survey.audit.sentences import FINDINGS, finding_table, lead, percent, sections
from bistochastic_survey.files.atomic import write as write_whole
from bistochastic_survey.report import html

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bistochastic_survey.audit.results import Audit, Finding, Marginal
    from bistochastic_survey.audit.sentences import Section
    from bistochastic_survey.report.html import Markup

_BANNER = NOT_FOR_RELEASE[0].upper() + NOT_FOR_RELEASE[1:]
# Longer lists of categories are in the object alone.
_LEVELS = 60


def write(audit: Audit, path: object) -> None:
    """Write the page; an old file stays until the new one is whole."""
    write_whole(checks.path("path", path), "path", page(audit))


def page(audit: Audit) -> str:
    """The whole page: the worst finding, all findings, and a picture for each question."""
    every = sections(audit)
    found = audit.findings
    parts = [_section(audit, each) for each in every]
    contents = [(each.id, each.title) for each in every]
    if found:
        parts.insert(0, html.section("Findings", _findings(found), id="first"))
        contents.insert(0, ("first", "Findings"))
    if audit.notes:
        parts.append(html.section("Not measured", _list(audit.notes), id="left-out"))
        contents.append(("left-out", "Not measured"))
    worst = [html.element("strong", "Worst finding: "), _words(str(found[0]))] if found else None
    return html.page(
        "Audit of a release",
        *parts,
        lead=_words(lead(audit)),
        banner=_BANNER,
        summary=worst or "No attack succeeds more often than by chance.",
        contents=contents,
        footer=f"{_BANNER}. Keep this page as confidential as the original.",
    )


def notebook(audit: Audit) -> str:
    """The findings, and the picture of each attack."""
    found = audit.findings
    banner = html.element("p", html.element("strong", _BANNER))
    what = _findings(found) if found else html.element("p", "No finding.")
    pictures = [_picture(each) for each in sections(audit) if each.bars]
    return str(html.fragment(banner, what, *pictures))


def _findings(found: Sequence[Finding]) -> Markup:
    caption, header, rows, texts = finding_table(found[:FINDINGS])
    cells = [[_words(cell) for cell in row] for row in rows]
    left = {0, 1, texts - 1}
    more = len(found) - len(rows)
    note = f"{more} smaller findings are in audit.findings." if more > 0 else None
    return html.join(html.table(header, cells, caption=caption, left=left),
                       None if note is None else html.element("p", note))  # fmt: skip


def _words(sentence: str) -> list[Markup]:
    """A sentence whose names in backticks are set as code; names hold no backtick themselves."""
    parts = sentence.split("`")
    return [html.element("code", part) if i % 2 else html.join(part)
            for i, part in enumerate(parts)]  # fmt: skip


def _list(sentences: Iterable[str]) -> Markup:
    return html.element("ul", [html.element("li", _words(each)) for each in sentences])


def _section(audit: Audit, section: Section) -> Markup:
    """The picture is shown, and the tables open on a click, so that they are not printed."""
    tables = [
        html.table(header, rows, caption=caption, left=range(texts))
        for caption, header, rows, texts in section.tables
    ]
    words = html.element("p", _words(section.words))
    inside = [*tables, *map(_levels, audit.marginals[:_LEVELS])] if section.id == "use" else tables
    summary = html.element("summary", f"{section.title}: all numbers")
    more = html.element("details", summary, *inside) if inside else None
    return html.section(section.title, words, _picture(section), more, id=section.id)


def _picture(section: Section) -> Markup | None:
    if not section.bars:
        return None
    items = [html.between(*each, percent) for each in section.bars]
    most = max(0.01, *(high for *_, high in items))
    return html.bars(items, title=section.question, most=most)


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
    shares = html.table(header, rows, caption=f"Shares of {name}")
    more = len(marginal.categories) - len(rows)
    note = html.element("p", f"{more} more levels are in audit.marginals.") if more else None
    return html.element("details", html.element("summary", f"Shares of {name}"), shares, note)


def _level(level: object) -> str:
    if isinstance(level, tuple):
        return ", ".join(map(_level, level))
    return "missing" if level is None else str(level)
