"""``bs.optimal``: least cost, against other solvers, and every requirement kept."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bistochastic as bs

pytest.importorskip("clarabel")
optimize = pytest.importorskip("scipy.optimize")

INF = math.inf


def ordinal(size: int) -> np.ndarray:
    scale = np.arange(float(size))
    return abs(scale[:, None] - scale)


def cost_of(matrix: bs.Matrix) -> float:
    return float(matrix.requested["expected_cost"])


# Sizes, requirements and the least cost of |u - v|, found with HiGHS and with other solvers.
KNOWN: list[tuple[int, dict[str, float], float]] = [
    (6, {"epsilon": 3}, 0.465075),
    (10, {"epsilon": 1}, 2.421972),
    (6, {"epsilon": 1}, 1.414612),
    (12, {"epsilon": 1}, 2.927312),
    (5, {"epsilon": 2}, 0.702429),
    (6, {"epsilon": 3, "beta": 0.6}, 0.548446),
    (8, {"epsilon": 3, "beta": 0.6}, 0.794374),
    (6, {"beta": 0.6}, 0.480990),
    (8, {"epsilon": 2, "beta": 0.8}, 1.315798),
    (10, {"epsilon": 1, "beta": 0.5}, 2.421972),
]


@pytest.mark.parametrize(("size", "asked", "least"), KNOWN)
def test_known_objectives(size: int, asked: dict[str, float], least: float) -> None:
    m = bs.optimal(ordinal(size), **asked)
    m.require(**asked)
    assert cost_of(m) == pytest.approx(least, abs=6e-7)
    assert 0 <= m.requested["gap"] < 1e-7
    assert cost_of(m) == pytest.approx(m.profile(cost="ordinal").expected_cost, abs=1e-12)
    assert bs.Matrix.from_json(m.to_json()) == m
    assert bs.Matrix.from_json(m.to_json()).requested == m.requested


@pytest.mark.parametrize("size", [2, 3, 4, 6, 8])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 3, 5, 8])
def test_the_stated_gap_reaches_the_least_cost(size: int, epsilon: float) -> None:
    # With one cost for every false value, randomized response is optimal.
    m = bs.optimal(1 - np.eye(size), epsilon=epsilon)
    least = (size - 1) / (math.exp(epsilon) + size - 1)
    assert cost_of(m) - m.requested["gap"] <= least
    assert m.requested["gap"] < 1e-7


def by_linear_program(cost: np.ndarray, epsilon: float) -> float:
    """All pairs of rows, as the definition has them."""
    r = len(cost)
    rows = []
    for v in range(r):
        for u in range(r):
            for w in range(r):
                if u != w:
                    row = np.zeros((r, r))
                    row[u, v], row[w, v] = 1, -math.exp(epsilon)
                    rows.append(row.ravel())
    sums = [np.kron(np.eye(r)[i], np.ones(r)) for i in range(r)]
    sums += [np.kron(np.ones(r), np.eye(r)[i]) for i in range(r)]
    found = optimize.linprog(
        cost.ravel() / r, np.array(rows), np.zeros(len(rows)), sums, np.ones(2 * r)
    )
    return float(found.fun)


def by_general_solver(cost: np.ndarray, asked: dict[str, float]) -> float:
    """SLSQP over the entries, from several starts."""
    r = len(cost)

    def entropies(x: np.ndarray, axis: int) -> np.ndarray:
        p = np.maximum(x.reshape(r, r), 1e-12)
        return np.asarray(-(p * np.log(p)).sum(axis=axis) / math.log(r))

    kept: list[dict[str, Any]] = [
        {"type": "eq", "fun": lambda x: x.reshape(r, r).sum(axis=0) - 1},
        {"type": "eq", "fun": lambda x: x.reshape(r, r).sum(axis=1)[:-1] - 1},
    ]
    if "beta" in asked:
        kept.append({"type": "ineq", "fun": lambda x: entropies(x, 1).mean() - asked["beta"]})
    if "row_beta" in asked:
        kept.append({"type": "ineq", "fun": lambda x: entropies(x, 1) - asked["row_beta"]})
    if "column_beta" in asked:
        kept.append({"type": "ineq", "fun": lambda x: entropies(x, 0) - asked["column_beta"]})
    if "epsilon" in asked:
        most = math.exp(asked["epsilon"])
        pairs = [(u, w) for u in range(r) for w in range(r) if u != w]
        us, ws = (np.array(side) for side in zip(*pairs, strict=True))
        kept.append({"type": "ineq", "fun": lambda x: (
            most * x.reshape(r, r)[us] - x.reshape(r, r)[ws]).ravel()})  # fmt: skip
    even, alike = bs.uniform(r), bs.identity(r)
    starts = [bs.mix([alike, even], weights=[t, 1 - t]).to_dense() for t in (0.25, 0.5)]
    found = [
        optimize.minimize(
            lambda x: float(x @ cost.ravel()) / r, start.ravel(), bounds=[(1e-9, 1)] * r * r,
            constraints=kept, method="SLSQP", options={"maxiter": 500, "ftol": 1e-12},
        )
        for start in starts
    ]  # fmt: skip
    return min(float(each.fun) for each in found if each.success)


@pytest.mark.parametrize("seed", range(6))
def test_epsilon_alone_is_the_linear_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    cost, epsilon = rng.gamma(1.0, 1.0, (size, size)), float(rng.uniform(0.2, 4))
    m = bs.optimal(cost, epsilon=epsilon)
    m.require(epsilon=epsilon)
    assert cost_of(m) == pytest.approx(by_linear_program(cost, epsilon), abs=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_beta_alone_is_gibbs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 9))
    cost, beta = rng.gamma(1.0, 1.0, (size, size)), float(rng.uniform(0.1, 0.95))
    m = bs.optimal(cost, beta=beta)
    m.require(beta=beta)
    gibbs = bs.gibbs(cost, beta=beta).to_dense()
    assert cost_of(m) == pytest.approx(float((gibbs * cost).sum()) / size, abs=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_several_at_once_against_a_general_solver(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    size = int(rng.integers(3, 5))
    cost = rng.gamma(1.0, 1.0, (size, size))
    asked = {"epsilon": float(rng.uniform(1, 4)), "beta": float(rng.uniform(0.3, 0.8))}
    name = ("row_beta", "column_beta")[seed % 2]
    asked[name] = asked["beta"] * float(rng.uniform(0.9, 1.1))
    m = bs.optimal(cost, **asked)
    m.require(**asked)
    assert cost_of(m) == pytest.approx(by_general_solver(cost, asked), abs=2e-5)


def test_perfect_secrecy_is_exact() -> None:
    for asked in ({"epsilon": 0.0}, {"beta": 1.0}, {"row_beta": 1.0, "epsilon": 1e-17}):
        m = bs.optimal(ordinal(7), **asked)
        assert (m.beta, m.epsilon) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("cost", "asked", "words"),
    [
        (ordinal(3), {"beta": 1.5}, "`beta` must be from 0 to 1; got 1.5"),
        (ordinal(3), {"epsilon": math.nan}, "`epsilon` must be at least 0; got NaN"),
        ([[0, 1], [-1, 0]], {"beta": 0.5}, "got a negative number at (1, 0)"),
        ([[0, math.nan], [1, 0]], {"beta": 0.5}, "got NaN at (0, 1)"),
        ([[0, INF], [0, INF]], {"beta": 0.5}, "got an infinite number at (0, 1)"),
    ],
)
def test_bad_input_gets_one_sentence(cost: Any, asked: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        bs.optimal(cost, **asked)
    assert words in str(caught.value)
