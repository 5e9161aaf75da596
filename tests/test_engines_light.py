"""Engines that install in seconds give the release of one machine: polars, DuckDB, pyarrow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import bistochastic as bs
from bistochastic.adapters import engines
from test_function import people, plan

ROWS = 4000


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "survey.key"
    bs.Key.generate().to_file(path)
    return {"key": bs.KeySource.file(path), "id_column": "person", "after": "first",
            "pseudonym": "who"}  # fmt: skip


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


def test_polars(options: dict[str, Any], release: pa.Table) -> None:
    lazy = frame_of(people(ROWS)).lazy()
    out = plan().on_polars(lazy, **options)
    for engine in ("in-memory", "streaming"):
        found = out.collect(engine=engine).sort("who")
        assert found.equals(frame_of(release))
    # Two filters, before and after: the one after is by reports, not by true values.
    later = out.filter(pl.col("sex") == "F").collect().sort("who")
    assert later.equals(frame_of(release).filter(pl.col("sex") == "F"))
    before = plan().on_polars(lazy.filter(pl.col("region") == "n"), **options)
    assert before.collect().sort("who").equals(frame_of(release).filter(pl.col("region") == "n"))
    assert out.select("sex").head(3).collect().equals(out.collect().select("sex").head(3))
    with pytest.raises(TypeError, match="`frame` must be a LazyFrame of polars; got DataFrame"):
        plan().on_polars(lazy.collect(), **options)


def test_duckdb(options: dict[str, Any], release: pa.Table) -> None:
    table = people(ROWS)
    connection = duckdb.connect()
    relation = connection.from_arrow(table).order("person desc")
    out = plan().on_duckdb(relation, **options)
    found = out.to_arrow_table()
    assert found.sort_by("who").equals(release.cast(found.schema))
    with pytest.raises(TypeError, match="`relation` must be one of DuckDB; got Table"):
        plan().on_duckdb(table, **options)


def test_datasets_of_pyarrow(options: dict[str, Any], release: pa.Table, tmp_path: Path) -> None:
    pq.write_table(people(ROWS), tmp_path / "in.parquet", row_group_size=700)
    f = plan().function(**options)
    target = tmp_path / "out"
    rows = engines.on_dataset(
        f, ds.dataset(tmp_path / "in.parquet"), ds.write_dataset, base_dir=target, format="parquet"
    )
    assert rows == ROWS
    assert ds.dataset(target).to_table().sort_by("who").equals(release)


def test_a_bad_row_stops_every_engine_without_its_value(options: dict[str, Any]) -> None:
    secret = "planted value"
    table = people(100)
    bad = pa.array([secret if i == 60 else "a" for i in range(100)])
    table = table.set_column(1, "race", bad)
    lazy = frame_of(table).lazy()
    relation = duckdb.connect().from_arrow(table)
    works: list[Callable[[], Any]] = [
        lambda: plan().on_polars(lazy, **options).collect(),
        lambda: plan().on_duckdb(relation, **options).to_arrow_table(),
    ]
    for work in works:
        with pytest.raises(Exception, match="must hold declared categories only") as caught:
            work()
        assert secret not in str(caught.value)
