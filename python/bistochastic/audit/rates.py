"""Shares with their intervals, and how far from a prediction chance may take them."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from bistochastic.audit.results import Rate
from bistochastic.estimate.quantiles import clopper_pearson

# How often a release that keeps to its law is said not to agree with it, at most.
FALSE_ALARM = 1e-6


def margin(variance: float, most: float = 1.0, alarm: float = FALSE_ALARM) -> float:
    """How far a sum of independent numbers lies from its mean, but for this probability.

    Bernstein's bound: each number is at most ``most`` from its mean, and ``variance`` is that of
    the sum. It is further away than ``t`` with probability at most
    ``2 exp(-t^2 / (2 variance + 2 most t / 3))``.

    >>> round(margin(2500.0), 1), round(margin(0.0), 1)
    (274.2, 9.7)
    """
    nats = math.log(2 / alarm)
    third = most * nats / 3
    return third + math.sqrt(third * third + 2 * nats * variance)


@lru_cache(maxsize=4096)
def _interval(hits: float, trials: int, confidence: float) -> tuple[float, float]:
    low, high = clopper_pearson(np.array([hits]), trials, 1 - confidence)
    return float(low[0]), float(high[0])


def rate(
    hits: float,
    trials: int,
    confidence: float,
    chance: float,
    predicted: float | None = None,
    variance: float | None = None,
    most: float = 1.0,
) -> Rate:
    """A share of ``trials``, with its interval. ``predicted`` is a share, ``variance`` of hits.

    Hits may be fractions, where equally good guesses share them. A sum of such numbers strays no
    further than that of booleans with the same mean, so that the interval holds for it too.
    """
    low, high = _interval(float(min(hits, trials)), trials, confidence)
    allowed = None if variance is None else margin(variance, most) / trials
    # Rounding may leave a share of all a hair above 1.
    share = min(1.0, hits / trials)
    expected = None if predicted is None else min(1.0, predicted)
    return Rate(share, low, high, expected, chance, allowed)
