"""Tables onto the grid: exact line sums, unchanged support, no entry far from where it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import bistochastic as bs
from cases import tables

GRID = 2**53


def sinkhorn(table: NDArray[np.float64], rounds: int = 2000) -> NDArray[np.float64]:
    """The textbook alternation, as the slow reference."""
    for _ in range(rounds):
        table = table / table.sum(axis=0)
        table = table / table.sum(axis=1, keepdims=True)
    return table


def check(m: bs.Matrix, balanced: NDArray[np.float64]) -> None:
    """Sums without tolerance, support as given, entries within 2 x size units."""
    counts, total = np.array(m.parameters["counts"], dtype=object), m.parameters["total"]
    assert (counts.sum(axis=0) == total).all()
    assert (counts.sum(axis=1) == total).all()
    assert ((counts > 0) == (balanced > 0)).all()
    if total > 10**6:
        doubles = m.to_dense()
        assert total == GRID
        assert (doubles.sum(axis=0) == 1.0).all()
        assert (doubles.sum(axis=1) == 1.0).all()


@settings(max_examples=200)
@given(table=tables())
def test_balanced_tables_keep_sums_and_support(table: NDArray[np.float64]) -> None:
    check(bs.balance(table), table)


@given(
    size=st.integers(1, 40),
    zeros=st.sampled_from([0.0, 0.5, 0.9]),
    seed=st.integers(0, 2**32),
)
def test_entries_stay_within_twice_the_size_in_units(size: int, zeros: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.random((size, size)) * (rng.random((size, size)) >= zeros)
    # Two diagonals keep every entry on a positive one only where the pattern allows; add all.
    pattern = np.zeros((size, size), dtype=bool)
    for _ in range(3):
        pattern[np.arange(size), rng.permutation(size)] = True
    table = np.where(pattern, rng.random((size, size)) + 0.1, table if zeros == 0 else 0)
    balanced = sinkhorn(table)
    m = bs.dense(balanced)
    check(m, balanced)
    moved = np.abs(m.to_dense() - balanced).max() * GRID
    assert moved <= 2 * size + 16  # 16 units for the doubles of the reference itself


@pytest.mark.parametrize("size", [2, 5, 50])
def test_near_permutations_and_tiny_entries(size: int) -> None:
    for tiny in (1e-300, 1e-17, 1e-12):
        table = np.full((size, size), tiny)
        np.fill_diagonal(table, 1 - (size - 1) * tiny)
        m = bs.dense(table[np.random.default_rng(size).permutation(size)])
        check(m, np.ones((size, size)))


@given(data=st.data())
def test_what_is_on_the_grid_is_never_moved(data: Any) -> None:
    m = bs.balance(data.draw(tables()))
    again = bs.dense(m.to_dense())
    assert again.parameters["counts"] == m.parameters["counts"]
    assert again.requested["moved"] == 0


def test_sums_off_by_up_to_the_tolerance_are_balanced() -> None:
    table = sinkhorn(np.random.default_rng(3).random((9, 9)))
    off = table * (1 + 4e-10 * np.random.default_rng(4).choice([-1, 1], size=(9, 1)))
    m = bs.dense(off)
    check(m, table)
    assert 1e-10 < m.requested["off"] <= 1e-9
    assert np.abs(m.to_dense() - table).max() < 1e-9


def test_balance_is_sinkhorn_and_the_cross_ratios_stay() -> None:
    table = np.random.default_rng(5).random((6, 6)) ** 4
    p = bs.balance(table).to_dense()
    assert np.abs(p - sinkhorn(table)).max() < 1e-13
    ratio = p[0, 0] * p[1, 1] / (p[0, 1] * p[1, 0])
    assert ratio == pytest.approx(table[0, 0] * table[1, 1] / (table[0, 1] * table[1, 0]), rel=1e-9)


def test_balance_where_two_rows_want_one_column() -> None:
    """The value of a Sinkhorn iteration in 60 digits, which needs many rounds in doubles."""
    m = bs.balance([[0, 1e7, 1e-6], [1e-12, 10, 0], [1e-3, 0, 1e-2]])
    assert m[0, 1] == pytest.approx(0.68298599, abs=1e-8)
    assert m.requested["off"] < 1e-14
    # Over four hundred orders of magnitude.
    few, tiny = 1e-12, 1e-200
    rows = [[few, few, few, 0.625], [tiny, 0.147, few, few], [few, tiny, 0.625, few]]
    m = bs.balance([*rows, [tiny, 0.99999, tiny, tiny]])
    assert m.requested["off"] <= 1e-15
    assert m.requested["passes"] < 5000


@settings(max_examples=60)
@given(size=st.integers(2, 20), diagonals=st.integers(1, 4), seed=st.integers(0, 2**32))
def test_balance_over_twenty_four_orders_of_magnitude(size: int, diagonals: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pattern = np.zeros((size, size))
    for _ in range(diagonals):
        pattern[np.arange(size), rng.permutation(size)] = 1
    m = bs.balance(pattern * 10.0 ** rng.integers(-12, 13, (size, size)))
    check(m, pattern)
    assert m.requested["off"] <= 1e-12


def test_balance_of_a_slow_chain_converges() -> None:
    n = 300
    rng = np.random.default_rng(6)
    table = np.where(
        np.abs(np.subtract.outer(range(n), range(n))) <= 1, rng.random((n, n)) + 0.1, 0
    )
    m = bs.balance(table)
    assert m.requested["off"] < 1e-14
    # Plain alternation needs some n^2 rounds of two passes here.
    assert m.requested["passes"] < n * n / 10


def sum_of_permutations(size: int, weights: list[float]) -> NDArray[np.float64]:
    rng = np.random.default_rng(3)
    table = np.zeros((size, size))
    for weight in weights:
        table[np.arange(size), rng.permutation(size)] += weight
    return table


def test_decimals_are_the_fractions_that_were_written() -> None:
    m = bs.dense([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]])
    assert m.parameters == {"counts": [[5, 3, 2], [2, 5, 3], [3, 2, 5]], "total": 10}
    assert m.requested == {"off": 0.0, "moved": 0.0}
    assert m.decompose().terms == 3
    # Sums of weights that are a unit off.
    table = sum_of_permutations(50, [0.3, 0.15, 0.25, 0.1, 0.2])
    assert 0.3 + 0.15 in table
    assert 0.3 + 0.15 != 0.45
    five = bs.dense(table)
    assert five.decompose().terms == 5
    assert five.parameters["total"] == 100
    assert 0 < five.requested["moved"] < 2**-50


@pytest.mark.parametrize("total", [3, 6, 7, 10, 60, 97, 100, 720, 1000, 99_991, 10**6])
def test_quotients_are_the_fractions_that_were_meant(total: int) -> None:
    """Up to a denominator of a million: of ten, or that of the first row."""
    counts = np.array([[1, total - 2, 1], [1, 1, total - 2], [total - 2, 1, 1]])
    m = bs.dense(counts / total)
    assert m == bs.dense(counts)
    assert m.parameters["total"] == total
    assert bs.dense(m.to_dense()) == m


def test_powers_of_ten_come_before_smaller_denominators() -> None:
    assert bs.dense([[0.2, 0.8], [0.8, 0.2]]).parameters["total"] == 10
    assert bs.dense([[1 / 15, 14 / 15], [14 / 15, 1 / 15]]).parameters["total"] == 15


@pytest.mark.parametrize(
    "entry", [1e-17, 1e-7, 1 / 1_000_003, 1 / 3 + 2**-49, 0.1 + 2**-49, 2**-0.5]
)
def test_what_is_no_such_fraction_is_rounded_to_the_grid(entry: float) -> None:
    table = np.array([[entry, 1 - entry], [1 - entry, entry]])
    check(bs.dense(table), table)
    assert bs.dense(table).parameters["total"] == GRID


def test_a_table_whose_first_row_alone_has_fractions_is_rounded_to_the_grid() -> None:
    first = [[0.3, 0.7, 0.0, 0.0], [0.7, 0.3, 0.0, 0.0]]
    a = 2**-0.5
    table = np.array([*first, [0, 0, a, 1 - a], [0, 0, 1 - a, a]])
    m = bs.dense(table)
    check(m, table)
    assert m.parameters["total"] == GRID
    # A denominator of another row is not looked for.
    other = np.array([*first, [0, 0, 1 / 3, 2 / 3], [0, 0, 2 / 3, 1 / 3]])
    assert bs.dense(other).parameters["total"] == GRID


def test_doubles_on_the_grid_with_exact_sums_stay_though_fractions_are_near() -> None:
    unit = 2.0**-53
    near = round(0.3 / unit) * unit
    m = bs.dense([[near, 1 - near], [1 - near, near]])
    assert m.parameters["total"] == GRID
    assert m.requested["moved"] == 0


def test_whole_numbers_are_exactly_themselves() -> None:
    m = bs.dense([[1, 2], [2, 1]])
    assert m.parameters == {"counts": [[1, 2], [2, 1]], "total": 3}
    assert m == bs.dense(np.array([[1, 2], [2, 1]], dtype=np.uint8))
