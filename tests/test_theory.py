"""Majorization and T-transforms, and the law that a bistochastic matrix never loses uncertainty."""

from __future__ import annotations

import math
import zlib
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import mpmath
import numpy as np
import pytest
from hypothesis import given

import bistochastic as bs
from cases import of_every_family, orders, so_many

loose: Any = bs
NAN, INF = math.nan, math.inf

WHOLES = st.one_of(st.integers(-5, 5), st.integers(0, 1000), st.integers(-(2**80), 2**80))


def by_definition(p: list[Any], q: list[Any]) -> bool:
    """The same sum, and as much above every threshold: the definition without sorting."""
    p, q = [Fraction(z) for z in p], [Fraction(z) for z in q]
    above = [sum(max(z - c, Fraction(0)) for z in p) for c in p + q]
    other = [sum(max(z - c, Fraction(0)) for z in q) for c in p + q]
    return sum(p) == sum(q) and all(a >= b for a, b in zip(above, other, strict=True))


# Made once: what Hypothesis finds out about a strategy takes longer than to draw from it.
FINE = 10**6
MOVE = st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, FINE))
NUMBERS = [st.sampled_from(range(most + 1)) for most in range(19)]
ORDERS = st.sampled_from(["as they are", "sorted", "shuffled"])


@st.composite
def _pairs(
    draw: st.DrawFn, sizes: st.SearchStrategy[int], values: st.SearchStrategy[Any]
) -> tuple[Any, Any]:
    n = draw(sizes)
    p = draw(so_many(values, n))
    q = list(p)
    moves = draw(NUMBERS[2 * n]) if n > 1 else 0
    for one, other, share in draw(so_many(MOVE, moves)):
        i, j = sorted((one % n, other % n), key=q.__getitem__)
        moved = math.floor((q[j] - q[i]) * Fraction(share, FINE))
        q[i], q[j] = q[i] + moved, q[j] - moved
    how = draw(ORDERS)
    if how == "shuffled":
        return p, [q[k] for k in draw(orders(n))]
    return p, sorted(q) if how == "sorted" else q


def pairs(values: st.SearchStrategy[Any] = WHOLES, most: int = 9) -> st.SearchStrategy[Any]:
    """A vector and one that it majorizes: some moved from the larger to the smaller, shuffled."""
    return _pairs(st.sampled_from(range(1, most + 1)), values)


def carried(matrix: bs.Matrix, p: list[Any]) -> list[Fraction]:
    """``P^T p`` in fractions, from the rows of the law itself."""
    rows = [matrix.exact_row(u) for u in range(matrix.size)]
    columns = zip(*rows, strict=True)
    return [
        sum((x * y for x, y in zip(column, p, strict=True) if x and y), Fraction(0))
        for column in columns
    ]


@given(st.one_of(pairs(), pairs(st.fractions(-5, 5, max_denominator=50))))
def test_fewer_t_transforms_than_codes_give_q_exactly(pair: tuple[list[Any], list[Any]]) -> None:
    p, q = pair
    assert bs.theory.majorizes(p, q)
    found = bs.theory.t_transforms(p, q)
    assert len(found.steps) <= len(p) - 1
    assert found.apply(p) == q
    # Integers stay integers.
    assert any(type(z) is Fraction for z in p) or all(type(z) is int for z in found.apply(p))
    assert all(0 <= keep < 1 and i != j for i, j, keep in found.steps)
    assert sorted(found.targets) == list(range(len(p)))


@given(pairs(st.integers(0, 30)))
def test_the_matrix_of_the_t_transforms_is_bistochastic_and_gives_q(
    pair: tuple[list[int], list[int]],
) -> None:
    p, q = pair
    found = bs.theory.t_transforms(p, q)
    matrix = found.to_matrix()
    rows = [matrix.exact_row(u) for u in range(matrix.size)]
    assert all(sum(line) == 1 for line in [*rows, *zip(*rows, strict=True)])
    assert carried(matrix, p) == q
    assert len(found.matrices()) == len(found.steps) + found.relabels
    other = list(range(len(p)))
    assert found.apply(other) == carried(matrix, other)


