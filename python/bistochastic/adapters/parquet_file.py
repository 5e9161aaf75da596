"""Parquet files, a few row groups in memory at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from bistochastic.adapters import parquet_pages, thrift
from bistochastic.adapters.frames import distinct
from bistochastic.adapters.table_files import said

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from bistochastic.adapters.thrift import Struct

# Rows that are read together: fewer take longer per row, as threads wait for each other more often.
ROWS = 1 << 18
# Rows of a group in what is written, at least. A group is written at once, and drawing waits where
# that takes long.
GROUP = 1 << 18
# Bytes of a column that are read ahead, so that a file of a single group is not read whole.
_BUFFER = 1 << 20
# What a file begins and ends with.
_MAGIC = b"PAR1"


class ParquetSource:
    """A Parquet file."""

    def __init__(self, path: Path, name: str, places: Iterable[str] = ()) -> None:
        """Texts in the columns ``places`` are read as places in a dictionary, if stored so."""
        self._name = name
        self._file = pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
        schema = self._file.schema_arrow
        distinct(schema.names)
        listed = [column for column in places if _is_listed(self._file, column)]
        self.stored = {field.name: field.type for field in schema}
        """The types of the columns in the file, whatever they are read as."""
        if listed:
            self._file.close()
            self._file = pq.ParquetFile(
                path, buffer_size=_BUFFER, pre_buffer=False, read_dictionary=listed
            )
        self.schema = self._file.schema_arrow
        self.rows: int | None = self._file.metadata.num_rows
        self._read = 0

    def batches(self, columns: list[str] | None = None) -> Iterator[Any]:
        """Record batches of all columns, or of these alone."""
        self._read = 0
        with said(self._name):
            for batch in self._file.iter_batches(ROWS, columns=columns):
                self._read += batch.num_rows
                yield batch

    def decide(self, columns: Collection[str]) -> None:
        """The types of the columns say what they hold."""

    def table(self, columns: list[str], texts: Collection[str] = ()) -> Any:
        """These columns, whole."""
        schema = pa.schema([self.schema.field(name) for name in columns])
        return pa.Table.from_batches(self.batches(columns), schema)

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


def _is_listed(file: Any, name: str) -> bool:
    """Whether all groups of rows hold a column as a dictionary of texts and places in it."""
    schema, texts = file.schema_arrow, (pa.string(), pa.large_string(), pa.string_view())
    if name not in schema.names or schema.field(name).type not in texts:
        return False
    metadata = file.metadata
    paths = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
    if paths.count(name) != 1:
        return False
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return all(group.column(paths.index(name)).has_dictionary_page for group in groups)


class ParquetSink:
    """A new Parquet file.

    pyarrow describes the columns and writes most of them, a group of rows at a time into memory.
    Those of few different values are packed by :mod:`parquet_pages`, in a tenth of the time. What
    stands in the file and where is said at its end.
    """

    def __init__(self, path: Path, schema: Any, like: Any) -> None:
        found = getattr(like, "compression", "snappy")
        self._compression = found if found in parquet_pages.CODECS else "snappy"
        self._plain = pa.schema([_stored(field, like) for field in schema])
        self._schema = schema
        self._held: list[Any] = []
        self._rows = 0
        self._groups: list[Struct] = []
        self._footer, _data = self._written(self._plain.empty_table())
        _kind, elements = self._footer[2][1]
        self._fields = _top(elements)
        self._file = path.open("wb")
        self._at = self._file.write(_MAGIC)

    def write(self, batch: Any) -> None:
        """Add a record batch."""
        self._held.append(batch)
        self._rows += batch.num_rows
        if self._rows >= GROUP:
            self._flush()

    def _written(self, table: Any) -> tuple[Struct, Any]:
        """What pyarrow says of a file of these columns, and the file."""
        sink = pa.BufferOutputStream()
        with pq.ParquetWriter(sink, table.schema, compression=self._compression) as writer:
            if table.num_rows:
                # In one piece: what is over would make a group of a few rows.
                writer.write_table(table, row_group_size=table.num_rows)
        data = memoryview(sink.getvalue())
        length = int.from_bytes(data[-8:-4], "little")
        footer, _used = thrift.read(data[-8 - length : -8])
        return footer, data

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._held, self._schema)
        self._held, self._rows = [], 0
        packed = {
            name: parquet_pages.chunk(table.column(name), self._fields[name], self._compression)
            for name in table.column_names
        }
        rest = [name for name, chunk in packed.items() if chunk is None]
        others: dict[str, list[Struct]] = {name: [] for name in rest}
        if rest:
            footer, data = self._written(_spelled(table.select(rest), self._plain))
            [group] = footer[4][1][1]
            # The same bytes further on, without those before the first page and the footer.
            start = min(_begin(column[3][1]) for column in group[1][1][1])
            end = max(_begin(column[3][1]) + column[3][1][7][1] for column in group[1][1][1])
            for column in group[1][1][1]:
                metadata = column[3][1]
                name = metadata[3][1][1][0].decode()
                others[name].append(_moved(metadata, self._at - start))
            self._at += self._file.write(data[start:end])
        columns: list[Struct] = []
        for name, chunk in packed.items():
            if chunk is None:
                columns += others[name]
                continue
            columns.append(_moved(chunk.metadata, self._at))
            self._at += self._file.write(chunk.data)
        self._groups.append(_group(columns, table.num_rows, len(self._groups)))

    def close(self) -> None:
        """Write what is left; the file is then whole."""
        if self._file.closed:
            return
        try:
            if self._held:
                self._flush()
            self._footer[3] = (thrift.I64, sum(group[3][1] for group in self._groups))
            self._footer[4] = (thrift.LIST, (thrift.STRUCT, self._groups))
            footer = thrift.write(self._footer)
            self._file.write(footer + len(footer).to_bytes(4, "little") + _MAGIC)
        finally:
            self._file.close()


def _stored(field: Any, like: Any) -> Any:
    """A field in the type that it has in the source: places in a dictionary are values again."""
    if not pa.types.is_dictionary(field.type):
        return field
    source = getattr(like, "stored", None)
    if source is None:
        source = {} if like is None else {each.name: each.type for each in like.schema}
    kind = source.get(field.name, field.type)
    return field if pa.types.is_dictionary(kind) else field.with_type(kind)


def _spelled(table: Any, plain: Any) -> Any:
    """The columns of a table in the types that they have in ``plain``."""
    fields = [plain.field(name) for name in table.column_names]
    columns = []
    for column, field in zip(table.columns, fields, strict=True):
        if column.type != field.type and pa.types.is_dictionary(column.type):
            # pyarrow makes no views of places.
            column = column.cast(column.type.value_type).cast(field.type)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _top(elements: list[Struct]) -> dict[str, Struct]:
    """The fields of a table by name, out of all parts of all fields, the whole first."""
    found: dict[str, Struct] = {}
    at = 1
    while at < len(elements):
        found[elements[at][4][1].decode()] = elements[at]
        parts = 1
        while parts:
            parts += elements[at].get(5, (0, 0))[1] - 1
            at += 1
    return found


def _begin(metadata: Struct) -> int:
    """Where a column begins: with its dictionary, if it has one."""
    at: int = min(metadata[number][1] for number in (9, 11) if number in metadata)
    return at


def _moved(metadata: Struct, by: int) -> Struct:
    """A ``ColumnChunk`` whose pages begin that many bytes later."""
    new = dict(metadata)
    for number in (9, 10, 11):
        if number in new:
            new[number] = (thrift.I64, new[number][1] + by)
    return {2: (thrift.I64, 0), 3: (thrift.STRUCT, new)}


def _group(columns: list[Struct], rows: int, number: int) -> Struct:
    """A ``RowGroup`` of these columns."""
    said = [column[3][1] for column in columns]
    found: Struct = {
        1: (thrift.LIST, (thrift.STRUCT, columns)),
        2: (thrift.I64, sum(metadata[6][1] for metadata in said)),
        3: (thrift.I64, rows),
        5: (thrift.I64, min(map(_begin, said), default=4)),
        6: (thrift.I64, sum(metadata[7][1] for metadata in said)),
    }
    # A number of two bytes, which more groups do without.
    return found | ({7: (thrift.I16, number)} if number < 1 << 15 else {})
