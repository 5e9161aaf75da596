"""``bistochastic protect - -``: the rows of a pipe, protected a batch at a time.

CSV is read and written as in files. NDJSON has a JSON object in every line, all with the names of
the first. Cells are strings, numbers, booleans or null. Unprotected ones pass as they are spelled.
"""

import codecs
import contextlib
import hashlib
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from bistochastic.errors import Refused
from bistochastic_survey.files.atomic import Whole
from bistochastic_survey.files.csv_dialect import Dialect
from bistochastic_survey.files.csv_file import CsvSink, CsvSource, all_of
from bistochastic_survey.files.csv_numbers import TYPES, typed
from bistochastic_survey.files.protect import id_kinds, kinds
from bistochastic_survey.files.tables import Sink, Source
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.release.certificate import Certificate
from bistochastic_survey.release.protect import Stream
from bistochastic_survey.release.run import Options
from bistochastic_survey.table.arrow_cells import spelled_out

# Lines that are read together, the bytes of one, and the digits of an integer that is read.
_ROWS, _LONGEST, _DIGITS = 1 << 14, 1 << 20, 20


def protect_pipe(
    plan: Plan,
    read: IO[bytes],
    write: IO[bytes],
    certificate: Path,
    options: Options,
    *,
    form: Literal["csv", "ndjson"] = "csv",
    dialect: Dialect | None = None,
) -> Certificate:
    """Protect rows as they come. The certificate has the SHA-256 of what was written, as ``-``."""
    if options.shuffle:
        raise Refused("shuffle", "be left out in a pipe, whose rows are never all there", "it")
    if form == "ndjson" and dialect not in (None, Dialect()):
        must = "be csv with a separator, an encoding or a decimal mark of its own"
        raise Refused("format", must, form)
    if plan._numeric:
        must = "not be numeric in a pipe, as numbers are permuted among all records"
        raise Refused("", must, "a numeric one: use files", column=plan._numeric[0].column)
    known, ids = kinds(plan), id_kinds(plan, options)
    source: Source
    if form == "csv":
        source = CsvSource(read, "in", {**ids, **known}, dialect)
    else:
        source = NdjsonSource(read, known, ids, plan)
    out: Any = _Hashed(write)
    with Whole(certificate, "certificate", follow=False) as beside:
        stream = Stream(plan, source.schema, options)
        # In this thread, so that Ctrl-C ends the wait for a line.
        made = chain.from_iterable(map(stream.drawn, stream.pieces(source.batches())))
        # Nothing is written before the first rows are protected.
        first = list(islice(made, 1))
        sink = CsvSink(out, stream.schema, dialect) if form == "csv" else NdjsonSink(out)
        for batch in chain(first, made):
            sink.write(batch)
        write.flush()
        stream.close()
        digest = {"-": out.digest.hexdigest()}
        found = replace(stream.certificate, declared_categories=(), files=digest)
        part = beside.new("certificate")
        part.write_text(found.to_json() + "\n", encoding="utf-8")
        beside.rename(part)
    return found


