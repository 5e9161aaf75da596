"""Every measure of a profile against its definition, in plain NumPy, fractions or 50 digits."""

from __future__ import annotations

import functools
import math
import zlib
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

import bistochastic as bs
import reference
from bistochastic import measures
from bistochastic.measures.bits import guaranteed_max_leakage
from bistochastic.measures.costs import ordinal_cost, ordinal_epsilon
from cases import of_every_family

RNG = np.random.default_rng(30)


def exact(matrix: bs.Matrix) -> list[list[Fraction]]:
    return [matrix.exact_row(u) for u in range(matrix.size)]


@functools.cache
def term(p: Fraction) -> Any:
    """What an entry adds to an entropy; most matrices have few different ones."""
    with mpmath.workdps(50):
        x = mpmath.mpf(p.numerator) / p.denominator
        return -x * mpmath.log(x, 2)


def bits(line: Any) -> Any:
    """50-digit entropy of a line of fractions."""
    with mpmath.workdps(50):
        return sum((term(p) for p in line if p), mpmath.mpf(0))


def ordinal(size: int) -> NDArray[np.float64]:
    return np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)


@of_every_family(some=40, largest=30)
def test_lines_and_guesses_are_those_of_the_fractions(name: str, m: bs.Matrix) -> None:
    p = m.profile()
    rows = exact(m)
    columns = list(zip(*rows, strict=True))
    with mpmath.workdps(50):
        most = mpmath.log(m.size, 2) if m.size > 1 else mpmath.mpf(1)
        left = [[bits(line) for line in lines] for lines in (rows, columns)]
        for lines, entry in zip(left, (p["worst_row"], p["worst_column"]), strict=True):
            worst = min(lines) / most if m.size > 1 else mpmath.mpf(1)
            assert entry.value is not None
            assert entry.status == "exact"
            assert entry.value <= worst * (1 + mpmath.mpf(10) ** -45)
            assert worst - entry.value <= 2e-12
        peaks = sum(max(column) for column in columns)
        guess = Fraction(peaks, m.size)
        assert p.guessing_probability is not None
        assert guess <= p.guessing_probability <= guess * (1 + Fraction(1, 10**12))
        leakage = mpmath.log(mpmath.mpf(peaks.numerator) / peaks.denominator, 2)
        assert p.max_leakage is not None
        assert p.max_leakage >= leakage - mpmath.mpf(10) ** -45
        assert p.max_leakage - leakage <= 1e-11
        told = most - sum(left[0]) / m.size if m.size > 1 else mpmath.mpf(0)
        assert p.mutual_information is not None
        assert -1e-45 <= p.mutual_information - told <= 2e-12
    # Fano: what beta alone allows is never exceeded.
    assert p.guaranteed_max_leakage is not None
    assert leakage <= p.guaranteed_max_leakage


GAMMAS = [1, 1.25, 2, 3.7, 100.0, 1e15, math.inf]


@of_every_family(some=40, largest=25)
def test_deniability_is_counted_in_fractions(name: str, m: bs.Matrix) -> None:
    gamma = GAMMAS[zlib.crc32(repr(m).encode()) % len(GAMMAS)]
    exact_gamma = Fraction(gamma) if math.isfinite(gamma) else 2**4000
    want = reference.deniability(exact(m), exact_gamma)
    total_is_small = m.family not in ("product", "mix", "kron")
    if total_is_small:
        assert m.deniability(gamma) == want
    else:
        # A composite without a common total is looked at in doubles.
        assert abs(m.deniability(gamma) - want) <= (0 if gamma > 1.01 or want == 1 else want)
    p = m.profile()
    if math.isfinite(m.epsilon):
        assert p.deniability_epsilon == m.size
    assert p.deniability_1 is not None
    assert p.deniability_2 is not None
    assert 1 <= p.deniability_1 <= p.deniability_2 <= m.size


