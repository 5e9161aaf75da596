"""A plan in words and a table, made without data: what it hides, and what it does not."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from bistochastic import measures
from bistochastic_survey import checks
from bistochastic_survey.plan import central, published
from bistochastic_survey.plan.definitions import Bits, Measures, pooled, together
from bistochastic_survey.plan.definitions import epsilon as total
from bistochastic_survey.plan.numeric import Attribute
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.wording import down, prefix, quoted, shown, table, up


def published_unchanged(plan: Plan) -> list[str]:
    """List what the plan publishes unchanged, in phrases, whatever the options of a release."""
    return published.phrases(fact for fact in published.facts(plan) if fact.kind != "order")


def possibly_unchanged(plan: Plan) -> list[str]:
    """List the same, with what depends on the options."""
    by_ids = "within a release and across waves, if it is protected by ids"
    order = "the order of the rows, unless they are shuffled"
    return [*published_unchanged(plan), order, *published.linkable(plan, by_ids)]


def grouped(told: Iterable[tuple[Iterable[str], str]]) -> list[str]:
    """Write sentences about columns, one for all columns that share it."""
    found: dict[str, list[str]] = {}
    for columns, sentence in told:
        found.setdefault(sentence, []).extend(columns)
    return [f"{prefix(columns)}{sentence}" for sentence, columns in found.items()]


def _warnings_for(attribute: Attribute) -> list[tuple[str, str]]:
    """List warnings about one attribute, each with the part of an audit that measures it."""
    certain = published.certain(attribute)
    whole = len(certain) == len(attribute.columns)
    if attribute.whole_column:
        if attribute.matrix is not None and attribute.matrix.size == 1:
            return [("one record: it keeps its value, and beta is 1 only for that reason",
                     "disclosures")]  # fmt: skip
        if whole:
            return [("published unchanged, not protected", "disclosures")]
        if attribute.how == "average":
            return [("class means hold no noise and hide no bits", "disclosures")]
        found = [("all values are published; only whose they are is hidden", "linkages")]
        if attribute.order == "rank":
            found.append(("a record can keep its value, or get one of similar rank", "disclosures"))
        found.append(("exchanging equal values has no effect: if few values differ, most records "
                      "keep theirs, and declared categories hide more",
                      "disclosures"))  # fmt: skip
        return found
    found = [(f"`{shown(column)}` is published unchanged, not protected", "guesses")
             for column in certain]  # fmt: skip
    if whole:
        found = [("published unchanged, not protected", "guesses")]
    if attribute.size == 1:
        found.append(("one category: there is nothing to hide, and beta is 1 only for that reason",
                      "guesses"))  # fmt: skip
    if attribute.categories_from_data:
        found.append(("the categories were read from the data, which reveals that they occur", ""))
    if attribute.missing == "keep":
        found.append(("everyone sees who is missing", "linkages"))
    if not whole and any(math.isinf(matrix.epsilon) for matrix in attribute.matrices):
        found.append(("some reported values rule out some true values", "guesses"))
    return found


def warnings(plan: Plan) -> list[str]:
    """List what follows from the plan and is easily overlooked, in sentences.

    Each names its columns, and the part of :func:`bistochastic_survey.audit` that measures it.
    """
    told = [(a.columns, *each) for a in plan.attributes for each in _warnings_for(a)]
    for each in plan.by_attribute.values():
        if each.kind == "numeric" and each.beta == 0 and not each.deterministic and each.size != 1:
            told.append((each.columns, "all values can stay where they are: beta is 0",
                         "disclosures"))  # fmt: skip
    for _, part, members in betas(plan):
        weak = min(members, key=lambda each: each.beta or 0.0)
        if len(members) > 1 and part is not None and (weak.beta or 0.0) < part.beta / 2:
            less = f"beta {down(weak.beta or 0.0, 4)} is less than half the beta of all such"
            audit = "disclosures" if weak.kind == "numeric" else "guesses"
            told.append((weak.columns, f"{less} columns", audit))
    found = [f"{each} ({_audit('guesses' if plan._coded else 'disclosures')})"
             for each in exposed(plan)]  # fmt: skip
    found += grouped((columns, f"{sentence} ({_audit(part)})") for columns, sentence, part in told)
    if plan.keep == "*":
        found.append(
            f"columns that the plan does not name stay unprotected ({_audit('giveaways')})"
        )
    if plan.keep or plan._numeric:
        found.append("unprotected and numeric columns can reveal protected columns that they are "
                     f"correlated with ({_audit('giveaways')})")  # fmt: skip
    if plan.keep and plan.units is None:
        what = "that the plan does not name" if plan.keep == "*" else quoted(plan.keep)
        found.append(
            f"no units are declared: if one of the unprotected columns {what} groups records that "
            "share true values, as a household does, their reported values can be pooled: name it "
            f"in units, or write units=[] ({_audit('pooled')})"
        )
    return found


def exposed(plan: Plan) -> list[str]:
    """Say what a large epsilon of a record means, in one sentence; none if it is not large."""
    if not _is_exposed(plan):
        return []
    if math.isinf(plan.epsilon):
        return ["epsilon is infinite: a suspicion of 1% can grow to 100%"]
    said = f"epsilon {up(plan.epsilon, 4)} per record is above {_MUCH}"
    return [f"{said}: a suspicion of 1% can grow to {becomes(plan.epsilon)}"]


def strength(plan: Plan) -> str:
    """Write epsilon of a record behind its beta, and what it means if it is large."""
    said = f", epsilon {up(plan.epsilon, 4)}" if plan.attributes else ""
    meaning = f": a suspicion of 1% can grow to {becomes(plan.epsilon)}"
    return said + meaning * _is_exposed(plan)


def _is_exposed(plan: Plan) -> bool:
    return bool(plan.attributes) and not plan.epsilon <= _MUCH


def becomes(epsilon: float) -> str:
    """Write what a suspicion of 1% becomes at most, by this epsilon."""
    from bistochastic_survey.report.numbers import STATED, after, exponential, percent

    return percent(after(STATED[0], None if math.isinf(epsilon) else exponential(epsilon)))


def notes(plan: Plan) -> list[str]:
    """List codes that are never true, in sentences."""
    told = []
    for attribute in plan._coded:
        matrix = attribute.matrices[0]
        if many := matrix.padding:
            true = matrix.size - many
            said = matrix.apply(measures.prior_of(matrix, np.full(true, 1 / true)))
            share = 1 - float(said[:true].sum())
            told.append((attribute.columns, (
                f"{many:,} of {matrix.size:,} codes ({many / matrix.size:.1%}) are never true: if "
                f"all categories are equally frequent, {share:.1%} of the reported values are such "
                "codes"
            )))  # fmt: skip
    return grouped(told)


def _audit(part: str) -> str:
    return f"audit: {part}" if part else "no audit measures this yet"


def betas(plan: Plan) -> list[tuple[str, Bits | None, list[Measures]]]:
    """List categories and permuted numbers apart: a name, their bits, and their attributes.

    A mean of the two would say nothing. Bits are None until the number of records is known. Class
    means have no noise, and no beta.
    """
    every = list(plan.by_attribute.values())
    averaged = {a.column for a in plan._numeric if a.how == "average"}
    coded = [each for each in every if each.kind != "numeric"]
    moved = [each for each in every if each.kind == "numeric" and each.name not in averaged]
    both = (("categories", coded), ("permuted numbers", moved))
    return [(name, together(members) if all(m.bits is not None for m in members) else None, members)
            for name, members in both if members]  # fmt: skip


def headline(plan: Plan) -> str:
    """State the betas of a plan in a few words, never one of categories and numbers together."""
    every = betas(plan)
    known = [(name, part) for name, part, _ in every if part is not None]
    if len(every) == 1 and len(plan.attributes) == len(every[0][2]) and known:
        return f"beta {down(known[0][1].beta)}"
    if not known:
        return "no beta yet" if every else "no noise"
    return ", ".join(f"beta {down(part.beta)} of {name}" for name, part in known)


# Above this epsilon of a record, preview, certificate and report say what it means.
_MUCH = 5
HEADER = ["Columns", "Kind", "Family", "Size", "Bits", "Beta", "Epsilon"]
EXPECTED = ["Columns", "Truthful", "Distance", "Standard error", "95% within", "1% becomes"]


def rows(plan: Plan) -> list[list[str]]:
    """Make a row of text for each attribute."""
    return [
        [
            each.name,
            each.kind,
            each.family + (" (no noise)" if each.deterministic else ""),
            "records" if each.size is None else str(each.size),
            "-" if each.bits is None else f"{down(each.bits, 5)} of {each.max_bits or 0.0:.5g}",
            "-" if each.beta is None else down(each.beta, 5) + f" ({each.note})" * bool(each.note),
            up(each.epsilon, 5),
        ]
        for each in plan.by_attribute.values()
    ]


def _part(part: Bits | None) -> str:
    if part is None:
        return "beta depends on the number of records"
    none = "" if part.max_bits else ", as there is nothing to hide"
    bits = f"{down(part.bits, 6)} of {part.max_bits:.6g} bits hidden"
    return f"beta {down(part.beta)} ({bits}{none})"


# With every beta of permuted numbers.
LINKED = (
    "Permuted columns can be linked to named data: their numbers are published, and a few known "
    "numbers of a person may find the row."
)


def _sums(plan: Plan) -> list[tuple[str, str]]:
    parts = betas(plan)
    why = "; ".join(grouped((e.columns, e.reason) for e in plan.by_attribute.values() if e.reason))
    epsilon = f"epsilon {up(plan.epsilon, 4)} per record" + (f" ({why})" if why else "")
    if len(parts) == 1 and len(parts[0][2]) == len(plan.attributes):
        found = [("All columns", f"{_part(parts[0][1])}, {epsilon}")]
    else:
        found = []
        for name, part, members in parts:
            limit = total(members)
            more = f", epsilon {up(limit, 4)} per record" if math.isfinite(limit) else ""
            found.append((name[0].upper() + name[1:], _part(part) + more))
        means = quoted(a.column for a in plan._numeric if a.how == "average")
        found += [("Class means", f"{means}: no noise")] if means else []
        found.append(("All columns", epsilon))
    known = [each for each in plan.by_attribute.values() if each.beta is not None]
    if len(known) > 1:
        weakest = min(known, key=lambda each: each.beta or 0.0)
        said = f"{shown(weakest.name)}, beta {down(weakest.beta or 0.0)}"
        worst = max(known, key=lambda each: each.epsilon)
        if worst.epsilon > weakest.epsilon:
            said += f"; by epsilon {shown(worst.name)}, {up(worst.epsilon, 4)}"
        found.append(("Weakest column", said))
    return found


def totals(plan: Plan) -> list[str]:
    """State the plan's betas and epsilon in lines, and the number of records that they hold for."""
    if not plan.attributes:
        return ["No column is protected yet"]
    sums = _sums(plan)
    width = max(len(name) for name, _ in sums)
    lines = [f"{name.ljust(width)}  {text}" for name, text in sums]
    lines += [LINKED for name, _, _ in betas(plan) if name == "permuted numbers"]
    lines += [
        f"{prefix(a.columns)}drawn together, because some combinations cannot occur: beta and "
        "epsilon of each column are those of all"
        for a in plan._coded if a.impossible
    ]  # fmt: skip
    return [*lines, *several(plan)]


