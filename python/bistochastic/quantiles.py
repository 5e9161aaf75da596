"""The few quantiles that intervals need: normal, chi-square, and exact binomial bounds."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def normal(p: float) -> float:
    """The standard normal quantile.

    >>> round(normal(0.975), 6)
    1.959964
    """
    from statistics import NormalDist

    return NormalDist().inv_cdf(p)


def _gamma_cdf(a: float, x: float) -> float:
    """The regularised lower incomplete gamma function, by its series or its continued fraction."""
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


def chi_square(p: float, degrees: float) -> float:
    """The chi-square quantile, by bisection.

    >>> round(chi_square(0.95, 2), 6)
    5.991465
    >>> round(chi_square(0.95, 1), 6)
    3.841459
    """
    a = degrees / 2
    low, high = 0.0, max(10.0, 4 * a)
    while _gamma_cdf(a, high) < p:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if _gamma_cdf(a, middle) < p:
            low = middle
        else:
            high = middle
    return 2 * (low + high) / 2


def _beta_cdf(a: Array, b: Array, x: Array) -> Array:
    """The regularised incomplete beta function, number by number."""
    flip = x > (a + 1) / (a + b + 2)
    p, q, y = np.where(flip, b, a), np.where(flip, a, b), np.where(flip, 1 - x, x)
    lgamma = np.vectorize(math.lgamma, otypes=[float])
    with np.errstate(divide="ignore", invalid="ignore"):
        log_front = lgamma(p + q) - lgamma(p) - lgamma(q) + p * np.log(y) + q * np.log1p(-y)
    front = np.where(y > 0, np.exp(np.where(y > 0, log_front, 0)), 0.0) / p
    # Lentz's way through the continued fraction, all numbers at once until the last has settled.
    tiny = 1e-300
    c = np.ones_like(y)
    d = 1 - (p + q) * y / (p + 1)
    d = 1 / np.where(np.abs(d) < tiny, tiny, d)
    h = d.copy()
    for m in range(1, 10_000):
        even = m * (q - m) * y / ((p + 2 * m - 1) * (p + 2 * m))
        odd = -(p + m) * (p + q + m) * y / ((p + 2 * m) * (p + 2 * m + 1))
        for term in (even, odd):
            d = 1 + term * d
            d = 1 / np.where(np.abs(d) < tiny, tiny, d)
            c = 1 + term / c
            c = np.where(np.abs(c) < tiny, tiny, c)
            h = h * d * c
        if np.all(np.abs(d * c - 1) < 1e-15):
            break
    value = np.clip(front * h, 0, 1)
    return np.where(flip, 1 - value, value)


def clopper_pearson(counts: Array, records: float, alpha: float) -> tuple[Array, Array]:
    """Bounds of a binomial share that miss it with at most ``alpha``, whatever it is.

    The lower bound is the share at which so many or more have probability ``alpha / 2``, the upper
    one that at which so few or fewer have: quantiles of beta distributions.

    >>> low, high = clopper_pearson(np.array([0.0, 3.0, 10.0]), 10, 0.05)
    >>> low.round(4), high.round(4)
    (array([0.    , 0.0667, 0.6915]), array([0.3085, 0.6525, 1.    ]))
    """
    seen, where = np.unique(counts, return_inverse=True)
    low = _beta_quantile(np.maximum(seen, 1e-300), records - seen + 1, alpha / 2)
    high = _beta_quantile(seen + 1, np.maximum(records - seen, 1e-300), 1 - alpha / 2)
    low, high = np.where(seen <= 0, 0.0, low), np.where(seen >= records, 1.0, high)
    return low[where], high[where]


def _beta_quantile(a: Array, b: Array, p: float) -> Array:
    """Newton's steps inside a bracket that every look narrows."""
    lgamma = np.vectorize(math.lgamma, otypes=[float])
    log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
    low, high = np.zeros_like(a), np.ones_like(a)
    x = a / (a + b)
    for _ in range(100):
        off = _beta_cdf(a, b, x) - p
        low, high = np.where(off < 0, x, low), np.where(off < 0, high, x)
        with np.errstate(all="ignore"):
            slope = np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - log_beta)
            step = x - off / slope
        inside = (step > low) & (step < high)
        before, x = x, np.where(inside, step, (low + high) / 2)
        if np.all(np.abs(x - before) <= 1e-15 * x):
            break
    return x
