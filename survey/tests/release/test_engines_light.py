"""Engines that install in seconds give the release of one machine: polars, DuckDB, pyarrow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.release.batch_function import in_order
from engine_failures import BAD_INPUT, SECRET, bad_input
from folded import waved
from release.test_batch_function import people, plan

ROWS = 4000


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "survey.key"
    bs.Key.generate().to_file(path)
    return {
        "key": bs.KeySource.file(path),
        "ids": sv.Wave("person", after="first", pseudonym="who"),
    }


@pytest.fixture
def release(options: dict[str, Any]) -> pa.Table:
    """What one machine gives, in the order of the pseudonyms."""
    given = {**options, "key": options["key"].read()}
    found: pa.Table = plan().protect(people(ROWS), **given).data
    return found.sort_by("who")


def frame_of(table: pa.Table) -> pl.DataFrame:
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)
    return found


def test_polars(options: dict[str, Any], release: pa.Table, tmp_path: Path) -> None:
    lazy = frame_of(people(ROWS)).lazy()
    out = plan().on(lazy, **options)
    ways: tuple[Literal["in-memory", "streaming"], ...] = ("in-memory", "streaming")
    for engine in ways:
        found = out.collect(engine=engine).sort("who")
        assert found.equals(frame_of(release))
    # From file to file, a few rows at a time.
    pq.write_table(people(ROWS), tmp_path / "in.parquet", row_group_size=300)
    source = pl.scan_parquet(tmp_path / "in.parquet")
    plan().on(source, **options).sink_parquet(tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet").sort("who").equals(frame_of(release))
    # Two filters, before and after: the one after is by reports, not by true values.
    for engine in ways:
        later = out.filter(pl.col("sex") == "F").collect(engine=engine).sort("who")
        assert later.equals(frame_of(release).filter(pl.col("sex") == "F"))
    before = plan().on(lazy.filter(pl.col("region") == "n"), **options)
    assert before.collect().sort("who").equals(frame_of(release).filter(pl.col("region") == "n"))
    assert out.select("sex").head(3).collect().equals(out.collect().select("sex").head(3))
    with pytest.raises(TypeError, match="got DataFrame, of which lazy\\(\\) makes one"):
        plan().on(lazy.collect(), **options)


def test_duckdb(options: dict[str, Any], release: pa.Table) -> None:
    table = people(ROWS)
    connection = duckdb.connect()
    relation = connection.from_arrow(table).order("person desc")
    out = plan().on(relation, **options)
    found = out.to_arrow_table()
    assert found.sort_by("who").equals(release.cast(found.schema))
    with pytest.raises(TypeError, match="`obj` must be a Dataset or a Scanner of pyarrow"):
        plan().on(table, **options)


def test_batches_of_duckdb_come_back_in_order(options: dict[str, Any]) -> None:
    """Two are done at a time. DuckDB hands over 131,072 rows at once."""
    options = waved(options, pseudonym=None)
    votes = sv.Plan([sv.Categorical("votes", list(range(5)), "randomized_response", beta=0.4)])

    def rows(bad: int) -> duckdb.DuckDBPyRelation:
        said = f"range person, case when range = {bad} then 7 else range % 5 end votes"
        return duckdb.connect().sql(f"select {said} from range(700000)")

    found = votes.on(rows(-1), **options).to_arrow_table()
    wanted = votes.batch_function(**options).table(rows(-1).to_arrow_table())
    assert found.equals(wanted)
    # Whoever wants few rows leaves the others alone.
    assert votes.on(rows(-1), **options).limit(3).to_arrow_table().equals(wanted[:3])
    late = 5 * 131072 + 11
    with pytest.raises(Exception, match=r"column `votes`: .* in row 11 of its batch"):
        votes.on(rows(late), **options).to_arrow_table()


def test_datasets_of_pyarrow(options: dict[str, Any], release: pa.Table, tmp_path: Path) -> None:
    pq.write_table(people(ROWS), tmp_path / "in.parquet", row_group_size=700)
    source = ds.dataset(tmp_path / "in.parquet")
    for i, given in enumerate((source, source.scanner(batch_size=99))):
        out = plan().on(given, **options)
        assert isinstance(out, pa.RecordBatchReader)
        ds.write_dataset(out, tmp_path / f"out{i}", format="parquet")
        written = ds.dataset(tmp_path / f"out{i}")
        assert written.count_rows() == ROWS
        assert written.to_table().sort_by("who").equals(release)
    some = plan().on(source.scanner(filter=ds.field("region") == "n"), **options)
    assert some.read_all().sort_by("who").equals(release.filter(ds.field("region") == "n"))
    with pytest.raises(TypeError, match="`obj` must be a Dataset or a Scanner of pyarrow"):
        plan().on(people(3), **options)


def test_what_spark_refuses_is_cast_and_its_columns_are_held_in_order(
    options: dict[str, Any], release: pa.Table
) -> None:
    table = people(ROWS)
    f = plan().batch_function(**options)
    race = table["race"].dictionary_encode()
    batches = table.set_column(1, "race", race).to_batches(max_chunksize=900)
    names = dict.fromkeys(table.column_names, "")
    found = pa.Table.from_batches(list(in_order(f, names, batches)))
    assert found.sort_by("who").equals(release)
    swapped = table.select(["person", "sex", "region", "race", "votes"]).to_batches()
    with pytest.raises(ValueError, match="got `sex` instead of `race` at position 1"):
        list(in_order(f, names, swapped))


def on_polars(table: pa.Table, options: dict[str, Any], out: Path) -> None:
    plan().on(frame_of(table).lazy(), **options).sink_parquet(out)


def on_duckdb(table: pa.Table, options: dict[str, Any], out: Path) -> None:
    relation = duckdb.connect().from_arrow(table)
    plan().on(relation, **options).write_parquet(str(out))
    assert out.exists()


def on_dataset(table: pa.Table, options: dict[str, Any], out: Path) -> None:
    ds.write_dataset(plan().on(ds.dataset(table), **options), out, format="parquet")


WORKS: dict[str, Callable[[pa.Table, dict[str, Any], Path], None]] = {
    "polars": on_polars,
    "duckdb": on_duckdb,
    "pyarrow": on_dataset,
}


@pytest.mark.parametrize("case", BAD_INPUT)
@pytest.mark.parametrize("engine", WORKS)
def test_bad_input_stops_the_work_in_one_sentence(
    engine: str, case: str, options: dict[str, Any], tmp_path: Path
) -> None:
    table, changed, sentence = bad_input(case, options, tmp_path)
    out = tmp_path / "out.parquet"
    with pytest.raises(Exception, match=sentence) as caught:
        WORKS[engine](table, changed, out)
    assert SECRET not in str(caught.value)
    if engine == "duckdb":
        # It moves a file into its place when it is whole.
        assert not out.exists()
