"""Real engines give the release of one machine, whatever happens: ``make test-engines``.

Skipped where an engine is not installed. Planted keys are searched for in all that engines write.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bistochastic as bs
from engine_failures import Dies, Once, Slow
from test_function import people, plan

ROWS = 6000
LOCAL = "127.0.0.1"


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "survey.key"
    bs.Key.generate().to_file(path)
    return path


@pytest.fixture(scope="module")
def options(key_file: Path) -> dict[str, Any]:
    return {"key": bs.KeySource.file(key_file), "id_column": "person", "after": "first",
            "pseudonym": "who"}  # fmt: skip


@pytest.fixture(scope="module")
def release(options: dict[str, Any]) -> list[dict[str, Any]]:
    """What one machine gives, in the order of the pseudonyms."""
    given = {**options, "key": options["key"].read()}
    return rows_of(plan().protect(people(ROWS), **given).data)


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.to_pylist()
    return sorted(found, key=lambda row: row["who"])


def found_in(folder: Path, secret: str) -> list[Path]:
    """Files that hold the secret, as text or as bytes."""
    forms = (secret.encode(), bytes.fromhex(secret))
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if any(form in path.read_bytes() for form in forms)]


def in_processes(secret: str) -> list[str]:
    """Processes that have it in their command line or environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                held = (folder / name).read_bytes()
            except OSError:
                continue
            if secret.encode() in held:
                found.append(f"{folder.name} {name}")
    return found


