"""An audit in sentences and tables, the same for a terminal and for a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bistochastic.audit.giveaways import ALL, ORDER
from bistochastic.audit.results import NOT_FOR_RELEASE, listed
from bistochastic.words import shown, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bistochastic.audit.results import Audit, Linkage, Rate

# Of the many pairs of something seen and a protected column, so many are shown.
_SHOWN = 12
# A gain of guesses below this is not worth a sentence.
_GAIN = 0.05


# Caption, header, rows, and how many columns are strings.
Table = tuple[str, tuple[str, ...], list[list[str]], int]


@dataclass(frozen=True)
class Section:
    """A title, what it is about, and tables with a name each."""

    id: str
    title: str
    words: str
    tables: tuple[Table, ...]


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


def _name(seen: str) -> str:
    return seen if seen in (ALL, ORDER) else f"`{shown(seen)}`"


def _cure(audit: Audit, seen: str) -> str:
    """What to do about something that tells a protected column."""
    if seen == ORDER:
        return "shuffle the rows"
    if seen == ALL:
        return "drop or protect some of them"
    if seen in {each.column for each in audit.disclosures}:
        return "drop it, or move its values further"
    return "drop it, or protect both as one Joint"


def findings(audit: Audit) -> Iterator[str]:
    """Write the findings, each with a fix."""
    yield from audit.unforeseen
    told: set[str] = set()
    for each in audit.giveaways:
        if not each.beats_reported_value or each.rate.gain < _GAIN or each.column in told:
            continue
        told.add(each.column)
        beside = f"without it: {percent(each.rate.chance)}"
        if each.reported_rate is not None:
            chance = percent(each.rate.chance)
            own = percent(each.reported_rate)
            beside = f"from the reported value: {own}; without either: {chance}"
        yield (
            f"An attacker who sees {_name(each.seen)} guesses `{shown(each.column)}` right in "
            f"{percent(each.rate.observed)} of the rows ({beside}). Fix: {_cure(audit, each.seen)}"
        )
    for near in audit.neighbours:
        if near.is_telling:
            what = ", ".join(f"`{shown(column)}`" for column in near.columns)
            alike = "more" if near.deviations > 0 else "less"
            yield (
                f"Row order reveals {what}: neighbouring rows are {alike} alike than in a random "
                "order. Fix: shuffle the rows"
            )
    if audit.repeats is not None and audit.repeats.redrawn and audit.repeats.visible:
        yield (
            f"{audit.repeats.redrawn:,} people have several reported values for one true value, so "
            "the noise averages out and epsilons add up. Fix: protect by ids"
        )
    worst = [each for each in audit.linkages if not each.attack.endswith("before")]
    if worst:
        most = max(worst, key=lambda each: each.first.observed)
        yield (
            f"An attacker who knows everyone's true values re-identifies "
            f"{percent(most.first.observed)} of the records ({most.attack}; by chance "
            f"{percent(most.first.chance)}). Fix: raise beta, or drop columns"
        )
    close: set[str] = set()
    for each_number in audit.disclosures:
        rate = each_number.rate
        if each_number.column not in close and rate.observed > 0.5 and rate.gain > 0.25:
            close.add(each_number.column)
            yield (
                f"`{shown(each_number.column)}` is revealed to within {each_number.interval} for "
                f"{percent(rate.observed)} of the records (by chance {percent(rate.chance)}). "
                "Fix: move its values further"
            )
    for guess in audit.guesses:
        if guess.rate.agrees is False:
            yield (
                f"Guesses of {listed(guess.columns)} are right more or less often than the matrix "
                "predicts. Fix: check that plan and files belong together"
            )


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
    return Section("guesses", "Guessing a value", words, tables)


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
        "A real attacker knows less, so this is the worst case."
    )
    tables = (("Rows matched with people", header, rows, 1),) if rows else ()
    return Section("linkage", "Re-identifying a person", words, tables)


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
    return Section("seen", "Leaks outside the protected columns", words, tuple(tables))


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
    return Section("numbers", "Numbers", words, (table_,))


def _format_number(number: float | None) -> str:
    return "none" if number is None else f"{number:.4f}"


def _largest(rows: list[list[str]]) -> str:
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
    return Section("use", "Accuracy of the release", words, tuple(tables))


def sections(audit: Audit) -> list[Section]:
    """All of it, in order."""
    every = [_guesses(audit), _linkages(audit), _giveaways(audit), _numbers(audit), _use(audit)]
    return [each for each in every if each is not None]


def lead(audit: Audit) -> str:
    """Say what was done, in a sentence."""
    how = {"order": "their order", "id": "an id", "pseudonym": "a pseudonym"}[audit.matched]
    return (
        f"Plan `{shown(audit.plan)}`, {audit.records:,} records, rows matched by {how}. Intervals "
        f"have {100 * audit.confidence:g}% confidence."
    )


def text(audit: Audit) -> str:
    """For a terminal."""
    lines = [f"Audit: {NOT_FOR_RELEASE}", "", lead(audit), ""]
    found = list(findings(audit))
    lines += ["Findings:", *(f"  {each}" for each in found)] if found else []
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
