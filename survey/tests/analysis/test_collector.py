"""``plan.collector``: counts that add up to the estimates of the whole table."""

from __future__ import annotations

import enum
import json
import multiprocessing
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.resources import files
from pathlib import Path
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
        for each in (batches, summed, read):
            found = each.counts(*columns)
            assert found.counts.tolist() == wanted.counts.tolist()
            assert found.unanswered == wanted.unanswered
    assert left.records + right.records == 400


def test_estimates_are_those_of_the_table() -> None:
    collector, frame = PLAN.collector(*TABLES), as_frame(reports(600, 2))
    collector.update(frame)
    for columns in (("sex",), ("sex", "age"), ("smokes",), ("a", "b"), ("vote",)):
        got, want = collector.estimate(*columns), sv.Release(frame, PLAN).estimate(*columns)
        np.testing.assert_allclose(got.frequencies, want.frequencies, rtol=1e-12)
        np.testing.assert_allclose(got.interval(), want.interval(), rtol=1e-12)
        assert got.records == want.records
    where: dict[str, object] = {"sex": "F", "age": [1, None]}
    one = sv.Release(collector.counts("sex", "age"), PLAN).count(where)
    assert one.value == pytest.approx(sv.Release(frame, PLAN).count(where).value)


def test_an_empty_collector_says_so_and_a_billion_reports_are_answered() -> None:
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
    none = plan.collector()
    empty = "^`counts` must hold at least one record; got none$"
    for columns in (["sex"], []):
        with pytest.raises(ValueError, match=empty):
            none.estimate(*columns)
    kept = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform", missing="keep")]).collector()
    kept.add({"sex": None})
    with pytest.raises(ValueError, match=empty):
        kept.estimate()
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
    undeclared = "must hold declared categories only; got 1 other value"
    for change, message in (
        ({"vote": "secret answer"}, f"column `vote`: {undeclared}"),
        ({"sex": 1}, "column `sex`: must hold strings, as its categories are; got int"),
        ({"sex": None}, "column `sex`: must hold no missing values; got one"),
        ({"age": True}, "column `age`: must hold "),
        ({"age": 2.5}, "column `age`: must hold "),
        ({"smokes": 1}, "column `smokes`: must hold "),
        ({"a": "x", "b": "2"}, "must hold no combination declared impossible; got one"),
        ({"other": 1}, "`record` must hold columns that the plan protects or keeps; got `other`"),
    ):
        with pytest.raises((ValueError, TypeError), match=message) as error:
            collector.add({**good, **change})
        assert "secret" not in str(error.value)
    with pytest.raises(ValueError, match="`record` must have the column `vote`; got none"):
        collector.add({name: good[name] for name in good if name != "vote"})
    with pytest.raises(ValueError, match="column `sex`: must hold declared categories only"):
        collector.update(as_frame([good, {**good, "sex": "X"}]))
    with pytest.raises(TypeError, match="column `1`: `frame` must hold NumPy arrays or lists; got"):
        collector.update({1: 2})
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
        with pytest.raises(ValueError, match="column `age`: must lie within the breaks"):
            alone.add({**record, "age": 101})
        assert alone.records == 1


def test_another_plan_other_tables_and_broken_texts_raise() -> None:
    collector = PLAN.collector(*TABLES)
    other = sv.Plan(list(PLAN.attributes), name="other", keep=["region", "town"])
    text = collector.to_json()
    with pytest.raises(ValueError, match="`text` must be a collector of plan"):
        Collector.from_json(text, other)
    no_plan: Any = 1.5
    for read in (Collector.from_json, Collector.from_file):
        with pytest.raises(TypeError, match=r"^`plan` must be a Plan; got float"):
            read(text, no_plan)
    with pytest.raises(ValueError, match="`other` must be a collector of plan"):
        collector.merge(other.collector(*TABLES))
    with pytest.raises(ValueError, match="`other` must have the tables"):
        collector.merge(PLAN.collector("sex"))
    for wrong, message in {
        text[:50]: "`text` must be JSON; got ",
        text[:-1]: "`text` must be JSON; got a string that ends too soon",
        "[]": "`text` must be an object; got a list",
        "{}": "`format` must be given; got nothing",
        text.replace('"records"', '"people"'): "`people` must be one of format, version, plan",
        text.replace('"records":0', '"records":0,"records":0'): "`records` must be given once",
        text.replace('"unanswered":0', '"none":0', 1): "`tables.0..none` must be one of columns",
        text[:-1] + ',"mark":1.5}': "`mark` must be a string or an integer; got float",
        text[:-1] + ',"mark":null}': "`mark` must be a string or an integer; got NoneType",
        text.replace('["smokes"]', '["sex"]'): "`tables` must be different; got one twice",
    }.items():
        with pytest.raises(ValueError if "`mark`" not in message else TypeError, match=message):
            Collector.from_json(wrong, PLAN)
    with pytest.raises(ValueError, match="version 1; got version 2"):
        Collector.from_json(text.replace('"version":1', '"version":2'), PLAN)
    for wrong in ('"records":1', '"records":-1'):
        with pytest.raises(ValueError, match="`records` must be"):
            Collector.from_json(text.replace('"records":0', wrong), PLAN)
    for cells, message in {
        "[-1,1]": r"`tables.0..counts.0.` must be from 0 to 9007199254740991; got -1",
        "[0.5,0]": r"`tables.0..counts.0.` must be an integer; got a number",
        "[0,true]": r"`tables.0..counts.1.` must be an integer; got true or false",
        f"[{2**53},0]": r"`tables.0..counts.0.` must be from 0 to ",
        "[0]": r"`tables.0..counts` must have 2 cells for `sex`; got 1$",
        "[[0,0]]": r"`tables.0..counts` must have 2 cells for `sex`; got 1$",
        "3": r"`tables.0..counts` must be a list; got an integer",
    }.items():
        with pytest.raises(ValueError, match=message):
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


