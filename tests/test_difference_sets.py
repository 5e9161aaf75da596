"""Difference sets: constructed, exact, and as good as the closed form says."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import bistochastic as bs
import reference
from bistochastic import difference_sets, measures
from bistochastic.estimate.planning import mean_standard_error

# Numbers that came from elsewhere: closed forms in 15 digits.
GAINS = {100: (341, 85, 9.41), 365: (1365, 341, 33.7), 1000: (1365, 341, 92.1)}


def _error(matrix: bs.Matrix) -> float:
    """The mean squared error of one record."""
    found = mean_standard_error(matrix, 1)
    assert found is not None
    return found**2


def _differences(v: int, residues: np.ndarray) -> np.ndarray:
    """How often each residue is a difference, counted in integers."""
    apart = (residues[:, None] - residues[None, :]) % v
    return np.bincount(apart.ravel(), minlength=v)


def test_every_set_up_to_size_2000_is_a_difference_set() -> None:
    used = {difference_sets.best(size, eps) for size in range(2, 2001) for eps in (0.3, 1, 3)}
    kinds = {len(design.field) for design in used if design.k > 1}
    assert kinds == {0, 1, 3}
    # Field sizes that are powers, and dimensions above a plane, are among them.
    assert {2, 3} <= {design.field[1] for design in used if len(design.field) == 3}
    assert {3, 4, 5, 6} <= {design.field[2] for design in used if len(design.field) == 3}
    for design in used:
        residues = design.residues()
        counts = _differences(design.v, residues)
        shared, rest = divmod(design.k * (design.k - 1), max(design.v - 1, 1))
        assert (len(residues), residues[0], rest) == (design.k, 0, 0)
        assert counts[0] == design.k
        assert (counts[1:] == shared).all()


def test_all_constructions_to_2000_are_difference_sets() -> None:
    for design in difference_sets.list_sets(2, 2000):
        assert len(design.residues()) == design.k
        assert difference_sets.overlap(design.v, design.residues()) == design.k * (
            design.k - 1
        ) // (design.v - 1)


def test_rows_and_columns_sum_to_exactly_one_on_the_grid() -> None:
    for size in (7, 13, 30, 100, 365, 1000):
        m = bs.difference_set(size, epsilon=1)
        v, residues, (inside, outside) = (
            m.parameters[name] for name in ("modulus", "residues", "counts")
        )
        assert len(residues) * inside + (v - len(residues)) * outside == 2**53
        assert m.epsilon <= 1 < m.epsilon + 1e-6
        assert sum(m.exact_row(size - 1)) == 1
        dense = m.to_dense()
        assert (dense.sum(axis=0) == 1).all()
        assert (dense.sum(axis=1) == 1).all()
        assert m.truthfulness == inside / 2**53 == m[3, 3]
        assert bs.build(m.family, **m.parameters) == m
        assert bs.Matrix.from_json(m.to_json()) == m
        assert bs.build("difference_set", size=size, epsilon=1) == m


@pytest.mark.parametrize("size", [100_000, 70_000])
def test_beyond_the_grid_epsilon_is_met_all_the_same(size: int) -> None:
    m = bs.difference_set(size, epsilon=2)
    assert m.epsilon <= 2 < m.epsilon + 1e-9
    k, v = len(m.parameters["residues"]), m.size
    inside, outside = m.parameters["counts"]
    assert k * inside + (v - k) * outside < 2**63


def test_stated_bits_are_what_the_capacity_leaves() -> None:
    for size, epsilon in ((100, 1), (30, 0.5), (1000, 2)):
        m = bs.difference_set(size, epsilon=epsilon)
        row = np.array([float(p) for p in m.exact_row(0)])
        entropy = -(row * np.log2(row)).sum()
        beta = 1 - (math.log2(m.size) - entropy) / math.log2(size)
        assert m.padding == m.size - size > 0
        assert m.max_bits == pytest.approx(math.log2(size), abs=1e-14)
        assert 0 <= beta - m.beta + 1e-13 < 2e-13
        assert m.entropy_rate == pytest.approx(beta * math.log2(size), abs=1e-12)
        # A row's own entropy would overstate it.
        assert entropy / math.log2(m.size) > m.beta
        m.require(beta=m.beta, epsilon=epsilon)
        # Mutual information under a uniform truth, from all entries, is not above what is stated.
        dense = m.to_dense()[:size]
        told = dense.mean(axis=0)
        mutual = -entropy - (told * np.log2(told)).sum()
        assert mutual <= math.log2(size) - m.entropy_rate + 1e-12
        found = m.profile()
        assert found["mutual_information"].status == "bound"
        columns = dense / dense.sum(axis=0)
        least = float((-(columns * np.log2(columns)).sum(axis=0)).min()) / math.log2(size)
        assert found.worst_column == pytest.approx(least, abs=1e-12)
        assert found.worst_column is not None
        assert found.worst_column <= least
        peaks = dense.max(axis=0).sum()
        assert found.max_leakage == pytest.approx(math.log2(peaks), abs=1e-12)
        assert found.guessing_probability == pytest.approx(peaks / size, abs=1e-12)


@pytest.mark.parametrize("counts", [[3, 1], [1, 0], [1, 4], [0, 2]])
@pytest.mark.parametrize("size", [2, 3, 5, 6])
def test_deniability_is_of_the_truths_that_there_are(size: int, counts: list[int]) -> None:
    m = bs.build("difference_set", size=size, modulus=7, residues=[0, 1, 3], counts=counts)
    rows = [m.exact_row(u) for u in range(size)]
    for gamma in (1, 2, 10**9):
        assert m.deniability(gamma) == reference.deniability(rows, gamma)
    found = measures.lines(m, [])
    assert found is not None
    assert found.witness is not None
    u, w, v = found.witness
    assert rows[u][v] > rows[w][v]


def test_bits_add_in_a_kron() -> None:
    m, other = bs.difference_set(30, epsilon=1), bs.randomized_response(4, beta=0.6)
    both = bs.kron(other, m)
    assert both.entropy_rate == pytest.approx(m.entropy_rate + other.entropy_rate, abs=1e-12)
    assert both.max_bits == pytest.approx(math.log2(120), abs=1e-12)
    assert both.size - both.padding == 120


def test_error_is_the_closed_form_and_the_gains_are_those_known() -> None:
    for size, (v, k, gain) in GAINS.items():
        field = next(
            d.field for d in difference_sets.list_sets(v, v) if d.k == k and len(d.field) == 3
        )
        own = (v, difference_sets.DifferenceSet(v, k, field).residues())
        m = bs.difference_set(size, epsilon=1, set=own)
        closed = float(difference_sets.error(size, 1, v, k))
        assert size * _error(m) == pytest.approx(closed, rel=1e-8)
        plain = bs.randomized_response(size, epsilon=1)
        assert _error(plain) / _error(m) == pytest.approx(gain, abs=0.05)
        chosen = bs.difference_set(size, epsilon=1)
        assert _error(chosen) <= 1.01 * _error(m)


def test_designs_and_channels_that_others_publish() -> None:
    """Errors in closed form, and the channels of Chrome's attribution reports, to 15 digits."""
    e = math.e
    for v, k, known in ((1023, 511, 4776.7), (121, 40, 447.8), (1023, 1, 355_300.2)):
        closed = (v - 1) ** 2 * (k * e + v - k) ** 2 / (v * k * (v - k) * (e - 1) ** 2)
        assert closed == pytest.approx(known, abs=0.05)
        assert float(difference_sets.error(v, 1, v, k)) == pytest.approx(closed, rel=1e-12)
    for size, epsilon, flip, bits in (
        (2, math.log(3), 0.5, 0.18872187554086717),
        (2925, 14, 0.0024263221679834087, 11.461727965384876),
        (3, 14, 2.494582008677539e-06, 1.584926511508231),
        (3, math.log(3), 0.6, None),
        (165, 14, 0.00013718, None),
        (969, 14, 0.0008051, None),
    ):
        m = bs.randomized_response(size, epsilon=epsilon)
        assert (1 - m[0, 0]) * size / (size - 1) == pytest.approx(flip, abs=6e-9)
        if bits is not None:
            # Capacity is (1 - beta) log2 r.
            assert m.profile().capacity == pytest.approx(bits, rel=1e-12)
            assert (1 - m.beta) * math.log2(size) == pytest.approx(bits, rel=1e-12)
    for size, bits, epsilon in (
        (5545, 6.5, 9.028709123768687),
        (2106, 6.5, 8.366900276574821),
        (16036, 6.5, 9.829279343808693),
        (84121, 11.5, 12.45087042924698),
        (24895, 11.5, 11.723490703852157),
        (3648, 11.5, 12.233993328032184),
    ):
        m = bs.randomized_response(size, beta=1 - bits / math.log2(size))
        assert m.epsilon == pytest.approx(epsilon, rel=1e-9)


