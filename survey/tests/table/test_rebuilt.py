"""A release is a function of its visible cells: nothing else of the original goes through the door.

Each test has two originals whose visible cells are the same and whose hidden parts differ: the
order of a dictionary, entries that no row has, values under a mask, rows outside of a slice,
chunks, notes, how a file is stored, and the true values of protected columns under their noise.
What leaves has to be the same, byte by byte after serialisation.
"""

from __future__ import annotations

import datetime
import decimal
import importlib
import inspect
import io
import itertools
import json
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic import _core
from bistochastic_survey import cli
from bistochastic_survey import table as adapters
from bistochastic_survey.files import parquet_file
from bistochastic_survey.plan.labels import Labels
from bistochastic_survey.release import protect
from bistochastic_survey.release.release import notes
from bistochastic_survey.table import arrays, arrow_cells
from bistochastic_survey.table.codes import codes_of
from bistochastic_survey.table.table import Table

KEY = bs.Key.from_bytes(bytes(range(32)))
ROWS = 300
WORDS = ["no", "not yet", "ja, schön"]
# What a schema says of a protected table.
NOTES = {b"bistochastic.plan_digest", b"bistochastic.certificate"}
# Every seventh cell is missing; the others repeat, the last of them first.
CELLS = [None if i % 7 == 3 else (4 - i % 5) for i in range(ROWS)]
DAY = datetime.date(2020, 2, 29)
SECRET = 3_141_592


def plan_of(missing: Any = "raise", keep: Any = ("kept",)) -> sv.Plan:
    answer = sv.Categorical("answer", WORDS, "randomized_response", beta=0.6, missing=missing)
    return sv.Plan([answer], name="survey", keep=list(keep))


def ipc(table: Any) -> bytes:
    """A table as a stream of Arrow, with all that its schema says."""
    table = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def serialised(data: Any) -> Any:
    """All that somebody who is handed a table can read out of it."""
    if isinstance(data, pa.Table | pa.RecordBatch):
        data.validate(full=True)
        chunks = [] if isinstance(data, pa.RecordBatch) else [c.num_chunks for c in data.columns]
        buffers = [b.to_pybytes() for c in data.columns for b in _buffers(c) if b is not None]
        return ipc(data), chunks, buffers
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return serialised(pa.table({"x": data}))
    if isinstance(data, pd.Series):
        return serialised(data.to_frame("x"))
    if isinstance(data, pd.DataFrame):
        # What Arrow cannot write is compared all the same.
        plain = [n for n in data if getattr(data[n].dtype, "categories", data[n]).dtype != "O"]
        under = [_of_pandas(data[n]) for n in data]
        return ipc(pa.Table.from_pandas(data[plain])), data.attrs, under
    if isinstance(data, pl.Series):
        return serialised(data.to_frame())
    if isinstance(data, pl.DataFrame):
        sink = io.BytesIO()
        data.write_ipc(sink)
        parts = [c.n_chunks() for c in data.get_columns()]
        return sink.getvalue(), ipc(data.to_arrow()), data.serialize(), parts
    if isinstance(data, duckdb.DuckDBPyRelation):
        # DuckDB writes anything under a null that it exports.
        table, names = data.to_arrow_table(), data.columns
        cells = {n: arrow_cells.column(c) for n, c in zip(names, table.columns, strict=True)}
        return [str(kind) for kind in data.types], ipc(pa.table(cells))
    if isinstance(data, dict):
        return {name: serialised(column) for name, column in data.items()}
    if isinstance(data, np.ma.MaskedArray):
        arrays = (data.data, np.ma.getmaskarray(data), np.array(data.fill_value))
        return [serialised(each) for each in arrays], data.mask is np.ma.nomask, data.hardmask
    if isinstance(data, np.ndarray):
        listed = data.tolist() if data.dtype.kind in "OT" else data.tobytes()
        return str(data.dtype), data.dtype.metadata, data.flags.c_contiguous, listed
    assert isinstance(data, list | tuple)
    return repr(data)


def _buffers(column: Any) -> list[Any]:
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    found = []
    for chunk in chunks:
        found += chunk.buffers()
        if pa.types.is_dictionary(chunk.type):
            found += chunk.dictionary.buffers()
    return found


def _of_pandas(series: pd.Series) -> Any:
    """What lies under the cells: data below a mask, categories and their type."""
    array: Any = series.array
    under = getattr(array, "_data", None)
    listed = None
    if isinstance(series.dtype, pd.CategoricalDtype):
        index = series.dtype.categories
        listed = (
            type(index).__name__,
            index.dtype,
            index.name,
            index.tolist(),
            array.codes.tobytes(),
        )
    plain = under.tobytes() if isinstance(under, np.ndarray) else None
    return str(series.dtype), plain, listed, series.attrs, series.flags, type(series.index).__name__


# Columns of Arrow.


def hidden(cells: list[Any], secret: Any, kind: Any, seed: int) -> Any:
    """The cells as an array that holds a secret under every null, and rows on both sides."""
    draw = np.random.default_rng(seed)
    full = [secret if cell is None else cell for cell in cells]
    around = [secret] * int(draw.integers(1, 20))
    array = pa.array([*around, *full, *around], kind)
    valid = np.array([True] * len(around) + [c is not None for c in cells] + [True] * len(around))
    if not valid.all() and not pa.types.is_null(kind):
        bits = pa.py_buffer(np.packbits(valid, bitorder="little"))
        children = None
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            children = [array.values]
        elif pa.types.is_struct(kind):
            children = [array.field(i) for i in range(kind.num_fields)]
        own = len(array.buffers()) if children is None else 1 + (not pa.types.is_struct(kind))
        given = [bits, *array.buffers()[1:own]]
        array = pa.Array.from_buffers(kind, len(array), given, children=children)
    return array.slice(len(around), len(cells))


