"""An audit in sentences and tables: for a terminal, as a page of its own, and for notebooks."""

import textwrap
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bistochastic_survey.audit.linkage import OTHER_RELEASE
from bistochastic_survey.audit.results import NOT_FOR_RELEASE, Audit, Finding, Rate, listed
from bistochastic_survey.pages import render
from bistochastic_survey.pages.pictures import Bars, bars, between
from bistochastic_survey.wording import shown, table

# Of the many pairs of something seen and a protected column, so many are shown.
_SHOWN = 12
# Of the findings, so many.
FINDINGS = 15

# A label, a number, and where its interval begins and ends.
Bar = tuple[str, float, float | None, float | None]
# Caption, header, rows, and how many columns are strings.
Rows = list[list[str]]
Table = tuple[str, Sequence[str], Rows, int]


@dataclass(frozen=True)
class Section:
    """A title, what it is about, and tables with a name each."""

    id: str
    title: str
    words: str
    tables: tuple[Table, ...]
    question: str
    bars: Sequence[Bar]
    """What the picture of the section shows."""


def percent(share: float) -> str:
    """A share in short, never as none or all if it is neither.

    >>> percent(0.123456), percent(1.0), percent(0.99999), percent(0.0000307)
    ('12.3%', '100%', '99.999%', '0.0031%')
    """
    hundred = 100 * share
    if hundred in (0.0, 100.0):
        return f"{hundred:.0f}%"
    if hundred > 99.9:
        return f"{hundred:.3f}%" if hundred < 99.9995 else "over 99.999%"
    return f"{hundred:.1f}%" if hundred >= 1 else f"{hundred:.2g}%"


def _cells(rate: Rate, predicted: bool = True) -> list[str]:
    """The share, its interval, what was predicted, and what chance gives."""
    interval = f"{percent(rate.low)} to {percent(rate.high)}"
    middle = [interval, _format_prediction(rate)] if predicted else [interval]
    return [percent(rate.observed), *middle, percent(rate.chance)]


def _format_prediction(rate: Rate) -> str:
    if rate.predicted is None:
        return "none"
    return percent(rate.predicted) + ("" if rate.agrees is not False else ", which chance excludes")


@cache
def _about() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("sections.toml").read_text(encoding="utf-8"))


def _section(
    id: str,
    bars: Sequence[Bar],
    *tables: list[list[str]],
    also: Sequence[str] = (),
    **facts: object,
) -> Section:
    """A section with the rows of its tables, of which empty ones are left out."""
    said = _about()[id]
    words = "".join([said["about"], *(said["also"][each] for each in also)]).format(**facts)
    made = []
    for each, rows in zip(said["tables"], tables, strict=True):
        if rows:
            header = each["header"][: len(rows[0])]
            made.append((each["caption"].format(**facts), header, rows, each["texts"]))
    return Section(id, said["title"], words, tuple(made), said["question"], bars)


def _worst(rates: Iterable[tuple[str, Rate]]) -> list[Bar]:
    some = sorted(rates, key=lambda each: -each[1].gain)[:_SHOWN]
    return [(label, rate.observed, rate.low, rate.high) for label, rate in some]


def _guesses(audit: Audit) -> Section:
    rows = [[listed(g.columns), *_cells(g.rate)] for g in audit.guesses]
    return _section("guesses", _worst((listed(g.columns), g.rate) for g in audit.guesses), rows)


def _linkages(audit: Audit) -> Section:
    rows = []
    for link in audit.linkages:
        *found, chance = _cells(link.first)
        five = [percent(link.five.observed), _format_prediction(link.five)]
        rows.append([link.attack, *found, *five, chance])
    targets = audit.linkages[0].targets if audit.linkages else 0
    who = "Every row was" if targets == audit.records else f"{targets:,} random rows were"
    also = ["other"] * any(link.attack == OTHER_RELEASE for link in audit.linkages)
    bars = _worst((link.attack, link.first) for link in audit.linkages)
    return _section("linkage", bars, rows, also=also, who=who, records=audit.records)


def _giveaways(audit: Audit) -> Section:
    every = [g for g in audit.giveaways if g.rate.gain > 0]
    some = every[:_SHOWN]
    rows = [
        [shown(g.seen), shown(g.column), *_cells(g.rate, predicted=False),
         percent(g.reported_rate)]
        for g in some
    ]  # fmt: skip
    near = [
        [listed(n.columns), percent(n.observed), percent(n.expected), f"{n.deviations:+.1f}"]
        for n in audit.neighbours
    ]
    bars = _worst((f"{g.column} by {g.seen}", g.rate) for g in some if g.beats_reported_value)
    smaller = len(every) - len(some)
    also = ["nothing"] * (not rows) + ["smaller"] * bool(smaller)
    return _section("seen", bars, rows, near, also=also, smaller=smaller)


