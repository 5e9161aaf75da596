"""Whoever asks for a number gets it: the reported one keeps the request, at every size."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bistochastic as bs

SIZES = st.one_of(
    st.integers(2, 100),
    st.sampled_from([65_535, 65_536, 65_537, 10**6, 10**7, 2**40, 2**53]),
)
BETAS = st.one_of(
    st.floats(0, 1),
    st.floats(-40, 0).map(math.exp),
    st.floats(-36, 0).map(lambda x: 1 - math.exp(x)),
)
EPSILONS = st.one_of(st.floats(0, 50), st.floats(-300, 3).map(lambda x: 10**x))


@given(size=SIZES, beta=BETAS)
def test_randomized_response_by_beta(size: int, beta: float) -> None:
    m = bs.randomized_response(size, beta=beta)
    m.require(beta=beta)
    if size <= 2**40:  # beyond, a lie of one unit out of 2^63 is already more than asked for
        assert m.beta - beta <= 1e-6
    assert (m.truthfulness or 0) >= 1 / size
    assert m.requested == {"size": size, "beta": beta}


@given(size=SIZES, epsilon=EPSILONS)
def test_randomized_response_by_epsilon(size: int, epsilon: float) -> None:
    m = bs.randomized_response(size, epsilon=epsilon)
    m.require(epsilon=epsilon)
    if epsilon <= 20 and size <= 2**40:
        assert epsilon - m.epsilon <= 1e-6
    assert (m.truthfulness or 0) >= 1 / size


@given(size=st.integers(2, 2**53), n=st.integers(0, 2**62), d=st.integers(1, 2**62))
def test_a_fraction_is_taken_exactly(size: int, n: int, d: int) -> None:
    keep = Fraction(min(n, d), max(n, d))
    m = bs.randomized_response(size, keep=keep)
    assert m.parameters == {"size": size, "keep": keep}
    assert m.truthfulness == float(keep)


@given(size=SIZES, beta=BETAS)
def test_k_anonymous_by_beta_is_the_smallest_k(size: int, beta: float) -> None:
    m = bs.k_anonymous(size, beta=beta)
    m.require(beta=beta)
    k = m.parameters["k"]
    assert k == 1 or bs.k_anonymous(size, k=k - 1).beta < beta


@pytest.mark.parametrize(
    ("size", "share", "k"),
    [(100, 0.07, 7), (101, 0.05, 6), (3, 1.0, 3), (9, 1e-9, 1), (1080, 0.1, 108)],
)
def test_k_anonymous_by_share_is_the_smallest_k(size: int, share: float, k: int) -> None:
    assert bs.k_anonymous(size, share=share).parameters["k"] == k
    for bad in (0.0, -0.5, 1.5, math.nan):
        with pytest.raises(ValueError, match=r"^`share` must be above 0 and at most 1; got"):
            bs.k_anonymous(size, share=bad)


@given(size=SIZES, share=st.floats(0, 1))
def test_tridiagonal_by_beta_is_the_smaller_alpha(size: int, share: float) -> None:
    best = 1.0
    if size > 2:
        with pytest.raises(ValueError, match="`beta` must be at most") as refusal:
            bs.tridiagonal(size=size, beta=1)
        best = float(str(refusal.value).split()[5])
    m = bs.tridiagonal(size=size, beta=best * share)
    m.require(beta=best * share)
    assert m.beta - best * share <= 1e-12
    alpha = Fraction(m.parameters["alphas"], m.parameters["total"])
    assert alpha <= (Fraction(1, 2) if size < 12 else Fraction(3407, 10_000))
    if alpha > 0:
        less = bs.tridiagonal(alpha - Fraction(1, 2**53), size=size)
        assert less.beta < best * share


def test_the_peak_of_the_tridiagonal_entropy() -> None:
    with pytest.raises(ValueError, match=r"at most 0\.41128976\d+ for one alpha .* got 1$"):
        bs.tridiagonal(size=12, beta=1)
    m = bs.tridiagonal(size=12, beta=0.411289766525)
    alpha = m.parameters["alphas"] / m.parameters["total"]
    assert alpha == pytest.approx(0.3406, abs=1e-4)


def test_perfect_secrecy_and_its_opposite_are_exact() -> None:
    for size in (2, 3, 12, 1000, 10**7, 2**53):
        for m in (bs.randomized_response(size, epsilon=0), bs.randomized_response(size, beta=1)):
            assert (m.beta, m.epsilon) == (1.0, 0.0)
            assert m.parameters["keep"] == Fraction(1, size)
        for m in (
            bs.randomized_response(size, epsilon=math.inf),
            bs.randomized_response(size, beta=0),
            bs.randomized_response(size, keep=1),
        ):
            assert (m.beta, m.epsilon, m.truthfulness) == (0.0, math.inf, 1.0)
    assert 36.7 < bs.randomized_response(12, epsilon=800).epsilon < 36.8


def test_require_raises_and_says_by_how_much() -> None:
    m = bs.k_anonymous(12, k=3)
    m.require(beta=0.44)
    with pytest.raises(bs.errors.GuaranteeError, match=r"`beta` must be at least 0.6; got 0.442"):
        m.require(beta=0.6)
    with pytest.raises(bs.errors.GuaranteeError, match="`epsilon` must be at most 3; got inf"):
        m.require(epsilon=3)
    with pytest.raises(
        ValueError, match="at least one of beta, epsilon, row_beta, column_beta; got none"
    ):
        m.require()
    with pytest.raises(ValueError, match="`beta` must be from 0 to 1; got NaN"):
        m.require(beta=math.nan)
    # Blocks of four and of one: the single category is published, on average little is.
    m = bs.blocks([4, 4, 1])
    m.require(beta=0.5)
    for name in ("row_beta", "column_beta"):
        m.require(**{name: 0.0})
        with pytest.raises(bs.errors.GuaranteeError, match=f"`{name}` must be at least 0.5; got 0"):
            m.require(**{name: 0.5})
        with pytest.raises(ValueError, match=f"`{name}` must be from 0 to 1; got 2"):
            m.require(**{name: 2.0})
    assert issubclass(bs.errors.GuaranteeError, ValueError)
