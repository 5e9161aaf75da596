"""``plan.batch_function``: the function that an engine calls for each of its batches; ``plan.on``:
that function on an object of an engine, which is imported by then.

On an engine a row has no lasting position: partitions are cut again, workers are lost and their
work is repeated, two actions compute everything twice. So rows are addressed only by ids. Then
each row has one reported value, however often it is computed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bistochastic import Key, KeySource
from bistochastic.errors import Refused, RefusedType
from bistochastic_survey import checks
from bistochastic_survey.plan import file_labels
from bistochastic_survey.plan.attributes import named, names
from bistochastic_survey.plan.plan import FrameT, Plan
from bistochastic_survey.release import waves
from bistochastic_survey.release.certificate import Certificate
from bistochastic_survey.release.certificate_json import MOST, ByIds
from bistochastic_survey.release.protect import abreast
from bistochastic_survey.release.run import Options, Run
from bistochastic_survey.release.waves import Wave, replaced
from bistochastic_survey.table.arrow_table import check_schema, declares, id_kind
from bistochastic_survey.table.frames import Table, opened, unchanged
from bistochastic_survey.wording import Shown, shown

if TYPE_CHECKING:
    import dask.dataframe as dd
    import duckdb
    import pandas as pd
    import polars as pl
    import pyspark.sql
    import ray.data


@dataclass(frozen=True)
class BatchFunction(Shown):
    """A plan, the source of its key, and the address of rows. It can be pickled without the key.

    Errors count rows from 0 within their batch, because an engine does not say which batch of the
    table it is. A table or a DataFrame is one batch.

    >>> import bistochastic as bs, pyarrow as pa, tempfile
    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> batch = pa.record_batch({"person": [7, 8], "sex": ["F", "M"]})
    >>> with bs.KeySource.temporary(tempfile.mkdtemp()) as source:
    ...     f = plan.batch_function(key=source, ids=sv.Wave("person", after="first"))
    ...     f.batch(batch).schema.names, f.batch(batch) == f.batch(batch)
    (['sex'], True)
    """

    plan: Plan
    key: KeySource
    ids: Wave | None
    row_columns: tuple[str, ...]
    release_name: str | None
    unit_pseudonym: tuple[tuple[str, str], ...] = ()
    _expected: pa.Schema | None = field(default=None, repr=False)
    """The Arrow schema that batches must have, if one was said."""

    def _for_schema(self, schema: pa.Schema) -> BatchFunction:
        """Return the same for batches of only this pyarrow schema: others stop the work."""
        self.schema(schema)
        return dataclasses.replace(self, _expected=_schema(schema))

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the output schema for batches of this schema, without reading the key or a row.

        An engine that plans before it computes asks for it.

        >>> import bistochastic as bs, pyarrow as pa, tempfile
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")])
        >>> with bs.KeySource.temporary(tempfile.mkdtemp()) as source:
        ...     f = plan.batch_function(key=source, ids=sv.Wave("person", after="first"))
        >>> f.schema(pa.schema({"person": pa.int64(), "sex": pa.string()})).names
        ['sex']
        """
        return self._protected(opened(_schema(schema).empty_table()), None).schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Protect each record batch as it comes."""
        own = self
        for batch in batches:
            yield own.batch(batch)
            if own._expected is None:
                # All other batches must have the schema of the first.
                own = own._for_schema(batch.schema)

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Protect one record batch."""
        self._check(batch, "RecordBatch")
        return self._protected(opened(batch), self.key.read())

    def table(self, table: pa.Table) -> pa.Table:
        """Protect a table of pyarrow."""
        self._check(table, "Table")
        return self._protected(opened(table), self.key.read())

    def frame(self, frame: FrameT) -> FrameT:
        """Protect a table of any library that ``protect`` accepts; the result has the same type.

        An engine that hands over DataFrames calls this for each of its batches.

        >>> import bistochastic as bs, pandas as pd, tempfile
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")])
        >>> with bs.KeySource.temporary(tempfile.mkdtemp()) as source:
        ...     f = plan.batch_function(key=source, ids=sv.Wave("person", after="first"))
        ...     f.frame(pd.DataFrame({"person": [7, 8], "sex": ["F", "M"]})).columns.tolist()
        ['sex']
        """
        found: FrameT = self._protected(opened(frame), self.key.read())
        return found

    def _check(self, given: pa.RecordBatch | pa.Table, kind: str) -> None:
        name = kind.removeprefix("Record").lower()
        checks.of_type(name, f"be a {kind} of pyarrow", given, getattr(pa, kind))
        if self._expected is not None:
            check_schema(given.schema.remove_metadata(), self._expected)

    def _run(self, names: list[str], key: Key | None) -> Run:
        """Make the run for tables of these columns; without a key, for their schema."""
        options = Options(key, self.release_name, self.ids, False, dict(self.unit_pseudonym))
        return Run(self.plan, names, options, row_columns=self.row_columns)

    def _protected(self, table: Table, key: Key | None) -> Any:
        return self._run(table.names, key).piece(table, None)

    def certificate(
        self, *, records: int, engine: str, schema: Any = None, rows_per_id: int | None = None
    ) -> Certificate:
        """Make the certificate of the release, once the engine has written it.

        * ``records``: the number of rows that were written, as the engine counted them.
        * ``engine``: its name and version.
        * ``schema``: the schema of the input.
        * ``rows_per_id``: the largest number of rows of an id in the input, if a group-by of the
          engine counted them. Without it the certificate says that this was not checked.
        """
        rows = checks.whole("records", records, 0)
        most = None if rows_per_id is None else checks.whole("rows_per_id", rows_per_id, 1)
        for label, count in (("records", rows), ("rows_per_id", most or 0)):
            if count > MOST:
                raise Refused(label, "be at most 2^53", shown(count))
        name = named("engine", engine)
        given = self._expected if schema is None else schema
        if given is None:
            raise Refused("schema", "be that of the input", "none")
        known = _schema(given)
        key = self.key.read()
        run = self._run(known.names, key)
        run.piece(opened(known.empty_table()), None)
        for column in run.units:
            run.units[column] = id_kind(known.field(column).type)
        columns = self.row_columns if self.ids is None else (self.ids.column,)
        kinds = [id_kind(known.field(column).type) for column in columns]
        wave = self.ids
        if wave is None:
            if most is not None and most > 1:
                raise Refused("rows_per_id", "be 1, as row_columns identify rows", most)
            by = ByIds(
                id_column="", kind=", ".join(kinds), kept=False, pseudonym=None,
                max_rows_per_id=1, rows_per_id_checked=most, after="first", redrawn=(), carried=(),
                row_columns=self.row_columns,
            )  # fmt: skip
        else:
            people = waves.People(1)
            people.see({kinds[0]})
            people.units = run.units
            wave._refuse_changed(self.plan, key, people)
            by = wave._outcome(self.plan, key, people, counted=False)
            if most is not None:
                by = dataclasses.replace(by, max_rows_per_id=most, rows_per_id_checked=most)
        found = run.certificate(rows, ids=by, engine=name)
        listed = tuple(column for column in run.clear if declares(given, column))
        return dataclasses.replace(found, declared_categories=listed)

    def __repr__(self) -> str:
        by = ", ".join(self.row_columns) if self.ids is None else self.ids.column
        return f"<BatchFunction of plan `{shown(self.plan.name)}` by `{shown(by)}`, {self.key!r}>"


