"""A plan in words and a table, before any data are seen: what it hides, and what it does not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bistochastic.plan import published
from bistochastic.plan.attributes import prefix
from bistochastic.plan.definitions import epsilon as total
from bistochastic.plan.definitions import in_words, pooled, together
from bistochastic.words import down, shown, table, up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bistochastic.markup import Markup
    from bistochastic.plan.attributes import Attribute
    from bistochastic.plan.definitions import Bits, Measures
    from bistochastic.plan.plan import Plan

ROW_ORDER = "the order of the rows, unless they are shuffled"


def published_unchanged(plan: Plan) -> list[str]:
    """What the plan publishes unchanged, a phrase each; the order of the rows is no part of it.

    >>> import bistochastic as bs
    >>> published_unchanged(bs.Plan([bs.Numeric("age", "k_anonymous", k=5)]))
    ['the set of all numbers in `age`, and how often each occurs']
    """
    return published.phrases(fact for fact in published.facts(plan) if fact.kind != "order")


def grouped(told: Iterable[tuple[Iterable[str], str]]) -> list[str]:
    """Sentences about columns; what is said of several is said once.

    >>> grouped([(["age"], "published"), (["sex"], "hidden"), (["income"], "published")])
    ['columns `age`, `income`: published', 'column `sex`: hidden']
    """
    found: dict[str, list[str]] = {}
    for columns, sentence in told:
        found.setdefault(sentence, []).extend(columns)
    return [f"{prefix(columns)}{sentence}" for sentence, columns in found.items()]


def _minded(attribute: Attribute) -> list[tuple[str, str]]:
    """What is easily overlooked in one attribute, each with the part of an audit that measures it;
    an empty one if none does."""
    certain = published.certain(attribute)
    whole = len(certain) == len(attribute.columns)
    if attribute.whole_column:
        if attribute.matrix is not None and attribute.matrix.size == 1:
            return [("one record: it keeps its value, and beta is 1 for that reason alone",
                     "disclosures")]  # fmt: skip
        if whole:
            return [("published unchanged, not protected", "disclosures")]
        if attribute.how == "average":
            return [("class means hold no noise and hide no bits", "disclosures")]
        found = [("the set of values is published as it is; only who has which is hidden",
                  "linkages")]  # fmt: skip
        if attribute.order == "rank":
            found.append(("a record may keep its value, or get one that is near it in rank",
                          "disclosures"))  # fmt: skip
        found.append(("equal values are exchanged without effect: where few values differ, most "
                      "records keep theirs, and declared categories hide more",
                      "disclosures"))  # fmt: skip
        return found
    found = [(f"`{shown(column)}` is published unchanged, not protected", "guesses")
             for column in certain]  # fmt: skip
    if whole:
        found = [("published unchanged, not protected", "guesses")]
    if attribute.size == 1:
        found.append(("one level: there is nothing to hide, and beta is 1 for that reason alone",
                      "guesses"))  # fmt: skip
    if attribute.categories_from_data:
        found.append(("the categories were read off the data, which tells that they occur", ""))
    if attribute.missing == "keep":
        found.append(("everyone sees who is missing", "linkages"))
    if not whole and any(math.isinf(matrix.epsilon) for matrix in attribute.matrices):
        found.append(("some reports exclude some truths for certain", "guesses"))
    return found


def warnings(plan: Plan) -> list[str]:
    """What follows from the plan alone and is easily overlooked: a sentence each, with all columns
    that it is about, and the part of :func:`bistochastic.audit` that measures it."""
    told = [(a.columns, *each) for a in plan.attributes for each in _minded(a)]
    for each in plan.by_attribute.values():
        if each.kind == "numeric" and each.beta == 0 and not each.deterministic and each.size != 1:
            told.append((each.columns, "with some chance all values stay where they are: beta is 0",
                         "disclosures"))  # fmt: skip
    for _, part, members in betas(plan):
        weak = min(members, key=lambda each: each.beta or 0.0)
        if len(members) > 1 and part is not None and (weak.beta or 0.0) < part.beta / 2:
            less = f"beta {down(weak.beta or 0.0, 4)} is less than half of that of all such columns"
            audit = "disclosures" if weak.kind == "numeric" else "guesses"
            told.append((weak.columns, f"{less}: others make up for it", audit))
    found = grouped((columns, f"{sentence} ({_audit(part)})") for columns, sentence, part in told)
    if plan.keep == "*":
        found.append(
            f"columns that the plan does not name stay unprotected ({_audit('giveaways')})"
        )
    if plan.keep or plan._numeric:
        found.append("an unprotected column, or a numeric one, that goes with a protected column "
                     "gives it away: beta and epsilon do not see that "
                     f"({_audit('giveaways')})")  # fmt: skip
    if plan.keep and plan.units is None:
        what = "that the plan does not name" if plan.keep == "*" else ", ".join(
            f"`{shown(column)}`" for column in plan.keep
        )  # fmt: skip
        found.append(
            f"no units are declared: if one of the unprotected columns {what} groups records that "
            "share true values, as a household does, their reported values can be pooled: name it "
            f"in units, or write units=[] ({_audit('')})"
        )
    return found


def _audit(part: str) -> str:
    return f"audit: {part}" if part else "no audit measures this yet"


def betas(plan: Plan) -> list[tuple[str, Bits | None, list[Measures]]]:
    """Categories and permuted numbers apart, as no mean of the two says anything: a name, the bits
    of both, and the attributes. Bits are None while no number of records is known.

    Class means have no noise, and no beta.

    >>> import bistochastic as bs
    >>> sex = bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)
    >>> plan = bs.Plan([sex, bs.Numeric("income", "k_anonymous", k=5)]).for_records(1000)
    >>> [(name, round(part.beta, 3)) for name, part, _ in betas(plan)]
    [('categories', 0.6), ('permuted numbers', 0.233)]
    """
    every = list(plan.by_attribute.values())
    averaged = {a.column for a in plan._numeric if a.how == "average"}
    coded = [each for each in every if each.kind != "numeric"]
    moved = [each for each in every if each.kind == "numeric" and each.name not in averaged]
    both = (("categories", coded), ("permuted numbers", moved))
    return [(name, together(members) if all(m.bits is not None for m in members) else None, members)
            for name, members in both if members]  # fmt: skip


def headline(plan: Plan) -> str:
    """The betas of a plan in a few words, never one of categories and numbers together.

    >>> import bistochastic as bs
    >>> sex = bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)
    >>> headline(bs.Plan([sex])), headline(bs.Plan([sex, bs.Numeric("age", "uniform")]))
    ('beta 0.6', 'beta 0.6 of categories')
    """
    every = betas(plan)
    known = [(name, part) for name, part, _ in every if part is not None]
    if len(every) == 1 and len(plan.attributes) == len(every[0][2]) and known:
        return f"beta {down(known[0][1].beta)}"
    if not known:
        return "no beta yet" if every else "no noise"
    return ", ".join(f"beta {down(part.beta)} of {name}" for name, part in known)


HEADER = ["Columns", "Kind", "Family", "Size", "Bits", "Beta", "Epsilon"]


def rows(parts: list[Measures]) -> list[list[str]]:
    """A row of text for each attribute."""
    return [
        [
            each.name,
            each.kind,
            each.family + (" (no noise)" if each.deterministic else ""),
            "records" if each.size is None else str(each.size),
            "-" if each.bits is None else f"{down(each.bits, 5)} of {each.max_bits or 0.0:.5g}",
            "-" if each.beta is None else _beta(each),
            up(each.epsilon, 5),
        ]
        for each in parts
    ]


def _beta(each: Measures) -> str:
    return down(each.beta or 0.0, 5) + (f" ({each.note})" if each.note else "")


def _part(name: str, part: Bits) -> str:
    none = "" if part.max_bits else ", as there is nothing to hide"
    name = name[0].upper() + name[1:]
    return f"{name}: {down(part.bits, 6)} of {part.max_bits:.6g} bits, beta {down(part.beta)}{none}"


# Beside every beta of permuted numbers.
LINKED = (
    "Permuted columns can be linked to named data: their numbers are published, and a few known "
    "numbers of a person may find the row."
)


def totals(plan: Plan) -> list[str]:
    """The plan's betas and epsilon, a line each, and what they hold for."""
    if not plan.attributes:
        return ["no column is protected yet"]
    lines = []
    for name, part, _ in betas(plan):
        if part is not None:
            lines.append(_part(name, part))
        else:
            lines.append("Permuted numbers: their beta takes a number of records")
        if name == "permuted numbers":
            lines.append(LINKED)
    means = [a.column for a in plan._numeric if a.how == "average"]
    if means:
        lines.append(f"Class means in {', '.join(f'`{shown(c)}`' for c in means)}: no noise")
    if plan.has_records or plan.categorical is not None:
        lines.append(f"smallest beta of an attribute: {down(plan.min_beta)}")
    lines += [
        f"{prefix(a.columns)}drawn together, as some combinations cannot occur: beta and epsilon "
        "of each column are those of all"
        for a in plan._coded if a.impossible
    ]  # fmt: skip
    why = "; ".join(grouped((e.columns, e.reason) for e in plan.by_attribute.values() if e.reason))
    count = len(plan.attributes)
    summed = f", the sum over {count} attributes" if count > 1 and not why else ""
    lines.append(f"epsilon of a record: {up(plan.epsilon)}{summed}" + (f" ({why})" if why else ""))
    return [*lines, *several(plan)]


