"""Arrow files, which hold record batches as they are in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from bistochastic.adapters.frames import distinct
from bistochastic.adapters.table_files import said

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path


class ArrowSource:
    """An Arrow file, also called Feather."""

    def __init__(self, path: Path, name: str) -> None:
        self._name = name
        self._file = pa.memory_map(str(path))
        self._reader = pa.ipc.open_file(self._file)
        self.schema = self._reader.schema
        distinct(self.schema.names)
        self._batches = self._reader.num_record_batches
        with said(name):
            found = sum(self._reader.get_batch(i).num_rows for i in range(self._batches))
        self.rows: int | None = found
        self._read = 0

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Record batches of all columns, or of these alone."""
        self._read = 0
        with said(self._name):
            for i in range(self._batches):
                batch = self._reader.get_batch(i)
                self._read += batch.num_rows
                yield batch if columns is None else batch.select(columns)

    def decide(self, columns: Collection[str]) -> None:
        """The types of the columns say what they hold."""

    def table(self, columns: list[str], texts: Collection[str] = ()) -> pa.Table:
        """These columns, whole."""
        schema = pa.schema([self.schema.field(name) for name in columns])
        return pa.Table.from_batches(self.batches(columns), schema)

    def replaced(self, types: Mapping[str, object]) -> None:
        """Columns are read as they are."""

    def about(self) -> int:
        """How many rows there are."""
        return self.rows or 0

    def share(self) -> float:
        """How many of the rows were read, from 0 to 1."""
        return self._read / self.rows if self.rows else 1.0

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
