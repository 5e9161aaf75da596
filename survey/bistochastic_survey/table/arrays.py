"""NumPy arrays: types of codes, missing values, and new arrays made of the cells of others."""

import contextlib
from collections.abc import Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bistochastic_survey.table.frames import Mask


@cache
def narrow(size: int) -> np.dtype:
    """Return the narrowest unsigned integer type for this many codes."""
    return np.min_scalar_type(max(size - 1, 0))


def solid(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the same numbers of this type, one after the other in memory; most are so already."""
    flags = values.flags
    if values.dtype == dtype and flags.c_contiguous and flags.aligned:
        return values
    return np.require(values, dtype=dtype, requirements=["C", "A"])


def recoded(values: np.ndarray, size: int, dtype: np.dtype) -> np.ndarray | None:
    """Convert integers to an unsigned type; None if one is not from 0 to below ``size``.

    The result is the caller's own memory if the type has the same width.
    """
    values = solid(values, values.dtype.newbyteorder("="))
    # As unsigned, a negative number is larger than all that its type counts.
    plain = values.view(f"u{values.dtype.itemsize}")
    most = min(size - 1, int(np.iinfo(values.dtype).max))
    return None if len(plain) and int(plain.max()) > most else plain.astype(dtype, copy=False)


def words(values: np.ndarray) -> tuple[str, NDArray[np.uint64]]:
    """Convert numbers to words of eight bytes, with their kind, the same for any width."""
    if values.dtype.kind == "f":
        return "real", np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    wide = whole(values)
    large = wide.dtype.kind == "u" and len(wide) and int(wide.max()) >= 2**63
    return "large" if large else "whole", wide.view(np.uint64)


def made(given: Any, order: np.ndarray | None = None) -> Any:
    """Return the cells of an array or a list as a new one, rows in order: the one place for NumPy.

    Values under a mask, the fill value and metadata of the type are dropped.
    """
    if isinstance(given, list | tuple):
        rows = given if order is None else [given[i] for i in order.tolist()]
        return list(rows) if isinstance(given, list) else tuple(rows)
    found = given if order is None else given[order]
    dtype = _plain_type(found.dtype)
    # Not a copy: it would include bytes between the fields of a record.
    new = np.zeros(found.shape, dtype)
    masked = isinstance(found, np.ma.MaskedArray)
    new[...] = found.filled(np.zeros((), found.dtype)[()]) if masked else np.asarray(found)
    one_nan(new)
    return np.ma.array(new, mask=np.ma.getmaskarray(found).copy()) if masked else new


def _plain_type(dtype: np.dtype) -> np.dtype:
    """Return the type without notes and without titles of fields."""
    if dtype.names is not None:
        return np.dtype([(name, _plain_type(dtype[name])) for name in dtype.names])
    if dtype.subdtype is not None:
        return np.dtype((_plain_type(dtype.subdtype[0]), dtype.shape))
    return dtype if dtype.kind in "OTV" else np.dtype(dtype.str)


def one_nan(values: np.ndarray) -> None:
    """Write every NaN in the same way: the bits of a NaN can hold something."""
    if values.dtype.kind in "fc":
        wrong = np.isnan(values)
        if wrong.any():
            values[wrong] = np.nan


_ORDERED = (str, bytes, int, float, Decimal, date, time, timedelta, np.generic)


def in_order(values: list[Any]) -> list[int]:
    """Return the places of different values from the first to the last: by type, then by value.

    Values without an order are sorted by how they are written.
    """
    kinds = [type(value).__name__ for value in values]
    places = range(len(values))
    if all(isinstance(value, _ORDERED) for value in values):
        with contextlib.suppress(TypeError):
            # NaN is not equal to itself, and comes after all numbers.
            return sorted(places, key=lambda i: (
                kinds[i], values[i] != values[i], values[i], repr(values[i])))  # fmt: skip
    return sorted(places, key=lambda i: (kinds[i], repr(values[i])))


def together(columns: Sequence[np.ndarray]) -> NDArray[np.intp]:
    """Number the combinations of codes that occur; some numbers may be of none."""
    found = np.zeros(len(columns[0]), np.intp)
    for codes in columns:
        found = found * (int(codes.max(initial=0)) + 1) + codes
        if int(found.max(initial=0)) > 4 * len(found):
            found = np.unique(found, return_inverse=True)[1].astype(np.intp)
    return found


def combinations(columns: Sequence[np.ndarray], rows: int) -> tuple[NDArray[np.intp], ...]:
    """Give one row of each combination, in their order, the place of each row, and their counts.

    >>> first, place, counts = combinations([np.array([2, 0, 2]), np.array([1, 5, 1])], 3)
    >>> first.tolist(), place.tolist(), counts.tolist()
    ([1, 0], [1, 0, 1], [1, 2])
    """
    found = together([np.zeros(rows, np.intp), *columns])
    return np.unique(found, return_index=True, return_inverse=True, return_counts=True)[1:]


def nans(values: np.ndarray, missing: Mask | None) -> Mask | None:
    """Find the rows that are missing or NaN; None if none is."""
    if values.dtype.kind == "f":
        none = np.isnan(values)
        missing = none if missing is None else missing | none
    return None if missing is None else some(missing)


def some(mask: Mask) -> Mask | None:
    """Return the mask, or None if no row is in it."""
    return mask if mask.any() else None


def whole(values: np.ndarray) -> np.ndarray:
    """Integers in eight bytes."""
    wide = np.uint64 if values.dtype.kind == "u" else np.int64
    # A buffer from a message of another process may be at an odd address.
    return solid(values, np.dtype(wide))


def id_list(values: list[object]) -> np.ndarray | list[object]:
    """Return Python ids: as an array if all are integers, which have the same addresses."""
    if set(map(type, values)) == {int}:
        with contextlib.suppress(OverflowError):
            array = np.array(values)
            return whole(array) if array.dtype.kind in "iu" else values
    return values