def several(plan: Plan) -> list[str]:
    """What the bounds hold for: one record; and what several records of one value tell.

    >>> import bistochastic as bs
    >>> several(bs.Plan([bs.Categorical("a", range(9), "randomized_response", beta=0.6)]))[1]
    'A suspicion of 1% becomes at most 14.2% by 1 record, 72.9% by 2, 97.8% by 3, ...
    """
    one = "Epsilon and beta hold for one record"
    finite = [each for each in plan.by_attribute.values() if math.isfinite(each.epsilon)]
    if plan.units:
        return [*by_unit(plan), *_pooled(plan, one)]
    if not finite:
        return [f"{one}: several records of the same true value, as in a household, tell more."]
    which, epsilon = "", plan.epsilon
    if math.isinf(epsilon):
        # Of the columns that have a bound, the one that tells most.
        worst = max(finite, key=lambda each: each.epsilon)
        which, epsilon = prefix(worst.columns), worst.epsilon
    grows = _grows(lambda m: m * epsilon)
    return [
        f"{one}. Of m records with the same true value, as in a household, epsilon is m times as "
        "large: related values never tell more.",
        f"{which}{grows}" if which else grows[0].upper() + grows[1:],
    ]


def _grows(epsilon: Callable[[int], float]) -> str:
    """What a suspicion becomes by so many records, by the epsilon of all of them."""
    from bistochastic.report.suspicion import MANY, STATED, after, exponential, percent

    each = [
        f"{percent(after(STATED[0], None if math.isinf(e) else exponential(e)))} by {m}"
        for m, e in ((m, epsilon(m)) for m in MANY)
    ]
    each[0] += " record"
    return f"a suspicion of {percent(STATED[0])} becomes at most {', '.join(each)}."


