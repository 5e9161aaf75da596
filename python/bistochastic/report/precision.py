"""What can still be estimated, and how well, from the law and the number of records alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bistochastic import structure
from bistochastic.errors import SingularMatrixError
from bistochastic.estimate.planning import largest_variance, mean_standard_error
from bistochastic.estimate.quantiles import two_sided

if TYPE_CHECKING:
    from bistochastic.matrix import Matrix

# Size up to which the worst case is searched for.
_SEARCHED = 1024


@dataclass(frozen=True)
class Precision:
    """How well shares of one column are estimated by inversion; None where that is not known.

    ``error`` is the standard error of a share where all levels are equally frequent. ``within`` is
    how far 95 of 100 estimates are from the truth at most, for the worst share and the worst truth.
    ``alike`` is the number of unprotected records that would be as precise as ``error``.
    """

    error: float | None = None
    within: float | None = None
    alike: int | None = None
    note: str = ""


def precision(matrix: Matrix, records: int, design_effect: float = 1.0) -> Precision:
    """How well shares are estimated at so many records, of a sample with this design effect.

    >>> import bistochastic as bs
    >>> found = precision(bs.randomized_response(2, keep=0.75), 1000)
    >>> round(found.error, 4), round(found.within, 3), found.alike
    (0.0316, 0.062, 250)
    >>> precision(bs.k_anonymous(6, k=3), 1000).note
    'only the totals of its 2 classes, which are not changed at all'
    """
    n = matrix.size
    if n == 1:
        return Precision(note="there is one level, and its share is known")
    if structure.is_uniform(matrix):
        return Precision(note="nothing: a report does not depend on the truth")
    try:
        error = mean_standard_error(matrix, records)
    except SingularMatrixError:
        return Precision(note=_singular(matrix))
    if error is None:
        return Precision(note="not computed: too large, or too close to singular")
    # Without protection the error is sqrt((1/n)(1 - 1/n) / records), by the same design.
    alike = math.floor((n - 1) / (n * n * error * error) * (1 + 1e-12))
    wider = math.sqrt(design_effect)
    within = None
    if n <= _SEARCHED:
        within = two_sided(0.95) * math.sqrt(largest_variance(matrix) / records) * wider
    return Precision(error * wider, within, min(alike, records))


def _singular(matrix: Matrix) -> str:
    found = structure.classes(matrix)
    if found is not None:
        return f"only the totals of its {found.number:,} classes, which are not changed at all"
    return "not the shares of single levels: different truths give the same reports"
