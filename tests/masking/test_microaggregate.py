"""Classes of similar records: the literature's numbers, brute force, what is refused."""

from __future__ import annotations

import csv
import os
import signal
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import bistochastic as bs
from bistochastic.masking import Classes
from cases import child
from others import pa, pd, pl


def data(name: str) -> tuple[list[str], list[list[str]]]:
    folder = os.environ.get("BISTOCHASTIC_DATA")
    if folder is None:
        pytest.skip("BISTOCHASTIC_DATA is not set")
    path = Path(folder) / name
    if not path.exists():
        pytest.skip(f"{name} is not in BISTOCHASTIC_DATA")
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    return header, rows


def table(name: str, columns: list[str] | None = None) -> NDArray[np.float64]:
    header, rows = data(name)
    places = [header.index(column) for column in columns or header]
    return np.array([[float(row[i]) for i in places] for row in rows])


@pytest.mark.parametrize(("k", "loss"), [(3, 5.6922), (4, 7.4947), (5, 9.0884), (10, 14.1559)])
def test_census_loses_what_the_literature_says(k: int, loss: float) -> None:
    found = bs.masking.microaggregate(table("census.csv"), k=k)
    assert round(found.information_loss, 4) == loss
    assert found.sizes.min() >= k
    assert found.sizes.max() < 2 * k


@pytest.mark.parametrize(("k", "loss"), [(3, 0.4829), (10, 3.8397)])
def test_eia_loses_what_the_literature_says(k: int, loss: float) -> None:
    header, _ = data("eia.csv")
    columns = ["UTILITYID", *(name for name in header if name.endswith(("REVENUE", "SALES")))]
    assert len(columns) == 11
    found = bs.masking.microaggregate(table("eia.csv", columns), k=k)
    assert round(found.information_loss, 4) == loss


def slow(x: NDArray[np.float64], k: int) -> list[int]:
    """MDAV by its definition, on points that are on one scale already."""
    left = list(range(len(x)))
    classes = [0] * len(x)
    made = 0

    def away(i: int, place: NDArray[np.float64]) -> float:
        total = 0.0
        for a, b in zip(x[i].tolist(), place.tolist(), strict=True):
            total += (a - b) * (a - b)
        return total

    def around(at: int) -> None:
        nonlocal made, left
        others = [i for i in left if i != at]
        near = sorted(others, key=lambda i: (away(i, x[at]), i))[: k - 1]
        for i in (at, *near):
            classes[i] = made
        made += 1
        left = [i for i in left if i != at and i not in near]

    def farthest(place: NDArray[np.float64]) -> int:
        return min(left, key=lambda i: (-away(i, place), i))

    while len(left) >= 3 * k:
        first = farthest(x[left].mean(axis=0))
        around(first)
        around(farthest(x[first]))
    if len(left) >= 2 * k:
        around(farthest(x[left].mean(axis=0)))
    for i in left:
        classes[i] = made
    ids: dict[int, int] = {}
    return [ids.setdefault(c, len(ids)) for c in classes]


@settings(max_examples=40)
@given(st.integers(2, 120), st.integers(2, 4), st.integers(2, 9), st.integers(0, 2**32 - 1))
def test_classes_are_those_of_the_definition(n: int, d: int, k: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(max(n, k), d))
    z = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    assert bs.masking.microaggregate(x, k=k).classes.tolist() == slow(z, k)


def test_equal_distances_go_to_the_earlier_record() -> None:
    # The corners of a square: all are as far from the mean, so the first one is taken, and of its
    # two neighbours the earlier one.
    x = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    assert bs.masking.microaggregate(x, k=2).classes.tolist() == [0, 0, 1, 1]
    # Whole numbers have ties all over; distances to means of powers of two are exact.
    alike = np.repeat([[0.0, 1.0], [1.0, 0.0]], 8, axis=0)
    assert bs.masking.microaggregate(alike, k=4).information_loss == 0


def test_a_constant_column_counts_nothing() -> None:
    x = np.random.default_rng(1).normal(size=(50, 3))
    with_it = np.column_stack([x, np.full(50, 0.1)])
    one, two = bs.masking.microaggregate(x, k=4), bs.masking.microaggregate(with_it, k=4)
    assert one.classes.tolist() == two.classes.tolist()
    assert one.information_loss == two.information_loss
    assert (two.centroids[:, 3] == 0.1).all()
    assert bs.masking.microaggregate(np.ones((7, 2)), k=2).information_loss == 0


