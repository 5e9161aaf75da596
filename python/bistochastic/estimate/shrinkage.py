"""Likelihood drawn towards a guess, as far as the reported values do not contradict it.

The guess for one attribute is uniform. For a joint table it is the product of the marginals, each
estimated in this way. With many or nearly truthful reported values the estimate is the maximum of
the likelihood. With few or very noisy ones it is the guess.
"""

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from bistochastic import linear
from bistochastic.arguments import Array
from bistochastic.estimate.likelihood import Patience
from bistochastic.matrix import Matrix
from bistochastic.structure import Kron, composition, wide_factors

# Size up to which the information of a reported value is computed exactly, and probes beyond.
_EXACT, _PROBES = 1024, 16
# Nats, of all records together, to which the maximum is found: far below their information.
_NATS = 0.1
_STEPS = 5000


def shrunk(
    matrix: Matrix, reports: Array, records: float, patience: Patience
) -> tuple[Array, float, int]:
    """Draw shares towards a guess; return them, the gap to the largest likelihood, the steps.

    With ``n`` records, a guess ``s`` and a weight ``k``, they maximize, over distributions ``pi``,

        sum over v of reports_v log (P^T pi)_v - (k / n) sum over u of pi_u log (pi_u / s_u).

    The weight counts pseudo-records and is estimated from the data, see :func:`_weight`. The
    search for that maximum ends at the gap or the time of ``patience``.
    """
    if linear.is_singular(matrix):
        raise linear.singular_error("estimate", matrix)
    kron = composition(matrix)
    if not isinstance(kron, Kron):
        size = matrix.size - matrix.padding
        guess = np.full(size, 1 / size)
        told = _information(matrix, guess)
        return _draw(matrix, reports, records, guess, told, size - 1, patience)
    factors: Sequence[Matrix] = wide_factors(kron)
    table = reports.reshape([factor.size for factor in factors])
    axes = set(range(table.ndim))
    marginals = [
        np.maximum(shrunk(factor, table.sum(axis=tuple(axes - {k})), records, patience)[0], 1e-100)
        for k, factor in enumerate(factors)
    ]
    guess = reduce(np.multiply.outer, marginals).reshape(-1)
    # Under a product the information of several attributes multiplies, with 1 for the total; the
    # marginals are fitted, so their information says nothing more about the weight.
    parts = [_information(factor, s) for factor, s in zip(factors, marginals, strict=True)]
    told = math.prod(1 + part for part in parts) - 1 - math.fsum(parts)
    degrees = len(guess) - 1 - sum(len(each) - 1 for each in marginals)
    return _draw(matrix, reports, records, guess, told, degrees, patience)


def _draw(
    matrix: Matrix,
    reports: Array,
    n: float,
    guess: Array,
    told: float,
    degrees: int,
    patience: Patience,
) -> tuple[Array, float, int]:
    expected = _forth(matrix, guess)
    if degrees > 0 and told > 0:
        chi = n * math.fsum((reports - expected) ** 2 / expected)
        weight = _weight(chi, n, told, degrees, len(guess))
    else:
        weight = math.inf
    pi, steps = guess, 1
    if weight < math.inf:
        wanted = max(_NATS / n, 1e-13) if patience.gap is None else patience.gap
        pi, steps = _climb(matrix, reports, guess, weight / n, wanted, patience)
    factor = _factor(matrix, reports, _forth(matrix, pi))
    return pi / pi.sum(), max(0.0, float(factor.max()) - 1), steps


def _weight(chi: float, n: float, told: float, degrees: int, cells: int) -> float:
    """Estimate how many pseudo-records the guess is worth, from how badly it explains the data.

    Let ``pi - s`` vary with variances ``s / k``. Then Pearson's ``chi`` of the counts against the
    guess has mean ``degrees + n told / k`` and, if the guess is true, variance ``2 degrees``. To
    keep noise from looking like a departure, ``1 / k`` has an exponential prior with mean ``2 /
    cells``: half a pseudo-record per cell (Jeffreys). The likeliest ``1 / k`` solves

        n told (chi - degrees - n told / k) / (2 degrees) = cells / 2.
    """
    departure = chi - degrees - cells * degrees / (n * told)
    return n * told / departure if departure > 0 else math.inf


