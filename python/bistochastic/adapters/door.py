"""The door: every result is rebuilt from its visible cells, for every library.

Each library has its door in the file of its tables, and tables of a plan pass it by ``made``. This
file handles columns and tables that a caller gave without a plan.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic.adapters import arrays, values
from bistochastic.adapters.frames import home_of, library

if TYPE_CHECKING:
    from collections.abc import Callable

    _Maker = Callable[[object, np.ndarray | None], object]

_MUST = "be an array, a list, a series, a frame or an Arrow array with a row for each record"


def check_rows(given: Any, size: int) -> None:
    """Check that there is a row for each of this many records."""
    if _maker(given) is None or (isinstance(given, np.ndarray) and given.ndim == 0):
        got = "a single number" if isinstance(given, np.ndarray) else type(given).__name__
        raise TypeError(f"`values` must {_MUST}; got {got}")
    if len(given) != size:
        must = f"`values` must be one for each of the {size} individuals"
        raise ValueError(f"{must}; got {len(given)}")


def leaving(given: object, order: np.ndarray | None = None) -> Any:
    """Make a new column or table of its kind from the cells of this one, rows in order.

    A pandas index is not part of it; :func:`labelled` adds one.
    """
    make = _maker(given)
    if make is None:
        raise TypeError(f"`values` must be a column or a table; got {type(given).__name__}")
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


def labelled(made: Any, given: Any) -> Any:
    """Label what was made as the rows of a pandas object were: labels stay in their places."""
    if library(given) == "pandas":
        from bistochastic.adapters.pandas_frame import labels_made

        made.index = labels_made(given.index)
    return made


def recoded(given: Any, codes: np.ndarray) -> Any:
    """Make a column like this one with other codes: of its categories, or of its integer type."""
    dtype: Any = getattr(given, "dtype", None)
    found = library(given)
    if values.categories_of(given) is None:
        made = numbered(given, codes) if found else codes
        # A nullable pandas integer type stays one.
        return made.astype(dtype) if found == "pandas" and hasattr(dtype, "na_value") else made
    if found == "polars":
        entries = type(given)(given.name, dtype.categories, dtype=dtype)
        return entries.gather(codes)
    if found == "pyarrow":
        import pyarrow as pa

        kind = given.type
        entries = given.chunk(0).dictionary if hasattr(given, "chunks") else given.dictionary
        places = pa.array(codes).cast(kind.index_type)
        column = pa.DictionaryArray.from_arrays(places, entries, ordered=kind.ordered)
        return pa.chunked_array([column]) if hasattr(given, "chunks") else column
    import pandas as pd

    column = pd.Categorical.from_codes(codes, dtype=dtype)
    single = found == "pandas"
    return labelled(pd.Series(column, name=given.name), given) if single else column


def numbered(given: Any, numbers: np.ndarray) -> Any:
    """Make a container of the same kind that holds these numbers instead."""
    if isinstance(given, list | tuple):
        return type(given)(numbers.tolist())
    found, single = library(given), not hasattr(type(given), "columns")
    if not found:
        return numbers
    kind, columns = import_module(found), list(np.ascontiguousarray(numbers.T))
    if found == "pandas" and single:
        return labelled(kind.Series(numbers, name=given.name), given)
    if found == "pandas":
        return labelled(kind.DataFrame(numbers, columns=given.columns.tolist()), given)
    if found == "polars" and single:
        return kind.Series(given.name, numbers)
    if found == "polars":
        return kind.DataFrame(dict(zip(given.columns, columns, strict=True)))
    if single:
        return kind.chunked_array([numbers]) if hasattr(given, "chunks") else kind.array(numbers)
    return kind.table(columns, names=given.schema.names)
