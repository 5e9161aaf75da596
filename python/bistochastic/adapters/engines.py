"""What each engine is asked to do with a function of a plan: one call each, nothing of our own.

Every one of these returns the engine's own lazy object. An engine is imported when it is called.
``f`` is a :class:`bistochastic.Function`: it goes to the workers and reads its key there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def on_polars(f: Any, frame: Any) -> Any:
    """A LazyFrame of polars. Nothing is pushed down through it: a filter that polars moved to the
    other side would choose rows by their true values."""
    import polars as pl

    if not isinstance(frame, pl.LazyFrame):
        raise TypeError(f"`frame` must be a LazyFrame of polars; got {type(frame).__name__}")
    empty = frame.collect_schema().to_frame()
    return frame.map_batches(
        f.frame,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        schema=f.like(empty).schema,
    )


def on_duckdb(f: Any, relation: Any) -> Any:
    """A relation of DuckDB, on a connection of its own, which reads the other one once."""
    import duckdb
    import pyarrow as pa

    if not isinstance(relation, duckdb.DuckDBPyRelation):
        raise TypeError(f"`relation` must be one of DuckDB; got {type(relation).__name__}")
    source = pa.RecordBatchReader.from_stream(relation)
    known = f.for_schema(source.schema)
    out = pa.RecordBatchReader.from_batches(known.schema(source.schema), known(source))
    return duckdb.connect().from_arrow(out)


def on_dask(f: Any, frame: Any) -> Any:
    """A frame of Dask, partition by partition."""
    import dask.dataframe as dd

    if not isinstance(frame, dd.DataFrame):
        raise TypeError(f"`frame` must be a DataFrame of Dask; got {type(frame).__name__}")
    meta = f.like(frame._meta.reset_index(drop=True))
    return frame.map_partitions(_partition, f, meta=meta).clear_divisions()


def _partition(frame: Any, f: Any) -> Any:
    """A partition of Dask, without its index: that is a column of whatever the caller had there."""
    return f.frame(frame.reset_index(drop=True))


def on_ray(f: Any, dataset: Any) -> Any:
    """A Dataset of Ray, block by block."""
    import ray.data

    if not isinstance(dataset, ray.data.Dataset):
        raise TypeError(f"`dataset` must be a Dataset of Ray; got {type(dataset).__name__}")
    return dataset.map_batches(f.table, batch_format="pyarrow")


def on_spark(f: Any, frame: Any, observation: Any = None) -> Any:
    """A DataFrame of Spark or Spark Connect, also a streaming one.

    Spark matches columns by position, so that the order is fixed here and checked in every batch.
    """
    from pyspark.sql import functions
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StringType, StructField, StructType

    if not callable(getattr(type(frame), "mapInArrow", None)):
        raise TypeError(f"`frame` must be a DataFrame of Spark; got {type(frame).__name__}")
    named = {field.name: field for field in frame.schema.fields}
    arrow = to_arrow_schema(frame.schema)
    out = StructType(
        [
            StructField(name, named[name].dataType, True)
            if name in named
            else StructField(name, StringType(), True)
            for name in f.schema(arrow).names
        ]
    )
    made = frame.mapInArrow(_Ordered(f, list(arrow.names)), out)
    if observation is not None:
        made = made.observe(observation, functions.count(functions.lit(1)).alias("records"))
    return made


class _Ordered:
    """The function, for batches that must have these columns in this order."""

    def __init__(self, f: Any, names: list[str]) -> None:
        self.f, self.names = f, names

    def __call__(self, batches: Any) -> Any:
        from bistochastic.adapters.record_batches import check_names

        for batch in batches:
            check_names(batch.schema.names, self.names)
            yield self.f.batch(batch)


def on_dataset(f: Any, source: Any, write: Callable[..., Any], **options: Any) -> int:
    """A dataset of pyarrow, read in batches and handed to ``write``; the number of rows."""
    import pyarrow as pa

    known = f.for_schema(source.schema)
    rows = 0

    def counted() -> Any:
        nonlocal rows
        for batch in known(source.to_batches()):
            rows += batch.num_rows
            yield batch

    schema = known.schema(source.schema)
    write(pa.RecordBatchReader.from_batches(schema, counted()), **options)
    return rows
