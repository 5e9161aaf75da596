"""Counts of an engine in the declared table, and estimates that go on from there."""

from __future__ import annotations

import pickle
from collections import Counter, namedtuple
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic.estimate import Estimate
from folded import designed, tabulated

RACES, SEXES = ["a", "b", "c"], ["F", "M"]
LAW = {"n": bs.randomized_response(2, beta=0.7), "s": bs.randomized_response(2, beta=0.4)}


def plan() -> sv.Plan:
    return sv.Plan(
        [
            sv.Joint(
                ("race", "sex"),
                [RACES, SEXES],
                "randomized_response",
                beta=0.4,
                impossible=[("b", "M")],
            ),
            sv.Categorical("votes", [True, False], groups=("region", LAW)),
            sv.Categorical("smokes", [0, 1, 7], "randomized_response", beta=0.5, missing="keep"),
            sv.Categorical("pet", ["cat"], "randomized_response", keep=0.7, missing="category"),
        ],
        name="survey",
        keep=["region", "town"],
    )


def protected(rows: int = 500) -> dict[str, list[Any]]:
    """A protected table, some of whose cells nobody reports."""
    draw = np.random.default_rng(3)
    pairs = [(r, s) for r in RACES for s in SEXES if (r, s) != ("b", "M")]
    both = [pairs[i] for i in draw.integers(0, 4, rows)]
    return {
        "race": [race for race, _ in both],
        "sex": [sex for _, sex in both],
        "region": [["n", "s"][i] for i in draw.integers(0, 2, rows)],
        "votes": [bool(i) for i in draw.integers(0, 2, rows)],
        "smokes": [[0, 1, 7, None][i] for i in draw.integers(0, 4, rows)],
        "pet": [["cat", None][i] for i in draw.integers(0, 2, rows)],
        "town": [int(i) for i in draw.integers(3, 6, rows)],
    }


def counted(table: dict[str, list[Any]], *columns: str) -> list[dict[str, Any]]:
    """A group-by, in some order, without empty cells."""
    tally = Counter(zip(*(table[name] for name in columns), strict=True))
    rows = [{**dict(zip(columns, cell, strict=True)), "count": n} for cell, n in tally.items()]
    order = np.random.default_rng(5).permutation(len(rows)).tolist()
    return [rows[i] for i in order]


def same(one: Estimate, other: Estimate) -> None:
    assert str(one) == str(other)
    assert one.axes == other.axes
    assert one.records == other.records
    for name in ("frequencies", "counts", "standard_errors"):
        assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)


# What is asked for, and what has to be grouped by beside it.
ASKED: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    (("race", "sex"), ()),
    (("sex",), ("race",)),
    (("votes",), ("region",)),
    (("region", "votes"), ()),
    (("sex", "votes"), ("region", "race")),
    (("smokes",), ()),
    (("pet", "smokes"), ()),
]


@pytest.mark.parametrize(("asked", "beside"), ASKED)
def test_an_estimate_from_counts_is_that_of_the_frame(
    asked: tuple[str, ...], beside: tuple[str, ...]
) -> None:
    table = protected()
    rows = counted(table, *asked, *beside)
    found = tabulated(plan(), rows, *asked)
    assert found.columns == asked
    assert [axis.name for axis in found.axes][: len(asked)] == list(asked)
    assert found.records + found.unanswered == 500
    for method in ("inverse", "mle"):
        options: dict[str, Any] = {"method": method}
        same(
            sv.Release(found, plan()).estimate(*found.columns, **designed(options)),
            sv.Release(table, plan()).estimate(*asked, **designed(options)),
        )
    same(
        sv.Release(found, plan()).estimate(*list(asked)), sv.Release(table, plan()).estimate(*asked)
    )


def test_a_table_can_be_asked_for_less_and_inside_a_domain() -> None:
    table = protected()
    columns = ("race", "sex", "votes", "region")
    found = tabulated(plan(), counted(table, *columns), *columns)
    same(sv.Release(found, plan()).estimate("sex"), sv.Release(table, plan()).estimate("sex"))
    for where in ({"region": "s"}, {"votes": True}, {"region": "n", "race": ["a", "b"]}):
        same(
            sv.Release(found, plan()).estimate("sex", "region", where=where),
            sv.Release(table, plan()).estimate("sex", "region", where=where),
        )