def listed(cells: list[Any], entries: list[Any], kind: Any, mask: Any = None) -> Any:
    """The cells as places in a dictionary of these entries."""
    places = [None if cell is None else entries.index(cell) for cell in cells]
    array = pa.array([0 if p is None else p for p in places], kind.index_type)
    indices = pa.array(array.to_numpy(), mask=np.array([p is None for p in places]))
    values = pa.array(entries, kind.value_type)
    return pa.DictionaryArray.from_arrays(indices, values, ordered=kind.ordered, safe=False)


def cut(array: Any, seed: int) -> Any:
    """The same in several chunks."""
    ends = sorted(np.random.default_rng(seed).integers(0, len(array), 3).tolist())
    bounds = [0, *ends, len(array)]
    pairs = itertools.pairwise(bounds)
    return pa.chunked_array([array.slice(a, b - a) for a, b in pairs], array.type)


def of(convert: Callable[[int], Any]) -> list[Any]:
    return [None if cell is None else convert(cell) for cell in CELLS]


def text(i: int) -> str:
    return f"{i} é, and a longer one"


PLAIN: dict[str, tuple[Any, list[Any], Any]] = {
    "int64": (pa.int64(), CELLS, SECRET),
    "uint64": (pa.uint64(), of(lambda i: 2**64 - 1 - i), SECRET),
    "double": (pa.float64(), of(lambda i: i / 4), 3.25),
    "bool": (pa.bool_(), of(lambda i: i > 2), True),
    "string": (pa.string(), of(text), "secret"),
    "large_string": (pa.large_string(), of(text), "secret"),
    "string_view": (pa.string_view(), of(text), "a secret that is long"),
    "binary": (pa.binary(), of(lambda i: bytes([i])), b"secret"),
    "fixed": (pa.binary(3), of(lambda i: bytes([i] * 3)), b"abc"),
    "date": (pa.date32(), of(lambda i: DAY), datetime.date(1999, 9, 9)),
    "time": (pa.timestamp("us", "Europe/Madrid"), CELLS, SECRET),
    "decimal": (pa.decimal128(9, 2), of(decimal.Decimal), decimal.Decimal(77)),
    "list": (pa.list_(pa.int64()), of(lambda i: [i] * i), [SECRET] * 2),
    "list of texts": (pa.large_list(pa.string()), of(lambda i: [text(i)]), ["secret"]),
    "struct": (
        pa.struct({"a": pa.int64(), "b": pa.string()}),
        of(lambda i: {"a": i, "b": text(i)}),
        {"a": SECRET, "b": "secret"},
    ),
    "null": (pa.null(), [None] * ROWS, None),
}

# Arrow 17 casts no texts to views, and writes no lists that have something under a missing one.
OLD = int(pa.__version__.split(".")[0]) < 18
if OLD:
    for missing in ("string_view", "list", "list of texts"):
        del PLAIN[missing]


def plain_pair(name: str) -> tuple[Any, Any, list[Any]]:
    kind, cells, secret = PLAIN[name]
    if name == "string_view":
        arrays = [hidden(cells, s, pa.string(), i).cast(kind) for i, s in enumerate((secret, "x"))]
        return arrays[0], cut(arrays[1], 1), arrays[0].to_pylist()
    one = hidden(cells, secret, kind, 1)
    return one, cut(pa.array(cells, kind), 2), one.to_pylist()


def dictionary_pair(kind: Any, convert: Callable[[int], Any]) -> tuple[Any, Any, list[Any]]:
    cells = of(convert)
    forth, back = [convert(i) for i in range(7)], [convert(i) for i in (6, 2, 4, 0, 1, 3)]
    if kind.ordered:
        # The declared order is a part of the type; how it is stored is not.
        back = forth
    around = listed([forth[5], *cells, forth[6]], forth, kind).slice(1, ROWS)
    parts = [listed(cells[:100], back, kind), listed(cells[100:], back[::-1], kind)]
    if kind.ordered:
        parts = [listed(cells[:100], back, kind), listed(cells[100:], back, kind)]
    return around, pa.chunked_array(parts, kind), cells


DICTIONARIES = {
    "texts": (pa.dictionary(pa.int8(), pa.string()), text),
    "numbers": (pa.dictionary(pa.int32(), pa.int64()), lambda i: 10 - i),
    "days": (pa.dictionary(pa.int8(), pa.date32()), lambda i: DAY + datetime.timedelta(i)),
    "ordered": (pa.dictionary(pa.int8(), pa.string(), ordered=True), text),
}
NESTED: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "list of categories": (pa.list_(pa.dictionary(pa.int8(), pa.string())), lambda c: [c]),
    "struct of categories": (
        pa.struct([("a", pa.dictionary(pa.int8(), pa.string()))]),
        lambda c: {"a": c},
    ),
}


