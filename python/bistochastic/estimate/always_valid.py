"""Intervals that hold at every look: for counts that grow while somebody watches them.

A usual 95% interval misses in 5% of cases, at one number of records that is fixed in advance. If
you read it again and again, and stop at will, it misses in a third of all runs. These intervals
miss at any time at all with the stated probability.

For one category, a reported value y adds ``g_y`` to its estimate. On the scale from its least to
its most this is ``x_y`` from 0 to 1, with mean ``m`` for a true share of ``least + m (most -
least)``. A bet against ``m`` has a fixed theta in [0, 1]. It multiplies a fortune by ``b_y = x_y
theta / m + (1 - x_y) (1 - theta) / (1 - m)``, whose mean is 1. With a K-th of the fortune in each
of K bets, the fortune ``W(m)``, the mean over the bets of the product of all ``b_y^N_y``, never
reaches 1 / alpha with probability 1 - alpha, at all looks together (Ville). It needs only the
counts ``N_y``, in any order. The interval holds the shares against which no fortune of 1 / alpha
was made.

The nodes ``theta_j = sin^2((2 j - 1) pi / 4 K)`` integrate polynomials of degree up to 2 K - 1 over
the arcsine law exactly, so for few records fewer nodes give the same number. For scores of two
values the integral has a closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bistochastic.arguments import Array

# The bets; beyond twice as many records the intervals are valid, but a little wider.
_NODES = 8192
# The least mean that is tried: 0 and 1 cannot be bet against.
_EDGE = 1e-15
# Bets whose fortune is below the largest one's by this factor's logarithm add nothing.
_NOTHING = 45.0


def bounds(responses: Array, counts: Array, alpha: float) -> tuple[float, float]:
    """Bound a share by what each code adds to its estimate, and by the counts of all codes."""
    least, most = float(responses.min()), float(responses.max())
    if least == most:
        return least, most
    # Equal scores, up to the rounding of the inverse, are one.
    x, where = np.unique(np.rint((responses - least) / (most - least) * 2**40), return_inverse=True)
    many = np.asarray(np.bincount(where.reshape(-1), counts), np.float64)
    fortune = _closed(many) if len(x) == 2 else _mixture(x / 2**40, many)
    mean = float((x / 2**40) @ many / many.sum())
    middle = min(max(mean, _EDGE), 1 - _EDGE)
    wanted = -math.log(alpha)

    def end(outer: float) -> float:
        inner = middle
        if fortune(outer) < wanted:
            return outer
        # The logarithm is convex, and at most 0 at the mean.
        for _ in range(200):
            half = (inner + outer) / 2
            if half in (inner, outer) or abs(inner - outer) < 1e-14:
                break
            inner, outer = (inner, half) if fortune(half) >= wanted else (half, outer)
        return outer

    low, high = end(_EDGE), end(1 - _EDGE)
    low, high = (0.0 if low == _EDGE else low), (1.0 if high == 1 - _EDGE else high)
    return least + low * (most - least), least + high * (most - least)


def _closed(many: Array) -> Callable[[float], float]:
    """The logarithm of W for scores 0 and 1."""
    zeros, ones = float(many[0]), float(many[1])
    level = math.lgamma(ones + 0.5) + math.lgamma(zeros + 0.5) - math.lgamma(ones + zeros + 1)
    level -= math.log(math.pi)
    return lambda m: level - ones * math.log(m) - zeros * math.log1p(-m)


def _mixture(x: Array, many: Array) -> Callable[[float], float]:
    """The logarithm of W for any scores from 0 to 1."""
    held = many > 0
    x, many = x[held], many[held]
    records = float(many.sum())
    size = 64
    while size < _NODES and 2 * size - 1 < records:
        size *= 2
    thetas = np.sin((2 * np.arange(1, size + 1) - 1) * np.pi / (4 * size)) ** 2

    def fortune(m: float) -> float:
        grown = np.zeros(len(thetas))
        for score, count in zip(x, many, strict=True):
            grown += count * np.log(score * thetas / m + (1 - score) * (1 - thetas) / (1 - m))
        top = float(grown.max())
        return top + math.log(float(np.exp(grown - top).sum()) / size)

    if size == _NODES:
        # The best bets against any m in question are near the mean: the others are left out, which
        # can only widen the interval.
        mean = float(x @ many / records)
        spread = float((x - mean) ** 2 @ many / records)
        reach = 3 * math.sqrt(2 * _NOTHING / records) * max(1.0, mean * (1 - mean) / spread)
        thetas = thetas[np.abs(thetas - mean) < max(reach, 0.05)]
    return fortune
