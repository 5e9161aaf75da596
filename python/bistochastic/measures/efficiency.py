"""How good a matrix is for estimating proportions, next to the best that its epsilon allows.

From n records the estimates of all r proportions have a squared error of ``T / n`` together, by
inversion. If all true proportions are equal, no unbiased method with the same epsilon can have a
smaller one than ``L / n``, whatever it reports, with

    L = min over k of (r - 1)^2 (k c + r - k)^2 / (r k (r - k) (c - 1)^2),  c = e^epsilon.

The efficiency is ``L / T``. Subset selection of k of r categories reaches 1. The bound is that of
the information that a report can carry: for reports y with likelihoods ``r_y`` of mean 1 and ratio
at most c, the eigenvalues of the Fisher information other than that of the constants have the sum
of the ``|r_y|^2`` minus r, which is largest if each ``r_y`` has two values and k of them are high.
The mean of their inverses is least if they are equal.
"""

import math

import numpy as np

from bistochastic import linear, structure
from bistochastic.arguments import Array
from bistochastic.matrix import Matrix
from bistochastic.measures.priors import project

# Sizes up to which the inverse is computed where rows are not alike, and of all joint categories.
_DENSE, _JOINT = 1500, 1 << 20


def least_error(epsilon: float, size: int) -> float:
    """Bound n times the squared error of all proportions, for any method with an epsilon.

    True proportions are equal. Infinite at epsilon 0; rounded down.
    """
    r = size
    if r == 1:
        return 0.0
    if epsilon == 0:
        return math.inf
    low = math.exp(-epsilon)
    # The function of k falls and then rises, and its least value is at r / (c + 1).
    near = math.floor(r * low / (1 + low))
    ks = (k for k in range(near - 1, near + 3) if 1 <= k < r)
    found = min((r - 1) ** 2 * (k + (r - k) * low) ** 2 / (r * k * (r - k)) for k in ks)
    return found / math.expm1(-epsilon) ** 2 * (1 - 1e-14)


def efficiency(matrix: Matrix, *, worst: bool = False) -> float | None:
    """See :attr:`bistochastic.Matrix.efficiency`; or that of the proportions estimated worst."""
    if linear.is_singular(matrix):
        return 0.0
    many = matrix.size - matrix.padding
    # The error of the error: that of the inverse.
    lost = 1e-13 + 4e-15 * min(many, 32) * linear.condition(matrix)
    if many == 1 or not lost < 0.5:
        return 1.0 if many == 1 else None
    error = _worst_error(matrix) if worst else _uniform_error(matrix)
    if error is None:
        return None
    return min(1.0, least_error(matrix.epsilon, many) / error * (1 - lost))


def _uniform_error(matrix: Matrix) -> float | None:
    from bistochastic.estimate import mean_standard_error

    each = mean_standard_error(matrix)
    return None if each is None else (matrix.size - matrix.padding) * each**2


def _worst_error(matrix: Matrix) -> float | None:
    """Maximize ``sum of pi_u c_u - |pi|^2`` over true proportions pi."""
    if structure.shift_invariant(matrix):
        # All c are equal, and the sum of squares is least for equal proportions.
        return _uniform_error(matrix)
    if matrix.size > _JOINT:
        return None
    costs = np.ones(1)
    for axis in structure.axes(matrix):
        own = _costs(axis)
        if own is None:
            return None
        costs = np.multiply.outer(costs, own).ravel()
    # The nearest distribution to c / 2. A constant in c changes nothing.
    shares = project((costs - costs.max()) / 2)
    shares /= shares.sum()
    return float(shares @ costs - shares @ shares) * (1 + 1e-13)


def _costs(matrix: Matrix) -> Array | None:
    """Compute ``c_u``: the mean square of what a report adds to all estimates if u is true."""
    if matrix.size > _DENSE:
        return None
    rows = matrix.to_dense()
    true = structure.true_codes(matrix)
    added = np.linalg.inv(rows)[:, true]
    return np.asarray(rows[true] @ (added**2).sum(axis=1))
