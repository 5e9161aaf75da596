"""Any number of rows in a random order: scattered over files, which are read back one by one.

Each row goes to a random file, and each file is put in a random order in memory. Over all files
that is a uniformly random order: the rows of a file and their order in it do not depend on the
original order. The draws use new keys that are discarded. Files hold protected rows, and are
readable only by their owner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from bistochastic import uniform

# Rows of a file, about: these are in memory at once.
ROWS = 1 << 19
# Files that are open at once, at most.
MOST_FILES = 256


class Scatter:
    """Files that batches are scattered over."""

    def __init__(self, new: Callable[[str], Path], schema: pa.Schema, rows: int) -> None:
        count = max(1, min(MOST_FILES, -(-rows // ROWS)))
        self._paths = [new(f"rows-{i}") for i in range(count)]
        self._files = [pa.OSFile(str(path), "wb") for path in self._paths]
        # A column of categories may have other ones in every batch, which a stream allows.
        self._writers = [pa.ipc.new_stream(file, schema) for file in self._files]

    def write(self, batch: pa.RecordBatch) -> None:
        """Write each row to a random file."""
        count = len(self._paths)
        zeros = np.zeros(batch.num_rows, np.uint16)
        drawn = uniform(count).randomize(zeros)
        order = np.argsort(drawn, kind="stable")
        batch = batch.take(order)
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
