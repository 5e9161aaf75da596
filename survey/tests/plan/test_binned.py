"""Numbers and dates in public classes: codes, what is published, the law of numbers, estimates."""

from __future__ import annotations

import hashlib
import itertools
import math
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bistochastic as bs
import bistochastic_survey as sv
import protocol as law
from bistochastic_survey.plan.bins import Bins
from folded import waved

RR: Literal["randomized_response"] = "randomized_response"
GEO: Literal["geometric"] = "geometric"
KEY = bytes(range(32))


def key(name: str) -> bs.Key:
    return bs.Key.from_bytes(hashlib.sha256(name.encode()).digest())


def columns(rows: int = 400) -> dict[str, Any]:
    random = np.random.default_rng(3)
    days = np.datetime64("2024-01-01") + random.integers(0, 366, rows)
    return {
        "id": [f"p{i}" for i in range(rows)],
        "age": random.integers(0, 121, rows),
        "wage": random.integers(0, 4000, rows) / 4,
        "born": days.astype("M8[D]"),
        "hid": [f"h{i // 3}" for i in range(rows)],
    }


def plan(output: Any = "number", **options: Any) -> sv.Plan:
    number = output == "number"
    return sv.Plan(
        [
            sv.Binned("age", [0, 18, 65, 120], GEO, epsilon=1, output=output),
            sv.Binned("wage", np.arange(0, 1001, 62.5), GEO, epsilon=2, output=output,
                      step=0.25 if number else None),
            sv.Binned("born", [*(date(2024, month, 1) for month in range(1, 13)), "2025-01-01"],
                      RR, epsilon=2, output=output),
        ],
        **{"name": "bins", "keep": ["hid"], "units": [], **options},
    )  # fmt: skip


# Classes.


@settings(max_examples=200, deadline=None)
@given(
    breaks=st.lists(st.integers(-50, 50) | st.floats(-50, 50), min_size=1, max_size=6, unique=True),
    values=st.lists(st.integers(-60, 60), min_size=1, max_size=20),
    ends=st.sampled_from([(), ("low",), ("high",), ("low", "high")]),
    kind=st.sampled_from(["int8", "int64", "float32", "float64"]),
)  # fmt: skip
def test_classes_are_half_open_and_the_last_one_closed(
    breaks: list[Any], values: list[int], ends: tuple[str, ...], kind: str
) -> None:
    edges = sorted(set(map(float, breaks)))
    if len(edges) + len(ends) < 2:
        return
    bins = Bins.of(breaks=edges, open=ends)
    codes, outside = bins.codes(np.array(values, kind))
    for value, code, out in zip(
        values, codes, np.zeros(len(values), bool) if outside is None else outside, strict=True
    ):
        places = [i for i, (a, b) in enumerate(itertools.pairwise(bins.ends)) if a <= value < b]
        if not places and "high" not in ends and value == edges[-1]:
            places = [len(bins.names) - 1]
        assert out == (not places)
        assert out or code == places[0]