def test_centroids_are_class_means_and_keep_the_mean() -> None:
    x = np.random.default_rng(2).lognormal(size=(500, 4)) * [1, 1e-300, 1e300, 1e6]
    found = bs.masking.microaggregate(x, k=5)
    assert found.centroids.shape == (len(found.sizes), 4)
    for c in range(len(found.sizes)):
        assert np.allclose(
            found.centroids[c], x[found.classes == c].mean(axis=0), rtol=1e-14, atol=0
        )
    scale = np.array([1, 1e-300, 1e300, 1e6])
    assert np.allclose((found.values / scale).mean(axis=0), (x / scale).mean(axis=0), rtol=1e-12)
    z = (x / scale - (x / scale).mean(axis=0)) / (x / scale).std(axis=0, ddof=1)
    means = np.stack([z[found.classes == c].mean(axis=0) for c in range(len(found.sizes))])
    loss = 100 * ((z - means[found.classes]) ** 2).sum() / (z**2).sum()
    assert found.information_loss == pytest.approx(loss, rel=1e-10)
    assert np.isfinite(bs.masking.microaggregate(np.full((4, 2), 1.7e308), k=2).values).all()
    tiny = bs.masking.microaggregate(np.array([1.0, 2, 4, 8]) * 5e-324, k=2)
    assert tiny.information_loss == bs.masking.microaggregate([1.0, 2, 4, 8], k=2).information_loss


