"""Estimates: unbiased and with the right covariance by enumeration, intervals that cover."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import bistochastic as bs
from bistochastic.estimate import project, quantiles
from cases import FAMILIES

SMALL = [
    bs.randomized_response(3, epsilon=1),
    bs.circulant([5, 2, 1]),
    bs.tridiagonal([0.2, 0.1]),
    bs.geometric(3, temperature=0.7),
    bs.dense([[5, 2, 1], [1, 5, 2], [2, 1, 5]]),
]
small = pytest.mark.parametrize("m", SMALL, ids=repr)


def outcomes(n: int, r: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(r), repeat=n))


@small
def test_sampled_records_by_enumerating_everything(m: bs.Matrix) -> None:
    """All reports of three records with truths drawn from pi: mean, covariance, its estimate."""
    n, r = 3, m.size
    pi = np.array([0.5, 0.3, 0.2])
    reports = m.apply(pi)
    mean, second, claimed = np.zeros(r), np.zeros((r, r)), np.zeros((r, r))
    for codes in outcomes(n, r):
        chance = math.prod(reports[c] for c in codes)
        e = m.estimate(np.array(codes))
        mean += chance * e.frequencies
        second += chance * np.outer(e.frequencies, e.frequencies)
        claimed += chance * e.covariance
    np.testing.assert_allclose(mean, pi, atol=1e-12)
    np.testing.assert_allclose(claimed, second - np.outer(pi, pi), atol=1e-12)
    np.testing.assert_allclose(
        m.standard_error(pi, n) ** 2, np.diag(second - np.outer(pi, pi)), atol=1e-12
    )


@small
def test_a_fixed_population_by_enumerating_everything(m: bs.Matrix) -> None:
    """All reports of three given truths: what randomization alone adds."""
    truths = [0, 2, 2]
    n, r = len(truths), m.size
    dense = m.to_dense()
    pi = np.bincount(truths, minlength=r) / n
    mean, second, claimed = np.zeros(r), np.zeros((r, r)), np.zeros((r, r))
    for codes in outcomes(n, r):
        chance = math.prod(dense[u, v] for u, v in zip(truths, codes, strict=True))
        e = m.estimate(np.array(codes), population="fixed")
        mean += chance * e.frequencies
        second += chance * np.outer(e.frequencies, e.frequencies)
        claimed += chance * e.covariance
    np.testing.assert_allclose(mean, pi, atol=1e-12)
    np.testing.assert_allclose(claimed, second - np.outer(pi, pi), atol=1e-12)


@pytest.mark.parametrize("name", sorted(FAMILIES))
@settings(max_examples=15)
@given(data=st.data())
def test_standard_errors_are_the_roots_of_the_covariance(name: str, data: st.DataObject) -> None:
    m = data.draw(FAMILIES[name].filter(lambda m: m.size <= 15))
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
        assert e.standard_errors_within == 0
        assert math.fsum(e.frequencies) == pytest.approx(1, abs=1e-12 * m.condition)


def likelihood(m: bs.Matrix, pi: NDArray[np.float64], reports: NDArray[np.float64]) -> float:
    expected = m.to_dense().T @ pi
    seen = reports > 0
    return float(reports[seen] @ np.log(np.maximum(expected[seen], 1e-300)))


@pytest.mark.parametrize(
    "m",
    [
        bs.randomized_response(8, epsilon=1),
        bs.geometric(12, temperature=2),
        bs.tridiagonal(0.2, size=9),
        bs.dense(np.roll(np.eye(5), 1, axis=1) * 0.5 + np.full((5, 5), 0.1)),
        bs.circulant([5, 3, 1, 0, 0, 1]),
    ],
    ids=repr,
)
def test_maximum_likelihood_is_that_of_a_generic_solver(m: bs.Matrix) -> None:
    from scipy.optimize import minimize

    rng = np.random.default_rng(m.size)
    truth = rng.dirichlet(np.full(m.size, 0.2))
    for n in (5, 60, 3000):
        counts = rng.multinomial(n, m.apply(truth) / m.apply(truth).sum())
        e = m.estimate(counts=counts, method="mle")
        reports = counts / n
        assert e.gap <= 1e-10
        assert (e.frequencies >= 0).all()
        assert math.fsum(e.frequencies) == pytest.approx(1)
        found = minimize(
            lambda x: -likelihood(m, x, reports),  # noqa: B023
            np.full(m.size, 1 / m.size),
            bounds=[(0, 1)] * m.size,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
            options={"maxiter": 500, "ftol": 1e-13},
        )
        assert likelihood(m, e.frequencies, reports) >= -found.fun - 1e-7


@given(st.lists(st.integers(0, 30), min_size=2, max_size=12).filter(any), st.floats(0.1, 5))
def test_the_exact_likelihood_of_randomized_response_has_no_gap(
    counts: list[int], epsilon: float
) -> None:
    m = bs.randomized_response(len(counts), epsilon=epsilon)
    e = m.estimate(counts=counts, method="mle")
    reports = np.array(counts) / sum(counts)
    expected = m.to_dense().T @ e.frequencies
    slope = m.to_dense() @ np.where(reports > 0, reports / expected, 0)
    assert slope.max() - 1 < 1e-9


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
    assert "classes from 30 records" in repr(totals)
    np.testing.assert_allclose(totals.counts, [10, 10, 10])
    np.testing.assert_allclose(totals.frequencies, 1 / 3)
    assert bs.uniform(4).estimate(counts=[1, 2, 3, 4], classes=True).counts.tolist() == [10]
    assert bs.identity(2).estimate(counts=[1, 2], classes=True).counts.tolist() == [1, 2]
    with pytest.raises(ValueError, match="`classes` must be asked of"):
        bs.tridiagonal(0.2, size=6).estimate(counts=counts, classes=True)


def test_joint_tables_axis_by_axis() -> None:
    a, b = bs.randomized_response(3, epsilon=2), bs.geometric(4, temperature=0.6)
    joint = bs.kron(a, b)
    rng = np.random.default_rng(3)
    table = rng.integers(0, 40, (3, 4))
    e = joint.estimate(counts=table)
    want = np.linalg.solve(joint.to_dense().T, table.ravel() / table.sum())
    np.testing.assert_allclose(e.frequencies, want, atol=1e-12)
    np.testing.assert_allclose(e.standard_errors**2, np.diag(e.covariance), atol=1e-12)
    flat = joint.estimate(counts=table.ravel(), method="mle")
    whole = bs.dense(joint.to_dense()).estimate(counts=table.ravel(), method="mle")
    reports = table.ravel() / table.sum()
    assert likelihood(joint, flat.frequencies, reports) == pytest.approx(
        likelihood(joint, whole.frequencies, reports), abs=2e-6
    )


def test_conjunctions_are_unbiased() -> None:
    """Enumerated: the mean count over all reports of fixed truths is the true count."""
    a, b = bs.randomized_response(2, epsilon=1), bs.dense([[5, 2, 1], [1, 5, 2], [2, 1, 5]])
    truths = [(0, 2), (1, 1)]
    dense = [a.to_dense(), b.to_dense()]
    total = 0.0
    for first in outcomes(2, 2):
        for second in outcomes(2, 3):
            chance = 1.0
            for i, (u, w) in enumerate(truths):
                chance *= dense[0][u, first[i]] * dense[1][w, second[i]]
            found = bs.conjunction([a, b], [list(first), list(second)], [[0], [1, 2]])
            total += chance * found.count
    assert total == pytest.approx(1, abs=1e-12)


def test_a_conjunction_covers() -> None:
    rng = np.random.default_rng(4)
    n, runs = 2000, 400
    a, b = bs.randomized_response(3, epsilon=2), bs.tridiagonal(0.2, size=4)
    truth = np.stack([rng.integers(0, 3, n), rng.integers(0, 4, n)])
    want = int(((truth[0] == 1) & (truth[1] >= 2)).sum())
    rows = [a.to_dense().cumsum(axis=1), b.to_dense().cumsum(axis=1)]
    hits = 0
    for _ in range(runs):
        codes = [
            np.minimum((rows[k][truth[k]] < rng.random((n, 1))).sum(axis=1), m.size - 1)
            for k, m in enumerate((a, b))
        ]
        low, high = bs.conjunction([a, b], codes, [[1], [2, 3]]).interval(0.9)
        hits += low <= want <= high
    assert hits / runs >= 0.9 - 5 * math.sqrt(0.09 / runs)


def test_planning() -> None:
    m = bs.randomized_response(4, keep=Fraction(5, 8))
    z = quantiles.normal(0.975)
    # A share of reports can be anything from 1/8 to 5/8, so 1/2 is the worst; a is 1/2.
    assert m.required_records(0.02) == math.ceil(z * z * 0.25 / 0.25 / 0.02**2)
    e = bs.geometric(6, temperature=1)
    n = e.required_records(0.05)
    rng = np.random.default_rng(5)
    most = max(
        float((e.standard_error(rng.dirichlet(np.full(6, 0.3)), n)).max()) for _ in range(200)
    )
    assert z * most <= 0.05 * (1 + 1e-9)
    assert z * most >= 0.025
    with pytest.raises(bs.errors.SingularMatrixError):
        bs.uniform(3).required_records(0.1)


def test_large_structured_matrices() -> None:
    n = 10**6
    rng = np.random.default_rng(6)
    counts = rng.integers(0, 20, n)
    row = rng.random(n)
    row = row / row.sum() / 2
    row[0] += 0.5
    for m in (bs.randomized_response(n, epsilon=12), bs.circulant(row)):
        e = m.estimate(counts=counts)
        assert e.standard_errors_within == 0
        assert np.isfinite(e.standard_errors).all()
    m = bs.tridiagonal(0.1, size=20_000)
    e = m.estimate(counts=counts[:20_000])
    assert 0 < e.standard_errors_within < 0.1
    # The middle of a smaller one of the same kind is alike.
    near = bs.tridiagonal(0.1, size=2000).estimate(counts=np.full(2000, 10))
    probed = m.estimate(counts=np.full(20_000, 10))
    ratio = probed.standard_errors[9000:9500] / near.standard_errors[1000]
    assert abs(ratio.mean() * math.sqrt(20_000 / 2000) - math.sqrt(10)) < 10


def test_few_records_give_wide_intervals_and_no_errors() -> None:
    for m in SMALL:
        for counts in ([1, 0, 0], [0, 0, 2], [0, 5, 0]):
            e = m.estimate(counts=counts)
            bounds = e.interval()
            assert (bounds[:, 0] <= bounds[:, 1]).all()
            assert np.ptp(bounds, axis=1).max() > 0.5
            assert "record" in repr(e)
            assert "<table>" in e._repr_html_()


def test_codes_of_any_type_are_counted_alike() -> None:
    m = bs.randomized_response(3, epsilon=2)
    codes = np.array([[0, 1, 2], [2, 2, 1]])
    want = m.estimate(counts=[1, 2, 3]).frequencies
    for dtype in ("u1", "i1", "u2", "i4", ">i4", "u8"):
        assert (m.estimate(codes.astype(dtype)).frequencies == want).all()
    assert (m.estimate(codes[:, ::-1]).frequencies == want).all()
    assert (m.estimate(codes.tolist()).frequencies == want).all()
    two = bs.randomized_response(2, epsilon=1)
    assert two.estimate(np.array([True, False])).records == 2


loose: Any = bs
RR = bs.randomized_response(3, epsilon=1)
JOINT = bs.kron(RR, bs.randomized_response(2, epsilon=1))
BAD: list[tuple[Any, type[Exception], str]] = [
    (lambda: RR.estimate(), TypeError, "must be given codes or counts; got neither"),
    (lambda: RR.estimate([0], counts=[1, 2, 3]), TypeError, "got both"),
    (lambda: RR.estimate([0, 3]), ValueError, "from 0 to 2; got one outside at position 1"),
    (lambda: RR.estimate([0, -1]), ValueError, "got one outside at position 1"),
    (lambda: RR.estimate([0.5]), TypeError, "`codes` must be an array of whole numbers"),
    (lambda: RR.estimate([]), ValueError, "at least one record; got none"),
    (lambda: RR.estimate(counts=[0, 0, 0]), ValueError, "at least one record; got none"),
    (lambda: RR.estimate([[0, 1], [2]]), TypeError, "got rows of several lengths"),
    (lambda: RR.estimate(counts=[[0, 1], [2]]), TypeError, "got rows of several lengths"),
    (lambda: loose.identity(3).estimate(counts={0: 1}), TypeError, "got dict"),
    (lambda: RR.estimate(counts=[0.4, 0.3, 0.3]), ValueError, "got shares that sum to 1"),
    (lambda: RR.estimate([0], classes=loose.uniform), TypeError, "`classes` must be True or F"),
    (lambda: JOINT.estimate([[0, 1], [1, 1]]), ValueError, "one joint code a record"),
    (lambda: JOINT.estimate(counts=np.ones((2, 3))), ValueError, "of shape (6,) or (3, 2)"),
    (lambda: RR.required_records(1e-200), ValueError, "less than 2^63 records"),
    (lambda: loose.conjunction(RR, [[0]], [[0]]), TypeError, "`matrices` must be a sequence"),
    (lambda: loose.conjunction([RR], [[0]], 5), TypeError, "`events` must be a sequence"),
    (lambda: RR.estimate(counts=[1, 2]), ValueError, "`counts` must hold 3"),
    (lambda: RR.estimate(counts=[1, -2, 3]), ValueError, "a negative number at position 1"),
    (lambda: RR.estimate(counts=[1, math.nan, 3]), ValueError, "NaN at position 1"),
    (lambda: loose.uniform(2).estimate(counts="ab"), TypeError, "`counts` must hold 2"),
    (lambda: loose.identity(2).estimate(counts=[1, 2], method="best"), ValueError, "one of inv"),
    (lambda: loose.identity(2).estimate(counts=[1, 2], population="all"), ValueError, "one of"),
    (lambda: RR.estimate(counts=[1, 2, 3]).interval(1.0), ValueError, "between 0 and 1; got 1"),
    (lambda: RR.estimate(counts=[1, 2, 3]).interval(math.nan), ValueError, "got nan"),
    (lambda: RR.estimate(counts=[1, 2, 3]).contains([1, 0]), ValueError, "`pi` must hold 3"),
    (lambda: RR.required_records(0), ValueError, "`tolerance` must be"),
    (lambda: RR.standard_error([1, 0, 0], 0), ValueError, "`n` must be a whole number"),
    (lambda: loose.conjunction([RR], [[0]], []), ValueError, "got 1, 1 and 0"),
    (lambda: loose.conjunction([RR], [[5]], [[0]]), ValueError, "one outside at position 0"),
    (lambda: loose.conjunction([RR], [[0]], [[5]]), ValueError, "`events` must hold whole"),
    (lambda: loose.conjunction([RR, RR], [[0], [0, 1]], [[0], [0]]), ValueError, "one length"),
    (lambda: loose.conjunction([3], [[0]], [[0]]), TypeError, "`matrices` must hold matrices"),
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


def test_the_covariance_is_that_of_randomized_response_designs() -> None:
    """van den Hout and van der Heijden (2002), which RRreg uses, with columns for truths.

    ``M^-1 (diag(l) - l l^T) M^-T / (n - 1)`` where ``M[i, j]`` is the chance of i in the truth j.
    """
    for m in SMALL:
        counts = np.array([520, 290, 190])
        n, share = counts.sum(), counts / counts.sum()
        undo = np.linalg.inv(m.to_dense().T)
        want = undo @ (np.diag(share) - np.outer(share, share)) @ undo.T / (n - 1)
        e = m.estimate(counts=counts)
        np.testing.assert_allclose(e.covariance, want, atol=1e-14)
        np.testing.assert_allclose(e.frequencies, undo @ share, atol=1e-12)


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


def plain_em(m: bs.Matrix, reports: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """The textbook: every step written out."""
    dense = m.to_dense()
    pi = np.full(m.size, 1 / m.size)
    for _ in range(steps):
        expected = np.maximum(pi @ dense, 1e-300)
        pi = pi * (dense @ np.where(reports > 0, reports / expected, 0.0))
    return pi


@pytest.mark.parametrize(
    "m",
    [
        bs.geometric(6, temperature=0.8),
        bs.tridiagonal([0.2, 0.1, 0.3, 0.05]),
        bs.dense([[5, 2, 1], [1, 5, 2], [2, 1, 5]]),
        bs.kron(bs.randomized_response(2, epsilon=1), bs.circulant([5, 2, 1])),
        bs.randomized_response(4, keep=Fraction(1, 10)),
    ],
    ids=repr,
)
def test_maximum_likelihood_is_where_plain_em_ends(m: bs.Matrix) -> None:
    rng = np.random.default_rng(m.size)
    for _ in range(5):
        counts = rng.multinomial(40, rng.dirichlet(np.full(m.size, 0.4)))
        e = m.estimate(counts=counts, method="mle")
        reports = counts / counts.sum()
        other = plain_em(m, reports, 20_000)
        ahead = likelihood(m, e.frequencies, reports) - likelihood(m, other, reports)
        # Not below where EM is after so long, and not above what the gap of EM allows.
        slope = m.to_dense() @ np.where(
            reports > 0, reports / np.maximum(other @ m.to_dense(), 1e-300), 0.0
        )
        assert -1e-10 <= ahead <= slope.max() - 1 + 1e-12
        if (counts > 0).all():
            # Then the maximum is one point; EM comes close slowly where a share is 0.
            np.testing.assert_allclose(e.frequencies, other, atol=2e-3)


def slope_of(m: bs.Matrix, pi: NDArray[np.float64], counts: NDArray[Any]) -> float:
    """The gap, by the operators alone."""
    reports = counts.reshape(-1) / counts.sum()
    expected = m.apply(pi)
    ratio = np.where(reports > 0, reports / np.maximum(expected, 1e-300), 0.0)
    from bistochastic import operators

    return float(operators.forth(m, ratio[None, :], back=True)[0].max()) - 1


@pytest.mark.parametrize(
    "m",
    [
        bs.geometric(3000, temperature=1.5),
        bs.tridiagonal(0.2, size=3000),
        bs.circulant([6, 2, 1, *[0] * 2494, 1, 2]),
    ],
    ids=repr,
)
def test_likelihood_beyond_dense_sizes_reaches_the_gap(m: bs.Matrix) -> None:
    """Newton's equations by conjugate gradients, none of the matrices written down."""
    rng = np.random.default_rng(9)
    x = np.arange(m.size) / m.size
    law = m.apply(np.exp(-(((x - 0.3) / 0.1) ** 2)))
    counts = rng.multinomial(20_000, np.maximum(law, 0) / np.maximum(law, 0).sum())
    e = m.estimate(counts=counts, method="mle")
    assert e.gap <= 1e-10
    assert e.steps > 20
    assert (e.frequencies >= 0).all()
    assert math.fsum(e.frequencies) == pytest.approx(1)
    assert slope_of(m, e.frequencies, counts) == pytest.approx(e.gap, abs=1e-11)


