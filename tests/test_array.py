"""A matrix as an array of NumPy's: when asked for, and never without a word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bistochastic as bs

M = bs.circulant([2, 1, 1])
DENSE = M.to_dense()
# Without types: what is refused is what a type checker refuses.
loose: Any = M
loose_bs: Any = bs


def test_an_array_of_a_matrix_is_its_dense_form() -> None:
    for found in (np.asarray(M), np.array(M), np.array(M, copy=True), np.asanyarray(M)):
        assert type(found) is np.ndarray
        assert found.dtype == np.float64
        assert np.array_equal(found, DENSE)
    single = np.asarray(M, dtype=np.float32)
    assert single.dtype == np.float32
    assert np.array_equal(single, DENSE.astype(np.float32))
    assert np.array_equal(np.array(M, dtype=complex), DENSE.astype(complex))
    assert np.array_equal(np.stack([M, M]), [DENSE, DENSE])
    # As NumPy before 2 asks.
    assert np.array_equal(loose.__array__(), DENSE)
    assert loose.__array__(np.float32).dtype == np.float32


def test_arithmetic_with_arrays_is_refused() -> None:
    x = np.ones(3)
    joined: list[Callable[[], Any]] = [
        lambda: x @ loose,
        lambda: loose @ x,
        lambda: x.tolist() @ loose,
        lambda: np.eye(3) @ loose,
    ]
    for calculate in joined:
        with pytest.raises(TypeError, match=r"`@` must join two matrices; `to_dense\(\)` gives"):
            calculate()
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: -loose, "Matrix"),
        (lambda: np.matmul(x, loose), "Matrix"),
        (lambda: np.matmul(loose, x), "Matrix"),
        (lambda: np.add(loose, 1), "Matrix"),
        (lambda: np.log(loose), "Matrix"),
        (lambda: np.sum(loose), "Matrix"),
        (lambda: loose + x, "Matrix|NumPy"),
        (lambda: x + loose, "Matrix|NumPy"),
        (lambda: sum([loose, loose]), "Matrix"),
        (lambda: x * loose, "Matrix"),
        (lambda: np.float64(2) * loose, "Matrix"),
        (lambda: loose / 2, "Matrix"),
    ]
    for calculate, message in calls:
        with pytest.raises(TypeError, match=message):
            calculate()
    assert (loose == DENSE) is False
    assert (DENSE == loose) is False  # noqa: SIM300


def test_a_matrix_that_does_not_fit_is_refused() -> None:
    large = bs.uniform(10**9)
    asks: list[Callable[[], Any]] = [
        lambda: np.asarray(large),
        lambda: np.array(large, dtype=np.float32),
        lambda: loose_bs.dense(large),
        lambda: M.apply(large),
    ]
    for ask in asks:
        with pytest.raises(
            bs.errors.OutOfMemoryError, match=r"`to_dense` must fit in the \d+ bytes"
        ):
            ask()


def test_a_matrix_is_taken_where_an_array_is() -> None:
    assert bs.dense(loose).same_probabilities(M)
    assert bs.entropy_rate(M) == pytest.approx(M.entropy_rate)
    assert M.apply(M) == pytest.approx(DENSE.T @ DENSE)
    with pytest.raises(TypeError, match="`codes` must be an array of integers"):
        loose.randomize(M)
