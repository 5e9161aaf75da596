"""``plan.collector``: counts that add up to the estimates of the whole table."""

from __future__ import annotations

import enum
import json
import threading
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.analysis.collector import Collector

LAWS = {"north": bs.randomized_response(2, beta=0.5), "south": bs.randomized_response(2, keep=0.9)}
PLAN = sv.Plan(
    [
        sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6),
        sv.Categorical("age", [1, 2, 3], "geometric", beta=0.5, missing="category"),
        sv.Categorical("smokes", [True, False], "randomized_response", beta=0.3, missing="keep"),
        sv.Joint(("a", "b"), [["x", "y"], ["1", "2"]], "randomized_response", beta=0.5,
                 impossible=[("x", "2")]),
        sv.Categorical("vote", ["no", "yes"], groups=("region", LAWS)),
    ],
    name="collected",
    keep=["region", "town"],
)  # fmt: skip
TABLES: list[Any] = ["sex", ("sex", "age"), "smokes", ("a", "b"), "vote"]


def reports(n: int, seed: int = 1) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    cells = [("x", "1"), ("y", "1"), ("y", "2")]
    return [
        {
            **dict(zip("ab", cells[rng.integers(3)], strict=True)),
            "sex": "FM"[rng.integers(2)], "age": [1, 2, 3, None][rng.integers(4)],
            "smokes": [True, False, None][rng.integers(3)], "town": f"town {i}",
            "vote": ["no", "yes"][rng.integers(2)], "region": ["north", "south"][rng.integers(2)],
        }
        for i in range(n)
    ]  # fmt: skip


