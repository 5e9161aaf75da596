"""``plan.on``: a batch function on an object of an engine, which is imported by then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bistochastic.errors import RefusedType
from bistochastic_survey.release.pipeline import abreast
from bistochastic_survey.table.frames import unchanged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Protocol, Self, TypeVar

    import dask.dataframe as dd
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyspark.sql
    import ray.data

    FrameT = TypeVar("FrameT", pd.DataFrame, pl.DataFrame)

    class Protecting(Protocol):
        """The result of :meth:`bistochastic_survey.Plan.batch_function`."""

        def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]: ...
        def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch: ...
        def table(self, table: pa.Table) -> pa.Table: ...
        def schema(self, schema: pa.Schema) -> pa.Schema: ...
        def frame(self, frame: FrameT) -> FrameT: ...
        def _like(self, frame: FrameT) -> FrameT: ...
        def _for_schema(self, schema: pa.Schema) -> Self: ...


def on(f: Protecting, obj: object, observation: object) -> object:
    """Apply the function to the object, by the package that defines its type."""
    homes = (cls.__module__.partition(".")[0] for cls in type(obj).__mro__)
    run = next((_ENGINES[home] for home in homes if home in _ENGINES), None)
    if run is None:
        must = (
            "be a Spark or Dask DataFrame, a Ray Dataset, a DuckDB relation, a polars "
            "LazyFrame or a pyarrow Dataset or Scanner"
        )
        raise _wrong(must, obj)
    if run is _on_spark:
        return _on_spark(f, obj, observation)
    if observation is not None:
        raise RefusedType("observation", "come with a Spark DataFrame", type(obj).__name__)
    return run(f, obj)


def _wrong(must: str, obj: object, cure: str = "") -> TypeError:
    return RefusedType("obj", must, f"{type(obj).__name__}{cure}")


def _on_dask(f: Protecting, frame: dd.DataFrame) -> dd.DataFrame:
    """Return another Dask frame, partition by partition, without the index."""
    import dask.dataframe as dd

    if not isinstance(frame, dd.DataFrame):
        raise _wrong("be a DataFrame of Dask", frame)
    empty = _without_index(frame._meta)
    found = frame.map_partitions(_partition, f, _kinds(empty), meta=f._like(empty))
    return found.clear_divisions()


def _partition(frame: pd.DataFrame, f: Protecting, kinds: dict[str, str]) -> pd.DataFrame:
    unchanged(_kinds(frame), kinds)
    return f.frame(_without_index(frame))


def _without_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the same columns. The index is another one, of whatever the caller had there."""
    # Columns are not copied, as reset_index() would.
    found = frame.copy(deep=False)
    found.index = range(len(frame))
    return found


def _kinds(frame: pd.DataFrame) -> dict[str, str]:
    """Name the type of every column. All types of strings have the same name."""
    words = {name: str(dtype).split("[")[0] for name, dtype in frame.dtypes.items()}
    same = dict.fromkeys(("object", "str", "string"), "strings")
    return {name: same.get(word, word) for name, word in words.items()}


