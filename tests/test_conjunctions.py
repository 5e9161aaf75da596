"""Counts in several events at once."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bistochastic as bs
from reports import count_of, outcomes


def test_conjunctions_are_unbiased() -> None:
    """Enumerated: the mean count over all reports of fixed truths is the true count."""
    a, b = bs.randomized_response(2, epsilon=1), bs.dense([[5, 2, 1], [1, 5, 2], [2, 1, 5]])
    truths = [(0, 2), (1, 1)]
    dense = [a.to_dense(), b.to_dense()]
    total = 0.0
    for first in outcomes(2, 2):
        for second in outcomes(2, 3):
            chance = 1.0
            for i, (u, w) in enumerate(truths):
                chance *= dense[0][u, first[i]] * dense[1][w, second[i]]
            found = count_of([a, b], [list(first), list(second)], [[0], [1, 2]])
            total += chance * found.value
    assert total == pytest.approx(1, abs=1e-12)


def test_a_conjunction_covers() -> None:
    rng = np.random.default_rng(4)
    n, runs = 2000, 400
    a, b = bs.randomized_response(3, epsilon=2), bs.tridiagonal(0.2, size=4)
    truth = np.stack([rng.integers(0, 3, n), rng.integers(0, 4, n)])
    want = int(((truth[0] == 1) & (truth[1] >= 2)).sum())
    rows = [a.to_dense().cumsum(axis=1), b.to_dense().cumsum(axis=1)]
    hits = 0
    for _ in range(runs):
        codes = [
            np.minimum((rows[k][truth[k]] < rng.random((n, 1))).sum(axis=1), m.size - 1)
            for k, m in enumerate((a, b))
        ]
        low, high = count_of([a, b], codes, [[1], [2, 3]]).interval(0.9)
        hits += low <= want <= high
    assert hits / runs >= 0.9 - 5 * math.sqrt(0.09 / runs)