def test_cells_are_in_their_declared_places() -> None:
    rows = [
        {"sex": "M", "race": "c", "count": 5},
        {"sex": "F", "race": "b", "count": 2},
        {"sex": "M", "race": "c", "count": 1},
        {"sex": "F", "race": "a", "count": 0},
    ]
    found = tabulated(plan(), rows, "sex", "race")
    # Rows of a cell are added up; the impossible cell is there, and empty.
    assert found.counts.tolist() == [[0, 2, 0], [0, 0, 6]]
    assert [axis.categories for axis in found.axes] == [("F", "M"), ("a", "b", "c")]
    assert repr(found) == "<Counts of 8 records: sex 2 x race 3>"


Pair = namedtuple("Pair", ["smokes", "count"])


class Row(tuple[Any, ...]):
    """As rows of Spark are: a tuple that knows its fields."""

    __fields__ = ("smokes", "count")


LISTS: dict[str, list[Any]] = {"smokes": [7, 0, None], "count": [3, 2, 1]}
FORMS: dict[str, Callable[[], Any]] = {
    "dict of lists": lambda: LISTS,
    "dict of arrays": lambda: {"smokes": np.array([7, 0]), "count": np.array([3, 2], np.uint32)},
    "dicts": lambda: [
        dict(zip(LISTS, each, strict=True)) for each in zip(*LISTS.values(), strict=True)
    ],
    "named tuples": lambda: [Pair(*each) for each in zip(*LISTS.values(), strict=True)],
    "rows of Spark": lambda: [Row(each) for each in zip(*LISTS.values(), strict=True)],
    "pandas": lambda: pd.DataFrame(LISTS).convert_dtypes(),
    "pandas, floats": lambda: pd.DataFrame({"smokes": [7, 0], "count": [3.0, 2.0]}),
    "polars": lambda: pl.DataFrame(LISTS),
    "pyarrow": lambda: pa.table(LISTS),
    "relation": lambda: duckdb.connect().from_arrow(pa.table(LISTS)),
    "result": lambda: duckdb.connect().execute(
        "SELECT 7 AS smokes, 3 AS count UNION ALL SELECT 0, 2"
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_may_come_in_whatever_engines_return(form: str) -> None:
    found = tabulated(plan(), FORMS[form](), "smokes")
    assert found.counts.tolist() == [2, 0, 3]
    assert found.unanswered in (0, 1)


SECRET = "planted value"


def rows(**changes: Any) -> dict[str, Any]:
    return {"race": ["a", "b"], "sex": ["F", "F"], "count": [1, 2], **changes}


def of(**changes: Any) -> Callable[[], Any]:
    return lambda: tabulated(plan(), rows(**changes), "race", "sex")


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        of(race=["a", SECRET]),
        ValueError,
        "column `race`: must hold declared categories only; got 1 other value, the first in row 1",
    ),
    (
        of(sex=["F", "M"]),
        ValueError,
        "must hold no combination declared impossible; got 1, the first in row 1",
    ),
    (
        lambda: tabulated(plan(), {"sex": ["F"], "count": [1]}, "sex"),
        ValueError,
        "`rows` must have the column `race`; got none",
    ),
    (
        lambda: tabulated(plan(), {"votes": [True], "count": [1]}, "votes"),
        ValueError,
        "`rows` must have the column `region`; got none",
    ),
    (
        lambda: tabulated(plan(), rows(), "race", "sex", count="n"),
        ValueError,
        "`rows` must have the column `n`; got none of that name",
    ),
    (
        lambda: tabulated(plan(), rows(), "race", "sex", count="sex"),
        ValueError,
        "`count` must name the column of counts; got `sex`",
    ),
    (
        of(count=[1, -2]),
        ValueError,
        "column `count`: `count` must hold integers .*; got one that is not, in row 1",
    ),
    (of(count=[1, 0.5]), ValueError, "row 1"),
    (of(count=np.array([2**53, 1])), ValueError, "row 0"),
    (of(count=np.array([2**52, 2**52])), ValueError, "less than 2\\^53 in all; got 9.0072e\\+15"),
    (of(count=np.array([np.nan, 1])), ValueError, "got one that is not, in row 0"),
    (of(count=["1", "2"]), TypeError, "`count` must"),
    (lambda: tabulated(plan(), [], "sex"), ValueError, "`rows` must hold at least one row"),
    (
        lambda: tabulated(plan(), [(SECRET, 1)], "sex"),
        TypeError,
        "`rows` must hold dicts, named tuples or rows of Spark, .*; got tuple in row 0",
    ),
    (
        lambda: tabulated(plan(), [{"smokes": 1, "count": 1}, {"smokes": 0}], "smokes"),
        ValueError,
        "`rows` must have the column `count` in every row; got none in row 1",
    ),
    (lambda: tabulated(plan(), 7, "sex"), TypeError, "`rows` must be a frame, .*; got int"),
    (
        lambda: tabulated(plan(), pl.LazyFrame(rows()), "sex"),
        TypeError,
        "got LazyFrame, of which collect\\(\\) makes rows",
    ),
    (
        lambda: tabulated(plan(), {"town": [3], "count": [1]}, "town"),
        ValueError,
        "`tables` must hold columns with declared categories; got `town`",
    ),
    (
        lambda: sv.Release(tabulated(plan(), rows(count=[0, 0]), "race"), plan()).estimate("race"),
        ValueError,
        "`counts` must hold at least one record; got none",
    ),
    (
        lambda: sv.Release(tabulated(plan(), rows(), "race"), plan()).estimate(
            "race", design=sv.Design(weights="w")
        ),
        TypeError,
        "`data` must be a table if weights, strata or cluster are given; got Counts",
    ),
    (
        lambda: sv.Release(tabulated(plan(), rows(), "sex"), plan()).estimate("votes"),
        ValueError,
        "`columns` must be columns of the table; got `votes`, which it lacks",
    ),
    (
        lambda: sv.Release(
            tabulated(plan(), rows(), "sex"),
            sv.Plan([sv.Categorical("sex", ["M", "F"], "uniform")], keep=["race"]),
        ).estimate(*tabulated(plan(), rows(), "sex").columns),
        ValueError,
        "`counts` must be those of plan `plan`, digest .{12}; got digest .{12}$",
    ),
]


