"""The accuracy of estimates, from only the matrix and the number of records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from bistochastic import Matrix, structure
from bistochastic.errors import SingularMatrixError
from bistochastic.estimate import largest_variance, mean_standard_error

# Size up to which the worst case is searched for.
_SEARCHED = 1024
# 95 of 100 estimates are within this many standard errors.
_WIDE = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Precision:
    """How well proportions of one column are estimated by inversion; ``None`` if that is unknown.

    ``error`` is the standard error of a proportion if all categories are equally frequent.
    ``within`` is how far 95 of 100 estimates are from the true proportion at most, in the worst
    case. ``alike`` is the number of unprotected records that would be as precise as ``error``.
    """

    error: float | None = None
    within: float | None = None
    alike: int | None = None
    note: str = ""


def precision(matrix: Matrix, records: int, design_effect: float = 1.0) -> Precision:
    """Compute how well proportions are estimated, for a sample with this design effect."""
    n = matrix.size - matrix.padding
    if n == 1:
        return Precision(note="there is one category, and its proportion is known")
    if structure.is_uniform(matrix):
        return Precision(note="nothing: a reported value does not depend on the true value")
    try:
        error = mean_standard_error(matrix, records)
    except SingularMatrixError:
        same = "several true tables give the same reported one"
        note = f"not the proportions of single categories: {same}"
        if (found := structure.classes(matrix)) is not None:
            note = f"only the totals of its {found.number:,} classes, which are not changed at all"
        return Precision(note=note)
    if error is None:
        return Precision(note="not computed: too large, or too close to singular")
    # Without protection the error is sqrt((1/n)(1 - 1/n) / records), by the same design.
    alike = math.floor((n - 1) / (n * n * error * error) * (1 + 1e-12))
    wider = math.sqrt(design_effect)
    within = None
    if n <= _SEARCHED:
        within = _WIDE * math.sqrt(largest_variance(matrix) / records) * wider
    return Precision(error * wider, within, min(alike, records))