@given(st.lists(st.tuples(WHOLES, WHOLES), min_size=1, max_size=6))
def test_majorizes_is_its_definition(entries: list[tuple[int, int]]) -> None:
    p, q = [a for a, _ in entries], [b for _, b in entries]
    q[0] += sum(p) - sum(q)
    assert bs.theory.majorizes(p, q) == by_definition(p, q)
    third = [Fraction(z, 3) for z in p], [Fraction(z, 3) for z in q]
    assert bs.theory.majorizes(*third) == by_definition(p, q)
    if bs.theory.majorizes(p, q):
        assert bs.theory.t_transforms(p, q).apply(p) == q
    else:
        with pytest.raises(ValueError, match=r"^`p` must majorize `q`; got less in the "):
            bs.theory.t_transforms(p, q)


@of_every_family()
def test_a_bistochastic_matrix_never_decreases_uncertainty(name: str, matrix: bs.Matrix) -> None:
    size = matrix.size
    # Histograms with and without empty categories, for the same matrix always the same.
    rng = np.random.default_rng(zlib.crc32(repr(matrix).encode()))
    p = (rng.integers(0, 1001, size) * (rng.random(size) < rng.choice([0.5, 1]))).tolist()
    q = carried(matrix, p)
    # Exactly, not up to rounding: the fractions are the law itself.
    assert bs.theory.majorizes(p, q)
    if sum(p):
        with mpmath.workdps(50):
            # The numbers are exact, so only the logarithms are rounded.
            assert _entropy(q) >= _entropy(p) - mpmath.mpf(10) ** -40
    # Never, not always: the uniform histogram stays as it is.
    assert carried(matrix, [7] * size) == [7] * size


def _entropy(histogram: list[Any]) -> Any:
    total = sum(histogram)
    shares = [mpmath.mpf(z.numerator) / z.denominator / total.numerator * total.denominator
              for z in map(Fraction, histogram) if z]  # fmt: skip
    return -sum(share * mpmath.log(share, 2) for share in shares)


def test_what_floats_are_forgiven() -> None:
    assert bs.theory.majorizes([0.1] * 10, [0.1 * 10] + [0.0] * 9) is False
    assert bs.theory.majorizes([1.0, 0.0], [1.0 + 1e-13, 0.0])
    assert not bs.theory.majorizes([1.0, 0.0], [1.0 + 1e-11, 0.0])
    assert bs.theory.majorizes([0.5, 0.5], [0.5 + 1e-13, 0.5 - 1e-13])
    assert not bs.theory.majorizes([0.5, 0.5], [0.5 + 1e-11, 0.5 - 1e-11])
    # In whole numbers nothing is.
    assert not bs.theory.majorizes([10**20, 10**20], [10**20 + 1, 10**20 - 1])
    assert bs.theory.majorizes([10**20 + 1, 10**20 - 1], [10**20, 10**20])
    # Sums that a plain sum of doubles gets wrong, and some beyond the largest double.
    assert bs.theory.majorizes([1e16, 1.0, -1e16], [1e16, 1.0, -1e16])
    assert bs.theory.majorizes([1e308, 1e308, 0.0], [1e308, 5e307, 5e307])
    assert bs.theory.majorizes([5e-324, 0.0], [0.0, 5e-324])
    assert bs.theory.majorizes([0.0, 0.0], [-0.0, 0.0])