def meaning(plan: Plan) -> list[str]:
    """State beta and epsilon with what they mean, in sentences."""
    beta = headline(plan)
    lines = [f"{beta[0].upper()}{beta[1:]}: an average, from 0 (nothing is hidden) to 1 "
             "(everything is hidden)."] if beta.startswith("beta") else []  # fmt: skip
    if math.isinf(plan.epsilon):
        return [*lines, "Epsilon is infinite: in the worst case, there is no limit."]
    from bistochastic_survey.report.numbers import exponential

    most = up(float(exponential(plan.epsilon)), 3) if plan.epsilon < 700 else "e^epsilon"
    return [*lines, f"Epsilon {up(plan.epsilon, 4)}: the worst case. One true record explains a "
            f"reported record at most {most} times as well as another."]  # fmt: skip


def title(plan: Plan) -> str:
    """Name a plan, and count its protected columns."""
    count = sum(len(a.columns) for a in plan.attributes) - len(published.unprotected(plan))
    many = f"{count or 'no'} protected column{'s' * (count != 1)}"
    return f"Plan {shown(plan.name)}: {many}"


def several(plan: Plan) -> list[str]:
    """Say that the bounds hold for one record, and what several records of one value reveal."""
    one = "Epsilon and beta hold for one record"
    finite = [each for each in plan.by_attribute.values() if math.isfinite(each.epsilon)]
    if plan.units:
        single = [
            part for a, part in zip(plan.attributes, plan.by_attribute.values(), strict=True)
            if a.unit is None and math.isfinite(part.epsilon)
        ]  # fmt: skip
        return [
            *by_unit(plan),
            f"{one}. Reported values of m records of one unit, by {quoted(plan.units)}, can be "
            "pooled: columns drawn by the unit count once, the epsilon of each other column m "
            "times.",
            *grouped((e.columns, _grows(lambda m, e=e: m * e.epsilon)) for e in single),  # type: ignore[misc]
            f"All columns of m records of a unit: {_grows(lambda m: pooled(plan, m))}",
        ]
    if not finite:
        return [f"{one}: several records of the same true value, as in a household, reveal more."]
    # All columns together that have a bound.
    epsilon = total(finite)
    which = prefix(c for each in finite for c in each.columns) * (
        len(finite) < len(plan.attributes)
    )
    grows = _grows(lambda m: m * epsilon)
    return [
        f"{one}. For m records with the same true value, as in a household, epsilon is m times "
        "as large. Values that differ reveal less.",
        f"{which}{grows}" if which else grows[0].upper() + grows[1:],
    ]


