"""A plan in words and a table, before any data are seen: what it hides, and what it does not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bistochastic.plan.attributes import Numeric, prefix
from bistochastic.plan.definitions import in_words
from bistochastic.words import down, shown, table, up

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bistochastic.plan.attributes import Attribute
    from bistochastic.plan.definitions import Bits, Measures
    from bistochastic.plan.plan import Plan

ROW_ORDER = "the order of the rows, unless they are shuffled"


def in_clear(plan: Plan) -> list[str]:
    """What the plan leaves as it is, a phrase each."""
    found = []
    if plan.keep == "*":
        found.append("every column that the plan does not name")
    elif plan.keep:
        found.append("columns " + ", ".join(f"`{shown(column)}`" for column in plan.keep))
    return found + seen(plan)


def seen(plan: Plan) -> list[str]:
    """What of the protected columns is seen as it is, a phrase each.

    >>> import bistochastic as bs
    >>> seen(bs.Plan([bs.Numeric("age", "k_anonymous", k=5)]))
    ['the set of all numbers in `age`, and how often each occurs']
    """
    missing = [
        column
        for attribute in plan.attributes
        if not isinstance(attribute, Numeric) and attribute.missing == "keep"
        for column in attribute.columns
    ]
    found = [f"who is missing in {prefix(missing)[:-2]}"] if missing else []
    for release, what, more in (
        ("permute", "the set of all numbers", ", and how often each occurs"),
        ("average", "the mean of every class of numbers", ""),
    ):
        columns = [
            f"`{shown(attribute.column)}`"
            for attribute in plan.attributes
            if isinstance(attribute, Numeric) and attribute.release == release
        ]
        if columns:
            found.append(f"{what} in {', '.join(columns)}{more}")
    return found


def grouped(told: Iterable[tuple[Iterable[str], str]]) -> list[str]:
    """Sentences about columns; what is said of several is said once.

    >>> grouped([(["age"], "published"), (["sex"], "hidden"), (["income"], "published")])
    ['columns `age`, `income`: published', 'column `sex`: hidden']
    """
    found: dict[str, list[str]] = {}
    for columns, sentence in told:
        found.setdefault(sentence, []).extend(columns)
    return [f"{prefix(columns)}{sentence}" for sentence, columns in found.items()]


def _minded(attribute: Attribute) -> list[str]:
    """What is easily overlooked in one attribute, a sentence each."""
    if isinstance(attribute, Numeric):
        if attribute.release == "average":
            return ["class means hold no noise and hide no bits"]
        found = ["the set of values is published as it is; only who has which is hidden"]
        if attribute.matrix is not None and attribute.matrix.size == 1:
            found.append("one record: it keeps its value, and beta is 1 for that reason alone")
        if attribute.order == "rank":
            found.append("a record may keep its value, or get one that is near it in rank")
        found.append("equal values are exchanged without effect: where few values differ, most "
                     "records keep theirs, and declared categories hide more")  # fmt: skip
        return found
    found = []
    if attribute.size == 1:
        found.append("one level: there is nothing to hide, and beta is 1 for that reason alone")
    if attribute.domain_from_data:
        found.append("the categories were read off the data, which tells that they occur")
    if attribute.missing == "keep":
        found.append("everyone sees who is missing")
    if any(math.isinf(matrix.epsilon) for matrix in attribute.matrices):
        found.append("some reports exclude some truths for certain")
    return found


def warnings(plan: Plan) -> list[str]:
    """What follows from the plan alone and is easily overlooked: a sentence each, with all columns
    that it is about."""
    found = grouped((a.columns, each) for a in plan.attributes for each in _minded(a))
    if plan.keep == "*":
        found.append("columns that the plan does not name stay in clear")
    if plan.keep or any(isinstance(attribute, Numeric) for attribute in plan.attributes):
        found.append("a column in clear, or a numeric one, that goes with a protected column gives "
                     "it away: beta and epsilon do not see that")  # fmt: skip
    betas = [each.beta for each in plan.by_attribute.values() if each.beta is not None]
    if len(betas) > 1 and min(betas) < plan.beta / 2:
        weak = min((e for e in plan.by_attribute.values() if e.beta is not None),
                   key=lambda each: each.beta or 0.0)  # fmt: skip
        found.append(f"{prefix(weak.columns)}beta {down(weak.beta or 0.0, 4)} is less than half of "
                     "the plan's: others make up for it")  # fmt: skip
    return found


HEADER = ["columns", "kind", "law", "size", "bits", "beta", "epsilon"]


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
    return f"{name}: {down(part.bits, 6)} of {part.max_bits:.6g} bits, beta {down(part.beta)}{none}"


def totals(plan: Plan) -> list[str]:
    """The plan's beta and epsilon, a line each."""
    if not plan.attributes:
        return ["no column is protected yet"]
    lines = []
    both = plan.categorical is not None and plan.numeric is not None
    if both and plan.categorical is not None and plan.numeric is not None:
        lines.append(_part("categorical", plan.categorical))
        lines.append(_part("numeric", plan.numeric))
    if plan.is_bound:
        lines.append(_part("together", plan._together()))
    elif plan.categorical is not None:
        lines.append(_part("categorical", plan.categorical))
        lines.append("numeric columns are not in beta: their bits take a number of records")
    else:
        lines.append("beta is not known: bits of numeric columns take a number of records")
    if plan.is_bound or plan.categorical is not None:
        lines.append(f"smallest beta of an attribute: {down(plan.min_beta)}")
    why = "; ".join(grouped((e.columns, e.reason) for e in plan.by_attribute.values() if e.reason))
    count = len(plan.attributes)
    summed = f", the sum over {count} attributes" if count > 1 and not why else ""
    lines.append(f"epsilon of a record: {up(plan.epsilon)}{summed}" + (f" ({why})" if why else ""))
    return lines


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
        lines += [*totals(plan), "", "In clear:"]
        lines += [f"  {each}" for each in [*in_clear(plan), ROW_ORDER]]
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
            listed("In clear", [*in_clear(plan), ROW_ORDER]),
            listed("Left out", left if plan.drop else []),
            listed("Undecided, so nothing can be protected yet", undecided(plan)),
            listed("Mind", warnings(plan)),
        )


def laws(plan: Plan, title: str) -> Any:
    """What happens to each attribute, as a table and as bars of beta."""
    from bistochastic import markup

    parts = list(plan.by_attribute.values())
    betas = [(each.name, each.beta, None, None) for each in parts if each.beta is not None]
    return markup.join(
        markup.table(HEADER, rows(parts), caption=title, left=(0, 1, 2), scroll=False),
        markup.titled(markup.bars(betas, title="Beta", most=1.0, shown=down)) if betas else None,
    )


def listed(title: str, phrases: Sequence[str]) -> Any:
    """Phrases under a title; nothing where there are none."""
    from bistochastic import markup

    if not phrases:
        return None
    items = [markup.element("li", phrase) for phrase in phrases]
    head = markup.element("p", markup.element("strong", title))
    return markup.join(head, markup.element("ul", items))
