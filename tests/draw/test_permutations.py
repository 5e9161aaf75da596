"""Random permutations under a key: the same again, a stream of their own, the right marginals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import bistochastic as bs

KEY = bs.Key.from_bytes(bytes(range(32)))
MATRICES = [
    bs.randomized_response(5, epsilon=1),
    bs.tridiagonal(0.3, size=6),
    bs.dense([[5, 2, 1], [1, 4, 3], [2, 2, 4]]),
    bs.blocks([2, 1, 3]),
    bs.kron(bs.circulant([3, 1, 1]), bs.uniform(2)),
    bs.mix([bs.geometric(4, beta=0.5), bs.permutation([1, 0, 3, 2])], weights=[0.7, 0.3]),
    bs.tridiagonal(0.2, size=4) @ bs.randomized_response(4, epsilon=2),
]
every = pytest.mark.parametrize("m", MATRICES, ids=repr)


@every
def test_a_key_gives_the_same_permutation_again(m: bs.Matrix) -> None:
    first = m.sample_permutation(key=KEY, stream="income")
    assert sorted(first.tolist()) == list(range(m.size))
    assert (m.sample_permutation(key=KEY, stream="income") == first).all()
    others = [m.sample_permutation(key=KEY, stream=f"other {i}") for i in range(30)]
    assert any((other != first).any() for other in others)


def test_classes_are_shuffled_in_themselves_at_any_size() -> None:
    m = bs.blocks(range(1, 100))
    drawn = m.sample_permutation(key=KEY, stream="classes")
    start = 0
    for n in range(1, 100):
        assert sorted(drawn[start : start + n].tolist()) == list(range(start, start + n))
        start += n
    assert sorted(bs.uniform(100_000).sample_permutation().tolist()) == list(range(100_000))


def test_other_decompositions_of_one_matrix_have_other_words() -> None:
    rng = np.random.default_rng(4)
    counts = np.zeros((4, 4), dtype=np.int64)
    for _ in range(6):
        counts[np.arange(4), rng.permutation(4)] += int(rng.integers(1, 9))
    m = bs.dense(counts)
    few, many = m.decompose(), m.decompose(restarts=2)
    a, b = (d.sample(2000, key=KEY, stream="x") for d in (few, many))
    # Independent draws agree as often as the weights say; the same words would tie them together.
    weights = {tuple(p): float(w) for w, p in few}
    expected = sum(float(w) * weights.get(tuple(p), 0.0) for w, p in many)
    agree = float((a == b).all(axis=1).mean())
    assert abs(agree - expected) < 6 * math.sqrt(max(expected, 0.01) / 2000)


def test_a_kron_of_long_factors_is_put_together_again() -> None:
    g = bs.randomized_response(3, epsilon=1)
    m = bs.kron(g, g, g)
    assert (m.decompose().reconstruct() == m.to_dense()).all()


@pytest.mark.parametrize("n", range(2, 25))
def test_mass_is_reached_exactly(n: int) -> None:
    from fractions import Fraction

    for m in (bs.uniform(n), bs.blocks([n, n + 1]), bs.randomized_response(n, keep=Fraction(1, 2))):
        for k in range(1, n):
            d = m.decompose(mass=k / n)
            weights = d.exact_weights
            assert sum(weights) >= Fraction(k / n) > sum(weights[:-1])


def test_a_residual_that_cannot_be_written_says_so() -> None:
    g = bs.randomized_response(3, epsilon=1)
    with pytest.raises(ValueError, match="`residual` must have a common denominator"):
        bs.kron(g, g).decompose(mass=0.5).residual  # noqa: B018


loose: Any = bs
D = bs.identity(2).decompose()
BIG = bs.geometric(5000, beta=0.5)
BAD: list[tuple[Any, type[Exception], str]] = [
    (lambda: bs.uniform(3).sample_permutation(key=KEY), ValueError, "`stream` must name"),  # type: ignore[call-overload]
    (lambda: loose.uniform(3).sample_permutation(key=b"x"), TypeError, "`key` must be a Key"),
    (lambda: BIG.sample_permutation(), ValueError, "`size` must be at most 4096"),
    (lambda: D.sample(-1), ValueError, "`n` must be an integer"),
    (lambda: D.sample(1, key=KEY), ValueError, "`stream` must name"),  # type: ignore[call-overload]
]


@pytest.mark.parametrize(("call", "error", "text"), BAD)
def test_bad_input_is_one_sentence(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


@given(size=st.integers(1, 6), data=st.data())
def test_joint_entropy_of_classes_is_that_of_what_is_drawn(size: int, data: st.DataObject) -> None:
    m = bs.k_anonymous(size, k=data.draw(st.integers(1, size)))
    can_be = (m.to_dense() > 0).tolist()
    # All orders that can be drawn are as likely.
    orders = sum(
        all(can_be[u][v] for u, v in enumerate(order))
        for order in itertools.permutations(range(size))
    )
    assert m.joint_entropy == pytest.approx(math.log2(orders), abs=1e-12)


def test_joint_entropy_is_said_of_classes_alone() -> None:
    assert bs.identity(10**9).joint_entropy == 0
    assert bs.uniform(5).joint_entropy == pytest.approx(math.log2(120), abs=1e-13)
    large = math.lgamma(10**6 + 1) / math.log(2)
    assert bs.uniform(10**6).joint_entropy == pytest.approx(large, rel=1e-13)
    half = [Fraction(1, 2)] * 2
    for m in (
        bs.permutation([2, 0, 1]),
        bs.t_transform(9, 2, 5, keep=Fraction(1, 4)),
        bs.randomized_response(4, beta=0.5),
        bs.kron(bs.uniform(2), bs.uniform(3)),
        bs.mix([bs.uniform(2), bs.identity(2)], weights=half),
        bs.uniform(3) @ bs.identity(3),
        bs.geometric(5000, beta=0.5),
    ):
        assert m.joint_entropy is None


def test_terms_are_drawn_by_their_weights() -> None:
    # False alarm below 1e-6 a term by Hoeffding: 2 exp(-2 n t^2) with n = 4000, t = 0.045.
    for matrix in (
        bs.dense([[5, 2, 1], [1, 4, 3], [2, 2, 4]]),
        bs.randomized_response(4, beta=0.7),
        bs.blocks([2, 3, 5]),
        bs.kron(bs.circulant([2, 1]), bs.blocks([1, 2])),
    ):
        found = matrix.decompose()
        term = {tuple(row): j for j, row in enumerate(found.permutations.tolist())}
        assert len(term) == found.terms
        sample = found.sample(4000, key=bs.Key.insecure(7), stream="terms").tolist()
        assert found.sample(4000, key=bs.Key.insecure(7), stream="terms").tolist() == sample
        assert found.sample(4000, key=bs.Key.insecure(7), stream="others").tolist() != sample
        drawn = np.bincount([term[tuple(row)] for row in sample], minlength=found.terms)
        assert np.abs(drawn / 4000 - found.weights).max() < 0.045
    with pytest.raises(ValueError, match="`sample` must be asked of a decomposition"):
        bs.uniform(5).decompose(max_terms=2).sample(1)
