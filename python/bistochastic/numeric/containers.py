"""A column or rows of a table in whatever holds them, and the same holder with other values.

Series, frames and Arrow arrays are known by what they can do; of Arrow's own library nothing is
imported before one of its arrays is here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MUST = "be an array, a list, a series, a frame or an Arrow array with a row for each individual"


def length(values: Any) -> int:
    """How many rows there are.

    >>> length([3, 1, 2])
    3
    """
    if isinstance(values, np.ndarray):
        if values.ndim == 0:
            raise TypeError(f"`values` must {_MUST}; got a single number")
        return int(values.shape[0])
    from bistochastic.adapters import door

    if not door.is_known(values):
        raise TypeError(f"`values` must {_MUST}; got {type(values).__name__}")
    return len(values)


def _is_polars_frame(kind: type) -> bool:
    return hasattr(kind, "get_columns") and hasattr(kind, "__getitem__")


def take(values: Any, rows: np.ndarray) -> Any:
    """Row ``rows[i]`` at place ``i``, in the same container; labels (pandas) stay in their places.

    >>> take(("a", "b", "c"), np.array([2, 0, 1]))
    ('c', 'a', 'b')
    """
    from bistochastic.adapters import door

    return door.labelled(door.leaving(values, rows), values)


def with_numbers(values: Any, numbers: NDArray[np.float64]) -> Any:
    """The same container with these numbers instead.

    >>> with_numbers([1, 2], np.array([1.5, 1.5]))
    [1.5, 1.5]
    """
    kind = type(values)
    if isinstance(values, list | tuple):
        return numbers.tolist() if isinstance(values, list) else tuple(numbers.tolist())
    if hasattr(kind, "iloc"):
        from bistochastic.adapters import door

        said = {"columns": values.columns} if numbers.ndim == 2 else {"name": values.name}
        return door.labelled(kind(numbers, **said), values)
    if _is_polars_frame(kind):
        columns = zip(values.columns, numbers.T, strict=True)
        return kind({name: np.ascontiguousarray(column) for name, column in columns})
    if hasattr(kind, "gather"):
        return kind(values.name, numbers)
    if hasattr(kind, "combine_chunks") or hasattr(kind, "null_count"):
        return _arrow(values, numbers)
    return numbers


def _arrow(values: Any, numbers: NDArray[np.float64]) -> Any:
    import pyarrow

    if numbers.ndim == 2:
        columns = [np.ascontiguousarray(column) for column in numbers.T]
        return pyarrow.table(columns, names=values.column_names)
    column = pyarrow.array(numbers)
    return pyarrow.chunked_array([column]) if hasattr(values, "chunks") else column