def _grows(epsilon: Callable[[int], float]) -> str:
    """Bound a suspicion after this many records, by the epsilon of all of them."""
    from bistochastic_survey.report.numbers import MANY

    first, *rest = [f"{becomes(epsilon(m))} with {m}" for m in MANY]
    return f"a suspicion of 1% becomes at most {', '.join([f'{first} record', *rest])}."


def by_unit(plan: Plan) -> list[str]:
    """Write the sums of the columns that are drawn once per unit, a line for each unit."""
    every = list(zip(plan.attributes, plan.by_attribute.values(), strict=True))
    found = []
    for unit in plan.units or ():
        parts = [part for a, part in every if a.unit == unit]
        bits = together(parts)
        if bits is not None:
            sums = f"{down(bits.bits)} of {bits.max_bits:.6g} bits, epsilon {up(total(parts))}"
            columns = prefix(c for part in parts for c in part.columns)
            found.append(f"{columns}drawn once per unit of `{shown(unit)}`: {sums}, per unit")
    return found


def ids(plan: Plan) -> str:
    """Say what ids of people may be."""
    if plan.id_type is None:
        return 'Ids, if used: of any type, and "7" and 7 are two people; id_type names one type'
    words = {"string": "strings", "integer": "integers", "bytes": "bytes"}
    return f"Ids: {words[plan.id_type]}"


