"""Values moved between records by one permutation; see :meth:`bistochastic.Matrix.permute`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bistochastic import _core
from bistochastic.numeric import order as orders
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
) -> object:
    """Set ``out[s[u]] = values[u]``, with the records in ``order``."""
    from bistochastic.adapters import door

    size = matrix.size
    door.check_rows(values, size)
    rows = orders.rows(matrix, values, order, key, stream)
    # A row of a few bytes is moved without knowing what they are.
    if type(values) is np.ndarray and values.dtype.kind not in "OTV" and _width(values) in _WIDTHS:
        if rows is None:
            return _moved(matrix, values, key, stream, allow_shift)
        out = np.empty(values.shape, values.dtype.str)
        out[rows] = _moved(matrix, values[rows], key, stream, allow_shift)
        return out
    origins = _core.origins(matrix, allow_shift, key, stream)
    places = origins
    if rows is not None:
        places = np.empty(size, dtype=np.int64)
        places[rows] = rows[origins]
    # Labels (pandas) stay in their places.
    return door.labelled(door.leaving(values, places), values)


def _width(values: np.ndarray) -> int:
    return int(values.itemsize * np.prod(values.shape[1:], dtype=np.int64))


def _moved(
    matrix: Matrix,
    values: np.ndarray,
    key: _core.Key | None,
    stream: str | None,
    allow_shift: bool,
) -> np.ndarray:
    from bistochastic.adapters.arrays import one_nan

    size = len(values)
    packed = np.require(values, requirements=["C", "A"])
    _core.require_memory("permute", 1, size, _width(values))
    out = np.empty(packed.shape, dtype=packed.dtype.str)
    # As unsigned integers, whatever they mean.
    kind = f"u{_width(values)}"
    given, made = (x.reshape(-1).view(np.uint8).view(kind) for x in (packed, out))
    _core.permute_into(matrix, given, made, allow_shift, key, stream)
    one_nan(out)
    return out
