"""Values moved between records by one permutation; see :meth:`bistochastic.Matrix.permute`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bistochastic import _core, arguments
from bistochastic.errors import Refused, RefusedType
from bistochastic.individuals import order as orders
from bistochastic.progress import watched

if TYPE_CHECKING:
    from bistochastic.matrix import Matrix

# Bytes of a row that the core moves as they are; other rows are moved by number.
_WIDTHS = (1, 2, 4, 8)


@watched("permuting")
def permute(
    matrix: Matrix,
    values: object,
    *,
    order: orders.Order,
    key: _core.Key | None,
    stream: str | None,
    allow_shift: bool,
) -> np.ndarray:
    """Set ``out[s[u]] = values[u]``, with the records in ``order``."""
    size = matrix.size
    values = of_records(values, size)
    rows = orders.rows(matrix, values, order, key, stream)
    # A row of a few bytes is moved without knowing what they are.
    if values.dtype.kind not in "OT" and _width(values) in _WIDTHS:
        if rows is None:
            return _moved(matrix, values, key, stream, allow_shift)
        out = np.empty(values.shape, _plain(values.dtype))
        out[rows] = _moved(matrix, values[rows], key, stream, allow_shift)
        return out
    origins = _core.origins(matrix, allow_shift, key, stream)
    places = origins
    if rows is not None:
        places = np.empty(size, dtype=np.int64)
        places[rows] = rows[origins]
    moved = np.empty(values.shape, _plain(values.dtype))
    moved[...] = values[places]
    _one_nan(moved)
    return moved


def of_records(values: object, size: int) -> np.ndarray:
    """Read values of any type, with a row for each of this many records."""
    must = "be an array or a list with a row for each record"
    found = arguments.array("values", must, values)
    if not found.ndim:
        got = "a single number" if isinstance(values, np.ndarray) else type(values).__name__
        raise RefusedType("values", must, got)
    if found.dtype.kind == "V":
        raise RefusedType("values", must, "records with fields of their own")
    if len(found) != size:
        raise Refused("values", f"be one for each of the {size} individuals", len(found))
    return found


def _plain(dtype: np.dtype) -> np.dtype:
    """Return the type without the notes that it may hold."""
    return dtype if dtype.kind == "T" else np.dtype(dtype.str)


def _one_nan(values: np.ndarray) -> None:
    """Write every NaN in the same way: the bits of a NaN can hold something."""
    if values.dtype.kind in "fc":
        values[np.isnan(values)] = np.nan


def _width(values: np.ndarray) -> int:
    return int(values.itemsize * np.prod(values.shape[1:], dtype=np.int64))


def _moved(
    matrix: Matrix,
    values: np.ndarray,
    key: _core.Key | None,
    stream: str | None,
    allow_shift: bool,
) -> np.ndarray:
    size = len(values)
    packed = np.require(values, requirements=["C", "A"])
    _core.require_memory("permute", 1, size, _width(values))
    out = np.empty(packed.shape, dtype=packed.dtype.str)
    # As unsigned integers, whatever they mean.
    kind = f"u{_width(values)}"
    given, made = (x.reshape(-1).view(np.uint8).view(kind) for x in (packed, out))
    _core.permute_into(matrix, given, made, allow_shift, key, stream)
    _one_nan(out)
    return out
