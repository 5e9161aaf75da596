"""``plan.on``: a batch function on a Spark DataFrame, Spark Connect or a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from bistochastic.adapters.engines import Protecting


from bistochastic.adapters.frames import unchanged


def on_spark(f: Protecting, frame: DataFrame, observation: object = None) -> DataFrame:
    """Return another DataFrame; ``observation`` counts ``records`` when it is written.

    Spark matches columns by position, so their order is fixed here and checked in every batch.
    """
    from pyspark.sql import functions
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StringType, StructField, StructType

    if not callable(getattr(type(frame), "mapInArrow", None)):
        raise TypeError(f"`obj` must be a DataFrame of Spark; got {type(frame).__name__}")
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
