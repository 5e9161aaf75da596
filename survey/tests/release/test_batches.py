"""A release in pieces: the rows of ``protect``, whatever pieces they come in."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.release.columns import NumericValues
from bistochastic_survey.release.protect import Stream, permuted
from bistochastic_survey.release.run import Options
from tables import values_of

KEY = bs.Key.from_bytes(bytes(range(32)))
BLOCK = 65_536
# As many rows as are drawn at a time, and the block that waits behind them.
FULL = 8 * BLOCK


def plan(*more: Any) -> sv.Plan:
    laws = {"n": bs.randomized_response(3, beta=0.3), "s": bs.randomized_response(3, beta=0.9)}
    return sv.Plan(
        [
            sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6),
            sv.Joint(("a", "b"), [[3, 1], [False, True]], "randomized_response", beta=0.5),
            sv.Categorical(
                "vote", ["x", "y"], groups=("region", laws), missing="category"
            ),
            *more,
        ],
        name="survey",
        keep=["region", "age"],
        drop=["name"],
    )  # fmt: skip


def people(rows: int, *, ids: bool = False) -> pa.Table:
    rng = np.random.default_rng(5)
    vote = pa.array(np.array(["x", "y"])[rng.integers(0, 2, rows)], mask=rng.random(rows) < 0.1)
    columns = {
        "name": pa.array(np.arange(rows)),
        "sex": pa.array(np.array(["F", "M"])[rng.integers(0, 2, rows)]).dictionary_encode(),
        "a": pa.array(np.array([1, 3], dtype="i4")[rng.integers(0, 2, rows)]),
        "region": pa.array(np.array(["n", "s"])[rng.integers(0, 2, rows)]),
        "b": pa.array(rng.integers(0, 2, rows).astype(bool)),
        "vote": vote,
        "age": pa.array(rng.integers(20, 80, rows)),
    }
    if ids:
        columns["id"] = pa.array(rng.permutation(rows))
    return pa.table(columns)


def in_pieces(table: pa.Table, cuts: list[int]) -> pa.RecordBatchReader:
    bounds = [0, *sorted(cuts), len(table)]
    pieces = [table.slice(a, b - a) for a, b in pairwise(bounds)]
    batches = [batch for piece in pieces for batch in piece.to_batches()]
    return pa.RecordBatchReader.from_batches(table.schema, batches)


@pytest.mark.parametrize(
    ("rows", "cuts"),
    [
        (0, []),
        (3, [1]),
        (BLOCK - 1, [7]),
        (BLOCK, []),
        (BLOCK + 1, [BLOCK]),
        (2 * BLOCK - 1, [BLOCK, BLOCK + 1]),
        (2 * BLOCK, [1, BLOCK - 1]),
        (FULL + BLOCK - 1, [FULL]),
        (FULL + BLOCK, [5, FULL + 1]),
        (FULL + 2 * BLOCK + 1, list(range(0, FULL, 100_000))),
        (2 * FULL + BLOCK, []),
    ],
)
def test_pieces_make_the_release_of_the_whole(rows: int, cuts: list[int]) -> None:
    table, own = people(rows), plan()
    options: dict[str, Any] = {"key": KEY, "release_name": "w"} if rows >= 256 else {}
    want = own.protect(table, **options)
    got = own.protect_batches(in_pieces(table, cuts), **options)
    assert got.schema == want.data.schema
    with pytest.raises(ValueError, match=r"^`certificate` must be read after all rows"):
        _ = got.certificate
    data = got.read_all()
    assert got.certificate == want.certificate
    assert data.schema == want.data.schema
    assert data.num_rows == rows
    if options:
        assert data.equals(want.data.combine_chunks())


@settings(deadline=None, max_examples=25)
@given(
    rows=st.integers(0, 2000),
    cuts=st.lists(st.integers(0, 2000), max_size=9),
    pseudonym=st.sampled_from([None, "person"]),
)
def test_pieces_by_ids_make_the_release_of_the_whole(
    rows: int, cuts: list[int], pseudonym: str | None
) -> None:
    table, own = people(rows, ids=True), plan()
    cuts = [min(cut, rows) for cut in cuts]
    options: dict[str, Any] = {"key": KEY, "ids": sv.Wave("id", after="first", pseudonym=pseudonym)}
    want = own.protect(table, **options)
    got = own.protect_batches(in_pieces(table, cuts), **options)
    assert values_of(got.read_all()) == values_of(want.data)
    assert got.certificate == want.certificate


def test_no_more_rows_are_held_than_are_drawn_at_a_time() -> None:
    table = people(3 * FULL + 17)
    given = taken = 0
    own = plan()
    stream = Stream(own, table.schema, Options.of(own, key=KEY, release_name="w"))

    def batches() -> Iterator[Any]:
        nonlocal given
        for batch in table.to_batches(max_chunksize=10_000):
            assert given - taken < FULL + BLOCK
            given += batch.num_rows
            yield batch

    for piece in stream.pieces(batches()):
        taken += sum(part.num_rows for part in stream.drawn(piece))
    assert taken == given == len(table)


def test_whatever_reads_an_arrow_stream_reads_the_release() -> None:
    table, own = people(1000), plan()
    options: dict[str, Any] = {"key": KEY, "release_name": "w"}
    want = values_of(own.protect(table, **options).data)
    frame: Any = pl.DataFrame(own.protect_batches(table, **options))
    assert values_of(frame) == want
    batches = own.protect_batches(pl.DataFrame(table), **options)
    assert values_of(batches.read_all()) == want
    again = own.protect_batches(table, **options)
    found = duckdb.connect().from_arrow(again.to_reader())
    assert values_of(found) == want
    parts = list(own.protect_batches(in_pieces(table, [10]), **options))
    assert values_of(pa.Table.from_batches(parts)) == want


def test_what_is_wrong_is_named_by_its_row_in_the_whole() -> None:
    own, rows = plan(), FULL + BLOCK + 100
    table = people(rows, ids=True)
    sex = table["sex"].cast(pa.string()).to_pylist()
    sex[FULL + 99] = "planted"
    broken = table.set_column(1, "sex", pa.array(sex))
    options: dict[str, Any] = {"key": KEY, "ids": sv.Wave("id", after="first")}
    must = "^column `sex`: must hold declared categories only; got 1 other value, the first in row "
    with pytest.raises(ValueError, match=f"{must}{FULL + 99}$") as caught:
        list(own.protect_batches(broken, **options))
    assert "planted" not in str(caught.value)
    ids = table["id"].to_pylist()
    ids[FULL + 50] = ids[3]
    broken = table.set_column(7, "id", pa.array(ids))
    with pytest.raises(
        ValueError, match=f"per id, .*; got an id with more, seen in row {FULL + 50}"
    ):
        list(own.protect_batches(broken, **options))
    ids[FULL + 50] = None
    broken = table.set_column(7, "id", pa.array(ids))
    with pytest.raises(ValueError, match=f"no missing ids; got 1, the first in row {FULL + 50}"):
        list(own.protect_batches(broken, **options))


def test_columns_and_types_are_checked_before_a_row_is_read() -> None:
    def none() -> Iterator[Any]:
        raise AssertionError
        yield

    table = people(300)
    for schema, match in (
        (table.schema.remove(1), "^column `sex`: must be in `frame`; got none"),
        (table.schema.append(pa.field("more", pa.int8())), "; got `more`$"),
        (table.schema.set(1, pa.field("sex", pa.float32())), "^column `sex`: must hold strings"),
        (table.schema.append(pa.field("sex", pa.int8())), "each column once; got `sex` twice"),
    ):
        reader = pa.RecordBatchReader.from_batches(schema, none())
        with pytest.raises((ValueError, TypeError), match=match):
            plan().protect_batches(reader)
    with pytest.raises(TypeError, match=r"^`reader` must be a RecordBatchReader .*; got Chunk"):
        # A column alone gives an Arrow stream too.
        plan().protect_batches(pa.chunked_array([["F", "M"]]))
    with pytest.raises(TypeError, match=r"^`reader` must be a RecordBatchReader .*; got list$"):
        plan().protect_batches([1])
    few = plan().protect_batches(people(255), key=KEY, release_name="w")
    with pytest.raises(ValueError, match=r"^`frame` must have at least 256 rows .*; got 255"):
        list(few)


def test_a_numeric_column_takes_two_passes() -> None:
    own, table = plan(sv.Numeric("income", "k_anonymous", k=5)), people(1000)
    income = np.random.default_rng(2).normal(size=1000)
    table = table.append_column("income", pa.array(income))
    must = "^column `income`: must not be numeric in batches, as numbers are permuted"
    with pytest.raises(ValueError, match=must):
        own.protect_batches(table)
    options = Options.of(own, key=KEY, release_name="w", shuffle=True)
    numbers = {"income": permuted(own, options, "income", NumericValues(income))}
    stream = Stream(own, table.schema, options, numbers=numbers)
    cut = in_pieces(table, [10, 400])
    parts = [ready for piece in stream.pieces(cut) for ready in stream.drawn(piece)]
    stream.close()
    want = own.protect(table, key=KEY, release_name="w")
    assert values_of(pa.Table.from_batches(parts)) == values_of(want.data)
    assert stream.certificate.shuffled
    assert stream.certificate.plan == want.certificate.plan
    # Numbers for another number of rows are no numbers of this table.
    fewer = {"income": NumericValues(numbers["income"].values[:999])}
    short = Stream(own, table.schema, options, numbers=fewer)
    with pytest.raises(ValueError, match=r"^column `income`: must have a number for each of 1000"):
        list(short.pieces(table.to_batches()))
