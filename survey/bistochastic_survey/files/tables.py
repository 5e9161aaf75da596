"""Tables in files: a source is read in record batches, and a sink is written a batch at a time."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa

from bistochastic.errors import OutOfMemoryError, Refused
from bistochastic_survey.table.frames import distinct
from bistochastic_survey.table.schemas import SchemaColumn, columns_of


class Source:
    """A table in a file: of one that states the types of its columns and the number of its rows."""

    rows: int | None
    """How many there are, if the file says so."""

    def __init__(self, name: str, file: pa.NativeFile, schema: pa.Schema, rows: int) -> None:
        distinct(schema.names)
        self._name, self._file, self._read = name, file, 0
        self.schema, self.rows = schema, rows

    def _each(self, columns: list[str] | None) -> Iterable[pa.RecordBatch]:
        raise NotImplementedError

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Give record batches of all columns, or of only these, as often as asked for."""
        self._read = 0
        with said(self._name):
            for batch in self._each(columns):
                self._read += batch.num_rows
                yield batch

    def decide(self, columns: Collection[str]) -> None:
        """Find out which of these columns hold numbers, if the file does not say so."""

    def table(self, columns: list[str], texts: Collection[str] = ()) -> pa.Table:
        """Read whole columns; those in ``texts`` stay strings, even if they look like numbers."""
        schema = pa.schema([self.schema.field(name) for name in columns])
        return pa.Table.from_batches(self.batches(columns), schema)

    def described(self) -> list[SchemaColumn]:
        """List the columns, with the labels and the missing codes that the file declares."""
        return columns_of(self.schema)

    def replaced(self, types: Mapping[str, pa.DataType]) -> None:
        """Read these columns from now on as empty, of these types: other values replace them."""

    def about(self) -> int:
        """About how many rows there are, rather more than less."""
        return self.rows or 0

    def share(self) -> float:
        """Return the fraction of the file that the latest reading has covered, from 0 to 1."""
        return self._read / self.rows if self.rows else 1.0

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


class Sink:
    """A file that a table is written to."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Add a record batch, or a table."""
        raise NotImplementedError

    def note(self, notes: Mapping[str, str]) -> None:
        """Add notes to the metadata, if the format has any."""

    def close(self) -> None:
        """Write what is left; the file is then whole."""
        raise NotImplementedError


@contextmanager
def said(name: str) -> Iterator[None]:
    """Raise our own error for a broken file: pyarrow's message may quote the file."""
    try:
        yield
    except MemoryError:
        # Also a small file that says that it is large.
        raise OutOfMemoryError(name, "fit in memory", "a larger one") from None
    except (pa.ArrowInvalid, pa.ArrowKeyError, pa.ArrowIndexError, UnicodeDecodeError):
        raise Refused(name, "be a file of its kind", "a broken one") from None
    except pa.ArrowNotImplementedError:
        raise Refused(name, "hold types that pyarrow can read here", "one that it cannot") from None
    except OSError as error:
        reason = error.strerror or "one that cannot be read"
        raise Refused(name, "be a file to read", reason) from None
