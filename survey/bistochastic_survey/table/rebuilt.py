"""The door: every result is rebuilt from its visible cells, for every library.

Each library has its door in the file of its tables, and tables of a plan pass it by ``made``. This
file handles columns and tables that a caller gave without a plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic.errors import RefusedType
from bistochastic_survey.table import arrays
from bistochastic_survey.table.frames import home_of

if TYPE_CHECKING:
    from collections.abc import Callable

    _Maker = Callable[[object, np.ndarray | None], object]


def leaving(given: object, order: np.ndarray | None = None) -> Any:
    """Make a new column or table of its kind from the cells of this one, rows in order.

    A pandas index is not part of it.
    """
    make = _maker(given)
    if make is None:
        raise RefusedType("values", "be a column or a table", type(given).__name__)
    return make(given, order)


def _maker(given: object) -> _Maker | None:
    """Find what makes a new column or table of this library; None if none is known."""
    if isinstance(given, np.ndarray | list | tuple):
        return arrays.made
    home = home_of(given)
    if home is None:
        return None
    make: _Maker = home.table_made if hasattr(type(given), "columns") else home.made
    return make
