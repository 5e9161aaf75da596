"""pyarrow tables and record batches, DuckDB relations, and whatever else gives Arrow columns.

Tables in batches are read from a caller, held until there are enough rows, and passed on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from bistochastic.errors import RefusedType
from bistochastic_survey.checks import of_type
from bistochastic_survey.plan.labels import Labels
from bistochastic_survey.table import arrow_cells
from bistochastic_survey.table.arrow_cells import Cells, is_string, value_type, whole
from bistochastic_survey.table.codes import Labelled, coded
from bistochastic_survey.table.frames import BE_A_TABLE, Codes, Mask, distinct, unchanged
from bistochastic_survey.table.table import Table
from bistochastic_survey.wording import shown

if TYPE_CHECKING:
    import duckdb

# Strings as places among the categories.
_PLACES = pa.dictionary(pa.int32(), pa.string())


class ArrowTable(Table):
    """A table, in chunks of any length. Engines give many small chunks, so calls are few.

    With ``places``, protected strings come out as places among the categories, however they came.
    """

    def __init__(self, native: pa.Table, *, places: bool = False) -> None:
        self._places = places
        names = distinct(native.column_names)
        super().__init__(dict(zip(names, native.columns, strict=True)), native.num_rows)
        self._schema = native.schema

    def _read(self, name: str) -> Cells:
        return self.column(name)

    def is_declared(self, name: str) -> bool:
        return arrow_cells.is_declared(self.column(name).type)

    def categories(self, name: str) -> tuple[tuple[Any, ...], bool, bool]:
        listed = enum_of_polars(self._schema.field(name))
        return super().categories(name) if listed is None else (listed, True, False)

    def _coded(
        self, values: Labelled, codes: Codes, missing: Mask | None, like: Any, own: bool
    ) -> Cells:
        kind = pa.array(values[:1]).type if own else like.type
        if self._places:
            kind = _PLACES if isinstance(values[0], str) else value_type(kind)
        return coded(kind, values, codes, missing)

    def _valued(self, values: np.ndarray, missing: Mask | None, like: Any, own: bool) -> Cells:
        if missing is not None:
            # Nothing is left under a mask.
            values = np.where(missing, np.zeros(1, values.dtype), values)
        found = pa.array(values, mask=missing)
        return pa.chunked_array([found if own else found.cast(like.type)])

    def texts(self, values: Sequence[str]) -> Cells:
        return pa.chunked_array([pa.array(values, pa.string())])

    def _rebuilt(self, name: str, order: np.ndarray | None) -> Cells:
        column = self.column(name)
        try:
            return arrow_cells.column(column, order)
        except (pa.ArrowException, TypeError):
            kind = shown(str(column.type).split("<")[0])
        raise RefusedType("", "have a type that can be written cell by cell", kind, column=name)

    def _taken(self, column: Cells, order: np.ndarray) -> Cells:
        return arrow_cells.taken(whole(column), order)

    def _table(self, columns: dict[str, Cells]) -> Any:
        return pa.table(columns)


class Batch(ArrowTable):
    """A record batch."""

    def __init__(self, native: pa.RecordBatch) -> None:
        super().__init__(pa.Table.from_batches([native]))

    def _table(self, columns: dict[str, Cells]) -> pa.RecordBatch:
        return pa.record_batch({name: whole(column) for name, column in columns.items()})


class Exported(ArrowTable):
    """A table of any other library that gives Arrow columns, made again by its ``from_arrow``."""

    def __init__(self, native: Any) -> None:
        try:
            table = pa.table(native)
        except (pa.ArrowException, TypeError):
            # A single column gives a stream, too, but not of a table.
            raise RefusedType("frame", BE_A_TABLE, type(native).__name__) from None
        super().__init__(table)
        self._make = getattr(type(native), "from_arrow", None)

    def _table(self, columns: dict[str, Cells]) -> Any:
        found = super()._table(columns)
        return found if self._make is None else self._make(found)


class Relation(ArrowTable):
    """A relation: computed once when it is read, and one of the same connection given back."""

    def __init__(self, native: duckdb.DuckDBPyRelation) -> None:
        self._relation = native
        self._sql = dict(zip(native.columns, map(str, native.types), strict=True))
        table = native.to_arrow_table() if hasattr(native, "to_arrow_table") else native.arrow()
        super().__init__(table)

    def labelled(self, name: str, labels: Labels, codes: Codes, missing: Mask | None) -> Cells:
        if self._sql[name].startswith("ENUM"):
            entries = ", ".join(_quoted(str(value), "'") for value in labels.values)
            self._sql[name] = f"ENUM({entries})"
        return super().labelled(name, labels, codes, missing)

    def relabelled(self, name: str, labels: Labels, codes: Codes, missing: Mask | None) -> Cells:
        self._sql.pop(name)
        return super().relabelled(name, labels, codes, missing)

    def numbered(
        self, name: str, values: np.ndarray, missing: Mask | None = None, *, own: bool = False
    ) -> Cells:
        if own:
            self._sql.pop(name)
        return super().numbered(name, values, missing, own=own)

    def categories(self, name: str) -> tuple[tuple[Any, ...], bool, bool]:
        kind: Any = self._relation.types[self.names.index(name)]
        if kind.id != "enum":
            return super().categories(name)
        return tuple(kind.children[0][1]), True, False

    def is_declared(self, name: str) -> bool:
        """Whether a column like that one lists its categories: an ENUM does, also inside of it."""
        return "ENUM(" in self._sql[name]

    def _table(self, columns: dict[str, Cells]) -> duckdb.DuckDBPyRelation | None:
        protected = super()._table(columns)
        # Read back, an Arrow dictionary is text: the type has to be given.
        terms = [
            f"CAST({_quoted(name)} AS {self._sql[name]}) AS {_quoted(name)}"
            if name in self._sql
            else _quoted(name)
            for name in columns
        ]
        # DuckDB finds the table by the name of the variable.
        assert protected is not None
        query = f"SELECT {', '.join(terms)} FROM protected"
        return self._relation.query("bistochastic_original", query)


def reader_of(given: object) -> pa.RecordBatchReader:
    """Return the caller's source as a pyarrow reader."""
    if isinstance(given, pa.RecordBatchReader):
        return given
    if isinstance(given, pa.Table):
        return given.to_reader()
    got = type(given).__name__
    if hasattr(given, "__arrow_c_stream__"):
        # A single column gives a stream, too, but not of a table.
        with contextlib.suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError):
            return pa.RecordBatchReader.from_stream(given)
        got += " with columns that Arrow does not have" if hasattr(given, "columns") else ""
    raise RefusedType("reader", "be a RecordBatchReader of pyarrow, or give an Arrow stream", got)


