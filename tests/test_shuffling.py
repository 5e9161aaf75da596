"""The central privacy of shuffled records: published numbers, and the truth by enumeration."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest

import bistochastic as bs
from bistochastic import shuffling
from bistochastic.errors import Refused, RefusedType

Rows = list[list[Fraction]]
Law = dict[tuple[int, ...], Fraction]


def close(found: float, known: float, digits: float = 1e-9) -> bool:
    """Whether a bound is the known one: above by at most 2e-5, below only by its digits."""
    return known * (1 - digits) <= found <= known * (1 + 2e-5)


def thirds(size: int, ratio: int) -> bs.Matrix:
    return bs.randomized_response(size, keep=Fraction(ratio, ratio + size - 1))


ROWS = [[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]]


def epsilon_of(whole: shuffling.Shuffled, delta: float) -> float:
    """Its epsilon; some reference numbers have a delta of 1 / records or more, which is refused."""
    whole.records = 1
    return whole.epsilon(delta)


# Number of categories, local epsilon, records, and epsilon at delta 1e-6: at most, at least.
PUBLISHED = [
    (2, 0.5, 10**3, 0.0626866, 0.056854),
    (2, 0.5, 10**4, 0.01811741, 0.016181),
    (2, 1, 10**3, 0.1486706, 0.126614),
    (2, 1, 10**4, 0.04320616, 0.035659),
    (2, 1, 10**6, 0.003513521, 0.0028490),
    (2, 2, 10**3, 0.3970871, 0.323279),
    (2, 2, 10**4, 0.1143996, 0.087016),
    (2, 4, 10**3, 1.8529066, 1.691006),
    (2, 4, 10**4, 0.4108123, 0.314643),
    (12, 1, 10**3, 0.07368083, 0.073658),
    (12, 1, 10**4, 0.02135300, 0.021352),
    (12, 2, 10**3, 0.25611025, 0.256012),
    (12, 2, 10**4, 0.07501655, 0.075014),
    (12, 4, 10**3, 1.4721971, 1.471682),
    (12, 4, 10**4, 0.3738771, 0.373872),
    (100, 1, 10**3, 0.02547032, 0.025469),
    (100, 1, 10**4, 0.00718332, 0.0071833),
    (100, 2, 10**3, 0.10120669, 0.101197),
    (100, 2, 10**4, 0.02920851, 0.0292085),
    (100, 4, 10**3, 0.76121347, 0.761156),
    (100, 4, 10**4, 0.23373759, 0.233736),
]


@pytest.mark.parametrize(("size", "local", "records", "most", "least"), PUBLISHED)
def test_published_epsilons_of_randomized_response(
    size: int, local: float, records: int, most: float, least: float
) -> None:
    whole = bs.shuffled(bs.randomized_response(size, epsilon=local), records)
    assert close(epsilon_of(whole, 1e-6), most, 1e-6)
    found = whole.epsilon_at_least(1e-6)
    # The known numbers have five digits.
    assert found is not None
    assert least * (1 - 2e-4) < found <= least * (1 + 5e-5)


@pytest.mark.parametrize(
    ("size", "local", "most", "least"),
    [
        (2, 0.5, 0.001431477, 0.0012658),
        (2, 2, 0.009517231, 0.0069997),
        (2, 4, 0.03427977, 0.024014),
        (12, 1, 0.00169766, None),
        (12, 2, 0.00619275, None),
        (12, 4, 0.03135321, None),
        (100, 1, 0.00054382, None),
        (100, 2, 0.00234564, None),
        (100, 4, 0.01979207, None),
    ],
)
def test_published_epsilons_of_a_million_records(
    size: int, local: float, most: float, least: float | None
) -> None:
    whole = bs.shuffled(bs.randomized_response(size, epsilon=local), 10**6)
    if least is not None:
        # Rounded down, where the known ones have five digits.
        assert least * (1 - 5e-5) < (whole.epsilon_at_least(1e-6) or 0) < least * (1 + 5e-5)
    # The known numbers have seven digits, or fewer.
    assert most * (1 - 2e-5) < epsilon_of(whole, 1e-6) <= most * (1 + 4e-5)


TITANIC = [bs.randomized_response(size, beta=0.6) for size in (4, 2, 2, 2)]
OTHERS = [
    (bs.difference_set(127, epsilon=1), 10**3, 1e-6, 0.1011781),
    (bs.difference_set(127, epsilon=1), 10**4, 1e-6, 0.02936581),
    (bs.difference_set(127, epsilon=1), 10**6, 1e-6, 0.00236017),
    (TITANIC, 2201, 1e-6, 4.85298),
    (TITANIC, 2201, 1e-3, 2.824368),
    (TITANIC, 2201, 1e-4, 3.494523),
    (TITANIC, 2201, 1e-5, 4.127653),
    (TITANIC, 2201, 1e-8, 6.7057),
    (TITANIC, 10**4, 1e-6, 1.948668),
    (TITANIC, 10**5, 1e-6, 0.5658106),
    (TITANIC, 10**6, 1e-6, 0.1639647),
    (TITANIC[:1], 2201, 1e-6, 0.2736546),
    (TITANIC[1:2], 2201, 1e-6, 0.2137546),
    (bs.geometric(5, beta=0.6), 10**4, 1e-6, 0.8443015),
    (bs.geometric(12, epsilon=2), 10**4, 1e-6, 0.0694798),
    (bs.circulant([0.5, 0.3, 0.1, 0.06, 0.04]), 10**4, 1e-6, 0.1286326),
]


@pytest.mark.parametrize(("matrices", "records", "delta", "known"), OTHERS)
def test_published_epsilons(
    matrices: bs.Matrix | list[bs.Matrix], records: int, delta: float, known: float
) -> None:
    # The known numbers have an error of their own, of some millionths.
    assert close(epsilon_of(bs.shuffled(matrices, records), delta), known, 1e-5)


def test_the_titanic_hides_little_in_its_blanket() -> None:
    whole = bs.shuffled(TITANIC, 2201)
    assert whole.local_epsilon == pytest.approx(7.506389, abs=5e-7)
    gammas = [float((column.least * column.times).sum()) for column in whole._columns]
    assert math.prod(gammas) == pytest.approx(0.008237827, abs=5e-10)


def test_the_universal_law_of_known_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffling, "_CYCLIC", 1)
    monkeypatch.setattr(shuffling, "overlap", lambda size, high: None)
    found = bs.shuffled(bs.difference_set(127, epsilon=1), 10**4).epsilon(1e-6)
    assert found == pytest.approx(0.034221, abs=5e-7)
    known = Fraction(126889, 312500)
    small = bs.shuffled(SMALL["circulant"], 4).delta(math.nextafter(math.log(1.5), 0))
    assert known <= Fraction(small) <= known * (1 + Fraction(1, 10**7))


@pytest.mark.parametrize(
    ("records", "local", "clones", "closed"),
    [
        (10**4, 0.5, 0.020401, 0.093868),
        (10**4, 1, 0.053005, 0.214026),
        (10**4, 2, 0.155045, 0.500920),
        # Where the closed form is void.
        (10**4, 4, 0.600909, None),
        (10**5, 4, 0.1697697, 0.5346340),
    ],
)
def test_other_methods_state_more(
    records: int, local: float, clones: float, closed: float | None
) -> None:
    """Clones and their closed form (Feldman, McMillan and Talwar) are not built: they are others'.

    For clones, each other record is one of the two true values with probability e^-local, and else
    hides nothing. The package of its authors says .16754 to .17279 for the last line.
    """
    m, c = bs.randomized_response(2, epsilon=local), math.exp(local)
    whole, ratios = bs.shuffled(m, records), np.array([c, 1]) * 2 * c / (1 + c)
    law = shuffling._Law(np.full(2, 0.5 / c), ratios, ratios[::-1])
    assert whole._solve(law, 1e-6) == pytest.approx(clones, rel=2e-7, abs=5e-7)
    assert whole.epsilon(1e-6) < clones
    if closed is not None:
        grown = 8 * math.sqrt(c * math.log(4e6) / records) + 8 * c / records
        assert math.log1p((c - 1) / (c + 1) * grown) == pytest.approx(closed, abs=1e-6)
        assert clones < closed


def test_a_lower_bound_stands_beside_the_epsilon_of_several_columns() -> None:
    found = bs.shuffled(TITANIC, 2201).epsilon_at_least(1e-6)
    assert found is not None
    assert 1.7995 < found < 1.79954
    # Rare large jumps leave no digit that is certain.
    assert bs.shuffled(bs.geometric(12, beta=0.6), 10**4).epsilon_at_least(1e-6) is None


@pytest.mark.parametrize(
    ("size", "local", "records", "epsilon", "known"),
    [
        (2, 1, 1000, 0, 1.589650578e-2),
        (2, 1, 1000, 0.05, 2.048420432e-3),
        (2, 1, 1000, 0.2, 2.265672667e-9),
        (2, 1, 10**4, 0.05, 1.067972977e-7),
        (12, 2, 1000, 0.2, 2.722352002e-5),
        (12, 2, 10**4, 0.05, 6.365667740e-5),
        (100, 4, 10**4, 0.2, 9.284405320e-6),
    ],
)
def test_published_deltas(
    size: int, local: float, records: int, epsilon: float, known: float
) -> None:
    whole = bs.shuffled(bs.randomized_response(size, epsilon=local), records)
    assert close(whole.delta(epsilon), known)


def test_deltas_of_several_columns() -> None:
    whole = bs.shuffled(TITANIC, 2201)
    for epsilon, known in ((1, 0.1022417), (2, 0.01085622), (3, 5.685235e-4)):
        # The known ones come from a coarser grid, which lies above.
        assert known * (1 - 5e-5) < whole.delta(epsilon) < known * (1 + 2e-5)


@pytest.mark.parametrize(
    ("matrix", "records", "grow", "known"),
    [
        (thirds(2, 3), 4, Fraction(11, 10), Fraction(637, 2560)),
        (thirds(2, 3), 6, Fraction(3, 2), Fraction(867, 8192)),
        (thirds(3, 3), 4, Fraction(3, 2), Fraction(157, 1250)),
        (thirds(3, 3), 6, Fraction(3, 2), Fraction(2501, 31250)),
        (thirds(3, 20), 4, Fraction(11, 10), Fraction(879751, 1171280)),
        (bs.circulant([0.6, 0.3, 0.1]), 4, Fraction(3, 2), Fraction(53, 200)),
        (bs.dense(ROWS), 4, Fraction(3, 2), Fraction(149, 500)),
        # Where the variation ratio would say 0.00317, and four reports of 0 are a proof by hand.
        (thirds(4, 5), 4, Fraction(4), Fraction(125, 4096)),
    ],
)
def test_bounds_of_few_records_are_the_known_fractions(
    matrix: bs.Matrix, records: int, grow: Fraction, known: Fraction
) -> None:
    found = bs.shuffled(matrix, records).delta(math.nextafter(math.log(grow), 0))
    assert known <= Fraction(found) <= known * (1 + Fraction(1, 10**7))


def added(one: Law, row: list[Fraction]) -> Law:
    """The law of a histogram with one more report."""
    found: Law = defaultdict(Fraction)
    for histogram, p in one.items():
        for v, q in enumerate(row):
            more = list(histogram)
            more[v] += 1
            found[tuple(more)] += p * q
    return found


def truths(rows: Rows, records: int, grow: Fraction) -> Iterator[Fraction]:
    """Delta of every pair of data sets that differ in one record, by all histograms."""
    size = len(rows)
    for others in combinations_with_replacement(range(size), records - 1):
        law: Law = {(0,) * len(rows[0]): Fraction(1)}
        for true in others:
            law = added(law, rows[true])
        seen = [added(law, row) for row in rows]
        for x, y in permutations(range(size), 2):
            yield sum(
                (max(p - grow * seen[y][h], Fraction(0)) for h, p in seen[x].items()), Fraction(0)
            )


def tenths(*rows: list[int]) -> Rows:
    return [[Fraction(x, sum(row)) for x in row] for row in rows]


@pytest.mark.parametrize(
    ("rows", "records", "grow", "known", "bound"),
    [
        (tenths([3, 1], [1, 3]), 4, 1.1, (591, 2560), (637, 2560)),
        (tenths([3, 1], [1, 3]), 6, 1.5, (729, 8192), (867, 8192)),
        (tenths([3, 1, 1], [1, 3, 1], [1, 1, 3]), 4, 1.5, (157, 1250), (157, 1250)),
        (tenths([3, 1, 1], [1, 3, 1], [1, 1, 3]), 6, 1.5, (2489, 31250), (2501, 31250)),
        (tenths([20, 1, 1], [1, 20, 1], [1, 1, 20]), 4, 1.1, (879751, 1171280), (879751, 1171280)),
        (tenths([6, 3, 1], [1, 6, 3], [3, 1, 6]), 4, 1.5, (2187, 10000), (53, 200)),
        (tenths([6, 3, 1], [3, 4, 3], [1, 3, 6]), 4, 1.5, (2349, 10000), (149, 500)),
        (tenths([5, 1, 1, 1], [1, 5, 1, 1], [1, 1, 5, 1], [1, 1, 1, 5]), 4, 4,
         (125, 4096), (125, 4096)),
    ],
)  # fmt: skip
def test_the_truth_is_the_known_fraction(
    rows: Rows, records: int, grow: float, known: tuple[int, int], bound: tuple[int, int]
) -> None:
    """By enumeration, and the bound lies above it."""
    truth = max(truths(rows, records, Fraction(str(grow))))
    assert truth == Fraction(*known) <= Fraction(*bound)


SMALL = {
    "two": thirds(2, 3),
    "three": thirds(3, 3),
    "three, far apart": thirds(3, 20),
    "lies": bs.randomized_response(3, keep=Fraction(1, 6)),
    "circulant": bs.circulant([Fraction(6, 10), Fraction(3, 10), Fraction(1, 10)]),
    "dense": bs.dense([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
    @ bs.circulant([Fraction(3, 4), Fraction(1, 8), Fraction(1, 8)]),
    "geometric": bs.geometric(3, epsilon=2),
    "reflected": bs.reflected([3, 2, 1, 0]) @ thirds(3, 4),
    "columns": bs.kron(thirds(2, 3), thirds(2, 5)),
}


@pytest.mark.parametrize("name", SMALL)
def test_never_below_the_truth(name: str) -> None:
    """All data sets, all pairs, all histograms: no shuffled file reveals more than is stated."""
    m = SMALL[name]
    rows = [m.exact_row(u) for u in range(m.size)]
    most = 3 if m.size > 3 else 4
    for records in range(1, most + 1):
        whole = bs.shuffled(m, records)
        for grow in (Fraction(1), Fraction(11, 10), Fraction(3, 2), Fraction(5, 2)):
            truth = max(truths(rows, records, grow))
            # The logarithm may be rounded up.
            epsilon = math.nextafter(math.log(grow), 0)
            assert Fraction(whole.delta(epsilon)) >= truth
            if truth:
                share = float(truth)
                least = whole.epsilon_at_least(share * (1 + 1e-12))
                if least is not None:
                    # No epsilon below this one has so small a delta.
                    assert least <= math.log(grow) + 1e-9


@pytest.mark.parametrize(
    ("m", "records", "grow", "known"),
    [
        (thirds(2, 3), 4, Fraction(11, 10), Fraction(637, 2560)),
        (thirds(2, 3), 6, Fraction(3, 2), Fraction(867, 8192)),
        (thirds(3, 3), 4, Fraction(3, 2), Fraction(157, 1250)),
        (thirds(3, 3), 6, Fraction(3, 2), Fraction(2501, 31250)),
        (thirds(3, 20), 4, Fraction(11, 10), Fraction(879751, 1171280)),
        (SMALL["circulant"], 4, Fraction(3, 2), Fraction(53, 200)),
        (bs.dense(ROWS), 4, Fraction(3, 2), Fraction(149, 500)),
        # A bound that merges the other reports would say .00317, which is below the truth.
        (thirds(4, 5), 4, Fraction(4), Fraction(125, 4096)),
    ],
)  # fmt: skip
def test_exact_deltas(m: bs.Matrix, records: int, grow: Fraction, known: Fraction) -> None:
    found = bs.shuffled(m, records).delta(math.log(grow))
    assert known * (1 - Fraction(1, 10**9)) <= Fraction(found) <= known * (1 + Fraction(1, 10**4))


def test_one_record_has_its_own_epsilon() -> None:
    m = bs.randomized_response(4, epsilon=1)
    alone = bs.shuffled(m, 1)
    assert alone.epsilon(0) == m.epsilon == alone.local_epsilon
    assert alone.delta(m.epsilon) == 0.0
    kept = Fraction(m.parameters["keep"])
    local = float(kept - (1 - kept) / 3)
    assert alone.delta(0.0) == pytest.approx(local, rel=1e-9)


def test_more_records_hide_more() -> None:
    m = bs.geometric(4, beta=0.7)
    found = [bs.shuffled(m, n).epsilon(1e-6) for n in (1, 30, 300, 3000)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < found[0] / 5


def test_epsilon_and_delta_are_each_others_inverse() -> None:
    whole = bs.shuffled([bs.geometric(4, epsilon=2), bs.randomized_response(3, epsilon=1)], 500)
    epsilon = whole.epsilon(1e-5)
    assert 0.99e-5 < whole.delta(epsilon) <= 1e-5


def test_a_column_that_hides_all_changes_nothing() -> None:
    m = bs.randomized_response(3, epsilon=1)
    alone, beside = bs.shuffled(m, 1000), bs.shuffled([m, bs.uniform(5), bs.uniform(1)], 1000)
    assert beside.epsilon(1e-6) == pytest.approx(alone.epsilon(1e-6), rel=1e-6)
    nothing = bs.shuffled(bs.uniform(5), 10)
    assert nothing.epsilon(1e-6) == nothing.delta(0.0) == nothing.epsilon_at_least(1e-6) == 0.0


def test_a_joint_matrix_is_that_of_its_columns() -> None:
    joint, apart = bs.shuffled(bs.kron(*TITANIC), 2201), bs.shuffled(TITANIC, 2201)
    assert joint.epsilon(1e-4) == apart.epsilon(1e-4)


@pytest.mark.parametrize(
    "m",
    [
        bs.geometric(12, epsilon=1),
        bs.randomized_response(9, epsilon=1),
        bs.circulant([4, 2, 2, 1]),
    ],
)
def test_the_universal_law_is_worse_than_each(
    m: bs.Matrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is too large for its own pairs has a law that depends on the smallest entries."""
    own = bs.shuffled(m, 1000).epsilon(1e-6)
    monkeypatch.setattr(shuffling, "_DENSE", 1)
    monkeypatch.setattr(shuffling, "_CYCLIC", 1)
    universal = bs.shuffled(m, 1000).epsilon(1e-6)
    assert universal >= own * (1 - 1e-6)
    assert universal <= bs.shuffled(bs.randomized_response(2, epsilon=m.epsilon), 1000).epsilon(
        1e-6
    )


