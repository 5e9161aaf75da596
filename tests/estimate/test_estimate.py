"""Estimates: unbiased and with the right covariance by enumeration, intervals that cover."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bistochastic as bs
from bistochastic.measures.priors import project
from cases import of_every_family
from reports import outcomes

SMALL = [
    bs.randomized_response(3, epsilon=1),
    bs.circulant([5, 2, 1]),
    bs.tridiagonal([0.2, 0.1]),
    bs.geometric(3, temperature=0.7),
    bs.dense([[5, 2, 1], [1, 5, 2], [2, 1, 5]]),
]
small = pytest.mark.parametrize("m", SMALL, ids=repr)


@small
@pytest.mark.parametrize("population", ["sampled", "fixed"])
def test_three_records_by_enumerating_everything(m: bs.Matrix, population: Any) -> None:
    """All reports of three truths, drawn or given: mean, covariance, its estimate.

    In a fixed population the covariance is what randomization alone adds.
    """
    n, r, dense = 3, m.size, m.to_dense()
    pi = np.array([0.5, 0.3, 0.2] if population == "sampled" else [1 / 3, 0, 2 / 3])
    drawn = [m.apply(pi)] * 3 if population == "sampled" else [dense[0], dense[2], dense[2]]
    mean, second, claimed = np.zeros(r), np.zeros((r, r)), np.zeros((r, r))
    for codes in outcomes(n, r):
        chance = math.prod(law[c] for law, c in zip(drawn, codes, strict=True))
        e = m.estimate(np.array(codes), population=population)
        mean += chance * e.frequencies
        second += chance * np.outer(e.frequencies, e.frequencies)
        claimed += chance * e.covariance
    spread = second - np.outer(pi, pi)
    np.testing.assert_allclose(mean, pi, atol=1e-12)
    np.testing.assert_allclose(claimed, spread, atol=1e-12)
    if population == "sampled":
        np.testing.assert_allclose(m.standard_error(pi, n) ** 2, np.diag(spread), atol=1e-12)


@of_every_family(some=15, largest=15)
def test_standard_errors_are_the_roots_of_the_covariance(name: str, m: bs.Matrix) -> None:
    if m.condition > 1e6:
        return
    rng = np.random.default_rng(m.size)
    counts = rng.integers(0, 50, m.size)
    counts[0] += 1
    for population in ("sampled", "fixed"):
        e = m.estimate(counts=counts, population=population)
        want = np.maximum(np.diag(e.covariance), 0)
        atol = 1e-14 * m.condition**2
        np.testing.assert_allclose(e.standard_errors**2, want, atol=atol)
        assert math.fsum(e.frequencies) == pytest.approx(1, abs=1e-12 * m.condition)


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=20))
def test_the_projection_is_the_nearest_distribution(x: list[float]) -> None:
    given_x = np.array(x)
    p = project(given_x)
    assert (p >= 0).all()
    assert math.fsum(p) == pytest.approx(1)
    # Kuhn and Tucker: what is positive was moved by one amount, what is 0 by no more.
    moved = given_x - p
    top = moved[p > 0]
    assert np.ptp(top) < 1e-9
    assert (moved[p == 0] <= top.max() + 1e-9).all()


def test_what_cannot_be_told_is_said() -> None:
    blocks = bs.blocks([1, 2, 3])
    counts = [10, 5, 5, 3, 3, 4]
    for method in ("inverse", "mle", "simplex"):
        with pytest.raises(bs.errors.SingularMatrixError, match="totals of its 3 classes"):
            blocks.estimate(counts=counts, method=method)
    totals = blocks.estimate(counts=counts, classes=True)
    assert totals.method == "classes"
    # Exact, since a class is reported as it is.
    np.testing.assert_allclose(totals.interval()[0], [0.1729, 0.5281], atol=1e-4)
    assert "30 records (method: classes" in repr(totals)
    np.testing.assert_allclose(totals.counts, [10, 10, 10])
    np.testing.assert_allclose(totals.frequencies, 1 / 3)
    assert bs.uniform(4).estimate(counts=[1, 2, 3, 4], classes=True).counts.tolist() == [10]
    assert bs.identity(2).estimate(counts=[1, 2], classes=True).counts.tolist() == [1, 2]
    with pytest.raises(ValueError, match="`classes` must be used with"):
        bs.tridiagonal(0.2, size=6).estimate(counts=counts, classes=True)


def test_large_structured_matrices() -> None:
    n = 10**6
    rng = np.random.default_rng(6)
    counts = rng.integers(0, 20, n)
    row = rng.random(n)
    row = row / row.sum() / 2
    row[0] += 0.5
    for m in (bs.randomized_response(n, epsilon=12), bs.circulant(row)):
        e = m.estimate(counts=counts)
        assert np.isfinite(e.standard_errors).all()
    # The middle of a smaller one of the same kind is alike.
    near = bs.tridiagonal(0.1, size=2000).estimate(counts=np.full(2000, 10))
    large = bs.tridiagonal(0.1, size=10_000).estimate(counts=np.full(10_000, 10))
    ratio = large.standard_errors[4500:5500] / near.standard_errors[1000]
    assert np.allclose(ratio, 1 / 5, rtol=1e-3)


loose: Any = bs
RR = bs.randomized_response(3, epsilon=1)
JOINT = bs.kron(RR, bs.randomized_response(2, epsilon=1))
BAD: list[tuple[Any, type[Exception], str]] = [
    (lambda: RR.estimate([0, 3]), ValueError, "from 0 to 2; got one outside at position 1"),
    (lambda: RR.estimate([0, -1]), ValueError, "got one outside at position 1"),
    (lambda: RR.estimate([]), ValueError, "at least one record; got none"),
    (lambda: RR.estimate(counts=[0.4, 0.3, 0.3]), ValueError, "got shares that sum to 1"),
    (lambda: JOINT.estimate([[0, 1], [1, 1]]), ValueError, "one joint code per record"),
    (lambda: JOINT.estimate(counts=np.ones((2, 3))), ValueError, "of shape (6,) or (3, 2)"),
    (lambda: RR.required_records(1e-200), ValueError, "less than 2^63 records"),
    (lambda: RR.estimate(counts=[1, 2]), ValueError, "`counts` must hold 3"),
    (lambda: RR.estimate(counts=[1, -2, 3]), ValueError, "a negative number at position 1"),
    (lambda: RR.estimate(counts=[1, math.nan, 3]), ValueError, "NaN at position 1"),
    (lambda: RR.estimate(counts=[1, 2, 3]).interval(1.0), ValueError, "between 0 and 1; got 1"),
    (lambda: RR.estimate(counts=[1, 2, 3]).contains([1, 0]), ValueError, "`prior` must hold 3"),
]


@pytest.mark.parametrize(("call", "error", "text"), BAD)
def test_bad_input_is_one_sentence(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.lists(st.integers(0, 300), min_size=2, max_size=9).filter(any), st.floats(0.1, 5))
def test_frequency_oracles_say_the_same(counts: list[int], epsilon: float) -> None:
    """Of generalised randomized response: the estimator and the variance of pure protocols.

    ``(c - n q) / (n (p - q))`` is what multi-freq-ldpy clips and scales, and ``q (1 - q) / (n (p -
    q)^2) + f (1 - p - q) / (n (p - q))`` its variance of given truths (Wang et al. 2017).
    """
    k, n = len(counts), sum(counts)
    p = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    q = (1 - p) / (k - 1)
    f = (np.array(counts) - n * q) / (n * (p - q))
    e = bs.randomized_response(k, epsilon=epsilon).estimate(counts=counts, population="fixed")
    np.testing.assert_allclose(e.frequencies, f, atol=1e-10 / (p - q))
    variance = q * (1 - q) / (n * (p - q) ** 2) + f * (1 - p - q) / (n * (p - q))
    np.testing.assert_allclose(
        e.standard_errors**2, np.maximum(variance, 0), atol=1e-10 / (p - q) ** 2
    )


@small
def test_qif_updates_and_projects_to_the_same(m: bs.Matrix) -> None:
    qif = pytest.importorskip("qif", reason="qif has no wheel for this platform")
    for counts in ([600, 300, 100], [5, 0, 1], [400, 300, 300]):
        reports = np.array(counts) / sum(counts)
        updated, _ = qif.channel.iterative_bayesian_update(m.to_dense(), reports, max_diff=1e-12)
        e = m.estimate(counts=counts, method="mle")
        # Its update leaves out what has a chance below 1e-6, and stops on small steps.
        np.testing.assert_allclose(e.frequencies, updated, atol=1e-4)
        inverse = m.estimate(counts=counts).frequencies
        nearest = m.estimate(counts=counts, method="simplex").frequencies
        np.testing.assert_allclose(nearest, qif.metric.optimize.simplex_project(inverse), atol=1e-9)


@pytest.mark.parametrize("far", [1.0, 1e6, 5e11])
def test_the_nearest_distribution_is_one_however_far(far: float) -> None:
    found = project(np.array([far + 0.25, far, -far, far / 3, 0.0]))
    np.testing.assert_allclose(found, [0.625, 0.375, 0, 0, 0], atol=1e-4 * far / 5e11)
    assert abs(found.sum() - 1) < 1e-15
    assert (found >= 0).all()


def test_columns_make_a_table_of_any_library() -> None:
    found = bs.randomized_response(3, epsilon=2).estimate(counts=[520, 290, 190])
    columns = found.to_columns()
    assert list(columns) == ["reported", "frequency", "standard_error", "low", "high"]
    assert columns["frequency"].tolist() == found.frequencies.tolist()
    named = bs.identity(2).estimate(counts=[3, 1], categories={"a": [7, 8]}).to_columns()
    assert named["a"].dtype.kind == "i"
