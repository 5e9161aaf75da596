"""Tables in files, as record batches: opened for reading, and written a batch at a time.

``csv_file`` has one format, ``parquet_file`` Parquet and Arrow, ``statistical`` those of SPSS,
Stata and SAS. All need pyarrow.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bistochastic.errors import OutOfMemoryError, Refused
from bistochastic_survey.table.frames import distinct
from bistochastic_survey.table.schemas import MOST_LEVELS, columns_of, levels_among
from bistochastic_survey.wording import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping

    import pyarrow as pa

    from bistochastic_survey.files.csv_dialect import Dialect
    from bistochastic_survey.table.arrow_cells import Cells
    from bistochastic_survey.table.frames import Mask, Table
    from bistochastic_survey.table.schemas import Column

    # The types of columns, and what gives them these types.
    Typed = tuple[dict[str, pa.DataType], Callable[[pa.RecordBatch], pa.RecordBatch]]
    # Labels of columns, and of their values.
    Texts = tuple[Mapping[str, str], Mapping[str, Mapping[Any, str]]]


WRITTEN = (".csv", ".parquet", ".sav", ".dta")
# Read whole, with labels.
STATISTICAL = (".sav", ".zsav", ".dta", ".sas7bdat", ".xpt")
READ = (".csv", ".parquet", ".arrow", ".feather", *STATISTICAL)


def unspelled() -> Typed:
    """Return no types, and a function that changes nothing."""
    return {}, lambda batch: batch


class Source:
    """A table in a file: of one that states the types of its columns and the number of its rows."""

    rows: int | None
    """How many there are, if the file says so."""

    def __init__(self, name: str, file: pa.NativeFile, schema: pa.Schema, rows: int) -> None:
        distinct(schema.names)
        self._name, self._file, self._read = name, file, 0
        self.schema, self.rows = schema, rows

    def _each(self, columns: list[str] | None) -> Iterable[pa.RecordBatch]:
        """Read record batches of all columns, or of these only."""
        raise NotImplementedError

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Give record batches of all columns, or of only these."""
        self._read = 0
        with said(self._name):
            for batch in self._each(columns):
                self._read += batch.num_rows
                yield batch

    def decide(self, columns: Collection[str]) -> None:
        """Find out which of these columns hold numbers, if the file does not say so."""

    def table(self, columns: list[str], texts: Collection[str] = ()) -> pa.Table:
        """Read whole columns; those in ``texts`` stay strings, even if they look like numbers."""
        import pyarrow as pa

        schema = pa.schema([self.schema.field(name) for name in columns])
        return pa.Table.from_batches(self.batches(columns), schema)

    def spelled(self) -> Typed:
        """Read decided columns as strings again; return their types and a function to restore."""
        return unspelled()

    def described(self) -> list[Column]:
        """List the columns, with the labels and the missing codes that the file declares."""
        return columns_of(self.schema)

    def replaced(self, types: Mapping[str, pa.DataType]) -> None:
        """Read these columns from now on as empty, of these types: other values replace them."""

    def about(self) -> int:
        """About how many rows there are, rather more than less."""
        return self.rows or 0

    def share(self) -> float:
        """Return the fraction of the file that the latest reading has covered, from 0 to 1."""
        return self._read / self.rows if self.rows else 1.0

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


class Sink:
    """A file that a table is written to."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Add a record batch, or a table."""
        raise NotImplementedError

    def note(self, notes: Mapping[str, str]) -> None:
        """Add notes to the metadata, if the format has any."""

    def close(self) -> None:
        """Write what is left; the file is then whole."""
        raise NotImplementedError


def ending(path: Path, name: str, endings: tuple[str, ...] = WRITTEN) -> str:
    """Return the ending of a file that can be written, or read."""
    found = path.suffix.lower()
    if found not in endings:
        listed = f"{', '.join(endings[:-1])} or {endings[-1]}"
        raise Refused(name, f"end in {listed}", shown(path.suffix) or "no ending")
    return found


def check_file(path: Path, name: str) -> None:
    """Check that there is a file."""
    got = f"none at {shown(path)}"
    # The system takes no name of thousands of characters.
    with suppress(OSError):
        if path.is_file():
            return
        got = "a folder" if path.is_dir() else got
    raise Refused(name, "be a file", got)


