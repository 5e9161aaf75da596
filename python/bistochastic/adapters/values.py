"""Columns and tables that a caller gives without a plan, read as NumPy arrays.

Objects of other libraries are recognized by their methods, so no library is imported here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from bistochastic.adapters.frames import Mask
    from bistochastic.backend import Ids


def columns_of(given: Any) -> list[tuple[Any, Any]] | None:
    """Split a table into its names and columns; None if it is not a table."""
    kind = type(given)
    if hasattr(kind, "iloc"):
        if getattr(given, "ndim", 1) != 2:
            return None
        return [(name, given.iloc[:, i]) for i, name in enumerate(given.columns)]
    if callable(getattr(kind, "get_columns", None)):
        return [(column.name, column) for column in given.get_columns()]
    if callable(getattr(kind, "itercolumns", None)):
        return list(zip(given.schema.names, given.itercolumns(), strict=True))
    return None


def missing_of(given: Any) -> Mask | None:
    """Find which cells are missing, in the shape of the array; None if the object cannot say it."""
    for ask in ("isna", "is_null"):
        # A series says isna in pandas, is_null in polars and pyarrow; a pandas frame too.
        if callable(getattr(type(given), ask, None)):
            mask = np.asarray(getattr(given, ask)())
            return mask if mask.dtype == bool else None
    masks = [missing_of(column) for _, column in columns_of(given) or ()]
    known = [mask for mask in masks if mask is not None]
    return np.stack(known, axis=1) if known else None


def array_of(given: Any) -> np.ndarray:
    """Read a column or a table, in which nothing is missing, as an array."""
    columns = columns_of(given)
    if columns is not None:
        return np.stack([array_of(column) for _, column in columns], axis=1)
    kind = type(given)
    is_arrow = hasattr(kind, "__arrow_c_array__") or hasattr(kind, "__arrow_c_stream__")
    if is_arrow and not hasattr(kind, "__array__"):
        return array_of(_of_arrow(given))
    found = np.asarray(given)
    if found.dtype.kind in "US" and callable(getattr(kind, "to_numpy", None)):
        # As objects, since NumPy's own strings and bytes of a fixed width end before a zero.
        return np.array(given.to_numpy(), dtype=object)
    # Nullable pandas columns may come as objects, though they know a NumPy type.
    known = getattr(getattr(given, "dtype", None), "numpy_dtype", None)
    if found.dtype.kind == "O" and isinstance(known, np.dtype) and known.kind != "O":
        return np.asarray(given.to_numpy(dtype=known))
    return found


def _of_arrow(given: object) -> Any:
    """Read an object that only has Arrow's C interface by the library that knows it."""
    try:
        import pyarrow as pa
    except ImportError:
        raise TypeError from None
    single = hasattr(type(given), "__arrow_c_array__")
    found = pa.array(given) if single else pa.chunked_array(given)
    if found.null_count:
        raise ValueError
    return found


def categories_of(given: Any) -> list[Any] | None:
    """List the categories of the codes of a column; None for a column without categories.

    Columns of categories are a pandas Categorical, a polars Enum and an Arrow dictionary.
    """
    kind: Any = getattr(given, "dtype", getattr(given, "type", None))
    if hasattr(kind, "categories") and type(kind).__name__ in ("Enum", "CategoricalDtype"):
        return list(kind.categories)
    if not hasattr(kind, "index_type"):
        return None
    chunks = [given] if hasattr(given, "dictionary") else given.chunks
    lists = [chunk.dictionary.to_pylist() for chunk in chunks]
    if any(each != lists[0] for each in lists):
        raise ValueError("`codes` must have one dictionary; got chunks with several")
    return lists[0] if lists else None


def codes_of(given: Any, size: int) -> Any:
    """Read a column of categories as its codes; give anything else as it is."""
    categories = categories_of(given)
    if categories is None:
        return given
    if len(categories) != size:
        must = f"`codes` must have {size} categories, as the matrix has"
        raise ValueError(f"{must}; got {len(categories)}")
    if hasattr(given, "to_physical"):
        return given.to_physical()
    if hasattr(given, "chunks"):
        import pyarrow as pa

        return pa.chunked_array([chunk.indices for chunk in given.chunks])
    return given.indices if hasattr(given, "indices") else getattr(given, "array", given).codes


# Types of pandas and polars columns that may hold strings or bytes as Arrow has them.
_PANDAS = ("ArrowDtype", "CategoricalDtype")
_POLARS = ("String", "Binary", "Categorical", "Enum")


def strings_of(given: Any) -> Any:
    """Read a column of strings or bytes as a pyarrow chunked array; None for anything else."""
    kind = type(given)
    library = kind.__module__.partition(".")[0]
    dtype = getattr(given, "dtype", None)
    if library == "pandas":
        known = type(dtype).__name__ in _PANDAS or getattr(dtype, "storage", "") == "pyarrow"
    elif library == "polars":
        known = kind.__name__ == "Series" and str(dtype).partition("(")[0] in _POLARS
    else:
        single = hasattr(kind, "__arrow_c_array__") and not hasattr(kind, "__array__")
        known = library == "pyarrow" or single
    if not known:
        return None
    try:
        from bistochastic.adapters.arrow_cells import spelled_of
    except ImportError:
        return None
    return spelled_of(given)


def ids_of(name: str, given: object) -> Ids | None:
    """Read the strings or bytes of a column of ids; None for any other column."""
    column = strings_of(given)
    if column is None:
        return None
    from bistochastic.adapters import arrow_cells

    missing = arrow_cells.nulls(column)
    if missing is not None:
        got = f"{int(missing.sum())}, the first at position {int(missing.argmax())}"
        raise ValueError(f"`{name}` must hold no missing values; got {got}")
    return arrow_cells.ids_of(column)


def refuse_other_order(
    name: str, given: object, *, columns: bool = True, size: int | None = None
) -> None:
    """Reject pandas labels that say another order of the codes, as counts sorted by frequency do.

    A table's ``columns`` are codes too, unless each of them is a vector of its own. If ``size`` is
    given, the numbers are counts. Then integer labels of that many rows are 0, 1, 2, and so on, and
    other labels are sorted: in this order pandas itself codes a column.
    """
    if not hasattr(type(given), "iloc"):
        # Others have no labels; to ask a lazy frame for its columns would make it work.
        return
    for side in ("index", "columns") if columns else ("index",):
        labels: Any = getattr(given, side, None)
        if not hasattr(labels, "is_unique"):
            continue
        order, codes = np.asarray(labels), np.arange(len(labels))
        if order.dtype.kind in "iu":
            same = len(order) == size or np.array_equal(np.sort(order), codes)
            wrong = same and not np.array_equal(order, codes)
            cure = f", which sort_index({'' if side == 'index' else 'axis=1'}) puts right"
        else:
            wrong = size is not None and labels.is_monotonic_increasing is False
            loc = f"{name}.loc" if side == "index" else name
            cure = f": {loc}[categories].to_numpy() says which one is meant"
        if wrong:
            must = f"`{name}` must be in the order of the codes"
            raise ValueError(f"{must}; got labels that are not sorted{cure}")
