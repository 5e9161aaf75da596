"""The law that is drawn. Exactness is proved by counting in the core; here are smoke tests, at a
false-alarm rate of 1e-6 each, with keys hashed from the tests' names and never searched for."""

from __future__ import annotations

import hashlib
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

import bistochastic as bs
from cases import FAMILIES
from draw_cases import MATRICES

stats = pytest.importorskip("scipy.stats")

ALARM = 1e-6


def key_of(name: str) -> bs.Key:
    return bs.Key.from_bytes(hashlib.sha256(name.encode()).digest())


def surprise(counts: NDArray[Any], law: NDArray[np.float64]) -> float:
    """The p-value of Pearson's test, outcomes expected fewer than ten times taken together."""
    expected = law * counts.sum()
    assert not counts[expected == 0].any()
    rare = expected < 10
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 1:
        counts, expected = counts[:-1], expected[:-1]
    if len(counts) < 2:
        return 1.0
    statistic = ((counts - expected) ** 2 / expected).sum()
    return float(stats.chi2.sf(statistic, len(counts) - 1))


SMALL = [name for name, m in MATRICES.items() if m.size <= 300]


@pytest.mark.parametrize("by", ["start", "ids", "fresh"])
@pytest.mark.parametrize("name", SMALL)
def test_reports_follow_the_law_of_their_row(name: str, by: str) -> None:
    m = MATRICES[name]
    key = key_of(f"test_reports_follow_the_law_of_their_row {name} {by}")
    n = 200_000
    for u in sorted({0, m.size // 3, m.size - 1}):
        codes = np.full(n, u)
        if by == "start":
            reports = m.randomize(codes, key=key, stream=str(u), start=0)
        elif by == "ids":
            reports = m.randomize(codes, key=key, stream=str(u), ids=np.arange(n))
        else:
            # No key, so other words every time: this one may alarm once in a million runs.
            reports = m.randomize(codes)
        assert surprise(np.bincount(reports, minlength=m.size), m.row(u)) > ALARM


@pytest.mark.parametrize("name", ["rr 70000", "rr 2^25", "blocks 2^25", "tridiagonal 2^25"])
def test_large_matrices_follow_their_law_in_bands(name: str) -> None:
    m = MATRICES[name]
    key = key_of(f"test_large_matrices_follow_their_law_in_bands {name}")
    n, u = 200_000, m.size // 2
    reports = m.randomize(np.full(n, u), key=key, stream="a", start=0)
    share = m[u, u]
    kept = np.array([(reports == u).sum(), (reports != u).sum()])
    assert surprise(kept, np.array([share, 1 - share])) > ALARM
    if name.startswith("rr"):
        lies = (reports[reports != u] - u) % m.size - 1
        bands = np.bincount(lies * 100 // (m.size - 1), minlength=100)
        edges = np.ceil(np.arange(101) * (m.size - 1) / 100)
        assert surprise(bands, np.diff(edges) / (m.size - 1)) > ALARM


def test_respond_follows_the_law() -> None:
    m = MATRICES["geometric"]
    counts = np.bincount([m.respond(4) for _ in range(100_000)], minlength=12)
    assert surprise(counts, m.row(4)) > ALARM


def dependence(a: NDArray[Any], b: NDArray[Any]) -> float:
    """The p-value of the test that two columns are independent."""
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    return float(stats.chi2_contingency(table).pvalue)


@pytest.mark.parametrize("name", ["rr", "gibbs", "kron", "mix", "product"])
def test_noise_is_independent(name: str) -> None:
    """Of two columns, of neighbouring rows, before and after a change of value."""
    m = MATRICES[name]
    key = key_of(f"test_noise_is_independent {name}")
    n = 300_000
    codes = np.full(n, 5)
    first = m.randomize(codes, key=key, stream="first", start=0)
    second = m.randomize(codes, key=key, stream="second", start=0)
    assert dependence(first, second) > ALARM
    for lag in (1, 2, 8, 32, 1024):
        assert (
            dependence(
                first[:-lag:2] if lag == 1 else first[:-lag],
                (first[lag::2] if lag == 1 else first[lag:]),
            )
            > ALARM / 10
        )
    ids = np.arange(n)
    before = m.randomize(codes, key=key, stream="a", ids=ids)
    after = m.randomize(np.full(n, 6), key=key, stream="a", ids=ids)
    assert dependence(before, after) > ALARM
    assert np.array_equal(m.randomize(codes, key=key, stream="a", ids=ids), before)
    texts = [str(i) for i in range(50_000)]
    before = m.randomize(codes[:50_000], key=key, stream="a", ids=texts)
    after = m.randomize(np.full(50_000, 6), key=key, stream="a", ids=texts)
    assert dependence(before, after) > ALARM


def test_factors_of_a_kron_are_independent() -> None:
    """The same matrix twice: two draws, not one."""
    m = bs.randomized_response(4, beta=0.8)
    both = bs.kron(m, m).randomize(
        np.zeros(200_000, int), key=key_of("factors"), stream="a", start=0
    )
    assert dependence(both // 4, both % 4) > ALARM
    assert surprise(np.bincount(both, minlength=16), bs.kron(m, m).row(0)) > ALARM


@pytest.mark.parametrize("name", sorted(FAMILIES))
@settings(max_examples=25)
@given(data=st.data())
def test_a_report_of_probability_zero_never_happens(name: str, data: st.DataObject) -> None:
    m = data.draw(FAMILIES[name])
    seed = data.draw(st.integers(0, 2**64 - 1))
    codes = np.repeat(np.arange(m.size), 500)
    reports = m.randomize(codes, key=bs.Key.insecure(seed), stream="a", start=0)
    possible = np.array([[p > 0 for p in m.exact_row(u)] for u in range(m.size)])
    assert possible[codes, reports].all()
    by_ids = m.randomize(codes, key=bs.Key.insecure(seed), stream="a", ids=np.arange(len(codes)))
    assert possible[codes, by_ids].all()
    u = data.draw(st.integers(0, m.size - 1))
    assert all(possible[u, m.respond(u)] for _ in range(20))
