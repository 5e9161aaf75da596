"""Bits in doubles, some rounded so that privacy is never overstated, and bounds from a beta."""

import math
from fractions import Fraction

import numpy as np

from bistochastic.arguments import Array
from bistochastic.errors import Refused

# Sums of up to some millions of logarithms in doubles stay this close.
SLACK = 1e-12


def log2_up(x: int | Fraction) -> float:
    """log2 of ``x``, a positive integer or fraction: exact for powers of two, else not below it.

    >>> log2_up(8), log2_up(3) > 1.584962500721156
    (3.0, True)
    """
    n, d = x.numerator, x.denominator
    if d == 1 and n.bit_count() == 1:
        return float(n.bit_length() - 1)
    if n == 1 and d.bit_count() == 1:
        return -float(d.bit_length() - 1)
    # The quotient and the logarithm are each off by a unit or two in the last place.
    near = math.log2(n / d)
    return near + 4e-16 * max(1.0, abs(near))


def above(number: Fraction) -> float:
    """Return the smallest double that is not below a number."""
    near = float(number)
    return near if near >= number else math.nextafter(near, math.inf)


def below(number: Fraction) -> float:
    """Return the largest double that is not above a number of at least 0."""
    near = float(number)
    return near if near <= number else math.nextafter(near, 0.0)


def entropy(p: Array) -> float:
    """Bits of a probability vector."""
    positive = p[p > 0]
    return float(-(positive * np.log2(positive)).sum())


def least_beta(epsilon: float, size: int) -> float:
    """Bound the beta of every bistochastic matrix of this ``size`` and ``epsilon`` from below.

    Seen from a reported value, true categories have probabilities that sum to 1 and differ by a
    factor of at most ``c = e^epsilon``. Their entropy is least if k of them have c times the
    probability of the others, and beta is the mean of these entropies over ``log2 r``. So it is at
    least the least over k of ``log2(k c + r - k) - k c / (k c + r - k) log2 c``, over ``log2 r``. A
    circulant of k high and ``r - k`` low entries has this beta. It is never below the simpler
    ``log2((r - 1 + c) / c) / log2 r``. Rounded down.

    >>> round(least_beta(1.0, 12), 6), least_beta(0.0, 12), least_beta(math.inf, 12)
    (0.950387, 1.0, 0.0)
    """
    if size == 1 or epsilon == 0:
        return 1.0
    if epsilon == math.inf:
        return 0.0
    low, r = math.exp(-epsilon), size
    # The entropy falls with k and then rises; its slope is 0 once, at this k.
    part = low / -math.expm1(-epsilon)
    near = math.floor(r * part * (epsilon / -math.expm1(-epsilon) - 1))
    found = math.inf
    for k in range(max(1, near - 1), max(1, min(near + 2, r - 1)) + 1):
        lies = (r - k) * low
        found = min(found, math.log(k) + math.log1p(lies / k) + lies / (k + lies) * epsilon)
    # Stated betas are off by less.
    return max(0.0, min(1.0, found / math.log(r)) * (1 - 2 * SLACK) - 1e-14)


def least_epsilon(beta: float, size: int) -> float:
    """Bound the epsilon of every bistochastic matrix of this ``size`` and ``beta`` from below.

    An epsilon of at most this forces at least this beta, whatever the matrix: the converse of
    :func:`least_beta`. There is no bound from above. Rounded down.

    >>> least_epsilon(0.95, 12)
    1.00392...
    """
    low, high = 0.0, 800.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if least_beta(middle, size) > beta else (low, middle)
    return low * (1 - SLACK)


def guaranteed_max_leakage(beta: float, size: int) -> float:
    """Compute the largest maximal leakage in bits that any matrix of this beta can have.

    Fano: among matrices with an entropy rate of ``beta log2 r`` randomized response gives the best
    guess at a uniform true category, ``p``, and maximal leakage is ``log2(r p)``. So for every
    prior and every function of the true category, a reported value multiplies the probability of
    guessing it by at most ``r p``.
    """
    if not 0 <= beta <= 1:
        raise Refused("beta", "be from 0 to 1", f"{beta:g}")
    if size < 1:
        raise Refused("size", "be at least 1", size)
    if size == 1 or beta == 1:
        return 0.0
    if beta == 0:
        return log2_up(size)
    if beta > 0.999:
        return min(log2_up(size), _near_secrecy(beta, size))
    # Entropy in nats of diag : off = e^x : 1 falls with x; the smaller bits have the larger p.
    low, high = 0.0, 800.0
    for _ in range(200):
        x = (low + high) / 2
        lies = (size - 1) * math.exp(-x)
        nats = x * lies / (1 + lies) + math.log1p(lies)
        low, high = (x, high) if nats >= beta * math.log(size) else (low, x)
    p = 1 / (1 + (size - 1) * math.exp(-high))
    return min(log2_up(size), max(0.0, math.log2(size * p)) + SLACK)


def _near_secrecy(beta: float, size: int) -> float:
    """Do the same near perfect secrecy, where doubles are too coarse.

    With ``p = (1 + y) / r`` in 60 digits, the entropy is below ``ln r`` by ``p ln(1 + y) + (1 - p)
    ln(1 - y/(r - 1))``, which rises with y.
    """
    from decimal import Decimal, localcontext

    with localcontext(prec=60):
        r = Decimal(size)
        missing = (1 - Decimal(beta)) * r.ln()
        low, high = Decimal(0), r - 1
        for _ in range(140):
            y = (low + high) / 2
            p = (1 + y) / r
            lost = p * (1 + y).ln() + ((1 - p) * (1 - y / (r - 1)).ln() if p < 1 else 0)
            low, high = (y, high) if lost < missing else (low, y)
        bits = (1 + high).ln() / Decimal(2).ln()
    return math.nextafter(float(bits), math.inf)
