"""Files of all formats, by their endings: opened as a source, or created as a sink.

``csv_file`` has one format, ``parquet_file`` Parquet and Arrow, ``statistical`` those of SPSS,
Stata and SAS.
"""

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bistochastic.errors import Refused
from bistochastic_survey.files.csv_dialect import Dialect
from bistochastic_survey.files.csv_file import CsvSink, CsvSource
from bistochastic_survey.files.parquet_file import ArrowSource, ParquetSink, ParquetSource
from bistochastic_survey.files.statistical import READERS, StatisticalSource
from bistochastic_survey.files.tables import Sink, Source, said
from bistochastic_survey.table.arrow_cells import flags, is_string, spelled_out, value_type
from bistochastic_survey.table.arrow_table import ArrowTable
from bistochastic_survey.table.frames import Mask, Table
from bistochastic_survey.table.schemas import MOST_LEVELS, SchemaColumn, levels_among
from bistochastic_survey.wording import shown

WRITTEN = (".csv", ".parquet")
# Read whole, with labels.
STATISTICAL = tuple(READERS)
READ = (".csv", ".parquet", ".arrow", ".feather", *STATISTICAL)


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


def open_source(
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
    check_file(path, name)
    with said(name):
        if form == ".csv":
            return CsvSource(path, name, kinds or {}, dialect)
        if form == ".parquet":
            return ParquetSource(path, name, places)
        if form in STATISTICAL:
            return StatisticalSource(path, name, kinds or {})
        return ArrowSource(path, name)


def created(
    path: Path,
    form: str,
    schema: pa.Schema,
    protected: Container[str],
    dialect: Dialect | None = None,
) -> Sink:
    """Create a file of that form for batches of that schema; these columns are protected."""
    if form == ".csv":
        return CsvSink(path, schema, dialect)
    return ParquetSink(path, schema, protected)


def read_numbers(
    source: Source, names: list[str], progress: Callable[[float], None]
) -> dict[str, Table]:
    """Read numeric columns whole in one pass, each as a table of its own.

    Later readings of the file leave them out: permuted values replace them.
    """
    # As NumPy arrays: their memory goes back to the system, and pyarrow keeps nothing.
    chunks: dict[str, list[tuple[np.ndarray, Mask]]] = {name: [] for name in names}
    for batch in source.batches(names):
        for name, found in zip(names, batch.columns, strict=True):
            numbers = pa.types.is_integer(found.type) or pa.types.is_floating(found.type)
            values = np.array(found.fill_null(0) if numbers else found)
            chunks[name].append((values, flags(found.is_null())))
        progress(source.share())
    tables: dict[str, Table] = {}
    for name in names:
        column, parts = pa.nulls(0, source.schema.field(name).type), chunks.pop(name)
        if parts:
            values, mask = (np.concatenate(each) for each in zip(*parts, strict=True))
            parts.clear()
            # One float makes all of a CSV column floats. Other types are refused later, by name.
            kind = pa.from_numpy_dtype(values.dtype) if values.dtype.kind in "iuf" else column.type
            column = pa.array(values, kind, mask=mask if mask.any() else None)
        tables[name] = ArrowTable(pa.table({name: column}))
    source.replaced({name: tables[name].column(name).type for name in names})
    return tables


def read_table(
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
    source = open_source(path, name, kinds, dialect=dialect)
    try:
        with said(name):
            names = [n for n in source.schema.names if columns is None or n in columns]
            return source.table(names, texts)
    finally:
        source.close()


def held_in(source: Source) -> dict[str, str]:
    """List the columns that hold ``"text"`` or ``"floats"`` by their type, with that word."""
    found: dict[str, str] = {}
    for field in source.schema:
        kind = value_type(field.type)
        if is_string(kind):
            found[field.name] = "text"
        elif pa.types.is_floating(kind):
            found[field.name] = "floats"
    return found


def columns_in(source: Source, *, look: bool) -> list[SchemaColumn]:
    """Return the columns of a file. ``look`` reads all of it for the categories that occur.

    A CSV file does not give types: a column is numeric if all its values are numbers. It is
    read whole for that.
    """
    found = source.described()
    if source.rows is None:
        source.decide(source.schema.names)
        found = [
            column
            if pa.types.is_string(field.type)
            else replace(column, holds="numbers", type="number")
            for column, field in zip(found, source.schema, strict=True)
        ]
    if not look:
        return found
    # The different values of each column, and how many it has; none if they are no categories.
    seen: dict[str, tuple[set[Any] | None, int]] = {
        column.name: (set(), 0)
        for column in found
        if column.levels is None and column.holds in ("strings", "levels")
    }
    for batch in source.batches(list(seen)) if seen else ():
        for name, cells in zip(seen, batch.columns, strict=True):
            cells = spelled_out(cells).drop_null()
            values, rows = seen[name]
            if values is not None:
                values.update(pc.unique(cells).to_pylist())
            seen[name] = (values if _are_levels(values) else None), rows + len(cells)
    return [
        replace(column, levels=_levels(column, *seen[column.name]))
        if column.name in seen
        else column
        for column in found
    ]


def _are_levels(values: set[Any] | None) -> bool:
    """Whether values may be categories: many different ones, or those of several lines, are not."""
    if values is None or len(values) > MOST_LEVELS * 1024:
        return False
    return not any(isinstance(each, str) and ("\n" in each or "\r" in each) for each in values)


def _levels(column: SchemaColumn, values: set[Any] | None, rows: int) -> tuple[Any, ...] | None:
    """Return the categories of a column; a type that lists values means them, however many."""
    listed = tuple(sorted(values or ()))
    return (listed or None) if column.holds == "levels" else levels_among(listed, rows)
