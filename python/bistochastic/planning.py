"""Errors before any data exist: how precise an estimate will be, and how many records it takes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core, intervals, measures, operators, quantiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bistochastic.matrix import Matrix

    Array = NDArray[np.float64]

# Size up to which the inverse is looked at row by row.
_EXACT = 4096


def standard_error(matrix: Matrix, pi: Any, n: Any) -> Array:
    """See :meth:`bistochastic.Matrix.standard_error`."""
    law = measures.distribution("pi", matrix.size, pi)
    records = _core.as_whole("n", n, 1)
    reports = np.maximum(operators.apply(matrix, law), 0.0)
    with operators.said_of("standard_error", matrix):
        spread, _ = intervals.scatter(matrix, reports, law)
    return np.sqrt(spread / records)


def required_records(matrix: Matrix, tolerance: Any, confidence: Any = 0.95) -> int:
    """See :meth:`bistochastic.Matrix.required_records`."""
    within = intervals.between("tolerance", tolerance)
    z = quantiles.two_sided(intervals.confidence_of(confidence))
    far = z / within
    exact = far * (far * largest_variance(matrix))
    if not exact < 2**63:
        must = "`tolerance` must be such that less than 2^63 records are enough"
        raise ValueError(f"{must}; got {within:g}")
    return max(1, math.ceil(exact * (1 - 1e-12)))


def largest_variance(matrix: Matrix) -> float:
    """The largest variance of a pseudo-response over all shares and all true distributions.

    With ``g`` row v of the inverse and ``h = P g^2`` the variance is ``sum of pi_u h_u - pi_v^2``:
    linear but for ``pi_v``, so the rest of the mass goes to the largest other ``h``, and what goes
    to v maximises ``t h_v + (1 - t) h_max - t^2``.
    """
    if operators.is_singular(matrix):
        from bistochastic.errors import SingularMatrixError

        raise SingularMatrixError(operators.singular_sentence("required_records", matrix))
    if matrix.size == 1:
        return 0.0
    own, other = _mean_squares(matrix)
    t = np.clip((own - other) / 2, 0.0, 1.0)
    return float(np.max(t * own + (1 - t) * other - t * t))


def _mean_squares(matrix: Matrix) -> tuple[Array, Array]:
    """For every share the mean squared pseudo-response of its own truth, and the most of others."""
    r = matrix.size
    if r == 1:
        return np.ones(1), np.zeros(1)
    if matrix.family == "kron":
        own, other = np.ones(1), np.zeros(1)
        for factor in operators.factors(matrix):
            # Means of products multiply; another truth differs in one factor at least.
            mine, others = _mean_squares(factor)
            apart = np.outer(other, np.maximum(mine, others)), np.outer(own, others)
            own, other = np.outer(own, mine).ravel(), np.maximum(*apart).ravel()
        return own, other
    if _core.basis(matrix) in ("flat", "cyclic"):
        # All rows are alike.
        unit = np.zeros((1, r))
        unit[0, 0] = 1
        own, other = _own_and_other(matrix, operators.solve_back(matrix, unit), 0)
        return np.full(r, own), np.full(r, other)
    if r > _EXACT:
        # No entry of the inverse is longer than its norm.
        most = operators.condition(matrix) ** 2
        return np.full(r, most), np.full(r, most)
    blocks = [
        _own_and_other(matrix, block, rows.start) for rows, block in intervals.inverse_rows(matrix)
    ]
    return np.concatenate([b[0] for b in blocks]), np.concatenate([b[1] for b in blocks])


def _own_and_other(matrix: Matrix, rows: Array, start: int) -> tuple[Array, Array]:
    ahead = operators.forth(matrix, np.ascontiguousarray(rows**2), back=True)
    mine = np.arange(len(rows)), np.arange(start, start + len(rows))
    own = ahead[mine].copy()
    ahead[mine] = 0
    return own, ahead.max(axis=1)
