"""Definitions 1 to 3 for a plan: bits of attributes and of all together, and what is required.

``bistochastic.guarantee`` has the rules. What a plan knows beyond the matrix of an attribute is
here: groups, missing values that are published, and class means.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from bistochastic import Guarantee, guarantee
from bistochastic.errors import GuaranteeError, Refused, RefusedType
from bistochastic.measures import log2_up
from bistochastic_survey import checks
from bistochastic_survey.plan.numeric import Attribute, Numeric
from bistochastic_survey.wording import Shown, down, exact, meant, prefix, quoted, shown, up

if TYPE_CHECKING:
    from bistochastic_survey.plan.plan import Plan


@dataclass(frozen=True, repr=False)
class Measures(Shown):
    """The measures of one attribute.

    ``bits`` of ``max_bits`` are hidden and ``beta`` is their ratio, for the weakest group if there
    are several. All three are None for a numeric attribute without a number of records. ``epsilon``
    is for the reported value of this attribute; ``reason`` says why it is infinite.
    ``deterministic`` attributes are not random and hide no bits.

    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> plan.by_attribute["sex"].size, plan.by_attribute["sex"].beta >= 0.6
    (2, True)
    """

    columns: tuple[str, ...]
    kind: str
    family: str
    size: int | None
    bits: float | None
    max_bits: float | None
    beta: float | None
    epsilon: float
    reason: str
    deterministic: bool = False

    @property
    def name(self) -> str:
        """The column, or the columns with a comma between them."""
        return ", ".join(self.columns)

    @property
    def note(self) -> str:
        """The reason why a beta of 1 means nothing: ``"one category"``, ``"one record"`` or empty.

        >>> plan = sv.Plan([sv.Categorical("country", ["AT"], "randomized_response", beta=0.6)])
        >>> plan.by_attribute["country"].beta, plan.by_attribute["country"].note
        (1.0, 'one category')
        """
        if self.size != 1:
            return ""
        return "one record" if self.kind == "numeric" else "one category"

    def _facts(self) -> list[tuple[str, str]]:
        found = [("kind", self.kind), ("family", self.family)]
        if self.deterministic:
            found.append(("noise", "none"))
        if self.size is not None:
            found.append(("size", str(self.size)))
        if self.bits is not None and self.beta is not None:
            found.append(("bits", f"{down(self.bits)} of {self.max_bits or 0.0:.6g}"))
            found.append(("beta", down(self.beta) + (f" ({self.note})" if self.note else "")))
        why = f" ({self.reason})" if self.reason else ""
        return [*found, ("epsilon", up(self.epsilon) + why)]

    def __repr__(self) -> str:
        said = ", ".join(f"{name} {text}" for name, text in self._facts())
        return f"<Measures of {quoted(self.columns)}: {said}>"


@dataclass(frozen=True, repr=False)
class Bits(Shown):
    """The bits of several attributes together, the most they could have, and the ratio.

    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> plan.categorical.max_bits, plan.categorical.attributes
    (1.0, 1)
    """

    bits: float
    max_bits: float
    beta: float
    attributes: int

    def __repr__(self) -> str:
        many = f"{self.attributes} attribute{'s' * (self.attributes != 1)}"
        return f"<Bits of {many}: {down(self.bits)} of {self.max_bits:.6g}, beta {down(self.beta)}>"


def measures(attribute: Attribute) -> Measures:
    """Measure what one attribute hides."""
    if attribute.whole_column:
        return _numeric(attribute)
    law = attribute._weakest
    epsilons = [matrix.epsilon for matrix in attribute.matrices]
    reasons = []
    if max(epsilons) == math.inf:
        reasons.append("some reported values rule out some true values")
    if attribute.missing == "keep":
        reasons.append("who is missing is published")
    family = law.family if attribute.groups is None else f"by {shown(attribute.groups.column)}"
    return Measures(
        columns=attribute.columns,
        kind=attribute.kind,
        family=family,
        size=law.size - law.padding,
        bits=law.entropy_rate,
        max_bits=law.max_bits,
        beta=law.beta,
        epsilon=math.inf if reasons else max(epsilons),
        reason=", ".join(reasons),
    )


def _numeric(attribute: Numeric) -> Measures:
    average = attribute.how == "average"
    law = attribute.matrix
    why = "class means are a fixed function of the values"
    bits = beta = None
    if law is not None and attribute.grouped:
        # The least over all groups that there may be, of all records.
        bits = 0.0 if average else min(attribute.least_bits, law.max_bits)
        beta = _ratio(bits, log2_up(law.size)) if law.size > 1 else 1.0
    elif law is not None:
        held = guarantee((), individuals=law)
        beta = 0.0 if average and law.size > 1 else held.beta
        bits = 0.0 if average else held.bits
    return Measures(
        columns=attribute.columns,
        kind="numeric",
        family=attribute.family or (law.family if law is not None else ""),
        size=None if law is None else law.size,
        bits=bits,
        max_bits=None if law is None else law.max_bits,
        beta=beta,
        epsilon=math.inf,
        reason=why if average else "the set of values is published",
        deterministic=average and (law is None or law.size > 1),
    )


# The meaning of each definition, for people who have not read the paper.
_MEANING = {
    1: "one column",
    2: "the bits of several attributes, added",
    3: "several columns as one attribute",
}


def in_words(number: int) -> str:
    """Write a definition of the paper by its number, with its meaning."""
    return f"Definition {number} ({_MEANING[number]})"


def _held(part: Measures) -> Guarantee:
    """State the guarantee of an attribute; without a number of records it hides no bits yet."""
    return Guarantee(1, part.bits or 0.0, log2_up(part.size or 1), part.beta or 0.0, part.epsilon)


def together(parts: Iterable[Measures]) -> Bits | None:
    """Add the bits of the attributes whose size is known; None if none is."""
    known = [_held(part) for part in parts if part.bits is not None]
    if not known:
        return None
    total = guarantee(known)
    return Bits(total.bits, total.max_bits, total.beta, len(known))


def epsilon(parts: Iterable[Measures]) -> float:
    """Add the epsilons of a whole record, rounded up."""
    listed = [_held(part) for part in parts]
    return guarantee(listed).epsilon if listed else 0.0


def pooled(plan: Plan, m: int) -> float:
    """Compute the epsilon of all columns of ``m`` records of one unit, the worst over all units.

    Columns drawn by the unit count once, all others once per record: equal true values attain it.
    """
    every = list(zip(plan.attributes, plan.by_attribute.values(), strict=True))
    return max(
        epsilon(p for a, p in every for _ in range(1 if unit and a.unit == unit else m))
        for unit in plan.units or ("",)
    )


def _ratio(bits: float, most: float) -> float:
    """Divide, rounded down."""
    ratio = Fraction(bits) / Fraction(most)
    found = float(ratio)
    return found if Fraction(found) <= ratio else math.nextafter(found, 0.0)


# The requirements of a publisher: arguments of ``Plan.require``.
_REQUIRED = ("beta", "min_beta", "epsilon", "pooled")


def _limits(given: Mapping[str, object], must: str) -> dict[str, Any]:
    """Read arguments of ``require``: numbers, and ``pooled``, a number of records and a bound."""
    found: dict[str, Any] = {}
    for name in [name for name in _REQUIRED if name in given]:
        x = given[name]
        if name != "pooled":
            found[name] = checks.real(name, must, x)
        elif isinstance(x, tuple | list) and len(x) == 2:
            found[name] = checks.whole(name, x[0], 1), checks.real(name, "be a number", x[1])
        else:
            pair = "be (m, epsilon), a number of records and a bound"
            raise RefusedType("pooled", pair, type(x).__name__)
    return found


def requirement(given: Mapping[str, object]) -> tuple[tuple[str, Any], ...]:
    """Read a publisher's requirement: some arguments of ``require``, in their order there."""
    must = f"map some of {', '.join(_REQUIRED)} to numbers"
    for name in checks.of_type("requirement", must, given, Mapping):
        if name not in _REQUIRED:
            raise Refused("requirement", must, f"`{shown(name)}`{meant(name, _REQUIRED)}")
    found = _limits(given, "be a finite number")
    for name, x in found.items():
        if not math.isfinite(x[1] if name == "pooled" else x):
            raise Refused(name, "be a finite number", x)
    return tuple(found.items())


