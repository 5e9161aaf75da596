"""Arrow files, which hold record batches as they are in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bistochastic.adapters.frames import distinct
from bistochastic.adapters.table_files import said

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path


class TypedSource:
    """A table in a file that states the types of its columns and the number of its rows."""

    def __init__(self, name: str, file: Any, schema: pa.Schema, rows: int) -> None:
        distinct(schema.names)
        self._name, self._file, self._read = name, file, 0
        self.schema = schema
        self.rows: int | None = rows

    def _each(self, columns: list[str] | None) -> Iterable[pa.RecordBatch]:
        """Read record batches of all columns, or of these only."""
        raise NotImplementedError

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        self._read = 0
        with said(self._name):
            for batch in self._each(columns):
                self._read += batch.num_rows
                yield batch

    def decide(self, columns: Collection[str]) -> None:
        """Do nothing: the types of the columns say what they hold."""

    def table(self, columns: list[str], texts: Collection[str] = ()) -> pa.Table:
        schema = pa.schema([self.schema.field(name) for name in columns])
        return pa.Table.from_batches(self.batches(columns), schema)

    def replaced(self, types: Mapping[str, object]) -> None:
        """Do nothing: columns are read as they are."""

    def about(self) -> int:
        return self.rows or 0

    def share(self) -> float:
        """Return the fraction of rows that were read, from 0 to 1."""
        return self._read / self.rows if self.rows else 1.0

    def close(self) -> None:
        self._file.close()


class ArrowSource(TypedSource):
    """An Arrow file, also called Feather."""

    def __init__(self, path: Path, name: str) -> None:
        file = pa.memory_map(str(path))
        self._reader = pa.ipc.open_file(file)
        super().__init__(name, file, self._reader.schema, 0)
        with said(name):
            self.rows = sum(batch.num_rows for batch in self._each(None))

    def _each(self, columns: list[str] | None) -> Iterable[pa.RecordBatch]:
        each = map(self._reader.get_batch, range(self._reader.num_record_batches))
        return each if columns is None else (batch.select(columns) for batch in each)
