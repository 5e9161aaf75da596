"""Parquet files, a few row groups in memory at a time, and Arrow files, which are read only."""

from collections.abc import Container, Iterable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bistochastic_survey.files.tables import Sink, Source, said
from bistochastic_survey.table.arrow_cells import VIEWS, declared, is_string, spelled_out
from bistochastic_survey.table.frames import distinct

# Rows that are read together: fewer are slower per row, because threads wait more often.
ROWS = 1 << 18
# Rows of a group in the output. A group is written at once, and drawing waits if that is slow.
GROUP = 1 << 18
# How what is written is compressed, whatever the source was: all that reads Parquet reads this.
CODEC = "snappy"
# Bytes of a column that are read ahead, so a file of a single group is not read whole.
_BUFFER = 1 << 20


class ParquetSource(Source):
    """A Parquet file."""

    def __init__(self, path: Path, name: str, places: Iterable[str] = ()) -> None:
        """Strings in the columns ``places`` are read as places in a dictionary, if stored so."""
        with pq.ParquetFile(path) as file:
            distinct(file.schema_arrow.names)
            listed = [column for column in places if _is_listed(file, column)]
        self._table = pq.ParquetFile(
            path, buffer_size=_BUFFER, pre_buffer=False, read_dictionary=listed or None
        )
        super().__init__(name, self._table, self._table.schema_arrow, self._table.metadata.num_rows)

    def _each(self, columns: list[str] | None) -> Iterable[pa.RecordBatch]:
        yield from self._table.iter_batches(ROWS, columns=columns)


class ArrowSource(Source):
    """An Arrow file, also called Feather, which holds record batches as they are in memory."""

    def __init__(self, path: Path, name: str) -> None:
        file = pa.memory_map(str(path))
        self._reader = pa.ipc.open_file(file)
        super().__init__(name, file, self._reader.schema, 0)
        with said(name):
            self.rows = 0
            for batch in self._each(None):
                # One wrong byte leads outside the file, or to values that it does not hold.
                batch.validate(full=True)
                self.rows += batch.num_rows

    def _each(self, columns: list[str] | None) -> Iterable[pa.RecordBatch]:
        each = map(self._reader.get_batch, range(self._reader.num_record_batches))
        return each if columns is None else (batch.select(columns) for batch in each)


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


class ParquetSink(Sink):
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

    def leaf(kind: pa.DataType) -> pa.DataType:
        return plain(kind.value_type) if pa.types.is_dictionary(kind) else VIEWS.get(kind, kind)

    return declared(kind, leaf)


def cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with the columns of another schema."""
    columns = []
    for column, field in zip(table.columns, schema, strict=True):
        # pyarrow makes no views of places.
        same = column.type == field.type
        columns.append(column if same else spelled_out(column).cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)