class _Hashed:
    """A file that is written, and the SHA-256 of all of it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.digest = file, hashlib.sha256()

    def write(self, data: Any) -> None:
        self.digest.update(data)
        self._file.write(data)


class _Spelled(str):
    """A number as it is spelled: with a point, an exponent or many digits."""

    __slots__ = ()


# What the columns of a plan hold, and the types of JSON for it; all others, any cell.
_HOLDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "text": ("strings", (str,)), "date": ('days such as "2026-01-31"', (str,)),
    "integer": ("integers of 64 bits", (int,)), "boolean": ("booleans", (bool,)),
    "float": ("numbers", (int, _Spelled)),
}  # fmt: skip
_CELLS = "strings, numbers, booleans or null", (str, int, _Spelled, bool)


class NdjsonSource(Source):
    """Lines of JSON. A column that has no kind is read as the bytes that spell its cells."""

    rows: int | None = None

    def __init__(
        self, file: IO[bytes], known: Mapping[str, str], ids: Mapping[str, str], plan: Plan
    ) -> None:
        lines = iter(lambda: file.readline(_LONGEST + 1), b"")
        self._rows = _read(line for line in lines if line.strip())
        first = next(self._rows, None)
        if first is None:
            raise Refused("in", "hold a row, which names the columns", "none")
        self._rows = chain([first], self._rows)
        # Without a type in the plan, ids are of the type that they have, as in a table.
        own = {name: "integer" for name in ids if type(first.get(name)) is int}
        self._kinds = {**ids, **({} if plan.id_type else own), **known}
        types = {name: TYPES.get(kind, pa.string()) for name, kind in self._kinds.items()}
        self.schema = pa.schema({name: types.get(name, pa.binary()) for name in first})

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        done = 0
        while rows := list(islice(self._rows, _ROWS)):
            names = self.schema.names
            arrays = [self._cells(name, [row[name] for row in rows], done) for name in names]
            yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)
            done += len(rows)

    def _cells(self, name: str, values: list[Any], done: int) -> pa.Array:
        """Return a column of some rows; ``done`` rows were before."""
        kind = self._kinds.get(name, "")
        hold, types = _HOLDS.get(kind, _CELLS)
        for row, value in enumerate(values, done):
            if value is None or (type(value) in types and _fits(value, kind)):
                continue
            raise Refused("", f"hold {hold}", f"another value in row {row}", column=name)
        if kind == "float":
            values = [None if value is None else float(value) for value in values]
        if not kind:
            return pa.array([_spell(value).encode() for value in values])
        own = pa.array(values, pa.string() if kind == "date" else TYPES.get(kind, pa.string()))
        return typed(own, kind, name, done) if kind == "date" else own


def _read(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    names: Collection[str] = ()
    for row, line in enumerate(lines):
        found = _parsed(line.removeprefix(b"" if row else codecs.BOM_UTF8))
        if found is None:
            size = f"at most {_LONGEST >> 20} MiB"
            must = f"hold a JSON object of {size} in every line, no name twice in it"
            raise Refused("in", must, f"something else in row {row}")
        names = names or found.keys()
        if found.keys() != names:
            must = "have the names of the first row in every row"
            raise Refused("in", must, f"others in row {row}")
        yield found


def _parsed(line: bytes) -> dict[str, Any] | None:
    """Parse a line; None if it is no object of JSON. Messages of the parser may quote it."""
    with contextlib.suppress(ValueError, RecursionError):
        if len(line) > _LONGEST:
            return None
        found = json.loads(
            line.decode(), object_pairs_hook=_once, parse_constant=_once, parse_float=_Spelled,
            parse_int=lambda digits: int(digits) if len(digits) <= _DIGITS else _Spelled(digits),
        )  # fmt: skip
        if b"\\u" in line:
            # Half of a pair of surrogates is no text.
            json.dumps(found, ensure_ascii=False).encode()
        return found if isinstance(found, dict) else None
    return None


def _once(pairs: Any) -> dict[str, Any]:
    """Return an object whose names are different; the name of a NaN is a ``ValueError``, too."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _fits(value: Any, kind: str) -> bool:
    """Whether a number is one of the type of its column."""
    if kind == "float":
        return math.isfinite(float(value))
    return kind != "integer" or -(1 << 63) <= value < 1 << 63


def _spell(value: object) -> str:
    return value if isinstance(value, _Spelled) else json.dumps(value)


class NdjsonSink(Sink):
    """Lines of JSON; columns of bytes are the spelling of their cells."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, batch: pa.RecordBatch) -> None:
        parts: list[Any] = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            parts += [f"{', ' if parts else '{'}{json.dumps(name)}: ", _spelled(column)]
        large = pa.large_string()
        fields = [pa.scalar(each, large) if isinstance(each, str) else each for each in parts]
        ends = pa.scalar("}\n", large), pa.scalar("", large)
        self._file.write(all_of(pc.binary_join_element_wise(*fields, *ends)))


def _spelled(column: pa.Array) -> pa.LargeStringArray:
    if pa.types.is_binary(column.type):
        return column.cast(pa.large_string())
    listed = spelled_out(column).dictionary_encode()
    words = [json.dumps(value, default=str) for value in listed.dictionary.to_pylist()]
    return pa.array(words, pa.large_string()).take(listed.indices).fill_null("null")
