"""Columns of strings or bytes, whatever library holds them."""

from __future__ import annotations

from typing import Any

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
        from bistochastic_survey.table.arrow_cells import spelled_of
    except ImportError:
        return None
    return spelled_of(given)
