"""An audit in sentences and tables, the same for a terminal and for a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bistochastic.audit.results import NOT_FOR_RELEASE, listed
from bistochastic.words import shown, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bistochastic.audit.results import Audit, Finding, Linkage, Rate

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


def _interval(rate: Rate) -> str:
    return f"{percent(rate.low)} to {percent(rate.high)}"


def _format_prediction(rate: Rate) -> str:
    if rate.predicted is None:
        return "none"
    return percent(rate.predicted) + ("" if rate.agrees is not False else ", which chance excludes")


def _guesses(audit: Audit) -> Section:
    header = ("Columns", "Hits", "Interval", "Predicted", "Without it")
    rows = [
        [listed(g.columns), percent(g.rate.observed), _interval(g.rate), _format_prediction(g.rate),
         percent(g.rate.chance)]
        for g in audit.guesses
    ]  # fmt: skip
    words = (
        "An attacker knows the matrix and how common each value is, sees a person's reported "
        "value, and guesses the likeliest true value. Predicted: what the matrix says. Without "
        "it: the best guess without the reported value."
    )
    tables = (("Best guess of each column", header, rows, 1),) if rows else ()
    bars = [(listed(g.columns), g.rate) for g in audit.guesses]
    question = "How often is the best guess of each column right?"
    return Section("guesses", "Guessing a value", words, tables, question, _worst(bars))


def _linkages(audit: Audit) -> Section:
    header = ("Attack", "Found first", "Interval", "Predicted", "Among five", "Predicted",
              "By chance")  # fmt: skip

    def row(link: Linkage) -> list[str]:
        return [link.attack, percent(link.first.observed), _interval(link.first),
                _format_prediction(link.first), percent(link.five.observed),
                _format_prediction(link.five), percent(link.first.chance)]  # fmt: skip

    rows = [row(link) for link in audit.linkages]
    targets = audit.linkages[0].targets if audit.linkages else 0
    who = "Every row was" if targets == audit.records else f"{targets:,} random rows were"
    words = (
        "An attacker knows everyone's true values and asks whose record a released row is. "
        f"{who} traced, by the exact posterior over all {audit.records:,} people. "
        "A real attacker knows less. But rows are traced one by one: an attacker who links whole "
        "households by all their members may find more."
    )
    tables = (("Rows matched with people", header, rows, 1),) if rows else ()
    bars = [(link.attack, link.first) for link in audit.linkages]
    question = "How many rows are traced to their person?"
    return Section("linkage", "Re-identifying a person", words, tables, question, _worst(bars))


def _giveaways(audit: Audit) -> Section:
    header = ("Seen", "Protected", "Hits", "Interval", "Without it", "From reported value")
    some = [g for g in audit.giveaways if g.rate.gain > 0][:_SHOWN]
    rows = [
        [shown(g.seen), shown(g.column), percent(g.rate.observed), _interval(g.rate),
         percent(g.rate.chance), "" if g.reported_rate is None else percent(g.reported_rate)]
        for g in some
    ]  # fmt: skip
    more = sum(g.rate.gain > 0 for g in audit.giveaways) - len(some)
    words = (
        "An attacker guesses a protected value from other published columns. Each guess uses the "
        "other records only, so a column without repeated values reveals nothing. Drop or protect "
        "columns that reveal more than the reported value does. For the order of the rows, "
        "neighbours with the same value are counted; for numbers, their rank correlation."
    )
    if not rows:
        words += " No published column improves the guess."
    if more > 0:
        words += f" {more} smaller effects are not shown."
    tables: list[Table] = []
    if rows:
        tables.append(("Leaks outside the protected columns, worst first", header, rows, 2))
    if audit.neighbours:
        near = [
            [listed(n.columns), f"{n.observed:z.3f}", f"{n.expected:z.3f}", f"{n.deviations:+.1f}"]
            for n in audit.neighbours
        ]
        alike = ("Neighbours alike", "In random order", "Standard deviations")
        head: tuple[str, ...] = ("Columns", *alike)
        tables.append(("The order of the rows", head, near, 1))
    if audit.repeats is not None:
        r = audit.repeats
        seen = "yes" if r.visible else "no"
        head = ("Id", "People", "With several rows", "Most rows", "Re-randomized", "Visible")
        tables.append(("People with several rows", head,
                       [[shown(r.column), f"{r.people:,}", f"{r.repeated:,}", f"{r.most_rows:,}",
                         f"{r.redrawn:,}", seen]], 1))  # fmt: skip
    bars = [(f"{g.column} by {g.seen}", g.rate) for g in some if g.beats_reported_value]
    question = "How often do other columns reveal a protected value?"
    title = "Leaks outside the protected columns"
    return Section("seen", title, words, tuple(tables), question, _worst(bars))


def _worst(rates: list[tuple[str, Rate]]) -> list[tuple[str, float, float | None, float | None]]:
    some = sorted(rates, key=lambda each: -each[1].gain)[:_SHOWN]
    return [(label, rate.observed, rate.low, rate.high) for label, rate in some]


def _scenarios(audit: Audit) -> Section | None:
    if not audit.scenarios:
        return None
    found, bars = [], []
    for each in audit.scenarios:
        known = listed(each.knowledge) or "membership only"
        rates = zip(("the row", *each.wants), (each.first, *each.disclosed), strict=True)
        for column, rate in rates:
            found.append([known, shown(column), percent(rate.observed), _interval(rate),
                          _format_prediction(rate), percent(rate.chance)])  # fmt: skip
            bars.append((f"{column} by {known}", rate))
    header: tuple[str, ...] = (
        "Knows",
        "Looks for",
        "Success",
        "Interval",
        "Predicted",
        "By chance",
    )
    tables: list[Table] = [("Intruders", header, found, 2)]
    parts = [
        [listed(each.knowledge), shown(column), f"{share:+.1%}"]
        for each in audit.scenarios if len(each.knows) > 1
        for share, column in sorted(zip(each.contributions, each.knows, strict=True), reverse=True)
    ]  # fmt: skip
    if parts:
        header = ("Knows", "Column", "Lost without it")
        tables.append(("What each known column contributes to finding the row", header, parts, 2))
    words = (
        "An intruder knows some columns of a person and searches the release for that person, by "
        "the posterior over all rows. Predicted: the mean success over releases of this plan."
    )
    question = "How often does an intruder succeed?"
    return Section("scenarios", "Intruders", words, tuple(tables), question, _worst(bars))


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
    caption = f"Pooled records{_largest(list(audit.pooled))}"
    bars = [(f"{p.column} by {p.by}", p.worst) for p in every]
    question = "How often is a value right that is guessed from pooled records?"
    return Section("pooled", "Pooling records", words, ((caption, header, rows, 2),), question,
                   _worst(bars))  # fmt: skip


def _numbers(audit: Audit) -> Section | None:
    if not audit.disclosures:
        return None
    rows = [
        [shown(d.column), d.interval, percent(d.rate.observed), _interval(d.rate),
         percent(d.rate.chance)]
        for d in audit.disclosures
    ]  # fmt: skip
    words = (
        "A released number reveals the original number up to an interval. By chance: the same for "
        "shuffled values."
    )
    header = ("Column", "Within", "Released numbers", "Interval", "By chance")
    table_ = ("Numbers close to the original", header, rows, 2)
    bars = [(f"{d.column}: {d.interval}", d.rate) for d in audit.disclosures]
    question = "How many released numbers are close to the original?"
    return Section("numbers", "Numbers", words, (table_,), question, _worst(bars))


def _format_number(number: float | None) -> str:
    return "none" if number is None else f"{number:.4f}"


def _largest(rows: Sequence[object]) -> str:
    """Of a long table the part that is shown."""
    return f", the {_SHOWN} largest differences of {len(rows)}" if len(rows) > _SHOWN else ""


def _use(audit: Audit) -> Section:
    tables: list[Table] = []
    header: tuple[str, ...]
    if audit.marginals:
        rows = [
            [
                listed(m.columns),
                _format_number(m.reported_distance),
                _format_number(m.estimated_distance),
                m.reason,
            ]
            for m in audit.marginals
        ]
        header = ("Columns", "Reported", "Estimated", "")
        if not any(m.reason for m in audit.marginals):
            header, rows = header[:3], [row[:3] for row in rows]
        tables.append(("Proportions of one column: distance from the true values", header, rows, 1))
    if audit.pairs:
        rows = [
            [listed(p.columns[0]), listed(p.columns[1]), _format_number(p.reported_distance),
             _format_number(p.estimated_distance)]
            for p in sorted(audit.pairs, key=lambda p: -(p.estimated_distance or 0))
        ]  # fmt: skip
        header = ("Columns", "And", "Reported", "Estimated")
        caption = f"Tables of two columns: distance from the true values{_largest(rows)}"
        tables.append((caption, header, rows[:_SHOWN], 2))
    if audit.correlations:
        rows = [
            [shown(c.columns[0]), shown(c.columns[1]), f"{c.true:.4f}", f"{c.released:.4f}"]
            for c in sorted(audit.correlations, key=lambda c: -abs(c.true - c.released))
        ]
        caption = f"Correlations before and after{_largest(rows)}"
        tables.append((caption, ("Column", "And", "Before", "After"), rows[:_SHOWN], 2))
    if audit.means:
        rows = [
            [shown(m.column), shown(m.by), _format_number(m.reported_distance),
             _format_number(m.estimated_distance)]
            for m in sorted(audit.means, key=lambda m: -m.reported_distance)
        ]  # fmt: skip
        caption = f"Means by group: mean error in standard deviations{_largest(rows)}"
        tables.append((caption, ("Mean of", "By", "Reported", "Estimated"), rows[:_SHOWN], 2))
    if audit.coefficients is not None:
        c = audit.coefficients
        rows = [[shown(name), *(f"{number:.4f}" for number in numbers)]
                for name, *numbers in zip(c.names, c.original, c.reported, c.estimated,
                                          c.standard_errors, strict=True)]  # fmt: skip
        header = ("Coefficient", "Original", "Reported", "Estimated", "Standard error")
        tables.append((f"Regression {shown(c.formula)}", header, rows, 1))
    if audit.propensity is not None:
        p = audit.propensity
        rows = [["mean squared distance from 1/2", f"{p.pmse:.6f}"],
                ["of two samples of one population", f"{p.expected:.6f}"],
                ["ratio of the two", f"{p.ratio:.1f}"],
                ["released row ranked above an original one", percent(p.auc)]]  # fmt: skip
        caption = "A logistic regression that tries to separate original and release"
        tables.append((caption, ("Measure", "Value"), rows, 1))
    words = (
        "Distances are total variation: the proportion of records that would have to change. "
        "Reported proportions are biased on purpose; `plan.estimate` corrects them."
    )
    far = [(f"{listed(m.columns)}, estimated", m.estimated_distance, None, None)
           for m in audit.marginals if m.estimated_distance is not None]  # fmt: skip
    worst = sorted(far, key=lambda bar: -bar[1])[:_SHOWN]
    question = "How far are estimated proportions from the true ones?"
    return Section("use", "Accuracy of the release", words, tuple(tables), question, worst)


def sections(audit: Audit) -> list[Section]:
    """All of it, in order."""
    every = [_scenarios(audit), _linkages(audit), _pooled(audit), _giveaways(audit),
             _guesses(audit), _numbers(audit), _use(audit)]  # fmt: skip
    return [each for each in every if each is not None]


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
        lines += ["", each.title, *_wrap(each.words)]
        for caption, header, rows, texts in each.tables:
            lines += ["", caption, table(header, rows, left=range(texts))]
    if audit.notes:
        lines += ["", "Not measured:", *(f"  {note}" for note in audit.notes)]
    return "\n".join(lines)


def _wrap(words: str) -> list[str]:
    import textwrap

    return textwrap.wrap(words, 100)