def nested_pair(name: str) -> tuple[Any, Any, list[Any]]:
    _kind, wrap = NESTED[name]
    first, second, cells = dictionary_pair(*DICTIONARIES["texts"])
    second = second.combine_chunks()
    if name.startswith("list"):
        offsets = pa.array(np.arange(ROWS + 1, dtype=np.int32))
        made = [pa.ListArray.from_arrays(offsets, each) for each in (first, second)]
    else:
        made = [pa.StructArray.from_arrays([each], ["a"]) for each in (first, second)]
    return made[0], cut(made[1], 3), [wrap(cell) for cell in cells]


def arrow_pairs() -> Iterator[tuple[str, Callable[[], tuple[Any, Any, list[Any]]]]]:
    for name in PLAIN:
        yield name, partial(plain_pair, name)
    for name, (kind, convert) in DICTIONARIES.items():
        yield f"dictionary of {name}", partial(dictionary_pair, kind, convert)
    for name in NESTED:
        yield name, partial(nested_pair, name)


ARROW = dict(arrow_pairs())


def noted(name: str, column: Any, note: str | None) -> Any:
    """A table of a column beside people and answers, with notes or without."""
    columns = {"person": pa.array(range(ROWS)), "answer": pa.array(WORDS * 100), name: column}
    table = pa.table(columns)
    if note is None:
        return table
    schema = pa.schema(
        [f.with_metadata({"note": note}).with_nullable(f.name == name) for f in table.schema],
        metadata={"pandas": note},
    )
    return pa.Table.from_arrays([*table.columns], schema=schema)


OPTIONS: dict[str, dict[str, Any]] = {
    "by position": {"key": KEY, "release_name": "w"},
    "by ids": {"key": KEY, "ids": sv.Wave("person", after="first", pseudonym="who")},
    "shuffled": {"key": KEY, "release_name": "w", "shuffle": True},
}


class Fixed:
    """A law whose permutation is always the same."""

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def sample_permutation(self) -> Any:
        return np.random.default_rng(self._rows).permutation(self._rows)


@pytest.fixture
def one_shuffle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protect, "uniform", Fixed)


def released(tables: Iterable[Any], options: str) -> Any:
    """The release of the first of two tables, which is that of the second, and its rows."""
    given = OPTIONS[options]
    plan = plan_of(keep=["kept"] if "ids" in given else ["kept", "person"])
    made = [plan.protect(table, **given) for table in tables]
    assert serialised(made[0].data) == serialised(made[1].data)
    assert made[0].certificate == made[1].certificate
    return made[0], Fixed(ROWS).sample_permutation() if given.get("shuffle") else range(ROWS)


@pytest.mark.usefixtures("one_shuffle")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", ARROW)
def test_arrow_tables_leave_by_their_cells(name: str, options: str) -> None:
    first, second, cells = ARROW[name]()
    tables = noted("kept", first, "a secret"), noted("kept", second, None)
    release, order = released(tables, options)
    assert release.data["kept"].to_pylist() == [cells[i] for i in order]
    assert set(release.data.schema.metadata) == NOTES
    assert all(f.metadata is None and f.nullable for f in release.data.schema)
    # What has left can go through the door again.
    again = pa.table({"kept": arrow_cells.column(release.data["kept"])})
    again = again.replace_schema_metadata(notes(release.certificate))
    assert serialised(again) == serialised(release.data.select(["kept"]))


@pytest.mark.parametrize("name", ARROW)
def test_batches_and_streams_leave_by_their_cells(name: str, tmp_path: Path) -> None:
    first, second, _cells = ARROW[name]()
    plan = plan_of()
    tables = noted("kept", first, "a secret"), noted("kept", second, None)
    streams = []
    for table, size in zip(tables, (11, 90), strict=True):
        reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(size))
        streams.append(plan.protect_batches(reader, **OPTIONS["by ids"]))
    parts = [list(stream) for stream in streams]
    assert [serialised(part) for part in parts[0]] == [serialised(part) for part in parts[1]]
    KEY.to_file(tmp_path / "key")
    f = plan.batch_function(
        key=bs.KeySource.file(tmp_path / "key"), ids=sv.Wave("person", after="first")
    )
    batches = [table.combine_chunks().to_batches()[0] for table in tables]
    made = [f.batch(batch) for batch in batches]
    assert serialised(made[0]) == serialised(made[1])
    whole = [f.table(table) for table in tables]
    assert serialised(whole[0]) == serialised(whole[1])
    assert f.schema(tables[0].schema) == made[0].schema == whole[0].schema


# Frames of pandas and polars, dicts of arrays, relations.


