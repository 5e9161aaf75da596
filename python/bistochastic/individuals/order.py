"""The order of records: as in the table, by rank, or as the caller says.

An order is an array of rows: ``order[i]`` is the row at place ``i``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from bistochastic import _core, arguments
from bistochastic.errors import Refused, RefusedType

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bistochastic.matrix import Matrix

    Rows = NDArray[np.int64]

Order: TypeAlias = "ArrayLike | Literal['rank'] | None"


def rows(
    matrix: Matrix, values: object, order: object, key: _core.Key | None, stream: str | None
) -> Rows | None:
    """Find the row at each place; None if rows keep their order."""
    if order is None:
        return None
    if isinstance(order, str):
        if order != "rank":
            raise Refused("order", 'be None, "rank" or rows by number', f"{order!r}")
        return by_rank(matrix, values, key, stream)
    return given(order, matrix.size)


def given(order: object, size: int) -> Rows:
    """Read row numbers, each once."""
    must = f"hold each row from 0 to {size - 1} once"
    found = arguments.array("order", must, order)
    if found.dtype.kind not in "iu" or found.ndim != 1:
        got = f"dtype {found.dtype}" if found.ndim == 1 else f"{found.ndim} axes"
        raise RefusedType("order", must, got)
    if len(found) != size:
        raise Refused("order", must, f"{len(found)} numbers")
    outside = (found < 0) | (found >= size)
    if outside.any():
        at = int(outside.argmax())
        raise Refused("order", must, f"one outside at position {at}")
    found = np.ascontiguousarray(found, dtype=np.int64)
    first = np.full(size, size)
    np.minimum.at(first, found, np.arange(size))
    again = first[found] != np.arange(size)
    if again.any():
        at = int(again.argmax())
        raise Refused("order", must, f"one twice at position {at}")
    return found


def by_rank(matrix: Matrix, values: object, key: _core.Key | None, stream: str | None) -> Rows:
    """Sort the rows from the smallest value to the largest, equal ones in random order.

    In the order of the file, neighbours with equal values would stay neighbours. So ties are
    shuffled, under a derivation label of their own.
    """
    must = "be one column of values that have an order"
    plain = arguments.array("values", must, values)
    if plain.ndim != 1:
        raise Refused("values", f'{must} for order="rank"', f"{plain.ndim} axes")
    if plain.dtype.kind not in "biufmMOSU":
        raise RefusedType("values", must, f"dtype {plain.dtype}")
    refuse_nan(plain)
    try:
        order = np.argsort(plain, kind="stable")
    except TypeError:
        raise RefusedType("values", must, "objects that have none") from None
    ranked = plain[order]
    same = np.concatenate([[False], np.asarray(ranked[1:] == ranked[:-1], dtype=bool), [False]])
    # A run of equal values begins before the first value that equals the one before it.
    edges = np.flatnonzero(same[1:] != same[:-1])
    starts, ends = edges[::2], edges[1::2]
    order, starts, lengths = (
        np.ascontiguousarray(rows, dtype=np.int64) for rows in (order, starts, ends - starts + 1)
    )
    return np.asarray(_core.shuffle_ties(matrix, order, starts, lengths, key, stream))


def refuse_nan(plain: np.ndarray) -> None:
    """NaN has no rank and no mean."""
    match plain.dtype.kind:
        case "f":
            bad = np.isnan(plain)
        case "m" | "M":
            bad = np.isnat(plain)
        case "O":
            bad = np.array([item != item for item in plain.flat], dtype=bool).reshape(plain.shape)
        case _:
            return
    if bad.any():
        first = int(np.flatnonzero(bad.reshape(len(plain), -1).any(axis=1))[0])
        raise Refused("values", "hold no NaN", f"{int(bad.sum())}, the first at position {first}")
