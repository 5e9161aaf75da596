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

# Chunks of an Arrow column that are shorter on average are put together first.
_SHORT = 1 << 14


def column_of(given: Any) -> pa.ChunkedArray | None:
    """Read a column of strings or bytes as a chunked array; None if it holds anything else."""
    try:
        if hasattr(given, "to_arrow"):
            found = given.to_arrow()
        else:
            known = isinstance(given, pa.Array | pa.ChunkedArray)
            found = given if known else pa.array(getattr(given, "array", given))
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError):
        # Categories of several kinds, say, which are read one by one.
        return None
    if isinstance(found, pa.Array):
        found = pa.chunked_array([found], found.type)
    if not isinstance(found, pa.ChunkedArray):
        return None
    values = value_type(found.type)
    if not (is_string(values) or is_bytes(values)):
        return None
    if pa.types.is_dictionary(found.type):
        if any(c.dictionary.null_count or len(c.dictionary) > len(c) for c in found.chunks):
            # A dictionary with nulls, or longer than its rows, is spelled out.
            found = found.cast(values)
    elif found.num_chunks > 1 and len(found) < found.num_chunks * _SHORT:
        found = found.combine_chunks()
        return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])
    return found


def ids_of(column: pa.ChunkedArray) -> _core.SpelledIds:
    """Read the ids of a column of :func:`column_of`, of which none is missing."""
    parts = [_part(chunk) for chunk in column.chunks if len(chunk)]
    return _core.spelled_ids(is_string(value_type(column.type)), parts)


def _part(chunk: pa.Array) -> tuple[Any, ...]:
    """Say how an array lies in its buffers, as the core reads it."""
    kind, first, count = chunk.type, chunk.offset, len(chunk)
    if pa.types.is_dictionary(kind):
        indices = chunk.indices.to_numpy(zero_copy_only=False)
        return "entries", _part(chunk.dictionary), np.require(indices, np.int64, ["C", "A"])
    buffers = chunk.buffers()
    if pa.types.is_fixed_size_binary(kind):
        width = kind.byte_width
        data = memory(buffers[1], "u1")[width * first : width * (first + count)]
        return "fixed", width, count, data
    if kind in (pa.string_view(), pa.binary_view()):
        views = memory(buffers[1], "u1")[16 * first : 16 * (first + count)]
        return "views", views, [memory(buffer, "u1") for buffer in buffers[2:]]
    wide = kind in (pa.large_string(), pa.large_binary())
    offsets = memory(buffers[1], "i8" if wide else "i4")[first : first + count + 1]
    return "offsets", offsets, memory(buffers[2], "u1")
