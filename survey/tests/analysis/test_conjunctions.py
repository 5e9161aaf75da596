"""Counts in several events at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.analysis.quantities import Quantity
from reports import all_counts, chances, outcomes


def count_of(
    matrices: Sequence[bs.Matrix],
    codes: Sequence[Any],
    events: Sequence[Any],
    population: Literal["sampled", "fixed"] = "sampled",
) -> Quantity:
    """``release.count`` of records in all events, each column randomized by a matrix of its own."""
    names = [f"column {k}" for k in range(len(matrices))]
    columns = [
        sv.Categorical(name, list(range(m.size)), matrix=m)
        for name, m in zip(names, matrices, strict=True)
    ]
    frame, where = (dict(zip(names, given, strict=True)) for given in (codes, events))
    return sv.Release(frame, sv.Plan(columns)).count(where, population=population)


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


@pytest.mark.parametrize("population", ["sampled", "fixed"])
def test_a_conjunction_covers_at_any_number_of_records(population: Any) -> None:
    """Pairs of reports enumerated as one; no tolerance."""
    a, b = bs.randomized_response(2, keep=0.8), bs.tridiagonal([0.2])
    joint = bs.kron(a, b)
    events = [[0], [1]]
    for n in (1, 2, 8, 14):
        counts = all_counts(n, 4)
        found = []
        for row in counts:
            codes = np.repeat(np.arange(4), row)
            c = count_of([a, b], [codes // 2, codes % 2], events, population=population)
            found.append([c.interval(confidence) for confidence in (0.8, 0.95)])
        ends = np.array(found)
        # Everyone alike, so that a fixed population is multinomial too.
        for truth in range(4):
            pi = np.eye(4)[truth]
            want = n * pi[1]
            chance = chances(counts, joint.apply(pi))
            for k, alpha in enumerate((0.2, 0.05)):
                missed = (ends[:, k, 0] > want + 1e-9) | (ends[:, k, 1] < want - 1e-9)
                assert chance @ missed <= alpha


def test_a_conjunction_says_what_randomization_adds() -> None:
    """Both errors against the estimate of the joint table, of which it is one share."""
    a, b = bs.randomized_response(2, keep=0.8), bs.geometric(3, temperature=0.5)
    rng = np.random.default_rng(4)
    codes = [rng.integers(0, 2, 500), rng.integers(0, 3, 500)]
    for population in ("sampled", "fixed"):
        c = count_of([a, b], codes, [[1], [2]], population=population)
        e = bs.kron(a, b).estimate(codes[0] * 3 + codes[1], population=population)
        assert c.value == pytest.approx(e.counts[5])
        assert c.standard_error == pytest.approx(500 * e.standard_errors[5])
        np.testing.assert_allclose(c.interval(), 500 * e.interval()[5], rtol=1e-9)
    sure = count_of([a], [codes[0]], [[0, 1]])
    assert sure.value == pytest.approx(500)
    assert sure.interval() == pytest.approx((500, 500))
    with pytest.raises(ValueError, match="`population` must be one of sampled, fixed; got 'all'"):
        count_of([a], [codes[0]], [[0]], population="all")  # type: ignore[arg-type]


@pytest.mark.parametrize("population", ["sampled", "fixed"])
def test_bounds_of_a_conjunction_are_in_order_and_are_counts(population: Any) -> None:
    # All bounds lie above what a count can be, or all below: both are cut, and no truth is lost.
    m = bs.randomized_response(6, keep=0.2621187006206698)
    for n, report in ((3, 0), (3000, 0), (3, 1), (3000, 1)):
        found = count_of([m], [[report] * n], [[0]], population=population)
        for confidence in (0.01, 0.9, 0.999):
            low, high = found.interval(confidence)
            assert 0 <= low <= high <= n
            assert high == n if report == 0 else low == 0


def test_one_record_tells_nothing_of_the_error_of_a_count() -> None:
    c = count_of([bs.tridiagonal([0.2])], [[0]], [[0]])
    assert c.standard_error == math.inf
    assert c.interval() == (0, 1)