def _subset_selection(size: int, epsilon: float) -> float:
    """n times the squared error summed, of subsets of any size w: the best local mechanism."""
    e = math.exp(epsilon)
    found = []
    for w in range(1, size):
        p = w * e / (w * e + size - w)
        q = (w * e * (w - 1) / (size - 1) + (size - w) * w / (size - 1)) / (w * e + size - w)
        s = q + (p - q) / size
        found.append(size * s * (1 - s) / (p - q) ** 2)
    return min(found)


@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
def test_error_is_that_of_subset_selection(epsilon: float) -> None:
    chosen = difference_sets.best(1000, epsilon)
    own = float(difference_sets.error(1000, epsilon, chosen.v, chosen.k))
    assert own <= 1.05 * _subset_selection(1000, epsilon)


def test_large_epsilon_is_randomized_response() -> None:
    for size in (2, 5, 12, 100, 1000):
        m = bs.difference_set(size, epsilon=math.log(size) + 0.01)
        assert m == bs.randomized_response(size, epsilon=math.log(size) + 0.01)
    # The shortcut agrees with the search over all sets.
    for size in range(2, 200):
        known = [difference_sets.DifferenceSet(size, 1), *difference_sets.list_sets(size, 4 * size)]
        vs, ks = [d.v for d in known], [d.k for d in known]
        for factor in (1.001, 1.5, 10):
            errors = difference_sets.error(size, math.log(size * factor), vs, ks)
            assert errors[0] <= 1.01 * errors.min()


