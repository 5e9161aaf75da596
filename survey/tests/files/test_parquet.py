"""Parquet files that are written: whatever reads them finds the table that was meant."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey import cli
from bistochastic_survey.files import parquet_file

# Arrow 17 neither casts texts to views nor stores them.
VIEW = pa.string_view() if int(pa.__version__.split(".")[0]) >= 18 else pa.large_string()


def written(path: Path, table: pa.Table, rows: int | None = None) -> pa.Table:
    """The table, written in batches of so many rows and read again by pyarrow."""
    sink = parquet_file.ParquetSink(path, table.schema)
    for batch in table.to_batches(rows):
        sink.write(batch)
    sink.close()
    found = pq.read_table(path)
    found.validate(full=True)
    return found


def everything(rows: int) -> pa.Table:
    """A column of each kind that a table may keep in clear, with missing values."""
    draw = np.random.default_rng(5)
    few = [None if i % 7 == 3 else i % 5 for i in range(rows)]
    texts = [None if each is None else f"{each} é" for each in few]
    day = datetime.date(2020, 2, 29)
    return pa.table(
        {
            "texts": texts,
            "categories": pa.array(texts).dictionary_encode(),
            "wide categories": pa.array(texts).dictionary_encode().cast(
                pa.dictionary(pa.int64(), pa.large_string())
            ),
            "categories of numbers": pa.array(few).dictionary_encode(),
            "large": pa.array(texts, pa.large_string()),
            "views": pa.array(texts).cast(VIEW),
            "bytes": [None if each is None else bytes([each]) for each in few],
            "yes": [None if each is None else each > 2 for each in few],
            "floats": draw.normal(size=rows),
            "numbers": few,
            "unique": draw.integers(-(2**62), 2**62, rows),
            "days": [None if each is None else day for each in few],
            "times": pa.array(few, pa.timestamp("us", "Europe/Madrid")),
            "money": [None if each is None else decimal.Decimal(each) / 4 for each in few],
            "lists": [None if each is None else [each] * each for each in few],
            "structs": [{"a": each, "b": {"c": "x", "texts": "y"}} for each in few],
            "maps": pa.array([[("k", each)] for each in few], pa.map_(pa.string(), pa.int64())),
            "nothing": pa.nulls(rows),
            "no number": pa.nulls(rows, pa.int32()),
            "no category": pa.nulls(rows, pa.string()).dictionary_encode(),
        }
    )  # fmt: skip


def test_columns_of_every_kind_come_back_as_they_were(tmp_path: Path) -> None:
    table = everything(3_000)
    path = tmp_path / "out.parquet"
    found = written(path, table, 700)
    # What Parquet itself has no type for comes back as a simpler one.
    simpler = {"categories", "wide categories", "categories of numbers", "large", "views",
               "no category", "times"}  # fmt: skip
    for name in table.column_names:
        assert (found[name].type == table[name].type) == (name not in simpler), name
        assert found[name].to_pylist() == table[name].to_pylist(), name
    assert found["times"].type == pa.timestamp("us", "UTC")
    metadata = pq.read_metadata(path)
    columns = [metadata.row_group(0).column(i) for i in range(metadata.num_columns)]
    assert {column.compression for column in columns} == {parquet_file.CODEC.upper()}


def test_other_readers_see_the_same_table(tmp_path: Path) -> None:
    table = everything(100_000).select(["texts", "categories", "numbers", "unique", "floats"])
    path = tmp_path / "out.parquet"
    found = written(path, table)
    by_duckdb = duckdb.connect().read_parquet(str(path)).to_arrow_table()
    assert by_duckdb.cast(found.schema).equals(found)
    assert pl.read_parquet(path).to_arrow().cast(found.schema).equals(found)
    # Also by rows that are looked up instead of read.
    few = duckdb.connect().sql(f"SELECT count(*) FROM '{path}' WHERE numbers = 4").fetchall()
    lazy = pl.scan_parquet(path).filter(pl.col("numbers") == 4).select(pl.len()).collect().item()
    assert few == [(lazy,)] == [(table["numbers"].to_pylist().count(4),)]


def test_dictionaries_that_change_are_spelled_out(tmp_path: Path) -> None:
    parts = [pa.array(texts).dictionary_encode() for texts in (["a", "b"], ["c"], ["b", None])]
    table = pa.Table.from_arrays([pa.chunked_array(parts)], ["texts"])
    found = written(tmp_path / "out.parquet", table)
    assert found["texts"].type == pa.string()
    assert found["texts"].to_pylist() == ["a", "b", "c", "b", None]


WORDS = ["no", "not yet", "ja, schön"]


def release(folder: Path, table: pa.Table, out: str, *more: str, **options: Any) -> Any:
    """What the shell makes of a table in a Parquet file."""
    plan = sv.Plan([sv.Categorical("answer", WORDS, "randomized_response", beta=0.6,
                                   **options)], name="survey", keep=["person"])  # fmt: skip
    (folder / "plan.json").write_text(plan.to_json())
    pq.write_table(table, folder / "in.parquet")
    if not (folder / "key").exists():
        bs.Key.from_bytes(bytes(range(32))).to_file(folder / "key")
    words = ["protect", str(folder / "in.parquet"), str(folder / out), *more]
    words += ["--plan", str(folder / "plan.json")]
    return CliRunner().invoke(cli.main, words), plan


BY_IDS = ("--id-column", "person", "--after", "first")


@pytest.mark.parametrize("kind", dict.fromkeys([pa.string(), pa.large_string(), VIEW]), ids=str)
@pytest.mark.parametrize("missing", ["raise", "keep", "category"])
def test_texts_are_released_as_from_memory_and_stay_texts(
    tmp_path: Path, kind: Any, missing: str
) -> None:
    draw = np.random.default_rng(4)
    rows = 150_000
    mask = draw.random(rows) < (0 if missing == "raise" else 0.1)
    codes = pa.array(draw.integers(0, 3, rows), mask=mask)
    table = pa.table({"person": range(rows), "answer": pa.array(WORDS).take(codes).cast(kind)})
    done, plan = release(
        tmp_path, table, "out.parquet", *BY_IDS, "--key-file", str(tmp_path / "key"),
        missing=missing,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    key = bs.Key.from_file(tmp_path / "key")
    expected = plan.protect(table, key=key, ids=sv.Wave("person", after="first")).data
    found = pq.read_table(tmp_path / "out.parquet")
    # A file of Parquet knows one type of texts.
    assert found["answer"].type == pa.string()
    assert found.equals(expected.set_column(1, "answer", expected["answer"].cast(pa.string())))


def test_more_texts_than_a_dictionary_takes(tmp_path: Path) -> None:
    """The first has too many categories for a dictionary, the second too long ones."""
    for categories in ([f"{i}" for i in range(70_000)], ["x" * 9000 + f"{i}" for i in range(300)]):
        plan = sv.Plan([sv.Categorical("a", categories, "randomized_response", beta=0.1)])
        table = pa.table({"a": pa.array(categories, VIEW)})
        (tmp_path / "plan.json").write_text(plan.to_json())
        pq.write_table(table, tmp_path / "in.parquet")
        words = ["protect", str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet")]
        done = CliRunner().invoke(cli.main, [*words, "--plan", str(tmp_path / "plan.json")])
        assert done.exit_code == 0, done.output
        found = pq.read_table(tmp_path / "out.parquet")
        assert set(found["a"].to_pylist()) <= set(categories)


def test_a_text_that_is_not_declared_is_named_by_its_row(tmp_path: Path) -> None:
    for at, other in ((0, "secret"), (140_001, "secret"), (140_001, None)):
        answers: list[str | None] = [*WORDS * 50_000]
        answers[at] = other
        table = pa.table({"person": range(len(answers)), "answer": answers})
        done, _plan = release(tmp_path, table, "out.parquet")
        said = " ".join(done.output.split())
        must = (
            "declared categories only; got 1 other value" if other else "no missing values; got 1"
        )
        assert f"column `answer`: must hold {must}, the first in row {at}" in said
        assert done.exit_code == 1
        assert "secret" not in said
        assert not (tmp_path / "out.parquet").exists()


def test_many_pieces_are_drawn_two_at_a_time_and_written_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_file, "ROWS", 500)
    monkeypatch.setattr(parquet_file, "GROUP", 1300)
    draw = np.random.default_rng(6)
    rows = 12_345
    answers = pa.array(WORDS).take(pa.array(draw.integers(0, 3, rows)))
    table = pa.table({"person": draw.permutation(rows), "answer": answers})
    key = ("--key-file", str(tmp_path / "key"))
    done, plan = release(tmp_path, table, "out.parquet", *BY_IDS, *key)
    assert done.exit_code == 0, done.output
    held = bs.Key.from_file(tmp_path / "key")
    expected = plan.protect(table, key=held, ids=sv.Wave("person", after="first")).data
    assert pq.ParquetFile(tmp_path / "out.parquet").num_row_groups > 5
    assert pq.read_table(tmp_path / "out.parquet").equals(expected)


def test_a_kept_decimal_column_stays_a_number_beside_a_permuted_one(tmp_path: Path) -> None:
    """What was found out about columns of a CSV file is not forgotten for the permuted numbers."""
    (tmp_path / "in.csv").write_text("sex,pay,w\n" + "F,1.5,0.25\nM,2.5,9.30\n" * 20)
    plan = sv.Plan(
        [
            sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.5),
            sv.Numeric("pay", "randomized_response", beta=0.5),
        ],
        keep=["w"],
    )
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    words = ["protect", str(tmp_path / "in.csv"), str(tmp_path / "out.parquet")]
    found = CliRunner().invoke(cli.main, [*words, "--plan", str(tmp_path / "plan.toml")])
    assert found.exit_code == 0, found.output
    assert pq.read_schema(tmp_path / "out.parquet").field("w").type == pa.float64()
