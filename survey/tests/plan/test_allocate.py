"""Budgets of bits or epsilon, shared out among columns."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import bistochastic as bs
import bistochastic_survey as sv

ADULT = [9, 16, 7, 15, 6, 5, 2, 2]
WEIGHTS = [1, 2, 1, 1, 0.5, 1, 3, 1]


def truth(sizes: Any, epsilons: Any) -> np.ndarray:
    return np.asarray(1 / (1 + (np.array(sizes) - 1) * np.exp(-np.array(epsilons))))


def worth(sizes: Any, weights: Any, found: list[Any]) -> float:
    return float(np.array(weights) @ truth(sizes, [a.epsilon for a in found]))


def test_bits_are_shared_out_at_one_price() -> None:
    found = sv.allocate(ADULT, beta=0.6, weights=WEIGHTS)
    assert [a.epsilon / w for a, w in zip(found, WEIGHTS, strict=True)] == pytest.approx(
        [2.364442] * 8, abs=1e-6
    )
    assert worth(ADULT, WEIGHTS, found) == pytest.approx(8.243584, abs=1e-6)
    assert sum(a.bits for a in found) >= 0.6 * math.fsum(math.log2(r) for r in ADULT)
    floored = sv.allocate(ADULT, beta=0.6, weights=WEIGHTS, min_beta=0.3)
    assert [a.epsilon for a in floored] == pytest.approx(
        [2.504483, 4.437610, 2.504483, 2.504483, 1.252241, 2.504483, 2.878250, 2.504483], abs=6e-6
    )
    assert worth(ADULT, WEIGHTS, floored) == pytest.approx(8.165021, abs=1e-6)
    assert min(a.beta for a in floored) >= 0.3
    for size, a in zip(ADULT, floored, strict=True):
        m = bs.randomized_response(size, epsilon=a.epsilon)
        assert (m.epsilon, m.beta, m.entropy_rate) == tuple(a)


def generic(sizes: Any, weights: Any, caps: Any, kept: list[Any], starts: Any) -> float:
    """The best that SLSQP finds from several starts."""
    r, w = np.array(sizes, float), np.array(weights)
    found = [
        minimize(lambda x: -float(w @ truth(r, x)), x, bounds=[(0, cap) for cap in caps],
                 constraints=kept, method="SLSQP", options={"ftol": 1e-14, "maxiter": 500})
        for x in starts
    ]  # fmt: skip
    good = [each for each in found if each.success and all(k["fun"](each.x) > -1e-7 for k in kept)]
    return max(-float(each.fun) for each in good)


@pytest.mark.parametrize("seed", range(6))
def test_bits_against_a_generic_optimiser(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 30, 5).tolist()
    weights, beta, floor = rng.uniform(0.3, 3, 5).tolist(), rng.uniform(0.3, 0.9), 0.2
    found = sv.allocate(sizes, beta=beta, weights=weights, min_beta=floor)
    caps = [bs.randomized_response(size, beta=floor).epsilon for size in sizes]
    r, wanted = np.array(sizes, float), beta * float(np.log2(sizes).sum())

    def bits(x: np.ndarray) -> float:
        lies = (r - 1) * np.exp(-x)
        return float((x * lies / (1 + lies) + np.log1p(lies)).sum()) / math.log(2)

    kept = [{"type": "ineq", "fun": lambda x: bits(x) - wanted}]
    starts = [np.minimum(rng.uniform(0, 2, 5), caps) for _ in range(6)]
    assert worth(sizes, weights, found) >= generic(sizes, weights, caps, kept, starts) - 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_epsilon_against_a_generic_optimiser(seed: int) -> None:
    rng = np.random.default_rng(50 + seed)
    sizes, weights = rng.integers(2, 30, 5).tolist(), rng.uniform(0.3, 3, 5).tolist()
    total, floor = rng.uniform(1, 15), float(rng.choice([0.0, 0.1, 0.3]))
    found = sv.allocate(sizes, epsilon=total, weights=weights, min_beta=floor)
    assert sum(a.epsilon for a in found) <= total + 1e-9
    assert min(a.beta for a in found) >= floor
    caps = [min(36.0, bs.randomized_response(size, beta=floor).epsilon) for size in sizes]
    kept = [{"type": "ineq", "fun": lambda x: total - x.sum()}]
    starts = [np.minimum(rng.dirichlet(np.full(5, 0.5)) * total, caps) for _ in range(12)]
    assert worth(sizes, weights, found) >= generic(sizes, weights, caps, kept, starts) - 1e-6


def test_budgets_at_their_ends() -> None:
    assert all(a.beta == 1 for a in sv.allocate([3, 4], beta=1))
    assert all(a.epsilon == 0 for a in sv.allocate([3, 4], epsilon=0))
    # More than the least betas let anyone spend.
    rich = sv.allocate([3, 4], epsilon=1000, min_beta=[0.5, 0.2])
    assert [a.beta for a in rich] == pytest.approx([0.5, 0.2], abs=1e-9)
    assert sv.allocate([1, 4], beta=0.5)[0].bits == 0


@pytest.mark.parametrize("sizes", [(2, 4), (9, 16, 2), (3, 3, 3), (5, 7), (12, 40), (100, 3)])
@pytest.mark.parametrize("beta", [0.1, 0.3, 0.5, 0.6, 0.8, 0.95])
def test_an_allocated_record_has_the_beta_by_every_count(
    sizes: tuple[int, ...], beta: float
) -> None:
    found = sv.allocate(sizes, beta=beta)
    columns = [
        sv.Categorical(f"c{i}", list(range(size)), "randomized_response", epsilon=a.epsilon)
        for i, (size, a) in enumerate(zip(sizes, found, strict=True))
    ]
    sv.Plan(columns).require(beta=beta)
    bs.kron(*(column.matrices[0] for column in columns)).require(beta=beta)
    assert sum(a.bits for a in found) / bs.uniform(math.prod(sizes)).max_bits >= beta


def test_an_allocation_keeps_its_floors_and_its_total_exactly() -> None:
    rng = np.random.default_rng(11)
    for _ in range(60):
        sizes, floors = rng.integers(2, 50, 3).tolist(), rng.uniform(0, 0.6, 3).tolist()
        total = float(rng.uniform(0.1, 12))
        found = sv.allocate(sizes, epsilon=total, weights=rng.uniform(0, 1, 3).tolist(),
                            min_beta=floors)  # fmt: skip
        assert sum(Fraction(a.epsilon) for a in found) <= Fraction(total)
        assert all(a.beta >= floor for a, floor in zip(found, floors, strict=True))
        rich = sv.allocate(sizes, epsilon=200, min_beta=floors)
        assert all(a.beta >= floor for a, floor in zip(rich, floors, strict=True))


def test_weights_of_zero_and_tiny_totals_are_shared_out() -> None:
    assert [a.epsilon for a in sv.allocate([3, 4], epsilon=1, weights=[0, 0])] == [0, 0]
    # What the first column must not take, the second has no use for.
    assert sv.allocate([3, 4], epsilon=1.5, weights=[1, 0], min_beta=0.9)[1].epsilon == 0
    for total in (1e-8, 1e-11, 1e-14):
        found = [a.epsilon for a in sv.allocate([3, 4, 5], epsilon=total)]
        assert 0.9 * total < sum(found) <= total
    for total in (1e-200, 1e-320, 5e-324):
        assert [a.epsilon for a in sv.allocate([3, 4, 5], epsilon=total)] == [0, 0, 0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sv.allocate([2, 3], beta=0.5, epsilon=1), "one of beta, epsilon; got both"),
        (lambda: sv.allocate([2, 3], epsilon=-1), "`epsilon` must be at least 0; got -1"),
        (lambda: sv.allocate([2, 3], beta=0.5, weights=[1, -1]), "got -1 for column 1"),
        (lambda: sv.allocate([2, 3], beta=0.5, min_beta=[0, 1.5]), "got 1.5 for column 1"),
    ],
)
def test_what_cannot_be_met_is_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    assert words in str(caught.value)
