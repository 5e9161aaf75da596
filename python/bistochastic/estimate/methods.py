"""From reports to an estimate: which method, of which counts; class totals, projection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core, arguments, families, operators, structure
from bistochastic.estimate import likelihood, shrinkage, tallies
from bistochastic.estimate.result import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bistochastic.matrix import Matrix

    Array = NDArray[np.float64]

METHODS = ("inverse", "mle", "simplex", "shrunk")
POPULATIONS = ("sampled", "fixed")
# Shares beyond this are those of a matrix close to singular, and rounding shows in their sums.
_FAR = 1e3


def estimate(
    matrix: Matrix,
    codes: Any = None,
    *,
    counts: Any = None,
    method: Any = "inverse",
    population: Any = "sampled",
    classes: Any = False,
) -> Estimate:
    """See :meth:`bistochastic.Matrix.estimate`."""
    how = arguments.one_of("method", method, METHODS)
    who = arguments.one_of("population", population, POPULATIONS)
    by_class = _core.as_flag("classes", classes)
    seen = tallies.tally(matrix, codes, counts)
    with np.errstate(over="ignore"):
        records = float(seen.sum())
    if not records >= 0.5:
        got = f"{records:g}" if records else "none"
        raise ValueError(f"`estimate` must be given at least one record; got {got}")
    if not records < 2**63:
        raise ValueError(f"`counts` must sum to less than 2^63; got {records:g}")
    n = round(records)
    if by_class:
        return _class_totals(matrix, seen, n, who)
    reports = seen / records
    gap, steps = 0.0, 0
    if how == "mle":
        frequencies, gap, steps = likelihood.maximum(matrix, reports)
    elif how == "shrunk":
        frequencies, gap, steps = shrinkage.shrunk(matrix, reports, records)
    else:
        with operators.said_of("estimate", matrix):
            frequencies = operators.solve(matrix, reports)
        if how == "simplex":
            frequencies = project(frequencies)
    return Estimate(frequencies, n, how, who, gap, steps, matrix, reports)


def _class_totals(matrix: Matrix, seen: Array, n: int, population: str) -> Estimate:
    """What blocks let one estimate: every class is reported as it is, so the identity is undone."""
    classes = structure.classes(matrix)
    if classes is None:
        must = "`classes` must be asked of identity, uniform, blocks or k_anonymous"
        raise ValueError(f"{must}; got {matrix.family}")
    totals = np.add.reduceat(seen, classes.starts())
    shares = totals / totals.sum()
    told = families.identity(len(shares))
    return Estimate(shares, n, "classes", population, 0.0, 0, told, shares)


def project(x: Array) -> Array:
    """The nearest distribution: what is over is taken off all alike, and nothing falls below 0.

    >>> project(np.array([0.7, 0.5, -0.2]))
    array([0.6, 0.4, 0. ])
    """
    if np.abs(x).max() > _FAR:
        # The same of all alike, so that the largest ones are not rounded to thousands.
        x = x - x.max()
    falling = np.sort(x)[::-1]
    over = (np.cumsum(falling) - 1) / np.arange(1, len(x) + 1)
    last = int(np.nonzero(falling > over)[0][-1])
    return np.asarray(np.maximum(x - over[last], 0.0))
