"""The door: whatever leaves a call is made anew from its visible cells, whichever library it is of.

Each library has its door in the file of its tables, and tables of a plan go through it by ``made``.
Here are columns and tables that a caller handed over without a plan.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    pass


def is_known(given: object) -> bool:
    """Whether there is a door for it.

    >>> is_known([3, 1]), is_known(3)
    (True, False)
    """
    return isinstance(given, np.ndarray | list | tuple) or _maker(given) is not None


def leaving(given: object, order: np.ndarray | None = None) -> Any:
    """The cells of a column or a table as a new one of its kind, rows in order.

    An index of pandas is no part of it; :func:`labelled` puts one on.

    >>> leaving((3, 1, 2), np.array([2, 0, 1]))
    (2, 3, 1)
    """
    if isinstance(given, np.ndarray | list | tuple):
        from bistochastic.adapters import arrays

        return arrays.made(given, order)
    make = _maker(given)
    if make is None:
        raise TypeError(f"`values` must be a column or a table; got {type(given).__name__}")
    return make(given, order)


def labelled(made: Any, given: Any) -> Any:
    """What was made, with the labels that rows of pandas had: those stay in their places."""
    if hasattr(type(given), "iloc"):
        from bistochastic.adapters.pandas_frame import labels_made

        made.index = labels_made(given.index)
    return made


def _maker(given: object) -> Any:
    """What makes a column or table of its library anew; None where none is known."""
    # A library whose object this is has been imported.
    pd, pl, pa = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if pd is not None and isinstance(given, pd.Series | pd.DataFrame):
        from bistochastic.adapters import pandas_frame

        single = isinstance(given, pd.Series)
        return pandas_frame.made if single else pandas_frame.table_made
    if pl is not None and isinstance(given, pl.Series | pl.DataFrame):
        from bistochastic.adapters import polars_frame

        single = isinstance(given, pl.Series)
        return polars_frame.made if single else polars_frame.table_made
    if pa is not None and isinstance(given, pa.Array | pa.ChunkedArray | pa.Table | pa.RecordBatch):
        from bistochastic.adapters import arrow_cells, arrow_table

        if isinstance(given, pa.Array):
            return arrow_cells.made
        single = isinstance(given, pa.ChunkedArray)
        return arrow_cells.column if single else arrow_table.table_made
    return None