def test_estimates_leave_codes_out_that_are_never_true() -> None:
    m = bs.difference_set(30, epsilon=1)
    truth = np.linspace(1, 3, 30) / np.linspace(1, 3, 30).sum()
    reports = m.apply(np.append(truth, np.zeros(m.padding)))
    seen = np.rint(reports * 10**9)
    for method in ("inverse", "simplex", "mle", "shrunk"):
        found = m.estimate(counts=seen, method=method)
        assert found.frequencies.shape == (30,) == found.standard_errors.shape
        assert found.frequencies == pytest.approx(truth, abs=1e-5)
        if method != "inverse":
            assert (found.frequencies >= 0).all()
            assert found.frequencies.sum() == pytest.approx(1, abs=1e-9)
    # Reports that hold only sampling noise: the inverse puts mass on what is never true.
    noisy = np.random.default_rng(3).multinomial(3000, reports)
    inverse = m.estimate(counts=noisy)
    assert inverse.frequencies == pytest.approx(m.solve(noisy / 3000)[:30], abs=1e-12)
    assert abs(inverse.frequencies.sum() - 1) > 1e-6
    variance = m.estimate(counts=noisy).covariance.diagonal()
    assert np.sqrt(variance) == pytest.approx(inverse.standard_errors, rel=1e-9)
    weighted = m.estimate(np.repeat(np.arange(m.size), noisy), weights=np.ones(3000))
    assert weighted.frequencies == pytest.approx(inverse.frequencies, abs=1e-12)
    assert weighted.standard_errors == pytest.approx(inverse.standard_errors, rel=1e-9)


def test_likelihood_is_that_of_a_general_solver() -> None:
    minimize = pytest.importorskip("scipy.optimize").minimize

    m = bs.difference_set(9, epsilon=1, set=(13, [0, 1, 3, 9]))
    seen = np.array([9, 4, 17, 3, 8, 11, 2, 5, 7, 6, 12, 1, 10])
    dense = m.to_dense()[:9]

    def loss(x: np.ndarray) -> float:
        pi = np.exp(x) / np.exp(x).sum()
        return -float(seen @ np.log(pi @ dense))

    best = min(minimize(loss, np.random.default_rng(i).normal(size=9), tol=1e-12).fun
               for i in range(5))  # fmt: skip
    found = m.estimate(counts=seen, method="mle")
    assert -float(seen @ np.log(found.frequencies @ dense)) <= best + 1e-6


def test_true_codes_alone_can_be_given() -> None:
    m = bs.difference_set(30, epsilon=1)
    with pytest.raises(ValueError, match="from 0 to 29; got one outside at position 1"):
        m.randomize([29, 30])
    with pytest.raises(ValueError, match="from 0 to 29"):
        m.respond(30)
    with pytest.raises(ValueError, match="codes that can all be true for product"):
        m @ m
    with pytest.raises(ValueError, match="codes that can all be true for mix"):
        bs.mix([m, m], weights=[0.5, 0.5])
    assert m.posterior(30).shape == (30,)
    assert m.posterior(30).sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="hold 30 non-negative numbers"):
        m.posterior(0, prior=np.full(m.size, 1 / m.size))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"beta": 0.5}, "`beta` must be a parameter of difference_set (size, epsilon, set,"),
        ({}, "`epsilon` must be given; got none"),
        ({"epsilon": -1}, "`epsilon` must be at least 0; got -1"),
        ({"epsilon": math.nan}, "`epsilon` must be at least 0"),
        ({"epsilon": 1, "set": (11, [0, 1, 3])}, "every difference equally often"),
        ({"epsilon": 1, "set": (5, [0])}, "`set` must be an integer of at least 7"),
        ({"epsilon": 1, "set": (7, [])}, "every difference equally often"),
    ],
)
def test_bad_input_gets_one_sentence(given: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        bs.difference_set(7, **given)
    assert words in str(caught.value)


def test_a_set_of_your_own_and_fractions() -> None:
    m = bs.difference_set(5, epsilon=1, set=(7, [1, 2, 4]))
    assert m.parameters["residues"] == [0, 1, 3]
    third = bs.difference_set(7, epsilon=float(Fraction(1, 3)), set=(7, [0, 1, 3]))
    assert third.epsilon <= Fraction(1, 3)
    assert third.epsilon == pytest.approx(1 / 3, abs=1e-9)
    assert bs.difference_set(7, epsilon=0, set=(7, [0, 1, 3])).beta == 1
    assert math.isinf(bs.difference_set(7, epsilon=math.inf, set=(7, [0, 1, 3])).epsilon)