def pandas_pairs() -> dict[str, tuple[pd.Series, pd.Series]]:
    texts = of(text)
    few, many = [text(i) for i in (4, 0, 2, 1, 3)], [text(i) for i in range(7)]

    def masked(kind: Any, values: Any, secret: Any) -> pd.Series:
        mask = np.array([cell is None for cell in CELLS])
        data = np.array([secret if cell is None else cell for cell in values])
        return pd.Series(kind(data, mask))

    def category(categories: Any, ordered: bool = False, cells: Any = texts) -> pd.Series:
        return pd.Series(pd.Categorical(cells, categories=categories, ordered=ordered))

    moments = pd.Series(pd.date_range("2020", periods=ROWS, freq="D", tz="Europe/Madrid"))
    strided = pd.Series(np.arange(2.0 * ROWS)[::2])
    nans = np.zeros(ROWS)
    nans[::2] = np.nan
    others = nans.copy()
    others.view(np.uint64)[::2] |= np.uint64(SECRET)
    first, second, _cells = dictionary_pair(*DICTIONARIES["texts"])
    arrow = pd.ArrowDtype(first.type)
    return {
        "category": (category(few), category(many)),
        "category of numbers": (
            category([4, 1, 0, 3, 2], cells=CELLS),
            category(pd.RangeIndex(9, name="secret"), cells=CELLS),
        ),
        "ordered category": (
            category(few, ordered=True),
            category(pd.Index(few, name="secret"), ordered=True),
        ),
        "category of several types": (
            category(["b", 1, "a", 2.5], cells=["a", 1, "b", 2.5] * 75),
            category([2.5, "a", 7, 1, "b"], cells=["a", 1, "b", 2.5] * 75),
        ),
        "Int64": (
            masked(pd.arrays.IntegerArray, CELLS, SECRET),
            masked(pd.arrays.IntegerArray, CELLS, 1),
        ),
        "arrow categories": (pd.Series(first, dtype=arrow), pd.Series(second, dtype=arrow)),
        "arrow texts": (
            pd.Series(hidden(texts, "secret", pa.string(), 1), dtype=pd.ArrowDtype(pa.string())),
            pd.Series(texts, dtype=pd.ArrowDtype(pa.string())),
        ),
        "string of arrow": (
            pd.Series(hidden(texts, "secret", pa.large_string(), 1)).astype("string[pyarrow]"),
            pd.Series(texts, dtype="string[pyarrow]"),
        ),
        "object": (pd.Series(texts, dtype=object), pd.Series([*texts, "x"], dtype=object)[:-1]),
        "moments": (moments, pd.Series(moments.tolist(), dtype=moments.dtype)),
        "float64": (strided, pd.Series(np.arange(2.0 * ROWS)[::2].copy())),
        "NaN": (pd.Series(nans), pd.Series(others)),
        "str": (pd.Series(texts, dtype="str"), pd.Series([*texts, "x"], dtype="str")[:-1]),
    }  # fmt: skip


PANDAS = pandas_pairs()


@pytest.mark.usefixtures("one_shuffle")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", PANDAS)
def test_frames_of_pandas_leave_by_their_cells(name: str, options: str) -> None:
    columns = {"person": range(ROWS), "answer": WORDS * 100}
    frames = [pd.DataFrame({**columns, "kept": column}) for column in PANDAS[name]]
    frames[0].attrs["note"] = frames[0]["kept"].attrs["note"] = "a secret"
    frames[0].columns.name = "a secret"
    release, order = released(frames, options)
    found, column = release.data, PANDAS[name][0]
    assert found["kept"].dtype == column.dtype or "cat" in name or "class" in name
    assert found.columns.name is None
    # As texts: NaN is not equal to itself.
    assert repr(found["kept"].tolist()) == repr(column.iloc[list(order)].tolist())


def polars_pairs() -> dict[str, tuple[pl.Series, pl.Series]]:
    texts = of(text)
    enum = pl.Enum([text(i) for i in (6, 2, 4, 0, 1, 3, 5)])

    def both(cells: list[Any], dtype: Any, secret: Any) -> tuple[pl.Series, pl.Series]:
        full = [secret if cell is None else cell for cell in cells]
        mask = pl.Series([cell is None for cell in cells])
        around = pl.Series([secret, *full, secret], dtype=dtype).slice(1, ROWS)
        kind = around.dtype
        hides = around if kind.is_nested() else around.set(mask, None)
        if kind.is_nested():
            hides = around.zip_with(~mask, pl.Series([None] * ROWS, dtype=dtype))
        parts = pl.concat([pl.Series(cells[:50], dtype=dtype), pl.Series(cells[50:], dtype=dtype)],
                          rechunk=False)  # fmt: skip
        return hides, parts

    found = {
        "Int8": both(CELLS, pl.Int8, 77),
        "Date": both(of(lambda i: DAY), pl.Date, datetime.date(1999, 9, 9)),
        "Datetime": both(CELLS, pl.Datetime("us", "Europe/Madrid"), SECRET),
        "Decimal": both(of(decimal.Decimal), pl.Decimal(9, 2), decimal.Decimal(77)),
        "List": both(of(lambda i: [i] * i), pl.List(pl.Int64), [SECRET] * 3),
        "Struct": both(of(lambda i: {"a": text(i)}), pl.Struct({"a": pl.String}), {"a": "secret"}),
        "Null": (pl.Series([None] * ROWS), pl.Series([None] * (ROWS + 1))[1:]),
    }
    kinds: dict[str, Any] = {"String": pl.String, "Binary": pl.Binary, "Enum": enum}
    for name, dtype in kinds.items():
        cells = [c if c is None or dtype != pl.Binary else c.encode() for c in texts]
        around = [cells[0], *cells, cells[1]]
        longer = pl.Series(around, dtype=dtype)[1:-1]
        found[name] = longer, pl.Series(cells, dtype=dtype)
    back = pl.concat([pl.Series(texts[::-1], dtype=pl.Categorical), pl.Series(texts,
                      dtype=pl.Categorical)], rechunk=False)[ROWS:]  # fmt: skip
    found["Categorical"] = pl.Series(texts, dtype=pl.Categorical), back
    lists = pl.Series([[t] for t in texts], dtype=pl.List(pl.Categorical))
    found["List of Categorical"] = lists, pl.concat([lists.reverse(), lists])[ROWS:]
    return found


