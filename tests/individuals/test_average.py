"""Averages for releases: within 1e-12 of the exact ones, and refused if they can be undone."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import bistochastic as bs
from bistochastic.errors import InvertibleReleaseError
from others import pa, pd, pl

KEY = bs.Key.from_bytes(bytes(range(32)))
loose: Any = bs

# The sum of a class stays below the largest double.
numbers = st.floats(-1e300, 1e300)


def exactly(m: bs.Matrix, x: list[float]) -> list[Fraction]:
    rows = [m.exact_row(u) for u in range(m.size)]
    return [
        sum((row[v] * Fraction(value) for row, value in zip(rows, x, strict=True)), Fraction(0))
        for v in range(m.size)
    ]


def close(found: float, exact: Fraction, x: Any) -> bool:
    """Whether it is within 1e-12 of the largest number, or within the least double."""
    largest = max(map(abs, map(Fraction, np.asarray(x).tolist())))
    return abs(Fraction(found) - exact) <= largest / 10**12 + Fraction(math.ulp(0.0))


@given(data=st.data(), n=st.integers(1, 12))
def test_averages_are_within_1e_12_of_the_exact_ones(data: st.DataObject, n: int) -> None:
    x = data.draw(st.lists(numbers, min_size=n, max_size=n))
    keep = data.draw(st.fractions(0, 1, max_denominator=50))
    matrices = [
        bs.uniform(n),
        bs.k_anonymous(n, k=data.draw(st.integers(1, n))),
        bs.tridiagonal(data.draw(st.floats(0, 0.5)), size=n),
        bs.tridiagonal(Fraction(1, 3), size=n),
    ]
    if n > 1:
        matrices += [bs.randomized_response(n, keep=keep), bs.randomized_response(n, beta=0.5)]
        alphas = data.draw(st.lists(st.floats(0, 0.5), min_size=n - 1, max_size=n - 1))
        matrices.append(bs.tridiagonal(alphas))
    for m in matrices:
        found = m.average(x, allow_invertible=True)
        for got, want in zip(found, exactly(m, x), strict=True):
            assert close(got, want, x), (m, x)


def test_averages_of_long_columns_are_close_too() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=300_000) * 10.0 ** rng.integers(-8, 9, 300_000)
    mean = Fraction(math.fsum(x)) / len(x)
    uniform = bs.uniform(len(x)).average(x)
    assert len(set(uniform.tolist())) == 1
    assert close(uniform[0], mean, x)
    blocks = bs.k_anonymous(len(x), k=5).average(x)
    for start in (0, 5, 149_995, 299_995):
        want = sum(map(Fraction, x[start : start + 5].tolist()), Fraction(0)) / 5
        assert close(blocks[start], want, x)
        assert (blocks[start : start + 5] == blocks[start]).all()
    steps = bs.tridiagonal(0.3, size=len(x)).average(x, allow_invertible=True)
    law = bs.tridiagonal(0.3, size=3).exact_row(1)
    for i in (1, 32_767, 32_768, 299_998):
        around = map(Fraction, x[i - 1 : i + 2].tolist())
        want = sum((p * v for p, v in zip(law, around, strict=True)), Fraction(0))
        assert close(steps[i], want, x)
    lies = bs.randomized_response(len(x), keep=Fraction(1, 2))
    off = Fraction(1, 2) / (len(x) - 1)
    found = lies.average(x, allow_invertible=True)
    total = sum(map(Fraction, x.tolist()), Fraction(0))
    for i in (0, 7, 299_999):
        want = off * total + (Fraction(1, 2) - off) * Fraction(x[i])
        assert close(found[i], want, x)


REFUSED: list[tuple[bs.Matrix, str]] = [
    (bs.randomized_response(8, keep=0.5), "a matrix of rank 8 out of 8, which anybody can undo"),
    (bs.tridiagonal(0.5, size=8), "a matrix of rank 7 out of 8, which 1 known values can undo"),
    (bs.tridiagonal(0.3, size=10_000), "a matrix of rank 10000 out of 10000"),
    (bs.identity(8), "a matrix of rank 8 out of 8"),
    (bs.permutation([1, 0, 2, 3]), "a matrix of rank 4 out of 4"),
    (bs.blocks([1, 5, 5]), "1 of 11 records in classes of one, whose values it would publish"),
    (bs.uniform(1), "a matrix of rank 1 out of 1"),
    (bs.kron(bs.uniform(2), bs.tridiagonal(0.2, size=4)), "a matrix of rank 4 out of 8"),
    (bs.dense([[1, 2], [2, 1]]), "a matrix of rank 2 out of 2"),
    (bs.blocks([2, 2]) @ bs.tridiagonal(0.3, size=4), "a matrix of rank 2 out of 4"),
    (bs.k_anonymous(5000, k=5) @ bs.geometric(5000, beta=0.5), "over 5000 records"),
]


@pytest.mark.parametrize(("m", "got"), REFUSED)
def test_only_projections_onto_class_means_are_released(m: bs.Matrix, got: str) -> None:
    x = np.arange(m.size) * 1.5
    with pytest.raises(
        InvertibleReleaseError, match="must be used with uniform or blocks"
    ) as caught:
        m.average(x)
    assert got in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)
    named = m.average(x, allow_invertible=True)
    assert named == pytest.approx(m.apply(x), rel=1e-12)


def test_means_of_classes_are_released_with_their_k() -> None:
    m = bs.blocks([2, 3])
    assert m.average([1, 3, 4, 5, 9]).tolist() == [2, 2, 6, 6, 6]
    assert m.deniability(1) == 2
    x = np.array([9.0, 1, 5, 3, 4])
    assert m.average(x, order="rank").tolist() == [6, 2, 6, 2, 6]
    assert m.average(x, order=[1, 3, 4, 2, 0]).tolist() == [6, 2, 6, 2, 6]
    tied = bs.blocks([2, 2]).average([1.0, 1, 1, 5], order="rank", key=KEY, stream="s")
    assert sorted(tied) == [1, 1, 3, 3]
    again = bs.blocks([2, 2]).average([1.0, 1, 1, 5], order="rank", key=KEY, stream="s")
    assert tied.tolist() == again.tolist()


def test_averages_of_any_container_come_back_as_an_array() -> None:
    m, x, want = bs.blocks([2, 2]), [1, 3, 5, 8], [2, 2, 6.5, 6.5]
    for make in (tuple, pd.Series, pl.Series, pa.array, lambda x: pa.chunked_array([x])):
        assert m.average(make(x)).tolist() == want
    table = np.stack([x, [0, 2, 4, 6]], axis=1)
    both: list[list[float]] = [[2, 1], [2, 1], [6.5, 5], [6.5, 5]]
    for frame in (table, pd.DataFrame(table), pl.DataFrame(table)):
        assert m.average(frame).tolist() == both
    assert m.average([Fraction(1, 2), 1, 2, 3]).tolist() == [0.75, 0.75, 2.5, 2.5]


BAD: list[tuple[Any, type[Exception], str]] = [
    (lambda: bs.uniform(3).average([1, 2]), ValueError, "one for each of the 3 individuals; got 2"),
    (lambda: bs.uniform(3).average([1, math.nan, 2]), ValueError,
     "`values` must hold no NaN; got 1, the first at position 1"),
    (lambda: bs.uniform(3).average([[1, 2], [3, math.nan], [math.nan, math.nan]]), ValueError,
     "`values` must hold no NaN; got 3, the first at .1, 1."),
    (lambda: bs.uniform(3).average([1, math.inf, 2]), ValueError,
     "no infinite numbers; got 1, the first at position 1"),
    (lambda: bs.uniform(2).average(pa.array([1, None])), ValueError,
     "`values` must hold no NaN; got 1, the first at position 1"),
    (lambda: bs.uniform(2).average([1, 2], order="rank", key=KEY), ValueError, "`stream` must"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), BAD)
def test_bad_input_is_one_sentence(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert "\n" not in str(caught.value)
