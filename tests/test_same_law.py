"""The same law, whoever wrote it: by structure or by entries, always exactly."""

from __future__ import annotations

from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import bistochastic as bs
from cases import FAMILIES, drawn, of_every_family, parts


def written_out(m: bs.Matrix) -> bs.Matrix | None:
    """The same law as a dense matrix, where its denominators are short enough."""
    table = [m.exact_row(u) for u in range(m.size)]
    common = np.lcm.reduce([x.denominator for row in table for x in row], dtype=object)
    return bs.dense(table) if common < 2**53 else None


def brute(a: bs.Matrix, b: bs.Matrix) -> bool:
    return a.size == b.size and all(a.exact_row(u) == b.exact_row(u) for u in range(a.size))


@of_every_family()
def test_a_matrix_is_the_same_law_written_out(name: str, m: bs.Matrix) -> None:
    assert m.same_probabilities(m)
    assert m.same_probabilities(bs.kron(m))
    assert bs.kron(bs.uniform(1), m).same_probabilities(m)
    assert (m @ bs.identity(m.size)).same_probabilities(m)
    assert bs.mix([m, m], weights=[Fraction(1, 3), Fraction(2, 3)]).same_probabilities(m)
    table = written_out(m)
    if table is not None:
        assert m.same_probabilities(table)
        assert table.same_probabilities(m)


@given(data=st.data(), size=st.integers(1, 5))
def test_any_two_agree_with_their_exact_rows(data: st.DataObject, size: int) -> None:
    a, b = data.draw(parts(size)), data.draw(parts(size))
    pairs = [(a, b), (a @ b, b @ a), (a @ a, b), (bs.kron(a, b), bs.kron(b, a))]
    for x, y in pairs:
        assert x.same_probabilities(y) == brute(x, y) == y.same_probabilities(x)


def test_all_pairs_of_families_agree_with_their_exact_rows() -> None:
    pool = [made for name in sorted(FAMILIES) for size, made in drawn(name) if size <= 3]
    rng = np.random.default_rng(1)
    for one in pool:
        a, b = one(), pool[rng.integers(len(pool))]()
        assert a.same_probabilities(b) == brute(a, b), (a.parameters, b.parameters)


def test_a_last_digit_is_seen() -> None:
    n = 2**53
    a = bs.circulant([n // 2, n // 2 - 1, 1])
    b = bs.circulant([n // 2, n // 2 - 2, 2])
    assert not a.same_probabilities(b)
    assert not a.same_probabilities(bs.dense([b.exact_row(u) for u in range(3)]))
    assert bs.randomized_response(3, keep=Fraction(1, 3)).same_probabilities(bs.uniform(3))
    a, b = (bs.randomized_response(3, keep=keep) for keep in (Fraction(3, 10), 0.3))
    assert not a.same_probabilities(b)


def test_fractions_longer_than_128_bits_are_compared() -> None:
    a, b = (bs.randomized_response(3, beta=beta) for beta in (0.3, 0.7))
    three = a @ b @ a
    # Flat matrices commute.
    assert three.same_probabilities(a @ a @ b)
    assert not three.same_probabilities(a @ b @ b)
    assert three.same_probabilities(bs.mix([a @ a @ b, b @ a @ a], weights=[0.5, 0.5]))


def test_large_ones_are_compared_by_their_parameters() -> None:
    n = 10**12
    keep = Fraction(2, 3)
    assert bs.randomized_response(n, keep=keep).same_probabilities(
        bs.randomized_response(n, keep=keep)
    )
    assert not bs.uniform(n).same_probabilities(bs.randomized_response(n, keep=keep))
    assert not bs.k_anonymous(n, k=3).same_probabilities(bs.tridiagonal(0.25, size=n))
    assert bs.blocks([5, 5, 5]).same_probabilities(bs.k_anonymous(15, k=5))


RESPONSE, NEAR = bs.randomized_response(2000, beta=0.3), bs.geometric(2000, beta=0.5)


@pytest.mark.parametrize(
    ("a", "b", "most"),
    [
        (bs.identity(10**12), bs.k_anonymous(10**12, k=1), 4096),
        (RESPONSE @ NEAR, NEAR @ RESPONSE, 1024),
    ],
    ids=["large", "composite"],
)
def test_what_would_take_too_long_is_refused(a: bs.Matrix, b: bs.Matrix, most: int) -> None:
    sentence = f"`other` must have size {most} at most to be compared row by row; got {a.size}"
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        a.same_probabilities(b)