def test_every_kind_of_vector_is_read() -> None:
    kinds: list[tuple[Any, Any]] = [
        ((3, 1), (2, 2)),
        (np.array([3, 1], dtype=np.uint8), np.array([2, 2], dtype=np.int16)),
        (np.array([2**64 - 1, 1], dtype=np.uint64), [2**63, 2**63]),
        ([2**63, -1], [2**62, 2**62 - 1]),
        ([np.int64(3), 1], [Fraction(5, 2), Fraction(3, 2)]),
        (np.array([3, 1], dtype=object), [2, 2]),
        (np.array([3, 1], dtype=np.float32), [2.0, 2]),
        ([Fraction(3), 1.0], [np.float32(2), 2]),
        ([-(2**63), 2**63 - 1], [-1, 0]),
    ]
    for p, q in kinds:
        assert loose.theory.majorizes(p, q), (p, q)
        if not {float, np.float32} & {type(z) for z in [*p, *q]}:
            assert loose.theory.t_transforms(p, q).apply(p) == list(q)


def test_a_long_product_is_refused_and_applied_all_the_same() -> None:
    found = bs.theory.t_transforms([2 * 34] + [0] * 33, [2] * 34)
    assert found.to_matrix().row(0) == pytest.approx([1 / 34] * 34, abs=1e-15)
    longer = bs.theory.t_transforms([2 * 600] + [0] * 599, [2] * 600)
    assert longer.apply([2 * 600] + [0] * 599) == [2] * 600
    with pytest.raises(ValueError, match=r"must .* 1024 matrices"):
        longer.to_matrix()


@pytest.mark.parametrize("function", [loose.theory.majorizes, loose.theory.t_transforms])
@pytest.mark.parametrize(
    ("p", "q", "error", "sentence"),
    [
        ([1, 2], [3], ValueError, "`q` must hold as many numbers as `p`, 2; got 1"),
        ([], [], ValueError, "`p` must hold at least one number; got none"),
        ([1], [NAN], ValueError, "`q` must hold finite numbers; got nan at 0"),
        ([1, INF], [1, INF], ValueError, "`p` must hold finite numbers; got inf at 1"),
        (np.array([1, -INF], dtype=object), [1, 2], ValueError, "got -inf at 1"),
        (["1"], [1], TypeError, "`p` must hold numbers; got str at 0"),
        ([1], [None], TypeError, "`q` must hold numbers; got NoneType at 0"),
        ([True], [1], TypeError, "`p` must hold numbers; got bool at 0"),
        (np.array([True]), [1], TypeError, "`p` must hold numbers; got bool at 0"),
        (np.eye(2), np.eye(2), TypeError, "`p` must hold numbers in one row; got 2 axes"),
        (bs.uniform(2), [1, 1], TypeError, "`p` must hold numbers in one row; got 2 axes"),
    ],
)
def test_bad_vectors_get_one_sentence(
    function: Any, p: Any, q: Any, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error) as caught:
        function(p, q)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_not_majorized_says_where() -> None:
    cases: list[tuple[Any, Any, str]] = [
        ([1, 1], [1, 2], "sums that differ"),
        ([1, 1], [2, 0], "less in the 1 largest of `p` than of `q`"),
        ([5, 1, 1], [4, 3, 0], "less in the 2 largest of `p` than of `q`"),
        ([5 * 2**70, 2**70, 2**70], [2**72, 3 * 2**70, 0], "less in the 2 largest of `p`"),
    ]
    for p, q, got in cases:
        with pytest.raises(ValueError, match=r"^`p` must majorize `q`; got ") as caught:
            bs.theory.t_transforms(p, q)
        assert got in str(caught.value)
    found = bs.theory.t_transforms([3, 1], [2, 2])
    with pytest.raises(ValueError, match=r"^`p` must hold 2 numbers; got 3$"):
        found.apply([1, 2, 3])
    assert found.apply([10**400, 0.5]) == [(10**400 + Fraction(1, 2)) / 2] * 2
    with pytest.raises(TypeError, match=r"^`p` must hold integers or fractions; got float at 0"):
        bs.theory.t_transforms([0.5, 0.5], [0.5, 0.5])
    fine = bs.theory.t_transforms([2**63 + 1, 0], [1, 2**63])
    with pytest.raises(ValueError, match=r"^`keep` must be .* a denominator below 2\^63; got"):
        fine.matrices()