def test_sums_and_pickles_hold_what_was_counted() -> None:
    rows = reports(90)
    collectors = [PLAN.collector(*TABLES) for _ in range(3)]
    for i, row in enumerate(rows):
        collectors[i % 3].add(row, mark=i)
    whole = PLAN.collector(*TABLES)
    whole.update(as_frame(rows))
    total = sum(collectors)
    assert isinstance(total, Collector)
    assert total.to_json() == whole.to_json()
    assert total.mark is None
    assert [each.mark for each in collectors] == [87, 88, 89]
    again = pickle.loads(pickle.dumps(collectors[0]))
    assert again.to_json() == collectors[0].to_json()
    assert again.mark == 87
    again.merge(collectors[1])
    assert again.mark == 87
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(Collector.to_json, total).result() == whole.to_json()
    for wrong in (1, 0.0, "", None):
        with pytest.raises(TypeError):
            wrong + whole


def test_a_mark_changes_with_the_counts_or_not_at_all() -> None:
    collector = PLAN.collector("sex")
    collector.update({"sex": ["F", "M"]}, mark="a")
    collector.add({"sex": "F"})
    collector.add_counts({"sex": ["F"], "count": [2]}, mark="b")
    wrong_calls: list[Callable[[], None]] = [
        lambda: collector.add({"sex": "X"}, mark="c"),
        lambda: collector.update({"sex": ["F", "X"]}, mark="c"),
        lambda: collector.add_counts({"sex": ["X"], "count": [2]}, mark="c"),
    ]
    for call in wrong_calls:
        with pytest.raises(ValueError, match="declared categor"):
            call()
    for wrong in (1.5, True, ["d"], b"d"):
        with pytest.raises(TypeError, match="`mark` must be a string or an integer; got "):
            collector.add({"sex": "F"}, mark=wrong)  # type: ignore[arg-type]
    assert (collector.records, collector.mark) == (5, "b")


def test_a_restart_neither_loses_nor_counts_twice(tmp_path: Path) -> None:
    rows, file = reports(200), tmp_path / "counts.json"
    rng = np.random.default_rng(7)
    crashes = 0

    def run() -> None:
        """Read on behind the mark; a process may end between any two steps."""
        collector = Collector.from_file(file, PLAN) if file.exists() else PLAN.collector(*TABLES)
        start = 0 if collector.mark is None else int(collector.mark)
        for at in range(start, len(rows), 10):
            collector.update(as_frame(rows[at : at + 10]), mark=at + 10)
            if rng.random() < 0.3:
                raise InterruptedError
            collector.to_file(file)
            if rng.random() < 0.3:
                raise InterruptedError

    while True:
        try:
            run()
            break
        except InterruptedError:
            crashes += 1
    whole = PLAN.collector(*TABLES)
    whole.update(as_frame(rows), mark=200)
    assert crashes > 3
    assert Collector.from_file(file, PLAN).to_json() == whole.to_json() == file.read_text()


def test_files_are_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collector, file = PLAN.collector(*TABLES), tmp_path / "counts.json"
    with pytest.raises(FileNotFoundError):
        Collector.from_file(file, PLAN)
    collector.to_file(file)
    before = file.read_bytes()
    collector.add(reports(1)[0])

    def half(self: Path, text: str, **_: Any) -> None:
        self.write_bytes(text.encode()[:40])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", half)
        with pytest.raises(KeyboardInterrupt):
            collector.to_file(file)
    assert file.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["counts.json"]
    collector.to_file(str(file))
    assert Collector.from_file(file, PLAN).records == 1
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="must be a file to read; got one that is not UTF-8"):
        Collector.from_file(file, PLAN)
    with pytest.raises(ValueError, match="`path` must be a file to read; got Is a directory"):
        Collector.from_file(tmp_path, PLAN)
    file.write_bytes(before[:50])
    with pytest.raises(ValueError, match=r"counts\.json` must be JSON; got "):
        Collector.from_file(file, PLAN)


