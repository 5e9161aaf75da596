"""Parquet files, a few row groups in memory at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from bistochastic.adapters.arrow_cells import declared, is_string, spelled_out
from bistochastic.adapters.arrow_file import TypedSource
from bistochastic.adapters.frames import distinct

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping
    from pathlib import Path

    import pyarrow.parquet as pq

# Rows that are read together: fewer are slower per row, because threads wait more often.
ROWS = 1 << 18
# Rows of a group in the output. A group is written at once, and drawing waits if that is slow.
GROUP = 1 << 18
# How what is written is compressed, whatever the source was: all that reads Parquet reads this.
CODEC = "snappy"
# Bytes of a column that are read ahead, so a file of a single group is not read whole.
_BUFFER = 1 << 20


class ParquetSource(TypedSource):
    """A Parquet file."""

    def __init__(self, path: Path, name: str, places: Iterable[str] = ()) -> None:
        """Strings in the columns ``places`` are read as places in a dictionary, if stored so."""
        file = pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
        distinct(file.schema_arrow.names)
        listed = [column for column in places if _is_listed(file, column)]
        if listed:
            file.close()
            file = pq.ParquetFile(
                path, buffer_size=_BUFFER, pre_buffer=False, read_dictionary=listed
            )
        super().__init__(name, file, file.schema_arrow, file.metadata.num_rows)

    def _each(self, columns: list[str] | None) -> Iterable[pa.RecordBatch]:
        each: Iterable[pa.RecordBatch] = self._file.iter_batches(ROWS, columns=columns)
        return each


def _is_listed(file: pq.ParquetFile, name: str) -> bool:
    """Whether all groups of rows hold a column as a dictionary of strings and places in it."""
    schema = file.schema_arrow
    if name not in schema.names or not is_string(schema.field(name).type):
        return False
    metadata = file.metadata
    paths = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
    if paths.count(name) != 1:
        return False
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return all(group.column(paths.index(name)).has_dictionary_page for group in groups)


class ParquetSink:
    """A new Parquet file, written by pyarrow: names, types, cells and metadata.

    Groups have the same number of rows, each column of a group is written at once, and the codec is
    always the same. So the bytes of a file depend only on its cells and metadata. Protected strings
    are stored as places in a dictionary, the categories of the plan; any other dictionary is
    spelled out.
    """

    def __init__(self, path: Path, schema: pa.Schema, protected: Container[str] = ()) -> None:
        fields = [(field.name, field.type if field.name in protected else plain(field.type))
                  for field in schema]  # fmt: skip
        self._schema, self._plain = schema, pa.schema(fields)
        self._held: list[pa.RecordBatch] = []
        self._rows = 0
        self._writer = pq.ParquetWriter(
            path, self._plain, compression=CODEC, store_schema=False, version="2.6"
        )

    def write(self, batch: pa.RecordBatch) -> None:
        self._held.append(batch)
        self._rows += batch.num_rows
        if self._rows >= GROUP:
            self._flush()

    def _flush(self, *, all_of_it: bool = False) -> None:
        """Write as many whole groups as there are, or all rows."""
        table = pa.Table.from_batches(self._held, self._schema)
        whole = len(table) if all_of_it else len(table) // GROUP * GROUP
        for start in range(0, whole, GROUP):
            part = table.slice(start, min(GROUP, whole - start))
            self._writer.write_table(cast(part, self._plain).combine_chunks())
        self._held, self._rows = table.slice(whole).to_batches(), len(table) - whole

    def note(self, notes: Mapping[str, str]) -> None:
        """Add notes to the metadata of the file."""
        self._writer.add_key_value_metadata(notes)

    def close(self) -> None:
        if self._writer.is_open:
            self._flush(all_of_it=True)
            self._writer.close()


def plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column in a file: without a dictionary.

    >>> plain(pa.list_(pa.dictionary(pa.int8(), pa.string_view())))
    ListType(list<item: string>)
    """
    kind = declared(kind)
    if pa.types.is_dictionary(kind):
        return plain(kind.value_type)
    if pa.types.is_list(kind):
        return pa.list_(pa.field(kind.value_field.name, plain(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([(kind.field(i).name, plain(kind.field(i).type))
                          for i in range(kind.num_fields)])  # fmt: skip
    return {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(kind, kind)


def cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with the columns of another schema."""
    columns = []
    for column, field in zip(table.columns, schema, strict=True):
        # pyarrow makes no views of places.
        same = column.type == field.type
        columns.append(column if same else spelled_out(column).cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)