@pytest.mark.parametrize(("call", "kind", "sentence"), BAD)
def test_bad_counts_are_refused_in_a_sentence(
    call: Callable[[], Any], kind: type[Exception], sentence: str
) -> None:
    with pytest.raises(kind, match=sentence) as caught:
        call()
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


FOUR = sv.Plan([sv.Categorical("q", list("abcd"), "randomized_response", epsilon=2)], name="four")


def test_counts_of_two_engines_add_up() -> None:
    one = {"q": ["a", "c"], "count": [50, 20]}
    other = {"q": ["b", "c"], "count": [10, 5]}
    whole = tabulated(FOUR, {"q": ["a", "b", "c"], "count": [50, 10, 25]}, "q")
    collector = FOUR.collector("q")
    for rows in (one, other):
        collector.add_counts(rows)
    both = FOUR.collector("q")
    for rows in (one, other):
        each = FOUR.collector("q")
        each.add_counts(rows)
        both.merge(each)
    for found in (collector.counts("q"), both.counts("q"), pickle.loads(pickle.dumps(whole))):
        assert found.counts.tolist() == whole.counts.tolist()
        assert found.counts.dtype == np.int64
        same(sv.Release(found, FOUR).estimate("q"), sv.Release(whole, FOUR).estimate("q"))


def test_a_plan_refuses_the_counts_of_another() -> None:
    counts = tabulated(FOUR, {"q": ["a", "c"], "count": [50, 20]}, "q")
    weaker = sv.Plan(
        [sv.Categorical("q", list("abcd"), "randomized_response", epsilon=0.5)], name="four"
    )
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        sv.Release(counts, weaker).estimate(*counts.columns)
    assert str(caught.value) == (
        f"`counts` must be those of plan `four`, digest {weaker.digest[:12]}; "
        f"got digest {FOUR.digest[:12]}"
    )


def test_counts_stay_as_they_were_and_cannot_be_written_to() -> None:
    collector = FOUR.collector("q")
    collector.add_counts({"q": ["a", "c"], "count": [50, 20]})
    counts = collector.counts("q")
    with pytest.raises(ValueError, match="read-only"):
        counts.counts[1] = -5
    collector.add({"q": "a"})
    assert counts.counts.tolist() == [50, 0, 20, 0]
    assert counts.records == 70
