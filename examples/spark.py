"""Protect a table on Spark, count reported values there, and estimate from the counts.

python examples/spark.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as sf

import bistochastic as bs
import bistochastic_survey as sv

RECORDS = 20_000


def main() -> None:
    """Go from a table with ids to estimated proportions, without a row leaving Spark."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    people = spark.range(RECORDS).select(
        sf.col("id").alias("person"),
        sf.when(sf.col("id") % 3 == 0, "F").otherwise("M").alias("sex"),
        sf.when(sf.col("id") % 7 == 0, "yes").otherwise("no").alias("smokes"),
        sf.when(sf.col("id") % 2 == 0, "north").otherwise("south").alias("region"),
    )
    plan = sv.Plan(
        [
            sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6),
            sv.Categorical("smokes", ["no", "yes"], "randomized_response", beta=0.7),
        ],
        name="survey",
        keep=["region"],
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # The key is made once. Each worker reads the file itself, at the same path.
        bs.Key.generate().to_file(folder / "survey.key")
        key = bs.KeySource.file(folder / "survey.key")
        f = plan.batch_function(key=key, ids=sv.Wave("person", after="first"))
        observed = Observation("rows")
        out = plan.on(people, observation=observed, key=key, ids=sv.Wave("person", after="first"))
        out.write.parquet(str(folder / "protected"))
        # Counting the rows of an id needs a group-by. The certificate states the result.
        most = people.groupBy("person").count().agg(sf.max("count")).first()[0]
        certificate = f.certificate(
            records=observed.get["records"],
            engine=f"spark {spark.version}",
            schema=people.limit(0).toArrow().schema,
            rows_per_id=most,
        )
        protected = spark.read.parquet(str(folder / "protected"))
        rows = protected.groupBy("sex", "smokes", "region").count().collect()
        everyone, north = (plan.collector(["sex", "smokes"]) for _ in range(2))
        everyone.add_counts(rows)
        north.add_counts([row for row in rows if row["region"] == "north"])
        spark.stop()
    print(certificate, end="\n\n")
    print(everyone.estimate("sex", "smokes"), end="\n\n")
    print(north.estimate("smokes"))


if __name__ == "__main__":
    main()