@of_every_family(some=30, smallest=2, largest=30)
def test_the_widest_ratio_is_where_it_is_said_to_be(name: str, m: bs.Matrix) -> None:
    found = measures.lines(m, [])
    assert found is not None
    if m.epsilon == 0:
        return
    assert found.witness is not None
    u, w, v = found.witness
    if math.isinf(m.epsilon):
        assert m[u, v] > 0 == m[w, v]
        note = m.profile()["epsilon"].note
        assert f"{v} is reported for true {u}, never for true {w}" in note
    else:
        assert math.log(m[u, v] / m[w, v]) == pytest.approx(m.epsilon, rel=1e-9, abs=1e-12)


@of_every_family(some=12, largest=12)
def test_capacity_brackets_the_textbook(name: str, m: bs.Matrix) -> None:
    low, high = reference.capacity(m.to_dense(), 3000)
    entry = m.profile()["capacity"]
    assert entry.value is not None
    # Not below the truth, and as close as is said.
    assert entry.value >= low - 1e-12
    if entry.status == "exact":
        assert entry.value <= high + 2e-7
    assert entry.value >= (1 - m.beta) * m.max_bits - 1e-11


@of_every_family(some=25, largest=20)
def test_an_attacker_with_a_prior(name: str, m: bs.Matrix) -> None:
    prior = RNG.dirichlet(np.full(m.size, 0.5))
    cost = RNG.random((m.size, m.size))
    dense = m.to_dense()
    p = m.profile(prior=prior, cost=cost)
    left = reference.remaining_uncertainty(dense, prior)
    assert p.remaining_uncertainty is not None
    assert -1e-13 <= left - p.remaining_uncertainty <= 1e-11
    assert p.effective_alternatives == pytest.approx(2**left, rel=1e-10)
    assert p.best_guess == pytest.approx(reference.best_guess(dense, prior), rel=1e-12)
    assert p.expected_cost == pytest.approx(reference.expected_cost(dense, cost, prior), abs=1e-12)
    want = reference.metric_epsilon(dense, cost) if m.size <= 8 else None
    if want is not None:
        assert p.metric_epsilon == pytest.approx(want, rel=1e-9)
    v = int(RNG.integers(m.size))
    joint = prior * dense[:, v]
    np.testing.assert_allclose(m.posterior(v, prior), joint / joint.sum(), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(m.posterior(v), dense[:, v], rtol=1e-13)


def test_ordinal_costs_of_every_structure() -> None:
    rng = np.random.default_rng(1)
    row, kernel = rng.random(40), rng.random(41)
    for m in (
        bs.identity(40),
        bs.uniform(40),
        bs.randomized_response(40, epsilon=2),
        bs.k_anonymous(40, k=7),
        bs.blocks([1, 2, 37]),
        bs.tridiagonal(0.3, size=40),
        bs.tridiagonal(rng.random(39) / 2),
        bs.t_transform(40, 3, 17, keep=0.3),
        bs.permutation(rng.permutation(40)),
        bs.circulant(row / row.sum()),
        bs.reflected(kernel / (2 * kernel.sum() - kernel[0] - kernel[-1])),
        bs.geometric(40, temperature=5),
    ):
        want = reference.expected_cost(m.to_dense(), ordinal(40), np.full(40, 1 / 40))
        assert ordinal_cost(m) == pytest.approx(want, abs=1e-12)
        assert m.profile(cost="ordinal").expected_cost == pytest.approx(want, abs=1e-12)
        exact_metric = reference.metric_epsilon(m.to_dense(), ordinal(40))
        assert m.profile(cost="ordinal").metric_epsilon == pytest.approx(exact_metric, rel=1e-9)
        found = ordinal_epsilon(m)
        if found is not None:
            assert found[0] >= exact_metric * (1 - 1e-12)
            assert not found[1] or found[0] == pytest.approx(exact_metric)


# Facts: the fourteen matrices of the paper's Table 1 and what is known of them, to ten digits.
KNOWN = {
    "dp 5": (0.1676178657, 0.1676178657, 2.9840587376, 0.9309969135, 3.4818107908, 1.0814038589),
    "dp 3": (0.6029721880, 0.6029721880, 1.4233298177, 0.6461376869, 2.9548760305, 1.6287483579),
    "dp 1": (0.9741126779, 0.9741126779, 0.0928050789, 0.1981503123, 1.2496296469, 7.9837204824),
    "k 2": (0.2789429457, 0.2789429457, 2.5849625007, 0.5, 2.5849625007, math.inf),
    "k 4": (0.5578858913, 0.5578858913, 1.5849625007, 0.25, 1.5849625007, math.inf),
    "a 0.1": (0.2361082841, 0.1308230124, 2.7529034737, 0.8166666667, 3.2927817492, 1.6479491646),
    "a 0.2": (0.3522436225, 0.2013767493, 2.3777752867, 0.6333333333, 2.9259994186, 4.6809977398),
    "a 0.3": (0.4061429685, 0.2458298794, 2.2307020625, 0.45, 2.4329594073, 41.2132034356),
    "a 0.4": (0.3989158914, 0.2708398189, 2.2450212495, 0.4333333333, 2.3785116233, 141.7387013525),
    "c 0.9": (0.2273214170, 0.2273214170, 2.7700237453, 0.9, 3.4329594073, 1.1224489796),
    "c 0.2": (0.9733639861, 0.9733639861, 0.0954891109, 0.2, 1.2630344058, 7.8571428571),
}


@pytest.mark.parametrize("name", KNOWN)
def test_reference_values(name: str) -> None:
    kind, number = name.split()
    x = float(number)
    m = {
        "dp": lambda: bs.randomized_response(12, epsilon=x),
        "k": lambda: bs.k_anonymous(12, k=int(x)),
        "a": lambda: bs.tridiagonal(x, size=12),
        "c": lambda: bs.circulant([x] + [(1 - x) / 11] * 11),
    }[kind]()
    p = m.profile()
    got = (p.beta, p.worst_row, p.capacity, p.guessing_probability, p.max_leakage, p.condition)
    for mine, want in zip(got, KNOWN[name], strict=True):
        assert mine == pytest.approx(want, rel=2e-9, abs=2e-10)


def test_kron_adds_and_multiplies() -> None:
    a, b = bs.tridiagonal(0.2, size=9), bs.gibbs(ordinal(7), beta=0.7)
    joint, first, second = bs.kron(a, b).profile(), a.profile(), b.profile()
    whole = bs.dense(bs.kron(a, b).to_dense()).profile()
    for name in ("entropy_rate", "mutual_information", "capacity", "max_leakage"):
        parts = getattr(first, name) + getattr(second, name)
        assert getattr(joint, name) == pytest.approx(parts, abs=1e-9)
        assert getattr(joint, name) == pytest.approx(getattr(whole, name), abs=1e-6)
    for name in ("guessing_probability", "truthfulness", "rank", "condition"):
        parts = getattr(first, name) * getattr(second, name)
        assert getattr(joint, name) == pytest.approx(parts, rel=1e-9)
        assert getattr(joint, name) == pytest.approx(getattr(whole, name), rel=1e-9)
    for name in ("worst_row", "worst_column", "deniability_1", "deniability_2"):
        assert getattr(joint, name) == pytest.approx(getattr(whole, name), abs=1e-9)


def test_large_matrices_are_bounded_on_the_safe_side() -> None:
    # Sizes at which the structure speaks, and every entry can still be looked at.
    n = 4200
    rng = np.random.default_rng(2)
    steps = np.arange(n + 1)
    falling = [10_000 // (1 + steps) + 2, np.where(steps < 7, 50, 1), np.maximum(20 - 3 * steps, 0)]
    gammas = [1.0, 2.0, 50.0, math.inf]
    for m in (
        bs.geometric(n, temperature=3),
        bs.geometric(n, beta=0.9),
        *(bs.reflected(k / (2 * k.sum() - k[0] - k[-1])) for k in (rng.random(n + 1), *falling)),
        bs.tridiagonal(rng.random(n - 1) / 2),
        bs.tridiagonal(0.3, size=n),
    ):
        quick = measures.lines(m, gammas)
        slow = measures.lines(bs.dense(m.to_dense()), gammas, full=True)
        assert quick is not None
        assert slow is not None
        for mine, truth in (
            (quick.worst_row, slow.worst_row),
            (quick.worst_column, slow.worst_column),
        ):
            assert mine[1] <= truth[1] + 1e-10
            assert not quick.worst_exact or mine[1] >= truth[1] - 1e-10
        assert slow.peaks <= quick.peaks
        assert not quick.peaks_exact or quick.peaks == slow.peaks
        if m.family != "reflected":
            assert quick.peaks <= slow.peaks * (1 + Fraction(1, 10**9))
        assert quick.least_diagonal == slow.least_diagonal
        for (k, known), (want, _) in zip(quick.deniability, slow.deniability, strict=True):
            assert k <= want
            assert not known or k == want
        if isinstance(quick.row_bits, np.ndarray):
            assert isinstance(slow.row_bits, np.ndarray)
            assert np.abs(quick.row_bits - slow.row_bits).max() < 1e-12


def test_statuses_are_not_better_than_what_is_known() -> None:
    # The worst row bounds the capacity; it is not the capacity where bits are a bound themselves.
    assert bs.geometric(70_000, temperature=7000).profile()["capacity"].status == "bound"
    # Perfect secrecy in two halves, whose product is not looked at.
    first = bs.kron(bs.uniform(50), bs.identity(100))
    p = (first @ bs.kron(bs.identity(50), bs.uniform(100))).profile(cost="ordinal")
    assert p["metric_epsilon"].status == "not computed"
    assert p["epsilon"].note == "a reported value may rule out a true one"
    # A kernel whose only empty entries are far from the ends.
    odd = bs.reflected([0] + [int(j != 201) for j in range(1, 5001)])
    assert "never for true 100" in odd.profile()["epsilon"].note
    # Entries that differ by less than doubles can tell are not alike.
    near = bs.dense([[3**30, 3**30 + 1], [3**30 + 1, 3**30]])
    share = Fraction(1, 3**20)
    mixed = bs.mix([near, bs.uniform(2)], weights=[share, 1 - share])
    assert mixed.deniability(1) == 1
    assert bs.circulant([2**52 + 1, 2**52 - 1]).profile()["rank"].status == "bound"
    assert bs.t_transform(3, 0, 1, keep=Fraction(1, 2) + Fraction(1, 2**53)).profile().rank == 3


def test_near_perfect_secrecy_what_beta_allows_is_not_below_the_truth() -> None:
    for row in ([10**6, 10**6 - 1, 10**6 - 1], [10**12, 10**12 - 1], [10**9] + [10**9 - 1] * 11):
        p = bs.circulant(row).profile()
        assert p.guaranteed_max_leakage >= p.max_leakage  # type: ignore[operator]
    assert guaranteed_max_leakage(1 - 1e-9, 12) == pytest.approx(0.00033729160232, rel=1e-10)
    p = bs.randomized_response(2, epsilon=1e-7).profile()
    assert p["worst_row"].text == p["beta"].text == "0.999999"


def test_what_never_happens_costs_nothing() -> None:
    p = bs.uniform(2).profile(cost=[[0.0, math.inf], [0.0, 0.0]], prior=[0, 1])
    assert p.expected_cost == 0


BAD: list[tuple[Any, type[Exception], str]] = [
    (lambda: bs.uniform(3).profile(prior=[0.5, 0.5]), ValueError, "`prior` must hold 3"),
    (lambda: bs.uniform(2).profile(prior=[0.5, 0.6]), ValueError, "got a sum of 1.1"),
    (lambda: bs.uniform(2).profile(prior=[1.5, -0.5]), ValueError, "number at position 1"),
    (lambda: bs.uniform(2).profile(prior=[math.nan, 1]), ValueError, "NaN at position 0"),
    (lambda: bs.uniform(2).profile(cost=[[0, -1], [1, 0]]), ValueError, "negative number at (0,"),
    (lambda: bs.uniform(2).profile(cost=[[0.0, math.nan], [1.0, 0.0]]), ValueError, "at (0, 1)"),
    (lambda: bs.uniform(3).posterior(3), IndexError, "be an integer from 0 to 2; got 3"),
    (lambda: bs.identity(2).posterior(0, [0, 1]), ValueError, "must be a report that the prior"),
    (lambda: bs.uniform(3).deniability(0.5), ValueError, "at least 1; got 0.5"),
    (lambda: bs.uniform(3).deniability(math.nan), ValueError, "at least 1; got NaN"),
    (lambda: bs.uniform(2).profile(cost=[[10**400, 0], [0, 1]]), ValueError, "`cost` must"),
    (lambda: bs.uniform(10**12).posterior(3), ValueError, "`posterior` must fit in"),
    (lambda: guaranteed_max_leakage(1.5, 3), ValueError, "`beta` must be from 0 to 1"),
]


@pytest.mark.parametrize(("call", "error", "text"), BAD)
def test_bad_input_is_one_sentence(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "m",
    [
        bs.randomized_response(5, epsilon=1),
        bs.tridiagonal(0.3, size=6),
        bs.geometric(6, beta=0.5),
        bs.dense([[3, 1, 0], [1, 1, 2], [0, 2, 2]]),
    ],
    ids=repr,
)
def test_qif_says_the_same(m: bs.Matrix) -> None:
    qif = pytest.importorskip("qif", reason="qif has no wheel for this platform")
    dense = m.to_dense()
    prior = RNG.dirichlet(np.ones(m.size))
    p = m.profile(prior=prior)
    flat = np.full(m.size, 1 / m.size)
    vuln, shannon = qif.measure.bayes_vuln, qif.measure.shannon
    assert p.guessing_probability == pytest.approx(vuln.posterior(flat, dense), abs=1e-12)
    assert p.best_guess == pytest.approx(vuln.posterior(prior, dense), abs=1e-12)
    assert 2**p.max_leakage == pytest.approx(vuln.mult_capacity(dense), abs=1e-10)  # type: ignore[operator]
    assert p.remaining_uncertainty == pytest.approx(shannon.posterior(prior, dense), abs=1e-9)
    assert p.mutual_information == pytest.approx(shannon.add_leakage(flat, dense), abs=1e-9)
    assert p.capacity == pytest.approx(shannon.add_capacity(dense)[0], abs=1e-5)


LARGE = 200_000


@pytest.mark.parametrize(
    "m",
    [
        bs.uniform(3),
        bs.blocks([3, 1]),
        bs.k_anonymous(LARGE, k=3) @ bs.tridiagonal(0.2, size=LARGE),
        bs.mix([bs.tridiagonal(0.2, size=LARGE), bs.uniform(LARGE)], weights=[0.5, 0.5]),
    ],
    ids=repr,
)
def test_what_is_not_known_is_none_and_never_nan(m: bs.Matrix) -> None:
    for entry in m.profile(cost="ordinal"):
        assert (entry.value is None) == (entry.status == "not computed"), entry
        assert entry.value is None or not math.isnan(entry.value), entry
    row = bs.compare(m).rows()
    assert not any("nan" in text for line in row for text in line)


def test_a_point_that_is_not_computed_is_none() -> None:
    hard = {"mine": lambda n, _: bs.k_anonymous(n, k=3) @ bs.tridiagonal(0.2, size=n)}
    (point,) = bs.tradeoff(LARGE, families=hard, betas=[0.5])
    assert point.truthfulness is None
    assert point.standard_error is None
    assert point.note


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 12, 1000, 10**6])
def test_perfect_secrecy_tells_nothing_at_all(size: int) -> None:
    found = bs.uniform(size).profile()
    for name in ("mutual_information", "capacity", "max_leakage", "guaranteed_max_leakage"):
        assert (found[name].value, found[name].text) == (0.0, "0")
