"""Anatomy: the tables hold what they should, and tell no more than they say."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bistochastic as bs
from others import pa, pd, pl

loose: Any = bs
KEY = bs.Key.insecure(3)
NAMES = "must name columns"


def people(n: int, seed: int = 1, values: int = 6) -> dict[str, list[Any]]:
    random = np.random.default_rng(seed)
    return {
        "age": random.integers(20, 70, n).tolist(),
        "town": random.choice(["A", "B", "C"], n).tolist(),
        "illness": [f"illness {v}" for v in random.integers(0, values, n)],
        "income": random.integers(1, 4, n).tolist(),
        "name": [f"person {i}" for i in range(n)],
    }


def columns(table: Any) -> dict[str, list[Any]]:
    """A table as lists."""
    return {n: c.tolist() for n, c in table.items()}


@pytest.mark.parametrize("kind", [list, pd.Series, pl.Series, pa.array, np.array])
def test_columns_come_back_as_arrays_with_the_same_values(kind: Any) -> None:
    given = people(50)
    found = bs.masking.anatomize(
        {name: kind(column) for name, column in given.items()},
        quasi_identifiers=["age", "town"], sensitive=["illness", "income"], k=4,
    )  # fmt: skip
    for column in (*found.quasi_identifiers.values(), *found.sensitive.values()):
        assert type(column) is np.ndarray
    known, hidden = columns(found.quasi_identifiers), columns(found.sensitive)
    assert list(known) == ["age", "town", "class"]
    assert list(hidden) == ["class", "illness", "income"]
    # Each record once, in either table.
    for made, names in ((known, ("age", "town")), (hidden, ("illness", "income"))):
        records, others = (zip(*(t[n] for n in names), strict=True) for t in (made, given))
        assert Counter(records) == Counter(others)
    assert Counter(known["class"]) == Counter(hidden["class"])
    assert min(Counter(known["class"]).values()) >= 4


def test_columns_keep_their_types_and_nothing_that_these_hold_besides() -> None:
    days = np.arange(4).astype("datetime64[D]")
    told = np.array([1, 2, 3, 4], np.dtype("int8", metadata={"of": "the original"}))
    found = bs.masking.anatomize(
        {"a": told, "b": days}, quasi_identifiers=["a"], sensitive=["b"], k=2
    )
    assert found.quasi_identifiers["a"].dtype == np.int8
    assert found.quasi_identifiers["a"].dtype.metadata is None
    assert found.sensitive["b"].dtype == days.dtype


def joined(found: Any, sensitive: str) -> float:
    """The surest guess of whoever joins the two tables by class."""
    hidden = columns(found.sensitive)
    surest = 0.0
    for c in set(columns(found.quasi_identifiers)["class"]):
        values = [v for v, own in zip(hidden[sensitive], hidden["class"], strict=True) if own == c]
        surest = max(surest, max(Counter(values).values()) / len(values))
    return surest


@settings(max_examples=30)
@given(st.integers(8, 80), st.integers(2, 5), st.integers(1, 7), st.integers(0, 10**6))
def test_joined_tables_never_beat_the_bound(n: int, k: int, values: int, seed: int) -> None:
    found = bs.masking.anatomize(
        people(n, seed, values), quasi_identifiers=["age", "town"],
        sensitive=["illness", "income"], k=k,
    )  # fmt: skip
    for name in ("illness", "income"):
        assert joined(found, name) == found.bounds[name]
        # Of a class of k to 2k - 1 records, the surest is never below what k different values give.
        assert found.bounds[name] >= 1 / (2 * k - 1)


@settings(max_examples=40)
@given(st.integers(8, 90), st.integers(2, 5), st.integers(0, 10**6))
def test_with_l_no_guess_is_surer(n: int, l: int, seed: int) -> None:  # noqa: E741
    given = people(n, seed, 3 * l)
    most = max(Counter(given["illness"]).values())

    def call() -> Any:
        return bs.masking.anatomize(given, quasi_identifiers=["age"], sensitive="illness", k=2, l=l)

    if most * l > n:
        with pytest.raises(ValueError, match=rf"`l` must be at most {n // most}, .*{most} records"):
            call()
        return
    found = call()
    assert joined(found, "illness") == found.bounds["illness"] <= 1 / l
    sizes = Counter(columns(found.quasi_identifiers)["class"])
    assert min(sizes.values()) >= l
    assert len(sizes) == n // l == found.classes


def test_a_key_gives_the_same_tables_and_another_file_other_ones() -> None:
    given = people(200)

    def draw(frame: Any, stream: str = "a", key: bs.Key = KEY) -> Any:
        known, hidden = ["age", "town"], ["illness"]
        return bs.masking.anatomize(
            frame, quasi_identifiers=known, sensitive=hidden, k=5, key=key, stream=stream
        )

    same = columns(draw(given).sensitive)
    assert columns(draw(given).sensitive) == same
    assert columns(draw(given, "b").sensitive) != same
    assert columns(draw(given, key=bs.Key.insecure(4)).sensitive) != same
    # One record of another file, and every number is drawn anew: classes would be recognised.
    other = {**given, "illness": ["gout", *given["illness"][1:]]}
    before, after = draw(given).quasi_identifiers["class"], draw(other).quasi_identifiers["class"]
    assert np.mean(np.asarray(before) == np.asarray(after)) < 0.2


def test_classes_and_rows_are_in_a_random_order() -> None:
    # Four classes of two that any order of the file would show; 24 numberings and 8! orders.
    given = {"age": [1, 1, 2, 2, 3, 3, 4, 4], "illness": list("aabbccdd")}
    numbers: Counter[tuple[int, ...]] = Counter()
    first: Counter[tuple[str, str]] = Counter()
    for i in range(2400):
        found = bs.masking.anatomize(
            given, quasi_identifiers=["age"], sensitive=["illness"], k=2, key=KEY, stream=str(i)
        )
        table = found.quasi_identifiers
        ids = dict(zip(table["age"], np.asarray(table["class"]).tolist(), strict=True))
        numbers[tuple(ids[age] for age in (1, 2, 3, 4))] += 1
        first[(str(table["age"][0]), found.sensitive["illness"][0])] += 1
    # Chi-square with 23 and 15 degrees of freedom, below 1e-6 of false alarm each.
    assert len(numbers) == 24
    assert sum((c - 100) ** 2 / 100 for c in numbers.values()) < 75
    assert len(first) == 16
    assert sum((c - 150) ** 2 / 150 for c in first.values()) < 60


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"k": 99}, "`k` must be at most the number of records, 20; got 99"),
        ({"sensitive": ["ilness"]}, f"`sensitive` {NAMES}; got 'ilness' at position 0"),
        (
            {"sensitive": ["income", "age"]},
            "`sensitive` must name other columns than `quasi_identifiers`; "
            "got one of them at position 1",
        ),
        (
            {"sensitive": ["income", "illness"], "l": 2},
            "`sensitive` must be one column where `l` is given; got 2",
        ),
        ({"k": 4, "l": 3}, "`k` must be at most `l`, 3; got 4"),
        ({"key": KEY}, "`stream` must name what a key is used for; got none"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(options: dict[str, Any], sentence: str) -> None:
    call = {"quasi_identifiers": ["age", "town"], "sensitive": ["illness"], "k": 3, **options}
    with pytest.raises((ValueError, TypeError)) as caught:
        loose.masking.anatomize(people(20), **call)
    assert str(caught.value) == sentence


def test_a_frequent_value_is_counted_and_not_named() -> None:
    given = {"age": list(range(10)), "illness": ["rare plague"] * 4 + list("abcdef")}
    with pytest.raises(ValueError, match="`l` must be at most 2") as caught:
        bs.masking.anatomize(given, quasi_identifiers=["age"], sensitive=["illness"], k=2, l=3)
    assert str(caught.value) == (
        "`l` must be at most 2, since each class has a value once; "
        "got 3 with a value in 4 records, 1.334 per class"
    )
    with pytest.raises(ValueError, match="number of records, 2; got 3"):
        bs.masking.anatomize(
            {"a": [1, 2], "b": [1, 2]}, quasi_identifiers="a", sensitive="b", k=2, l=3
        )


def test_a_column_of_the_tables_own_name_is_refused() -> None:
    given = {"class": [1, 2], "b": [1, 2]}
    with pytest.raises(ValueError, match="must have no 'class'"):
        bs.masking.anatomize(given, quasi_identifiers=["class"], sensitive=["b"], k=2)
    given["a"] = [1, 2]
    assert bs.masking.anatomize(given, quasi_identifiers="a", sensitive="b", k=2).classes == 1