@pytest.fixture(scope="module", params=["local[2,4]", "local-cluster[2,1,1024]"])
def spark(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql")
    folder = tmp_path_factory.mktemp("spark")
    (folder / "events").mkdir()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = LOCAL
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    session = (
        sql.SparkSession.builder.master(request.param)
        .config("spark.driver.bindAddress", LOCAL)
        .config("spark.driver.host", LOCAL)
        .config("spark.ui.enabled", "false")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", (folder / "events").as_uri())
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.task.maxFailures", "4")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "500")
        .getOrCreate()
    )
    session.folder = folder
    yield session
    session.stop()


def spark_frame(session: Any, folder: Path) -> Any:
    path = folder / "in.parquet"
    pq.write_table(people(ROWS), path)
    return session.read.parquet(str(path))


def written(frame: Any, path: Path) -> list[dict[str, Any]]:
    frame.write.mode("overwrite").parquet(str(path))
    return rows_of(pq.read_table(path))


def test_spark(
    spark: Any, options: dict[str, Any], release: Any, key_file: Path, tmp_path: Path
) -> None:
    from pyspark.sql import Observation

    frame = spark_frame(spark, tmp_path)
    observed = Observation("rows")
    out = plan().on_spark(frame, observation=observed, **options)
    assert written(out, tmp_path / "one") == release
    assert observed.get["records"] == ROWS
    # Another partitioning, another action, a sort that evaluates twice.
    again = plan().on_spark(frame.repartition(7), **options)
    assert written(again.orderBy("who"), tmp_path / "two") == release
    assert written(again, tmp_path / "three") == release
    f = plan().function(**options)
    names = tuple(frame.columns)
    types = {field.name: field.dataType for field in frame.schema.fields}
    schema = ", ".join(
        f"{name} {types[name].simpleString() if name in types else 'string'}"
        for name in out.columns
    )
    assert names == tuple(people(1).column_names)
    failing = frame.repartition(3).mapInArrow(Once(f, tmp_path / "mark"), schema)
    assert written(failing, tmp_path / "four") == release
    assert (tmp_path / "mark").exists()
    secret = key_file.read_text().strip()
    plans = [out._jdf.queryExecution().toString(), again._jdf.queryExecution().toString()]
    assert not any(secret in text for text in plans)
    assert in_processes(secret) == []
    assert found_in(spark.folder, secret) == []
    assert list((spark.folder / "events").rglob("*"))


def test_a_worker_of_spark_that_is_killed_changes_nothing(
    spark: Any, options: dict[str, Any], release: Any, tmp_path: Path
) -> None:
    frame = spark_frame(spark, tmp_path).repartition(4)
    out = plan().on_spark(frame, **options)
    f = plan().function(**options)
    killed: list[int] = []

    def kill() -> None:
        time.sleep(2.5)
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                line = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if b"pyspark.daemon" in line or b"pyspark/daemon" in line:
                try:
                    os.kill(int(folder.name), signal.SIGKILL)
                    killed.append(int(folder.name))
                except OSError:
                    pass

    thread = threading.Thread(target=kill)
    thread.start()
    slow = frame.mapInArrow(Slow(f), out.schema)
    assert written(slow, tmp_path / "out") == release
    thread.join()
    assert killed


def test_bad_rows_and_keys_stop_spark_without_a_value(
    spark: Any, options: dict[str, Any], tmp_path: Path
) -> None:
    secret = "planted value"
    table = people(100)
    bad = pa.array([secret if i == 60 else "a" for i in range(100)])
    pq.write_table(table.set_column(1, "race", bad), tmp_path / "bad.parquet")
    out = plan().on_spark(spark.read.parquet(str(tmp_path / "bad.parquet")), **options)
    with pytest.raises(Exception, match="must hold declared categories only") as caught:
        out.write.parquet(str(tmp_path / "out"))
    assert secret not in str(caught.value)
    assert not list((tmp_path / "out").glob("*.parquet"))
    gone = bs.KeySource.file(tmp_path / "gone.key", fingerprint="0" * 16)
    out = plan().on_spark(spark_frame(spark, tmp_path), **{**options, "key": gone})
    with pytest.raises(Exception, match="`key` must be a file on every machine"):
        out.write.parquet(str(tmp_path / "out2"))


def test_dask(options: dict[str, Any], release: Any, key_file: Path, tmp_path: Path) -> None:
    dask = pytest.importorskip("dask")
    dd = pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("distributed")
    frame = dd.from_pandas(people(ROWS).to_pandas(), npartitions=7)
    out = plan().on_dask(frame, **options)
    assert list(out.columns) == list(out.compute().columns)
    with (
        dask.config.set({"temporary_directory": str(tmp_path)}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host=LOCAL, dashboard_address=None,
            local_directory=str(tmp_path),
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        assert rows_of(pa.Table.from_pandas(out.compute(), preserve_index=False)) == release
        again = plan().on_dask(frame.repartition(npartitions=3), **options)
        future = client.compute(again)
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        found = future.result()
        assert rows_of(pa.Table.from_pandas(found, preserve_index=False)) == release
        secret = key_file.read_text().strip()
        assert in_processes(secret) == []
        assert found_in(tmp_path, secret) == []


def test_ray(options: dict[str, Any], release: Any, key_file: Path, tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    ray.init(
        num_cpus=2, include_dashboard=False, logging_level="ERROR", _node_ip_address=LOCAL,
        _temp_dir=str(tmp_path / "ray"),
        runtime_env={"env_vars": {"PYTHONPATH": str(Path(__file__).parent)}},
    )  # fmt: skip
    try:
        given = ray.data.from_arrow(people(ROWS))

        def taken(dataset: Any) -> list[dict[str, Any]]:
            return rows_of(pa.concat_tables(ray.get(dataset.to_arrow_refs())))

        assert taken(plan().on_ray(given, **options)) == release
        assert taken(plan().on_ray(given.repartition(5), **options)) == release
        f = plan().function(**options)
        dies = given.repartition(3).map_batches(
            Dies(f, tmp_path / "mark").table, batch_format="pyarrow"
        )
        assert taken(dies) == release
        assert (tmp_path / "mark").exists()
        secret = key_file.read_text().strip()
        assert in_processes(secret) == []
        assert found_in(tmp_path, secret) == []
    finally:
        ray.shutdown()
