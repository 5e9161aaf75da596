"""``Batched``: a table that may be larger than memory, as an open file is."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


class Batched:
    """A table that is read in record batches, as often as it is asked for."""

    schema: pa.Schema

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Give record batches of all columns, or of only these."""
        raise NotImplementedError

    def table(self, columns: list[str], texts: Collection[str] = ()) -> pa.Table:
        """Read whole columns; those in ``texts`` stay strings, even if they look like numbers."""
        raise NotImplementedError