def test_large_matrices_have_an_epsilon() -> None:
    assert 0 < bs.shuffled(bs.geometric(500, epsilon=3), 10**5).epsilon(1e-6) < 0.5
    assert 0 < bs.shuffled(bs.difference_set(5000, epsilon=1), 10**5).epsilon(1e-6) < 0.01


@pytest.mark.parametrize(
    "m",
    [
        bs.tridiagonal(0.25, size=2).__matmul__(bs.identity(2)),
        bs.tridiagonal(0.25, size=3),
        bs.k_anonymous(6, k=3),
        bs.identity(3),
    ],
)
def test_a_report_that_proves_something_has_no_central_epsilon(m: bs.Matrix) -> None:
    if math.isfinite(m.epsilon):
        assert bs.shuffled(m, 10).local_epsilon == m.epsilon
        return
    with pytest.raises(Refused, match="must have a finite epsilon"):
        bs.shuffled([bs.uniform(2), m], 1000)


def test_refuses_what_is_no_request() -> None:
    m = bs.randomized_response(3, epsilon=1)
    with pytest.raises(Refused, match=r"`matrices` must hold at least one matrix; got none"):
        bs.shuffled([], 10)
    with pytest.raises(RefusedType, match=r"`matrices` must hold matrices; got int"):
        bs.shuffled([m, 3], 10)  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"`records` must be"):
        bs.shuffled(m, 0)
    whole = bs.shuffled(m, 10)
    for delta in (-1, 1, float("nan")):
        with pytest.raises(Refused, match=r"`delta` must be from 0 to below 1"):
            whole.epsilon(delta)
    with pytest.raises(Refused, match=r"`epsilon` must be at least 0"):
        whole.delta(-1)
    assert repr(whole) == "<Shuffled 10 records: epsilon 1 per record, less of all together>"


