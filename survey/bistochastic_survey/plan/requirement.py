"""What a publisher requires of a plan: ``Plan.require`` and ``requirement=``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bistochastic.errors import GuaranteeError, Refused, RefusedType
from bistochastic_survey import checks
from bistochastic_survey.plan import definitions
from bistochastic_survey.wording import down, exact, prefix, shown

if TYPE_CHECKING:
    from bistochastic_survey.plan.plan import Plan

# The requirements of a publisher: arguments of ``Plan.require``.
REQUIRED = ("beta", "min_beta", "epsilon", "pooled")


def limits(given: Mapping[str, object], must: str) -> dict[str, Any]:
    """Read arguments of ``require``: numbers, and ``pooled``, a number of records and a bound."""
    found: dict[str, Any] = {}
    for name in [name for name in REQUIRED if name in given]:
        x = given[name]
        if name != "pooled":
            found[name] = checks.real(name, must, x)
        elif isinstance(x, tuple | list) and len(x) == 2:
            found[name] = checks.whole(name, x[0], 1), checks.real(name, "be a number", x[1])
        else:
            pair = "be (m, epsilon), a number of records and a bound"
            raise RefusedType("pooled", pair, type(x).__name__)
    return found


def read(given: Mapping[str, object]) -> tuple[tuple[str, Any], ...]:
    """Read a publisher's requirement: some arguments of ``require``, in their order there."""
    must = f"map some of {', '.join(REQUIRED)} to numbers"
    if not isinstance(given, Mapping):
        raise RefusedType("requirement", must, type(given).__name__)
    for name in given:
        if name not in REQUIRED:
            raise Refused("requirement", must, f"`{shown(name)}`")
    found = limits(given, "be a finite number")
    for name, x in found.items():
        if not math.isfinite(x[1] if name == "pooled" else x):
            raise Refused(name, "be a finite number", x)
    if not found:
        raise Refused("requirement", must, "none")
    return tuple(found.items())


def require(plan: Plan, asked: Mapping[str, object]) -> None:
    """Raise an error unless the plan meets all limits, or its own requirement without any."""
    given = {name: x for name, x in asked.items() if x is not None}
    wanted = limits(given, "be a number") or plan.requirement
    if not wanted:
        must = f"be given one of {', '.join(REQUIRED)}, or the plan a requirement"
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
        part = definitions.together(members)
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
        why = f", in {prefix(worst.columns)[:-2]}" + (f": {worst.reason}" * bool(worst.reason))
        got = exact(plan.epsilon)
        raise GuaranteeError("epsilon", most, f"{got} in all, most of it{why}")
    m, bound = wanted.get("pooled", (1, math.inf))
    if not (sum_ := definitions.pooled(plan, m)) <= bound:
        most = f"be at most {exact(bound)} for {m} records of a unit"
        raise GuaranteeError("pooled", most, exact(sum_))