# Version 1, as it was first written. It is read for ever, and counts mean the same.
STORED = (
    '{"format":"bistochastic collector","version":1,'
    '"plan":"DIGEST","records":10,"tables":['
    '{"columns":["sex"],"counts":[6,4],"unanswered":0},'
    '{"columns":["smokes"],"counts":[1,2],"unanswered":7},'
    '{"columns":["b"],"counts":[1,0,3,6],"unanswered":0}],"mark":"2026-03-01"}'
)


def test_version_1_is_read_and_follows_its_schema() -> None:
    text = STORED.replace("DIGEST", PLAN.digest)
    found = Collector.from_json(text, PLAN)
    assert found.to_json() == text
    assert found.mark == "2026-03-01"
    assert found.counts("smokes").unanswered == 7
    table = found.counts("b")
    # The columns that are protected together follow: `b` by `a`.
    assert [axis.name for axis in table.axes] == ["b", "a"]
    assert table.counts.tolist() == [[1, 0], [3, 6]]
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(
        files("bistochastic_survey").joinpath("schemas/collector.json").read_text("utf-8")
    )
    judge = jsonschema.Draft202012Validator(schema)
    written = PLAN.collector(*TABLES)
    written.update(as_frame(reports(50)), mark=50)
    for each in (json.loads(text), json.loads(written.to_json())):
        judge.validate(each)
        assert not judge.is_valid({**each, "version": 2})
        assert not judge.is_valid({**each, "people": 2})
        assert not judge.is_valid({**each, "mark": None})


def test_estimates_may_hold_at_every_look() -> None:
    plan = sv.Plan.for_frame({"a": ["no", "yes"], "b": ["x", "y", "z"]}, epsilon=2)
    collector = plan.collector("a", ["a", "b"])
    rng = np.random.default_rng(48)
    true = {"a": rng.choice(["no", "yes"], 4000), "b": rng.choice(["x", "y", "z"], 4000)}
    collector.update(plan.protect(true))
    for columns in (["a"], ["a", "b"]):
        usual = collector.estimate(*columns)
        watched = collector.estimate(*columns, always_valid=True)
        assert watched.frequencies.tolist() == usual.frequencies.tolist()
        assert (np.diff(watched.interval()) > np.diff(usual.interval())).all()
        assert watched.interval() == pytest.approx(usual.interval(always_valid=True))
    with pytest.raises(ValueError, match="`always_valid` must be used with records that are a"):
        collector.estimate("a", population="fixed", always_valid=True)


def test_the_type_of_ids_makes_no_other_counts(tmp_path: Path) -> None:
    sex = sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)
    plain, typed = sv.Plan([sex]), sv.Plan([sex], id_type="string")
    for then, now in ((plain, typed), (typed, plain), (typed, sv.Plan([sex], id_type="bytes"))):
        before, after = then.collector(), now.collector()
        before.update({"sex": ["F", "M", "M"]})
        before.to_file(tmp_path / "counts")
        after.merge(before)
        read = Collector.from_file(tmp_path / "counts", now)
        assert (after + read + before).records == 9
        assert sv.Release(before.counts("sex"), now).estimate("sex").records == 3
    with pytest.raises(ValueError, match="`other` must be a collector of plan"):
        typed.collector().merge(sv.Plan([sex], name="other").collector())


def test_a_condition_is_on_a_column_of_the_same_table() -> None:
    sex = sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)
    town = sv.Categorical("town", [1, 2, 3], "randomized_response", keep=0.75)
    collector = sv.Plan([sex, town]).collector("sex", "town", ("sex", "town"))
    collector.update({"sex": ["F", "M", "M"] * 20, "town": [1, 2, 3, 3, 2, 1] * 10})
    want = sv.Release(collector.counts("sex", "town"), sv.Plan([sex, town]))
    found = collector.estimate("sex", where={"town": 3})
    assert found.to_dict() == want.estimate("sex", where={"town": 3}).to_dict()
    with pytest.raises(ValueError, match="`age`"):
        collector.estimate("sex", where={"age": 3})
    # A column that chooses the matrix is in the table of the column that it is for.
    vote = PLAN.collector("vote", "sex")
    vote.update(as_frame(reports(400)))
    north = vote.estimate("vote", where={"region": "north"})
    assert 0 < north.records < 400
