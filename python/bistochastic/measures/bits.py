"""Logarithms and entropies in doubles, some rounded so that privacy is never overstated."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Sums of up to some millions of logarithms in doubles stay this close.
SLACK = 1e-12


def log2_up(x: int | Fraction) -> float:
    """log2 of a positive integer or fraction: exact for powers of two, else not below it.

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


def entropy(p: Array) -> float:
    """Bits of a probability vector."""
    positive = p[p > 0]
    return float(-(positive * np.log2(positive)).sum())