def test_labels_of_months_quarters_and_years() -> None:
    names = {
        "month": ("2024-11", "2024-12", "2025-01"),
        "quarter": ("2024-Q4", "2025-Q1"),
        "year": ("2024", "2025"),
    }
    starts = {"month": [11, 12, 13, 14], "quarter": [10, 13, 16], "year": [1, 13, 25]}
    for width, want in names.items():
        days = [date(2024 + (m - 1) // 12, (m - 1) % 12 + 1, 1) for m in starts[width]]
        assert Bins.of(days).names == want
    assert Bins.of(breaks=["2024-01-01", "2024-01-15"]).names == ("[2024-01-01, 2024-01-15)",)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"breaks": [0, 2, 1]}, "`breaks` must increase; got one that does not at 2"),
    ({"breaks": [0, 0]}, "`breaks` must increase"),
    ({"breaks": [1]}, "must make one class or more"),
    ({"breaks": [0, math.inf]}, "must be finite"),
    ({"breaks": [0, math.nan]}, "must be finite"),
    ({"breaks": [0, date(2024, 1, 1)]}, "all numbers or all dates"),
    ({"breaks": [datetime(2024, 1, 1), datetime(2024, 2, 1)]}, "got datetime"),
    ({"breaks": None}, "must be a list of numbers or dates; got none"),
    ({"breaks": [0, 1], "open": ("left",)}, "`open` must hold"),
    ({"breaks": [0, 1], "open": np.zeros((2, 2))}, "`open` must hold"),
    ({"breaks": [0, 1], "open": "low"}, "`open` must hold"),
    ({"breaks": [0, 1], "open": ("low",), "output": "number"}, "which have no number"),
    ({"breaks": [0, 1], "open": ("low",), "output": "midpoint"}, "which have no number"),
    ({"breaks": [0, 1], "step": 1}, "`step` must be given with"),
    ({"breaks": [0, 0.5], "output": "number"}, "`step` must be given"),
    ({"breaks": [0, 1, 2], "output": "number", "step": 3}, "in every class; got none in 1"),
    ({"breaks": [0, 1], "output": "number", "step": 1e-9}, "at most 2\\^24 numbers"),
    ({"breaks": [0, 1], "top": 2}, "`top` must lie in one of the classes"),
    ({"breaks": [0, 9], "top": 2, "bottom": 3}, "`bottom` must be below top"),
    ({"breaks": ["2024-01-01", "2024-02-01"], "output": "number", "step": 0.5}, "of whole days"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_bins_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=rf"^column `x`: .*{message}"):
        sv.Binned("x", family=RR, beta=0.6, **options)


# What is read.


def test_values_outside_are_counted_and_the_first_row_named() -> None:
    made = sv.Plan([sv.Binned("x", [0, 10], RR, beta=0.6)])
    with pytest.raises(ValueError, match=r"got 2 rows outside, the first row 1$"):
        made.protect({"x": [5, 11, -1]})
    with pytest.raises(ValueError, match=r"got 1 row outside, the first row 0$"):
        made.protect({"x": [10.5]})
    with pytest.raises(ValueError, match="must hold finite numbers; got an infinite one in row 1"):
        made.protect({"x": np.array([1.0, math.inf])})
    with pytest.raises(TypeError, match="must hold integers or floats"):
        made.protect({"x": ["a"]})
    wide = sv.Plan([sv.Binned("x", [0, 10], RR, beta=0.6, open=("low", "high"))])
    assert set(wide.protect({"x": [-5, 0, 10, 999]}).data["x"]) <= set(
        wide.attributes[0].axes[0].values
    )
    clipped = sv.Plan([sv.Binned("x", [0, 10], RR, beta=0.6, bottom=0, top=9)])
    assert len(clipped.protect({"x": [-5, 0, 10, 999]}).data["x"]) == 4


def test_dates_with_a_time_zone_are_refused() -> None:
    years = ["2024-01-01", "2025-01-01", "2026-01-01"]
    made = sv.Plan([sv.Binned("t", years, RR, beta=0.6)])
    naive = pd.DataFrame({"t": pd.to_datetime(["2024-05-01 13:00", "2025-12-31 23:59"])})
    assert set(made.protect(naive).data["t"]) <= {"2024", "2025"}
    frames: list[Any] = [
        naive.assign(t=naive["t"].dt.tz_localize("UTC")),
        pl.from_pandas(naive).with_columns(pl.col("t").dt.replace_time_zone("UTC")),
        naive.assign(t=[1, 2]),
    ]
    for frame in frames:
        with pytest.raises(TypeError, match="column `t`: must hold dates without a time zone"):
            made.protect(frame)


