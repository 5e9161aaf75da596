"""Efficiency: published numbers, the bound against random methods, errors in fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import bistochastic as bs
from bistochastic.measures.efficiency import efficiency, least_error
from cases import of_every_family

# Categories and epsilon; the least error, the error of randomized response with its efficiency, and
# those of a difference set, if it is not randomized response.
PUBLISHED = [
    (4, 0.5, 37.509283, 38.513413, 0.973928, None, None),
    (5, 0.5, 50.258657, 60.656033, 0.828585, 58.482483, 0.859380),
    (7, 1, 18.972769, 22.066133, 0.859814, 21.445358, 0.884703),
    (12, 1, 37.224184, 58.428143, 0.637093, 38.106093, 0.976856),
    (13, 1, 41.158570, 67.727232, 0.607711, 41.158570, 1.000000),
    (50, 3, 10.675652, 12.840785, 0.831386, None, None),
    (100, 1, 360.943485, 3469.320573, 0.104039, 370.354432, 0.974589),
    (100, 3, 21.634168, 38.542907, 0.561301, 23.433798, 0.923204),
    (127, 1, 460.370275, 5567.477847, 0.082689, 467.576746, 0.984588),
    (162, 4, 12.166646, 16.080566, 0.756606, None, None),
    (341, 4, 25.774848, 54.042450, 0.476937, 29.251915, 0.881134),
    (1000, 0.5, 15639.481372, 2376908.706666, 0.006580, 15790.804017, 0.990417),
    (1000, 1, 3675.332752, 339521.978911, 0.010825, 3687.019242, 0.996830),
    (1000, 4, 75.869874, 386.025405, 0.196541, 77.532507, 0.978556),
    (2000, 1, 7358.025370, 1356437.897953, 0.005425, 7382.100347, 0.996739),
    (2000, 4, 151.891677, 1467.283816, 0.103519, 153.229949, 0.991266),
]  # fmt: skip


@pytest.mark.parametrize(
    ("size", "epsilon", "least", "error", "own", "set_error", "set_own"), PUBLISHED
)
def test_published_efficiencies(
    size: int,
    epsilon: float,
    least: float,
    error: float,
    own: float,
    set_error: float | None,
    set_own: float | None,
) -> None:
    rr, ds = bs.randomized_response(size, epsilon=epsilon), bs.difference_set(size, epsilon=epsilon)
    assert least_error(epsilon, size) == pytest.approx(least, abs=6e-7)
    assert rr.efficiency == pytest.approx(own, abs=6e-7)
    assert efficiency(rr, worst=True) == pytest.approx(own, abs=6e-7)
    assert least_error(rr.epsilon, size) / (rr.efficiency or 0) == pytest.approx(
        error, abs=1e-6, rel=1e-8
    )
    if set_error is None:
        assert ds == rr
    else:
        assert ds.efficiency == pytest.approx(set_own, abs=6e-7)
        assert least_error(ds.epsilon, size) / (ds.efficiency or 0) == pytest.approx(
            set_error, abs=1e-6, rel=1e-8
        )


def test_unlike_rows_have_a_worst_case() -> None:
    m = bs.geometric(5, beta=0.6)
    least = least_error(m.epsilon, 5)
    assert least == pytest.approx(0.83257332, abs=1e-8)
    assert least / (m.efficiency or 0) == pytest.approx(3.12292968, abs=1e-8)
    assert least / (efficiency(m, worst=True) or 0) == pytest.approx(3.39602381, abs=1e-8)
    c = bs.circulant([0.5, 0.3, 0.1, 0.06, 0.04])
    assert least_error(c.epsilon, 5) == pytest.approx(1.64688091, abs=1e-8)
    assert least_error(c.epsilon, 5) / (c.efficiency or 0) == pytest.approx(5.85731107, abs=1e-8)


def test_no_channel_has_a_smaller_error() -> None:
    """Random methods at the edge of an epsilon: the best unbiased estimate is never better."""
    rng = np.random.default_rng(48)
    closest = math.inf
    for _ in range(4000):
        size, epsilon = int(rng.integers(2, 6)), float(rng.uniform(0.1, 4))
        # Each report is high for some categories. Rows sum to 1 for a mixture of such reports.
        high = rng.random((int(rng.integers(size, 3 * size)), size)) < rng.uniform(0.2, 0.8)
        reports = np.where(high, math.exp(epsilon), 1.0)
        shares = rng.dirichlet(np.ones(len(reports)))
        columns = np.concatenate([np.roll(reports, s, axis=1) for s in range(size)])
        weights = np.tile(shares, size)
        rows = (weights[:, None] * columns).T
        rows /= rows.sum(axis=1, keepdims=True)
        mean = rows.mean(axis=0)
        information = (rows / mean) @ rows.T
        if np.linalg.cond(information) > 1e10:
            continue
        error = np.trace(np.linalg.inv(information)) - 1 / size
        ratio = error / least_error(epsilon, size)
        assert ratio >= 1 - 1e-9
        closest = min(closest, ratio)
    # The bound is met, so it is not too low to be of use.
    assert closest < 1.001


def inverse(rows: list[list[Fraction]]) -> list[list[Fraction]] | None:
    """The inverse in fractions, by elimination."""
    size = len(rows)
    work = [[*row, *(Fraction(i == j) for j in range(size))] for i, row in enumerate(rows)]
    for at in range(size):
        pivot = next((i for i in range(at, size) if work[i][at]), None)
        if pivot is None:
            return None
        work[at], work[pivot] = work[pivot], work[at]
        work[at] = [x / work[at][at] for x in work[at]]
        for i in range(size):
            if i != at and work[i][at]:
                work[i] = [x - work[i][at] * y for x, y in zip(work[i], work[at], strict=True)]
    return [row[size:] for row in work]


@of_every_family(some=15, largest=7)
def test_never_overstated(name: str, m: bs.Matrix) -> None:
    """The error of the exact inverse, in fractions."""
    many = m.size - m.padding
    rows = [m.exact_row(u) for u in range(m.size)]
    back = inverse(rows)
    found, worst = m.efficiency, efficiency(m, worst=True)
    if many == 1:
        assert found == worst == 1.0
        return
    if back is None:
        assert found in (0.0, None)
        return
    squares = [sum((x * x for x in row[:many]), Fraction(0)) for row in back]
    costs = [
        sum((p * s for p, s in zip(row, squares, strict=True)), Fraction(0)) for row in rows[:many]
    ]
    error = sum(costs, Fraction(0)) / many - Fraction(1, many)
    if found is not None:
        assert Fraction(found) * error <= Fraction(least_error(m.epsilon, many) * (1 + 1e-13))
        if linear_is_easy(m):
            assert found == pytest.approx(least_error(m.epsilon, many) / float(error), rel=1e-9)
    if worst is not None and found is not None:
        if linear_is_easy(m):
            assert worst <= found * (1 + 1e-9)
        for u in range(many):
            # All true values are one category, or two.
            shares = [Fraction(u == w) for w in range(many)]
            half = [(s + Fraction(w == (u + 1) % many)) / 2 for w, s in enumerate(shares)]
            for law in (shares, half):
                pairs = zip(law, costs, strict=True)
                own = sum((s * c - s * s for s, c in pairs), Fraction(0))
                assert Fraction(worst) * own <= Fraction(least_error(m.epsilon, many) * (1 + 1e-12))


def linear_is_easy(m: bs.Matrix) -> bool:
    return m.condition < 1e4


def test_what_cannot_be_estimated_has_none() -> None:
    assert bs.k_anonymous(6, k=3).efficiency == bs.uniform(3).efficiency == 0.0
    assert efficiency(bs.uniform(3), worst=True) == 0.0
    assert bs.identity(3).efficiency == pytest.approx(1.0)
    assert least_error(0.0, 3) == math.inf
    assert least_error(math.inf, 3) == pytest.approx(2 / 3)
    # Too large, and without a structure that helps.
    parts = [bs.geometric(1600, epsilon=1), bs.permutation([1, 0, *range(2, 1600)])]
    large = bs.mix(parts, weights=[0.5, 0.5])
    assert large.efficiency is None


def test_joint_matrices_multiply() -> None:
    g, h = bs.geometric(4, beta=0.6), bs.randomized_response(3, epsilon=1)
    joint = bs.kron(g, h)
    plain = bs.dense(joint.to_dense())
    assert joint.efficiency == pytest.approx(plain.efficiency, rel=1e-9)
    assert efficiency(joint, worst=True) == pytest.approx(efficiency(plain, worst=True), rel=1e-9)


def test_the_profile_shows_it() -> None:
    p = bs.difference_set(13, epsilon=1).profile()
    assert [p[name].text for name in ("efficiency", "worst_efficiency", "report_bits")] == [
        "1",
        "1",
        "3.70044",
    ]


@pytest.mark.parametrize(("epsilons", "most"), [((0.5, 1), 1.027), ((2,), 1.04), ((3, 4), 1.33)])
def test_difference_sets_are_as_good_as_is_said(epsilons: tuple[float, ...], most: float) -> None:
    sizes = [*range(100, 201, 9), 162, *range(225, 2001, 150), 2000]
    for size in sizes:
        for epsilon in epsilons:
            found = bs.difference_set(size, epsilon=epsilon).efficiency
            assert found is not None
            assert 1 / found <= most, (size, epsilon)


def test_the_table_of_the_page_is_right() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "families.md"
    if not page.is_file():
        pytest.skip("runs in a checkout")
    head, *rest = page.read_text().split("| categories | epsilon 0.5 |", 1)[1].splitlines()
    epsilons = [0.5, *map(float, head.split("|")[:-1])]
    rows = [line.split("|")[1:-1] for line in rest[1:] if line.startswith("|")][:7]
    for size, *cells in rows:
        for epsilon, cell in zip(epsilons, cells, strict=True):
            m = bs.difference_set(int(size.replace(",", "")), epsilon=epsilon)
            assert (m.family == "randomized_response") == cell.strip().endswith("*")
            stated = float(cell.strip(" *"))
            assert m.efficiency is not None
            assert -1e-9 <= m.efficiency + 1e-12 - stated < 1e-3
