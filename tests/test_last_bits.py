"""The last bit, the last word and the last case: where a fault would show least.

Reported numbers against 50 digits, intervals at their very ends, and draws that one wrong unit
would change.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

import bistochastic as bs
from bistochastic.estimate import intervals

mp.dps = 50
KEY = bs.Key.from_bytes(bytes(range(32)))
# A tie looks this far off with 50 digits.
TIE = mpf(10) ** -45


def is_just_below(found: float | None, true: mpf) -> bool:
    """Not above the truth, and near it."""
    if found is None:
        return False
    return bool(-TIE <= true - mpf(found) <= mpf(10) ** -12 * (1 + true))


def test_the_epsilon_of_a_kron_is_never_below_the_truth() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        rows = [[int(n) for n in rng.integers(1, 1000, 2)] for _ in range(rng.integers(2, 5))]
        m = bs.kron(*map(bs.circulant, rows))
        true = mp.fsum(mp.log(mpf(max(row)) / min(row)) for row in rows)
        assert 0 <= mpf(m.epsilon) - true <= mpf(10) ** -12 * true


def test_joint_entropy_of_shuffles_is_never_above_the_truth() -> None:
    orders = {n: mp.log(mp.factorial(n), 2) for n in (*range(3, 40), 256, 257, 300)}
    for n, true in orders.items():
        assert is_just_below(bs.uniform(n).joint_entropy, true)


@pytest.mark.parametrize("inner", [0.3, 0.1, 1 / 3, 0.49, 1e-17])
def test_a_kernel_that_never_stays_keeps_its_zero(inner: float) -> None:
    """The unit that an odd remainder leaves goes to an end that is there."""
    m = bs.reflected([0, inner, 1 - 2 * inner])
    kernel = m.parameters["kernel"]
    assert kernel[0] == 0
    assert kernel[1] > 0
    assert 2 * kernel[1] + kernel[2] == m.parameters["total"] == 2**53


def test_permutations_of_an_odd_total_have_their_chance() -> None:
    """Thirds by real words. Six standard errors: a false alarm below 1e-8."""
    m, n = bs.dense([[1, 2], [2, 1]]), 3000
    stayed = sum(int(m.sample_permutation(key=KEY, stream=f"{i}")[0]) == 0 for i in range(n))
    assert abs(stayed / n - 1 / 3) < 6 * math.sqrt(2 / 9 / n)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 19])
def test_bounds_of_few_records_hold_at_their_very_ends(n: int) -> None:
    """Binomial, exact: a truth just beyond an end is missed most often. No tolerance."""
    counts = np.arange(n + 1)
    ways = np.array([math.comb(n, k) for k in counts], dtype=float)
    share = counts / n
    spread, ends = share * (1 - share), (np.zeros(1), np.ones(1))
    for alpha in (0.95, 0.9, 0.8, 0.5, 0.2, 0.05, 0.01):
        low, high = intervals.mean_bounds(share, spread, ends, n, alpha, fixed=False)
        edges = np.concatenate([low - 1e-12, high + 1e-12, [0.5]])
        for p in edges[(edges >= 0) & (edges <= 1)]:
            chance = ways * p**counts * (1 - p) ** (n - counts)
            assert chance[(p < low) | (p > high)].sum() <= alpha, (alpha, p)


@pytest.mark.parametrize("alpha", [0.5, 0.05, 1e-4])
@pytest.mark.parametrize("ends", [(0.0, 1.0), (-0.5, 1.5)])
def test_few_of_many_have_the_three_events_of_bernstein(
    alpha: float, ends: tuple[float, float]
) -> None:
    """A deviation below, one above, and a variance that looks too small: a third of alpha each."""
    n, share, spread = 20_000, 0.0001, 0.0001
    wide, log = ends[1] - ends[0], math.log(1 / (alpha / 3))
    deviation = math.sqrt(spread * n / (n - 1)) + wide * math.sqrt(2 * log / (n - 1))
    want = deviation * math.sqrt(2 * log / n) + wide * log / (3 * n)
    arrays = [np.array([x]) for x in (share, spread, *ends)]
    low, high = intervals.mean_bounds(
        arrays[0], arrays[1], (arrays[2], arrays[3]), n, alpha, fixed=False
    )
    assert share - low[0] == pytest.approx(want, rel=1e-12)
    assert high[0] - share == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_half_of_what_a_region_may_miss_goes_to_the_rare(confidence: float) -> None:
    """The others, with the rare among them, have the region of the other half."""
    expected = np.array([0.01, 30.0, 40.0, 29.99])
    joined = np.array([40.0, 30.0, 30.0])
    decided = set()
    for moved in np.linspace(0, 40, 100):
        reported = expected + np.array([0.0, moved, -moved, 0.0])
        reported[0], reported[3] = 0, 30
        halved = intervals.region(joined, reported[[2, 1, 3]], (1 + confidence) / 2)
        whole = intervals.region(joined, reported[[2, 1, 3]], confidence)
        assert intervals.region(expected, reported, confidence) == halved
        decided.add((whole, halved))
    assert decided == {(True, True), (False, True), (False, False)}


def test_standard_errors_of_many_categories_are_exact() -> None:
    """Beyond 10,000 categories, too; never understated by more than rounding."""
    m, alpha = bs.tridiagonal(0.2, size=10_001), mpf(bs.tridiagonal(0.2, size=2)[0, 1])
    counts = np.random.default_rng(5).integers(0, 20, m.size)
    n = int(counts.sum())
    shares = [mpf(int(count)) / n for count in counts]
    found = m.estimate(counts=counts).standard_errors
    for code in (0, 1, 5000, 10_000):
        # Elimination for row `code` of the inverse, which is symmetric.
        g, above = [mpf(code == v) for v in range(m.size)], [mpf(0)] * m.size
        for v in range(m.size):
            left = alpha * (1 - above[v - 1]) if v else mpf(0)
            pivot = 1 - left - (alpha if v < m.size - 1 else 0)
            above[v] = -alpha / pivot
            g[v] = (g[v] - (alpha * g[v - 1] if v else 0)) / pivot
        for v in range(m.size - 2, -1, -1):
            g[v] += above[v] * g[v + 1]
        square = mp.fsum(p * x * x for p, x in zip(shares, g, strict=True))
        true = mp.sqrt((square - mp.fdot(shares, g) ** 2) / (n - 1))
        assert abs(mpf(float(found[code])) / true - 1) < 1e-13
