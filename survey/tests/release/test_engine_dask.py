"""Dask gives the release of one machine, whatever happens: ``make test-engines``."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import engine_world as world
from engine_failures import BAD_INPUT, SECRET, Once, bad_input
from release.test_batch_function import people, plan

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dask")


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return world.options_for(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[Any]:
    with (
        dask.config.set({"temporary_directory": str(folder)}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host=world.LOCAL, dashboard_address=None,
            worker_dashboard_address=None, local_directory=str(folder),
        ) as cluster,
    ):  # fmt: skip
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster) as client:
        yield client


def frame_of(table: pa.Table, partitions: int = 7) -> Any:
    """As pandas has it, with whole numbers that can be missing."""
    kinds = {pa.int64(): pd.Int64Dtype()}
    return dd.from_pandas(table.to_pandas(types_mapper=kinds.get), npartitions=partitions)


def rows_of(frame: Any) -> list[dict[str, Any]]:
    return world.rows_of(pa.Table.from_pandas(frame, preserve_index=False))


def test_the_release_is_that_of_one_machine(
    client: Any, cluster: Any, folder: Path, options: dict[str, Any], tmp_path: Path
) -> None:
    release = world.release_of(options)
    frame = frame_of(people(world.ROWS))
    out = plan().on(frame, **options)
    assert list(out.columns) == list(out.compute().columns)
    # Two actions, one of them to files.
    assert rows_of(out.compute()) == release
    out.to_parquet(str(tmp_path / "out"))
    assert rows_of(dd.read_parquet(str(tmp_path / "out")).compute()) == release
    assert len(out) == world.ROWS
    # Other partitions, and a worker that is killed meanwhile.
    again = plan().on(frame.repartition(npartitions=3), **options)
    future = client.compute(again)
    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
    assert rows_of(future.result()) == release
    # An exception that goes away when it is tried again.
    f = plan().batch_function(**options)
    failing = frame.map_partitions(Once(f, tmp_path / "mark").frame, meta=out._meta)
    assert rows_of(client.compute(failing, retries=2).result()) == release
    assert (tmp_path / "mark").exists()
    secret = world.secret_of(options)
    assert world.in_processes(secret) == []
    assert world.found_in(folder, secret) == []
    world.assert_local()


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_stops_the_work_in_one_sentence(
    client: Any, case: str, options: dict[str, Any], tmp_path: Path
) -> None:
    table, changed, sentence = bad_input(case, options, tmp_path)
    with pytest.raises(Exception, match=sentence) as caught:
        plan().on(frame_of(table, 1), **changed).compute()
    assert SECRET not in str(caught.value)


def test_a_partition_of_another_type_stops_the_work(client: Any, options: dict[str, Any]) -> None:
    good = people(40).to_pandas()
    bad = good.assign(person=[f"p{i}" for i in range(40)])
    frame = dd.from_delayed([dask.delayed(good), dask.delayed(bad)], meta=good, verify_meta=False)
    with pytest.raises(TypeError, match="column `person`: must stay of type int64; got strings"):
        plan().on(frame, **options).compute()
