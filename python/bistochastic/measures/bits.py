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
        if nats >= beta * math.log(size):
            low = x
        else:
            high = x
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
