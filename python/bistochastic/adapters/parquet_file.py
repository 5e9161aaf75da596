"""Parquet files, a few row groups in memory at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from bistochastic.adapters.frames import distinct
from bistochastic.adapters.table_files import said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# Rows that are read together: fewer take longer per row.
ROWS = 1 << 17
# Rows of a group in what is written, at least. A group is written at once, and drawing waits where
# that takes long.
GROUP = 1 << 18
# Bytes of a column that are read ahead, so that a file of a single group is not read whole.
_BUFFER = 1 << 20


class ParquetSource:
    """A Parquet file."""

    def __init__(self, path: Path, name: str) -> None:
        self._name = name
        self._file = pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
        self.schema = self._file.schema_arrow
        distinct(self.schema.names)
        self.rows: int | None = self._file.metadata.num_rows
        self._read = 0

    def batches(self, columns: list[str] | None = None) -> Iterator[Any]:
        """Record batches of all columns, or of these alone."""
        self._read = 0
        with said(self._name):
            for batch in self._file.iter_batches(ROWS, columns=columns):
                self._read += batch.num_rows
                yield batch

    def numbers_of(self, column: Any, name: str, done: int) -> Any:
        """The column as it is: its type says whether it holds numbers."""
        return column

    def replaced(self, types: Mapping[str, Any]) -> None:
        """Columns are read as they are."""

    def about(self) -> int:
        """How many rows there are."""
        return self.rows or 0

    def share(self) -> float:
        """How many of the rows were read, from 0 to 1."""
        return self._read / self.rows if self.rows else 1.0

    @property
    def compression(self) -> str:
        """How the first column is compressed."""
        metadata = self._file.metadata
        if not metadata.num_row_groups or not metadata.num_columns:
            return "snappy"
        found = str(metadata.row_group(0).column(0).compression).lower()
        return {"uncompressed": "none", "lz4_raw": "lz4"}.get(found, found)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


class ParquetSink:
    """A new Parquet file."""

    def __init__(self, path: Path, schema: Any, like: Any) -> None:
        compression = getattr(like, "compression", "snappy")
        self._writer = pq.ParquetWriter(path, schema, compression=compression)
        self._schema = schema
        self._held: list[Any] = []
        self._rows = 0

    def write(self, batch: Any) -> None:
        """Add a record batch."""
        self._held.append(batch)
        self._rows += batch.num_rows
        if self._rows >= GROUP:
            self._flush()

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._held, self._schema)
        self._held, self._rows = [], 0
        # In one piece: what is over would make a group of a few rows.
        self._writer.write_table(table, row_group_size=max(GROUP, table.num_rows))

    def close(self) -> None:
        """Write what is left; the file is then whole."""
        if self._held and self._writer.is_open:
            self._flush()
        self._writer.close()
