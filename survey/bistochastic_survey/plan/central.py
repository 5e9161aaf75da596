"""The central epsilon of a shuffled release, and why most releases have none.

``bistochastic.shuffled`` bounds it for records that are randomized one by one and then shuffled. It
takes up to seconds, so it is computed when somebody asks, and once for the same records.
"""

import math
from collections.abc import Collection
from functools import lru_cache
from typing import Any, NamedTuple

import bistochastic as bs
from bistochastic import Matrix
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.progress import watched
from bistochastic_survey.wording import Shown, down, prefix, up

# If shuffling lowers epsilon by less than this share, the epsilon of one record is stated.
_LOWER = 0.9
ASSUMED = (
    "The central epsilon assumes one record per person, and a reader who sees neither the order of "
    "the rows nor reports before they were shuffled, has no key, and knows no other release about "
    "the same people. Subtract records whose noise the reader knows from their number."
)


class Central(NamedTuple):
    """The central epsilon of all records of a shuffled release, rounded up, at this delta.

    No method can state less than ``at_least``, which is rounded down; None if it is not known.

    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan.for_frame({"sex": ["F", "M"]}, epsilon=1)
    >>> plan.protect({"sex": ["F", "M"] * 500}, shuffle=True).certificate.central
    Central(delta=1e-06, epsilon=0.148671, at_least=0.126614)
    """

    delta: float
    epsilon: float
    at_least: float | None

    def _repr_html_(self) -> str:
        return Shown._repr_html_(self)


def central(plan: Plan, records: int) -> Central:
    """Bound the central epsilon of a plan to which :func:`obstacle` finds nothing."""
    return _bound(tuple(attribute.matrices[0] for attribute in plan._coded), records)


@lru_cache(64)
def _bound(matrices: tuple[Matrix, ...], records: int) -> Central:
    # The largest power of ten below 1 / (10 records), and 1e-6 at most.
    delta = float(f"1e-{max(6, len(str(10 * records)))}")
    with watched("bounding the central epsilon") as tell:
        whole = bs.shuffled(matrices, records)
        local = whole.local_epsilon
        if whole.delta(_LOWER * local) > delta:
            return Central(delta, local, None)
        found, low = whole.epsilon(delta, progress=tell), whole.epsilon_at_least(delta)
    return Central(delta, float(up(found)), None if low is None else float(down(low)))


def obstacle(
    plan: Plan,
    records: int | None,
    *,
    clear: Collection[str] | None = None,
    shuffled: bool = True,
    by_ids: bool = False,
) -> str:
    """Say why a release has no central epsilon; an empty string if it has one.

    ``clear`` are its unprotected columns; without them, those that the plan keeps.
    """
    clear = plan.keep if clear is None else clear
    from_data = [c for a in plan._coded if a.categories_from_data for c in a.columns]
    if not shuffled:
        return "the rows are in the order of the original"
    if by_ids:
        return "noise by ids is the same in every release about a person"
    if plan.undecided:
        return f"{prefix(plan.undecided)}not decided yet"
    if clear:
        which = "all other columns: " if clear == "*" else prefix(clear)
        return f"{which}published unchanged beside the reported values"
    if plan._numeric:
        return f"{prefix(a.column for a in plan._numeric)}numbers are not randomized one by one"
    if plan.units:
        return f"{prefix(plan.units)}records of one unit may have the same true values"
    if from_data:
        return f"{prefix(from_data)}the categories were read from the data"
    if math.isinf(plan.epsilon):
        return f"epsilon is infinite, whatever the number of records: {'; '.join(plan.reasons)}"
    if not records:
        return "it needs a number of records" if records is None else "there are no records"
    return ""


def sentences(plan: Plan, records: int | None, **facts: Any) -> list[str]:
    """State the central epsilon with what it assumes, or why there is none: :func:`obstacle`."""
    if why := obstacle(plan, records, **facts):
        return [f"No central epsilon of a shuffled file: {why}"]
    found = central(plan, records or 0)
    said = f"Shuffled file of {records:,} records: central epsilon at most {up(found.epsilon)} at "
    said += f"delta 1e{math.log10(found.delta):.0f}"
    if found.at_least is not None:
        said += f", and no method can state less than {down(found.at_least)}"
    elif found.epsilon == plan.epsilon:
        said += ", that of one record: there are too few records to hide among"
    return [f"{said}.", ASSUMED]
