"""An audit in sentences and tables, the same for a terminal and for a page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bistochastic_survey.audit.linkage import OTHER_RELEASE
from bistochastic_survey.audit.results import NOT_FOR_RELEASE, Audit, Finding, Rate, listed
from bistochastic_survey.wording import shown, table

# Of the many pairs of something seen and a protected column, so many are shown.
_SHOWN = 12
# Of the findings, so many.
FINDINGS = 15

# Caption, header, rows, and how many columns are strings.
Table = tuple[str, tuple[str, ...], list[list[str]], int]


@dataclass(frozen=True)
class Section:
    """A title, what it is about, and tables with a name each."""

    id: str
    title: str
    words: str
    tables: tuple[Table, ...]
    question: str = ""
    bars: Sequence[tuple[str, float, float | None, float | None]] = ()
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


def _section(
    id: str,
    title: str,
    words: str,
    question: str,
    rates: Iterable[tuple[str, Rate]],
    *tables: Table,
) -> Section:
    """Tables without rows are left out, and the picture shows the worst rates."""
    some = sorted(rates, key=lambda each: -each[1].gain)[:_SHOWN]
    bars = [(label, rate.observed, rate.low, rate.high) for label, rate in some]
    return Section(id, title, words, tuple(each for each in tables if each[2]), question, bars)


def _guesses(audit: Audit) -> Section:
    words = (
        "An attacker knows the matrix and how common each value is, sees a person's reported "
        "value, and guesses the likeliest true value. Predicted: what the matrix says. Without "
        "it: the best guess without the reported value."
    )
    header = ("Columns", "Hits", "Interval", "Predicted", "Without it")
    rows = [[listed(g.columns), *_cells(g.rate)] for g in audit.guesses]
    return _section(
        "guesses", "Guessing a value", words, "How often is the best guess of each column right?",
        [(listed(g.columns), g.rate) for g in audit.guesses],
        ("Best guess of each column", header, rows, 1),
    )  # fmt: skip


def _linkages(audit: Audit) -> Section:
    rows = []
    for link in audit.linkages:
        *found, chance = _cells(link.first)
        five = [percent(link.five.observed), _format_prediction(link.five)]
        rows.append([link.attack, *found, *five, chance])
    targets = audit.linkages[0].targets if audit.linkages else 0
    who = "Every row was" if targets == audit.records else f"{targets:,} random rows were"
    words = (
        "An attacker knows everyone's true values and asks whose record a released row is. "
        f"{who} traced, by the exact posterior over all {audit.records:,} people. "
        "A real attacker knows less. But rows are traced one by one: an attacker who links whole "
        "households by all their members may find more."
    )
    if any(link.attack == OTHER_RELEASE for link in audit.linkages):
        words += (
            " Another release: rows are linked to rows of that release, by equal reported values."
        )
    header = ("Attack", "Found first", "Interval", "Predicted", "Among five", "Predicted",
              "By chance")  # fmt: skip
    return _section(
        "linkage", "Re-identifying a person", words, "How many rows are traced to their person?",
        [(link.attack, link.first) for link in audit.linkages],
        ("Rows matched with people", header, rows, 1),
    )  # fmt: skip


def _giveaways(audit: Audit) -> Section:
    every = [g for g in audit.giveaways if g.rate.gain > 0]
    some = every[:_SHOWN]
    rows = [
        [shown(g.seen), shown(g.column), *_cells(g.rate, predicted=False),
         "" if g.reported_rate is None else percent(g.reported_rate)]
        for g in some
    ]  # fmt: skip
    words = (
        "An attacker guesses a protected value from other published columns. Each guess uses the "
        "other records only, so a column without repeated values reveals nothing. Drop or protect "
        "columns that reveal more than the reported value does. For the order of the rows, "
        "neighbours with the same value are counted; for numbers, their rank correlation."
    )
    if not rows:
        words += " No published column improves the guess."
    if len(every) > _SHOWN:
        words += f" {len(every) - _SHOWN} smaller effects are not shown."
    header = ("Seen", "Protected", "Hits", "Interval", "Without it", "From reported value")
    near = [
        [listed(n.columns), f"{n.observed:z.3f}", f"{n.expected:z.3f}", f"{n.deviations:+.1f}"]
        for n in audit.neighbours
    ]
    orders = ("Columns", "Neighbours alike", "In random order", "Standard deviations")
    people = [
        [shown(r.column), *(f"{n:,}" for n in (r.people, r.repeated, r.most_rows, r.redrawn)),
         "yes" if r.visible else "no"]
        for r in [audit.repeats] if r is not None
    ]  # fmt: skip
    repeats = ("Id", "People", "With several rows", "Most rows", "Re-randomized", "Visible")
    title = "Leaks outside the protected columns"
    return _section(
        "seen", title, words, "How often do other columns reveal a protected value?",
        [(f"{g.column} by {g.seen}", g.rate) for g in some if g.beats_reported_value],
        (f"{title}, worst first", header, rows, 2), ("The order of the rows", orders, near, 1),
        ("People with several rows", repeats, people, 1),
    )  # fmt: skip


def _scenarios(audit: Audit) -> Section | None:
    if not audit.scenarios:
        return None
    found, bars, parts = [], [], []
    for each in audit.scenarios:
        known = listed(each.knowledge) or "membership only"
        rates = zip(("the row", *each.wants), (each.first, *each.disclosed), strict=True)
        for column, rate in rates:
            found.append([known, shown(column), *_cells(rate)])
            bars.append((f"{column} by {known}", rate))
        shares = sorted(zip(each.contributions, each.knows, strict=True), reverse=True)
        if len(shares) > 1:
            parts += [[known, shown(column), f"{share:+.1%}"] for share, column in shares]
    words = (
        "An intruder knows some columns of a person and searches the release for that person, by "
        "the posterior over all rows. Predicted: the mean success over releases of this plan."
    )
    header = ("Knows", "Looks for", "Success", "Interval", "Predicted", "By chance")
    lost = "What each known column contributes to finding the row"
    return _section(
        "scenarios", "Intruders", words, "How often does an intruder succeed?", bars,
        ("Intruders", header, found, 2), (lost, ("Knows", "Column", "Lost without it"), parts, 2),
    )  # fmt: skip


def _pooled(audit: Audit) -> Section | None:
    if not audit.pooled:
        return None
    every = sorted(audit.pooled, key=lambda each: each.single - each.worst.observed)[:_SHOWN]
    rows = [
        [shown(p.by), shown(p.column), percent(p.agreement), percent(p.rate.observed),
         _format_prediction(p.rate), percent(p.all_share.observed),
         _format_prediction(p.all_share), percent(p.single), percent(p.bound)]
        for p in every
    ]  # fmt: skip
    header = ("Pooled by", "Column", "Agree", "Success", "Predicted", "All equal", "Predicted",
              "One value", "Bound")  # fmt: skip
    words = (
        "An attacker pools the reported values of records that belong together, by their joint "
        "posterior: with the agreement that they have, and as if all were equal. One value: the "
        "guess from one reported value. Bound: what the epsilons of all pooled values allow."
    )
    return _section(
        "pooled", "Pooling records", words,
        "How often is a value right that is guessed from pooled records?",
        [(f"{p.column} by {p.by}", p.worst) for p in every],
        (f"Pooled records{_largest(audit.pooled)}", header, rows, 2),
    )  # fmt: skip


def _numbers(audit: Audit) -> Section | None:
    if not audit.disclosures:
        return None
    words = (
        "A released number reveals the original number up to an interval. By chance: the same for "
        "shuffled values."
    )
    rows = [[shown(d.column), d.interval, *_cells(d.rate, predicted=False)]
            for d in audit.disclosures]  # fmt: skip
    header = ("Column", "Within", "Released numbers", "Interval", "By chance")
    return _section(
        "numbers", "Numbers", words, "How many released numbers are close to the original?",
        [(f"{d.column}: {d.interval}", d.rate) for d in audit.disclosures],
        ("Numbers close to the original", header, rows, 2),
    )  # fmt: skip


def _numbered(*numbers: float | None) -> list[str]:
    return ["none" if number is None else f"{number:.4f}" for number in numbers]


def _largest(rows: Sequence[object]) -> str:
    """Of a long table the part that is shown."""
    return f", the {_SHOWN} largest differences of {len(rows)}" if len(rows) > _SHOWN else ""


def _use(audit: Audit) -> Section:
    rows = [
        [listed(m.columns), *_numbered(m.reported_distance, m.estimated_distance), m.reason]
        for m in audit.marginals
    ]
    header: tuple[str, ...] = ("Columns", "Reported", "Estimated", "")
    if not any(m.reason for m in audit.marginals):
        header, rows = header[:3], [row[:3] for row in rows]
    tables: list[Table] = [
        ("Proportions of one column: distance from the true values", header, rows, 1)
    ]
    words = (
        "Distances are total variation: the proportion of records that would have to change. "
        "Reported proportions are biased on purpose; `release.estimate` corrects them."
    )
    far = [(f"{listed(m.columns)}, estimated", m.estimated_distance, None, None)
           for m in audit.marginals if m.estimated_distance is not None]  # fmt: skip
    worst = sorted(far, key=lambda bar: -bar[1])[:_SHOWN]
    question = "How far are estimated proportions from the true ones?"
    shown_tables = tuple(each for each in tables if each[2])
    return Section("use", "Accuracy of the release", words, shown_tables, question, worst)


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