def batch_function(
    plan: Plan,
    *,
    key: object,
    release_name: object,
    ids: object,
    row_columns: object,
    unit_pseudonym: object,
    allow_insecure: object,
) -> BatchFunction:
    """Make the function of :meth:`Plan.batch_function`."""
    plan._refuse_undecided()
    if isinstance(key, Key):
        must = "be a KeySource, as an engine would write a key into its logs"
        raise RefusedType("key", must, "a Key")
    if not isinstance(key, KeySource):
        twice = "none, so a row that is done twice gets two reported values"
        raise RefusedType("key", "be a KeySource", twice if key is None else type(key).__name__)
    if not checks.flag("allow_insecure", allow_insecure) and key.fingerprint == "insecure":
        must = "be a secret, or allow_insecure=True be said"
        raise Refused("key", must, "one that anyone can guess")
    for attribute in plan._numeric:
        must = "not be numeric on an engine, as numbers are permuted among all records"
        raise Refused("", must, "a numeric one: use protect", column=attribute.columns)
    plan._meet_requirement()
    wave = waves.Wave._of(ids)
    if (wave is None) == (row_columns is None):
        got = "neither" if wave is None else "both"
        raise Refused("ids", "be given, or row_columns, as rows have no position on an engine", got)
    label = None if release_name is None else named("release_name", release_name)
    by_unit = tuple(replaced(plan, unit_pseudonym).items())
    if wave is not None:
        file_labels.refuse_numbers(plan, "by ids on an engine")
        if wave.max_rows != 1:
            must = "be 1 on an engine, which says rows_per_id for the certificate"
            raise Refused("max_rows", must, wave.max_rows)
        wave._check_plan(plan, label)
        return BatchFunction(plan, key, wave, (), label, by_unit)
    columns = names("row_columns", row_columns)
    if not columns or len(set(columns)) < len(columns):
        got = "one twice" if columns else "none"
        raise Refused("row_columns", "name at least one column, each once", got)
    if label is None:
        raise Refused("release_name", "name the file whose rows are addressed", "none")
    return BatchFunction(plan, key, None, columns, label, by_unit)