def partitions(items: list[int], k: int) -> Any:
    """All ways to divide items into classes of k or more."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for size in range(k - 1, len(rest) + 1):
        for others in combinations(rest, size):
            left = [i for i in rest if i not in others]
            if left and len(left) < k:
                continue
            for more in partitions(left, k):
                yield [[first, *others], *more]


@settings(max_examples=25)
@given(st.data())
def test_one_column_is_divided_in_the_best_of_all_ways(data: st.DataObject) -> None:
    k = data.draw(st.sampled_from([2, 3]))
    n = data.draw(st.integers(k, 9))
    number = st.one_of(st.integers(0, 5), st.floats(-1e6, 1e6, width=32))
    x = np.array(data.draw(st.lists(number, min_size=n, max_size=n)), dtype=float)
    found = bs.masking.microaggregate(x, k=k)
    assert found.sizes.min() >= k
    assert found.sizes.max() < 2 * k

    def spread(members: list[int]) -> float:
        return float(((x[members] - x[members].mean()) ** 2).sum())

    best = min(sum(map(spread, p)) for p in partitions(list(range(n)), k))
    got = sum(spread(np.flatnonzero(found.classes == c).tolist()) for c in range(len(found.sizes)))
    total = spread(list(range(n)))
    assert got <= best + 1e-9 * total
    assert found.information_loss == pytest.approx(100 * got / total if total else 0, abs=1e-6)


def test_classes_do_not_depend_on_the_threads() -> None:
    # Without structure in 30 columns, so that searches look at all records, on the pool.
    code = (
        "import bistochastic as bs, numpy as np; r = np.random.default_rng(3);"
        "a = bs.masking.microaggregate(r.normal(size=(12_000, 30)), k=400);"
        "b = bs.masking.microaggregate(r.integers(0, 4, (5000, 3)), k=3);"
        "print(hash(a.classes.tobytes()), hash(b.classes.tobytes()), a.information_loss.hex())"
    )
    out = {child(code, BISTOCHASTIC_THREADS=n, PYTHONHASHSEED="0") for n in ("1", "2", "7")}
    assert len(out) == 1


def test_ctrl_c_stops_it() -> None:
    # A call that looks at no signal before its end runs the handler once, however many came. So the
    # handler stops it the second time only, which shows that the call looked twice on its way.
    x = np.random.default_rng(4).normal(size=(200_000, 12))
    seen: list[int] = []

    def pressed(number: int, _: object) -> None:
        seen.append(number)
        if len(seen) > 1:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGVTALRM, pressed)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.3, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            bs.masking.microaggregate(x, k=3)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


# --- columns of several kinds ---------------------------------------------------------------

PEOPLE: dict[str, list[Any]] = {
    "age": [25, 62, 27, 60, 26, 61],
    "town": ["A", "B", "A", "B", "A", "B"],
    "school": ["degree", "none", "degree", "primary", "primary", "none"],
}


def test_numbers_and_names_are_weighed_as_said() -> None:
    random = np.random.default_rng(5)
    n, k = 90, 4
    frame = {
        "age": random.integers(20, 70, n).tolist(),
        "town": random.choice(["A", "B", "C"], n).tolist(),
    }
    found = bs.masking.k_anonymous_classes(frame, quasi_identifiers=["age", "town"], k=k)
    # Corners that are 1 apart give the same distances.
    age = np.array(frame["age"], dtype=float)
    corners = [np.sqrt(0.5) * (np.array(frame["town"]) == town) for town in "ABC"]
    points = np.column_stack([(age - age.mean()) / age.std(ddof=1), *corners])
    assert found.classes.tolist() == slow(points, k)
    means = np.stack([points[found.classes == c].mean(axis=0) for c in range(len(found.sizes))])
    loss = ((points - means[found.classes]) ** 2).sum()
    loss *= 100 / ((points - points.mean(axis=0)) ** 2).sum()
    assert found.information_loss == pytest.approx(loss, rel=1e-10)


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series, pa.array])
def test_columns_of_every_kind_give_the_same(kind: Any) -> None:
    people = {name: kind(column) for name, column in PEOPLE.items()}
    found = bs.masking.k_anonymous_classes(people, quasi_identifiers=list(PEOPLE), k=3)
    assert found.classes.tolist() == [0, 1, 0, 1, 0, 1]
    assert isinstance(found, Classes)
    one = bs.masking.microaggregate(people["age"], k=3)
    assert one.classes.tolist() == [0, 1, 0, 1, 0, 1]


def test_blocks_are_built_from_classes() -> None:
    x = np.random.default_rng(6).normal(size=(40, 2))
    found = bs.masking.microaggregate(x, k=3)
    m = bs.blocks(found.sizes)
    assert sorted(found.order.tolist()) == list(range(40))
    assert np.allclose(m.apply(x[found.order]), found.values[found.order])
    # A permutation of the blocks stays inside the classes.
    drawn = m.sample_permutation(key=bs.Key.insecure(1), stream="a")
    assert (found.classes[found.order][drawn] == found.classes[found.order]).all()


# --- what is refused ------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
HOLES = {"a": [1, None, 2], "b": [1, 2, 3]}


@pytest.mark.parametrize(
    ("x", "k", "sentence"),
    [
        ([1, 2, 3], 1, "`k` must be an integer of at least 2; got 1"),
        ([1, 2, 3], 4, "`k` must be at most the number of records, 3; got 4"),
        ([], 2, "`k` must be at most the number of records, 0; got 2"),
        ([1, NAN, 3, NAN], 2, "`X` must hold no NaN; got 2, the first at position 1"),
        ([[1, 2], [3, NAN]], 2, "`X` must hold no NaN; got 1, the first at (1, 1)"),
        ([1, 2, INF], 2, "`X` must hold no infinite numbers; got 1, the first at position 2"),
        (HOLES, 2, "`X` must be an array of numbers; got dict"),
    ],
)
def test_bad_numbers_are_refused_in_a_sentence(x: Any, k: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        bs.masking.microaggregate(x, k=k)
    assert str(caught.value) == sentence


def test_missing_numbers_of_a_frame_are_refused() -> None:
    for frame, at in (
        (pd.DataFrame(HOLES), r"`X` must hold no NaN; got 1, the first at \(1, 0\)"),
        (pd.DataFrame(HOLES, dtype=object), r"`X` must hold no missing values; got 1, the first"),
    ):
        with pytest.raises(ValueError, match=at):
            bs.masking.microaggregate(frame, k=2)


MAP = "`columns` must map names to columns"
NAMES = "`quasi_identifiers` must name columns"


@pytest.mark.parametrize(
    ("columns", "asked", "sentence"),
    [
        (PEOPLE, ["age", "aeg"], f"{NAMES}; got 'aeg' at position 1"),
        (PEOPLE, ["age", "age"], f"{NAMES}, each once; got one again at position 1"),
        ({"a": [1, 2], "b": [1]}, ["a"], f"{MAP} of one length; got 1 and 2"),
        ({"a": ["x", None, "y", NAN]}, ["a"],
         "`columns['a']` must hold no missing values; got 2, the first at position 1"),
        ({"a": [[1], [2]]}, ["a"], "`columns['a']` must hold values that can be compared;"
         " got list at position 0"),
        ({"a": [1]}, ["a"], "`k` must be at most the number of records, 1; got 2"),
    ],
)  # fmt: skip
def test_bad_columns_are_refused_in_a_sentence(columns: Any, asked: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        bs.masking.k_anonymous_classes(columns, quasi_identifiers=asked, k=2)
    assert str(caught.value) == sentence


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), min_size=4, max_size=30))
def test_combinations_are_the_different_records_of_a_class(rows: list[tuple[int, str]]) -> None:
    frame = {"age": [age for age, _ in rows], "sex": [sex for _, sex in rows]}
    found = bs.masking.k_anonymous_classes(frame, quasi_identifiers=["age", "sex"], k=2)
    want: list[set[tuple[int, str]]] = [set() for _ in found.sizes]
    for code, row in zip(found.classes, rows, strict=True):
        want[code].add(row)
    assert found.combinations.tolist() == [len(each) for each in want]
    assert found.combinations.dtype == np.int64
