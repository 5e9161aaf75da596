"""The few quantiles that intervals need: normal, chi-square, and exact binomial bounds."""

import math
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

import numpy as np

from bistochastic.arguments import Array

N = TypeVar("N", float, "Array")
# In place of 0, which a fraction cannot go on from.
_TINY = 1e-300


def normal(p: float) -> float:
    """Return the standard normal quantile."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(p)


def two_sided(confidence: float) -> float:
    """Compute the distance from 0 that a standard normal number keeps within."""
    upper = (1 + confidence) / 2
    # The double next to 1 has no upper half; its lower one is exact.
    return normal(upper) if upper < 1 else -normal((1 - confidence) / 2)


def student(alpha: float, degrees: float) -> float:
    """Return the distance from 0 that Student's t exceeds with probability ``alpha``.

    ``degrees / (degrees + t^2)`` has a beta distribution. From a million degrees on it is normal.
    """
    if alpha >= 1:
        # A confidence so small that it rounds to none.
        return 0.0
    if degrees > 1e6:
        return -normal(alpha / 2)
    half = np.array([degrees / 2])
    x = float(_beta_quantile(half, np.array([0.5]), alpha, upper=False)[0])
    return math.sqrt(degrees * (1 - x) / x)


def _gamma_cdf(a: float, x: float) -> float:
    """Compute the regularized lower incomplete gamma function, by series or continued fraction."""
    if x <= 0:
        return 0.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        n = a
        while abs(term) > 1e-17 * abs(total):
            n += 1
            term *= x / n
            total += term
        return scale * total
    # Lentz's way through the fraction of the upper tail.
    b = x + 1 - a
    c, d = 1e300, 1 / b
    h = d
    for i in range(1, 100_000):
        an = -i * (i - a)
        b += 2
        d = 1 / (an * d + b)
        c = b + an / c
        step = c * d
        h *= step
        if abs(step - 1) < 1e-16:
            break
    return 1 - scale * h


@lru_cache(maxsize=256)
def chi_square(p: float, degrees: float) -> float:
    """Return the chi-square quantile, by bisection."""
    a = degrees / 2
    low, high = 0.0, max(10.0, 4 * a)
    while _gamma_cdf(a, high) < p:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _gamma_cdf(a, middle) < p else (low, middle)
    return 2 * (low + high) / 2


def _log_beta(a: Array, b: Array) -> Array:
    lgamma = np.vectorize(math.lgamma, otypes=[float])
    p, q = np.minimum(a, b), np.maximum(a, b)
    # Stirling's lgamma(p + q) - lgamma(q), to 1e-11 from 1000 on.
    far = (q - 0.5) * np.log1p(p / q) + p * np.log(p + q) - p - p / (12 * q * (p + q))
    near = np.minimum(q, 1000.0)
    grown = np.where(q > 1000, far, lgamma(p + near) - lgamma(near))
    return np.asarray(lgamma(p) - grown)


def _lentz(p: N, q: N, y: N, clear: Callable[[N], N], done: Callable[[N], object]) -> N:
    """Lentz's way through the continued fraction of the incomplete beta function.

    Of a number, or of an array until each of its numbers has settled once. They may not stay so: if
    numbers are large, rounding moves what has settled by more than that.
    """
    h = d = 1 / clear(1 - (p + q) * y / (p + 1))
    c = settled = 0 * y + 1
    for m in range(1, 3000):
        even = m * (q - m) * y / ((p + 2 * m - 1) * (p + 2 * m))
        odd = -(p + m) * (p + q + m) * y / ((p + 2 * m) * (p + 2 * m + 1))
        for term in (even, odd):
            d = 1 / clear(1 + term * d)
            c = clear(1 + term / c)
            h = h * d * c
        settled = settled * (abs(d * c - 1) >= 1e-12)
        if done(settled):
            break
    return h


def _beta_tail(a: Array, b: Array, x: Array, log_beta: Array, *, upper: bool) -> Array:
    """Return the regularised incomplete beta function, or 1 without it, number by number."""
    flip = x > (a + 1) / (a + b + 2)
    p, q, y = np.where(flip, b, a), np.where(flip, a, b), np.where(flip, 1 - x, x)
    # A bracket may end at 0 or 1 itself; the tail is 0 there.
    with np.errstate(divide="ignore"):
        front = np.exp(a * np.log(x) + b * np.log1p(-x) - log_beta) / p
    # For few numbers, making arrays takes longer than filling them.
    if len(y) > 16:
        h = _lentz(p, q, y, lambda x: np.where(x == 0, _TINY, x), lambda left: not left.any())
    else:
        numbers = zip(p.tolist(), q.tolist(), y.tolist(), strict=True)
        h = np.array([_lentz(*one, lambda x: x or _TINY, operator.not_) for one in numbers])
    value = np.clip(front * h, 0, 1)
    return np.where(flip == upper, value, 1 - value)


def clopper_pearson(counts: Array, records: float, alpha: float) -> tuple[Array, Array]:
    """Bounds of a binomial share that miss it with at most ``alpha``, whatever it is.

    At the lower bound, this many or more have probability ``alpha / 2``; at the upper bound, this
    many or fewer have: quantiles of beta distributions.
    """
    seen, where = np.unique(np.asarray(counts, dtype=np.float64), return_inverse=True)
    low, high = np.zeros_like(seen), np.ones_like(seen)
    some, lacking = seen > 0, seen < records
    a, b = seen[some], records - seen[some] + 1
    low[some] = _beta_quantile(a, b, alpha / 2, upper=False)
    a, b = seen[lacking] + 1, records - seen[lacking]
    high[lacking] = _beta_quantile(a, b, alpha / 2, upper=True)
    return low[where], high[where]


def _beta_quantile(a: Array, b: Array, p: float, *, upper: bool) -> Array:
    """Find the number below or above which a beta distribution has ``p``.

    The start is the expansion of Cornish and Fisher (Abramowitz and Stegun 26.5.22). If both
    numbers are at least 10,000 it changes ``p`` by less than one part in 50,000 at 0.025, and one
    in a thousand at 1e-9. Otherwise Newton's steps follow, in a bracket that every step narrows.
    """
    y = normal(p) if upper else -normal(p)
    s, t = 1 / (2 * np.maximum(a, 1) - 1), 1 / (2 * np.maximum(b, 1) - 1)
    h, bend = 2 / (s + t), (y * y - 3) / 6
    w = y * np.sqrt(np.maximum(h + bend, 0)) / h - (t - s) * (bend + 5 / 6 - 2 / (3 * h))
    x = a / (a + b * np.exp(np.clip(2 * w, -700, 700)))
    small = np.minimum(a, b) < 1e4
    x[small] = _search(a[small], b[small], p, x[small], upper=upper)
    return np.asarray(x)


def _search(a: Array, b: Array, p: float, start: Array, *, upper: bool) -> Array:
    found = np.clip(start, 1e-300, 1 - 1e-16)
    log_beta = _log_beta(a, b)
    low, high, before = np.zeros_like(a), np.ones_like(a), np.full_like(a, math.inf)
    left = np.arange(len(a))
    for _ in range(200):
        x, front = found[left], log_beta[left]
        off = _beta_tail(a[left], b[left], x, front, upper=upper) / p - 1
        # Near the end rounding may keep it from coming nearer.
        size = np.abs(off)
        going = (size > 1e-10) & ((size > 1e-3) | (size < before[left]))
        if not going.any():
            break
        before[left] = size
        left, x, off, front = left[going], x[going], off[going], front[going]
        short = (off < 0) != upper
        low[left], high[left] = np.where(short, x, low[left]), np.where(short, high[left], x)
        with np.errstate(all="ignore"):
            slope = np.exp((a[left] - 1) * np.log(x) + (b[left] - 1) * np.log1p(-x) - front)
            # In the logarithm of the tail, which is nearly straight.
            step = x + (1 if upper else -1) * p * (1 + off) * np.log1p(off) / slope
        inside = (step > low[left]) & (step < high[left])
        found[left] = np.where(inside, step, (low[left] + high[left]) / 2)
    return np.asarray(found)
