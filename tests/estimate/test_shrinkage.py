"""The shrunk estimate: heavy noise leaves the guess, light noise the likelihood."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bistochastic as bs

Array = NDArray[np.float64]

SIZES = (9, 12)


def joint(p: float) -> bs.Matrix:
    """Two attributes, each the truth with probability p, otherwise uniform."""
    return bs.kron(*(bs.randomized_response(r, keep=p + (1 - p) / r) for r in SIZES))


def table(classes: int) -> Array:
    """A seeded table of two attributes that depend on each other through hidden classes."""
    rng = np.random.default_rng(20)
    shares = rng.dirichlet(np.full(classes, 2.0))
    first = rng.dirichlet(np.full(SIZES[0], 0.4), classes)
    second = rng.dirichlet(np.full(SIZES[1], 0.4), classes)
    return np.asarray(np.einsum("c,ci,cj->ij", shares, first, second)).reshape(-1)


def distance(pi: Array, p: float, n: int, methods: tuple[str, ...]) -> dict[str, float]:
    """The mean total variation of each method, and of the product of marginals, over 5 surveys."""
    m = joint(p)
    rng = np.random.default_rng(21)
    reports = m.apply(pi)
    off: dict[str, list[float]] = {name: [] for name in (*methods, "product")}
    for _ in range(5):
        counts = rng.multinomial(n, reports / reports.sum())
        for name in methods:
            loose: Any = m
            found = loose.estimate(counts=counts, method=name).frequencies
            off[name].append(float(np.abs(found - pi).sum() / 2))
        sums = counts.reshape(SIZES)
        sides = [
            bs.randomized_response(r, keep=p + (1 - p) / r)
            .estimate(counts=sums.sum(axis=1 - k), method="mle")
            .frequencies
            for k, r in enumerate(SIZES)
        ]
        off["product"].append(float(np.abs(np.outer(*sides).reshape(-1) - pi).sum() / 2))
    return {name: float(np.mean(found)) for name, found in off.items()}


def diagonal() -> Array:
    pi = np.zeros(SIZES)
    pi[np.arange(9), np.arange(9)] = 1 / 9
    return pi.reshape(-1)


@pytest.mark.parametrize(("pi", "p", "n", "by_likelihood", "by_product"), [
    # Never far from the better of two, one of which each of them is where the other is not: the
    # guess under heavy noise, the likelihood under light noise.
    (table(classes=4), 0.1, 30_000, 0.7, 1.05),
    (table(classes=4), 0.3, 30_000, 0.95, 0.95),
    (table(classes=4), 0.7, 30_000, 1.05, 0.32),
    # A diagonal table is as far from the guess as can be, and is not smeared.
    (diagonal(), 0.6, 5000, 1.25, 0.1),
    # Independent attributes stay so.
    (table(classes=1), 0.3, 30_000, 0.5, 1.35),
])  # fmt: skip
def test_heavy_noise_gives_the_guess_and_light_noise_the_likelihood(
    pi: Array, p: float, n: int, by_likelihood: float, by_product: float
) -> None:
    found = distance(pi, p, n, ("mle", "shrunk"))
    assert found["shrunk"] < by_likelihood * found["mle"]
    assert found["shrunk"] < by_product * found["product"]


def objective(m: bs.Matrix, pi: Array, reports: Array, guess: Array, rho: float) -> float:
    expected = m.to_dense().T @ pi
    seen = reports > 0
    fit = float(reports[seen] @ np.log(expected[seen]))
    inside = pi > 0
    return fit - rho * float(pi[inside] @ np.log(pi[inside] / guess[inside]))


@pytest.mark.parametrize(
    "m",
    [
        bs.randomized_response(6, epsilon=1.5),
        bs.geometric(7, temperature=1),
        bs.circulant([5, 3, 1, 0, 0, 1]),
        bs.dense(np.roll(np.eye(5), 1, axis=1) * 0.5 + np.full((5, 5), 0.1)),
    ],
    ids=repr,
)
def test_the_maximum_is_that_of_a_generic_solver(m: bs.Matrix) -> None:
    """With the weight by its formula, from the dense matrix."""
    minimize = pytest.importorskip("scipy.optimize").minimize

    rng = np.random.default_rng(m.size)
    n, r = 4000, m.size
    law = m.apply(rng.dirichlet(np.full(r, 0.4)))
    counts = rng.multinomial(n, law / law.sum())
    reports, guess = counts / n, np.full(r, 1 / r)
    told = float((m.to_dense() ** 2).sum()) - 1
    chi = n * r * float(((reports - 1 / r) ** 2).sum())
    rho = told / (chi - (r - 1) - r * (r - 1) / (n * told))
    assert rho > 0
    found = minimize(
        lambda x: -objective(m, np.abs(x) / np.abs(x).sum(), reports, guess, rho),
        guess,
        bounds=[(1e-9, 1)] * r,
        options={"maxiter": 2000, "ftol": 1e-14},
    )
    mine = m.estimate(counts=counts, method="shrunk")
    # A tenth of a nat over all records is what the climb leaves.
    assert objective(m, mine.frequencies, reports, guess, rho) >= -found.fun - 0.11 / n
    assert math.fsum(mine.frequencies) == pytest.approx(1)
    assert (mine.frequencies >= 0).all()


def test_one_attribute_is_uniform_until_reports_say_otherwise() -> None:
    m = bs.randomized_response(8, epsilon=0.5)
    flat = m.estimate(counts=[13, 12, 11, 12, 13, 14, 12, 13], method="shrunk")
    assert flat.frequencies == pytest.approx(np.full(8, 1 / 8))
    counts = np.round(10**6 * m.apply([0.5, 0.2, 0.1, 0.1, 0.05, 0.03, 0.01, 0.01]))
    many, likely = (m.estimate(counts=counts, method=how) for how in ("shrunk", "mle"))
    assert many.frequencies == pytest.approx(likely.frequencies, abs=0.005)
    assert 0 <= many.gap < 1e-4


def test_weights_come_in_between() -> None:
    """More records move the estimate from the guess to the likelihood, and never back."""
    m = joint(0.4)
    pi = table(classes=4)
    sides = [pi.reshape(SIZES).sum(axis=1), pi.reshape(SIZES).sum(axis=0)]
    guess = np.outer(*sides).reshape(-1)
    # Expected counts: no luck, so only the weight changes.
    off = [
        float(np.abs(m.estimate(counts=n * m.apply(pi), method="shrunk").frequencies - pi).sum())
        for n in (300, 3000, 30_000, 300_000)
    ]
    assert all(a > b for a, b in itertools.pairwise(off))
    assert off[0] > 0.5 * float(np.abs(guess - pi).sum())
    assert off[-1] < 0.1 * float(np.abs(guess - pi).sum())


def test_a_singular_matrix_is_refused() -> None:
    for m in (bs.blocks([1, 2]), bs.kron(bs.uniform(2), bs.identity(2))):
        with pytest.raises(bs.errors.SingularMatrixError, match="`estimate` must be used with"):
            m.estimate(counts=np.ones(m.size), method="shrunk")
