"""CSV files: strings in, strings out, quoted only if needed.

An empty field is missing, and is written like that. An empty text is written as ``""``. A line end
inside a field is rejected unless the dialect admits some, and so is a quote that does not end:
either may have swallowed rows.
"""

from __future__ import annotations

import contextlib
import io
import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from bistochastic.adapters import csv_numbers
from bistochastic.adapters.arrow_cells import flags, is_string, spelled_out
from bistochastic.adapters.csv_bytes import CsvBytes
from bistochastic.adapters.csv_dialect import Dialect
from bistochastic.adapters.frames import distinct
from bistochastic.adapters.table_files import Sink, Source
from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from bistochastic.adapters.arrow_cells import Cells
    from bistochastic.adapters.table_files import Typed

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
        self._names = distinct(self._header())
        self._size = path.stat().st_size
        self._bytes: CsvBytes | None = None
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
        """Return the names in the first line, as pyarrow reads them."""
        given = CsvBytes(self._path, self._dialect)
        try:
            line = given.header()
            if line is not None:
                line.decode()
        except UnicodeError:
            where = "the header" if self._dialect.is_utf8 else None
            raise self._undecodable(where, given) from None
        finally:
            given.close()
        if line is None:
            raise self._wrong("have a header", "none")
        # A row that a quote without an end would swallow.
        rows = io.BytesIO(b"\n".join([line, given.mark.encode(), b""]))
        parse = arrow_csv.ParseOptions(
            delimiter=self._dialect.mark, invalid_row_handler=lambda _row: "skip"
        )
        try:
            with arrow_csv.open_csv(rows, parse_options=parse) as reader:
                names: list[str] = reader.schema.names
        except pa.ArrowInvalid:
            # There is no row.
            names = [given.mark]
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
                assert given is not None
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
            raise self._undecodable(None, self._bytes) from None
        except pa.ArrowInvalid as error:
            # The message of pyarrow quotes the row.
            text = str(error)
        else:
            # The header and the added row are lines, too.
            if given.wrong is not None:
                raise self._undecodable(None, given)
            if ended and given.stray is not None:
                must = "double quotes inside fields, as fields have line ends"
                raise self._wrong(must, f"a single one in line {given.stray}")
            if ended and (admits or given.lines == done + 2):
                return
            text = ""
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
            raise self._undecodable(where, None)
        if "straddl" in text:
            must = f"have rows of at most {_BLOCK >> 20} MiB"
            raise self._wrong(must, f"a longer one in {where}")
        raise self._wrong("be CSV", f"something else in {where}")

    def _wrong(self, must: str, got: str) -> ValueError:
        return ValueError(f"`{self._name}` must {must}; got {got}")

    def _undecodable(self, where: str | None, given: CsvBytes | None) -> ValueError:
        """Return a sentence about bytes of another encoding."""
        if where is None and given is not None:
            where = f"byte {given.wrong}"
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
                assert self._bytes is not None
                long.append((row.number - 2, None, self._bytes.mark in row.text, ends))
            return "skip"

        found = None
        try:
            with self._opened(self._names, threads=False, block=block, ragged=skip) as reader:
                assert self._bytes is not None
                mark = self._bytes.mark
                for batch in reader:
                    found = self._first(batch, mark)
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
        if self._bytes is None or self._bytes.closed or not self._size:
            return 1.0
        return min(1.0, self._bytes.place / self._size)

    def close(self) -> None:
        """Close the file, once no pyarrow thread reads ahead in it.

        Such a thread needs the interpreter. At its end pyarrow would wait for the thread for ever.
        """
        reader, self._reader = self._reader, None
        if reader is not None and self._bytes is not None:
            self._bytes.stop()
            with contextlib.suppress(pa.ArrowInvalid, OSError, UnicodeError, ValueError):
                for _batch in reader:
                    pass
            reader.close()
        if self._bytes is not None:
            self._bytes.close()


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
