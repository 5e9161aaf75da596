"""Spark gives the release of one machine, whatever happens: ``make test-engines``.

It is run in one process (``local``), with executors of its own (``local-cluster``), through Spark
Connect and as a stream.
"""

from __future__ import annotations

import os
import subprocess
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
import engine_world as world
from engine_failures import BAD_INPUT, SECRET, Once, Slow, bad_input
from release.test_batch_function import people, plan

sql = pytest.importorskip("pyspark.sql")
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return world.options_for(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="module")
def release(options: dict[str, Any]) -> list[dict[str, Any]]:
    return world.release_of(options)


@pytest.fixture(scope="module", params=["local[2,4]", "local-cluster[2,1,1024]"])
def spark(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("spark")
    (folder / "events").mkdir()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.bindAddress": world.LOCAL,
        "spark.driver.host": world.LOCAL,
        "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (folder / "events").as_uri(),
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.task.maxFailures": "4",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
        "spark.sql.shuffle.partitions": "3",
    }
    builder = sql.SparkSession.builder.master(request.param)
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    session.folder = folder
    yield session
    session.stop()


def frame_of(session: Any, table: pa.Table, folder: Path) -> Any:
    pq.write_table(table, folder / "in.parquet")
    return session.read.parquet(str(folder / "in.parquet"))


def written(frame: Any, path: Path) -> list[dict[str, Any]]:
    frame.write.mode("overwrite").parquet(str(path))
    return world.rows_of(pq.read_table(path))


def test_the_release_is_that_of_one_machine(
    spark: Any, options: dict[str, Any], release: Any, tmp_path: Path
) -> None:
    frame = frame_of(spark, people(world.ROWS), tmp_path)
    observed = sql.Observation("rows")
    out = plan().on(frame, observation=observed, **options)
    assert written(out, tmp_path / "one") == release
    assert observed.get["records"] == world.ROWS
    # Another partitioning, another action, a sort that evaluates twice.
    again = plan().on(frame.repartition(7), **options)
    assert written(again.orderBy("who"), tmp_path / "two") == release
    assert written(again, tmp_path / "three") == release
    assert again.count() == world.ROWS
    # Columns in another order are taken by name.
    turned = frame.select(*reversed(frame.columns))
    found = written(plan().on(turned, **options), tmp_path / "turned")
    assert found == [{name: row[name] for name in found[0]} for row in release]
    # An exception in the middle, after which the task is tried again.
    f = plan().batch_function(**options)
    failing = frame.repartition(3).mapInArrow(Once(f, tmp_path / "mark"), out.schema)
    assert written(failing, tmp_path / "four") == release
    assert (tmp_path / "mark").exists()
    secret = world.secret_of(options)
    plans = [each._jdf.queryExecution().toString() for each in (out, again)]
    assert not any(secret in text for text in plans)
    assert world.in_processes(secret) == []
    assert world.found_in(spark.folder, secret) == []
    assert list((spark.folder / "events").rglob("*"))
    world.assert_local()


def test_workers_that_are_killed_change_nothing(
    spark: Any, options: dict[str, Any], release: Any, tmp_path: Path
) -> None:
    frame = frame_of(spark, people(world.ROWS), tmp_path).repartition(4)
    out = plan().on(frame, **options)
    f = plan().batch_function(**options)
    killed: list[int] = []
    observed = sql.Observation("rows")

    def kill() -> None:
        time.sleep(2.5)
        killed.extend(world.kill(b"pyspark.daemon", b"pyspark/daemon"))
        if "cluster" in spark.sparkContext.master:
            executors = [p for p, line in world.own_processes() if b"CoarseGrained" in line]
            os.kill(executors[0], 9)
            killed.append(executors[0])

    thread = threading.Thread(target=kill)
    thread.start()
    slow = frame.mapInArrow(Slow(f), out.schema)
    counted = slow.observe(observed, sql.functions.count(sql.functions.lit(1)).alias("records"))
    assert written(counted, tmp_path / "out") == release
    assert observed.get["records"] == world.ROWS
    thread.join()
    assert killed


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_stops_the_work_in_one_sentence(
    spark: Any, case: str, options: dict[str, Any], tmp_path: Path
) -> None:
    if "cluster" in spark.sparkContext.master and case not in ("unknown category", "no key file"):
        pytest.skip("the same as in one process")
    table, changed, sentence = bad_input(case, options, tmp_path)
    out = tmp_path / "out"
    with pytest.raises(Exception, match=sentence) as caught:
        plan().on(frame_of(spark, table, tmp_path), **changed).write.parquet(str(out))
    assert SECRET not in str(caught.value)
    # Spark commits a job as a whole.
    assert not list(out.glob("*.parquet"))
    assert not (out / "_SUCCESS").exists()


def test_a_stream_that_is_started_again_releases_every_row_once(
    spark: Any, options: dict[str, Any], release: Any, tmp_path: Path
) -> None:
    table = people(world.ROWS)
    (tmp_path / "in").mkdir()
    half = world.ROWS // 2
    pq.write_table(table.slice(0, half), tmp_path / "in" / "one.parquet")
    schema = spark.read.parquet(str(tmp_path / "in")).schema
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)

    def run(frame: Any) -> Any:
        query = (
            frame.writeStream.format("parquet")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(tmp_path / "out"))
        )
        query.awaitTermination()
        return query

    stream = plan().on(source.parquet(str(tmp_path / "in")), observation="rows", **options)
    told = run(stream).lastProgress
    assert told["observedMetrics"]["rows"]["records"] == half
    pq.write_table(table.slice(half), tmp_path / "in" / "two.parquet")
    # It breaks down in the middle, and is then started again.
    f = plan().batch_function(
        **{**options, "key": bs.KeySource.file(tmp_path / "no", fingerprint="0" * 16)}
    )
    broken = source.parquet(str(tmp_path / "in")).mapInArrow(f, stream.schema)
    with pytest.raises(Exception, match="`key` must be a file on every machine"):
        run(broken)
    run(stream)
    run(stream)
    found = spark.read.parquet(str(tmp_path / "out"))
    assert world.rows_of(found.toArrow()) == release
    assert world.found_in(tmp_path / "checkpoint", world.secret_of(options)) == []


def run_script(path: Path, *words: str, **changes: str) -> subprocess.CompletedProcess[str]:
    """A script in a process of its own, with Spark on the loopback address."""
    folder = str(path.parent)
    python_path = os.pathsep.join([folder, os.environ["PYTHONPATH"]])
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": python_path, **changes}
    done = subprocess.run(
        [sys.executable, str(path), *words], env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def test_spark_connect(options: dict[str, Any], release: Any, tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    pq.write_table(people(world.ROWS), tmp_path / "in.parquet")
    script = ROOT / "survey" / "tests" / "engine_connect.py"
    done = run_script(script, str(tmp_path), options["key"].place)
    assert world.rows_of(pq.read_table(tmp_path / "out")) == release
    records, caught = done.stdout.splitlines()[-2:]
    assert records == f"records {world.ROWS}"
    assert "column `race`: must hold declared categories only" in caught
    assert SECRET not in done.stdout + done.stderr
    assert world.secret_of(options) not in done.stdout + done.stderr


def test_the_example_protects_counts_and_estimates() -> None:
    done = run_script(ROOT / "examples" / "spark.py")
    assert "Estimated from 20,000 records" in done.stdout
    assert "spark 4" in done.stdout