def needs_pyarrow() -> None:
    """Say how to get it if it is not installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        must = "be installed to read and write files"
        raise Refused("pyarrow", must, 'none: pip install "bistochastic[files]"') from None


def opened(
    path: Path,
    name: str,
    kinds: Mapping[str, str] | None = None,
    places: Iterable[str] = (),
    dialect: Dialect | None = None,
) -> Source:
    """Open a table in a file.

    ``kinds`` says which columns of a CSV file are protected, choose a matrix or hold ids, and what
    they hold; columns in ``places`` may be read as places in a dictionary, if a Parquet file has
    one.
    """
    form = ending(path, name, READ)
    needs_pyarrow()
    check_file(path, name)
    with said(name):
        if form == ".csv":
            from bistochastic_survey.files.csv_file import CsvSource

            return CsvSource(path, name, kinds or {}, dialect)
        if form == ".parquet":
            from bistochastic_survey.files.parquet_file import ParquetSource

            return ParquetSource(path, name, places)
        if form in STATISTICAL:
            from bistochastic_survey.files.statistical import StatisticalSource

            return StatisticalSource(path, name, kinds or {})
        from bistochastic_survey.files.parquet_file import ArrowSource

        return ArrowSource(path, name)


def created(
    path: Path,
    form: str,
    schema: pa.Schema,
    protected: Container[str],
    dialect: Dialect | None = None,
    labels: Texts = ({}, {}),
    categories: Mapping[str, Iterable[object]] | None = None,
) -> Sink:
    """Create a file of that form for batches of that schema; these columns are protected.

    ``labels`` are for columns and their values, in formats that have them. ``categories`` are those
    that the columns may hold.
    """
    if form == ".csv":
        from bistochastic_survey.files.csv_file import CsvSink

        return CsvSink(path, schema, dialect)
    if form in STATISTICAL:
        from bistochastic_survey.files.statistical import StatisticalSink

        return StatisticalSink(path, form, schema, labels, categories)
    if form != ".parquet":
        raise NotImplementedError(form)
    from bistochastic_survey.files.parquet_file import ParquetSink

    return ParquetSink(path, schema, protected)


def numbers(
    source: Source, names: list[str], progress: Callable[[float], None]
) -> dict[str, Table]:
    """Read numeric columns whole in one pass, each as a table of its own.

    Later readings of the file leave them out: permuted values replace them.
    """
    import numpy as np
    import pyarrow as pa

    from bistochastic_survey.files.csv_numbers import check_in_doubles
    from bistochastic_survey.table.arrow_cells import flags
    from bistochastic_survey.table.arrow_table import ArrowTable

    # As NumPy arrays: their memory goes back to the system, and pyarrow keeps nothing.
    chunks: dict[str, list[np.ndarray]] = {name: [] for name in names}
    masks: dict[str, list[Mask]] = {name: [] for name in names}
    types: dict[str, pa.DataType] = {name: source.schema.field(name).type for name in names}
    for batch in source.batches(names):
        for name, found in zip(names, batch.columns, strict=True):
            # One float makes all of a CSV column floats.
            if not chunks[name] or pa.types.is_floating(found.type):
                types[name] = found.type
            # Other types go on as they are, to be refused with the name of their column.
            numbers = pa.types.is_integer(found.type) or pa.types.is_floating(found.type)
            chunks[name].append(np.array(found.fill_null(0) if numbers else found))
            masks[name].append(flags(found.is_null()))
        progress(source.share())
    source.replaced(types)
    tables: dict[str, Table] = {}
    for name, kind in types.items():
        parts, missing = chunks.pop(name), masks.pop(name)
        if pa.types.is_floating(kind):
            check_in_doubles(parts, name)
        column = pa.nulls(0, kind)
        if parts:
            mask = np.concatenate(missing)
            values = np.concatenate(parts)
            parts.clear()
            column = pa.array(values, kind, mask=mask if mask.any() else None)
        tables[name] = ArrowTable(pa.table({name: column}))
    return tables


def whole(
    path: Path,
    name: str,
    kinds: Mapping[str, str],
    columns: Container[str] | None = None,
    *,
    dialect: Dialect | None = None,
    texts: Collection[str] = (),
) -> pa.Table:
    """Return a pyarrow table with all columns of a file, or with those in ``columns``.

    A CSV file does not give types: a column that ``kinds`` does not name is numeric if all its
    values are numbers, unless it is in ``texts``.
    """
    source = opened(path, name, kinds, dialect=dialect)
    try:
        with said(name):
            names = [n for n in source.schema.names if columns is None or n in columns]
            return source.table(names, texts)
    finally:
        source.close()


def held_in(source: Source) -> dict[str, str]:
    """List the columns that hold ``"text"`` or ``"floats"`` by their type, with that word."""
    import pyarrow as pa

    from bistochastic_survey.table.arrow_cells import is_string, value_type

    found: dict[str, str] = {}
    for field in source.schema:
        kind = value_type(field.type)
        if is_string(kind):
            found[field.name] = "text"
        elif pa.types.is_floating(kind):
            found[field.name] = "floats"
    return found


@contextmanager
def said(name: str) -> Iterator[None]:
    """Raise our own error for a broken file: pyarrow's message may quote the file."""
    import pyarrow as pa

    try:
        yield
    except MemoryError:
        # Also a small file that says that it is large.
        raise OutOfMemoryError(name, "fit in memory", "a larger one") from None
    except (pa.ArrowInvalid, pa.ArrowKeyError, pa.ArrowIndexError, UnicodeDecodeError):
        raise Refused(name, "be a file of its kind", "a broken one") from None
    except pa.ArrowNotImplementedError:
        raise Refused(name, "hold types that pyarrow can read here", "one that it cannot") from None
    except OSError as error:
        reason = error.strerror or "one that cannot be read"
        raise Refused(name, "be a file to read", reason) from None


