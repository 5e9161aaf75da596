"""What beta says of epsilon for every matrix: the floor, what reaches it, and what is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bistochastic as bs
from bistochastic.measures import least_beta, least_epsilon
from cases import of_every_family

INF = math.inf


@pytest.mark.parametrize("size", [2, 3, 5, 12, 100])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 3.0, 8.0])
def test_a_circulant_of_two_values_reaches_the_floor(size: int, epsilon: float) -> None:
    low = 2.0**-40 if epsilon > 1 else 2.0**-20
    high = min(round(math.exp(epsilon) / low), 2**62 // size)
    least = 1 / low
    rows = [[high] * k + [int(least)] * (size - k) for k in range(1, size)]
    made = [bs.circulant(row) for row in rows[:20] + rows[-20:]]
    most = max(m.epsilon for m in made)
    assert all(m.beta >= least_beta(m.epsilon, size) for m in made)
    if size <= 40:
        reached = min(m.beta for m in made)
        assert reached == pytest.approx(least_beta(most, size), abs=1e-10)


def test_the_floor_is_above_the_one_of_the_largest_entry() -> None:
    for size in (2, 3, 12, 1000, 10**9):
        for epsilon in (1e-9, 0.01, 0.5, 2.0, 10.0, 40.0, 700.0):
            found = least_beta(epsilon, size)
            simple = math.log1p((size - 1) * math.exp(-epsilon)) / math.log(size)
            assert simple * (1 - 1e-11) - 2e-14 <= found <= 1
        assert (least_beta(0, size), least_beta(INF, size)) == (1, 0)
    assert least_beta(3, 1) == 1


@of_every_family()
def test_no_family_is_below_the_floor(name: str, m: bs.Matrix) -> None:
    if not m.padding:
        assert m.beta >= least_beta(m.epsilon, m.size), name
        assert m.epsilon >= least_epsilon(m.beta, m.size)


def test_no_matrix_is_below_the_floor() -> None:
    rng = np.random.default_rng(5)
    made = [bs.balance(rng.random((r, r)) ** 4 + 1e-3) for r in (2, 3, 4, 7, 20) for _ in range(5)]
    made += [bs.kron(bs.randomized_response(3, epsilon=1), bs.geometric(4, epsilon=2))]
    for m in made:
        assert m.beta >= least_beta(m.epsilon, m.size)
        assert m.epsilon >= least_epsilon(m.beta, m.size)


def test_no_optimal_matrix_is_below_the_floor() -> None:
    pytest.importorskip("clarabel")
    scale = np.arange(6.0)
    for cost in (abs(scale[:, None] - scale), 1 - np.eye(6)):
        for asked in ({"beta": 0.6}, {"epsilon": 1.0}, {"beta": 0.8, "epsilon": 2.0}):
            m = bs.optimal(cost, **asked)
            assert m.epsilon >= least_epsilon(m.beta, 6)
            assert m.beta >= least_beta(m.epsilon, 6)


def test_each_is_the_converse_of_the_other() -> None:
    for size in (2, 12, 1000):
        for beta in (1e-6, 0.1, 0.6, 0.99):
            epsilon = least_epsilon(beta, size)
            assert least_beta(epsilon, size) == pytest.approx(beta, rel=1e-6)
            assert least_beta(epsilon * (1 - 1e-9), size) >= beta
        assert 25 < least_epsilon(0, size) < 60
        assert least_epsilon(1, size) < 1e-5


def test_a_tradeoff_shows_the_floor() -> None:
    found = bs.tradeoff(12, families=["randomized_response", "geometric"], betas=[0.6, 0.9])
    for point in found:
        assert point.least_epsilon is not None
        assert point.epsilon is not None
        assert point.least_epsilon <= point.epsilon
    # At this beta randomized response is the best; at a larger one a circulant of two is.
    assert found[0].epsilon == pytest.approx(found[0].least_epsilon, rel=1e-11)
    assert found[1].epsilon > 1.15 * (found[1].least_epsilon or INF)  # type: ignore[operator]
    assert "least epsilon" in str(found)
    sets = {"sets": lambda size, _: bs.difference_set(size, epsilon=0.5)}
    assert bs.tradeoff(5, families=sets, betas=[0.5])[0].least_epsilon is None
