"""Errors before any data exist: how precise an estimate will be, and how many records it takes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core, intervals, measures, operators, quantiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bistochastic._core import Matrix

    Array = NDArray[np.float64]


def standard_error(matrix: Matrix, pi: Any, n: Any) -> Array:
    """See :meth:`bistochastic.Matrix.standard_error`."""
    law = measures.distribution("pi", matrix.size, pi)
    records = _records(n)
    reports = np.maximum(operators.apply(matrix, law), 0.0)
    squares, _ = intervals.squared_rows(matrix, reports)
    return np.sqrt(np.maximum(squares - law**2, 0.0) / records)


def _records(given: Any) -> int:
    must = "`n` must be a whole number of at least 1"
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"{must}; got {type(given).__name__}")
    if given.__index__() < 1:
        raise ValueError(f"{must}; got {given.__index__()}")
    return int(given.__index__())


def required_records(matrix: Matrix, tolerance: Any, confidence: Any = 0.95) -> int:
    """See :meth:`bistochastic.Matrix.required_records`."""
    must = "`tolerance` must be a number between 0 and 1"
    try:
        within = float(tolerance)
    except (TypeError, ValueError):
        raise TypeError(f"{must}; got {type(tolerance).__name__}") from None
    if not 0 < within < 1:
        raise ValueError(f"{must}; got {within:g}")
    z = quantiles.normal((1 + intervals.confidence_of(confidence)) / 2)
    exact = z * z * largest_variance(matrix) / within**2
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
    r = matrix.size
    if r == 1:
        return 0.0
    if _core.basis(matrix) in ("flat", "cyclic"):
        # All rows are alike.
        unit = np.zeros(r)
        unit[0] = 1
        column = operators.solve(matrix, unit)
        # Row 0 of G runs through its column backwards.
        row = np.roll(column[::-1], 1)
        squares = np.ascontiguousarray((row**2)[None, :])
        return _most(operators.forth(matrix, squares, back=True)[0], 0)
    if r <= 4096:
        inverse = operators.solve(matrix, np.eye(r))
        ahead = operators.forth(matrix, np.ascontiguousarray(inverse**2), back=True)
        return max(_most(ahead[v], v) for v in range(r))
    # No entry of the inverse is longer than its norm.
    return operators.condition(matrix) ** 2


def _most(h: Array, v: int) -> float:
    own = float(h[v])
    other = float(np.delete(h, v).max())
    t = min(1.0, max(0.0, (own - other) / 2))
    return t * own + (1 - t) * other - t * t
