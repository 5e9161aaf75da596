"""A plan on engines against their own copies: Parquet to Parquet, by ids.

For each engine two times: it reads and writes the columns as they are, and it protects them on the
way. What the second takes beyond the first is compared with the sum of ``randomize(ids=)`` over
the same columns, at most 1.5 times of which is wanted. Spark is compared with ``mapInArrow`` and
the identity plus that sum, 1.15 times of which is wanted, as its batches go through Python either
way. ``bistochastic protect`` does the same to one file, and should be faster than all of them.

Each engine runs in a process of its own, warm: a tenth of the rows is done before the clock runs.
There it protects, copies and draws turn by turn, so that what else the machine does meanwhile slows
all three, and the best of each is compared. There are many turns: Ray, for one, starts four or five
processes for every job, and what that takes varies by seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import bistochastic as bs
import bistochastic_survey as sv

# Everything listens on the loopback address alone.
LOCAL = "127.0.0.1"
os.environ |= {"SPARK_LOCAL_IP": LOCAL, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
               "PYSPARK_PYTHON": sys.executable}  # fmt: skip
SIZES = (2, 2, 5, 7, 9, 14, 16, 42)
COLUMNS = [f"c{i}" for i in range(len(SIZES))]
FILES = 10

Work = Callable[[Path, Path], object]


def levels(size: int, kind: str) -> list[Any]:
    return [f"level {j}" for j in range(size)] if kind == "texts" else list(range(size))


@cache
def plan(kind: str) -> sv.Plan:
    return sv.Plan(
        [
            sv.Categorical(name, levels(size, kind), "randomized_response", beta=0.6)
            for name, size in zip(COLUMNS, SIZES, strict=True)
        ]
    )


def write(folder: Path, rows: int, kind: str) -> None:
    """The table in ten files, a tenth of it for warming up, all of it in one file; plan and key."""
    draw = np.random.default_rng(1)
    parts = []
    for part in range(FILES):
        some = rows // FILES
        columns: dict[str, Any] = {"person": np.arange(part * some, (part + 1) * some)}
        for name, size in zip(COLUMNS, SIZES, strict=True):
            codes = draw.integers(0, size, some, dtype=np.int32)
            columns[name] = codes
            if kind == "texts":
                columns[name] = pa.array(levels(size, kind)).take(pa.array(codes))
        parts.append(pa.table(columns))
        for target in ["all", "some"] if part == 0 else ["all"]:
            (folder / target).mkdir(exist_ok=True)
            pq.write_table(parts[-1], folder / target / f"{part}.parquet")
    pq.write_table(pa.concat_tables(parts), folder / "all.parquet", row_group_size=1 << 20)
    pq.write_table(parts[0], folder / "some.parquet")
    (folder / "plan.json").write_text(plan(kind).to_json())
    bs.Key.generate().to_file(folder / "survey.key")


def draws(source: Path, key: bs.Key) -> float:
    """Seconds of the calls that nothing can do without, on codes in memory."""
    rows = pq.read_metadata(f"{source}.parquet").num_rows
    ids, draw = np.arange(rows), np.random.default_rng(1)
    seconds = 0.0
    for size in SIZES:
        matrix = bs.randomized_response(size, beta=0.6)
        codes = draw.integers(0, size, rows, dtype=np.uint8)
        start = time.perf_counter()
        matrix.randomize(codes, key=key, stream="bench", ids=ids)
        seconds += time.perf_counter() - start
    return seconds


def on_pyarrow(folder: Path, kind: str, options: dict[str, Any]) -> tuple[Work, Work]:
    import pyarrow.dataset as ds

    def copy(source: Path, out: Path) -> None:
        ds.write_dataset(ds.dataset(source).scanner(columns=COLUMNS), out, format="parquet")

    def protect(source: Path, out: Path) -> None:
        ds.write_dataset(plan(kind).on(ds.dataset(source), **options), out, format="parquet")

    return protect, copy


def on_polars(folder: Path, kind: str, options: dict[str, Any]) -> tuple[Work, Work]:
    import polars as pl

    def copy(source: Path, out: Path) -> None:
        pl.scan_parquet(source).drop("person").sink_parquet(out)

    def protect(source: Path, out: Path) -> None:
        plan(kind).on(pl.scan_parquet(source), **options).sink_parquet(out)

    return protect, copy


def on_duckdb(folder: Path, kind: str, options: dict[str, Any]) -> tuple[Work, Work]:
    import duckdb

    def read(source: Path) -> Any:
        return duckdb.connect().read_parquet(f"{source}/*.parquet")

    def copy(source: Path, out: Path) -> None:
        read(source).project(", ".join(COLUMNS)).write_parquet(str(out))

    def protect(source: Path, out: Path) -> None:
        plan(kind).on(read(source), **options).write_parquet(str(out))

    return protect, copy


def on_dask(folder: Path, kind: str, options: dict[str, Any]) -> tuple[Work, Work]:
    import dask.dataframe as dd

    def copy(source: Path, out: Path) -> None:
        dd.read_parquet(source).drop(columns="person").to_parquet(out, write_index=False)

    def protect(source: Path, out: Path) -> None:
        made = plan(kind).on(dd.read_parquet(source), **options)
        made.to_parquet(out, write_index=False)

    return protect, copy


def on_ray(folder: Path, kind: str, options: dict[str, Any]) -> tuple[Work, Work]:
    import ray
    import ray.data

    ray.init(include_dashboard=False, logging_level="ERROR", log_to_driver=False,
             _node_ip_address=LOCAL, _temp_dir=tempfile.mkdtemp(prefix="ray"))  # fmt: skip
    ray.data.DataContext.get_current().enable_progress_bars = False

    def copy(source: Path, out: Path) -> None:
        ray.data.read_parquet(str(source)).drop_columns(["person"]).write_parquet(str(out))

    def protect(source: Path, out: Path) -> None:
        plan(kind).on(ray.data.read_parquet(str(source)), **options).write_parquet(str(out))

    return protect, copy


def on_spark(folder: Path, kind: str, options: dict[str, Any]) -> tuple[Work, Work]:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.bindAddress", LOCAL)
        .config("spark.driver.host", LOCAL)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "4g")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")

    def copy(source: Path, out: Path) -> None:
        frame = spark.read.parquet(str(source))
        frame.mapInArrow(identity, frame.schema).drop("person").write.parquet(str(out))

    def protect(source: Path, out: Path) -> None:
        plan(kind).on(spark.read.parquet(str(source)), **options).write.parquet(str(out))

    return protect, copy


def identity(batches: Any) -> Any:
    yield from batches


def on_shell(folder: Path, kind: str, options: dict[str, Any]) -> tuple[Work, Work]:
    from bistochastic_survey.cli import main

    words = ["--plan", str(folder / "plan.json"), "--key-file", str(folder / "survey.key"),
             "--id-column", "person", "--after", "first"]  # fmt: skip

    def protect(source: Path, out: Path) -> None:
        main(["protect", f"{source}.parquet", f"{out}.parquet", *words], standalone_mode=False)

    def copy(source: Path, out: Path) -> None:
        pq.write_table(pq.read_table(f"{source}.parquet").drop_columns("person"), out)

    return protect, copy


ENGINES = {"pyarrow": on_pyarrow, "polars": on_polars, "duckdb": on_duckdb, "dask": on_dask,
           "ray": on_ray, "spark": on_spark, "bistochastic protect": on_shell}  # fmt: skip


def child(engine: str, kind: str, folder: Path, turns: int) -> None:
    """Print the best seconds of protecting, of copying and of the draws alone, as JSON."""
    source_of_key = bs.KeySource.file(folder / "survey.key")
    options = {"key": source_of_key, "ids": sv.Wave("person", after="first")}
    works = ENGINES[engine](folder, kind, options)
    found: list[list[float]] = [[], [], []]
    for turn in range(turns + 1):
        source = folder / ("all" if turn else "some")
        seconds = []
        for work in works:
            out = Path(tempfile.mkdtemp(dir=folder)) / "out"
            start = time.perf_counter()
            work(source, out)
            seconds.append(time.perf_counter() - start)
            shutil.rmtree(out.parent)
        seconds.append(draws(source, source_of_key.read()))
        if turn:
            for times, each in zip(found, seconds, strict=True):
                times.append(each)
    print(json.dumps([min(times) for times in found]))


def measured(engine: str, kind: str, folder: Path, turns: int) -> list[float] | None:
    words = [sys.executable, __file__, "--engine", engine, "--kind", kind]
    words += ["--folder", str(folder), "--turns", str(turns)]
    # A script that is called like a library would be found in its place.
    env = {**os.environ, "PYTHONSAFEPATH": "1"}
    done = subprocess.run(words, capture_output=True, text=True, env=env)
    if done.returncode:
        print(f"{engine:<22} failed: {(done.stderr.strip().splitlines() or ['?'])[-1][:150]}")
        return None
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--kind", choices=("numbers", "texts"), help="numbers, then texts")
    parser.add_argument("--engine", choices=list(ENGINES), help="this one alone, as a child")
    parser.add_argument("--folder", type=Path, help="where the files go")
    given = parser.parse_args()
    if given.engine:
        child(given.engine, given.kind, given.folder, given.turns)
        return
    for kind in [given.kind] if given.kind else ["numbers", "texts"]:
        with tempfile.TemporaryDirectory(dir=given.folder) as name:
            folder = Path(name)
            write(folder, given.rows, kind)
            table(folder, kind, given.rows, given.turns)


def table(folder: Path, kind: str, rows: int, turns: int) -> None:
    print(f"{rows:,} rows, {len(SIZES)} protected columns of {kind} and an integer id")
    for engine in ENGINES:
        found = measured(engine, kind, folder, turns)
        if found is None:
            continue
        protect, copy, floor = found
        said = f"{(protect - copy) / floor:5.2f} x the draws beyond its copy (at most 1.5)"
        if engine == "spark":
            said = f"{protect / (copy + floor):5.2f} x identity and draws (at most 1.15)"
        if engine == "bistochastic protect":
            said = "(wanted: faster than all)"
        speed = rows / protect / 1e6
        times = f"{protect:6.2f} s, {speed:5.2f} M rows/s, copy {copy:6.2f} s, draws {floor:5.2f} s"
        print(f"{engine:<22} {times}: {said}", flush=True)


if __name__ == "__main__":
    main()