def columns_in(source: Source, *, look: bool) -> list[Column]:
    """Return the columns of a file. ``look`` reads all of it for the categories that occur.

    A CSV file does not give types: a column is numeric if all its values are numbers. It is
    read whole for that.
    """
    import pyarrow as pa

    is_csv = source.rows is None
    texts = source.described()
    if is_csv:
        source.decide(source.schema.names)
    numbers = {field.name for field in source.schema if not pa.types.is_string(field.type)}
    found = [
        replace(column, holds="numbers", type="number")
        if is_csv and column.name in numbers
        else column
        for column in texts
    ]
    open_ones = [column.name for column in found if _is_open(column)]
    seen = {name: _Seen() for name in open_ones}
    if open_ones and look:
        for batch in source.batches(open_ones):
            for name, column in zip(open_ones, batch.columns, strict=True):
                seen[name].add(column)
    return [_known(column, seen[column.name]) if look and _is_open(column) else column
            for column in found]  # fmt: skip


def _is_open(column: Column) -> bool:
    return column.levels is None and column.holds in ("strings", "levels")


def _known(column: Column, seen: _Seen) -> Column:
    if column.holds == "levels":
        # A type that lists its values means categories, however many.
        return replace(column, levels=seen.sorted())
    return replace(column, levels=levels_among(seen.sorted() or (), seen.rows))


class _Seen:
    """The different values of a column so far; none once they are too many for categories."""

    def __init__(self) -> None:
        self.values: set[Any] | None = set()
        self.rows = 0

    def add(self, column: Cells) -> None:
        import pyarrow.compute as pc

        from bistochastic_survey.table.arrow_cells import spelled_out

        column = spelled_out(column).drop_null()
        self.rows += len(column)
        if self.values is not None:
            self.values.update(pc.unique(column).to_pylist())
            if len(self.values) > MOST_LEVELS * 1024 or any(map(_has_line_end, self.values)):
                # Many different values are free text or ids, and so are values of several lines.
                self.values = None

    def sorted(self) -> tuple[Any, ...] | None:
        return tuple(sorted(self.values)) if self.values else None


def _has_line_end(value: object) -> bool:
    return isinstance(value, str) and ("\n" in value or "\r" in value)
