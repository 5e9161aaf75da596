"""Files of SPSS, Stata and SAS, read and written whole by pyreadstat.

Such a file has doubles, and marks of its own for missing values. A column of doubles that are all
whole is read as integers; a value that the file declares missing, and an empty string, is read as
missing. Labels of a file that is read serve a first plan alone. Labels of a file that is written
are the ones it is given.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bistochastic.adapters.arrow_cells import is_string
from bistochastic.adapters.parquet_file import ROWS, cast, plain
from bistochastic.adapters.schemas import Column, columns_of
from bistochastic.adapters.table_files import Sink, Source, opened
from bistochastic.words import prefix, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType

    from bistochastic.adapters.arrow_cells import Cells
    from bistochastic.adapters.table_files import Texts

READERS = {
    ".sav": "read_sav", ".zsav": "read_sav", ".dta": "read_dta", ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}  # fmt: skip
WRITERS = {".sav": "write_sav", ".dta": "write_dta"}
# The most integers between two ends that are listed as missing codes.
_LISTED = 100
# From here on one double represents several integers.
_EXACT = 2**53


def _library() -> ModuleType:
    try:
        import polars  # noqa: F401
        import pyreadstat
    except ImportError:
        must = "`pyreadstat` must be installed to read and write files of SPSS, Stata and SAS"
        raise ValueError(f'{must}; got none: pip install "bistochastic[stat]"') from None
    return pyreadstat


class StatisticalSource(Source):
    """A file of SPSS, Stata or SAS, in memory."""

    def __init__(self, path: Path, name: str, kinds: Mapping[str, str]) -> None:
        self._path = path
        found, self._meta = self._call(name)
        arrays = {
            column: _cells(found.pop(column), self._is_text(column), kinds.get(column, ""))
            for column in list(found)
        }
        self._table = pa.table(arrays)
        super().__init__(name, self, self._table.schema, self._table.num_rows)

    def _call(self, name: str, **options: bool) -> Any:
        form = self._path.suffix.lower()
        read = getattr(_library(), READERS[form])
        try:
            return read(str(self._path), output_format="dict", **options)
        except MemoryError:
            raise
        except Exception:
            # Its message about a broken file may quote the file.
            raise ValueError(f"`{name}` must be a {form} file; got a broken one") from None

    def _is_text(self, column: str) -> bool:
        return bool(self._meta.readstat_variable_types[column] == "string")

    def _each(self, columns: list[str] | None) -> Iterable[pa.RecordBatch]:
        table = self._table if columns is None else self._table.select(columns)
        batches: list[pa.RecordBatch] = table.to_batches(ROWS)
        return batches

    def close(self) -> None:
        self._table = self._table.slice(0, 0)

    def described(self) -> list[Column]:
        # Two or more labels of a column are its categories. One is a remark about a number.
        meta = self._meta
        if READERS[self._path.suffix.lower()] == "read_sav":
            # Otherwise it does not return the ranges of missing codes.
            _none, meta = self._call(self._name, metadataonly=True, user_missing=True)
        listed = []
        for column in columns_of(self.schema):
            texts = meta.variable_value_labels.get(column.name) or {}
            ranges = [(each["lo"], each["hi"]) for each in meta.missing_ranges.get(column.name, ())]
            missing = _missing_codes(ranges, texts, text=self._is_text(column.name))
            named = ((_whole(value), text) for value, text in texts.items())
            pairs = tuple(pair for pair in named if pair[0] not in missing)
            codes = tuple(value for value, _text in pairs)
            if not all(isinstance(value, str | int) for value in codes):
                pairs = codes = ()
            label = meta.column_names_to_labels.get(column.name) or None
            column = replace(column, label=label, texts=pairs, missing=missing)
            if len(codes) > 1:
                column = replace(column, levels=codes, declared=True, holds="levels")
            listed.append(column)
        return listed


def described_in(path: Path, name: str) -> list[Column]:
    """List the columns of a file, with their labels."""
    return opened(path, name).described()


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _missing_codes(
    ranges: list[tuple[Any, Any]], texts: Iterable[Any], *, text: bool
) -> tuple[object, ...]:
    """List the codes of missing values, each once."""
    found: dict[object, None] = {}
    for low, high in ranges:
        if low == high:
            found[_whole(low)] = None
            continue
        inside = [each for each in texts if not isinstance(each, str) and low <= each <= high]
        if high - low < _LISTED:
            inside = [*range(-int(-low // 1), int(high // 1) + 1)]
        found |= dict.fromkeys(map(_whole, inside))
    if not text:
        # Stata and SAS have letters for missing numbers.
        found |= dict.fromkeys(each for each in texts if isinstance(each, str))
    return tuple(found)


def _cells(values: list[object], text: bool, kind: str) -> Cells:
    """Return a column of a file, of the type that it has here."""
    if text:
        texts = pa.array(values, pa.string(), from_pandas=True)
        return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    found = pa.array(values, from_pandas=True)
    if pa.types.is_null(found.type):
        found = found.cast(pa.float64())
    if kind in ("float", "date"):
        return found.cast(pa.float64()) if pa.types.is_integer(found.type) else found
    if pa.types.is_floating(found.type):
        try:
            found = found.cast(pa.int64())
        except pa.ArrowInvalid:
            return found
    is_flag = kind == "boolean" and pa.types.is_integer(found.type)
    if is_flag and pc.all(pc.is_in(found.drop_null(), pa.array([0, 1], found.type))).as_py():
        return found.cast(pa.bool_())
    return found


class StatisticalSink(Sink):
    """A new file of SPSS or Stata: cells, and the labels of a plan."""

    def __init__(
        self,
        path: Path,
        form: str,
        schema: pa.Schema,
        labels: Texts = ({}, {}),
    ) -> None:
        self._path, self._form, self._labels = path, form, labels
        self._schema = pa.schema([(field.name, _type(field, form)) for field in schema])
        self._held: list[pa.RecordBatch] = []
        self._is_open = True
        # Types that the format does not accept raise an error before anything is drawn.
        _library()
        try:
            self._write(self._schema.empty_table())
        except ValueError:
            for name in self._schema.names:
                try:
                    self._write(self._schema.empty_table().select([name]))
                except ValueError:
                    must = f"must have a name and labels that a {form} file can hold"
                    got = "others, which pyreadstat rejects"
                    raise ValueError(f"{prefix([name])}{must}; got {got}") from None
            raise

    def write(self, batch: pa.RecordBatch) -> None:
        self._held.append(batch)

    def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        table = pa.Table.from_batches(self._held) if self._held else self._schema.empty_table()
        self._held = []
        table = cast(table, self._schema)
        for name, column in zip(table.column_names, table.columns, strict=True):
            if pa.types.is_integer(column.type):
                ends = [x for x in pc.min_max(column).as_py().values() if x is not None]
                if any(abs(x) > _EXACT for x in ends):
                    must = f"must hold integers up to 2^53 in magnitude for a {self._form} file"
                    raise ValueError(f"{prefix([name])}{must}; got a larger one")
            elif is_string(column.type) and pc.any(pc.match_substring(column, "\0")).as_py():
                must = f"must hold strings without the character NUL for a {self._form} file"
                raise ValueError(f"{prefix([name])}{must}; got one that has it")
        self._write(table)

    def _write(self, table: pa.Table) -> None:
        import polars as pl

        own, values = self._labels
        is_spss = self._form == ".sav"
        labelled, formats = {}, {}
        for name in table.column_names:
            kind = table.schema.field(name).type
            # Stata labels only numbers.
            if name in values and (is_spss or not is_string(kind)):
                labelled[name] = dict(values[name])
            if is_spss and pa.types.is_integer(kind):
                formats[name] = "F8.0"
        try:
            getattr(_library(), WRITERS[self._form])(
                pl.from_arrow(table),
                str(self._path),
                column_labels={name: own[name] for name in table.column_names if name in own},
                variable_value_labels=labelled,
                **({"variable_format": formats} if formats else {}),
            )
        except (MemoryError, OSError):
            raise
        except Exception:
            # Its message may quote a cell.
            must = f"`out` must be a table that a {self._form} file can hold"
            raise ValueError(f"{must}; got one that pyreadstat rejects") from None


def _type(field: pa.Field, form: str) -> pa.DataType:
    """Return the type that a column is written from."""
    kind = plain(field.type)
    if is_string(kind):
        return pa.string()
    if pa.types.is_integer(kind):
        return pa.int64()
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return pa.float64()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us")
    if pa.types.is_boolean(kind) or pa.types.is_date(kind) or pa.types.is_time(kind):
        return kind
    must = f"must hold strings, numbers, booleans or dates for a {form} file"
    raise TypeError(f"{prefix([field.name])}{must}; got {shown(str(kind).split('<')[0])}")
