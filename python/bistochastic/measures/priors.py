"""Attackers with a prior: the posterior, the remaining uncertainty, the best guess."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from bistochastic import _core, arguments, linear, structure
from bistochastic.arguments import Array
from bistochastic.errors import Refused
from bistochastic.matrix import Matrix
from bistochastic.measures.bits import SLACK, entropy
from bistochastic.measures.survey import TABLE
from bistochastic.structure import Kron, Mixture, Product, Stochastic, composition

# Size up to which a product is written out for one column.
_PRODUCT = 512
# Larger shares come from a matrix close to singular, and rounding shows in their sums.
_FAR = 1e3


def column(matrix: Matrix, v: int) -> Array:
    """Column ``v`` as doubles, by the structure of the matrix."""
    return structure.by_parts(matrix, lambda part, found: _column(part, v, found))


def _column(matrix: Matrix, v: int, found: Callable[[Matrix], Array]) -> Array:
    match composition(matrix):
        case Kron() as kron:
            joint = np.ones(1)
            place = matrix.size
            for factor in structure.wide_factors(kron):
                place //= factor.size
                joint = np.multiply.outer(joint, column(factor, v // place % factor.size))
            return joint.reshape(-1)
        case Mixture() as mixture:
            total = np.zeros(matrix.size)
            for weight, part in mixture:
                total += weight * found(part)
            return total
        case Product(parts=(first, second)):
            if matrix.size <= _PRODUCT:
                return np.ascontiguousarray(matrix.to_dense()[:, v])
            row = np.ascontiguousarray(found(second)[None, :])
            # A transform leaves small rounding errors in place of zeros.
            return np.asarray(np.maximum(linear.forth(first, row, back=True)[0], 0.0))
    return _core.column(matrix, v)


def distribution(name: str, size: int, given: object) -> Array:
    """Read a probability vector of ``size`` numbers, and scale its sum to 1."""
    must = f"hold {size} non-negative numbers that sum to 1"
    numbers = arguments.floats(name, must, given)
    if numbers.shape != (size,):
        raise Refused(name, must, f"shape {numbers.shape}")
    arguments.refuse_faults(name, must, numbers)
    total = math.fsum(numbers)
    if not abs(total - 1) <= 1e-9:
        raise Refused(name, must, f"a sum of {total:.10g}")
    return numbers / total


def project(x: Array) -> Array:
    """Find the nearest distribution: subtract the excess equally, and nothing falls below 0."""
    if np.abs(x).max() > _FAR:
        # The same from all, so the largest ones are not rounded to thousands.
        x = x - x.max()
    falling = np.sort(x)[::-1]
    over = (np.cumsum(falling) - 1) / np.arange(1, len(x) + 1)
    last = int(np.nonzero(falling > over)[0][-1])
    return np.asarray(np.maximum(x - over[last], 0.0))


def prior_of(matrix: Stochastic, prior: object) -> Array:
    """Read the ``prior`` of true categories, over all codes: 0 at codes that are never true.

    >>> bs.measures.prior_of(bs.uniform(3), [0.5, 0.5, 0])
    array([0.5, 0.5, 0. ])
    """
    found = np.zeros(matrix.size)
    where = structure.true_codes(matrix)
    found[where] = distribution("prior", matrix.size - matrix.padding, prior)
    return found


def posterior(matrix: Matrix, v: object, prior: object = None) -> Array:
    """Compute ``Pr(u | v)``; see :meth:`bistochastic.Matrix.posterior`."""
    code = _core.as_code("v", v, matrix.size)
    if prior is None and not matrix.padding:
        return column(matrix, code)
    given = 1.0 if prior is None else prior_of(matrix, prior)
    joint = (given * column(matrix, code))[structure.true_codes(matrix)]
    total = math.fsum(joint)
    if not total > 0:
        raise Refused("v", "be a report that the prior allows", f"{code}, which it does not")
    return joint / total


def remaining_uncertainty(matrix: Matrix, bits: float | Array, prior: Array) -> float:
    """Bound ``H(X | Y) = H(prior) + sum of prior_u H_u - H(reported values)`` from below."""
    reports = linear.forth(matrix, np.ascontiguousarray(prior[None, :]))[0]
    inside = float((prior * bits).sum())
    if matrix.beta == 1:
        # A report says nothing.
        return entropy(prior) * (1 - 1e-15)
    return max(0.0, entropy(prior) + inside - entropy(np.maximum(reports, 0)) - SLACK)


def best_guess(matrix: Matrix, prior: Array, peaks: Fraction | None) -> tuple[float, bool]:
    """Compute ``sum over v of max_u prior_u p_uv`` or a bound above it, and say which."""
    r = matrix.size
    top = float(prior.max())
    if structure.is_certain(matrix):
        return 1.0, True
    if (classes := structure.classes(matrix)) is not None:
        return _up(math.fsum(np.maximum.reduceat(prior, classes.starts()))), True
    if (pair := structure.two_valued(matrix)) is not None:
        diag, off = pair
        second = float(np.partition(prior, -2)[-2])
        # The likeliest other category is the top category, except for the top category itself.
        others = np.where(prior == top, top if (prior == top).sum() > 1 else second, top)
        return _up(math.fsum(np.maximum(diag * prior, off * others))), True
    if r <= TABLE:
        return _up(math.fsum((prior[:, None] * matrix.to_dense()).max(axis=0))), True
    if (steps := structure.steps(matrix)) is not None:
        # ``prior_u p_uv`` for u = v - 1, v, v + 1.
        alphas = np.broadcast_to(steps.counts.astype(float), r - 1)
        step = np.concatenate([[0.0], alphas, [0.0]]) / steps.total
        left, right = np.roll(prior, 1) * step[:-1], np.roll(prior, -1) * step[1:]
        joint = [left, prior * (1 - step[:-1] - step[1:]), right]
        return _up(math.fsum(np.maximum.reduce(joint))), True
    if peaks is None:
        return 1.0, False
    # A reported value multiplies the probability of a guess by at most the sum of the peaks.
    return min(1.0, _up(top * float(peaks))), False


def _up(x: float) -> float:
    """Raise a probability whose products were each rounded once above the exact one."""
    return min(1.0, x + 2 * math.ulp(x))