def require(plan: Plan, asked: Mapping[str, object]) -> None:
    """Raise an error unless the plan meets all limits, or its own requirement without any."""
    given = {name: x for name, x in asked.items() if x is not None}
    wanted = _limits(given, "be a number") or plan.requirement
    if not wanted:
        must = f"be given one of {', '.join(_REQUIRED)}, or the plan a requirement"
        raise Refused("require", must, "neither")
    plan._refuse_undecided(GuaranteeError)
    parts = list(plan.by_attribute.values())
    unbound = [each for each in parts if each.beta is None]
    if unbound and ("beta" in wanted or "min_beta" in wanted):
        raise GuaranteeError(
            "records", "be known", "none, which for_records(n) sets", column=unbound[0].columns
        )
    weakest = min(parts, key=lambda each: each.beta or 0.0)
    if "min_beta" in wanted and not (weakest.beta or 0.0) >= wanted["min_beta"]:
        least = f"be at least {exact(wanted['min_beta'])}"
        raise GuaranteeError("beta", least, exact(weakest.beta or 0.0), column=weakest.columns)
    coded = [each for each in parts if each.kind != "numeric"]
    moved = [each for each in parts if each.kind == "numeric"]
    for kind, members in (("categories", coded), ("numbers", moved)):
        part = together(members)
        if "beta" not in wanted or part is None or part.beta >= wanted["beta"]:
            continue
        over = kind if coded and moved else "attributes"
        least = f"be at least {exact(wanted['beta'])} over all {over}"
        low = min(members, key=lambda each: each.beta or 0.0)
        weak = f"the least is {down(low.beta or 0.0)}, in {prefix(low.columns)[:-2]}"
        raise GuaranteeError("beta", least, f"{exact(part.beta)}, of which {weak}")
    if "epsilon" in wanted and not plan.epsilon <= wanted["epsilon"]:
        most = f"be at most {exact(wanted['epsilon'])} for a record"
        worst = max(parts, key=lambda each: each.epsilon)
        why = f", the largest in {prefix(worst.columns)[:-2]}" + (
            f": {worst.reason}" * bool(worst.reason)
        )
        got = exact(plan.epsilon)
        raise GuaranteeError("epsilon", most, f"{got} in all{why}")
    m, bound = wanted.get("pooled", (1, math.inf))
    if not (sum_ := pooled(plan, m)) <= bound:
        most = f"be at most {exact(bound)} for {m} records of a unit"
        raise GuaranteeError("pooled", most, exact(sum_))


def unmet(plan: Plan) -> GuaranteeError | None:
    """Say why a plan does not meet its own requirement; None if it does, or has none."""
    try:
        if plan.requirement:
            require(plan, {})
    except GuaranteeError as error:
        return error.with_traceback(None)
    return None
