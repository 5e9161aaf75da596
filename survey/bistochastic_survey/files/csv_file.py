"""CSV files: strings in, strings out, quoted only if needed.

An empty field is missing, and is written like that. An empty text is written as ``""``. Every line
is a row: a quote that does not end in its line may have swallowed rows, and is rejected.

A file is cut at ends of lines into blocks, and pyarrow parses each. A row of random marks is added
to every block. If it comes back, every quote of the block has ended. If there are as many rows as
lines, no field holds a line end. Only if something is wrong are rows looked at, to name the first.
"""

import codecs
import contextlib
import csv
import re
import secrets
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from bistochastic.errors import Refused
from bistochastic_survey.files import csv_numbers
from bistochastic_survey.files.csv_dialect import Dialect
from bistochastic_survey.files.csv_numbers import TYPES
from bistochastic_survey.files.tables import Sink, Source
from bistochastic_survey.release.protect import abreast
from bistochastic_survey.table.arrow_cells import Cells, is_string, spelled_out
from bistochastic_survey.table.frames import distinct
from bistochastic_survey.wording import shown

# The characters of columns that are not strings.
_IN_NUMBERS = " +-.:"
# Bytes of a block, about; no row is longer. The header may be.
_BLOCK, _HEADER = 1 << 20, 1 << 26
_Pieces = Generator[bytes, None, None]
# The number of the first row of a block, how many it has, and their bytes.
_Block = tuple[int, int, bytes]


