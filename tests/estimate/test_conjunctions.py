"""Counts in several events at once."""

from __future__ import annotations

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