def test_joint_likelihood_of_thousands_of_cells() -> None:
    factors = [
        bs.randomized_response(9, epsilon=2),
        bs.geometric(16, temperature=0.7),
        bs.dense(np.roll(np.eye(7), 1, axis=1) * 0.5 + 0.5 / 7),
        bs.randomized_response(5, epsilon=1.5),
    ]
    m = bs.kron(bs.kron(*factors[:2]), *factors[2:])
    sizes = [factor.size for factor in factors]
    rng = np.random.default_rng(10)
    truth = rng.dirichlet(np.full(m.size, 0.05))
    counts = rng.multinomial(3000, m.apply(truth) / m.apply(truth).sum())
    e = m.estimate(counts=counts, method="mle")
    assert m.size > 2048
    assert e.gap <= 1e-6
    assert slope_of(m, e.frequencies, counts) == pytest.approx(e.gap, abs=1e-10)
    # The same numbers from the plain products, axis by axis.
    table = e.frequencies.reshape(sizes)
    for axis, factor in enumerate(factors):
        table = np.moveaxis(np.tensordot(table, factor.to_dense(), axes=(axis, 0)), -1, axis)
    np.testing.assert_allclose(m.apply(e.frequencies), table.reshape(-1), atol=1e-15)


class Labelled:
    """Counts with labels, as a data frame's column has them."""

    def __init__(self, index: list[int], values: list[int]) -> None:
        self.index, self.values = np.array(index), np.array(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return self.values


def test_labels_in_another_order_are_refused() -> None:
    given: Any = Labelled([1, 0, 2], [6, 3, 1])
    with pytest.raises(ValueError, match="in the order of the codes"):
        RR.estimate(counts=given)
    given = Labelled([0, 1, 2], [3, 6, 1])
    assert (RR.estimate(counts=given).counts == RR.estimate(counts=[3, 6, 1]).counts).all()


def test_an_estimate_cannot_be_changed() -> None:
    e = RR.estimate(counts=[3, 2, 1])
    with pytest.raises(ValueError, match="read-only"):
        e.frequencies[0] = 9


def test_a_kron_of_krons_takes_the_table_of_all_axes() -> None:
    two = bs.randomized_response(2, epsilon=1)
    m = bs.kron(bs.kron(RR, two), two)
    table = np.arange(12.0)
    want = m.estimate(counts=table).counts
    for shape in ((3, 2, 2), (6, 2)):
        assert (m.estimate(counts=table.reshape(shape)).counts == want).all()


def test_what_is_never_changed_is_known_in_a_fixed_population() -> None:
    for m in (bs.identity(3), bs.randomized_response(3, keep=1), bs.permutation([1, 2, 0])):
        e = m.estimate(counts=[5, 3, 2], population="fixed")
        assert (np.ptp(e.interval(), axis=1) == 0).all()


def test_a_column_that_is_not_aligned_is_counted() -> None:
    raw = np.zeros(13, np.uint8)
    column = raw[1:].view(np.int32)
    assert not column.flags.aligned
    assert RR.estimate(column).records == 3


@pytest.mark.parametrize("size", [8, 400, 900, 2100])
def test_hostile_tables_get_shares_and_an_honest_gap(size: int) -> None:
    """Counts over fifteen decades: what cannot be certified in doubles is not claimed."""
    row = np.zeros(size, int)
    row[[0, 1, 7]] = 3, 1, 1
    for m in (
        bs.circulant(row),
        bs.tridiagonal(0.4999, size=size),
        bs.permutation(np.argsort(-row)),
    ):
        for seed in range(3 if size < 500 else 1):
            counts = 10.0 ** np.random.default_rng(seed).uniform(0, 15, size)
            e = m.estimate(counts=counts, method="mle")
            assert (e.frequencies >= 0).all()
            assert math.fsum(e.frequencies) == pytest.approx(1)
            assert e.gap >= 0
            reports = counts / counts.sum()
            expected = m.to_dense().T @ e.frequencies
            with np.errstate(divide="ignore"):
                slope = (m.to_dense() @ (reports / expected)).max() - 1
            assert slope <= e.gap * (1 + 1e-6) + 1e-6


def test_a_kernel_without_a_structure_does_not_hang_beyond_dense_sizes() -> None:
    size = 2049
    band = np.roll(np.eye(size, dtype=int), 1, axis=1)
    m = bs.dense(6 * np.eye(size, dtype=int) + 2 * band + 2 * band.T)
    counts = np.random.default_rng(11).multinomial(4000, np.full(size, 1 / size))
    from bistochastic import _core

    # The singular values of so large a table take long, and are known here: 10 and 2.
    _core.keep_condition(m, 5.0)
    e = m.estimate(counts=counts, method="mle")
    assert e.gap <= 1e-10


@pytest.mark.parametrize("far", [1.0, 1e6, 5e11])
def test_the_nearest_distribution_is_one_however_far(far: float) -> None:
    found = project(np.array([far + 0.25, far, -far, far / 3, 0.0]))
    np.testing.assert_allclose(found, [0.625, 0.375, 0, 0, 0], atol=1e-4 * far / 5e11)
    assert abs(found.sum() - 1) < 1e-15
    assert (found >= 0).all()


def test_counts_next_to_none_have_bounds_without_a_word() -> None:
    bounds = bs.identity(2).estimate(counts=[5.2e-9, 99.9999999948]).interval(0.5)
    assert bounds[1, 1] == 1
    assert ((bounds[:, 0] <= bounds[:, 1]) & (bounds >= 0).all() & (bounds <= 1).all()).all()


@pytest.mark.parametrize("dtype", [complex, [("a", "f8"), ("b", "i4")], "M8[s]", "U3"])
def test_empty_codes_of_another_kind_are_refused_as_full_ones_are(dtype: Any) -> None:
    with pytest.raises(TypeError, match=r"^`codes` must be an array of whole numbers; got dtype "):
        bs.uniform(3).estimate(codes=np.zeros(0, dtype=dtype), method="simplex")
