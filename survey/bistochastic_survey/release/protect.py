"""``plan.protect``: a table in, a protected table and its certificate out; and the same in batches.

In batches, memory is bounded, and the rows are those of ``protect`` for any batches of input. By
position, noise is drawn in blocks of 65,536 rows, and a shorter last block joins the one before. So
a block is drawn once a whole one follows it, and the last two wait for the end. By ids every row is
independent; batches have the same length, and do not show the batches of the input.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future
from itertools import repeat
from typing import Any, TypeVar

import pyarrow as pa

from bistochastic import uniform
from bistochastic.errors import Refused
from bistochastic_survey.plan.plan import FrameT, Plan
from bistochastic_survey.progress import Progress, watched
from bistochastic_survey.release.certificate import BLOCK, Certificate
from bistochastic_survey.release.columns import NumericValues
from bistochastic_survey.release.release import Release, noted
from bistochastic_survey.release.run import Options, Piece, Run, moved
from bistochastic_survey.table.arrow_table import Pieces, reader_of
from bistochastic_survey.table.frames import opened
from bistochastic_survey.wording import Shown

_END: Any = object()
Item = TypeVar("Item")
Made = TypeVar("Made")
# Blocks that are drawn at a time: enough for all threads, few enough for any memory.
_TOGETHER = 8


def protect(
    plan: Plan, frame: FrameT, options: Options, progress: Progress = None
) -> Release[FrameT]:
    """Protect a table: see :meth:`Plan.protect`."""
    with watched("protecting", progress) as tell:
        parts, now = sum(attribute.steps for attribute in plan.attributes), 0

        def done(more: int) -> None:
            nonlocal now
            now = min(now + more, parts)
            if tell is not None:
                tell(now / parts)

        table = opened(frame)
        rows = table.rows
        run = Run(plan, table.names, options, rows=rows, done=done)
        piece = run.read(table)
        order = uniform(rows).sample_permutation() if options.shuffle and rows else None
        data, certificate = run.drawn(piece, order), run.certificate(rows)
        found = Release(noted(data, certificate), certificate)
        done(parts)
        return found


class Stream:
    """One release, read and written in Arrow record batches.

    Give all batches to :meth:`pieces`, each piece to :meth:`drawn`, in any thread, write
    what it returns in the order of the input, and call :meth:`close` once. If an error comes after
    rows were returned, they must not be used: under a key, a part of a release is not what readers
    were promised. The writer of the rows shuffles them.

    A numeric column needs two passes. In the first, read its values and permute them by
    :func:`permuted`. In the second, pass the result as ``numbers``. With ``places``, protected
    strings come out as codes, for a Parquet file.
    """

    def __init__(
        self,
        plan: Plan,
        schema: pa.Schema,
        options: Options,
        *,
        numbers: Mapping[str, NumericValues] | None = None,
        places: bool = False,
    ) -> None:
        self._options = options
        self._held = Pieces(schema, places=places)
        self._numbers = dict(numbers or {})
        self._run = Run(
            plan, self._held.names, options, rows=_records(plan, self._numbers),
            numbers=self._numbers,
        )  # fmt: skip
        self._certificate: Certificate | None = None
        self.schema = self._run.piece(self._held.take(0)).schema
        """The schema of the output."""

    def pieces(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Piece]:
        """Read all rows as codes, each batch as soon as it can be drawn."""
        held, block = self._held, _TOGETHER * BLOCK
        for batch in batches:
            held.add(batch)
            # Whole blocks, while one more is held.
            while held.rows >= block + BLOCK:
                first = held.taken
                yield self._run.read(held.take(block), first, last=False)
        rows = held.taken + held.rows
        self._options.check_rows(self._run.plan, rows)
        for column, values in self._numbers.items():
            if len(values) != rows:
                must = f"have a number for each of {rows} rows"
                raise Refused("", must, len(values), column=column)
        if held.rows:
            first = held.taken
            yield self._run.read(held.take(held.rows), first, last=True)

    def drawn(self, piece: Piece) -> list[pa.RecordBatch]:
        """Protect a batch, as record batches; batches come in their order."""
        made: list[pa.RecordBatch] = self._run.drawn(piece).to_batches()
        return made

    def close(self) -> None:
        """Finish: all rows are drawn, and from now on there is a certificate."""
        self._certificate = self._run.certificate(self._held.taken)

    @property
    def certificate(self) -> Certificate:
        """The certificate of the release, once it is complete."""
        if self._certificate is None:
            raise Refused("certificate", "be read after all rows", "a release that goes on")
        return self._certificate


def _records(plan: Plan, numbers: Mapping[str, NumericValues]) -> int | None:
    """Count the records, if ``numbers`` has them; a numeric column without them raises an error."""
    numeric = plan._numeric
    for attribute in numeric:
        if attribute.column not in numbers:
            must = "not be numeric in batches, as numbers are permuted among all records"
            raise Refused("", must, "a numeric one: use protect", column=attribute.columns)
    for column in numbers:
        if column not in [a.column for a in numeric]:
            raise Refused("", "be numeric in the plan", "none such", column=column)
    return len(numbers[numeric[0].column]) if numeric else None


def permuted(plan: Plan, options: Options, column: str, numbers: NumericValues) -> NumericValues:
    """Permute or average a numeric column of the plan: ``numbers`` of a :class:`Stream`.

    Give the whole column, in the order of the rows, as integers or floats.
    """
    options.check_rows(plan, len(numbers))
    if plan.requirement:
        plan.for_records(len(numbers))._meet_requirement()
    [attribute] = [a for a in plan._numeric if a.column == column]
    return moved(plan, options, attribute.for_records(len(numbers)), numbers)


class ProtectedBatches(Shown):
    """A protected table in record batches, read once, and its certificate after that.

    Iterate over it, call :meth:`read_next_batch` or :meth:`read_all`, or pass it to any function
    that reads an Arrow stream. :meth:`to_reader` gives a pyarrow reader.

    >>> import bistochastic_survey as sv, pyarrow as pa
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> batches = plan.protect_batches(pa.table({"sex": ["F", "M"]}))
    >>> sum(batch.num_rows for batch in batches), batches.certificate.records
    (2, 2)
    """

    def __init__(self, stream: Stream, reader: pa.RecordBatchReader) -> None:
        self._stream = stream
        self._source = reader
        self._batches = self._drawn()

    @property
    def schema(self) -> pa.Schema:
        """The schema of the batches."""
        return self._stream.schema

    @property
    def certificate(self) -> Certificate:
        """The certificate of the release; ``ValueError`` until all of it was read."""
        return self._stream.certificate

    def _drawn(self) -> Iterator[pa.RecordBatch]:
        for piece in self._stream.pieces(self._source):
            yield from self._stream.drawn(piece)
        self._stream.close()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self._batches

    def read_next_batch(self) -> pa.RecordBatch:
        """Read the next batch; ``StopIteration`` after the last."""
        return next(self._batches)

    def to_reader(self) -> pa.RecordBatchReader:
        """Return the remaining batches as a pyarrow ``RecordBatchReader``."""
        return pa.RecordBatchReader.from_batches(self.schema, self._batches)

    def read_all(self) -> pa.Table:
        """Read the remaining batches into one table."""
        return self.to_reader().read_all()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        several = "s" * (len(self.schema.names) != 1)
        return f"<ProtectedBatches of {len(self.schema.names)} column{several}>"


def protect_batches(plan: Plan, reader: object, options: Options) -> ProtectedBatches:
    """Protect a stream of batches: see :meth:`Plan.protect_batches`."""
    source = reader_of(reader)
    return ProtectedBatches(Stream(plan, source.schema, options), source)


def abreast(do: Callable[[Item], Made], items: Iterable[Item], threads: int = 2) -> Generator[Made]:
    """Call ``do(item)`` for every item in other threads, a few ahead; give results in order.

    With one thread the calls are in order too. With two, one works while the other waits for its
    threads at the end. Errors are raised here.

    >>> list(abreast(lambda i: i * i, range(5)))
    [0, 1, 4, 9, 16]
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads, thread_name_prefix="bistochastic-batch") as pool:
        waiting: deque[Future[Made]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(do, item))
                if len(waiting) > 2:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for each in waiting:
                each.cancel()


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """Give the same items, made in another thread a few ahead.

    >>> list(ahead(range(5)))
    [0, 1, 2, 3, 4]
    """
    rest = iter(items)
    for item in abreast(lambda _: next(rest, _END), repeat(None), threads=1):
        if item is _END:
            return
        yield item
