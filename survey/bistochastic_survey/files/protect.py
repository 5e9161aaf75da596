"""From a file to a protected file, in record batches.

Categorical and joint columns are read, drawn and written a few batches at a time, in three threads,
so memory does not grow with the file. A numeric column is read whole first, since it is permuted
among all rows. With a shuffle, protected rows are scattered over files next to the output and read
back in a random order.

The output and its certificate appear when both are complete. Before that the old certificate is
removed, so no certificate is ever next to a file that it does not describe. All three steps are
under one lock, so two runs at the same time do not mix.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from bistochastic import uniform
from bistochastic.errors import Refused
from bistochastic_survey.files import formats
from bistochastic_survey.files.atomic import Whole, locked, room
from bistochastic_survey.files.csv_dialect import Dialect
from bistochastic_survey.files.earlier_draws import ENDING
from bistochastic_survey.files.formats import created, ending, open_source
from bistochastic_survey.files.tables import Sink, Source
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.release.certificate import Certificate
from bistochastic_survey.release.columns import NumericValues
from bistochastic_survey.release.protect import Stream, abreast, ahead, permuted
from bistochastic_survey.release.release import notes
from bistochastic_survey.release.run import Options
from bistochastic_survey.table.frames import opened as as_table

# Rows of a file, about: these are in memory at once.
ROWS = 1 << 19
# Files that are open at once, at most.
MOST_FILES = 256


def protect_file(
    plan: Plan,
    source: Path,
    outs: Path | Sequence[Path],
    certificate: Path,
    options: Options,
    *,
    dialect: Dialect | None = None,
    progress: Callable[[str, float | None], None] = lambda _what, _share: None,
) -> Certificate:
    """Protect a file; ``progress`` receives the step and the fraction of it that is done.

    All of ``outs`` hold the same draw, each in the format of its ending. ``dialect`` is the dialect
    of the CSV files that are read and written.
    """
    listed = [outs] if isinstance(outs, Path) else list(outs)
    forms = [ending(out, "out") for out in listed]
    # Bytes that are not Unicode are escaped.
    names = [out.name.encode("utf-8", "backslashreplace").decode() for out in listed]
    if len({*names}) < len(names) or len({*map(os.path.realpath, listed)}) < len(names):
        raise Refused("out", "be files of different names", "one twice")
    # A protected column goes from places to places. Only a CSV file has to spell them out.
    places = [column for column, kind in kinds(plan).items() if kind == "text"]
    placed = places if {*forms} == {".parquet"} else ()
    table = open_source(source, "in", {**id_kinds(plan, options), **kinds(plan)}, placed, dialect)
    try:
        if {*forms} != {".csv"}:
            leaving = options.layout(plan, list(table.schema.names))
            table.decide([name for name in leaving if name in table.schema.names])
        numbers = _permuted(plan, table, options, progress)
        with contextlib.ExitStack() as stack:
            wholes = [stack.enter_context(Whole(out, "out")) for out in listed]
            beside = stack.enter_context(Whole(certificate, "certificate", follow=False))
            parts = [whole.new("table") for whole in wholes]
            files = dict(zip(parts, forms, strict=True))
            found = _write(plan, table, options, numbers, wholes[0], files, dialect, progress)
            said = beside.new("certificate")
            try:
                found = replace(found, files=dict(zip(names, map(digest, parts), strict=True)))
                said.write_text(found.to_json() + "\n", encoding="utf-8")
                with locked(*wholes, beside):
                    beside.target.unlink(missing_ok=True)
                    for whole, part in zip(wholes, parts, strict=True):
                        # An earlier run may have written this file first.
                        old = whole.target.with_name(whole.target.name + ENDING)
                        old.unlink(missing_ok=True)
                        whole.rename(part)
                    beside.rename(said)
            except OSError as error:
                raise room("out", error) from None
            return found
    finally:
        table.close()


def digest(part: Path) -> str:
    """Find the SHA-256 of a file."""
    with part.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def kinds(plan: Plan, *, released: bool = False) -> dict[str, str]:
    """List the types of the columns of a CSV file that the plan knows, original or released."""
    found: dict[str, str] = {}
    for attribute in plan.attributes:
        found |= attribute._holds(released)
        if attribute.groups is not None:
            found[attribute.groups.column] = attribute.groups.labels.kind
    return found


def id_kinds(plan: Plan, options: Options) -> dict[str, str]:
    """List the types of the columns of ids in a CSV file."""
    found = dict.fromkeys(options.units(plan), "text")
    if options.wave is not None:
        found[options.wave.column] = "integer" if plan.id_type == "integer" else "text"
    return found


def _permuted(
    plan: Plan, table: Source, options: Options, progress: Callable[[str, float | None], None]
) -> dict[str, NumericValues]:
    numeric = {a.column: a for a in plan._numeric}
    if not numeric:
        return {}
    # Before the file is read for it, as a column may be missing.
    options.layout(plan, list(table.schema.names))
    grouping = list(dict.fromkeys(a.within for a in numeric.values() if a.within is not None))
    # Before numbers are read, as these then leave out what they hold.
    by = as_table(table.table(grouping, grouping)) if grouping else None
    read = formats.read_numbers(table, list(numeric), lambda share: progress("reading", share))
    found = {}
    for column, attribute in numeric.items():
        progress(f"permuting {column}", None)
        values = attribute._read(read.pop(column), by)
        found[column] = permuted(plan, options, column, values)
        del values
    return found


def _write(
    plan: Plan,
    table: Source,
    options: Options,
    numbers: dict[str, NumericValues],
    whole: Whole,
    files: dict[Path, str],
    dialect: Dialect | None,
    progress: Callable[[str, float | None], None],
) -> Certificate:
    """Protect all rows into all parts; a full disk raises an error of one sentence."""
    placed = ".parquet" in files.values()
    stream = Stream(plan, table.schema, options, numbers=numbers, places=placed)
    scatter: Scatter | None = None
    sinks: list[Sink] = []

    def write(batch: pa.RecordBatch) -> None:
        for sink in sinks:
            sink.write(batch)

    if options.shuffle:
        scatter = Scatter(whole.new, stream.schema, table.about())
    try:
        for part, form in files.items():
            sinks.append(created(part, form, stream.schema, plan._protected, dialect))
        first = write if scatter is None else scatter.write
        # Codes are read ahead, too, so nothing but draws is done between two of them.
        pieces = ahead(stream.pieces(table.batches()))
        with contextlib.closing(abreast(stream.drawn, pieces)) as drawn:
            for _done in abreast(first, chain.from_iterable(drawn), threads=1):
                progress("protecting", table.share())
        stream.close()
        if scatter is not None:
            progress("shuffling", None)
            for ready in scatter.batches():
                write(ready)
        # A file holds only cells: no type in it lists categories.
        found = replace(stream.certificate, declared_categories=())
        for sink in sinks:
            sink.note(notes(found))
            sink.close()
    except OSError as error:
        raise room("out", error) from None
    finally:
        for each in (scatter, *sinks):
            # After an error, writing the last bytes of a discarded file may fail, too.
            with contextlib.suppress(Exception):
                if each is not None:
                    each.close()
    return found


class Scatter:
    """Any number of rows in a random order: scattered over files, which are read back one by one.

    Each row goes to a random file, and each file is put in a random order in memory. Over all files
    that is a uniformly random order: the rows of a file and their order in it do not depend on the
    original order. The draws use new keys that are discarded. Files hold protected rows, and are
    readable only by their owner.
    """

    def __init__(self, new: Callable[[str], Path], schema: pa.Schema, rows: int) -> None:
        count = max(1, min(MOST_FILES, -(-rows // ROWS)))
        self._paths = [new(f"rows-{i}") for i in range(count)]
        self._files = [pa.OSFile(str(path), "wb") for path in self._paths]
        # A column of categories may have other ones in every batch, which a stream allows.
        self._writers = [pa.ipc.new_stream(file, schema) for file in self._files]

    def write(self, batch: pa.RecordBatch) -> None:
        """Write each row to a random file."""
        count = len(self._paths)
        drawn = uniform(count).randomize(np.zeros(batch.num_rows, np.uint16))
        batch = batch.take(np.argsort(drawn, kind="stable"))
        ends = np.cumsum(np.bincount(drawn, minlength=count)).tolist()
        start = 0
        for writer, end in zip(self._writers, ends, strict=True):
            if end > start:
                writer.write_batch(batch.slice(start, end - start))
            start = end

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Give all rows in a random order; each file goes once it is read."""
        for writer, file in zip(self._writers, self._files, strict=True):
            writer.close()
            file.close()
        for path in self._paths:
            with pa.OSFile(str(path)) as file:
                table = pa.ipc.open_stream(file).read_all()
            path.unlink()
            if table.num_rows:
                order = uniform(table.num_rows).sample_permutation()
                yield from table.take(order).combine_chunks().to_batches()

    def close(self) -> None:
        """Close the files, also after an error."""
        for file in self._files:
            file.close()
