"""CSV files: strings in, strings out, quoted only if needed.

An empty field is missing, and is written like that. An empty text is written as ``""``. A line end
inside a field is rejected unless the dialect admits some, and so is a quote that does not end:
either may have swallowed rows.

A file is cut at ends of lines into blocks, and pyarrow parses each. A row of random marks is added
to every block. If it comes back, every quote of the block has ended. If there are as many rows as
lines, no field holds a line end. Only if something is wrong are rows looked at, to name the first.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
import re
import secrets
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from bistochastic.errors import Refused
from bistochastic_survey.files import csv_numbers
from bistochastic_survey.files.csv_dialect import Dialect
from bistochastic_survey.files.tables import Sink, Source, Typed
from bistochastic_survey.release.pipeline import abreast
from bistochastic_survey.table.arrow_cells import Cells, flags, is_string, spelled_out
from bistochastic_survey.table.frames import distinct
from bistochastic_survey.wording import shown

_TRUTHS = r"^(true|True|TRUE|false|False|FALSE|0|1)$"
_TYPES = {
    "integer": pa.int64(),
    "boolean": pa.bool_(),
    "whole": pa.int64(),
    "decimal": pa.float64(),
    "float": pa.float64(),
    "date": pa.date32(),
}
# The characters of columns that are not strings.
_IN_NUMBERS = " +-.:"
_LINE_END = "\r\n|\r|\n"
_BOM = codecs.BOM_UTF8
_DOUBLED = "double quotes inside fields, as fields have line ends"
# Bytes of a block, about; no row is longer. The header may be, and what is read to find an error.
_BLOCK, _HEADER, _LONGEST = 1 << 20, 1 << 26, 1 << 24


class CsvSource(Source):
    """A CSV file with a header. Columns are strings, unless ``kinds`` says otherwise.

    Columns of ``kinds`` are protected, choose a matrix or hold ids, and never hold line ends. A
    column of the kind ``"number"`` has integers in a batch if all of the batch are, else floats.
    """

    rows: int | None = None

    def __init__(
        self, path: Path, name: str, kinds: Mapping[str, str], dialect: Dialect | None = None
    ) -> None:
        self._path, self._name, self._strict = path, name, dict(kinds)
        self._dialect = Dialect() if dialect is None else dialect
        self._size, self._place = path.stat().st_size, 0
        self._admits = self._dialect.max_line_ends > 0
        self._mark = secrets.token_hex(16)
        self._names = distinct(self._header())
        # Names that no file chooses; behind them a byte order mark is a character.
        self._places = {name: str(i) for i, name in enumerate(self._names)}
        first, last = self._places.values(), [self._mark] * len(self._names)
        self._first_row, self._last_row = (
            self._dialect.mark.join(row).encode() + b"\n" for row in (first, last)
        )
        self._found: dict[str, str] = {}
        self.replaced({})

    def replaced(self, types: Mapping[str, pa.DataType]) -> None:
        self._nothing = dict(types)
        self._retype(self._found)

    def _retype(self, found: Mapping[str, str]) -> None:
        """Read these columns, and no other ones without a kind, as these kinds from now on."""
        self._found = dict(found)
        self._kinds = self._found | self._strict
        types = {name: _TYPES.get(kind, pa.string()) for name, kind in self._kinds.items()}
        types |= self._nothing
        self.schema = pa.schema({name: types.get(name, pa.string()) for name in self._names})

    def _header(self) -> list[str]:
        """Return the names in the first line."""
        found = b""
        with contextlib.closing(self._pieces()) as pieces:
            for piece in pieces:
                found += piece
                if b"\n" in found or b"\r" in found[:-1] or len(found) >= _HEADER:
                    break
        end = re.search(_LINE_END.encode(), found)
        line = found[: end.start()] if end else found
        self._start = end.end() if end else len(found)
        try:
            text = line.decode()
        except UnicodeError:
            # Raised after the block: the error holds bytes of the file.
            text = None
        if text is None:
            raise self._undecodable("the header")
        if not text:
            raise self._wrong("have a header", "none")
        try:
            # The second row is one that a quote without an end would swallow.
            rows = csv.reader([f"{text}\n", self._mark], delimiter=self._dialect.mark)
            names = next(rows)
        except csv.Error:
            raise self._wrong("be CSV", "something else in the header") from None
        if any(self._mark in each for each in names):
            raise self._wrong("end every quote", "one in the header that does not")
        if self._admits and _stray_quote(line, self._dialect.mark) is not None:
            raise self._wrong(_DOUBLED, "a single one in line 1")
        other = self._dialect.other_separator(names)
        if other is not None:
            mark = "a tab" if other == "\t" else f"`{other}`"
            say = "tab" if other == "\t" else f"'{other}'"
            got = f"a header with {mark} and no comma: use --separator {say}"
            raise self._wrong("have commas between its columns", got)
        return names

    def _pieces(self, skip: int = 0) -> Generator[bytes]:
        """Give the file in UTF-8, without a byte order mark, from this byte on."""
        decoder: codecs.IncrementalDecoder | None = None
        if not self._dialect.is_utf8:
            decoder = codecs.getincrementaldecoder(self._dialect.encoding)()
        self._place, self._bom, found = 0, 0, b" "
        with self._path.open("rb") as file:
            while found:
                found = file.read(_BLOCK)
                data, wrong = found, None
                if decoder is not None:
                    held = len(decoder.getstate()[0])
                    try:
                        data = decoder.decode(found, final=not found).encode()
                    except UnicodeError as error:
                        wrong = self._place + getattr(error, "start", 0) - held
                if wrong is not None:
                    raise self._undecodable(f"byte {wrong}")
                if not self._place and data.startswith(_BOM):
                    data, self._bom = data[len(_BOM) :], len(_BOM)
                self._place += len(found)
                data, skip = data[skip:], max(0, skip - len(data))
                if data:
                    yield data

    def _blocks(self) -> Iterator[bytes]:
        """Give whole rows; nothing, and no more, where a row is too long."""
        rest = b""
        for piece in self._pieces(self._start):
            rest += piece
            end = self._last_end(rest)
            if end:
                yield rest[:end]
                rest = rest[end:]
            elif len(rest) > _BLOCK:
                yield b""
                return
        if rest:
            yield rest if _ends(rest) else rest + b"\n"

    def _last_end(self, data: bytes) -> int:
        """Find where the last row that surely ends in these bytes does; 0 if none."""
        if not self._admits:
            # A line end may go on behind the last byte.
            return 1 + max(data.rfind(b"\n"), data.rfind(b"\r", 0, -1))
        found = np.frombuffer(data, np.uint8)
        outside = np.cumsum(found == ord('"'), dtype=np.uint8) % 2 == 0
        ends = outside & ((found == ord("\n")) | (found == ord("\r")))
        ends[-1] &= data.endswith(b"\n")
        return int(np.flatnonzero(ends)[-1]) + 1 if ends.any() else 0

    def _rows(self, block: bytes, columns: list[str]) -> list[pa.RecordBatch] | None:
        """Parse a block as strings; None if anything is wrong with one of its rows."""
        # Line ends in columns that are not read are counted, too.
        read = self._names if self._admits else columns
        places = {self._places[name]: pa.string() for name in read}
        data = b"".join([self._first_row, block, self._last_row])
        parse = arrow_csv.ParseOptions(
            delimiter=self._dialect.mark,
            newlines_in_values=True,
            # With only one column, an empty line is a missing value.
            ignore_empty_lines=len(self._names) > 1,
        )
        convert = arrow_csv.ConvertOptions(
            column_types=places,
            include_columns=list(places),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        once = arrow_csv.ReadOptions(use_threads=False, block_size=len(data) + 1)
        try:
            if not block.isascii():
                block.decode()
            table = arrow_csv.read_csv(pa.BufferReader(data), once, parse, convert)
        except (pa.ArrowInvalid, UnicodeError):
            return None
        table, rows = table.rename_columns(read), len(table) - 1
        if self._admits:
            ends = [pc.max(pc.count_substring_regex(table[name], _LINE_END)).as_py() or 0
                    for name in read]  # fmt: skip
            if any(many > self._most(name) for name, many in zip(read, ends, strict=True)):
                return None
            if _stray_quote(block, self._dialect.mark) is not None:
                return None
        elif rows != _lines(block, empty=len(self._names) == 1):
            return None
        if not block or table.column(0)[-1].as_py() != self._mark:
            return None
        batches: list[pa.RecordBatch] = table.slice(0, rows).select(columns).to_batches()
        return batches

    def _texts(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Give record batches of strings. An error names the row that cannot be read."""
        start, lines, rows = self._start, 1, 0
        blocks = self._blocks()
        with contextlib.closing(abreast(lambda b: (b, self._rows(b, columns)), blocks)) as parsed:
            for block, batches in parsed:
                if batches is None:
                    break
                yield from batches
                start += len(block)
                lines += _plain_ends(block).count(b"\n") if self._admits else 0
                rows += sum(batch.num_rows for batch in batches)
            else:
                return
        raise self._trouble(start, lines, rows, columns, is_long=not block)

    def _trouble(
        self, start: int, lines: int, rows: int, columns: list[str], *, is_long: bool
    ) -> ValueError:
        """Name the first thing that is wrong behind so many bytes, lines and rows."""
        with contextlib.closing(self._pieces(start)) as pieces:
            data = b"".join(itertools.islice(pieces, _LONGEST // _BLOCK))
        if self._place < self._size:
            data = data[: self._last_end(data) or None]
        text = data.decode(errors="surrogateescape")
        text += "\n" * (not _ends(data)) + self._last_row.decode()
        bad, wrong, ragged = _escaped(text), "", ""
        limit = csv.field_size_limit(2 * _LONGEST)
        try:
            every = csv.reader(io.StringIO(text, newline=""), delimiter=self._dialect.mark)
            # An empty line is a row of one column, and of several none.
            kept = (found or [""] for found in every if found or len(self._names) == 1)
            for row, found in enumerate(kept, rows):
                fits = len(found) == len(self._names)
                named = dict(zip(self._names, found, strict=True)) if fits else {}
                if re.search(_LINE_END, "".join(found)):
                    for name, field in named.items() or ((None, field) for field in found):
                        ends = len(re.findall(_LINE_END, field))
                        is_open = self._mark in field and ends > 0
                        if is_open or ends > self._most(name):
                            return self._swallowed(row, name, ends, is_open)
                if not fits and not ragged:
                    ragged = f"{len(found)} in row {row}"
                if bad is not None and not wrong:
                    escaped = any(_escaped(named.get(name, "")) is not None for name in columns)
                    wrong = f"row {row}" * escaped
        finally:
            csv.field_size_limit(limit)
        if ragged:
            return self._wrong(f"have {len(self._names)} fields in every row", ragged)
        if bad is not None:
            byte = self._bom + start + len(text[:bad].encode())
            return self._undecodable(wrong or f"byte {byte}")
        stray = _stray_quote(data, self._dialect.mark)
        if self._admits and stray is not None:
            return self._wrong(_DOUBLED, f"a single one in line {lines + stray + 1}")
        if is_long:
            must = f"have rows of at most {_BLOCK >> 20} MiB"
            return self._wrong(must, f"a longer one in row {rows}")
        return self._wrong("be CSV", f"something else in row {rows} or later")

    def _most(self, column: str | None) -> int:
        """Return the most line ends that a field of the column may hold."""
        return 0 if column is None or column in self._strict else self._dialect.max_line_ends

    def _wrong(self, must: str, got: str) -> ValueError:
        return Refused(self._name, must, got)

    def _undecodable(self, where: str) -> ValueError:
        said = "UTF-8" if self._dialect.is_utf8 else self._dialect.encoding
        cure = "--encoding says which one it is"
        return self._wrong(f"be {said}", f"other bytes in {where}: {cure}")

    def _swallowed(self, row: int, column: str | None, ends: int, is_open: bool) -> ValueError:
        where = f"row {row}" + ("" if column is None else f", column `{shown(column)}`")
        if is_open:
            return self._wrong("end every quote", f"one that does not end in {where}")
        most = self._most(column)
        if most:
            must = f"hold at most {most} line ends in a field"
            return self._wrong(must, f"{ends} in {where}: is a quote missing?")
        cure = "is a quote missing? --max-line-ends admits some in columns that are not protected"
        return self._wrong("hold no line ends inside fields", f"{ends} in {where}: {cure}")

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        wanted = self._names if columns is None else columns
        read = [name for name in wanted if name not in self._nothing] or self._names[:1]
        done = 0
        for batch in self._texts(read):
            texts = dict(zip(read, batch.columns, strict=True))
            arrays = [
                pa.nulls(batch.num_rows, self._nothing[name])
                if name in self._nothing
                else self._typed(texts[name], name, done)
                for name in wanted
            ]
            done += batch.num_rows
            yield pa.RecordBatch.from_arrays(arrays, names=wanted)

    def decide(self, columns: Collection[str]) -> None:
        """Read these columns once: columns of only numbers are read as numbers from now on.

        A column that has a kind keeps it.
        """
        names = [name for name in columns if name not in self._kinds]
        if names:
            self._decide(names, self._texts(names))

    def _decide(self, names: list[str], batches: Iterable[pa.RecordBatch | pa.Table]) -> None:
        seen: dict[str, set[str]] = {name: set() for name in names}
        for batch in batches:
            for kinds, texts in zip(seen.values(), batch.columns, strict=True):
                if "text" not in kinds:
                    kinds.add(csv_numbers.kind(texts, self._dialect.decimal))
        found = {name: csv_numbers.joined(kinds) for name, kinds in seen.items()}
        self._retype(self._found | {n: kind for n, kind in found.items() if kind != "text"})

    def spelled(self) -> Typed:
        found, types = self._found, {name: _TYPES[kind] for name, kind in self._found.items()}
        self._retype({})

        def typed(batch: pa.RecordBatch) -> pa.RecordBatch:
            columns = zip(batch.schema.names, batch.columns, strict=True)
            return pa.RecordBatch.from_pydict(
                {name: self._typed(column, name, 0, found.get(name)) if name in found else column
                 for name, column in columns}
            )  # fmt: skip

        return types, typed

    def table(self, columns: list[str], texts: Collection[str] = ()) -> pa.Table:
        """Return whole columns: as numbers if all values are, unless the column is in ``texts``."""
        if not columns:
            return pa.table({})
        schema = pa.schema(dict.fromkeys(columns, pa.string()))
        read = pa.Table.from_batches(self._texts(columns), schema)
        names = [name for name in columns if name not in self._kinds and name not in texts]
        self._decide(names, [read.select(names)])
        found = zip(columns, read.columns, strict=True)
        return pa.table({name: self._typed(column, name, 0) for name, column in found})

    def _typed(self, texts: Cells, name: str, done: int, kind: str | None = None) -> Cells:
        """Return a column of strings as its kind; ``done`` rows were before."""
        kind, decimal = kind or self._kinds.get(name, "text"), self._dialect.decimal
        if kind == "text":
            return texts
        if kind in ("whole", "decimal"):
            # Every value was looked at before.
            return csv_numbers.pointed(texts, decimal).cast(_TYPES[kind])
        texts = pc.utf8_trim_whitespace(texts)
        if kind == "date":
            days = pc.strptime(texts, format="%Y-%m-%d", unit="s", error_is_null=True)
            days = days.cast(pa.date32())
            # A day that there is not is read as another one, or not at all.
            same = flags(pc.equal(days.cast(pa.string()), texts))
            csv_numbers.check(~(same | flags(pc.is_null(texts))), name, kind, done)
            return days
        if kind in ("number", "float"):
            found, wrong, lost = csv_numbers.numbers(texts, decimal, loose=True)
            csv_numbers.check(wrong, name, "number", done)
            csv_numbers.check(lost, name, "exact", done)
            return found.cast(pa.float64()) if kind == "float" else found
        if kind == "integer":
            found = csv_numbers.integers(texts)
            if found is None:
                csv_numbers.check(csv_numbers.wrong_whole(texts), name, kind, done)
            return found
        csv_numbers.check(~flags(pc.match_substring_regex(texts, _TRUTHS), True), name, kind, done)
        true = pc.is_in(texts, value_set=pa.array(["true", "True", "TRUE", "1"]))
        return pc.if_else(pc.is_valid(texts), true, pa.scalar(None, pa.bool_()))

    def about(self) -> int:
        # A row is hardly shorter than two bytes a column.
        return self._size // (2 * len(self._names))

    def share(self) -> float:
        return min(1.0, self._place / self._size) if self._size else 1.0

    def close(self) -> None:
        """Nothing: the file is only open while it is read."""


def _ends(rows: bytes) -> bool:
    return rows.endswith((b"\n", b"\r"))


def _escaped(text: str) -> int | None:
    """Find the first character that stands for a byte of another encoding."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def _stray_quote(rows: bytes, mark: str) -> int | None:
    """Find the line of the first quote in a field that is not doubled, or has text behind its end.

    Where fields may have line ends, it could hide rows behind another one.
    """
    padded = np.frombuffer(b"\n" + rows + b"\n", np.uint8)
    at = np.flatnonzero(padded == ord('"'))
    # The first opens a field, the second closes it or is doubled.
    beside = padded[at + np.where(np.arange(len(at)) % 2, 1, -1)]
    wrong = ~np.isin(beside, np.frombuffer(f'"\r\n{mark}'.encode(), np.uint8))
    return _plain_ends(rows[: at[np.argmax(wrong)] - 1]).count(b"\n") if wrong.any() else None


def _lines(rows: bytes, *, empty: bool) -> int:
    """Count lines that are rows; a line that is ``empty`` may be one."""
    rows = _plain_ends(rows)
    while not empty and b"\n\n" in rows:
        rows = rows.replace(b"\n\n", b"\n")
    return rows.count(b"\n") - (not empty and rows.startswith(b"\n"))


def _plain_ends(data: bytes) -> bytes:
    """Write every line end as LF."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


class CsvSink(Sink):
    """A new CSV file in UTF-8, with a header."""

    def __init__(self, path: Path, schema: pa.Schema, dialect: Dialect | None = None) -> None:
        self._dialect = Dialect() if dialect is None else dialect
        self._file = path.open("wb")
        header = [pa.array([name]) for name in schema.names]
        self._lines(header, 1)

    def write(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            self._lines(batch.columns, batch.num_rows)

    def _lines(self, columns: list[Cells], rows: int) -> None:
        fields = [_field(column, self._dialect) for column in columns]
        end = pa.scalar("\n", pa.large_string())
        mark = pa.scalar(self._dialect.mark, pa.large_string())
        none = pa.array([""], pa.large_string())[0]
        joined = pc.binary_join_element_wise(*fields, mark) if len(fields) > 1 else fields[0]
        lines = pc.binary_join_element_wise(joined, none, end)
        # The strings of an array are one after another: they are the file.
        _, offsets, data = lines.buffers()
        stop = int(np.frombuffer(offsets, np.int64)[lines.offset + rows])
        start = int(np.frombuffer(offsets, np.int64)[lines.offset])
        self._file.write(memoryview(data)[start:stop])

    def close(self) -> None:
        self._file.close()


def _field(column: Cells, dialect: Dialect) -> Cells:
    """Return a column as the strings of fields."""
    column = spelled_out(column)
    if not is_string(column.type):
        texts = column.cast(pa.string()).cast(pa.large_string())
        if pa.types.is_floating(column.type):
            # It is then read as a float again.
            whole = pc.match_substring_regex(texts, "^-?[0-9]+$")
            point = [pa.scalar(text, pa.large_string()) for text in (".0", "")]
            texts = pc.if_else(whole, pc.binary_join_element_wise(texts, *point), texts)
            if dialect.decimal != ".":
                texts = pc.replace_substring(texts, ".", dialect.decimal)
        if dialect.mark not in _IN_NUMBERS and dialect.mark != dialect.decimal:
            return texts.fill_null("")
    else:
        texts = column.cast(pa.large_string())
    # A byte order mark would not be read as a part of the first name.
    special = f'["\r\n\ufeff{re.escape(dialect.mark)}]'
    quoted = pc.or_(pc.match_substring_regex(texts, special), pc.equal(texts, ""))
    if pc.any(quoted).as_py():
        mark = pa.scalar('"', pa.large_string())
        none = pa.scalar("", pa.large_string())
        doubled = pc.replace_substring(texts, '"', '""')
        texts = pc.if_else(quoted, pc.binary_join_element_wise(mark, doubled, mark, none), texts)
    return texts.fill_null("")
