"""Columns of any type of any library: they are read, or refused in a sentence of ours."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bistochastic as bs
import bistochastic_survey as sv

if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = "Zaphod-Q7"
RR: Final = "randomized_response"
N = 12
BITS = [i % 2 for i in range(N)]


def arrow(values: Any, kind: Any = None) -> pa.Table:
    return pa.table({"x": values if isinstance(values, pa.Array) else pa.array(values, kind)})


def polars(values: Any, kind: Any = None) -> pl.DataFrame:
    return pl.DataFrame({"x": pl.Series(values, dtype=kind)})


def pandas(values: Any, kind: Any = None) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Series(values, dtype=kind)})


STRUCTS = [{"a": f"{SECRET}{i}"} for i in BITS]
LISTS = [[SECRET, str(i)] for i in BITS]
DATES = [dt.date(2000, 1, 1 + i) for i in BITS]
STAYS = [dt.timedelta(i) for i in BITS]
NUMBERS = [Decimal(i) for i in BITS]
BYTES = [b"%d" % i for i in BITS]

TYPES: dict[str, Callable[[], Any]] = {
    "arrow struct": lambda: arrow(STRUCTS),
    "arrow list": lambda: arrow(LISTS),
    "arrow map": lambda: arrow([[("k", i)] for i in BITS], pa.map_(pa.string(), pa.int64())),
    "arrow dictionary of lists": lambda: arrow(
        pa.DictionaryArray.from_arrays(pa.array(BITS), pa.array([["a"], ["b"]]))
    ),
    "arrow null": lambda: arrow(pa.nulls(N)),
    "arrow decimal": lambda: arrow(NUMBERS),
    "arrow binary": lambda: arrow(BYTES),
    "arrow interval": lambda: arrow([(1, 2, i) for i in BITS], pa.month_day_nano_interval()),
    "arrow union": lambda: arrow(
        pa.UnionArray.from_sparse(pa.array(BITS, pa.int8()), [pa.array(BITS), pa.array(BYTES)])
    ),
    "arrow uuid": lambda: arrow(
        pa.ExtensionArray.from_storage(
            pa.uuid(), pa.array([bytes([i]) * 16 for i in BITS], pa.binary(16))
        )
    ),
    "polars Int128": lambda: polars(BITS, pl.Int128),
    "polars Struct": lambda: polars(STRUCTS),
    "polars List": lambda: polars(LISTS),
    "polars Array": lambda: polars([[i, 1] for i in BITS], pl.Array(pl.Int64, 2)),
    "polars Null": lambda: polars([None] * N),
    "polars Object": lambda: polars([object() for _ in BITS], pl.Object),
    "pandas Interval": lambda: pandas(pd.arrays.IntervalArray.from_breaks(range(N + 1))),
    "pandas Period": lambda: pandas(pd.period_range("2000", periods=N, freq="M")),
    "pandas Sparse": lambda: pandas(pd.arrays.SparseArray(BITS)),
    "pandas timedelta": lambda: pandas(STAYS),
    "pandas complex": lambda: pandas(np.array(BITS, complex)),
    "pandas lists": lambda: pandas(LISTS),
    "pandas decimals": lambda: pandas(NUMBERS),
    "pandas dates": lambda: pandas(DATES),
    "pandas Arrow struct": lambda: pandas(STRUCTS, pd.ArrowDtype(pa.struct([("a", pa.string())]))),
    "pandas Arrow dictionary": lambda: pandas(
        [str(i) for i in BITS], pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))
    ),
    "NumPy records": lambda: {"x": np.zeros(N, [("a", int)])},
    "NumPy void": lambda: {"x": np.array(BYTES, "V1")},
    "lists of lists": lambda: {"x": LISTS},
}
if not hasattr(pa, "uuid"):
    # An old Arrow has none.
    del TYPES["arrow uuid"]


def with_y(frame: Any) -> Any:
    """The same with a column that can be protected."""
    if isinstance(frame, dict):
        return {**frame, "y": BITS}
    if isinstance(frame, pa.Table):
        return frame.append_column("y", pa.array(BITS))
    if isinstance(frame, pl.DataFrame):
        return frame.with_columns(pl.Series("y", BITS))
    return frame.assign(y=BITS)


KEPT = sv.Plan([sv.Categorical("y", [0, 1], RR, keep=0.9)], keep=["x"])
BY = ("x", {0: bs.uniform(2), 1: bs.uniform(2)})
DOMAINS: list[list[Any]] = [[0, 1], ["0", "1"], [False, True]]
MISSING: list[Any] = ["raise", "keep", "category"]
CALLS: dict[str, Callable[[Any], Any]] = {
    **{
        f"protect {values[0]!r} {missing}": sv.Plan(
            [sv.Categorical("x", values, RR, beta=0.6, missing=missing)], keep=["y"]
        ).protect
        for values in DOMAINS
        for missing in MISSING
    },
    "protect numbers": lambda f: sv.Plan([sv.Numeric("x", "k_anonymous", k=2)], drop=["y"]).protect(
        f
    ),
    "keep": KEPT.protect,
    "ids": lambda f: KEPT.protect(
        f, key=bs.Key.insecure(1), allow_insecure=True, ids=sv.Wave("x", after="first", max_rows=N)
    ),
    "strata": lambda f: sv.Plan([sv.Categorical("y", [0, 1], groups=BY)], keep=["x"]).protect(f),
    "where": lambda f: sv.Release(f, KEPT).estimate("y", where={"x": 1}),
    "by": lambda f: sv.Release(f, KEPT).estimate("y", "x"),
    "weights": lambda f: sv.Release(f, KEPT).estimate("y", design=sv.Design(weights="x")),
    "cluster": lambda f: sv.Release(f, KEPT).estimate("y", design=sv.Design(cluster="x")),
    "sampling strata": lambda f: sv.Release(f, KEPT).estimate("y", design=sv.Design(strata="x")),
    "audit kept": lambda f: sv.audit(f, sv.Release(f, KEPT)),
    "audit protected": lambda f: sv.audit(
        f, sv.Release(f, sv.Plan([sv.Categorical("x", [0, 1], RR, beta=0.6)], keep=["y"]))
    ),
    "audit numbers": lambda f: sv.audit(
        f, sv.Release(f, sv.Plan([sv.Numeric("x", "k_anonymous", k=2)], keep=["y"]))
    ),
    "audit ids": lambda f: sv.audit(f, sv.Release(f, KEPT), id_column="x"),
    "for_frame": lambda f: sv.Plan.for_frame(f, beta=0.5),
    "for_frame looks": lambda f: sv.Plan.for_frame(f, beta=0.5, categories_from_data=True),
    "randomize": lambda f: bs.uniform(2).randomize(f["x"]),
    "estimate": lambda f: bs.identity(2).estimate(f["x"]),
    "average": lambda f: bs.uniform(N).average(f["x"]),
    "classes": lambda f: bs.masking.k_anonymous_classes(
        {"x": f["x"]}, quasi_identifiers=["x"], k=3
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", TYPES)
def test_a_type_that_cannot_be_read_is_refused_in_a_sentence_of_ours(kind: str) -> None:
    frame = with_y(TYPES[kind]())
    caught: dict[str, Exception] = {}
    for name, call in CALLS.items():
        if isinstance(frame, dict) and name.startswith("for_frame"):
            continue
        try:
            call(frame)
        except (ValueError, TypeError) as error:
            caught[name] = error
    assert len(caught) > 5
    for name, one in caught.items():
        sentence = str(one)
        assert type(one).__module__ in ("builtins", "bistochastic.errors"), (name, one)
        assert " must " in sentence, (name, sentence)
        assert "; got " in sentence, (name, sentence)
        assert SECRET not in sentence, (name, sentence)
        # Nor does the traceback quote what another library said.
        assert one.__context__ is None or one.__suppress_context__, (name, sentence)


@pytest.mark.parametrize("values", [pd.arrays.SparseArray(BITS), np.array(BITS, complex)])
def test_a_frame_that_gives_no_stream_is_refused_in_a_sentence(values: Any) -> None:
    with pytest.raises(TypeError, match="got DataFrame with columns that Arrow does not have"):
        list(KEPT.protect_batches(pd.DataFrame({"x": values, "y": BITS})))


def test_a_struct_is_kept_as_it_is() -> None:
    released = KEPT.protect(with_y(arrow(STRUCTS))).data
    assert released["x"].to_pylist() == STRUCTS


def test_the_value_of_a_sparse_column_is_not_quoted() -> None:
    secret = 6000276099170588225
    frame = pd.DataFrame({"x": pd.arrays.SparseArray([secret, 1], fill_value=secret)})
    plan = sv.Plan([sv.Categorical("x", ["a", "b"], "uniform")])
    numbers = sv.Plan([sv.Numeric("x", "uniform")])
    for call in (
        lambda: plan.protect(frame),
        lambda: sv.Release(frame, plan).estimate("x"),
        lambda: numbers.protect(frame),
    ):
        with pytest.raises(TypeError) as refused:
            call()
        assert str(secret) not in str(refused.value)


class Stream:
    """A table of a library that nobody here knows, in the manner of cuDF."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Stream:
        return cls(table)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class Batch:
    """Such a record batch, of a library that does not read Arrow."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._batch.__arrow_c_array__(requested_schema)


@pytest.mark.parametrize("shuffle", [False, True])
def test_any_library_with_the_arrow_interface_is_read(shuffle: bool) -> None:
    hidden = pa.array(["a", SECRET, "b"]).dictionary_encode().take(pa.array([0, 2, None] * 100))
    columns = {"x": pa.array(["F", "M", None] * 100), "y": pa.array(BITS * 25), "kept": hidden}
    table = pa.table(columns, metadata={"note": SECRET})
    plan = sv.Plan(
        [
            sv.Categorical("x", ["F", "M"], RR, beta=0.6, missing="keep"),
            sv.Categorical("y", [0, 1], RR, beta=0.6),
        ],
        keep=["kept"],
    )
    options: dict[str, Any] = {"key": bs.Key.from_bytes(bytes(range(32))), "release_name": "w"}
    want = plan.protect(table, **options).data.replace_schema_metadata(None)
    release = plan.protect(Stream(table), shuffle=shuffle, **options)
    assert type(release.data) is Stream
    found = release.data._table
    assert found.schema.equals(want.schema, check_metadata=True)
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, want.to_pylist()))
    assert SECRET.encode() not in found["kept"].chunk(0).dictionary.buffers()[2].to_pybytes()
    if not shuffle:
        assert found == want
    assert str(release.estimate("y")) == str(sv.Release(found, plan).estimate("y"))
    assert [a.columns for a in sv.Plan.for_frame(Stream(table.select(["y"])), beta=0.5,
            codebook={"y": [0, 1]}).attributes] == [("y",)]  # fmt: skip
    [batch] = table.combine_chunks().to_batches()
    one: Any = Batch(batch)
    assert plan.protect(one, **options).data == want


def test_a_column_with_the_arrow_interface_is_no_table() -> None:
    class Column(Stream):
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return self._table["x"].__arrow_c_stream__(requested_schema)

    with pytest.raises(TypeError, match=r"`frame` must be a pandas or polars frame.*; got Column"):
        KEPT.protect(Column(arrow(BITS)))


@pytest.mark.parametrize("index", [[1, 4, 9], np.array([0, 1, 3], "uint8"), range(5, 8)])
def test_a_frame_that_was_filtered_is_taken_and_numbered_anew(index: Any) -> None:
    frame = pd.DataFrame({"x": [5, 6, 7], "y": [0, 1, 1]}, index=index)
    released = KEPT.protect(frame).data
    # Where rows were in the original is not published.
    assert released.index.equals(pd.RangeIndex(3))
    assert released["x"].tolist() == [5, 6, 7]
    shuffled = KEPT.protect(frame, shuffle=True).data
    assert shuffled.index.equals(pd.RangeIndex(3))
    for wrong in ([1, 1, 2], [2, 1, 3], [0.5, 1.0, 2.0]):
        with pytest.raises(ValueError, match="must have the plain index"):
            KEPT.protect(frame.set_axis(wrong))
