"""``CsvBytes``: the bytes of a CSV file as pyarrow reads them, in UTF-8, with lines counted.

A row of random marks is added behind the last one. If pyarrow gives it back, every quote of the
file has ended. If there are as many rows as lines, no field holds a line end.
"""

from __future__ import annotations

import codecs
import secrets
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from bistochastic.adapters.csv_dialect import Dialect

_PIECE = 1 << 16
# No header is longer.
_HEADER = 1 << 26
_BOM = codecs.BOM_UTF8


class CsvBytes:
    """A file to be read once. ``fields`` is the number of its columns, 0 for only the header."""

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