POLARS = polars_pairs()


@pytest.mark.usefixtures("one_shuffle")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", POLARS)
def test_frames_of_polars_leave_by_their_cells(name: str, options: str) -> None:
    columns = {"person": range(ROWS), "answer": WORDS * 100}
    release, order = released(
        (pl.DataFrame({**columns, "kept": column}) for column in POLARS[name]), options
    )
    assert release.data["kept"].dtype == POLARS[name][0].dtype
    assert release.data["kept"].to_list() == [POLARS[name][0].to_list()[i] for i in order]


def array_pairs() -> dict[str, tuple[Any, Any]]:
    mask = [cell is None for cell in CELLS]
    known = [0 if cell is None else cell for cell in CELLS]

    def masked(dtype: Any, secret: Any, **more: Any) -> Any:
        return np.ma.array(np.where(mask, secret, np.array(known, dtype)), mask=mask, dtype=dtype,
                           **more)  # fmt: skip

    noted = np.dtype("int64", metadata={"note": "a secret"})
    gaps = np.dtype({"names": ["a", "b"], "formats": ["i1", "i8"], "offsets": [0, 8],
                     "itemsize": 16})  # fmt: skip
    records = np.frombuffer(b"\x07" * 16 * ROWS, gaps).copy()
    plain = np.zeros(ROWS, gaps)
    plain["a"], plain["b"] = records["a"], records["b"]
    nans, others = np.full(ROWS, np.nan), np.full(ROWS, np.nan)
    others.view(np.uint64)[:] |= np.arange(ROWS, dtype=np.uint64)
    return {
        "masked": (masked("int64", SECRET), masked("int64", 0, fill_value=SECRET, hard_mask=True)),
        "no mask": (np.ma.array(known), np.ma.array(known, mask=[False] * ROWS)),
        "notes": (np.array(known, noted), np.array(known)),
        "strides": (np.repeat(known, 3)[::3], np.array(known)),
        "gaps": (records, plain),
        "NaN": (nans, others),
        "objects": (np.array(of(text), object), np.array([*of(text), "x"], object)[:-1]),
        "list": (of(text), list(of(text))),
    }


ARRAYS = array_pairs()


@pytest.mark.usefixtures("one_shuffle")
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", ARRAYS)
def test_dicts_of_arrays_leave_by_their_cells(name: str, options: str) -> None:
    columns = {"person": np.arange(ROWS), "answer": WORDS * 100}
    release, _order = released(({**columns, "kept": column} for column in ARRAYS[name]), options)
    assert release.data["kept"] is not ARRAYS[name][0]


@pytest.mark.usefixtures("one_shuffle")
@pytest.mark.parametrize("options", OPTIONS)
def test_relations_leave_by_their_cells(options: str) -> None:
    given = OPTIONS[options]
    plan = plan_of(keep=["kept", "listed"] + ["person"] * ("ids" not in given))
    first, second, _cells = dictionary_pair(*DICTIONARIES["texts"])
    entries = ", ".join(f"'{text(i)}'" for i in (6, 2, 4, 0, 1, 3))
    made = []
    for column in (first, second):
        connection = duckdb.connect()
        table = noted("kept", column, None)
        query = f"SELECT *, CAST(kept AS ENUM({entries})) AS listed FROM people"
        connection.register("people", table)
        release = plan.protect(connection.sql(query), **given)
        made.append(serialised(release.data))
        assert release.certificate.declared_categories == ("listed",)
    assert made[0] == made[1]


# Arrays without a plan.


@pytest.mark.parametrize("name", sorted(ARRAYS))
def test_permuted_columns_leave_by_their_cells(name: str) -> None:
    first, second = ARRAYS[name]
    if isinstance(first, np.ma.MaskedArray) or getattr(first, "dtype", np.dtype(int)).kind == "V":
        pytest.skip("masks and records are refused")
    made = [bs.uniform(ROWS).permute(c, key=KEY, stream="x") for c in (first, second)]
    assert serialised(made[0]) == serialised(made[1])


FROM_ARROW: dict[str, Callable[[Any], Any]] = {
    "pyarrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.from_arrow,
}


def entries_of(column: Any) -> list[Any]:
    """The categories that a column lists, in their order."""
    if isinstance(column, pd.Series):
        return list(column.cat.categories)
    column = column.to_arrow() if isinstance(column, pl.Series) else column.combine_chunks()
    return list(column.dictionary.to_pylist())


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars", "parquet"])
def test_a_dictionary_does_not_undo_a_shuffle(library: str, tmp_path: Path) -> None:
    """Seen: ``dictionary == names``, in the order of the original, after ``shuffle=True``."""
    rows = 1000
    names = [f"person {i * 7919 % rows:04}" for i in range(rows)]
    kept = pa.array(names).dictionary_encode()
    table = pa.table({"answer": [WORDS[i % 3] for i in range(rows)], "kept": kept})
    plan = plan_of()
    if library == "parquet":
        pq.write_table(table, tmp_path / "in.parquet")
        (tmp_path / "plan.json").write_text(plan.to_json())
        protect_file(tmp_path, "in.parquet", "out.parquet", "--shuffle")
        file = pq.ParquetFile(tmp_path / "out.parquet", read_dictionary=["kept"])
        column = file.read()["kept"]
        assert column.chunk(0).dictionary.to_pylist() == column.to_pylist()
        assert column.to_pylist() != names
        return
    data = plan.protect(FROM_ARROW[library](table), shuffle=True).data["kept"]
    if library == "polars":
        assert entries_of(data) == data.to_list() != names
    else:
        assert entries_of(data) == sorted(names)


