"""Ids that are texts or bytes, read from the buffers of Arrow, pandas and polars.

No object of Python's is made per record. pyarrow says where the buffers are; without it, and for
columns of anything else, ids are read one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

# Types of columns that may hold texts or bytes.
_PANDAS = ("ArrowDtype", "CategoricalDtype")
_POLARS = ("String", "Binary", "Categorical", "Enum")


def spelled(name: str, given: object) -> _core.SpelledIds | None:
    """The texts or bytes of a column; None of any other.

    >>> import pyarrow as pa
    >>> spelled("ids", pa.array(["a", "b"])).tolist()
    ['a', 'b']
    >>> spelled("ids", pa.array([1, 2])) is None
    True
    >>> spelled("ids", pa.array(["a", None]))
    Traceback (most recent call last):
        ...
    ValueError: `ids` must hold no missing values; got 1, the first at position 1
    """
    column = column_of(given)
    if column is None:
        return None
    missing = nulls(column)
    if missing is not None:
        got = f"{int(missing.sum())}, the first at position {int(missing.argmax())}"
        raise ValueError(f"`{name}` must hold no missing values; got {got}")
    return of_column(column)


def column_of(given: object) -> Any:
    """A column of texts or bytes as a chunked array of pyarrow; None of anything else."""
    make = _maker(given)
    if make is None:
        return None
    try:
        import pyarrow as pa
    except ImportError:
        return None
    try:
        found = make(pa)
        if isinstance(found, pa.Array):
            found = pa.chunked_array([found], found.type)
        is_spelled = isinstance(found, pa.ChunkedArray) and _is_spelled(found.type)
        return _plain(found) if is_spelled else None
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError):
        # Categories of several kinds, for example, which are read one by one.
        return None


def _maker(given: Any) -> Callable[[Any], Any] | None:
    """How pyarrow has a column that may hold texts or bytes; None where it does not, or may not."""
    kind = type(given)
    library = kind.__module__.partition(".")[0]
    dtype = getattr(given, "dtype", None)
    if library == "pyarrow":
        return lambda pa: given
    if library == "pandas":
        is_arrow = type(dtype).__name__ in _PANDAS or getattr(dtype, "storage", "") == "pyarrow"
        return (lambda pa: pa.array(getattr(given, "array", given))) if is_arrow else None
    if library == "polars":
        is_text = kind.__name__ == "Series" and str(dtype).partition("(")[0] in _POLARS
        return (lambda pa: given.to_arrow()) if is_text else None
    if hasattr(kind, "__arrow_c_array__") and not hasattr(kind, "__array__"):
        return lambda pa: pa.array(given)
    return None


def nulls(column: pa.ChunkedArray) -> np.ndarray | None:
    """Which ids of a column are missing; None where none is."""
    if not column.null_count:
        return None
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=bool)


def of_column(column: pa.ChunkedArray) -> _core.SpelledIds:
    """Read the ids of a column of :func:`column_of`, of which none is missing."""
    return _core.spelled_ids(_is_text(column.type), [_piece(chunk) for chunk in column.chunks])


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    is_view = getattr(pa.types, "is_string_view", lambda _: False)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or is_view(kind))


def _is_spelled(kind: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_view = getattr(pa.types, "is_binary_view", lambda _: False)
    is_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or is_view(kind)
    return bool(_is_text(kind) or is_bytes or pa.types.is_fixed_size_binary(kind))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Lay the ids out one behind the other, with offsets of eight bytes."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    return column.cast(pa.large_string() if _is_text(kind) else pa.large_binary())


def _piece(chunk: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Get the offsets and the data of an array."""
    _, offsets, data = chunk.buffers()
    first = chunk.offset
    return _numbers(offsets, np.int64)[first : first + len(chunk) + 1], _numbers(data, np.uint8)


def _numbers(buffer: pa.Buffer | None, kind: type[np.integer]) -> np.ndarray:
    """A buffer as an array. What came from another process may lie at an odd address."""
    if buffer is None or buffer.size < np.dtype(kind).itemsize:
        return np.empty(0, kind)
    whole = buffer.size // np.dtype(kind).itemsize
    return np.require(np.frombuffer(buffer, kind, whole), requirements=["A"])
