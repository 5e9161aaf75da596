"""Errors before any data exist: the precision of an estimate, and the records that it needs."""

import math

import numpy as np

from bistochastic import _core, arguments, linear, measures, structure
from bistochastic.arguments import Array
from bistochastic.errors import Refused
from bistochastic.estimate import intervals, quantiles
from bistochastic.matrix import Matrix
from bistochastic.structure import Kron, Stochastic, composition

# Size up to which singular values are computed if no structure gives them.
_DENSE = 1500


def standard_error(matrix: Stochastic, prior: object, records: object) -> Array:
    """See :meth:`bistochastic.Matrix.standard_error`."""
    law = measures.prior_of(matrix, prior)
    count = _core.as_whole("records", records, 1)
    reports = np.maximum(linear.apply(matrix, law), 0.0)
    with linear.said_of("standard_error", matrix):
        spread = intervals.scatter(matrix, reports, law)
    return np.sqrt(spread / count)[structure.true_codes(matrix)]


def mean_standard_error(matrix: Stochastic, records: object = 1) -> float | None:
    """Compute the root mean square of the standard errors of all shares, if they are equal.

    ``records`` is n below. For true shares ``pi`` the reported shares are ``lambda = P^T pi``, and
    the estimate ``P^-T`` times the observed shares has covariance ``(P^-T diag(lambda) P^-1 - pi
    pi^T) / n``. At uniform ``pi`` both are ``1/r`` everywhere, so its trace, the mean squared error
    of all r shares together, is

        ``(tr(P^-T P^-1) - 1) / (n r) = (sum of sigma_k^-2 - 1) / (n r)``

    over the singular values ``sigma_k``. One share has the r-th part of it, and its root is
    ``sqrt((sum of sigma_k^-2 - 1) / n) / r``, the error of each category if all are alike. Without
    protection every ``sigma_k`` is 1, and only the error of sampling is left,
    ``sqrt((1/r) (1 - 1/r) / n)``.

    The result is accurate to about ``1e-15 condition``, relatively. It is None if the matrix is too
    close to a singular one for doubles, or beyond size 1500 if no structure gives the singular
    values. Raises :class:`bistochastic.errors.SingularMatrixError` as :func:`standard_error` does.

    >>> round(mean_standard_error(bs.randomized_response(2, keep=0.75), 100), 4)
    0.1
    """
    count, r = _core.as_whole("records", records, 1), matrix.size
    if linear.is_singular(matrix):
        raise linear.singular_error("standard_error", matrix)
    if matrix.padding or not isinstance(matrix, Matrix):
        many = r - matrix.padding
        each = standard_error(matrix, np.full(many, 1 / many), count)
        return math.sqrt(float((each**2).mean()))
    total = _inverse_squares(matrix)
    if total is None or not math.isfinite(total):
        return None
    # Rounding may not push the sum below r, which it never is: no singular value is above 1.
    return math.sqrt((max(total, r) - 1) / count) / r


def _inverse_squares(matrix: Stochastic) -> float | None:
    """Sum ``sigma_k^-2`` of an invertible matrix; None if it would take too long."""
    kron = composition(matrix)
    if isinstance(kron, Kron):
        # Singular values of a kron are all products of those of its factors.
        each = [_inverse_squares(factor) for factor in structure.wide_factors(kron)]
        return None if None in each else math.prod(part for part in each if part is not None)
    r = matrix.size
    own, found = linear.operator(matrix), linear.spectrum(matrix)
    if own is not None and found is not None and found.basis == "flat":
        # 1 on the constants, and one and the same on all that sums to 0.
        return 1 + (r - 1) / own.least**2
    if found is not None:
        values = np.abs(found.values)
        if found.basis == "cyclic":
            # All but the first, and the one in the middle, belong to two.
            values = np.concatenate([values, values[1 : (r + 1) // 2]])
    elif structure.is_certain(matrix):
        return float(r)
    elif r <= _DENSE:
        values = linear.singular_values(matrix.to_dense())
    else:
        return None
    with np.errstate(divide="ignore"):
        return float((values**-2.0).sum())


def required_records(matrix: Stochastic, tolerance: object, confidence: object = 0.95) -> int:
    """See :meth:`bistochastic.Matrix.required_records`."""
    within = arguments.between("tolerance", tolerance)
    z = quantiles.two_sided(arguments.between("confidence", confidence))
    far = z / within
    exact = far * (far * largest_variance(matrix))
    if not exact < 2**63:
        raise Refused("tolerance", "be such that less than 2^63 records are enough", f"{within:g}")
    return max(1, math.ceil(exact * (1 - 1e-12)))


def largest_variance(matrix: Stochastic, share: float | None = None) -> float:
    """Find the largest variance of a pseudo-response over all shares and true distributions.

    With ``share`` it is only over distributions in which the share has this value.

    With ``g`` row v of the inverse and ``h = P g^2`` the variance is ``sum of pi_u h_u - pi_v^2``.
    It is linear except in ``pi_v``, so the rest of the mass is on the largest other ``h``, and the
    mass t of v maximizes ``t h_v + (1 - t) h_max - t^2``.

    >>> largest_variance(bs.randomized_response(2, keep=0.75))
    1.0
    """
    if linear.is_singular(matrix):
        raise linear.singular_error("required_records", matrix)
    if matrix.size == 1:
        return 0.0
    own, other = _mean_squares(matrix)
    t = np.clip((own - other) / 2, 0.0, 1.0) if share is None else share
    return float(np.max(t * own + (1 - t) * other - t * t))


def _mean_squares(matrix: Stochastic) -> tuple[Array, Array]:
    """Compute each share's mean squared pseudo-response for its category and the most of others."""
    r, kron = matrix.size, composition(matrix)
    if r == 1:
        return np.ones(1), np.zeros(1)
    if isinstance(kron, Kron):
        own, other = np.ones(1), np.zeros(1)
        for factor in structure.wide_factors(kron):
            # Means of products multiply; another category differs in one factor at least.
            mine, others = _mean_squares(factor)
            apart = np.outer(other, np.maximum(mine, others)), np.outer(own, others)
            own, other = np.outer(own, mine).ravel(), np.maximum(*apart).ravel()
        return own, other
    if structure.shift_invariant(matrix):
        # All rows are alike.
        own, other = _own_and_other(matrix, linear.undo(matrix, np.eye(1, r), back=True), 0)
        return np.full(r, own), np.full(r, other)
    blocks = intervals.inverse_rows(matrix)
    pairs = [_own_and_other(matrix, block, rows.start) for rows, block in blocks]
    own, other = (np.concatenate(each) for each in zip(*pairs, strict=True))
    return own, other


def _own_and_other(matrix: Stochastic, rows: Array, start: int) -> tuple[Array, Array]:
    ahead = linear.forth(matrix, np.ascontiguousarray(rows**2), back=True)
    mine = np.arange(len(rows)), np.arange(start, start + len(rows))
    own = ahead[mine].copy()
    ahead[mine] = 0
    return own, ahead.max(axis=1)
