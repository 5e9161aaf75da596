"""The permutation model: any masking is a permutation and a residual that changes no rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bistochastic as bs

pairs = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        *(st.lists(st.integers(0, 8), min_size=n, max_size=n) for _ in range(2))
    )
)  # fmt: skip


@given(pairs)
def test_z_has_the_values_of_x_in_the_order_of_y(pair: tuple[list[int], list[int]]) -> None:
    x, y = pair
    found = bs.masking.reverse_map(x, y)
    assert sorted(found.z.tolist()) == sorted(x)
    for i in range(len(x)):
        for j in range(len(x)):
            if y[i] < y[j]:
                assert found.z[i] <= found.z[j]
            # Equal masked values keep the order of the originals.
            if y[i] == y[j] and x[i] < x[j]:
                assert found.z[i] <= found.z[j]
    assert (found.z + found.residual).tolist() == y


@given(pairs, st.randoms())
def test_the_order_of_the_file_does_not_matter(
    pair: tuple[list[int], list[int]], random: Any
) -> None:
    x, y = pair
    order = list(range(len(x)))
    random.shuffle(order)
    one = bs.masking.permutation_distance(x, y).distances
    other = bs.masking.permutation_distance([x[i] for i in order], [y[i] for i in order]).distances
    assert sorted(one.tolist()) == sorted(other.tolist())


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.randoms())
def test_a_permuted_column_is_its_own_z_and_stayers_have_not_moved(
    x: list[int], random: Any
) -> None:
    y = list(x)
    random.shuffle(y)
    assert bs.masking.reverse_map(x, y).z.tolist() == y
    assert not bs.masking.reverse_map(x, y).residual.any()
    moved = bs.masking.permutation_distance(x, y).distances
    for a, b, distance in zip(x, y, moved.tolist(), strict=True):
        assert (distance == 0) == (a == b)


def test_distances_are_those_of_ranks() -> None:
    x = np.random.default_rng(1).permutation(100) * 1.5
    y = np.random.default_rng(2).permutation(100) * 7.0
    want = np.abs(np.argsort(np.argsort(x)) - np.argsort(np.argsort(y)))
    found = bs.masking.permutation_distance(x, y)
    assert found.distances.tolist() == want.tolist()
    assert np.quantile(found.distances, 0.9) == np.quantile(want, 0.9)
    assert bs.masking.permutation_distance(x, np.exp(x / 50)).distances.max() == 0


def test_what_says_nothing_moves_nobody() -> None:
    x = [5.0, 1.0, 3.0]
    assert bs.masking.reverse_map(x, [2.0, 2.0, 2.0]).z.tolist() == x
    assert bs.masking.permutation_distance(x, [2.0, 2.0, 2.0]).distances.tolist() == [0, 0, 0]


def test_tables_go_column_by_column() -> None:
    random = np.random.default_rng(3)
    x, y = random.normal(size=(20, 3)), random.normal(size=(20, 3))
    table, found = bs.masking.reverse_map(x, y), bs.masking.permutation_distance(x, y)
    for j in range(3):
        assert table.z[:, j].tolist() == bs.masking.reverse_map(x[:, j], y[:, j]).z.tolist()
        one = bs.masking.permutation_distance(x[:, j], y[:, j])
        assert found.distances[:, j].tolist() == one.distances.tolist()
    assert len(str(found).splitlines()) == 6


def test_whole_numbers_stay_whole() -> None:
    huge = [2**62 + 1, 2**62]
    assert bs.masking.reverse_map(huge, [5, 6]).z.tolist() == [2**62, 2**62 + 1]
    small = np.array([1, 2], dtype=np.uint8)
    assert bs.masking.reverse_map(small, [7, 3]).residual.tolist() == [5, 2]


NAN = float("nan")


@pytest.mark.parametrize(
    ("x", "y", "sentence"),
    [
        ([1, NAN], [1, 2], "`x` must hold no NaN; got 1, the first at position 1"),
        ([1, 2], [NAN, NAN], "`y` must hold no NaN; got 2, the first at position 0"),
        ([1, 2], [1, 2, 3], "`y` must have the shape of `x`, (2,); got (3,)"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_a_sentence(x: Any, y: Any, sentence: str) -> None:
    for call in (bs.masking.reverse_map, bs.masking.permutation_distance):
        with pytest.raises((ValueError, TypeError)) as caught:
            call(x, y)
        assert str(caught.value) == sentence
