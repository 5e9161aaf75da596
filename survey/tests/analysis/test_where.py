"""Conditions: levels in whatever holds them, and those that cannot be met."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.files.tables import Source
from folded import designed

PLAN = sv.Plan(
    [
        sv.Categorical("v", [0, 1, 2], "randomized_response", keep=0.7),
        sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75),
        sv.Categorical("job", ["x", "y"], groups=("region", {
            1: bs.randomized_response(2, keep=0.8), 2: bs.randomized_response(2, keep=0.9)})),
        sv.Categorical("edu", ["lo", "hi"], "randomized_response", keep=0.8, missing="keep"),
        sv.Categorical("pet", ["cat"], "randomized_response", keep=0.7, missing="category"),
    ],
    keep="*",
)  # fmt: skip


def table(rows: int = 300) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {
        "v": rng.integers(0, 3, rows), "sex": rng.choice(["F", "M"], rows),
        "job": rng.choice(["x", "y"], rows), "region": rng.integers(1, 3, rows),
        "edu": [["lo", "hi", None][i] for i in rng.integers(0, 3, rows)],
        "pet": [["cat", None][i] for i in rng.integers(0, 2, rows)],
        "town": rng.choice(["A", "B", "C"], rows), "age": rng.integers(20, 23, rows),
        "owns": rng.integers(0, 2, rows).astype(bool), "w": rng.uniform(1, 2, rows),
    }  # fmt: skip


FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "dict": dict,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}
HOLDERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "generator": iter,
    "keys": lambda x: dict.fromkeys(x).keys(),
    "array": np.array,
    "objects": lambda x: np.array(x, object),
    "scalars": lambda x: list(np.array(x)),
    "mixed": lambda x: [x[0], *np.array(x)[1:]],
    "pandas": pd.Series,
    "nullable": lambda x: pd.Series(x).convert_dtypes(),
    "index": pd.Index,
    "polars": pl.Series,
    "arrow": pa.array,
    "chunked": lambda x: pa.chunked_array([x]),
}
every_frame = pytest.mark.parametrize("frame", sorted(FRAMES))


def same(one: Any, other: Any) -> None:
    assert one.axes == other.axes
    assert np.array_equal(one.frequencies, other.frequencies)
    assert np.array_equal(one.standard_errors, other.standard_errors)


@pytest.mark.parametrize("holder", sorted(HOLDERS))
@every_frame
def test_levels_may_be_held_by_anything(frame: str, holder: str) -> None:
    data = FRAMES[frame](table())
    conditions: dict[str, list[Any]] = {
        "v": [0, 1], "age": [20, 22], "town": ["A", "C"], "sex": ["F"], "region": [2],
        "owns": [True],
    }  # fmt: skip
    for column, levels in conditions.items():
        if holder == "chunked" and frame == "dict":
            continue
        held = HOLDERS[holder]
        for asked in (("v",), (column, "sex") if column != "sex" else ("sex",), ("region", "job")):
            if column == "sex" and asked != ("v",):
                continue
            want = sv.Release(data, PLAN).estimate(*asked, where={column: levels})
            same(sv.Release(data, PLAN).estimate(*asked, where={column: held(levels)}), want)
        count = sv.Release(data, PLAN).count({column: levels})
        assert sv.Release(data, PLAN).count({column: held(levels)}) == count
        ratio = sv.Release(data, PLAN).ratio({"sex": "M"}, {column: levels})
        assert sv.Release(data, PLAN).ratio({"sex": "M"}, {column: held(levels)}) == ratio


def test_a_scalar_of_numpy_is_its_level() -> None:
    for one in (np.int64(1), np.uint8(1), np.array(1), [np.int64(1), 1]):
        assert sv.Release(table(), PLAN).estimate("v", where={"v": one}).axes[0].categories == (1,)


MISSING = [None, np.nan, float("nan"), pd.NA, pd.NaT, np.ma.masked, np.datetime64("NaT")]


@pytest.mark.parametrize("missing", MISSING, ids=repr)
@every_frame
def test_missing_is_missing_however_it_is_written(frame: str, missing: Any) -> None:
    given = table()
    given["note"] = [None, *["n"] * 298, None]
    data = FRAMES[frame](given)
    for column in ("pet", "note"):
        want = sv.Release(data, PLAN).count({column: None})
        assert sv.Release(data, PLAN).count({column: [missing]}) == want
        same(
            sv.Release(data, PLAN).estimate("sex", where={column: missing}),
            sv.Release(data, PLAN).estimate("sex", where={column: None}),
        )
    assert sv.Release(data, PLAN).estimate("sex", where={"note": missing}).records == 2


# What cannot be met is a mistake.


@pytest.mark.parametrize("levels", ["D", ["A", "D"], 7, [7, "A"], True], ids=repr)
@every_frame
def test_a_level_that_does_not_occur_is_an_error(frame: str, levels: Any) -> None:
    data = FRAMES[frame](table())
    calls: dict[str, list[Callable[[], Any]]] = {
        "where": [
            lambda: sv.Release(data, PLAN).estimate("sex", where={"town": levels}),
            lambda: sv.Release(data, PLAN).estimate("sex", "town", where={"town": levels}),
            lambda: sv.Release(data, PLAN).count({"town": levels}),
            lambda: sv.Release(data, PLAN).mean("v", where={"town": levels, "sex": "F"}),
            lambda: sv.Release(data, PLAN).ratio({"town": levels}, {"town": "A"}),
        ],
        "given": [lambda: sv.Release(data, PLAN).ratio({"town": "A"}, {"town": levels})],
    }
    for named, ask_ in calls.items():
        for each in ask_:
            with pytest.raises(ValueError, match="must hold categories") as caught:
                each()
            got = {"D": "'D'", "7": "7", "True": "True"}
            wrong = levels if not isinstance(levels, list) else next(x for x in levels if x != "A")
            assert str(caught.value) == (
                f"`{named}` must hold categories that occur in column `town`, or that its type "
                f"declares; got {got[str(wrong)]}"
            )


def test_a_declared_level_need_not_occur() -> None:
    levels = ["A", "B", "C", "D"]
    plain = table()
    frames = {
        "ordered": pd.DataFrame(plain).assign(
            town=pd.Categorical(plain["town"], categories=levels, ordered=True)
        ),
        "enum": pl.DataFrame(plain).with_columns(pl.col("town").cast(pl.Enum(levels))),
        "arrow": pa.table({**plain, "town": pa.DictionaryArray.from_arrays(
            np.searchsorted(levels, plain["town"]), pa.array(levels), ordered=True)}),
    }  # fmt: skip
    want = sv.Release(plain, PLAN).estimate("sex", where={"town": "A"})
    for frame in frames.values():
        same(sv.Release(frame, PLAN).estimate("sex", where={"town": ["A", "D"]}), want)
        assert sv.Release(frame, PLAN).count({"town": ["D"]}).value == 0
        with pytest.raises(ValueError, match="must leave at least one record"):
            sv.Release(frame, PLAN).estimate("sex", where={"town": "D"})
        with pytest.raises(ValueError, match="categories that occur in column `town`"):
            sv.Release(frame, PLAN).estimate("sex", where={"town": ["A", "E"]})
    # Categories that are not ordered are those that happened to occur somewhere.
    loose = pd.DataFrame(plain).assign(town=pd.Categorical(plain["town"], categories=levels))
    with pytest.raises(ValueError, match="categories that occur in column `town`"):
        sv.Release(loose, PLAN).estimate("sex", where={"town": ["A", "D"]})
    # A truth value is declared by its type, and a group by the plan.
    for make in FRAMES.values():
        never = make({**plain, "owns": np.zeros(300, bool), "region": np.full(300, 2)})
        assert sv.Release(never, PLAN).count({"owns": True}).value == 0
        assert sv.Release(never, PLAN).count({"region": 1}).value == 0
        same(
            sv.Release(never, PLAN).estimate("job", where={"region": [1, 2]}),
            sv.Release(never, PLAN).estimate("job", where={"region": 2}),
        )
        with pytest.raises(ValueError, match="declared categories of `region`; got 3"):
            sv.Release(never, PLAN).estimate("sex", where={"region": [2, 3]})


class InBatches(Source):
    """A file that is read in batches of some rows."""

    def __init__(self, data: pa.Table, step: int) -> None:
        self._name, self._data, self._step, self.schema = "file", data, step, data.schema

    def _each(self, columns: list[str] | None) -> Any:
        return self._data.select(columns).to_batches(self._step)


def test_a_level_may_occur_in_a_later_batch() -> None:
    data, where = pa.table(table()).sort_by("town"), {"town": ["A", "C"]}
    source = InBatches(data, 50)
    release = sv.Release(source, PLAN)
    found = release.estimate("sex", where=where)
    same(found, sv.Release(data, PLAN).estimate("sex", where=where))
    backwards = sv.Release(InBatches(data.take(np.arange(300)[::-1]), 50), PLAN)
    for columns in (("town",), ("sex", "town", "owns"), ("age", "v")):
        want = sv.Release(data, PLAN).estimate(*columns)
        same(release.estimate(*columns), want)
        same(backwards.estimate(*columns), want)
    with pytest.raises(ValueError, match=r"categories that occur in column `town`.*got 'D'"):
        release.estimate("sex", where={"town": ["A", "D"]})


def test_counts_know_the_levels_of_their_axes() -> None:
    collector = PLAN.collector(("sex", "job"))
    collector.update(table())
    counts = collector.counts("sex", "job")
    for where in ({"region": np.array([1])}, {"region": [1, 2], "sex": "F"}):
        found = sv.Release(counts, PLAN).estimate("job", where=where)
        same(found, sv.Release(table(), PLAN).estimate("job", where=where))
    with pytest.raises(ValueError, match="declared categories of `region`; got 3"):
        sv.Release(counts, PLAN).estimate("job", where={"region": [1, 3]})


# Truth values are no numbers.


@every_frame
def test_true_is_not_1_and_1_is_not_true(frame: str) -> None:
    data = FRAMES[frame]({**table(), "child": [0, 1, 1] * 100})
    for column, level in {"child": True, "owns": 1, "age": False}.items():
        for ask_ in (
            lambda c=column, x=level: sv.Release(data, PLAN).estimate("sex", where={c: [x]}),
            lambda c=column, x=level: sv.Release(data, PLAN).count({c: [x]}),
            lambda c=column, x=level: sv.Release(data, PLAN).ratio({"sex": "F"}, {c: [x]}),
        ):
            with pytest.raises(ValueError, match=f"categories that occur in column `{column}`"):
                ask_()
    assert sv.Release(data, PLAN).estimate("sex", where={"child": 1}).records == 200
    owned = int(table()["owns"].sum())
    assert sv.Release(data, PLAN).estimate("sex", where={"owns": np.True_}).records == owned
    for truth in (True, np.True_, [0, False]):
        with pytest.raises(ValueError, match="declared categories of `v`; got "):
            sv.Release(data, PLAN).estimate("v", where={"v": truth})
    truths = sv.Plan([sv.Categorical("owns", [False, True], "randomized_response", keep=0.7)])
    with pytest.raises(ValueError, match="declared categories of `owns`; got 1"):
        sv.Release(data, truths).estimate("owns", where={"owns": [1]})


# Who did not answer, and who is outside.


@every_frame
def test_who_did_not_answer_is_counted_inside_the_domain_alone(frame: str) -> None:
    given = table()
    inside = given["town"] == "A"
    silent = np.array([value is None for value in given["edu"]])
    data = FRAMES[frame](given)
    assert 0 < (silent & inside).sum() < silent.sum()

    def said(n: int) -> str:
        return f"{n} records without an answer left out"

    found = sv.Release(data, PLAN).estimate("edu", where={"town": "A"})
    assert found.records == (inside & ~silent).sum()
    assert found.notes == (said((silent & inside).sum()),)
    assert sv.Release(data, PLAN).estimate("edu").notes == (said(silent.sum()),)
    # A protected domain says who is in it of nobody, so all are counted.
    assert said(silent.sum()) in sv.Release(data, PLAN).estimate("edu", where={"sex": "F"}).notes
    assert said(silent.sum()) in sv.Release(data, PLAN).count({"edu": "lo", "town": "A"}).notes
    release = sv.Release(InBatches(pa.table(given), 77), PLAN)
    found = release.estimate("edu", where={"town": "A"})
    assert said(int((silent & inside).sum())) in found.notes


@every_frame
def test_rows_outside_of_a_known_domain_are_no_units(frame: str) -> None:
    given = table()
    inside = given["town"] == "A"
    n = int(inside.sum())
    data = FRAMES[frame](given)
    part = FRAMES[frame]({name: np.array(values, object)[inside].tolist()
                          for name, values in given.items()})  # fmt: skip
    # Of records that count alike, those of a domain in clear are a sample of their own.
    for columns in (("v",), ("sex", "age"), ("job",), ("region", "job")):
        found = sv.Release(data, PLAN).estimate(*columns, where={"town": "A"})
        want = sv.Release(part, PLAN).estimate(*columns)
        assert np.allclose(found.standard_errors, want.standard_errors, rtol=1e-12)
        assert np.allclose(found.interval(), want.interval(), rtol=1e-12)
    found = sv.Release(data, PLAN).estimate("job", where={"town": "A"})
    assert (found.records, found.degrees) == (n, n - 1)
    # With answers missing, too, those who answered are.
    answered = np.array([value is not None for value in given["edu"]])
    assert sv.Release(data, PLAN).mean("edu", [0, 1]).degrees == answered.sum() - 1
    both = sv.Release(data, PLAN).covariance(["edu", "age"], {"edu": [0, 1]})
    assert both.degrees == answered.sum() - 1
    # With weights or clusters all rows are units, those outside with a weight of 0.
    designs: list[tuple[dict[str, Any], int]] = [({"weights": "w"}, 299), ({"cluster": "age"}, 2)]
    for options, degrees in designs:
        assert (
            sv.Release(data, PLAN).estimate("v", where={"town": "A"}, **designed(options)).degrees
            == degrees
        )
        assert (
            sv.Release(data, PLAN).mean("v", where={"town": "A"}, **designed(options)).degrees
            == degrees
        )
    release = sv.Release(InBatches(pa.table(given), 300), PLAN)
    for design, degrees in ((sv.Design(), n - 1), (sv.Design(weights="w"), 299)):
        assert release.estimate("job", where={"town": "A"}, design=design).degrees == degrees


def test_true_and_1_are_two_levels_of_objects() -> None:
    plan = sv.Plan([sv.Categorical("v", ["a", "b"], "identity")], keep=["g"])
    for frame in (
        {"v": ["a"] * 4, "g": [1, True, 1, True]},
        pd.DataFrame({"v": ["a"] * 4, "g": pd.Series([1, True, 1, True], dtype=object)}),
    ):
        assert sv.Release(frame, plan).count(where={"g": [1]}).value == 2
        assert sv.Release(frame, plan).count(where={"g": [True]}).value == 2


def test_what_a_permuted_column_cannot_answer_is_said_truly() -> None:
    """What a refusal offers in its place is answered: each sentence is tried."""
    n = 40
    frame: dict[str, Any] = {"x": [float(i) for i in range(n)], "sex": ["F", "M"] * 20,
                             "town": ["A", "B"] * 20, "w": [1.0, 2.0] * 20}  # fmt: skip
    sex = sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)
    weights = sv.Design(weights="w")
    laws: list[tuple[Any, dict[str, Any]]] = [
        ("k_anonymous", {"k": 5}), ("randomized_response", {"keep": 0.6}),
    ]  # fmt: skip
    for family, options in laws:
        made = sv.Numeric("x", family, **options)
        release = sv.Release(frame, sv.Plan([made, sex], keep=["town", "w"]))
        undone = family == "randomized_response"
        calls: list[tuple[Any, bool]] = [
            (lambda r: r.mean("x", where={"sex": "F"}), undone),
            (lambda r: r.mean("x", where={"sex": "F"}, design=weights), undone),
            (lambda r: r.mean("x", where={"town": "A"}), True),
            (lambda r: r.mean("x", where={"town": "A"}, design=weights), True),
            (lambda r: r.mean("x", design=weights), True),
            (lambda r: r.covariance(["x", "x"]), True),
            (lambda r: r.covariance(["x", "x"], design=weights), undone),
            (lambda r: r.covariance(["x", "w"]), undone),
            (lambda r: r.correlation(["x", "w"]), undone),
        ]
        said = set()
        for call, answered in calls:
            if answered:
                assert np.isfinite(call(release).value)
                continue
            with pytest.raises(ValueError, match=r"^column `x`: `.*; got k_anonymous") as error:
                call(release)
            said.add(str(error.value).partition("; got")[0].partition(": ")[2])
        cure = "with a column permuted by randomized response"
        assert said == (set() if undone else {
            f"`mean` must be used without conditions on protected columns or {cure}",
            "`covariance` must be used with one column twice on the whole table without weights "
            f"or {cure}",
            f"`correlation` must be used {cure}",
        })  # fmt: skip