def by_unit(plan: Plan) -> list[str]:
    """The sums of the columns that are drawn once per unit, a line for each unit."""
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


def _pooled(plan: Plan, one: str) -> list[str]:
    """The bound of the reported values of several records of one unit."""
    by = ", ".join(f"`{shown(unit)}`" for unit in plan.units or ())
    found = [
        f"{one}. Reported values of m records of one unit, by {by}, can be pooled: columns drawn "
        "by the unit count once, the epsilon of each other column m times."
    ]
    single = [
        part for a, part in zip(plan.attributes, plan.by_attribute.values(), strict=True)
        if a.unit is None and math.isfinite(part.epsilon)
    ]  # fmt: skip
    found += grouped((e.columns, _grows(lambda m, e=e: m * e.epsilon)) for e in single)  # type: ignore[misc]
    return [*found, f"All columns of m records of a unit: {_grows(lambda m: pooled(plan, m))}"]


def undecided(plan: Plan) -> list[str]:
    """What is still to be decided, a phrase each.

    >>> import bistochastic as bs
    >>> undecided(bs.Plan([], undecided=["weight"]))
    ['column `weight`: permute as Numeric, keep, drop or declare the categories']
    """
    if not plan.undecided:
        return []
    choices = "permute as Numeric, keep, drop or declare the categories"
    return [f"{prefix(plan.undecided)}{choices}"]


class Preview:
    """A plan in words and a table; printing it shows all.

    >>> import bistochastic as bs
    >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> print(plan.preview())
    Plan `plan`, Definition 1 (one column)
    ...
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def __str__(self) -> str:
        plan = self.plan
        lines = [f"Plan `{shown(plan.name)}`, {in_words(plan.definition)}", ""]
        lines += [table(HEADER, rows(list(plan.by_attribute.values())), left=(0, 1, 2)), ""]
        lines += [*totals(plan), "", "Published unchanged:"]
        lines += [f"  {each}" for each in [*published_unchanged(plan), ROW_ORDER]]
        if plan.drop:
            listed = ", ".join(f"`{shown(column)}`" for column in plan.drop)
            lines += ["", f"Left out: columns {listed}"]
        for phrase in undecided(plan):
            lines += ["", f"Undecided, so nothing can be protected yet: {phrase}"]
        warned = warnings(plan)
        if warned:
            lines += ["", "Mind:", *(f"  {each}" for each in warned)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from bistochastic import markup

        plan = self.plan
        left = [f"columns {', '.join(f'`{shown(column)}`' for column in plan.drop)}"]
        return markup.fragment(
            laws(plan, f"Plan {shown(plan.name)}, Definition {plan.definition}"),
            [markup.element("p", line) for line in totals(plan)],
            listed("Published unchanged", [*published_unchanged(plan), ROW_ORDER]),
            listed("Left out", left if plan.drop else []),
            listed("Undecided, so nothing can be protected yet", undecided(plan)),
            listed("Mind", warnings(plan)),
        )


def laws(plan: Plan, title: str) -> Markup:
    """Tabulate what happens to each attribute."""
    from bistochastic.markup import table

    each = rows(list(plan.by_attribute.values()))
    return table(HEADER, each, caption=title, left=(0, 1, 2), scroll=False)


def listed(title: str, phrases: Sequence[str]) -> Markup | None:
    """Phrases under a title; nothing where there are none."""
    from bistochastic import markup

    if not phrases:
        return None
    items = [markup.element("li", phrase) for phrase in phrases]
    head = markup.element("p", markup.element("strong", title))
    return markup.join(head, markup.element("ul", items))