CATEGORICAL = """
import hashlib, io, pickle, sys
import polars as pl
import bistochastic as bs
import bistochastic_survey as sv
rows = 300
names = [f"person {i:03}" for i in range(rows)]
first = names if sys.argv[1] == "forth" else [*names[::-1], "nobody"]
pl.Series(first, dtype=pl.Categorical)
frame = pl.DataFrame({"a": ["x", "y"] * 150, "kept": pl.Series(names, dtype=pl.Categorical)})
plan = sv.Plan([sv.Categorical("a", ["x", "y"], matrix=bs.uniform(2))], keep=["kept"])
data = plan.protect(frame, key=bs.Key.from_bytes(bytes(32)), release_name="w").data
assert data["kept"].dtype == pl.Categorical
sinks = [io.BytesIO(), io.BytesIO()]
data.write_ipc(sinks[0]), data.write_parquet(sinks[1])
out = [s.getvalue() for s in sinks] + [pickle.dumps(data), data.serialize()]
out += [repr(data.to_arrow()["kept"].chunk(0).dictionary.to_pylist()).encode()]
print([hashlib.sha256(each).hexdigest() for each in out])
"""


def test_categories_of_polars_do_not_say_which_came_first_in_the_process() -> None:
    """polars counts categories through a whole process: nothing that is written shows it."""
    said = {
        subprocess.run([sys.executable, "-c", CATEGORICAL, way], check=True, capture_output=True,
                       text=True).stdout
        for way in ("forth", "back")
    }  # fmt: skip
    assert len(said) == 1


# Protected columns: other true values under noise that gives the same report.


def truths() -> dict[str, Callable[[list[Any]], Any]]:
    entries = [WORDS, WORDS[::-1]]
    return {
        "list": lambda cells: {"answer": cells},
        "masked": lambda cells: {"answer": np.ma.array(
            ["ja, schön" if c is None else c for c in cells], mask=[c is None for c in cells])},
        "pandas category": lambda cells: pd.DataFrame({"answer": pd.Categorical(
            cells, categories=entries[cells[0] == "no"])}),
        "pandas str": lambda cells: pd.DataFrame({"answer": pd.Series(cells, dtype="str")}),
        "polars": lambda cells: pl.DataFrame({"answer": pl.Series(cells, dtype=pl.String)}),
        "polars Categorical": lambda cells: pl.DataFrame({"answer": pl.Series(
            cells, dtype=pl.Categorical)}),
        "polars Enum": lambda cells: pl.DataFrame({"answer": pl.Series(
            cells, dtype=pl.Enum(WORDS))}),
        "Arrow": lambda cells: pa.table({"answer": pa.array(cells, pa.string())}),
        "Arrow dictionary": lambda cells: pa.table({"answer": pa.array(
            cells, pa.string()).dictionary_encode()}),
        "DuckDB": lambda cells: duckdb.connect().from_arrow(pa.table({"answer": pa.array(
            cells, pa.string())})),
    }  # fmt: skip


TRUTHS = truths()