def id_kind(kind: pa.DataType) -> str:
    """Name the kind of a column's ids by its type."""
    kind = value_type(kind)
    if pa.types.is_integer(kind):
        return "whole numbers"
    return "texts" if is_string(kind) else "bytes"


def check_schema(found: pa.Schema, expected: pa.Schema) -> None:
    """Reject other columns, another order or other types than in the first batch."""
    if not found.equals(expected):
        # A type of Arrow says nothing of the values.
        now, before = (
            {name: str(schema.field(name).type) for name in distinct(schema.names)}
            for schema in (found, expected)
        )
        unchanged(now, before)


class Pieces:
    """Record batches of one schema, held until rows are removed from the front."""

    def __init__(self, schema: pa.Schema, *, places: bool = False) -> None:
        distinct(schema.names)
        self._places = places
        self._schema = schema.remove_metadata()
        self._held: list[pa.RecordBatch] = []
        self.rows = 0
        """How many are held."""
        self.taken = 0
        """How many were taken before."""

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self._schema.names)

    def add(self, batch: pa.RecordBatch) -> None:
        """Hold one more batch."""
        of_type("batch", "be a RecordBatch", batch, pa.RecordBatch)
        check_schema(batch.schema.remove_metadata(), self._schema)
        if batch.num_rows:
            self._held.append(batch)
            self.rows += batch.num_rows

    def take(self, rows: int) -> ArrowTable:
        """Return the first rows that are held, as one table."""
        whole = pa.Table.from_batches(self._held, self._schema)
        found = whole.slice(0, rows)
        self._held = whole.slice(rows).to_batches()
        self.rows -= found.num_rows
        self.taken += found.num_rows
        return ArrowTable(found, places=self._places)


def declares(schema: pa.Schema, name: str) -> bool:
    """Whether a column of an Arrow schema publishes its categories, in an order of their own.

    A polars Enum does, which older versions mark only by metadata.
    """
    field = schema.field(name)
    return arrow_cells.is_declared(field.type) or enum_of_polars(field) is not None


def enum_of_polars(field: pa.Field) -> tuple[str, ...] | None:
    """Return the categories of a polars Enum in an Arrow schema, e.g. in a file of polars."""
    text: bytes | None = (field.metadata or {}).get(b"_PL_ENUM_VALUES2")
    if text is None:
        return None
    found = []
    while text:
        length, _, rest = text.partition(b";")
        if not length.isdigit() or len(rest) < int(length):
            return None
        found.append(rest[: int(length)].decode(errors="replace"))
        text = rest[int(length) :]
    return tuple(found)


def _quoted(text: str, mark: str = '"') -> str:
    return mark + text.replace(mark, 2 * mark) + mark
