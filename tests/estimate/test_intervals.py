"""Intervals: exact coverage by enumeration, simulated where that takes too long, and their ends.

Exact coverage sums the probabilities of all counts of n records: it has no error of its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bistochastic as bs
from bistochastic.estimate import intervals, quantiles
from reports import all_counts, chances

Array = NDArray[np.float64]

MATRICES = {
    "response": bs.randomized_response(3, epsilon=1),
    "rather a lie": bs.randomized_response(3, keep=0.1),
    "identity": bs.identity(3),
    "permutation": bs.permutation([1, 2, 0]),
    "circulant": bs.circulant([5, 2, 1]),
    "tridiagonal": bs.tridiagonal([0.2, 0.1]),
    "nearly the identity": bs.tridiagonal([0.01, 0.002]),
    "warm": bs.geometric(3, temperature=4),
    "gibbs": bs.gibbs([[0, 1, 3], [1, 0, 1], [2, 1, 0]], temperature=0.8),
    "dense": bs.dense([[5, 2, 1], [1, 5, 2], [2, 1, 5]]),
    "t": bs.t_transform(3, 0, 2, keep=0.8),
    "mix": bs.mix([bs.permutation([1, 2, 0]), bs.tridiagonal([0.1, 0.2])], weights=[0.3, 0.7]),
    "product": bs.tridiagonal([0.2, 0.1]) @ bs.circulant([6, 1, 1]),
    "kron": bs.kron(bs.randomized_response(2, keep=0.9), bs.tridiagonal([0.2])),
}
every_matrix = pytest.mark.parametrize("m", MATRICES.values(), ids=MATRICES)
ALPHAS = (0.2, 0.1, 0.05, 0.01, 0.001)


def truths(r: int) -> list[Array]:
    rare = np.full(r, 0.002)
    rare[-1] = 1 - 0.002 * (r - 1)
    half = np.zeros(r)
    half[:2] = 0.7, 0.3
    return [np.full(r, 1 / r), np.eye(r)[0], np.eye(r)[1], half, rare]


def bounds(m: bs.Matrix, counts: NDArray[np.int64], alpha: float, *, fixed: bool) -> Array:
    """`interval` of many surveys at once, of shape (surveys, r, 2); see the first test."""
    n = int(counts[0].sum())
    inverse = np.linalg.inv(m.to_dense().T)
    shares = counts @ inverse.T / n
    if m.family in ("identity", "permutation") and fixed:
        low = high = shares
    elif m.family in ("identity", "permutation", "randomized_response"):
        own, other = (inverse.max(), inverse.min())
        if inverse[0, 0] == inverse.min():
            own, other = other, own
        seen = np.rint((shares - other) / (own - other) * n)
        pair = np.stack(quantiles.clopper_pearson(seen.ravel(), n, alpha))
        ends = ((own - other) * pair + other).reshape(2, *seen.shape)
        low, high = ends.min(axis=0), ends.max(axis=0)
    else:
        spread = np.maximum(counts @ inverse.T**2 / n - shares**2, 0)
        ends_of = intervals.extremes(m)
        low, high = intervals.mean_bounds(shares, spread, ends_of, n, alpha, fixed=fixed)
    return np.clip(np.stack([low, high], axis=2), 0, 1)


@every_matrix
def test_many_surveys_at_once_are_those_one_by_one(m: bs.Matrix) -> None:
    rng = np.random.default_rng(1)
    for n in (1, 2, 40, 900):
        counts = rng.multinomial(n, np.full(m.size, 1 / m.size), size=3)
        for population in ("sampled", "fixed"):
            many = bounds(m, counts, 0.1, fixed=population == "fixed")
            for k, row in enumerate(counts):
                one = m.estimate(counts=row, population=population).interval(0.9)
                np.testing.assert_allclose(many[k], one, atol=1e-9)
        joint = m.estimate(counts=counts[0]).interval(0.9, simultaneous=True)
        many = bounds(m, counts[:1], 0.1 / m.size, fixed=False)[0]
        np.testing.assert_allclose(joint, many, atol=1e-9)


def misses(found: Array, truth: Array) -> NDArray[np.bool_]:
    return np.asarray((found[:, :, 0] > truth + 1e-9) | (found[:, :, 1] < truth - 1e-9))


@every_matrix
def test_a_sample_is_covered_by_enumerating_everything(m: bs.Matrix) -> None:
    """No share is missed more often than asked for, whatever the truth; no tolerance."""
    r = m.size
    for n in (1, 2, 7, 25, 60) if r == 3 else (1, 7, 15):
        counts = all_counts(n, r)
        found = {alpha: bounds(m, counts, alpha, fixed=False) for alpha in (*ALPHAS, 0.1 / r)}
        for pi in truths(r):
            chance = chances(counts, m.apply(pi))
            assert chance.sum() == pytest.approx(1, abs=1e-9)
            for alpha in ALPHAS:
                missed = chance @ misses(found[alpha], pi)
                assert missed.max() <= alpha, (n, pi, alpha)
            together = misses(found[0.1 / r], pi).any(axis=1)
            assert chance @ together <= 0.1


@every_matrix
def test_many_records_are_covered(m: bs.Matrix) -> None:
    """Simulated, a sample and a fixed population: five standard errors, 3e-7 a comparison."""
    rng = np.random.default_rng(2)
    dense, r, runs = m.to_dense(), m.size, 2000
    for n in (30, 300, 100_000):
        for pi in truths(r):
            held = np.floor(pi * n + 1e-9).astype(int)
            held[np.argmax(pi)] += n - held.sum()
            reports = np.maximum(m.apply(pi), 0)
            drawn = {
                False: rng.multinomial(n, reports / reports.sum(), size=runs),
                True: sum(rng.multinomial(held[u], dense[u], size=runs) for u in range(r)),
            }
            for fixed, truth in ((False, pi), (True, held / n)):
                counts = np.asarray(drawn[fixed])
                for alpha in (0.2, 0.05, 0.01):
                    missed = misses(bounds(m, counts, alpha, fixed=fixed), truth).mean(axis=0)
                    allowed = alpha + 5 * math.sqrt(alpha * (1 - alpha) / runs)
                    assert missed.max() <= allowed, (n, pi, alpha, fixed)


@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.01, 1e-4, 1e-6, 1e-10])
def test_the_worst_skewness_is_covered_wherever_the_rule_changes(alpha: float) -> None:
    """A rare 1 among 0 is as skewed as a range allows: exact, down to few expected."""
    n = 4000
    counts = np.stack([np.arange(400), n - np.arange(400)], axis=1)
    share = counts[:, :1] / n
    ends = (np.zeros(1), np.ones(1))
    low, high = intervals.mean_bounds(share, share * (1 - share), ends, n, alpha, fixed=False)
    found = np.clip(np.stack([low, high], axis=2), 0, 1)
    for expected in np.geomspace(0.3, 200, 120):
        law = np.array([expected / n, 1 - expected / n])
        missed = chances(counts, law) @ misses(found, law[:1])
        # Counts from 400 on are left out; they have less than 1e-30 up to an expected 200.
        assert missed[0] <= alpha, expected


@pytest.mark.parametrize("name", ["response", "nearly the identity", "dense", "kron"])
def test_the_region_covers_by_enumerating_everything(name: str) -> None:
    m = MATRICES[name]
    for n in (1, 3, 10) if m.size == 3 else (1, 4):
        counts = all_counts(n, m.size)
        for pi in truths(m.size):
            law = m.apply(pi)
            chance = chances(counts, law)
            possible = law > 1e-15
            likely = chance > 1e-8
            for confidence in (0.8, 0.95, 0.99):
                inside = [
                    intervals.region(n * law[possible], row[possible], confidence)
                    for row in counts[likely]
                ]
                assert chance[likely] @ inside >= confidence - 1e-5, (n, pi, confidence)


def test_the_region_is_the_chi_square_one_of_many_records() -> None:
    """Not only wide: of many records it is missed about as often as asked for."""
    m, pi, runs = MATRICES["dense"], np.array([0.5, 0.3, 0.2]), 2000
    rng = np.random.default_rng(3)
    drawn = rng.multinomial(10**6, m.apply(pi), size=runs)
    outside = sum(not m.estimate(counts=row).contains(pi, 0.9) for row in drawn)
    # Five standard errors: a false alarm below 1e-6.
    assert abs(outside / runs - 0.1) < 5 * math.sqrt(0.09 / runs)
    e = m.estimate(counts=[5, 0, 3])
    assert not MATRICES["nearly the identity"].estimate(counts=[9, 0, 9]).contains([0, 1, 0])
    assert e.contains(np.full(3, 1 / 3), 0.999)
    assert not bs.identity(2).estimate(counts=[1, 1]).contains([1, 0])


def test_intervals_come_close_to_normal_ones() -> None:
    """What is paid for skewness goes with the number of records."""
    m = MATRICES["tridiagonal"]
    z = quantiles.normal(0.975)
    wider = []
    for n in (100, 10_000, 10**6):
        e = m.estimate(counts=[0.5 * n, 0.3 * n, 0.2 * n])
        wider.append(np.ptp(e.interval(), axis=1) / (2 * z * e.standard_errors))
    assert (wider[0] < 1.4).all()
    assert (wider[1] < 1.04).all()
    assert (wider[2] < 1.004).all()


def test_quantiles_are_those_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")

    for p in (0.01, 0.5, 0.9, 0.975, 0.99999):
        assert quantiles.normal(p) == pytest.approx(stats.norm.ppf(p), rel=1e-9)
        for degrees in (1, 2, 7, 50, 1000):
            want = stats.chi2.ppf(p, degrees)
            assert quantiles.chi_square(p, degrees) == pytest.approx(want, rel=1e-8)
    for n in (1, 10, 1000, 10**6, 10**9):
        counts = np.unique(np.array([0, 1, 2, n // 3, n // 2, n - 1, n]).clip(0, n)).astype(float)
        for alpha in (0.1, 0.05, 1e-6):
            low, high = quantiles.clopper_pearson(counts, n, alpha)
            for k, a, b in zip(counts, low, high, strict=True):
                want_low = 0 if k == 0 else stats.beta.ppf(alpha / 2, k, n - k + 1)
                want_high = 1 if k == n else stats.beta.ppf(1 - alpha / 2, k + 1, n - k)
                assert a == pytest.approx(want_low, rel=1e-7, abs=1e-12)
                assert b == pytest.approx(want_high, rel=1e-7, abs=1e-12)


def test_one_record_tells_nothing_of_its_error() -> None:
    e = bs.tridiagonal([0.2, 0.1]).estimate([1])
    assert np.isinf(e.standard_errors).all()
    assert np.isinf(np.diag(e.covariance)).all()
    assert e.interval().tolist() == [[0, 1]] * 3
    alone = bs.identity(1).estimate([0])
    assert alone.standard_errors.tolist() == [0]
    assert alone.interval().tolist() == [[1, 1]]


def test_classes_of_a_fixed_population_are_known() -> None:
    blocks = bs.blocks([1, 2])
    known: Any = blocks.estimate(counts=[3, 2, 5], classes=True, population="fixed")
    assert known.standard_errors.tolist() == [0, 0]
    sampled: Any = blocks.estimate(counts=[3, 2, 5], classes=True)
    np.testing.assert_allclose(sampled.standard_errors, math.sqrt(0.21 / 9))


def test_counts_beyond_what_doubles_hold() -> None:
    huge = np.array([2**62, 2**61, 2**60], dtype=np.uint64)
    for m in (MATRICES["response"], MATRICES["tridiagonal"]):
        found = m.estimate(counts=huge)
        assert np.ptp(found.interval(), axis=1).max() < 1e-8
        assert found.records == 2**62 + 2**61 + 2**60


def test_intervals_cover_where_standard_errors_alone_do_not() -> None:
    # Every report of 20 records: a share of 5 %, kept in 19 of 20 cases.
    n, share, m = 20, 0.05, bs.randomized_response(2, keep=0.95)
    told = m.apply([share, 1 - share])[0]
    by_errors = by_interval = 0.0
    for k in range(n + 1):
        found = m.estimate(counts=[k, n - k])
        chance = math.comb(n, k) * told**k * (1 - told) ** (n - k)
        low, high = found.interval()[0]
        by_interval += chance * bool(low <= share <= high)
        away = abs(found.frequencies[0] - share)
        by_errors += chance * bool(away <= 1.96 * found.standard_errors[0])
    assert round(by_errors, 2) == 0.86
    assert round(by_interval, 2) == 0.99