def _on_dataset(f: Protecting, source: object) -> pa.RecordBatchReader:
    """Return a reader of record batches that can be read once, e.g. for ``write_dataset``."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    if isinstance(source, ds.Dataset):
        source = source.scanner()
    if not isinstance(source, ds.Scanner):
        raise _wrong("be a Dataset or a Scanner of pyarrow", source)
    schema = source.projected_schema
    known = f._for_schema(schema)
    return pa.RecordBatchReader.from_batches(known.schema(schema), known(source.to_batches()))


def _on_duckdb(f: Protecting, relation: object) -> duckdb.DuckDBPyRelation:
    """Return another relation, on a connection of its own, which reads the first one once."""
    import duckdb
    import pyarrow as pa

    if not isinstance(relation, duckdb.DuckDBPyRelation):
        raise _wrong("be a DuckDB relation", relation)
    source = pa.RecordBatchReader.from_stream(relation)
    known = f._for_schema(source.schema)
    # DuckDB requests one batch after the other, with one of its threads, while the others wait.
    made = abreast(known.batch, source)
    out = pa.RecordBatchReader.from_batches(known.schema(source.schema), made)
    return duckdb.connect().from_arrow(out)


def _on_polars(f: Protecting, frame: object) -> pl.LazyFrame:
    """Return another LazyFrame. polars must not move a filter before it: the filter would choose
    rows by their true values.

    Rows are independent, so the streaming engine may pass a few at a time.
    """
    import polars as pl

    if not isinstance(frame, pl.LazyFrame):
        cure = ", of which lazy() makes one" if isinstance(frame, pl.DataFrame) else ""
        raise _wrong("be a LazyFrame of polars", frame, cure)
    return frame.map_batches(
        f.frame,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        schema=f._like(frame.collect_schema().to_frame()).schema,
        streamable=True,
    )


def _on_ray(f: Protecting, dataset: ray.data.Dataset) -> ray.data.Dataset:
    """Return another Dataset. Blocks of another schema than the first stop the work."""
    import pyarrow as pa
    import ray.data

    if not isinstance(dataset, ray.data.Dataset):
        raise _wrong("be a Dataset of Ray", dataset)
    base = getattr(dataset.schema(), "base_schema", None)
    if isinstance(base, pa.Schema):
        f = f._for_schema(base)
    return dataset.map_batches(f.table, batch_format="pyarrow", zero_copy_batch=True)


def _on_spark(
    f: Protecting, frame: pyspark.sql.DataFrame, observation: object = None
) -> pyspark.sql.DataFrame:
    """Return another DataFrame; ``observation`` counts ``records`` when it is written.

    Spark matches columns by position, so their order is fixed here and checked in every batch.
    """
    from pyspark.sql import functions
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StringType, StructField, StructType

    if not callable(getattr(type(frame), "mapInArrow", None)):
        raise _wrong("be a DataFrame of Spark", frame)
    named = {field.name: field.dataType for field in frame.schema.fields}
    arrow = to_arrow_schema(frame.schema)
    # The only new column is a pseudonym, a string.
    out = StructType(
        [StructField(name, named.get(name, StringType())) for name in f.schema(arrow).names]
    )
    made = frame.mapInArrow(Ordered(f, tuple(arrow.names)), out)
    if observation is not None:
        made = made.observe(observation, functions.count(functions.lit(1)).alias("records"))
    return made


class Ordered:
    """The function, for batches that must have these columns in this order."""

    def __init__(self, f: Protecting, names: tuple[str, ...]) -> None:
        self._f, self._names = f, dict.fromkeys(names, "")

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Give each record batch protected, as it comes."""
        for batch in batches:
            unchanged(dict.fromkeys(batch.schema.names, ""), self._names)
            yield taken_by_spark(self._f.batch(batch))


def taken_by_spark(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Convert types that Spark rejects: dictionaries, and unsigned integers.

    >>> import pyarrow as pa
    >>> codes = pa.array([0, 1], pa.uint8())
    >>> texts = pa.DictionaryArray.from_arrays(codes, ["F", "M"])
    >>> [str(column.type) for column in taken_by_spark(pa.record_batch({"a": codes, "b": texts}))]
    ['int16', 'string']
    """
    import pyarrow as pa

    own = schema = batch.schema
    wide = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}
    for i, field in enumerate(own):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        kind = wide.get(kind, kind)
        if kind != field.type:
            schema = schema.set(i, field.with_type(kind))
    return batch if schema is own else batch.cast(schema)


# By the package that defines the object.
_ENGINES = {
    "pyspark": _on_spark, "dask": _on_dask, "dask_expr": _on_dask, "ray": _on_ray,
    "duckdb": _on_duckdb, "_duckdb": _on_duckdb, "polars": _on_polars, "pyarrow": _on_dataset,
}  # fmt: skip
