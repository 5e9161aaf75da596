"""Spark Connect, in a process of its own: a protected file, and what is said of bad rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Observation, SparkSession

import bistochastic as bs
import bistochastic_survey as sv
import engine_world as world
from engine_failures import SECRET
from release.test_batch_function import people, plan


def main(folder: Path, key: str) -> None:
    # By default the server listens on every address.
    builder = SparkSession.builder.remote("local[2]")
    spark = builder.config("spark.connect.grpc.binding.address", world.LOCAL).getOrCreate()
    assert "connect" in type(spark).__module__
    options: dict[str, Any] = {
        "key": bs.KeySource.file(key),
        "ids": sv.Wave("person", after="first", pseudonym="who"),
    }
    observed = Observation("rows")
    frame = spark.read.parquet(str(folder / "in.parquet")).repartition(5)
    out = plan().on(frame, observation=observed, **options)
    out.write.parquet(str(folder / "out"))
    world.assert_local()
    print("records", observed.get["records"])
    bad = people(9).set_column(1, "race", pa.array(["a"] * 8 + [SECRET]))
    pq.write_table(bad, folder / "bad.parquet")
    try:
        plan().on(spark.read.parquet(str(folder / "bad.parquet")), **options).count()
    except Exception as error:
        print(" ".join(str(error).split()))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
