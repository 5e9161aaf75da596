"""An audit in sentences and tables, the same for a terminal and for a page."""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bistochastic_survey.audit.linkage import OTHER_RELEASE
from bistochastic_survey.audit.results import NOT_FOR_RELEASE, Audit, Finding, Rate, listed
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
    """Read what is said of each attack, in order."""
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
    """Draw the worst rates."""
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
         "" if g.reported_rate is None else percent(g.reported_rate)]
        for g in some
    ]  # fmt: skip
    near = [
        [listed(n.columns), f"{n.observed:z.3f}", f"{n.expected:z.3f}", f"{n.deviations:+.1f}"]
        for n in audit.neighbours
    ]
    people = [
        [shown(r.column), *(f"{n:,}" for n in (r.people, r.repeated, r.most_rows, r.redrawn)),
         "yes" if r.visible else "no"]
        for r in [audit.repeats] if r is not None
    ]  # fmt: skip
    bars = _worst((f"{g.column} by {g.seen}", g.rate) for g in some if g.beats_reported_value)
    smaller = len(every) - len(some)
    also = ["nothing"] * (not rows) + ["smaller"] * bool(smaller)
    return _section("seen", bars, rows, near, people, also=also, smaller=smaller)


def _scenarios(audit: Audit) -> Section | None:
    if not audit.scenarios:
        return None
    found, rates, parts = [], [], []
    for each in audit.scenarios:
        known = listed(each.knowledge) or "membership only"
        wanted = zip(("the row", *each.wants), (each.first, *each.disclosed), strict=True)
        for column, rate in wanted:
            found.append([known, shown(column), *_cells(rate)])
            rates.append((f"{column} by {known}", rate))
        shares = sorted(zip(each.contributions, each.knows, strict=True), reverse=True)
        if len(shares) > 1:
            parts += [[known, shown(column), f"{share:+.1%}"] for share, column in shares]
    return _section("scenarios", _worst(rates), found, parts)


def _pooled(audit: Audit) -> Section | None:
    if not audit.pooled:
        return None
    every = sorted(audit.pooled, key=lambda each: each.single - each.worst.observed)
    some = every[:_SHOWN]
    rows = [
        [shown(p.by), shown(p.column), percent(p.agreement), percent(p.rate.observed),
         _format_prediction(p.rate), percent(p.all_share.observed),
         _format_prediction(p.all_share), percent(p.single), percent(p.bound)]
        for p in some
    ]  # fmt: skip
    left = f", the {_SHOWN} largest differences of {len(every)}" if len(every) > _SHOWN else ""
    bars = _worst((f"{p.column} by {p.by}", p.worst) for p in some)
    return _section("pooled", bars, rows, largest=left)


def _numbers(audit: Audit) -> Section | None:
    if not audit.disclosures:
        return None
    rows = [[shown(d.column), d.interval, *_cells(d.rate, predicted=False)]
            for d in audit.disclosures]  # fmt: skip
    bars = _worst((f"{d.column}: {d.interval}", d.rate) for d in audit.disclosures)
    return _section("numbers", bars, rows)


def _use(audit: Audit) -> Section:
    rows = []
    for m in audit.marginals:
        far = "none" if m.estimated_distance is None else f"{m.estimated_distance:.4f}"
        rows.append([listed(m.columns), f"{m.reported_distance:.4f}", far, m.reason])
    if not any(m.reason for m in audit.marginals):
        rows = [row[:-1] for row in rows]
    bars: list[Bar] = [(f"{listed(m.columns)}, estimated", m.estimated_distance, None, None)
                       for m in audit.marginals if m.estimated_distance is not None]  # fmt: skip
    return _section("use", sorted(bars, key=lambda bar: -bar[1])[:_SHOWN], rows)


def sections(audit: Audit) -> list[Section]:
    """All of it, in order."""
    every = (_scenarios, _linkages, _pooled, _giveaways, _guesses, _numbers, _use)
    return [made for each in every if (made := each(audit)) is not None]


def finding_table(found: Sequence[Finding]) -> Table:
    """The findings side by side."""
    rows = [
        [str(i), each.tried, percent(each.found), percent(each.chance),
         "none" if each.predicted is None else percent(each.predicted), each.fix]
        for i, each in enumerate(found, 1)
    ]  # fmt: skip
    header = ("", "What was tried", "Found", "By chance", "Predicted", "Fix")
    return ("Findings, the worst first", header, rows, 6)


def finding_lines(found: Sequence[Finding]) -> list[str]:
    """The findings below each other, the worst of them if they are many."""
    lines = ["Findings, the worst first:"] if found else []
    lines += [f"  {i}. {each}" for i, each in enumerate(found[:FINDINGS], 1)]
    more = len(found) - FINDINGS
    return [*lines, f"  {more:,} smaller findings are in audit.findings"] if more > 0 else lines


def lead(audit: Audit) -> str:
    """Say what was done, in a sentence."""
    how = {"order": "their order", "id": "an id", "pseudonym": "a pseudonym",
           "columns": "unprotected columns"}.get(audit.matched, audit.matched)  # fmt: skip
    about = f"Plan `{shown(audit.plan)}`, {audit.records:,} records"
    if how == "nothing":
        return (
            f"{about}. Shuffled rows cannot be paired, so all rates are predicted, from "
            "new draws by the same plan."
        )
    return f"{about}, rows matched by {how}. Intervals have {100 * audit.confidence:g}% confidence."


def text(audit: Audit) -> str:
    """For a terminal."""
    lines = [f"Audit: {NOT_FOR_RELEASE}", "", lead(audit), ""]
    lines += finding_lines(audit.findings)
    for each in sections(audit):
        lines += ["", each.title, *textwrap.wrap(each.words, 100)]
        for caption, header, rows, texts in each.tables:
            lines += ["", caption, table(header, rows, left=range(texts))]
    if audit.notes:
        lines += ["", "Not measured:", *(f"  {note}" for note in audit.notes)]
    return "\n".join(lines)