class Preview:
    """A plan in words and a table, which printing it shows.

    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> print(plan.preview())
    Plan plan: 1 protected column
    ...
    """

    def __init__(self, plan: Plan, records: int | None = None, design_effect: object = 1) -> None:
        self.plan, self.records = plan, records
        self.design_effect = checks.positive("design_effect", design_effect)

    def expectations(self) -> list[list[str]]:
        """Make a row of text for each categorical column: what to expect of the records."""
        from bistochastic_survey.report.numbers import STATED, after, odds, percent, precision

        found = []
        for attribute in self.plan._coded if self.records is not None else ():
            every = [(precision(m, self.records or 1, self.design_effect), m)
                     for m in attribute.matrices]  # fmt: skip
            # The least precise of several matrices, and the most that any of them reveals.
            worst, matrix = max(every, key=lambda pair: pair[0].error or math.inf)
            each = [odds(m) for m in attribute.matrices]
            most = None if None in each else max(x for x in each if x is not None)
            far = measures.mean_distance(matrix)
            numbers = (matrix.truthfulness, far, worst.error, worst.within)
            found.append([
                ", ".join(attribute.columns),
                *("-" if x is None else f"{x:.4g}" for x in numbers),
                percent(after(STATED[0], most)),
            ])  # fmt: skip
        return found

    def __str__(self) -> str:
        plan = self.plan
        lines = [title(plan), ""]
        lines += [table(HEADER, rows(plan), left=(0, 1, 2)), ""]
        expected = self.expectations()
        if expected:
            lines += [f"To expect of {self.records:,} records:", table(EXPECTED, expected), ""]
        lines += [*self._totals, *headed(self._lists), "", ids(plan)]
        return "\n".join(lines)

    @property
    def _totals(self) -> list[str]:
        return [*totals(self.plan), *central.sentences(self.plan, self.records)]

    @property
    def _lists(self) -> dict[str, Sequence[str]]:
        """Phrases under their headings, the same in text and in a notebook."""
        plan = self.plan
        left = f"columns {quoted(plan.drop)}"
        choices = "permute as Numeric, keep, drop or declare the categories"
        undecided = f"{prefix(plan.undecided)}{choices}"
        return {
            "Published unchanged": possibly_unchanged(plan),
            "Left out": [left] * bool(plan.drop),
            "Undecided, so nothing can be protected yet": [undecided] * bool(plan.undecided),
            "Warnings": warnings(plan),
            "Notes": notes(plan),
        }

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain data.

        >>> sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")]).preview().to_dict()["beta"]
        1.0
        """
        plan = self.plan
        known = plan.has_records or plan.categorical is not None
        why = central.obstacle(plan, self.records)
        shuffled = None if why else central.central(plan, self.records or 0)._asdict()
        return {
            "name": plan.name, "digest": plan.digest,
            "beta": plan.beta if known else None, "min_beta": plan.min_beta if known else None,
            "epsilon": plan.epsilon, "central": shuffled,
            "attributes": [asdict(each) for each in plan.by_attribute.values()],
            "published_unchanged": possibly_unchanged(plan),
            "columns_left_out": list(plan.drop), "undecided": list(plan.undecided),
            "id_type": plan.id_type,
            "warnings": warnings(plan), "notes": notes(plan),
        }  # fmt: skip

    def _repr_html_(self) -> str:
        from bistochastic_survey.pages import render

        tables = [laws(self.plan, title(self.plan))]
        if expected := self.expectations():
            caption = f"To expect of {self.records or 0:,} records"
            tables.append({"caption": caption, "header": EXPECTED, "rows": expected, "left": (0,)})
        return render("notebook", tables=tables, lines=self._totals, lists=self._lists)


def headed(lists: Mapping[str, Sequence[str]]) -> list[str]:
    """Write phrases below their headings, in lines; an empty list has no heading."""
    found = []
    for heading, phrases in lists.items():
        found += ["", f"{heading}:", *(f"  {each}" for each in phrases)] if phrases else []
    return found


def laws(plan: Plan, caption: str) -> dict[str, object]:
    """Tabulate what happens to each attribute, for a notebook."""
    return {"caption": caption, "header": HEADER, "rows": rows(plan), "left": (0, 1, 2)}


def line(plan: Plan) -> str:
    """Write a plan in one line."""
    count = len(plan.attributes)
    what = f"<Plan `{shown(plan.name)}`, {count} attribute{'s' * (count != 1)}"
    if plan.attributes:
        what += f": {headline(plan)}"
        if plan.has_records or plan.categorical is not None:
            what += f", least {down(plan.min_beta)}"
    none = len(published.unprotected(plan))
    what += f", {none} column{'s' * (none > 1)} unprotected" * bool(none)
    return f"{what}, {len(plan.undecided)} undecided>" if plan.undecided else f"{what}>"
