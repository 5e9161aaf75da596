"""Files of SPSS, Stata and SAS, read and written whole by pyreadstat.

Such a file has doubles, and marks of its own for missing values. A column of doubles that are all
whole is read as integers; a value that the file declares missing, and an empty string, is read as
missing. Labels of a file that is read serve a first plan alone. Labels of a file that is written
are the ones it is given.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bistochastic.errors import OutOfMemoryError, Refused, RefusedType
from bistochastic_survey.files import child as apart
from bistochastic_survey.files.parquet_file import ROWS, cast, plain
from bistochastic_survey.files.tables import Sink, Source
from bistochastic_survey.table.arrow_cells import is_string
from bistochastic_survey.table.schemas import Column, columns_of
from bistochastic_survey.wording import shown

# Labels of columns, and of their values.
Texts = tuple[Mapping[str, str], Mapping[str, Mapping[Any, str]]]

READERS = {
    ".sav": "read_sav", ".zsav": "read_sav", ".dta": "read_dta", ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}  # fmt: skip
WRITERS = {".sav": "write_sav", ".dta": "write_dta"}
# The exit code of a process that the system killed, as it does for memory.
_KILLED = -9
# From here on one double represents several integers.
_EXACT = 2**53


def _library() -> ModuleType:
    try:
        import polars  # noqa: F401
        import pyreadstat
    except ImportError:
        must = "be installed to read and write files of SPSS, Stata and SAS"
        raise Refused("pyreadstat", must, 'none: pip install "bistochastic[stat]"') from None
    return pyreadstat


class StatisticalSource(Source):
    """A file of SPSS, Stata or SAS, in memory."""

    def __init__(self, path: Path, name: str, kinds: Mapping[str, str]) -> None:
        _library()
        table = _read(path, name, kinds)
        self._facts = json.loads(table.schema.metadata[apart.FACTS])
        self._table = table.replace_schema_metadata()
        super().__init__(name, self, self._table.schema, self._table.num_rows)

    def _each(self, columns: list[str] | None) -> Iterable[pa.RecordBatch]:
        table = self._table if columns is None else self._table.select(columns)
        batches: list[pa.RecordBatch] = table.to_batches(ROWS)
        return batches

    def close(self) -> None:
        self._table = self._table.slice(0, 0)

    def described(self) -> list[Column]:
        # Two or more labels of a column are its categories. One is a remark about a number.
        listed = []
        for column, (label, pairs, missing) in zip(
            columns_of(self.schema), self._facts, strict=True
        ):
            texts = tuple((value, text) for value, text in pairs)
            column = replace(column, label=label, texts=texts, missing=tuple(missing))
            if len(texts) > 1:
                codes = tuple(value for value, _text in texts)
                column = replace(column, levels=codes, declared=True, holds="levels")
            listed.append(column)
        return listed


def _read(path: Path, name: str, kinds: Mapping[str, str]) -> pa.Table:
    """Read a whole file in a process of its own, which a broken file may crash."""
    form = path.suffix.lower()
    told = {"path": str(path.absolute()), "read": READERS[form], "kinds": dict(kinds),
            "sys.path": sys.path}  # fmt: skip
    table = None
    with subprocess.Popen(
        [sys.executable, "-I", apart.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # Its message about a broken file may quote the file.
        stderr=subprocess.DEVNULL,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(json.dumps(told).encode())
            child.stdin.close()
            with pa.ipc.open_stream(child.stdout) as stream:
                table = stream.read_all()
            table.validate(full=True)
        except (pa.ArrowException, OSError):
            table = None
        except BaseException:
            child.kill()
            raise
    if child.returncode in (apart.FULL, _KILLED):
        raise OutOfMemoryError(name, "fit in memory", "a larger one")
    if table is None or child.returncode:
        raise Refused(name, f"be a {form} file", "a broken one")
    return table


class StatisticalSink(Sink):
    """A new file of SPSS or Stata: cells, and the labels of a plan."""

    def __init__(
        self,
        path: Path,
        form: str,
        schema: pa.Schema,
        labels: Texts = ({}, {}),
        categories: Mapping[str, Iterable[object]] | None = None,
    ) -> None:
        for name, values in (categories or {}).items():
            texts = [value for value in values if isinstance(value, str)]
            if "" in texts or (form == ".sav" and any(text.endswith(" ") for text in texts)):
                must = f"have categories that a {form} file keeps as they are"
                cure = "recode it, or write a .csv or .parquet file"
                got = "one that is empty or ends in a blank"
                raise Refused("", must, f"{got}: {cure}", column=name)
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
                    must = f"have a name and labels that a {form} file can hold"
                    got = "others, which pyreadstat rejects"
                    raise Refused("", must, got, column=name) from None
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
                    must = f"hold integers up to 2^53 in magnitude for a {self._form} file"
                    raise Refused("", must, "a larger one", column=name)
            elif is_string(column.type):
                if pc.any(pc.match_substring(column, "\0")).as_py():
                    must = f"hold strings without the character NUL for a {self._form} file"
                    raise Refused("", must, "one that has it", column=name)
                _refuse_alike(name, column, self._form)
        self._write(table)
        _forget_time(self._path, self._form)

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
            must = f"be a table that a {self._form} file can hold"
            raise Refused("out", must, "one that pyreadstat rejects") from None


def _refuse_alike(name: str, column: pa.ChunkedArray, form: str) -> None:
    """Raise an error for strings that the format would make the same."""
    values = pc.unique(column).drop_null()
    held = pc.utf8_rtrim(values, " ") if form == ".sav" else values
    if len(pc.unique(held)) < len(values):
        got = "some that differ only by blanks at the end"
    elif column.null_count and pc.any(pc.equal(held, "")).as_py():
        got = "empty strings and missing values, which are the same there"
    else:
        return
    must = f"hold strings that a {form} file can tell apart"
    cure = "recode them, or write a .csv or .parquet file"
    raise Refused("", must, f"{got}: {cure}", column=name)


def _forget_time(path: Path, form: str) -> None:
    """Write a fixed time into the header, so the same cells make the same bytes."""
    with path.open("r+b") as file:
        head = file.read(512)
        if form == ".sav":
            at, text = 84, b"01 Jan 7000:00:00"
        else:
            at, text = head.index(b"<timestamp>") + 12, b"01 Jan 1970 00:00"
        file.seek(at)
        file.write(text)


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
    must = f"hold strings, numbers, booleans or dates for a {form} file"
    raise RefusedType("", must, shown(str(kind).split("<")[0]), column=field.name)