def as_frame(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_one_by_one_in_batches_and_merged_are_the_same() -> None:
    rows = reports(400)
    single, batches, left, right = (PLAN.collector(*TABLES) for _ in range(4))
    for row in rows:
        single.add(row)
    batches.update(as_frame(rows[:150]))
    batches.update(pl.DataFrame(rows[150:300]))
    batches.update(pd.DataFrame(rows[300:]).convert_dtypes())
    for i, row in enumerate(rows):
        (left if i % 3 else right).add(row)
    summed = left + right
    read = Collector.from_json(summed.to_json(), PLAN)
    assert single.records == batches.records == summed.records == read.records == 400
    for columns in single.tables:
        wanted = single.counts(*columns)
        assert batches.counts(*columns) == summed.counts(*columns) == read.counts(*columns)
        assert wanted == batches.counts(*columns)
    assert left.records + right.records == 400


def test_estimates_counts_and_ratios_are_those_of_the_table() -> None:
    collector, frame = PLAN.collector(*TABLES), as_frame(reports(600, 2))
    collector.update(frame)
    for columns in (("sex",), ("sex", "age"), ("smokes",), ("a", "b"), ("vote",)):
        got, want = collector.estimate(*columns), sv.Release(frame, PLAN).estimate(*columns)
        np.testing.assert_allclose(got.frequencies, want.frequencies, rtol=1e-12)
        np.testing.assert_allclose(got.interval(), want.interval(), rtol=1e-12)
        assert got.records == want.records
    where: dict[str, object] = {"sex": "F", "age": [1, None]}
    for one, other in (
        (collector.count(where), sv.Release(frame, PLAN).count(where)),
        (
            collector.ratio({"sex": "F"}, {"age": 2}),
            sv.Release(frame, PLAN).ratio({"sex": "F"}, {"age": 2}),
        ),
    ):
        assert [one.value, one.standard_error] == pytest.approx([other.value, other.standard_error])
        assert one.interval() == pytest.approx(other.interval())


def test_an_empty_collector_says_so_and_a_billion_reports_are_answered() -> None:
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
    none = plan.collector()
    empty = "^`collector` must hold a reported record with a value; got an empty one$"
    for ask in (lambda: none.estimate("sex"), lambda: none.estimate(),
                lambda: none.count({"sex": "F"}), lambda: none.ratio({"sex": "F"})):  # fmt: skip
        with pytest.raises(ValueError, match=empty):
            ask()
    kept = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform", missing="keep")]).collector()
    kept.add({"sex": None})
    with pytest.raises(ValueError, match=r"; got 1 without a value$"):
        kept.count({"sex": "F"})
    found = json.loads(none.to_json())
    found["records"] = 10**9
    found["tables"][0]["counts"] = [6 * 10**8, 4 * 10**8]
    many = Collector.from_json(json.dumps(found), plan)
    assert many.estimate("sex").counts == pytest.approx([7 * 10**8, 3 * 10**8])


def test_what_is_wrong_is_said_and_nothing_is_lost() -> None:
    collector = PLAN.collector(*TABLES)
    good = reports(1)[0]
    collector.add(good)
    before = collector.to_json()
    undeclared = "must hold a declared category; got an undeclared one"
    for change, message in (
        ({"vote": "secret answer"}, f"column `vote`: {undeclared}"),
        ({"sex": 1}, f"column `sex`: {undeclared}"),
        ({"sex": None}, f"column `sex`: {undeclared}"),
        ({"age": True}, f"column `age`: {undeclared}"),
        ({"age": 2.5}, f"column `age`: {undeclared}"),
        ({"smokes": 1}, f"column `smokes`: {undeclared}"),
        ({"a": "x", "b": "2"}, "must hold no combination declared impossible; got one"),
        ({"other": 1}, "`record` must hold columns that the plan protects or keeps; got `other`"),
    ):
        with pytest.raises(ValueError, match=message) as error:
            collector.add({**good, **change})
        assert "secret" not in str(error.value)
    with pytest.raises(ValueError, match="column `vote`: must be in `record`; got none"):
        collector.add({name: good[name] for name in good if name != "vote"})
    with pytest.raises(ValueError, match="column `sex`: must hold declared categories only"):
        collector.update(as_frame([good, {**good, "sex": "X"}]))
    assert collector.to_json() == before


def test_a_record_is_taken_as_a_table_of_one_row_is() -> None:
    binned = sv.Binned("age", [0, 18, 65, 100], "randomized_response", beta=0.6, output="number")
    flag = sv.Categorical("flag", [1, 2], "randomized_response", beta=0.6, missing="keep")
    plan = sv.Plan([binned, flag])
    one = enum.IntEnum("one", {"one": 1}).one  # type: ignore[attr-defined] # made here
    for record in ({"age": 17.5, "flag": one}, {"age": np.float32(65), "flag": np.float32("nan")}):
        alone, table = plan.collector(), plan.collector()
        alone.add(record)
        table.update({name: [value] for name, value in record.items()})
        assert alone.to_json() == table.to_json()
        with pytest.raises(ValueError, match="column `age`: must hold a declared category"):
            alone.add({**record, "age": 101})
        assert alone.records == 1


def test_another_plan_other_tables_and_broken_texts_raise() -> None:
    collector = PLAN.collector(*TABLES)
    other = sv.Plan(list(PLAN.attributes), name="other", keep=["region", "town"])
    text = collector.to_json()
    with pytest.raises(ValueError, match="`text` must be a collector of plan"):
        Collector.from_json(text, other)
    with pytest.raises(ValueError, match="`other` must be a collector of plan"):
        collector.merge(other.collector(*TABLES))
    with pytest.raises(ValueError, match="`other` must have the tables"):
        collector.merge(PLAN.collector("sex"))
    for cut in (text[:50], "[]", text.replace('"records"', '"people"')):
        with pytest.raises(ValueError, match="`text` must be the JSON of a collector"):
            Collector.from_json(cut, PLAN)
    with pytest.raises(ValueError, match="version 1; got version 2"):
        Collector.from_json(text.replace('"version":1', '"version":2'), PLAN)
    for wrong in ('"records":1', '"records":-1'):
        with pytest.raises(ValueError, match="`records` must be"):
            Collector.from_json(text.replace('"records":0', wrong), PLAN)
    whole = "`counts` must hold integers that are not negative; got one that is not"
    for cells in ("[-1,1]", "[0.5,0]", "[true,0]", f"[{2**53},0]", "[null,0]", '["1",0]'):
        with pytest.raises(ValueError, match=whole):
            Collector.from_json(text.replace("[0,0]", cells, 1), PLAN)
    for cells, got in (("[0]", "1"), ("[[0,0]]", "1"), ("3", "int")):
        with pytest.raises(ValueError, match=f"must have 2 cells for `sex`; got {got}$"):
            Collector.from_json(text.replace("[0,0]", cells, 1), PLAN)
    most = collector.to_json().replace("[0,0]", f"[{2**53 - 1},0]", 1)
    alone = sv.Plan([PLAN.attributes[0]])
    most = most.replace(PLAN.digest, alone.digest).replace('"records":0', f'"records":{2**53 - 1}')
    end = most.index(',{"columns":["sex","age"]')
    full = Collector.from_json(most[:end] + "]}", alone)
    with pytest.raises(ValueError, match=r"less than 2\^53 in all; got a sum of 9.0072e\+15"):
        full.update({"sex": ["F", "M"]})
    assert full.records == 2**53 - 1
    with pytest.raises(ValueError, match="`columns` must be in one table of"):
        collector.estimate("sex", "vote")
    with pytest.raises(ValueError, match="`tables` must hold columns with declared categories"):
        PLAN.collector("town")
    wide = sv.Plan([sv.Categorical(n, range(2000), "randomized_response", beta=0.5) for n in "abc"])
    with pytest.raises(ValueError, match=r"at most 2\^27 cells"):
        wide.collector(("a", "b", "c"))


def test_threads_lose_nothing() -> None:
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    collector = plan.collector()

    def work() -> None:
        for _ in range(2000):
            collector.add({"sex": "F"})

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert collector.counts("sex").counts.tolist() == [8000, 0]