def _scenarios(audit: Audit) -> Section | None:
    if not audit.scenarios:
        return None
    found, rates = [], []
    for each in audit.scenarios:
        known = listed(each.knowledge) or "membership only"
        wanted = zip(("the row", *each.wants), (each.first, *each.disclosed), strict=True)
        for column, rate in wanted:
            found.append([known, shown(column), *_cells(rate)])
            rates.append((f"{column} by {known}", rate))
    return _section("scenarios", _worst(rates), found)


def _pooled(audit: Audit) -> Section | None:
    if not audit.pooled:
        return None
    every = sorted(audit.pooled, key=lambda each: each.single - each.rate.observed)
    some = every[:_SHOWN]
    rows = [
        [shown(p.by), shown(p.column), percent(p.agreement), percent(p.rate.observed),
         _format_prediction(p.rate), percent(p.single)]
        for p in some
    ]  # fmt: skip
    left = f", the {_SHOWN} largest differences of {len(every)}" if len(every) > _SHOWN else ""
    bars = _worst((f"{p.column} by {p.by}", p.rate) for p in some)
    return _section("pooled", bars, rows, largest=left)


def _numbers(audit: Audit) -> Section | None:
    if not audit.disclosures:
        return None
    rows = [[shown(d.column), d.interval, *_cells(d.rate, predicted=False)]
            for d in audit.disclosures]  # fmt: skip
    bars = _worst((f"{d.column}: {d.interval}", d.rate) for d in audit.disclosures)
    return _section("numbers", bars, rows)


def sections(audit: Audit) -> list[Section]:
    """All of it, in order."""
    every = (_scenarios, _linkages, _pooled, _giveaways, _guesses, _numbers)
    return [made for each in every if (made := each(audit)) is not None]


def grouped(audit: Audit) -> list[tuple[str, list[tuple[int, Finding]]]]:
    """The worst findings by risk, each with its place among all, below the number of the risk."""
    placed = list(enumerate(audit.findings[:FINDINGS], 1))
    first = [each for each in placed if not each[1].risk]
    groups = [("The plan: its attacks are listed first", first)] if first else []
    for risk, gain in audit.risks.items():
        best = "no attack beats chance"
        if gain is None:
            best = "not tried"
        elif gain > 0:
            best = f"the best attack succeeds {percent(gain)[:-1]} percentage points above chance"
        heading = f"{risk.capitalize()}: {best}"
        groups.append((heading, [each for each in placed if each[1].risk == risk]))
    return groups


def _finding_tables(audit: Audit) -> list[Table]:
    header = ("", "What was tried", "Found", "By chance", "Predicted", "Fix")
    return [
        (heading, header if found else (), [
            [str(i), each.tried, percent(each.found), percent(each.chance),
             "none" if each.predicted is None else percent(each.predicted), each.fix]
            for i, each in found
        ], 6)
        for heading, found in grouped(audit)
    ]  # fmt: skip


def lead(audit: Audit) -> str:
    """Say what was done, in a sentence."""
    how = {"order": "their order", "id": "an id", "pseudonym": "a pseudonym",
           "columns": "unprotected columns"}.get(audit.matched, audit.matched)  # fmt: skip
    about = f"Plan `{shown(audit.plan)}`, {audit.records:,} records"
    if how == "nothing":
        return (
            f"{about}. Its shuffled rows cannot be paired, so all rates are of a new draw by the "
            "same plan."
        )
    return f"{about}, rows matched by {how}. Intervals have {100 * audit.confidence:g}% confidence."


def text(audit: Audit) -> str:
    """For a terminal."""
    lines = [f"Audit: {NOT_FOR_RELEASE}", "", lead(audit), ""]
    for heading, found in grouped(audit):
        lines += [heading, *(f"  {i}. {each}" for i, each in found)]
    more = len(audit.findings) - FINDINGS
    lines += [f"  {more:,} smaller findings are in audit.findings"] * (more > 0)
    for each in sections(audit):
        lines += ["", each.title, *textwrap.wrap(each.words, 100)]
        for caption, header, rows, texts in each.tables:
            lines += ["", caption, table(header, rows, left=range(texts))]
    if audit.notes:
        lines += ["", "Not measured:", *(f"  {note}" for note in audit.notes)]
    return "\n".join(lines)


def filled(template: str, audit: Audit) -> str:
    """Write a page: the worst finding, all findings, and a picture for each question."""
    every = sections(audit)
    contents = [("first", "Findings"), *((each.id, each.title) for each in every)]
    contents += [("left-out", "Not measured")] * bool(audit.notes)
    return render(
        template,
        banner=NOT_FOR_RELEASE[0].upper() + NOT_FOR_RELEASE[1:],
        contents=contents,
        lead=lead(audit),
        findings=audit.findings,
        listed=_finding_tables(audit),
        more=max(0, len(audit.findings) - FINDINGS),
        sections=every,
        pictures={each.id: _picture(each) for each in every if each.bars},
        notes=audit.notes,
    )


def _picture(section: Section) -> Bars:
    items = [between(*each, percent) for each in section.bars]
    return bars(items, title=section.question, most=max(0.01, *(high for *_, high in items)))
