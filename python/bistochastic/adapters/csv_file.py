"""CSV files: texts in, texts out, quoted only where that is needed.

An empty field is missing, and is written like that. An empty text is written as ``""``.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from bistochastic.adapters.frames import distinct
from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# What a column of each kind may hold: whole numbers of up to 18 digits always fit.
_FORMS = {
    "integer": r"^-?[0-9]{1,18}$",
    "boolean": r"^(true|True|TRUE|false|False|FALSE|0|1)$",
    "number": r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$",
}
_WORDS = {"integer": "whole numbers, as its categories are", "number": "numbers",
          "boolean": "truth values, as its categories are"}  # fmt: skip


class CsvSource:
    """A CSV file in UTF-8 with a header. Columns are texts, unless ``kinds`` says otherwise."""

    rows: int | None = None

    def __init__(self, path: Path, name: str, kinds: Mapping[str, str]) -> None:
        self._path, self._name, self._kinds = path, name, kinds
        try:
            # More than the header is decoded at once; what is wrong with rows is said of rows.
            with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
                header = next(csv.reader(file), None)
            "".join(header or []).encode()
        except UnicodeEncodeError:
            raise ValueError(f"`{name}` must be UTF-8; got other bytes in the header") from None
        except csv.Error:
            header = None
        if not header:
            raise ValueError(f"`{name}` must have a header; got none")
        names = distinct(header)
        types = {"integer": pa.int64(), "boolean": pa.bool_()}
        self.schema = pa.schema({n: types.get(kinds.get(n, ""), pa.string()) for n in names})
        self._size = path.stat().st_size
        self._file: Any = None
        self._nothing: dict[str, Any] = {}

    def batches(self, columns: list[str] | None = None) -> Iterator[Any]:
        """Record batches of all columns, or of these alone."""
        wanted = self.schema.names if columns is None else columns
        schema = pa.schema([self.schema.field(name) for name in wanted])
        done = 0
        for batch in self._texts(wanted):
            arrays = [
                pa.nulls(batch.num_rows, self._nothing[name])
                if name in self._nothing
                else _typed(column, name, self._kinds.get(name, "text"), done)
                for name, column in zip(wanted, batch.columns, strict=True)
            ]
            done += batch.num_rows
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _texts(self, columns: list[str], *, threads: bool = True) -> Iterator[Any]:
        """Record batches of texts. What cannot be read is refused with its row."""
        # With one column alone, an empty line is a missing value.
        parse = arrow_csv.ParseOptions(
            newlines_in_values=True, ignore_empty_lines=len(self.schema.names) > 1
        )
        convert = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(self.schema.names, pa.string()),
            include_columns=columns,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        done = 0
        self._file = pa.OSFile(str(self._path))
        try:
            read = arrow_csv.ReadOptions(use_threads=threads)
            with arrow_csv.open_csv(self._file, read, parse, convert) as reader:
                for batch in reader:
                    yield batch
                    done += batch.num_rows
        except pa.ArrowInvalid as error:
            # What pyarrow says quotes the row.
            text = str(error)
        else:
            return
        where = f"row {done} or later"
        at = re.search(r"Row #(\d+)", text)
        if at is not None:
            # The header is row 1 there.
            where = f"row {int(at[1]) - 2}"
        elif threads:
            # With one thread alone pyarrow counts rows: once more, to know which it is.
            self.close()
            for _batch in self._texts(columns, threads=False):
                pass
        found = re.search(r"Expected (\d+) columns, got (\d+)", text)
        if found is not None:
            must = f"`{self._name}` must have {found[1]} fields in every row"
            raise ValueError(f"{must}; got {found[2]} in {where}")
        if "UTF8" in text:
            raise ValueError(f"`{self._name}` must be UTF-8; got other bytes in {where}")
        raise ValueError(f"`{self._name}` must be CSV; got something else in {where}")

    def numbers_of(self, column: Any, name: str, done: int) -> Any:
        """Some rows of a column as numbers; ``done`` rows were before."""
        return numbers_of(column, name, done)

    def replaced(self, types: Mapping[str, Any]) -> None:
        """From now on these columns hold nothing, of these types: others take their place."""
        self._nothing = dict(types)
        fields = [pa.field(f.name, types.get(f.name, f.type)) for f in self.schema]
        self.schema = pa.schema(fields)

    def about(self) -> int:
        """About how many rows there are: a row is hardly shorter than two bytes a column."""
        return self._size // (2 * len(self.schema.names))

    def share(self) -> float:
        """How much of the file the latest reading has gone through, from 0 to 1."""
        if self._file is None or self._file.closed or not self._size:
            return 1.0
        return min(1.0, float(self._file.tell()) / self._size)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None and not self._file.closed:
            self._file.close()


def fault(path: Path, name: str, kinds: Mapping[str, str | None]) -> str | None:
    """Why these columns of a file cannot be read so, with the row; None where that is not found.

    A column of no kind is one of numbers where its first rows are.
    """
    try:
        source = CsvSource(path, name, {column: kind for column, kind in kinds.items() if kind})
        numbers: list[str] | None = None
        done = 0
        for batch in source.batches(list(kinds)):
            if numbers is None:
                free = [column for column, kind in kinds.items() if kind is None]
                numbers = [column for column in free if are_numbers(batch[column])]
            for column in numbers:
                numbers_of(batch[column], column, done)
            done += batch.num_rows
    except (ValueError, OSError, pa.ArrowException) as error:
        # The words of another library may quote a value.
        return str(error) if type(error) is ValueError else None
    return None


def are_numbers(texts: Any) -> bool:
    """Whether all texts are numbers.

    >>> are_numbers(pa.array(["1", "-2.5e3"])), are_numbers(pa.array(["1", "x"]))
    (True, False)
    """
    texts = pc.utf8_trim_whitespace(texts)
    return pc.all(pc.match_substring_regex(texts, _FORMS["number"])).as_py() is not False


def numbers_of(texts: Any, name: str, done: int) -> Any:
    """Texts as whole numbers, or as floats where one of them is none; ``done`` rows were before.

    >>> numbers_of(pa.array(["1", " 2"]), "age", 0).type, numbers_of(pa.array(["1.5"]), "x", 0).type
    (DataType(int64), DataType(double))
    """
    texts = _checked(pc.utf8_trim_whitespace(texts), name, "number", done)
    whole = pc.all(pc.match_substring_regex(texts, _FORMS["integer"])).as_py() is not False
    return texts.cast(pa.int64() if whole else pa.float64())


def _checked(texts: Any, name: str, kind: str, done: int) -> Any:
    """Texts of that kind; a sentence with the first row that is not."""
    bad = pc.invert(pc.match_substring_regex(texts, _FORMS[kind])).fill_null(False)
    if pc.any(bad).as_py():
        mask = bad.to_numpy(zero_copy_only=False)
        several = int(mask.sum())
        got = f"{several} other value{'s' * (several > 1)}"
        where = f"the first in row {done + int(np.argmax(mask))}"
        must = f"column `{shown(name)}`: must hold {_WORDS[kind]}"
        raise ValueError(f"{must}; got {got}, {where}")
    return texts


def _typed(texts: Any, name: str, kind: str, done: int) -> Any:
    """A column of texts as its kind."""
    if kind not in ("integer", "boolean"):
        return texts
    texts = _checked(pc.utf8_trim_whitespace(texts), name, kind, done)
    if kind == "integer":
        return texts.cast(pa.int64())
    true = pc.is_in(texts, value_set=pa.array(["true", "True", "TRUE", "1"]))
    return pc.if_else(pc.is_valid(texts), true, pa.scalar(None, pa.bool_()))


class CsvSink:
    """A new CSV file, with a header."""

    def __init__(self, path: Path, schema: Any) -> None:
        self._file = path.open("wb")
        header = [pa.array([name]) for name in schema.names]
        self._lines(header, 1)

    def write(self, batch: Any) -> None:
        """Add a record batch."""
        if batch.num_rows:
            self._lines(batch.columns, batch.num_rows)

    def _lines(self, columns: list[Any], rows: int) -> None:
        fields = [_field(column) for column in columns]
        end = pa.scalar("\n", pa.large_string())
        comma = pa.scalar(",", pa.large_string())
        none = pa.array([""], pa.large_string())[0]
        joined = pc.binary_join_element_wise(*fields, comma) if len(fields) > 1 else fields[0]
        lines = pc.binary_join_element_wise(joined, none, end)
        # The texts of an array stand one after another: they are the file.
        _, offsets, data = lines.buffers()
        stop = int(np.frombuffer(offsets, np.int64)[lines.offset + rows])
        start = int(np.frombuffer(offsets, np.int64)[lines.offset])
        self._file.write(memoryview(data)[start:stop])

    def close(self) -> None:
        """Write what is left; the file is then whole."""
        self._file.close()


def _field(column: Any) -> Any:
    """A column as the texts of fields."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    is_text = any(
        is_one(column.type)
        for is_one in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    )
    if not is_text:
        texts = column.cast(pa.string()).cast(pa.large_string())
        if pa.types.is_floating(column.type):
            # So that whoever reads it takes it for a float again.
            whole = pc.match_substring_regex(texts, "^-?[0-9]+$")
            point = [pa.scalar(text, pa.large_string()) for text in (".0", "")]
            texts = pc.if_else(whole, pc.binary_join_element_wise(texts, *point), texts)
        return texts.fill_null("")
    texts = column.cast(pa.large_string())
    quoted = pc.or_(pc.match_substring_regex(texts, '[",\r\n]'), pc.equal(texts, ""))
    if pc.any(quoted).as_py():
        mark = pa.scalar('"', pa.large_string())
        none = pa.scalar("", pa.large_string())
        doubled = pc.replace_substring(texts, '"', '""')
        texts = pc.if_else(quoted, pc.binary_join_element_wise(mark, doubled, mark, none), texts)
    return texts.fill_null("")