@pytest.mark.usefixtures("one_shuffle")
@pytest.mark.parametrize("missing", ["raise", "keep", "category"])
@pytest.mark.parametrize("name", TRUTHS)
def test_true_values_do_not_leave_beside_their_reports(
    name: str, missing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(7)
    size = 3 + (missing == "category")
    script = draw.integers(0, size, ROWS)

    def by_script(_key: Any, _plan: str, _release: str, given: Any, *_more: Any) -> Any:
        return [script.astype(codes.dtype) for _, codes, *_ in given]

    monkeypatch.setattr(_core, "plan_blocks", by_script)
    gone = [False] * ROWS if missing == "raise" else [i % 9 == 4 for i in range(ROWS)]
    made = []
    for step in (1, 2):
        cells = [None if gone[i] else WORDS[(i * step + step) % 3] for i in range(ROWS)]
        if missing == "category" and step == 2:
            cells = cells[:1] + cells[:0:-1]
        plan = plan_of(missing, keep=())
        made.append(serialised(plan.protect(TRUTHS[name](cells), shuffle=step > 0).data))
    assert made[0] == made[1]


# Declared categories are said to be published.


def test_declared_categories_are_listed_as_published() -> None:
    kinds = {name: kind for name, (kind, _convert) in DICTIONARIES.items()}
    column = listed(of(text), [text(i) for i in range(7)], kinds["ordered"])
    said = "the declared categories of `kept`, in their order"
    ordered = pd.Series(pd.Categorical(of(text), [text(i) for i in (5, 4, 3, 2, 1, 0)], True))
    enum = pl.Series(of(text), dtype=pl.Enum([text(i) for i in (5, 4, 3, 2, 1, 0)]))
    tables = {
        "Arrow": noted("kept", column, None).select(["answer", "kept"]),
        "pandas": pd.DataFrame({"answer": WORDS * 100, "kept": ordered}),
        "polars": pl.DataFrame({"answer": WORDS * 100, "kept": enum}),
    }
    for table in tables.values():
        release = plan_of().protect(table, shuffle=True)
        assert release.certificate.declared_categories == ("kept",)
        assert said in release.certificate.published_unchanged
        assert said in str(release.certificate)
        written = release.certificate.to_json()
        assert list(json.loads(written))[-1] == "declared_categories"
        assert sv.Certificate.from_json(written) == release.certificate
        wrong = written.replace(
            '"declared_categories": [\n    "kept"', '"declared_categories": ["x"'
        )
        with pytest.raises(ValueError, match="must name columns that the plan keeps"):
            sv.Certificate.from_json(wrong)
    data = plan_of().protect(tables["Arrow"], shuffle=True).data["kept"]
    assert data.chunk(0).dictionary.to_pylist() == [text(i) for i in range(7)]
    assert data.type.ordered
    data = plan_of().protect(tables["polars"], shuffle=True).data["kept"]
    assert data.dtype == enum.dtype
    data = plan_of().protect(tables["pandas"], shuffle=True).data["kept"]
    assert data.dtype == ordered.dtype
    # Those that are not ordered are no such thing, and nothing is written about them.
    plain = noted("kept", dictionary_pair(*DICTIONARIES["texts"])[0], None)
    certificate = plan_of().protect(plain.select(["answer", "kept"])).certificate
    assert certificate.declared_categories == ()
    assert "declared_categories" not in certificate.to_dict()


# Files.


def protect_file(folder: Path, source: str, out: str, *more: str) -> None:
    words = ["protect", str(folder / source), str(folder / out), *more]
    done = CliRunner().invoke(cli.main, [*words, "--plan", str(folder / "plan.json")])
    assert done.exit_code == 0, done.output


STORED: dict[str, dict[str, Any]] = {
    "snappy": {},
    "zstd": {"compression": "zstd", "row_group_size": 70},
    "plain": {"compression": "none", "use_dictionary": False, "write_statistics": False},
    "first version": {"version": "1.0", "store_schema": False, "data_page_size": 64},
}


@pytest.mark.parametrize("name", [n for n in ARROW if n not in NESTED])
def test_files_leave_by_their_cells(name: str, tmp_path: Path) -> None:
    first, second, cells = ARROW[name]()
    plan = plan_of()
    (tmp_path / "plan.json").write_text(plan.to_json())
    KEY.to_file(tmp_path / "key")
    own = ["--key-file", str(tmp_path / "key"), "--id-column", "person", "--after", "first"]
    own += ["--pseudonym", "who"]
    written: dict[str, set[bytes]] = {"parquet": set(), "csv": set()}
    for i, options in enumerate(STORED.values()):
        # The first version of the format has no fine times.
        if "version" in options and name == "time":
            continue
        table = noted("kept", (first, second)[i % 2], ("a secret", None)[i % 2])
        pq.write_table(table, tmp_path / "in.parquet", **options)
        for form, found in written.items():
            if form == "csv" and (pa.types.is_nested(first.type) or name in ("binary", "fixed")):
                continue
            protect_file(tmp_path, "in.parquet", f"out.{form}", *own)
            found.add((tmp_path / f"out.{form}").read_bytes())
    assert [len(found) for found in written.values()] in ([1, 1], [1, 0])
    file = pq.ParquetFile(tmp_path / "out.parquet")
    assert set(file.metadata.metadata) == NOTES
    found = file.read()
    assert b"secret" not in (tmp_path / "out.parquet").read_bytes()
    # Parquet has no zones, unless a note beside the types says so.
    if name != "time":
        assert found["kept"].to_pylist() == cells
    assert rewritten(tmp_path, found) == (tmp_path / "out.parquet").read_bytes()


def rewritten(folder: Path, found: Any, protected: Any = ("answer",)) -> bytes:
    """The cells of a release, written again by the same writer and plan."""
    for name in protected:
        places = pa.compute.index_in(found[name], pa.array(WORDS))
        codes = pa.DictionaryArray.from_arrays(places.combine_chunks(), pa.array(WORDS))
        at = found.column_names.index(name)
        found = found.set_column(at, name, pa.chunked_array([codes]))
    sink = parquet_file.ParquetSink(folder / "again.parquet", found.schema, protected)
    for batch in found.combine_chunks().to_batches(77):
        sink.write(batch)
    text = (folder / "out.parquet.certificate.json").read_text("utf-8")
    sink.note(notes(sv.Certificate.from_json(text)))
    sink.close()
    return (folder / "again.parquet").read_bytes()


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_release_that_is_written_again_is_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shuffle: bool
) -> None:
    monkeypatch.setattr(parquet_file, "GROUP", 20_000)
    rows = 150_000
    draw = np.random.default_rng(8)
    kept = pa.array(draw.integers(0, 90_000, rows).astype(str))
    answers = pa.array(WORDS).take(pa.array(draw.integers(0, 3, rows)))
    plan = plan_of()
    (tmp_path / "plan.json").write_text(plan.to_json())
    pq.write_table(pa.table({"answer": answers, "kept": kept}), tmp_path / "in.parquet")
    protect_file(tmp_path, "in.parquet", "out.parquet", *["--shuffle"] * shuffle)
    file = pq.ParquetFile(tmp_path / "out.parquet")
    groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert groups == [20_000] * 7 + [10_000]
    found = pq.read_table(tmp_path / "out.parquet")
    assert rewritten(tmp_path, found) == (tmp_path / "out.parquet").read_bytes()


# Dictionaries that are read.