def test_progress_is_told_of_every_suspect() -> None:
    told: list[float] = []
    bs.shuffled(bs.geometric(30, epsilon=1), 1000).epsilon(1e-6, progress=told.append)
    assert len(told) > 10
    assert told == sorted(set(told))
    assert all(0 <= share < 1 for share in told)
    several = [bs.geometric(4, epsilon=1), bs.randomized_response(3, epsilon=1)]
    told.clear()
    bs.shuffled(several, 1000).delta(0.01, progress=told.append)
    assert told == sorted(set(told)) != []


MANY = {
    "mirrored": [bs.geometric(4, epsilon=1), bs.geometric(3, epsilon=2)],
    "equal": [bs.circulant([5, 3, 1, 1])] * 2 + [bs.randomized_response(3, epsilon=1)],
    "with lies": [bs.geometric(5, beta=0.8), bs.randomized_response(3, keep=Fraction(1, 6))],
}


@pytest.mark.parametrize("name", MANY)
def test_pairs_that_are_left_out_are_like_others(name: str) -> None:
    """Mirrored pairs and columns that change places: every pair of records is among the laws."""
    whole = bs.shuffled(MANY[name], 1000)
    found = whole.delta(0.3)
    rng = np.random.default_rng(48)
    laws = []
    for _ in range(60):
        parts = []
        for column in whole._columns:
            i, j = rng.integers(0, len(column.rows), 2)
            w, rows = column.least * column.times, column.rows / column.least
            parts.append(shuffling._Law(w, rows[i], rows[j]))
        law = parts[0]
        for other in parts[1:]:
            law = shuffling._times(law, other)
        laws.append(whole._bound(law, 0.3)[0])
    assert max(laws) <= found * (1 + 1e-6)


def test_columns_of_too_many_pairs_have_a_worse_law(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [bs.geometric(6, epsilon=1), bs.geometric(5, epsilon=1), *TITANIC[:2]]
    own = bs.shuffled(columns, 10**4)
    monkeypatch.setattr(shuffling, "_MOST_LAWS", 30)
    fewer = bs.shuffled(columns, 10**4)
    assert len(fewer._laws) < len(own._laws)
    assert own.epsilon(1e-6) < fewer.epsilon(1e-6) < 1.2 * own.epsilon(1e-6)


def test_a_delta_of_one_record_says_nothing() -> None:
    whole = bs.shuffled(bs.randomized_response(2, epsilon=1), 100)
    for delta in (0.5, 0.01):
        with pytest.raises(
            Refused, match=rf"^`delta` must be from 0 to below 1 / 100; got {delta}$"
        ):
            whole.epsilon(delta)
    assert whole.epsilon(0.0099) > 0
    # A lower bound promises nothing.
    assert whole.epsilon_at_least(0.01) is not None
