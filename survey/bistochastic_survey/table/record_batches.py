"""pyarrow tables in batches: read from a caller, held until there are enough, passed on."""

from __future__ import annotations

import contextlib

import pyarrow as pa

from bistochastic.errors import RefusedType
from bistochastic_survey.table.arrow_cells import is_string, value_type
from bistochastic_survey.table.arrow_table import ArrowTable, PlacedTable
from bistochastic_survey.table.frames import distinct, unchanged
from bistochastic_survey.wording import shown


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
    if found.equals(expected):
        return
    unchanged(_kinds(found), _kinds(expected))
    for one, other in zip(found, expected, strict=True):
        if not one.type.equals(other.type):
            now, before = (shown(str(field.type).split("<")[0]) for field in (one, other))
            got = f"{now} after {before}" if now != before else f"{now} with other parts"
            raise RefusedType("", "stay of one type", got, column=one.name)


def _kinds(schema: pa.Schema) -> dict[str, str]:
    """Return the types by column, without the categories that one may list."""
    return {name: str(schema.field(name).type).split("<")[0] for name in distinct(schema.names)}


class Pieces:
    """Record batches of one schema, held until rows are removed from the front."""

    def __init__(self, schema: pa.Schema, *, places: bool = False) -> None:
        distinct(schema.names)
        self._table = PlacedTable if places else ArrowTable
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

    def add(self, batch: object) -> None:
        """Hold one more batch."""
        if not isinstance(batch, pa.RecordBatch):
            raise RefusedType("batch", "be a RecordBatch", type(batch).__name__)
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
        return self._table(found)
