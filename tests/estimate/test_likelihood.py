"""Maximum likelihood: the maximum itself, by other solvers and by its slope."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import bistochastic as bs
from bistochastic import linear
from reports import likelihood


@pytest.mark.parametrize(
    "m",
    [
        bs.randomized_response(8, epsilon=1),
        bs.geometric(12, temperature=2),
        bs.tridiagonal(0.2, size=9),
        bs.dense(np.roll(np.eye(5), 1, axis=1) * 0.5 + np.full((5, 5), 0.1)),
        bs.circulant([5, 3, 1, 0, 0, 1]),
        bs.kron(bs.randomized_response(2, epsilon=1), bs.circulant([5, 2, 1])),
        bs.randomized_response(4, keep=Fraction(1, 10)),
    ],
    ids=repr,
)
def test_maximum_likelihood_is_that_of_a_generic_solver(m: bs.Matrix) -> None:
    minimize = pytest.importorskip("scipy.optimize").minimize

    rng = np.random.default_rng(m.size)
    truth = rng.dirichlet(np.full(m.size, 0.2))
    for n in (5, 60, 3000):
        counts = rng.multinomial(n, m.apply(truth) / m.apply(truth).sum())
        e = m.estimate(counts=counts, method="mle")
        reports = counts / n
        assert e.gap <= 1e-10
        assert (e.frequencies >= 0).all()
        assert math.fsum(e.frequencies) == pytest.approx(1)
        found = minimize(
            lambda x: -likelihood(m, x, reports),  # noqa: B023
            np.full(m.size, 1 / m.size),
            bounds=[(0, 1)] * m.size,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
            options={"maxiter": 500, "ftol": 1e-13},
        )
        assert likelihood(m, e.frequencies, reports) >= -found.fun - 1e-7


@given(st.lists(st.integers(0, 30), min_size=2, max_size=12).filter(any), st.floats(0.1, 5))
def test_the_exact_likelihood_of_randomized_response_has_no_gap(
    counts: list[int], epsilon: float
) -> None:
    m = bs.randomized_response(len(counts), epsilon=epsilon)
    e = m.estimate(counts=counts, method="mle")
    reports = np.array(counts) / sum(counts)
    expected = m.to_dense().T @ e.frequencies
    slope = m.to_dense() @ np.where(reports > 0, reports / expected, 0)
    assert slope.max() - 1 < 1e-9


def slope_of(m: bs.Matrix, pi: NDArray[np.float64], counts: NDArray[Any]) -> float:
    """The gap, by the operators alone."""
    reports = counts.reshape(-1) / counts.sum()
    expected = m.apply(pi)
    ratio = np.where(reports > 0, reports / np.maximum(expected, 1e-300), 0.0)
    return float(linear.forth(m, ratio[None, :], back=True)[0].max()) - 1


@pytest.mark.parametrize(
    "m",
    [
        bs.geometric(3000, temperature=1.5),
        bs.tridiagonal(0.2, size=3000),
        bs.circulant([6, 2, 1, *[0] * 2494, 1, 2]),
    ],
    ids=repr,
)
def test_likelihood_beyond_dense_sizes_reaches_the_gap(m: bs.Matrix) -> None:
    """Newton's equations by conjugate gradients, none of the matrices written down."""
    rng = np.random.default_rng(9)
    x = np.arange(m.size) / m.size
    law = m.apply(np.exp(-(((x - 0.3) / 0.1) ** 2)))
    counts = rng.multinomial(20_000, np.maximum(law, 0) / np.maximum(law, 0).sum())
    e = m.estimate(counts=counts, method="mle")
    assert e.gap <= 1e-10
    assert e.steps > 20
    assert (e.frequencies >= 0).all()
    assert math.fsum(e.frequencies) == pytest.approx(1)
    assert slope_of(m, e.frequencies, counts) == pytest.approx(e.gap, abs=1e-11)


@pytest.mark.parametrize("size", [8, 400, 900, 2100])
def test_hostile_tables_get_shares_and_an_honest_gap(size: int) -> None:
    """Counts over fifteen decades: what cannot be certified in doubles is not claimed."""
    row = np.zeros(size, int)
    row[[0, 1, 7]] = 3, 1, 1
    for m in (
        bs.circulant(row),
        bs.tridiagonal(0.4999, size=size),
        bs.permutation(np.argsort(-row)),
    ):
        for seed in range(3 if size < 50 else 1):
            counts = 10.0 ** np.random.default_rng(seed).uniform(0, 15, size)
            e = m.estimate(counts=counts, method="mle")
            assert (e.frequencies >= 0).all()
            assert math.fsum(e.frequencies) == pytest.approx(1)
            assert e.gap >= 0
            reports = counts / counts.sum()
            expected = m.to_dense().T @ e.frequencies
            with np.errstate(divide="ignore"):
                slope = (m.to_dense() @ (reports / expected)).max() - 1
            assert slope <= e.gap * (1 + 1e-6) + 1e-6


@pytest.mark.parametrize("method", ["inverse", "mle", "shrunk"])
def test_singular_matrices_without_a_structure_are_refused_by_every_method(method: Any) -> None:
    tiny = np.full((3, 3), 1 / 3)
    tiny += 1e-9 * np.array([[2, -1, -1], [-1, 1.5, -0.5], [-1, -0.5, 1.5]])
    faint = bs.dense(tiny)
    rank = bs.dense([[2, 1, 1], [1, 2, 1], [1, 1, 2]]) @ bs.dense([[2, 2, 0], [2, 2, 0], [0, 0, 4]])
    whole = bs.dense([[3, 1, 0, 0], [1, 3, 0, 0], [0, 0, 2, 2], [0, 0, 2, 2]])
    assert not faint.is_singular
    for m in (bs.kron(faint, faint), faint @ faint, rank, whole, bs.kron(whole, faint)):
        assert m.is_singular
        with pytest.raises(
            bs.errors.SingularMatrixError, match=r"^`estimate` must be used with an"
        ):
            m.estimate(counts=np.arange(m.size), method=method)
