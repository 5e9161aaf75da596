"""The cost of reported values: tables of costs, metric epsilon and expected cost."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from bistochastic import _core, arguments, structure
from bistochastic.arguments import Array
from bistochastic.errors import Refused
from bistochastic.individuals import moves_of_kernel, moves_of_row
from bistochastic.matrix import Matrix
from bistochastic.measures.bits import SLACK
from bistochastic.measures.survey import TABLE


def cost_table(size: int, given: object) -> Array | Literal["ordinal"]:
    """Read a table of costs, or the word for ``|u - v|``."""
    must = f'be "ordinal" or {size} x {size} non-negative numbers'
    if isinstance(given, str):
        if given != "ordinal":
            raise Refused("cost", must, f"{given!r}")
        return "ordinal"
    table = arguments.floats("cost", must, given)
    if table.shape != (size, size):
        raise Refused("cost", must, f"shape {table.shape}")
    arguments.refuse_faults("cost", must, table, infinite=True)
    return np.ascontiguousarray(table)


def metric_epsilon(dense: Array, cost: Array | Literal["ordinal"]) -> float:
    """Bound the least e with ``p_uv <= exp(e cost(u, w)) p_wv`` for all u, w and v, from above.

    On an ordinal scale neighbours decide, since distances along it add up.
    """
    if not isinstance(cost, str):
        return _core.metric_epsilon(dense, cost) * (1 + SLACK)
    with np.errstate(divide="ignore", invalid="ignore"):
        # The difference of near numbers is exact; two zeros are equal, which nan says here.
        gaps = np.abs(np.diff(dense, axis=0)) / np.minimum(dense[1:], dense[:-1])
    widest = float(np.fmax.reduce(gaps, axis=None, initial=0.0))
    # Off the grid a double is within a part in 2^53 of its probability.
    return math.log1p(widest) * (1 + SLACK) + 4.5e-16 if widest > 0 else 0.0


def expected_cost(dense: Array, cost: Array | Literal["ordinal"], prior: Array | None) -> float:
    """Compute the mean cost of a reported value under the prior, by default a uniform one."""
    r = len(dense)
    if isinstance(cost, str):
        scale = np.arange(r)
        cost = np.abs(np.subtract.outer(scale, scale)).astype(np.float64)
    weights = np.full(r, 1 / r) if prior is None else prior
    # A pair that never happens costs nothing, even if its cost is infinite.
    happens = (dense > 0) & (weights > 0)[:, None]
    each = np.where(happens, dense, 0) * np.where(happens, cost, 0)
    return float((each.sum(axis=1) * weights).sum())


def mean_distance(matrix: Matrix) -> float | None:
    """Compute the mean of ``|u - v|`` over uniform true categories; None without a closed form.

    >>> bs.measures.mean_distance(bs.uniform(3))
    0.88888...
    """
    if matrix.padding:
        return None
    found = ordinal_cost(matrix)
    if found is None and matrix.size <= TABLE:
        found = expected_cost(matrix.to_dense(), "ordinal", None)
    return found


def ordinal_epsilon(matrix: Matrix) -> tuple[float, bool] | None:
    """Compute the metric epsilon of a structured matrix for ``|u - v|``, and if it is exact."""
    if (kernel := structure.even_kernel(matrix)) is not None:
        # An entry is a sum of two of the kernel, and a step moves both by one place.
        with np.errstate(divide="ignore", invalid="ignore"):
            gaps = np.abs(np.diff(np.log(kernel.counts.astype(float))))
        return float(np.fmax.reduce(gaps, initial=0.0)) * (1 + SLACK), False
    if not matrix.is_exact:
        return None
    if structure.two_valued(matrix) is not None:
        # Neighbours differ by as much as any two.
        return matrix.epsilon, True
    # Somewhere on the scale a reported value starts or ceases to be possible.
    return (math.inf, True) if math.isinf(matrix.epsilon) else None


def ordinal_cost(matrix: Matrix) -> float | None:
    """Compute the mean of ``|u - v|`` of a structured matrix over uniform true categories."""
    r = matrix.size
    if (pair := structure.two_valued(matrix)) is not None:
        return pair[1] * (r * r - 1) / 3
    if (found := structure.classes(matrix)) is not None:
        # A class of n codes has a mean of (n^2 - 1) / 3n; integers, since squares are long.
        runs = zip(found.sizes.tolist(), found.many.tolist(), strict=True)
        total: int = sum(many * (n * n - 1) for n, many in runs)
        return total / 3 / r
    if structure.steps(matrix) is not None and (truth := matrix.truthfulness) is not None:
        return 1.0 - truth
    if (swap := structure.swap(matrix)) is not None:
        return float(2 * abs(swap.i - swap.j) * (1 - swap.keep) / r)
    if (targets := structure.targets(matrix)) is not None:
        return float(np.abs(targets - np.arange(r)).mean())
    moves = None
    if (row := structure.first_row(matrix)) is not None:
        moves = moves_of_row(row.shares(), r)
    elif (kernel := structure.even_kernel(matrix)) is not None:
        moves = moves_of_kernel(kernel.shares(), r)
    return None if moves is None else float(moves @ np.abs(np.arange(1.0 - r, r)))
