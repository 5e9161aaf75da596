"""``release.calibration_weights``: a weight per record that gives columns their likeliest margins.

Raking (iterative proportional fitting): the weights of all records with a reported value are
multiplied to sum to the likeliest total of that category, attribute after attribute, until nothing
changes. Other software can then use the protected file as it is.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bistochastic.errors import Refused
from bistochastic.estimate import Limits, fit_shares
from bistochastic_survey.analysis.design import Design
from bistochastic_survey.analysis.protected_table import require, weight_column
from bistochastic_survey.checks import Array
from bistochastic_survey.plan.attributes import Categorical, Joint, named
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.progress import watched
from bistochastic_survey.table.arrays import combinations
from bistochastic_survey.table.frames import column, opened
from bistochastic_survey.wording import about

# How far a margin may be from its target, relatively, and how often all are gone through.
_WITHIN, _ROUNDS = 1e-9, 2000


@watched("raking")
def calibrate(plan: Plan, frame: Any, given: str | None) -> Any:
    """See :meth:`bistochastic_survey.Release.calibration_weights`."""
    table = opened(frame, any_index=True)
    coded = plan._coded
    if not coded:
        raise Refused("calibration_weights", "be used with a plan with categories", "only numbers")
    start = np.ones(table.rows)
    if given is not None:
        Design._of(Design(weights=given), plan)
        start = weight_column(table, "weights", named("weights", given))
    if not start.sum() > 0:
        raise Refused("frame", "have at least one record", "none")
    codes, targets = [], []
    for attribute in coded:
        for name in attribute.columns:
            require(table, "frame", name)
        with about(attribute.columns):
            if attribute.matrices[0].padding:
                got = f"{attribute.matrices[0].padding} that are never true"
                raise Refused("calibration_weights", "be used with codes that can all be true", got)
            encoded = attribute._encode(table, released=True)
            place = encoded.codes.astype(np.int64)
            if encoded.groups is not None:
                place += encoded.groups.astype(np.int64) * attribute.size
            if encoded.missing is not None:
                # Missing answers are published unchanged.
                place[encoded.missing] = attribute.size * len(attribute.matrices)
            codes.append(place)
            targets.append(_margin(attribute, place, start))
    first, which, _ = combinations(codes, table.rows)
    cells = [place[first] for place in codes]
    total = np.bincount(which, start).astype(float)
    return column(frame, start * _rake(cells, targets, total)[which])


def _margin(attribute: Categorical | Joint, place: NDArray[np.int64], start: Array) -> Array:
    """Estimate the likeliest total of every category, per group, without missing answers."""
    size, laws = attribute.size, attribute.matrices
    seen = np.bincount(place, start, size * len(laws) + 1).astype(float)
    for s, matrix in enumerate(laws):
        part = seen[s * size : (s + 1) * size]
        total = float(part.sum())
        if not total > 0:
            continue
        shares = fit_shares(matrix, part / total, total, "mle", Limits())[0]
        # A category that was never reported has no record to carry its weight.
        shares = np.where(part > 0, shares, 0.0)
        seen[s * size : (s + 1) * size] = shares * (total / shares.sum())
    return seen


def _rake(cells: list[NDArray[np.int64]], targets: list[Array], start: Array) -> Array:
    """Factors of the combinations under which every margin is its target."""
    factors = np.ones(len(start))
    for _ in range(_ROUNDS):
        worst = 0.0
        for place, target in zip(cells, targets, strict=True):
            now = np.bincount(place, start * factors, len(target))
            more = np.divide(target, now, out=np.ones_like(target), where=now > 0)
            worst = max(worst, float(np.abs(now - target).max()), float(target[now <= 0].sum()))
            factors *= more[place]
        if worst <= _WITHIN * float(start.sum()):
            return factors
    must = "exist for the likeliest margins"
    raise Refused("weights", must, "margins that no weights of these records have at once")