def _schema(given: pa.Schema) -> pa.Schema:
    if not isinstance(given, pa.Schema):
        got = f"{type(given).__module__.split('.')[0]}'s {type(given).__name__}"
        raise RefusedType("schema", "be a Schema of pyarrow", got)
    return given.remove_metadata()


# Engines.


def on(f: BatchFunction, obj: object, observation: object) -> object:
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


def _on_dask(f: BatchFunction, frame: dd.DataFrame) -> dd.DataFrame:
    """Return another Dask frame, partition by partition, without the index."""
    import dask.dataframe as dd

    if not isinstance(frame, dd.DataFrame):
        raise _wrong("be a DataFrame of Dask", frame)
    empty = _without_index(frame._meta)
    return frame.map_partitions(
        _partition, f, _kinds(empty), meta=f._protected(opened(empty), None)
    ).clear_divisions()


def _partition(frame: pd.DataFrame, f: BatchFunction, kinds: dict[str, str]) -> pd.DataFrame:
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


def _on_dataset(f: BatchFunction, source: object) -> pa.RecordBatchReader:
    """Return a reader of record batches that can be read once, e.g. for ``write_dataset``."""
    import pyarrow.dataset as ds

    if isinstance(source, ds.Dataset):
        source = source.scanner()
    if not isinstance(source, ds.Scanner):
        raise _wrong("be a Dataset or a Scanner of pyarrow", source)
    schema = source.projected_schema
    known = f._for_schema(schema)
    return pa.RecordBatchReader.from_batches(known.schema(schema), known(source.to_batches()))


def _on_duckdb(f: BatchFunction, relation: object) -> duckdb.DuckDBPyRelation:
    """Return another relation, on a connection of its own, which reads the first one once."""
    import duckdb

    if not isinstance(relation, duckdb.DuckDBPyRelation):
        raise _wrong("be a DuckDB relation", relation)
    source = pa.RecordBatchReader.from_stream(relation)
    known = f._for_schema(source.schema)
    # DuckDB requests one batch after the other, with one of its threads, while the others wait.
    made = abreast(known.batch, source)
    out = pa.RecordBatchReader.from_batches(known.schema(source.schema), made)
    return duckdb.connect().from_arrow(out)


def _on_polars(f: BatchFunction, frame: object) -> pl.LazyFrame:
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
        schema=f._protected(opened(frame.collect_schema().to_frame()), None).schema,
        streamable=True,
    )


def _on_ray(f: BatchFunction, dataset: ray.data.Dataset) -> ray.data.Dataset:
    """Return another Dataset. Blocks of another schema than the first stop the work."""
    import ray.data

    if not isinstance(dataset, ray.data.Dataset):
        raise _wrong("be a Dataset of Ray", dataset)
    base = getattr(dataset.schema(), "base_schema", None)
    if isinstance(base, pa.Schema):
        f = f._for_schema(base)
    return dataset.map_batches(f.table, batch_format="pyarrow", zero_copy_batch=True)


def _on_spark(
    f: BatchFunction, frame: pyspark.sql.DataFrame, observation: object = None
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
    made = frame.mapInArrow(partial(in_order, f, dict.fromkeys(arrow.names, "")), out)
    if observation is not None:
        made = made.observe(observation, functions.count(functions.lit(1)).alias("records"))
    return made


def in_order(
    f: BatchFunction, names: dict[str, str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Protect each record batch as it comes; all must have these columns in this order."""
    for batch in batches:
        unchanged(dict.fromkeys(batch.schema.names, ""), names)
        yield taken_by_spark(f.batch(batch))


def taken_by_spark(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Convert types that Spark rejects: dictionaries, and unsigned integers.

    >>> import pyarrow as pa
    >>> codes = pa.array([0, 1], pa.uint8())
    >>> texts = pa.DictionaryArray.from_arrays(codes, ["F", "M"])
    >>> [str(column.type) for column in taken_by_spark(pa.record_batch({"a": codes, "b": texts}))]
    ['int16', 'string']
    """
    own = schema = batch.schema
    wide = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}
    for i, each in enumerate(own):
        kind = each.type.value_type if pa.types.is_dictionary(each.type) else each.type
        kind = wide.get(kind, kind)
        if kind != each.type:
            schema = schema.set(i, each.with_type(kind))
    return batch if schema is own else batch.cast(schema)


# By the package that defines the object.
_ENGINES = {
    "pyspark": _on_spark, "dask": _on_dask, "dask_expr": _on_dask, "ray": _on_ray,
    "duckdb": _on_duckdb, "_duckdb": _on_duckdb, "polars": _on_polars, "pyarrow": _on_dataset,
}  # fmt: skip