def test_slices_of_one_dictionary_are_told_apart() -> None:
    """They lie in the same memory, and each begins elsewhere or ends elsewhere."""
    entries = pa.array(["a", "b", "c", "d"])
    labels = Labels.of("categories", ["d", "c", "b", "a"])
    parts = [entries.slice(0, 2), entries.slice(1, 2), entries.slice(2, 2), entries.slice(1, 3)]
    for kind in (pa.string(), pa.large_string()):
        whole = entries.cast(kind)
        chunks = [
            pa.DictionaryArray.from_arrays(pa.array([0, None, len(part) - 1]), part)
            for part in (whole.slice(p.offset, len(p)) for p in parts)
        ]
        codes, missing = codes_of(pa.chunked_array(chunks), labels)
        assert missing is not None
        found = [None if m else labels.values[c] for c, m in zip(codes, missing, strict=True)]
        assert found == ["a", None, "b", "b", None, "c", "c", None, "d", "b", None, "d"]


# Nothing goes around the door.

TESTED = {
    "Arrays",
    "PandasFrame",
    "PolarsFrame",
    "ArrowTable",
    "Batch",
    "Relation",
    "Exported",
}


def test_every_table_is_one_of_those_that_are_tested() -> None:
    """A new container fails here until it stands above and is compared byte by byte."""
    found = set()
    for module in pkgutil.iter_modules(adapters.__path__):
        try:
            room = importlib.import_module(f"bistochastic_survey.table.{module.name}")
        except ImportError:
            continue
        for kind in vars(room).values():
            if inspect.isclass(kind) and callable(getattr(kind, "made", None)):
                found.add(kind.__name__)
    assert found == TESTED | {"Table"}
    # None makes columns without saying how.
    with pytest.raises(NotImplementedError):
        Table({}, 0)._rebuilt("x", None)


class Foreign:
    """What can take rows, and has no door."""

    iloc = property(lambda self: self)

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, rows: Any) -> Foreign:
        return self

    take = __getitem__


def test_what_has_no_door_is_refused() -> None:
    with pytest.raises(TypeError, match=r"`frame` must be a pandas or polars frame.*; got Foreign"):
        plan_of().protect(Foreign())  # type: ignore[type-var]
    kind = pa.dense_union([pa.field("a", pa.int8())])
    union = pa.UnionArray.from_dense(
        pa.array([0] * ROWS, pa.int8()), pa.array(range(ROWS), pa.int32()),
        [pa.array([SECRET % 100] * ROWS, pa.int8())], ["a"],
    )  # fmt: skip
    assert pa.types.is_union(kind)
    with pytest.raises(TypeError, match="column `kept`: must have a type that can be written"):
        plan_of().protect(pa.table({"answer": WORDS * 100, "kept": union}))


def test_titles_and_notes_of_records_stay_behind() -> None:
    noted = np.dtype("i4", metadata={"who": "Ann"})
    given = np.zeros(3, np.dtype([(("Ann Miller", "age"), noted), ("size", "f8", (2,))]))
    found = arrays.made(given)
    assert found.dtype == np.dtype([("age", "i4"), ("size", "f8", (2,))])
    assert "Ann" not in repr(found.dtype.fields)
    assert found.dtype["age"].metadata is None


def test_columns_of_rare_types_leave_too() -> None:
    cells: dict[str, Any] = {
        "runs": pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"]),
        "map": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        "pairs": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int64(), 2)),
        "views of lists": pa.array([[1], None, [2, 3]], pa.list_view(pa.int64())),
        "months": pa.array([(1, 2, 3), None, (4, 5, 6)], pa.month_day_nano_interval()),
        "truths": pa.array([True, None, False]).dictionary_encode(),
        "nothing": pa.nulls(3, pa.string()).dictionary_encode(),
        "empty": pa.array([{}, None, {}], pa.struct([])),
        "Int128": pl.Series([1, None, 3], dtype=pl.Int128),
        "Array": pl.Series([["a"], None, ["b"]], dtype=pl.Array(pl.Categorical, 1)),
        "Object": pl.Series([decimal.Decimal(1), None, "x"], dtype=pl.Object),
        "Time": pl.Series([datetime.time(1), None, datetime.time(2)]),
        "Sparse": pd.Series(pd.arrays.SparseArray([0, 0, 1])),
        "Interval": pd.Series(pd.IntervalIndex.from_breaks([0, 1, 2, 3])),
        "records": np.ma.array(
            [(1, 2.5)] * 3, mask=[(True, False)] * 3, dtype=[("a", "i1"), ("b", "f8")]
        ),
        "texts": np.array(["a", "b", "c"], dtype="S3"),
    }
    if not OLD:
        cells["views of bytes"] = pa.array([b"1", None, b"3"], pa.binary_view())
    for name, column in cells.items():
        columns = {"answer": WORDS, "kept": column}
        table: Any = columns
        if isinstance(column, pa.Array):
            table = pa.table(columns)
        elif isinstance(column, pl.Series):
            table = pl.DataFrame(columns)
        elif isinstance(column, pd.Series):
            table = pd.DataFrame(columns)
        for shuffle in (False, True):
            found = plan_of().protect(table, shuffle=shuffle).data["kept"]
            kept = getattr(found, "to_pylist", getattr(found, "tolist", None)) or found.to_list
            before = getattr(column, "to_pylist", getattr(column, "tolist", None)) or column.to_list
            assert sorted(map(repr, kept())) == sorted(map(repr, before())), name
