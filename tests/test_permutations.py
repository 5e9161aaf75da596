"""Random permutations under a key: the same again, a stream of their own, the right marginals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

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


@every
def test_marginals_are_the_matrix(m: bs.Matrix) -> None:
    # Chi-square over all cells, by a normal bound of its tail: false alarm below 1e-6.
    n = 3000
    seen = np.zeros((m.size, m.size))
    for i in range(n):
        seen[np.arange(m.size), m.sample_permutation(key=KEY, stream=f"marginals {i}")] += 1
    expected = n * m.to_dense()
    assert (seen[expected == 0] == 0).all()
    cells = expected > 0
    off = float(((seen - expected)[cells] ** 2 / expected[cells]).sum())
    degrees = int(cells.sum()) - m.size
    assert off < degrees + 8 * math.sqrt(2 * degrees) + 16


def test_classes_are_shuffled_in_themselves_at_any_size() -> None:
    m = bs.blocks(range(1, 100))
    drawn = m.sample_permutation(key=KEY, stream="classes")
    start = 0
    for n in range(1, 100):
        assert sorted(drawn[start : start + n].tolist()) == list(range(start, start + n))
        start += n
    assert sorted(bs.uniform(100_000).sample_permutation().tolist()) == list(range(100_000))


def test_terms_are_drawn_with_their_weights() -> None:
    d = bs.dense([[5, 2, 1], [1, 4, 3], [2, 2, 4]]).decompose()
    n = 4000
    drawn = d.sample(n, key=KEY, stream="terms")
    assert drawn.shape == (n, 3)
    assert (d.sample(n, key=KEY, stream="terms") == drawn).all()
    assert (d.sample(n, key=KEY, stream="others") != drawn).any()
    seen = {tuple(permutation): 0 for _, permutation in d}
    for row in drawn.tolist():
        seen[tuple(row)] += 1
    for weight, permutation in d:
        share = float(weight)
        # Six standard errors: below 1e-8 for each of the terms.
        assert abs(seen[tuple(permutation)] / n - share) < 6 * math.sqrt(share * (1 - share) / n)
    assert d.sample(0).shape == (0, 3)


def test_other_decompositions_of_one_matrix_have_other_words() -> None:
    rng = np.random.default_rng(4)
    counts = np.zeros((4, 4), dtype=np.int64)
    for _ in range(6):
        counts[np.arange(4), rng.permutation(4)] += int(rng.integers(1, 9))
    m = bs.dense(counts)
    few, many = m.decompose(), m.decompose(policy="any")
    assert few.terms == many.terms
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


def test_a_coarser_grid_keeps_the_support_of_long_products() -> None:
    faint = bs.tridiagonal([2.0**-53] * 21)
    product = faint
    for _ in range(20):
        product = product @ faint
    # The corner is 2^-1113, which doubles do not hold; it is positive all the same.
    assert product.exact_row(0)[21] > 0
    with pytest.raises(ValueError, match="`bits` must be more than the 53 there are"):
        product.decompose(bits=53)
    plain = bs.geometric(5, beta=0.6) @ bs.tridiagonal([0.1, 0.2, 0.1, 0.3]) @ bs.uniform(5)
    found = plain.decompose(bits=20)
    assert (found.reconstruct() == found.matrix.to_dense()).all()
    assert (found.matrix.to_dense() > 0).all()


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
BIG = bs.tridiagonal(0.2, size=5000)
BAD: list[tuple[Any, type[Exception], str]] = [
    (lambda: bs.uniform(3).sample_permutation(key=KEY), ValueError, "`stream` must name"),
    (lambda: loose.uniform(3).sample_permutation(key=b"x"), TypeError, "`key` must be a Key"),
    (lambda: BIG.sample_permutation(), ValueError, "`size` must be at most 4096"),
    (lambda: D.sample(-1), ValueError, "`n` must be a whole number"),
    (lambda: D.sample(1, key=KEY), ValueError, "`stream` must name"),
]


@pytest.mark.parametrize(("call", "error", "text"), BAD)
def test_bad_input_is_one_sentence(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
