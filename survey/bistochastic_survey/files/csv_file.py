"""CSV files: strings in, strings out, quoted only if needed.

An empty field is missing, and is written like that. An empty text is written as ``""``. A line end
inside a field is rejected unless the dialect admits some, and so is a quote that does not end:
either may have swallowed rows.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import re
import secrets
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from bistochastic.errors import Refused
from bistochastic_survey.files import csv_numbers
from bistochastic_survey.files.csv_dialect import Dialect
from bistochastic_survey.files.formats import Sink, Source
from bistochastic_survey.table.arrow_cells import flags, is_string, spelled_out
from bistochastic_survey.table.frames import distinct
from bistochastic_survey.wording import shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from bistochastic_survey.files.formats import Typed
    from bistochastic_survey.table.arrow_cells import Cells

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
# Bytes of a piece of the header, which is never longer than the second.
_PIECE, _HEADER = 1 << 16, 1 << 26
_BOM = codecs.BOM_UTF8
# Bytes that are parsed at once; more of them to find a line end, as it may have swallowed rows.
_BLOCK, _LONGEST = 1 << 20, 1 << 28


class CsvSource(Source):
    """A CSV file with a header. Columns are strings, unless ``kinds`` says otherwise.

    Columns of ``kinds`` are protected, choose a matrix or hold ids, and never hold line ends. A
    column of the kind ``"number"`` has integers in a batch if all of the batch are, else floats.
    """

    rows: int | None = None

    def __init__(
        self, path: Path, name: str, kinds: Mapping[str, str], dialect: Dialect | None = None
    ) -> None:
        self._path, self._name, self._kinds = path, name, dict(kinds)
        self._dialect = Dialect() if dialect is None else dialect
        self._strict = frozenset(kinds)
        self._bytes = CsvBytes(path, self._dialect)
        self._names = distinct(self._header())
        self._size = path.stat().st_size
        self._reader: arrow_csv.CSVStreamingReader | None = None
        self.replaced({})

    def replaced(self, types: Mapping[str, pa.DataType]) -> None:
        self._nothing = dict(types)
        self._retype({})

    def _retype(self, kinds: Mapping[str, str]) -> None:
        """Read columns as these kinds from now on."""
        self._kinds |= kinds
        known = {name: _TYPES.get(kind, pa.string()) for name, kind in self._kinds.items()}
        known |= self._nothing
        self.schema = pa.schema({name: known.get(name, pa.string()) for name in self._names})

    def _header(self) -> list[str]:
        """Return the names in the first line."""
        given = self._bytes
        try:
            line = given.header()
            text = None if line is None else line.decode()
        except UnicodeError:
            # Raised after the block: the error holds bytes of the file.
            text = ""
        finally:
            given.close()
        if text == "":
            raise self._undecodable("the header" if self._dialect.is_utf8 else None)
        if text is None:
            raise self._wrong("have a header", "none")
        try:
            # The second row is one that a quote without an end would swallow.
            rows = csv.reader([f"{text}\n", given.mark], delimiter=self._dialect.mark)
            names = next(rows)
        except csv.Error:
            raise self._wrong("be CSV", "something else in the header") from None
        if any(given.mark in each for each in names):
            raise self._wrong("end every quote", "one in the header that does not")
        other = self._dialect.other_separator(names)
        if other is not None:
            mark = "a tab" if other == "\t" else f"`{other}`"
            say = "tab" if other == "\t" else f"'{other}'"
            got = f"a header with {mark} and no comma: use --separator {say}"
            raise self._wrong("have commas between its columns", got)
        return names

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        wanted = self._names if columns is None else columns
        read = [name for name in wanted if name not in self._nothing] or self._names[:1]
        done = 0
        for batch in self._texts(read):
            texts = dict(zip(read, batch.columns, strict=True))
            arrays = [
                pa.nulls(batch.num_rows, self._nothing[name])
                if name in self._nothing
                else self._typed(texts[name], name, self._kinds.get(name, "text"), done)
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

    def _decide(self, names: list[str], batches: Iterable[pa.RecordBatch]) -> None:
        spellings = [csv_numbers.Spelling(self._dialect.decimal) for _name in names]
        for batch in batches:
            for spelling, texts in zip(spellings, batch.columns, strict=True):
                spelling.add(texts)
        found = zip(names, (spelling.kind for spelling in spellings), strict=True)
        self._retype({name: kind for name, kind in found if kind != "text"})

    def spelled(self) -> Typed:
        kinds = {name: kind for name, kind in self._kinds.items() if name not in self._strict}
        types = {name: _TYPES[kind] for name, kind in kinds.items()}
        self._retype(dict.fromkeys(kinds, "text"))

        def typed(batch: pa.RecordBatch) -> pa.RecordBatch:
            columns = {
                name: self._typed(column, name, kinds[name], 0) if name in kinds else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            }
            return pa.RecordBatch.from_pydict(columns)

        return types, typed

    def table(self, columns: list[str], texts: Collection[str] = ()) -> pa.Table:
        """Return whole columns: as numbers if all values are, unless the column is in ``texts``."""
        if not columns:
            return pa.table({})
        read = pa.Table.from_batches(
            self._texts(columns), pa.schema(dict.fromkeys(columns, pa.string()))
        )
        names = [name for name in columns if name not in self._kinds and name not in texts]
        self._decide(names, [read.select(names)])
        return pa.table(
            {
                name: self._typed(column, name, self._kinds.get(name, "text"), 0)
                for name, column in zip(columns, read.columns, strict=True)
            }
        )

    def _opened(
        self, columns: list[str], *, threads: bool, block: int, ragged: object = None
    ) -> arrow_csv.CSVStreamingReader:
        """Return a reader of strings over the file, from its first row.

        With ``ragged`` it reads whatever can be read, as bytes, and says which rows cannot.
        """
        dialect, names, check = self._dialect, self._names, ragged is None
        self.close()
        self._bytes = CsvBytes(self._path, dialect, len(names))
        parse = arrow_csv.ParseOptions(
            delimiter=dialect.mark,
            # Without it, a row in two blocks may end within quotes.
            newlines_in_values=True,
            invalid_row_handler=ragged,
            # With only one column, an empty line is a missing value.
            ignore_empty_lines=len(names) > 1,
        )
        convert = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string() if check else pa.binary()),
            include_columns=columns,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        read = arrow_csv.ReadOptions(use_threads=threads, block_size=block)
        self._reader = arrow_csv.open_csv(self._bytes, read, parse, convert)
        return self._reader

    def _texts(self, columns: list[str], *, threads: bool = True) -> Iterator[pa.RecordBatch]:
        """Give record batches of strings. An error names the row that cannot be read."""
        admits = self._dialect.max_line_ends > 0
        # Line ends in columns that are not read are counted, too.
        read = self._names if admits else columns
        done, ended = 0, False
        try:
            with self._opened(read, threads=threads, block=_BLOCK) as reader:
                given = self._bytes
                for batch in reader:
                    if batch.num_rows and batch.column(0)[-1].as_py() == given.mark:
                        batch, ended = batch.slice(0, batch.num_rows - 1), True
                    found = self._first(batch, given.mark) if admits else None
                    if found is not None:
                        raise self._refused(done + found[0], *found[1:])
                    if batch.num_rows:
                        yield batch.select(columns) if admits else batch
                    done += batch.num_rows
        except UnicodeError:
            # The error holds bytes of the file: it must not be the context of another.
            text = None
        except pa.ArrowInvalid as error:
            # The message of pyarrow quotes the row.
            text = str(error)
        else:
            # The header and the added row are lines, too.
            if given.wrong is not None:
                raise self._undecodable()
            if ended and given.stray is not None:
                must = "double quotes inside fields, as fields have line ends"
                raise self._wrong(must, f"a single one in line {given.stray}")
            if ended and (admits or given.lines == done + 2):
                return
            text = ""
        if text is None:
            raise self._undecodable()
        refused = self._line_end()
        if refused is not None:
            raise refused
        where = f"row {done} or later"
        at = re.search(r"Row #(\d+)", text)
        if at is not None:
            # The header is row 1 there.
            where = f"row {int(at[1]) - 2}"
        elif threads:
            # With only one thread pyarrow counts rows: read again, to know which row it is.
            for _batch in self._texts(columns, threads=False):
                pass
        wrong = re.search(r"Expected (\d+) columns, got (\d+)", text)
        if wrong is not None:
            raise self._wrong(f"have {wrong[1]} fields in every row", f"{wrong[2]} in {where}")
        if "UTF8" in text:
            raise self._undecodable(where)
        if "straddl" in text:
            must = f"have rows of at most {_BLOCK >> 20} MiB"
            raise self._wrong(must, f"a longer one in {where}")
        raise self._wrong("be CSV", f"something else in {where}")

    def _wrong(self, must: str, got: str) -> ValueError:
        return Refused(self._name, must, got)

    def _undecodable(self, where: str | None = None) -> ValueError:
        where = where or f"byte {self._bytes.wrong}"
        said = "UTF-8" if self._dialect.is_utf8 else self._dialect.encoding
        cure = "--encoding says which one it is"
        return self._wrong(f"be {said}", f"other bytes in {where}: {cure}")

    def _line_end(self) -> ValueError | None:
        """Return a sentence about the first line end in a field; None if there is none."""
        block = min(self._size + _BLOCK, _LONGEST)
        done = 0
        # Rows with too few fields or too many, and those of them that have several lines.
        ragged: list[int] = []
        long: list[tuple[int, None, bool, int]] = []

        def skip(row: arrow_csv.InvalidRow) -> str:
            # The header is row 1 there.
            ragged.append(row.number - 2)
            ends = len(re.findall(_LINE_END, row.text))
            if ends:
                long.append((row.number - 2, None, self._bytes.mark in row.text, ends))
            return "skip"

        found = None
        try:
            with self._opened(self._names, threads=False, block=block, ragged=skip) as reader:
                for batch in reader:
                    found = self._first(batch, self._bytes.mark)
                    if found is not None or long:
                        break
                    done += batch.num_rows
        except (pa.ArrowInvalid, UnicodeError):
            return None
        places: list[tuple[int, str | None, bool, int]] = [*long]
        if found is not None:
            row = done + found[0]
            for number in ragged:
                row += number <= row
            places.append((row, *found[1:]))
        return self._refused(*min(places, key=lambda each: each[0])) if places else None

    def _first(self, batch: pa.RecordBatch, mark: str) -> tuple[int, str, bool, int] | None:
        """Return the first field of a batch with an open quote or more line ends than are admitted.

        Its row and column, whether a quote is open, and the number of line ends.
        """
        places = []
        for name, column in zip(self._names, batch.columns, strict=True):
            ends = pc.count_substring_regex(column, _LINE_END).fill_null(0).to_numpy()
            wrong = ends > self._most(name)
            # The added row holds only marks.
            swallowed = flags(pc.match_substring(column, mark)) & (ends > 0)
            at = np.flatnonzero(wrong | swallowed)[:1]
            places += [(int(i), name, bool(swallowed[i]), int(ends[i])) for i in at]
        return min(places, default=None)

    def _most(self, column: str) -> int:
        """Return the most line ends that a field of the column may hold."""
        return 0 if column in self._strict else self._dialect.max_line_ends

    def _refused(self, row: int, column: str | None, is_open: bool, ends: int) -> ValueError:
        where = f"row {row}" + ("" if column is None else f", column `{shown(column)}`")
        if is_open:
            return self._wrong("end every quote", f"one that does not end in {where}")
        most = 0 if column is None else self._most(column)
        if most:
            must = f"hold at most {most} line ends in a field"
            return self._wrong(must, f"{ends} in {where}: is a quote missing?")
        cure = "is a quote missing? --max-line-ends admits some in columns that are not protected"
        return self._wrong("hold no line ends inside fields", f"{ends} in {where}: {cure}")

    def _typed(self, texts: Cells, name: str, kind: str, done: int) -> Cells:
        """Return a column of strings as its kind; ``done`` rows were before."""
        if kind == "text":
            return texts
        if kind == "whole":
            return texts.cast(pa.int64())
        decimal = self._dialect.decimal
        if kind == "decimal":
            return csv_numbers.pointed(texts, decimal).cast(pa.float64())
        texts = pc.utf8_trim_whitespace(texts)
        if kind == "date":
            days = pc.strptime(texts, format="%Y-%m-%d", unit="s", error_is_null=True)
            days = days.cast(pa.date32())
            # A day that there is not is read as another one, or not at all.
            same = flags(pc.equal(days.cast(pa.string()), texts))
            csv_numbers.check(~(same | flags(pc.is_null(texts))), name, kind, done)
            return days
        if kind in ("number", "float"):
            found, wrong, lost = csv_numbers.numbers(
                csv_numbers.pointed(texts, decimal), loose=True
            )
            csv_numbers.check(wrong, name, "number", done)
            csv_numbers.check(lost, name, "exact", done)
            return found.cast(pa.float64()) if kind == "float" else found
        if kind == "integer":
            found = csv_numbers.whole(texts)
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
        if self._bytes.closed or not self._size:
            return 1.0
        return min(1.0, self._bytes.place / self._size)

    def close(self) -> None:
        """Close the file, once no pyarrow thread reads ahead in it.

        Such a thread needs the interpreter. At its end pyarrow would wait for the thread for ever.
        """
        reader, self._reader = self._reader, None
        if reader is not None:
            self._bytes.stop()
            with contextlib.suppress(pa.ArrowInvalid, OSError, UnicodeError, ValueError):
                for _batch in reader:
                    pass
            reader.close()
        self._bytes.close()


class CsvBytes:
    """The bytes of a file as pyarrow reads them, once, in UTF-8, with lines counted.

    A row of random marks is added behind the last one. If pyarrow gives it back, every quote of the
    file has ended. If there are as many rows as lines, no field holds a line end. ``fields`` is the
    number of columns, 0 for only the header.
    """

    def __init__(self, path: Path, dialect: Dialect, fields: int = 0) -> None:
        self._file = path.open("rb")
        self._as_it_is = dialect.is_utf8
        encoding = "utf-8" if self._as_it_is else dialect.encoding
        self._decoder: codecs.IncrementalDecoder = codecs.getincrementaldecoder(encoding)()
        self.mark = secrets.token_hex(16)
        """What stands in every field of the added row."""
        self._last_row = dialect.mark.join([self.mark] * fields).encode() + b"\n" if fields else b""
        # With only one column, an empty line is a row.
        self._skips_empty = fields > 1
        self._ended = False
        self._return = False
        self._last = b"\n"
        # If fields may have line ends, a stray quote could hide rows behind another one.
        self._strict = dialect.max_line_ends > 0
        self._beside = np.frombuffer(f'"\r\n{dialect.mark}'.encode(), np.uint8)
        self._quotes = 0
        self._held = b""
        self._before = b"\n"
        self._ends = 0
        self.stray: int | None = None
        """The line, from 1, of the first quote that neither begins nor ends a field; if sought."""
        self.lines = 0
        """Lines so far, header and added row among them, without empty ones that are no rows."""
        self.place = 0
        """Bytes of the file so far."""
        self.wrong: int | None = None
        """The first byte that is none of the encoding; pyarrow looks at columns that it reads."""

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, in UTF-8; none at the end. pyarrow calls this."""
        data = b""
        while not data and not self._ended:
            found = self._file.read(size)
            self._ended = not found
            data = self._decoded(found)
            self.place += len(found)
            self._count(data)
            if self._strict and self.stray is None:
                self._find_stray(data)
            if self._ended and self._last_row:
                end = b"" if self._last == b"\n" else b"\n"
                self._count(end + self._last_row)
                data += end + self._last_row
        return data

    def header(self) -> bytes | None:
        """Return the first line, without its end; None if it is empty."""
        found = b""
        while len(found) < _HEADER:
            piece = self.read(_PIECE)
            found += piece
            first = _plain_ends(found.removeprefix(_BOM))
            if not piece or b"\n" in first:
                return first.partition(b"\n")[0] or None
        return None

    def _decoded(self, found: bytes) -> bytes:
        """Return bytes in UTF-8, and remember where they are none of the encoding."""
        held = len(self._decoder.getstate()[0])
        if self._as_it_is and (self.wrong is not None or (not held and found.isascii())):
            return found
        try:
            text: str = self._decoder.decode(found, final=not found)
        except UnicodeError as error:
            self.wrong = self.place + getattr(error, "start", 0) - held
            if not self._as_it_is:
                raise
        return found if self._as_it_is else text.encode()

    def _find_stray(self, data: bytes) -> None:
        """Look for a quote inside a field that is not doubled, or has text behind its end."""
        data = self._held + (data if self._quotes or self._ends else data.removeprefix(_BOM))
        self._held = b""
        if data.endswith(b'"') and not self._ended:
            # The next byte is not known yet.
            data, self._held = data[:-1], b'"'
        padded = np.frombuffer(self._before + data + (self._held or b"\n"), np.uint8)
        at = np.flatnonzero(padded[1:-1] == ord('"'))
        opens = (np.arange(len(at)) + self._quotes) % 2 == 0
        wrong = ~np.isin(np.where(opens, padded[at], padded[at + 2]), self._beside)
        if wrong.any():
            before = data[: int(at[np.argmax(wrong)])]
            self.stray = self._ends + _plain_ends(before).count(b"\n") + 1
        self._ends += _plain_ends(data).count(b"\n")
        self._quotes += len(at)
        self._before = data[-1:] or self._before

    def _count(self, data: bytes) -> None:
        """Count the ends of lines: LF, CR, or both."""
        if self._return and data:
            # The end of a line is not known before the byte that follows.
            data = b"\r" + data
            self._return = False
        if data.endswith(b"\r") and not self._ended:
            data, self._return = data[:-1], True
        elif not data and self._ended and self._return:
            data, self._return = b"\r", False
        data = _plain_ends(data)
        if not data:
            return
        ends = np.frombuffer(data, np.uint8) == ord("\n")
        self.lines += int(np.count_nonzero(ends))
        if self._skips_empty:
            self.lines -= int(np.count_nonzero(ends[1:] & ends[:-1]))
            self.lines -= bool(ends[0]) and self._last == b"\n"
        self._last = data[-1:]

    @property
    def closed(self) -> bool:
        """Whether the file was let go."""
        return self._file.closed

    def stop(self) -> None:
        """Stop giving bytes to threads that still read."""
        self._ended = True

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


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
