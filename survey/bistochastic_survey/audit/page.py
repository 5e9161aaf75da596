"""An audit as a page of its own, and as a piece for notebooks. Both say that they stay inside."""

from __future__ import annotations

from bistochastic_survey import checks
from bistochastic_survey.audit.results import NOT_FOR_RELEASE, Audit, Marginal, listed
from bistochastic_survey.audit.sentences import (
    FINDINGS,
    Section,
    Table,
    finding_table,
    lead,
    percent,
    sections,
)
from bistochastic_survey.files import atomic
from bistochastic_survey.pages import render
from bistochastic_survey.pages.pictures import Bars, bars, between

# Longer lists of categories are in the object alone.
_LEVELS = 60


def write(audit: Audit, path: object) -> None:
    """Write the page; an old file stays until the new one is whole."""
    atomic.write(checks.path("path", path), "path", page(audit))


def page(audit: Audit) -> str:
    """Write the whole page: the worst finding, all findings, and a picture for each question."""
    return _filled("audit", audit)


def notebook(audit: Audit) -> str:
    """Write the findings, and the picture of each attack."""
    return _filled("audit_notebook", audit)


def _filled(template: str, audit: Audit) -> str:
    found, every = audit.findings, sections(audit)
    contents = [("first", "Findings")] * bool(found)
    contents += [(each.id, each.title) for each in every]
    contents += [("left-out", "Not measured")] * bool(audit.notes)
    return render(
        template,
        banner=NOT_FOR_RELEASE[0].upper() + NOT_FOR_RELEASE[1:],
        contents=contents,
        lead=lead(audit),
        findings=found,
        listed=finding_table(found[:FINDINGS]),
        sections=every,
        pictures={each.id: _picture(each) for each in every if each.bars},
        shares=[_shares(each) for each in audit.marginals[:_LEVELS]],
        notes=audit.notes,
    )


def _picture(section: Section) -> Bars:
    items = [between(*each, percent) for each in section.bars]
    most = max(0.01, *(high for *_, high in items))
    return bars(items, title=section.question, most=most)


def _shares(marginal: Marginal) -> tuple[Table, int]:
    """Tabulate the shares of one attribute by category, and count the categories that are left."""
    estimated = marginal.estimated or (None,) * len(marginal.categories)
    every = zip(marginal.categories, marginal.true, marginal.reported, estimated, strict=True)
    rows = [
        [_level(level), percent(true), percent(said), "none" if told is None else f"{told:.2%}"]
        for level, true, said, told in list(every)[:_LEVELS]
    ]
    header = ("level", "true", "reported", "estimated")
    caption = f"Shares of {listed(marginal.columns)}"
    return (caption, header, rows, 1), len(marginal.categories) - len(rows)


def _level(level: object) -> str:
    if isinstance(level, tuple):
        return ", ".join(map(_level, level))
    return "missing" if level is None else str(level)
