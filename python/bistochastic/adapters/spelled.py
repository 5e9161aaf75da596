"""Ids that are strings or bytes, read from the buffers of Arrow, pandas and polars.

No Python object is made per record; pyarrow says where the buffers are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from bistochastic import _core
from bistochastic.adapters.arrow_cells import is_bytes, is_string, memory, nulls, value_type

__all__ = ["column_of", "ids_of", "nulls"]


def column_of(given: Any) -> pa.ChunkedArray | None:
    """Read a column of strings or bytes as a chunked array; None if it holds anything else."""
    try:
        if hasattr(given, "to_arrow"):
            found = given.to_arrow()
        else:
            known = isinstance(given, pa.Array | pa.ChunkedArray)
            found = given if known else pa.array(getattr(given, "array", given))
        if isinstance(found, pa.Array):
            found = pa.chunked_array([found], found.type)
        if not isinstance(found, pa.ChunkedArray):
            return None
        values = value_type(found.type)
        if not (is_string(values) or is_bytes(values)):
            return None
        if pa.types.is_dictionary(found.type):
            found = found.cast(values)
        # The one layout that the core reads.
        return found.cast(pa.large_string() if is_string(values) else pa.large_binary())
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError):
        # Categories of several kinds, for example, which are read one by one.
        return None


def ids_of(column: pa.ChunkedArray) -> _core.SpelledIds:
    """Read the ids of a column of :func:`column_of`, of which none is missing."""
    return _core.spelled_ids(is_string(column.type), [_part(chunk) for chunk in column.chunks])


def _part(chunk: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Get the offsets and the data of an array."""
    _, offsets, data = chunk.buffers()
    first = chunk.offset
    return memory(offsets, "i8")[first : first + len(chunk) + 1], memory(data, "u1")