def _information(matrix: Matrix, shares: Array) -> float:
    """Compute ``sum of shares_u p_uv^2 / (P^T shares)_v, less 1``.

    For the identity it is the size less 1. It is the trace of a product of matrices: rows ``z
    sqrt(shares)`` through P, squared, with unit vectors z or, beyond some size, random signs.
    """
    r = len(shares)
    expected = _forth(matrix, shares)
    root = np.sqrt(shares)
    if r <= _EXACT:
        return float((linear.from_truths(matrix, np.diag(root)) ** 2 / expected).sum()) - 1
    signs = np.random.default_rng(0)
    total = 0.0
    for _ in range(_PROBES):
        row = (root * signs.choice([-1.0, 1.0], r))[None, :]
        total += float((linear.from_truths(matrix, row) ** 2 / expected).sum())
    return total / _PROBES - 1


def _forth(matrix: Matrix, pi: Array) -> Array:
    # A transform may leave a little below 0 in place of 0.
    return np.asarray(np.maximum(linear.from_truths(matrix, pi[None, :])[0], 1e-300))


def _factor(matrix: Matrix, reports: Array, expected: Array) -> Array:
    """Compute the slope of the likelihood per record; its mean under pi is 1."""
    ratio = (reports / expected)[None, :]
    return np.asarray(np.maximum(linear.to_truths(matrix, ratio)[0], 0.0))


def _climb(
    matrix: Matrix, reports: Array, guess: Array, rho: float, wanted: float, patience: Patience
) -> tuple[Array, int]:
    """Maximize the likelihood less ``rho`` times the divergence from the guess.

    Each step maximizes the likelihood's tangent less ``rho`` times the divergence from the guess
    and less the divergence from the current shares over ``length``: a weighted geometric mean. The
    step is made if the likelihood is not below the prediction, so the sum grows. Steps lengthen as
    long as that holds: noise makes the likelihood flat, and these steps are long where steps of
    expectation maximization are short. Then they go on a little the same way (Nesterov), as long as
    the sum grows.

    The tangent bounds the likelihood, so the maximum is at most ``rho log sum s exp(g / rho)``.
    """
    seen = reports > 0
    start = np.log(guess)

    def at(where: Array) -> tuple[Array, Array, float]:
        """Compute shares from these logarithms, expected reported shares, and the likelihood."""
        pi = np.exp(where)
        expected = _forth(matrix, pi)
        return pi, expected, float(reports[seen] @ np.log(expected[seen]))

    length, growth, speed = 1.0, 2.0, 1.0
    best, most = start, -math.inf
    here = start
    pi, expected, height = at(here)
    for step in range(1, _STEPS + 1):
        g = _factor(matrix, reports, expected)
        value = float(pi @ g) - rho * float(pi @ (here - start))
        left = rho * _log_sum(start + g / rho) - value
        patience.tell(max(0.0, left))
        if left <= wanted or patience.is_over:
            return pi, step
        while True:
            there = (here + length * (g + rho * start)) / (1 + length * rho)
            there -= _log_sum(there)
            new, expected, reached = at(there)
            promised = height + float(g @ (new - pi)) - float(new @ (there - here)) / length
            if reached >= promised - 1e-13 or length < 1e-6:
                break
            # Long enough: from here on most steps shall be accepted at once.
            length, growth = length / 2, 1.1
        length = min(length * growth, 1e12)
        found = reached - rho * float(new @ (there - start))
        if found < most and speed > 1:
            here, speed = best, 1.0
        else:
            faster = (1 + math.sqrt(1 + 4 * speed * speed)) / 2
            here = there + (speed - 1) / faster * (there - best)
            here = here - _log_sum(here)
            best, most, speed = there, found, faster
        pi, expected, height = at(here)
    return np.exp(best), _STEPS


def _log_sum(logarithms: Array) -> float:
    top = float(logarithms.max())
    return top + math.log(float(np.exp(logarithms - top).sum()))
