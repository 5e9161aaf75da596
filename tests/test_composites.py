"""Joint domains, mixtures and successive releases."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bistochastic as bs
import reference
from cases import parts


@given(data=st.data())
def test_a_kron_is_numpys(data: Any) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    factors = [data.draw(parts(size)) for size in sizes]
    m = bs.kron(*factors)
    want = np.ones((1, 1))
    for factor in factors:
        want = np.kron(want, factor.to_dense())
    assert np.abs(m.to_dense() - want).max() <= 1e-15
    assert m.entropy_rate == pytest.approx(sum(f.entropy_rate for f in factors), abs=1e-12)
    assert m.epsilon == pytest.approx(sum(f.epsilon for f in factors), rel=1e-12)
    assert m.beta >= min(f.beta for f in factors)
    assert m.is_exact


@given(data=st.data())
def test_a_product_is_between_its_larger_factor_and_the_sum(data: Any) -> None:
    size = data.draw(st.integers(2, 6))
    a, b = data.draw(parts(size)), data.draw(parts(size))
    m = a @ b
    assert np.abs(m.to_dense() - a.to_dense() @ b.to_dense()).max() <= 1e-15
    assert max(a.entropy_rate, b.entropy_rate) - 1e-12 <= m.entropy_rate
    assert m.entropy_rate <= a.entropy_rate + b.entropy_rate + 1e-12
    assert m.beta >= max(a.beta, b.beta)
    assert m.epsilon <= min(a.epsilon, b.epsilon)


@given(data=st.data())
def test_a_mixture_is_the_weighted_sum_and_at_least_as_secret(data: Any) -> None:
    size = data.draw(st.integers(2, 6))
    matrices = data.draw(st.lists(parts(size), min_size=2, max_size=4))
    shares = data.draw(st.lists(st.integers(1, 50), min_size=len(matrices), max_size=len(matrices)))
    weights = [Fraction(share, sum(shares)) for share in shares]
    m = bs.mix(matrices, weights=weights)
    want = sum(float(w) * part.to_dense() for w, part in zip(weights, matrices, strict=True))
    assert np.abs(m.to_dense() - want).max() <= 1e-15
    mean = sum(float(w) * part.entropy_rate for w, part in zip(weights, matrices, strict=True))
    assert m.entropy_rate >= mean - 1e-12
    assert m.epsilon <= max(part.epsilon for part in matrices)


def test_filling_zeros_honestly() -> None:
    """(1-g) P + g uniform: sums of exactly 1 and a finite epsilon in closed form."""
    p = bs.tridiagonal(0.1, size=1000)
    g = Fraction(1, 1000)
    m = bs.mix([p, bs.uniform(1000)], weights=[1 - g, g])
    assert sum(m.exact_row(17)) == 1
    largest = float((1 - g) * max(p.exact_row(0)) + g / 1000)
    assert m.epsilon == pytest.approx(math.log(largest / float(g / 1000)), rel=1e-12)
    assert p.beta < m.beta < 1


def test_large_composites_inside_one_family_state_bounds() -> None:
    n = 10**7
    rr, other = bs.randomized_response(n, beta=0.6), bs.randomized_response(n, beta=0.2)
    k = bs.k_anonymous(n, k=5)
    for m in (
        bs.mix([rr, bs.uniform(n)], weights=[0.5, 0.5]),
        bs.mix([rr, other], weights=[Fraction(1, 3), Fraction(2, 3)]),
        k @ k,
        rr @ other,
    ):
        assert not m.is_exact
        assert "bound" in repr(m)
    mixed, product = bs.mix([rr, bs.uniform(n)], weights=[0.5, 0.5]), rr @ other
    assert 0.8 - 1e-9 <= mixed.beta < 1
    assert 0 < mixed.epsilon < rr.epsilon
    assert (product.beta, product.epsilon) == (rr.beta, min(rr.epsilon, other.epsilon))
    same = bs.mix([k] * 2, weights=[0.5, 0.5])
    assert (same.beta, same.epsilon, same.is_exact) == (k.beta, k.epsilon, True)
    a, b = bs.randomized_response(1000, epsilon=3), bs.randomized_response(1000, epsilon=4)
    p = a.to_dense() @ b.to_dense()
    assert (a @ b).beta == pytest.approx(bs.entropy_rate(p) / math.log2(1000), abs=1e-10)


@pytest.mark.parametrize("size", [2, 7, 60, 200])
def test_reflected_composites_are_reflected(size: int) -> None:
    a, b = bs.geometric(size, temperature=1.5), bs.geometric(size, temperature=9.0)
    for m in (a @ b, bs.mix([a, b], weights=[Fraction(1, 3), Fraction(2, 3)])):
        p = m.to_dense()
        assert m.is_exact
        assert m.entropy_rate == pytest.approx(bs.entropy_rate(p), abs=1e-12)
        assert m.epsilon == pytest.approx(reference.epsilon(p), rel=1e-12)
    a, b = bs.geometric(9000, temperature=1.5), bs.geometric(9000, temperature=9.0)
    assert not bs.mix([a, b], weights=[0.5, 0.5]).is_exact
    assert not (a @ b).is_exact


def tridiagonal(alpha: float, size: int) -> Any:
    """Expression (7) by its definition, as a sparse matrix."""
    beside = np.full(size - 1, alpha)
    ends = np.full(size, 1 - 2 * alpha)
    ends[[0, -1]] = 1 - alpha
    sparse = pytest.importorskip("scipy.sparse")
    return sparse.diags([beside, ends, beside], [-1, 0, 1], format="csr")


def blocks_of(classes: int, size: int) -> Any:
    """Expression (3) by its definition: classes alike, the first ones larger by one."""
    few, more = divmod(size, classes)
    sizes = [few + 1] * more + [few] * (classes - more)
    sparse = pytest.importorskip("scipy.sparse")
    return sparse.block_diag([np.full((k, k), 1 / k) for k in sizes], format="csr")


def row_entropy(matrix: Any) -> float:
    """The mean entropy of the rows, in bits."""
    p = matrix.tocoo().data
    return float(-(p * np.log2(p)).sum() / matrix.shape[0])


def test_beyond_the_limits_bounds_are_certified_and_said() -> None:
    n = 5000
    p, q = bs.tridiagonal(0.2, size=n), bs.k_anonymous(n, k=7)
    m = bs.mix([p, q], weights=[0.25, 0.75])
    assert not m.is_exact
    assert "bound" in repr(m)
    # Between what is promised, the weighted mean, and the truth: the mixture written out.
    steps, classes = tridiagonal(0.2, n), blocks_of(n // 7, n)
    mean = 0.25 * p.entropy_rate + 0.75 * q.entropy_rate
    assert mean - 1e-9 <= m.entropy_rate <= row_entropy(0.25 * steps + 0.75 * classes) + 1e-9
    assert m.epsilon == math.inf
    product = p @ q
    assert not product.is_exact
    truth = row_entropy(steps @ classes) / math.log2(n)
    assert max(p.beta, q.beta) - 1e-12 <= product.beta <= truth + 1e-12
    # A structured matrix with uniform has an exact epsilon all the same.
    filled = bs.mix([p, bs.uniform(n)], weights=[0.75, 0.25])
    largest, smallest = 0.75 * 0.8 + 0.25 / n, 0.25 / n
    assert filled.epsilon == pytest.approx(math.log(largest / smallest), rel=1e-12)
    assert not bs.kron(m, bs.uniform(2)).is_exact


def test_what_is_too_large_to_look_at_is_said() -> None:
    n = 5000
    assert (bs.identity(n) @ bs.tridiagonal(0.3, size=n)).is_ergodic is True
    m = bs.tridiagonal(0.3, size=n) @ bs.tridiagonal(0.2, size=n)
    assert m.is_ergodic is None
    assert "not computed" in m.profile()._repr_html_()
    big = bs.randomized_response(10**6, beta=0.5)
    assert 0 < ((big @ big).truthfulness or 0) < (big.truthfulness or 0)
    assert (bs.k_anonymous(10**6, k=3) @ bs.tridiagonal(0.2, size=10**6)).truthfulness is None


def test_perfect_secrecy_survives_composition() -> None:
    u = bs.uniform(7)
    skew = bs.circulant([4, 3, 2, 1, 0, 0, 1])
    for m in (u @ skew, skew @ u, bs.mix([u, u], weights=[0.1, 0.9]), bs.kron(u, bs.uniform(11))):
        assert (m.beta, m.epsilon) == (1.0, 0.0)
        assert "epsilon 0," in repr(m)
