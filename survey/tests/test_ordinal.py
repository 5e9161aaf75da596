"""Gibbs, reflected and geometric: optimality, eigenvalues, metric privacy."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from numpy.typing import NDArray

import bistochastic as bs
import bistochastic_survey as sv
from cases import kernels

UNIT = 2.0**-53


def distance(size: int) -> NDArray[np.float64]:
    return np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)


def mean_cost(m: bs.Matrix, cost: NDArray[np.float64]) -> float:
    return float((m.to_dense() * np.where(np.isfinite(cost), cost, 0)).sum() / m.size)


@pytest.mark.parametrize(("size", "epsilon"), [(2, 0.5), (3, 1.0), (12, 3.0), (50, 7.0)])
def test_equal_lies_give_randomized_response(size: int, epsilon: float) -> None:
    cost = 1 - np.eye(size)
    m = bs.gibbs(cost, temperature=1 / epsilon)
    rr = bs.randomized_response(size, epsilon=1 / (1 / epsilon))
    assert np.abs(m.to_dense() - rr.to_dense()).max() <= 2 * UNIT
    m = bs.gibbs(cost, beta=0.6)
    rr = bs.randomized_response(size, beta=0.6)
    assert np.abs(m.to_dense() - rr.to_dense()).max() <= 2 * UNIT


def test_costs_of_nothing_and_infinity_give_blocks() -> None:
    sizes = [3, 1, 5]
    pattern = bs.blocks(sizes).to_dense() > 0
    m = bs.gibbs(np.where(pattern, 0, np.inf), temperature=1)
    assert np.abs(m.to_dense() - bs.blocks(sizes).to_dense()).max() <= 2 * UNIT
    with pytest.raises(ValueError, match="`beta` must be at most") as refusal:
        bs.gibbs(np.where(pattern, 0, np.inf), beta=1)
    assert float(str(refusal.value).split()[5]) == pytest.approx(bs.blocks(sizes).beta, abs=1e-12)


@given(size=st.integers(2, 6), beta=st.floats(0.05, 0.99), seed=st.integers(0, 2**32))
def test_nothing_nearby_is_cheaper_at_that_entropy(size: int, beta: float, seed: int) -> None:
    """Move along random bistochastic directions: where bits grow, the price is T ln 2 a bit."""
    rng = np.random.default_rng(seed)
    cost = rng.random((size, size)) + distance(size)
    m = bs.gibbs(cost, beta=beta)
    assert m.beta >= beta
    p, t = m.to_dense(), m.requested["temperature"]
    # Stationarity: ln p + cost/T is a sum of a row and a column term, so cross differences vanish.
    if p.min() > 1e-6:
        z = np.log(p) + cost / t
        cross = z[:-1, :-1] + z[1:, 1:] - z[:-1, 1:] - z[1:, :-1]
        assert np.abs(cross).max() < 1e-6


@pytest.mark.parametrize(
    ("size", "beta", "cost"),
    [(4, 0.5, 0.250477), (4, 0.8, 0.581043), (5, 0.6, 0.413200), (12, 0.6, 0.8015)],
)
def test_least_costs_of_a_generic_optimiser(size: int, beta: float, cost: float) -> None:
    """Values that a general constrained optimiser (SLSQP) found, to the digits it gave."""
    m = bs.gibbs(distance(size), beta=beta)
    assert mean_cost(m, distance(size)) == pytest.approx(cost, abs=1e-4 if size == 12 else 1e-6)


@pytest.mark.parametrize("size", [3, 12])
def test_gibbs_meets_every_beta(size: int) -> None:
    for beta in (0.0, 1e-4, 0.2, 0.5, 0.9, 0.9999, 1.0):
        m = bs.gibbs(distance(size), beta=beta)
        m.require(beta=beta)
    assert bs.gibbs(distance(size), beta=1).parameters["total"] == size


def test_gibbs_with_costs_of_very_different_size_is_still_the_coldest_or_refused() -> None:
    def cost(far: float) -> np.ndarray:
        return np.array([[0, 1, far], [1, 0, far], [far, far, 0]])

    m = bs.gibbs(cost(1e4), beta=0.1)
    m.require(beta=0.1)
    assert m.beta - 0.1 < 1e-9
    assert m.requested["temperature"] == pytest.approx(0.3121, abs=1e-4)
    for far in (1e5, 1e6, 1e150):
        with pytest.raises(ValueError, match="`beta` must be reached at a temperature of at least"):
            bs.gibbs(cost(far), beta=0.1)


def is_gibbs(m: bs.Matrix, cost: list[list[float]], temperature: float) -> bool:
    """Whether ``sum of ln p + cost/T`` is one number for every permutation, as far as units tell.

    Sums of costs are exact, logarithms have 60 digits.
    """
    counts, total, size = m.parameters["counts"], m.parameters["total"], m.size
    low, high = -mp.inf, mp.inf
    with mp.workdps(60):
        for s in itertools.permutations(range(size)):
            cells = [(counts[u][v], cost[u][v]) for u, v in enumerate(s)]
            if any(math.isinf(c) for _, c in cells):
                continue
            price = sum(Fraction(c) for _, c in cells) / Fraction(temperature)
            price = mpf(price.numerator) / price.denominator
            near = mpf(10) ** -10
            most = [mp.log((n * (1 + near) + 3 * size) / total) for n, _ in cells]
            least = [n * (1 - near) - 3 * size for n, _ in cells]
            high = min(high, mp.fsum(most) + price)
            if min(least) > 0:
                low = max(low, mp.fsum(mp.log(n / total) for n in least) + price)
        return bool(low <= high)


FAR: dict[str, list[list[float]]] = {
    "a scale": [[0, 1, 2], [1, 0, 1], [2, 1, 0]],
    "ties": [[0, 0, 1], [0, 0, 1], [1, 2, 0]],
    "two ties": [[2, 1, 1], [1, 2, 1], [1, 1, 2]],
    "asymmetric": [[3, 1, 4], [1, 5, 9], [2, 6, 5]],
    "forbidden": [[0, 1, math.inf], [2, 0, 1], [math.inf, 3, 0]],
    "two": [[0, 1], [3, 1]],
    "four": [[1, 2, 2, 1], [0, 0, 3, 1], [1, 1, 1, 1], [2, 1, 0, 0]],
}


def largest(cost: list[list[float]]) -> float:
    return max(c for row in cost for c in row if math.isfinite(c))


@pytest.mark.parametrize("name", sorted(FAR))
def test_gibbs_is_right_as_far_as_costs_may_be_from_the_temperature(name: str) -> None:
    for scale in (1e-140, 1e-20, 1.0, 1e25, 1e60, 1e100, 1e140):
        cost = [[c * scale for c in row] for row in FAR[name]]
        for temperature in (1e-150, 1e-20, 0.3, 1.0, 1e25, 1e100, 1e150):
            if largest(cost) / temperature > 2**14:
                with pytest.raises(ValueError, match="`temperature` must be at least the largest"):
                    bs.gibbs(cost, temperature=temperature)
                continue
            m = bs.gibbs(cost, temperature=temperature)
            assert is_gibbs(m, cost, temperature), (scale, temperature)
            positive = m.to_dense() > 0
            assert (positive == np.isfinite(cost)).all()


@pytest.mark.parametrize("offset", [0.0, 100.0, 6000.0])
def test_gibbs_does_not_see_what_a_line_costs_in_common(offset: float) -> None:
    rows = np.array([0, 1, 0.5])[:, None] * offset
    columns = np.array([0.25, 0, 1]) * offset
    cost = [[0.0, 1.0, 3.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    plain = bs.gibbs(cost, temperature=0.8).to_dense()
    moved = bs.gibbs((np.array(cost) + rows + columns).tolist(), temperature=0.8)
    assert np.abs(moved.to_dense() - plain).max() < 1e-11


def test_gibbs_by_beta_finds_the_scale_that_decides() -> None:
    cost = np.array([[0, 1, 0], [1, 0, 2], [0, 2, 1.0]])
    plain = bs.gibbs(cost, beta=0.3)
    for offset in (100, 5000):
        m = bs.gibbs(cost + np.array([[offset], [0], [3 * offset]]), beta=0.3)
        assert m.beta >= 0.3
        assert m.requested["temperature"] == pytest.approx(plain.requested["temperature"], rel=1e-6)
        assert np.abs(m.to_dense() - plain.to_dense()).max() < 1e-6


@given(kernel=kernels())
def test_reflected_eigenvalues_are_cosine_sums(kernel: list[int]) -> None:
    m = bs.reflected(kernel)
    r = m.size
    counts, total = m.parameters["kernel"], m.parameters["total"]
    c = np.array([k / total for k in counts] + [k / total for k in counts[-2:0:-1]])
    want = [(c * np.cos(np.pi * k * np.arange(2 * r) / r)).sum() for k in range(r)]
    p = m.to_dense()
    assert (p == p.T).all()
    assert np.sort(np.linalg.eigvalsh(p)) == pytest.approx(np.sort(want), abs=1e-12)


def test_reflected_contains_its_special_cases() -> None:
    assert (bs.reflected([1.0, 0, 0, 0]).to_dense() == np.eye(3)).all()
    tridiagonal = bs.reflected([0.5, 0.25, 0, 0, 0]).to_dense()
    assert (tridiagonal == bs.tridiagonal(0.25, size=4).to_dense()).all()
    # q/2 everywhere and p - q/2 at 0: randomized response with p = 5/8, q = 1/8.
    equal = bs.reflected([9, 1, 1, 1, 1]).to_dense()
    assert (equal == bs.dense(np.full((4, 4), 2) + 8 * np.eye(4, dtype=int)).to_dense()).all()


@pytest.mark.parametrize("size", [2, 12, 1000])
@pytest.mark.parametrize("temperature", [0.1, 1.0, 11.92, 500.0])
def test_geometric_keeps_its_metric_epsilon(size: int, temperature: float) -> None:
    m = bs.geometric(size, temperature=temperature)
    with mp.workdps(40):
        kernel = m.parameters["kernel"]
        steps = [mp.log(mpf(max(a, b)) / min(a, b)) for a, b in pairwise(kernel)]
        assert max(steps) <= 1 / mpf(temperature)
    # So does the folded matrix, entry by entry along each column.
    if size <= 12:
        rows = [m.exact_row(u) for u in range(size)]
        for u in range(size - 1):
            for a, b in zip(rows[u], rows[u + 1], strict=True):
                ratio = max(a, b) / min(a, b)
                assert mp.log(mpf(ratio.numerator) / ratio.denominator) <= 1 / mpf(temperature)


@pytest.mark.parametrize("size", [1, 2, 5, 12, 300, 1100])
@pytest.mark.parametrize("epsilon", [0, 1e-300, 0.1, 2, Fraction(1, 3), 20, 31, 1e9, math.inf])
def test_geometric_states_at_most_the_epsilon_that_was_asked_for(size: int, epsilon: Any) -> None:
    m = bs.geometric(size, epsilon=epsilon)
    m.require(epsilon=float(epsilon))
    assert bs.geometric(**m.parameters) == m
    assert m.requested["epsilon"] == epsilon
    if epsilon == 0 and size > 1:
        assert m.exact_row(0) == [Fraction(1, size)] * size
    if epsilon == math.inf:
        assert m.same_probabilities(bs.identity(size))
    if 0.1 <= epsilon <= 20 and size > 1:
        # The coldest law that does: nothing is given away without need.
        assert float(epsilon) - m.epsilon <= 1e-5
        colder = math.nextafter(m.requested["temperature"], 0)
        assert bs.geometric(size, temperature=colder).epsilon > epsilon


def test_geometric_by_epsilon_is_what_its_temperature_makes() -> None:
    m = bs.geometric(9, epsilon=3)
    assert m == bs.geometric(9, temperature=m.requested["temperature"])
    # Without a floor the factor between the ends of the scale is exp(8 / T).
    assert m.requested["temperature"] == pytest.approx(8 / 3, rel=1e-9)
    plan = sv.Plan([sv.Categorical("x", range(9), "geometric", epsilon=3)])
    plan.require(epsilon=3)
    assert sv.Plan.from_json(plan.to_json()) == plan
    assert sv.Plan.from_toml(plan.to_toml()).epsilon == plan.epsilon


def test_geometric_against_published_figures() -> None:
    """Truthfulness and metric epsilon at equal beta for twelve ordered categories."""
    for beta, truth, metric in ((0.3, 0.782, 2.012), (0.6, 0.478, 0.955), (0.9, 0.202, 0.317)):
        m = bs.geometric(12, beta=beta)
        m.require(beta=beta)
        assert m.truthfulness == pytest.approx(truth, abs=6e-4)
        assert 1 / m.requested["temperature"] == pytest.approx(metric, abs=6e-4)


@settings(deadline=None)
@given(
    size=st.sampled_from([2, 3, 12, 100, 3000]),
    beta=st.one_of(st.floats(0, 1), st.floats(-30, 0).map(math.exp)),
)
def test_geometric_meets_every_beta(size: int, beta: float) -> None:
    m = bs.geometric(size, beta=beta)
    m.require(beta=beta)
    assert m.beta - beta <= 1e-6


@pytest.mark.parametrize("temperature", [3.0, 40.0, 2000.0])
def test_long_reflected_sums_are_on_the_safe_side(temperature: float) -> None:
    """Closed interior, streamed ends and full streaming against every entry, 40 digits."""
    m = bs.geometric(150, temperature=temperature)
    with mp.workdps(40):
        total = m.parameters["total"]
        counts = [int(p * total) for u in range(150) for p in m.exact_row(u)]
        bits = -mp.fsum(mpf(c) / total * mp.log(mpf(c) / total, 2) for c in counts) / 150
        assert 0 <= bits - mpf(m.entropy_rate) <= mpf(10) ** -12


def test_a_general_kernel_beyond_the_terms_is_a_bound() -> None:
    rng = np.random.default_rng(9)
    kernel = rng.integers(1, 100, 70_001)
    m = bs.reflected(kernel)
    assert not m.is_exact
    assert "bound" in repr(m)
    whole = np.concatenate([kernel, kernel[-2:0:-1]]) / m.parameters["total"]
    bits = -(whole * np.log2(whole)).sum()
    assert m.entropy_rate == pytest.approx(bits - 1, abs=1e-9)
    assert m.epsilon >= math.log(kernel.max() / kernel.min()) - 1e-12