@pytest.mark.parametrize("missing", ["raise", "keep", "category"])
@pytest.mark.parametrize("output", ["interval", "midpoint", "number"])
def test_missing_numbers(missing: Any, output: Any) -> None:
    made = sv.Plan([sv.Binned("x", [0, 10, 20], RR, keep=0.4, missing=missing, output=output)])
    values = [1.0, None, 15.0, None] * 50
    for frame in (
        {"x": values},
        pd.DataFrame({"x": values}),
        pl.DataFrame({"x": values}),
        pa.table({"x": values}),
    ):
        if missing == "raise":
            with pytest.raises(ValueError, match="must hold no missing values; got 100"):
                made.protect(frame)
            continue
        out: Any = made.protect(frame).data
        column = out["x"].to_pylist() if isinstance(out, pa.Table) else list(out["x"])
        none = pd.Series(column).isna()
        if missing == "keep":
            assert (none == pd.Series(values).isna()).all()
        else:
            assert 0 < none.sum() < 200
        found_again = sv.Release(out, made).estimate("x")
        assert abs(found_again.frequencies.sum() - 1) < 1e-9


@pytest.mark.parametrize(
    "kind", ["int8", "uint8", "int16", "int64", "uint64", "float32", "float64"]
)
def test_classes_are_exact_for_every_type_up_to_its_ends(kind: str) -> None:
    """Against fractions, for values next to breaks and at the ends of the type."""
    dtype = np.dtype(kind)
    breaks: list[Any] = [-1e19, -(2.0**63), -128, 0, 127.5, 1000, 2**53, 1e18, 2.0**63, 1.5e19]
    near = [x + d for x in map(int, breaks) for d in (-50, -1, 0, 1, 50)]
    if dtype.kind == "f":
        values = np.array([float(x) for x in near], dtype)
    else:
        ends = np.iinfo(dtype)
        near += [int(ends.min), int(ends.max)]
        values = np.array([x for x in near if ends.min <= x <= ends.max], dtype)
    for start, stop in itertools.combinations(range(len(breaks)), 2):
        some = breaks[start : stop + 1]
        codes, outside = Bins.of(some).codes(values)
        for at, value in enumerate(values.tolist()):
            inside = Fraction(some[0]) <= Fraction(value) <= Fraction(some[-1])
            assert inside == (outside is None or not outside[at])
            if inside:
                below = sum(Fraction(x) <= Fraction(value) for x in some[:-1])
                assert codes[at] == below - 1