class CsvSource(Source):
    """A CSV file with a header. Columns are strings, unless ``kinds`` says otherwise.

    Columns of ``kinds`` are protected, choose a matrix or hold ids. A column of the kind
    ``"number"`` has integers in a batch if all of the batch are, else floats. A file that is open
    already, as a pipe is, can be read once.
    """

    rows: int | None = None

    def __init__(
        self,
        file: Path | IO[bytes],
        name: str,
        kinds: Mapping[str, str],
        dialect: Dialect | None = None,
    ) -> None:
        self._name, self._strict = name, dict(kinds)
        self._dialect = Dialect() if dialect is None else dialect
        self._path = file if isinstance(file, Path) else None
        self._size, self._place = file.stat().st_size if isinstance(file, Path) else 0, 0
        self._mark = secrets.token_hex(16)
        line, begun, pieces = self._opened(file)
        self._rest = begun, pieces
        if self._path is not None:
            # It is opened again to be read.
            pieces.close()
        self._names = distinct(self._header(line))
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
        types = {name: TYPES.get(kind, pa.string()) for name, kind in self._kinds.items()}
        types |= self._nothing
        self.schema = pa.schema({name: types.get(name, pa.string()) for name in self._names})

    def _opened(self, file: Path | IO[bytes]) -> tuple[bytes, bytes, _Pieces]:
        """Read the first line; return it, bytes behind it, and what gives the rest of the file."""
        found, pieces = b"", self._pieces(file)
        for piece in pieces:
            found += piece
            if b"\n" in found or b"\r" in found[:-1] or len(found) >= _HEADER:
                break
        end = re.search(b"\r\n|\r|\n", found)
        start, stop = end.span() if end else (len(found), len(found))
        return found[:start], found[stop:], pieces

    def _header(self, line: bytes) -> list[str]:
        text = _text(line)
        if text is None:
            raise self._undecodable("the header")
        if not text:
            raise self._wrong("have a header", "none")
        names, is_open = self._fields(text)
        if names is None:
            raise self._wrong("be CSV", "something else in the header")
        if is_open:
            raise self._wrong("end every quote in its line", "one in the header that does not")
        other = self._dialect.other_separator(names)
        if other is not None:
            mark = "a tab" if other == "\t" else f"`{other}`"
            say = "tab" if other == "\t" else f"'{other}'"
            got = f"a header with {mark} and no comma: use --separator {say}"
            raise self._wrong("have commas between its columns", got)
        return names

    def _fields(self, line: str) -> tuple[list[str] | None, bool]:
        """Split a line, or return None; and whether a quote of it would swallow the next one."""
        with contextlib.suppress(csv.Error):
            first, *others = csv.reader([f"{line}\n", self._mark], delimiter=self._dialect.mark)
            return first or [""], not others
        return None, False

    def _pieces(self, file: Path | IO[bytes]) -> _Pieces:
        """Give the file in UTF-8, without a byte order mark."""
        decoder: codecs.IncrementalDecoder | None = None
        if not self._dialect.is_utf8:
            # Bytes that it does not know become such as UTF-8 does not have, and are found there.
            decoder = codecs.getincrementaldecoder(self._dialect.encoding)("surrogateescape")
        self._place = 0
        with file.open("rb") if isinstance(file, Path) else contextlib.nullcontext(file) as read:
            for found in chain(iter(lambda: read.read(_BLOCK), b""), [b""]):
                data = found if decoder is None else _decoded(decoder, found)
                if data is None:
                    raise self._undecodable("a place that has no row")
                yield data if self._place else data.removeprefix(codecs.BOM_UTF8)
                self._place += len(found)

    def _blocks(self) -> Generator[_Block, None, None]:
        begun, pieces = self._rest if self._path is None else self._opened(self._path)[1:]
        rest, first = b"", 0
        with contextlib.closing(pieces):
            for piece in chain([begun], pieces, [None]):
                rest += piece or b""
                # A line end may go on behind the last byte.
                end = 1 + max(rest.rfind(b"\n"), rest.rfind(b"\r", 0, -1))
                if piece is None and rest:
                    rest += b"" if rest.endswith((b"\n", b"\r")) else b"\n"
                    end = len(rest)
                if end:
                    rows = _lines(rest[:end], empty=len(self._names) == 1)
                    yield first, rows, rest[:end]
                    rest, first = rest[end:], first + rows
                elif len(rest) > _BLOCK:
                    must = f"have rows of at most {_BLOCK >> 20} MiB"
                    raise self._wrong(must, f"a longer one in row {first}")

    def _rows(self, block: _Block, columns: list[str]) -> list[pa.RecordBatch]:
        first, rows, text = block
        places = {self._places[name]: pa.string() for name in columns}
        data = b"".join([self._first_row, text, self._last_row])
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
        table = None
        if _text(text) is not None:
            with contextlib.suppress(pa.ArrowInvalid):
                table = arrow_csv.read_csv(pa.BufferReader(data), once, parse, convert)
        if table is None or len(table) != rows + 1 or table.column(0)[-1].as_py() != self._mark:
            raise self._trouble(first, text)
        batches: list[pa.RecordBatch] = table.rename_columns(columns).slice(0, rows).to_batches()
        return batches

    def _trouble(self, first: int, block: bytes) -> ValueError:
        lines = _plain_ends(block).split(b"\n")[:-1]
        kept = [line for line in lines if line or len(self._names) == 1]
        for row, line in enumerate(kept, first):
            text = _text(line)
            if text is None:
                return self._undecodable(f"row {row}")
            fields, is_open = self._fields(text)
            if fields is None:
                break
            if is_open:
                # A ragged row may have more fields than there are columns.
                column = shown([*self._names, *fields][len(fields) - 1])
                cure = "fields with line ends go into a Parquet file"
                got = f"one that does not in row {row}, column `{column}`: {cure}"
                return self._wrong("end every quote in its line", got)
            if len(fields) != len(self._names):
                must = f"have {len(self._names)} fields in every row"
                return self._wrong(must, f"{len(fields)} in row {row}")
        return self._wrong("be CSV", f"something else in row {first} or later")

    def _wrong(self, must: str, got: str) -> ValueError:
        return Refused(self._name, must, got)

    def _undecodable(self, where: str) -> ValueError:
        said = "UTF-8" if self._dialect.is_utf8 else self._dialect.encoding
        cure = "--encoding says which one it is"
        return self._wrong(f"be {said}", f"other bytes in {where}: {cure}")

    def _texts(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        blocks = self._blocks()
        parsed = abreast(lambda block: self._rows(block, columns), blocks)
        with contextlib.closing(blocks), contextlib.closing(parsed):
            yield from chain.from_iterable(parsed)

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

    def _typed(self, texts: Cells, name: str, done: int) -> Cells:
        """Return a column of strings as its kind; ``done`` rows were before."""
        kind = self._kinds.get(name, "text")
        return csv_numbers.typed(texts, kind, name, done, self._dialect.decimal)

    def about(self) -> int:
        # A row is hardly shorter than two bytes per column.
        return self._size // (2 * len(self._names))

    def share(self) -> float:
        return min(1.0, self._place / self._size) if self._size else 1.0

    def close(self) -> None:
        """Nothing: the file is only open while it is read."""


def _text(line: bytes) -> str | None:
    with contextlib.suppress(UnicodeError):
        return line.decode()
    return None


def _decoded(decoder: codecs.IncrementalDecoder, found: bytes) -> bytes | None:
    """Return bytes of another encoding in UTF-8; None if they cannot be read at all."""
    with contextlib.suppress(UnicodeError):
        return decoder.decode(found, final=not found).encode("utf-8", "surrogatepass")
    return None


def _lines(rows: bytes, *, empty: bool) -> int:
    """Count lines that are rows; a line that is ``empty`` may be one."""
    rows = _plain_ends(rows)
    while not empty and b"\n\n" in rows:
        rows = rows.replace(b"\n\n", b"\n")
    return rows.count(b"\n") - (not empty and rows.startswith(b"\n"))


def _plain_ends(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


class CsvSink(Sink):
    """A new CSV file in UTF-8, with a header."""

    def __init__(
        self, file: Path | IO[bytes], schema: pa.Schema, dialect: Dialect | None = None
    ) -> None:
        self._dialect = Dialect() if dialect is None else dialect
        self._file = file.open("wb") if isinstance(file, Path) else file
        self.write(pa.record_batch({name: [name] for name in distinct(schema.names)}))

    def write(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        named = zip(batch.schema.names, batch.columns, strict=True)
        fields = [_field(name, column, self._dialect) for name, column in named]
        end = pa.scalar("\n", pa.large_string())
        mark = pa.scalar(self._dialect.mark, pa.large_string())
        none = pa.array([""], pa.large_string())[0]
        joined = pc.binary_join_element_wise(*fields, mark) if len(fields) > 1 else fields[0]
        self._file.write(all_of(pc.binary_join_element_wise(joined, none, end)))

    def close(self) -> None:
        self._file.close()


def all_of(lines: pa.LargeStringArray) -> memoryview:
    """Return strings without missing ones as they are in memory, one after the other."""
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, np.int64)[lines.offset :][: len(lines) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])]


def _field(name: str, column: Cells, dialect: Dialect) -> Cells:
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
        if pc.any(pc.match_substring_regex(texts, "[\r\n]")).as_py():
            got = "one: write a .parquet file, or recode the column"
            raise Refused("", "hold no line ends for a CSV file", got, column=name)
        mark = pa.scalar('"', pa.large_string())
        none = pa.scalar("", pa.large_string())
        doubled = pc.replace_substring(texts, '"', '""')
        texts = pc.if_else(quoted, pc.binary_join_element_wise(mark, doubled, mark, none), texts)
    return texts.fill_null("")