def test_large_integers_beyond_the_last_break_are_outside() -> None:
    made = sv.Plan([sv.Binned("x", [0, 1e18], "uniform")])
    for values in (
        np.array([10**18 + 50]), np.array([10**18 + 50], np.uint64), pa.array([10**18 + 50]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="must lie within the breaks; got 1 row outside"):
            made.protect(pa.table({"x": values}))
    made.protect({"x": np.array([10**18], np.uint64)})
    wide = sv.Plan([sv.Binned("x", [0, 1e19, 1.5e19], "identity")])
    out = wide.protect({"x": np.array([2**63, 10**19 + 2**12], np.uint64)}).data["x"]
    assert list(out) == ["[0, 1e+19)", "[1e+19, 1.5e+19]"]


@pytest.mark.parametrize("kind", ["int8", "uint8", "float16", "int64"])
def test_ends_beyond_the_type_of_a_column_replace_nothing(kind: str) -> None:
    values = np.array([3, 100, 7] * 100, kind)
    for made in (
        sv.Plan([sv.Binned("x", [-(10**6), 10, 10**6], "identity", top=10**5, bottom=-(10**5))]),
        sv.Plan([sv.Numeric("x", "identity", top=10**5, bottom=-(10**5))]),
    ):
        out = made.protect({"x": values}).data["x"]
        binned = isinstance(made.attributes[0], sv.Binned)
        want = [f"[{'10' if x > 9 else '-1000000'}, 1000000]".replace("-1000000, 1000000]",
                "-1000000, 10)") for x in values]  # fmt: skip
        assert list(out) == (want if binned else values.tolist())
    if kind != "int64":
        for name, end in (("bottom", 10**5), ("top", -(10**5))):
            ends: Any = {name: end}
            made = sv.Plan([sv.Numeric("x", "identity", **ends)])
            with pytest.raises(ValueError, match=f"`{name}` must be a number that the type of the"):
                made.protect({"x": values})


# What is published.


@pytest.mark.parametrize("output", ["interval", "midpoint", "number"])
def test_every_container_batch_engine_and_client_reports_the_same(
    output: str, tmp_path: Path
) -> None:
    data = columns()
    made = plan(output, drop=[])
    options: Any = {"key": key("bins"), "ids": sv.Wave("id", after="first"), "release_name": "w"}
    want = pa.table(made.protect(data, **options).data).to_pydict()
    frames = (pd.DataFrame(data), pl.DataFrame(data), pa.table(data))
    for frame in frames:
        out = made.protect(frame, **options).data
        table = out if isinstance(out, pa.Table) else (
            pa.Table.from_pandas(out, preserve_index=False) if isinstance(out, pd.DataFrame)
            else out.to_arrow())  # fmt: skip
        found = table.to_pydict()
        assert {k: list(map(_day, v)) for k, v in found.items()} == {
            k: list(map(_day, v)) for k, v in want.items()
        }
    batches = made.protect_batches(pa.table(data).to_reader(max_chunksize=7), **options)
    assert batches.read_all().to_pydict() == want
    options["key"].to_file(tmp_path / "key")
    source = bs.KeySource.file(tmp_path / "key")
    if output == "number":
        refused = 'must have output="interval" or output="midpoint" {}; got output="number"'
        record = {name: data[name][0] for name in ("age", "wage", "born", "hid")}
        with pytest.raises(ValueError, match=refused.format("by ids on an engine")):
            made.batch_function(key=source, ids=sv.Wave("id", after="first"))
        with pytest.raises(ValueError, match=refused.format("for one record")):
            made.responder(key=options["key"], after="first").one(record, id="p1")
        with pytest.raises(ValueError, match=refused.format("for a client")):
            made.client_json()
        return
    f = made.batch_function(key=source, ids=sv.Wave("id", after="first"))
    parts = [f.batch(batch) for batch in pa.table(data).to_batches(max_chunksize=50)]
    assert pa.Table.from_batches(parts).to_pydict() == want
    for i in range(0, 400, 57):
        record = {name: data[name][i] for name in ("age", "wage", "hid")}
        record["born"] = data["born"][i].astype(object)
        one = made.responder(key=options["key"], after="first").one(record, id=data["id"][i])
        assert one == {name: want[name][i] for name in one}


def _day(x: Any) -> Any:
    return x.date() if isinstance(x, datetime) else x


@pytest.mark.parametrize("output", ["interval", "midpoint", "number"])
def test_files(output: str, tmp_path: Path) -> None:
    from bistochastic_survey.files.protect import protect_file
    from bistochastic_survey.release.run import Options

    data = pd.DataFrame(columns())
    made = plan(output)
    options: Any = {"key": key("files"), "ids": sv.Wave("id", after="first"), "release_name": "w"}
    want = made.protect(data, **options).data
    data.assign(born=data["born"].astype(str)).to_csv(tmp_path / "in.csv", index=False)
    parquet.write_table(pa.table(columns()), tmp_path / "in.parquet")
    for before, after in itertools.product((".csv", ".parquet"), repeat=2):
        out = tmp_path / f"out{before[1:]}{after}"
        said = protect_file(
            made, tmp_path / f"in{before}", out, tmp_path / "c.json", Options.of(made, **options)
        )
        read = pd.read_csv(out) if after == ".csv" else pd.read_parquet(out)
        for name in ("age", "wage"):
            assert read[name].tolist() == want[name].tolist()
        assert read["born"].astype(str).tolist() == [str(x)[:10] for x in want["born"]]
        assert said.plan == made
    (tmp_path / "bad.csv").write_text("id,age,wage,born,hid\na,1,2,2024-02-30,h\n")
    with pytest.raises(ValueError, match="column `born`: must hold days such as 2026-01-31"):
        protect_file(made, tmp_path / "bad.csv", tmp_path / "o.csv", tmp_path / "c.json",
                     Options.of(made, **options))  # fmt: skip
    assert not (tmp_path / "o.csv").exists()


def test_the_reported_class_is_that_of_a_categorical_column() -> None:
    """The draw of a class is the draw of its label: nothing new is drawn for it."""
    data = columns()
    binned = sv.Plan([sv.Binned("age", [0, 18, 65, 120], GEO, epsilon=1)], name="p", keep=[])
    codes = np.digitize(data["age"], [18, 65])
    labels = binned.attributes[0].axes[0].values
    same = sv.Plan([sv.Categorical("age", labels, GEO, epsilon=1)], name="p")
    options: Any = {"key": key("same"), "ids": sv.Wave("id", after="first")}
    one = binned.protect({"id": data["id"], "age": data["age"]}, **options).data["age"]
    other = same.protect({"id": data["id"], "age": [labels[c] for c in codes]}, **options).data[
        "age"
    ]
    assert list(one) == list(other)


# The law of numbers inside a class.


def number_key(raw: bytes, name: str, column: str, place: int) -> bytes:
    """The derivation once more, by the second implementation."""
    return law.derive(raw, "plan numbers", ["plan", name, [column], place], [], law.NO_MATRIX)


def row_key(raw: bytes, name: str, release: str) -> bytes:
    return law.derive(raw, "plan rows", ["plan", name, release], [], law.NO_MATRIX)


@pytest.mark.parametrize("by", ["position", "ids"])
def test_numbers_follow_the_law_of_ids_by_row_under_a_key_of_the_reported_class(by: str) -> None:
    data = {name: columns()[name] for name in ("id", "age")}
    breaks = [0, 18, 65, 120]
    by_ids = by == "ids"
    ids: Any = {"ids": sv.Wave("id", after="first")} if by_ids else {}
    drop = [] if by_ids else ["id"]
    number = sv.Plan(
        [sv.Binned("age", breaks, GEO, epsilon=1, output="number")], name="p", drop=drop
    )
    made = number.protect(data, key=bs.Key.from_bytes(KEY), release_name="w", **ids)
    out = np.asarray(made.data["age"])
    reported = np.clip(np.digitize(out, breaks) - 1, 0, 2)
    rows_of = row_key(row_key(KEY, "p", "ids") if by_ids else KEY, "p", "w")
    for place, (low, many) in enumerate(((0, 18), (18, 47), (65, 56))):
        own = bs.Key.from_bytes(number_key(rows_of, "p", "age", place))
        rows = np.flatnonzero(reported == place)
        inside = sv.Plan([sv.Categorical("age", range(many), "uniform")], name="p")
        some = {"row": rows, "age": np.zeros(len(rows), np.int64)}
        drawn = inside.protect(some, key=own, ids=sv.Wave("row", after="first")).data["age"]
        assert (out[rows] == low + np.asarray(drawn)).all()


def test_numbers_depend_on_the_reported_class_and_never_on_the_true_one() -> None:
    """Under one key and name, a row that is reported in a class has one number there."""
    made = sv.Plan([sv.Binned("x", [0, 100, 200], RR, keep=0.5, output="number")], name="p")
    ids = [f"p{i}" for i in range(2000)]
    options: Any = {"key": key("true"), "ids": sv.Wave("id", after="first"), "release_name": "w"}
    one, other = (
        np.asarray(made.protect({"id": ids, "x": [value] * 2000}, **options).data["x"])
        for value in (7, 150)
    )
    same = (one < 100) == (other < 100)
    assert 0.4 < same.mean() < 0.6
    assert (one[same] == other[same]).all()


def test_numbers_are_uniform_on_the_multiples_of_the_step() -> None:
    """Counted by class and number, chi-square at 1e-6; the sum of both is the whole law."""
    made = sv.Plan([sv.Binned("x", [0, 1, 3], RR, keep=0.7, output="number", step=0.25)])
    n = 60_000
    every: list[Any] = [
        {"key": key("uniform"), "release_name": "x"},
        {"key": key("uniform"), "ids": sv.Wave("id", after="first"), "release_name": "x"},
        {},
    ]
    for options in every:
        own = sv.Plan(made.attributes, drop=[] if "ids" in options else ["id"])
        out = own.protect({"id": np.arange(n), "x": np.full(n, 2.0)}, **options).data["x"]
        places = np.round(np.asarray(out) / 0.25).astype(int)
        assert set(places) <= set(range(13))
        counts = np.bincount(places, minlength=13)
        expected = n * np.array([0.3 / 4] * 4 + [0.7 / 9] * 9)
        statistic = float((((counts - expected) ** 2) / expected).sum())
        assert statistic < 52.0  # chi-square with 12 degrees of freedom, upper 1e-6


def _class(numbers: Any) -> Any:
    return np.digitize(np.asarray(numbers), [18, 65])


def test_units_share_their_class_and_every_member_has_its_own_number() -> None:
    data = columns()
    data["age"] = np.array([7 * (int(h[1:]) % 17) for h in data["hid"]])
    made = sv.Plan(
        [sv.Binned("age", [0, 18, 65, 120], GEO, epsilon=1, output="number", unit="hid")],
        keep=["hid"],
    )  # fmt: skip
    frame = {name: data[name] for name in ("id", "age", "hid")}
    by_id: Any = {"key": key("units"), "ids": sv.Wave("id", after="first"), "release_name": "w"}
    every: list[Any] = [{}, by_id]
    for options in every:
        own = sv.Plan(made.attributes, keep=["hid"], drop=[] if options else ["id"])
        out = pd.DataFrame(own.protect(frame, **options).data)
        out["class"] = _class(out["age"])
        assert out.groupby("hid")["class"].nunique().max() == 1
        # Of 133 households of three, one in fifty has three equal numbers by chance.
        assert (out.groupby("hid")["age"].nunique() > 1).mean() > 0.8
        assert out["age"].nunique() > 20


def test_a_number_is_no_pseudonym_across_waves_or_rows() -> None:
    """The class of a person stays, and the place in the class is drawn for each row and wave."""
    n, wide = 5000, 10_000
    made = sv.Plan([sv.Binned("x", [0, wide, 2 * wide], RR, keep=0.8, output="number")], name="p")
    random = np.random.default_rng(5)
    ids = np.repeat(np.arange(n), 3)
    frame = {"id": ids, "x": random.integers(0, 2 * wide, n)[ids]}
    options: Any = {"key": key("waves"), "id_column": "id", "max_rows_per_id": 3}
    first = made.protect(frame, **waved(options, after="first"), release_name="one")
    second = made.protect(frame, **waved(options, after=first.certificate), release_name="two")
    one, two = (np.asarray(each.data["x"]) for each in (first, second))
    assert ((one < wide) == (two < wide)).all()
    # Equal by chance once in 10,000 rows: 15,000 rows have at most 20, but for once in 10^12.
    assert (one == two).sum() < 20
    assert (one[::3] == one[1::3]).sum() < 20
    again = made.protect(frame, **waved(options, after="first"), release_name="one")
    assert (np.asarray(again.data["x"]) == one).all()


def test_a_wave_of_numbers_has_a_name_of_its_own() -> None:
    made, data = plan("number"), columns()
    options: Any = {"key": key("waves"), "id_column": "id"}
    must = 'column `age`: `release_name` must name the wave if output="number"'
    with pytest.raises(ValueError, match=f"{must}, and no other wave; got none"):
        made.protect(data, **waved(options, after="first"))
    first = made.protect(data, **waved(options, after="first"), release_name="one")
    with pytest.raises(ValueError, match="got the name of the wave before"):
        made.protect(data, **waved(options, after=first.certificate), release_name="one")


def test_rows_on_an_engine_have_numbers_by_their_own_columns(tmp_path: Path) -> None:
    key("rows").to_file(tmp_path / "key")
    source, data = bs.KeySource.file(tmp_path / "key"), pa.table(columns())
    out = []
    for name in ("one", "two"):
        f = plan("number", drop=["id"]).batch_function(
            key=source, row_columns=["id"], release_name=name
        )
        parts = [f.batch(batch) for batch in data.to_batches(max_chunksize=50)]
        table = pa.Table.from_batches(parts)
        whole = f.batch(data.to_batches()[0])
        assert table.to_pydict() == pa.Table.from_batches([whole]).to_pydict()
        out.append(np.asarray(table["age"]))
    assert (out[0] != out[1]).mean() > 0.9


# Estimates.


def test_the_mean_of_the_classes_is_unbiased_and_bounds_the_original() -> None:
    """Enumerated over all releases of three records."""
    law_ = bs.randomized_response(3, keep=0.6)
    made = sv.Plan([sv.Binned("x", [0, 10, 20, 40], matrix=law_, output="midpoint")])
    true, middles = [3, 12, 33], [5.0, 15.0, 30.0]
    codes = [0, 1, 2]
    mean = 0.0
    for out in itertools.product(range(3), repeat=3):
        chance = math.prod(law_[t, v] for t, v in zip(codes, out, strict=True))
        found = sv.Release({"x": [middles[v] for v in out]}, made).mean("x")
        mean += chance * found.value
        assert found.shift == (10.0, 10.0)
    assert math.isclose(mean, np.mean(middles))
    assert abs(np.mean(true) - np.mean(middles)) <= 10


def test_open_classes_have_no_bound_and_that_is_said() -> None:
    made = sv.Plan([sv.Binned("x", [0, 10], RR, keep=0.9, open=("high",))])
    found = sv.Release({"x": ["[0, 10)"] * 30 + ["[10, inf)"] * 10}, made).mean("x")
    assert found.original() == (-math.inf, math.inf)
    assert any("open" in note for note in found.notes)
    assert math.isfinite(found.interval()[0])


def test_a_plan_with_bins_as_a_file() -> None:
    for output in ("interval", "midpoint", "number"):
        made = plan(output)
        assert sv.Plan.from_json(made.to_json()) == made
        assert sv.Plan.from_toml(made.to_toml()).digest == made.digest
    by_hand = sv.Plan.from_toml("""
version = 1
[[attributes]]
kind = "binned"
column = "born"
breaks = [2008-01-01, 2009-01-01, "2010-01-01"]
open = ["high"]
unit = "home"
matrix = {family = "geometric", requested = {epsilon = 2}}
""")
    assert by_hand.attributes[0].axes[0].values[-2:] == ("2009", "[2010-01-01, inf)")
    assert by_hand.units == ("home",)
    start = 'version = 1\n[[attributes]]\nkind = "binned"\ncolumn = "x"\n'
    for wrong in ("breaks = [1, 0]", "breaks = [true, 0]", "breaks = 3", "step = 1"):
        with pytest.raises((ValueError, TypeError), match="must"):
            sv.Plan.from_toml(f'{start}{wrong}\nmatrix = {{family = "uniform"}}')


def test_declared_representatives_replace_the_middles() -> None:
    given: Any = {"family": "randomized_response", "epsilon": 3}
    age = sv.Binned("age", [0, 18, 65, 120], representatives=[9, 40, 72.5], **given)
    plan = sv.Plan([age])
    assert sv.Plan.from_json(plan.to_json()).attributes == plan.attributes
    assert sv.Plan.from_toml(plan.to_toml()).digest == plan.digest
    assert "representatives" not in sv.Plan([sv.Binned("age", [0, 18, 65], **given)]).to_json()
    found = sv.Release({"age": ["[18, 65)"] * 50}, plan).mean("age")
    said = "the numbers of `age` are the declared representatives of its classes"
    assert found.notes[0].startswith(said)
    for wrong in ([9, 40], [9, 40, 200], [40, 9, 70], [9, 40, float("nan")]):
        with pytest.raises(ValueError, match="`representatives` must hold a finite number inside"):
            sv.Binned("age", [0, 18, 65, 120], representatives=wrong, **given)
