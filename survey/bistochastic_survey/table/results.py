"""Protected tables as they are analysed, rows that an engine returned, and results in the library
that tables came from.

An unprotected column has no declared categories: those that occur are found here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic.errors import Refused, RefusedType
from bistochastic_survey.table import frames
from bistochastic_survey.table.frames import library
from bistochastic_survey.wording import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    import polars as pl
    from numpy.typing import NDArray

    from bistochastic_survey.table.arrow_cells import Cells
    from bistochastic_survey.table.frames import Table

    Maker = Callable[[Mapping[str, Any]], Any]
    # The code of every row, and the categories.
    Coded = tuple[NDArray[np.intp], list[Any]]


def opened(frame: object) -> Table:
    """Open the table of a caller; a pandas index is left out."""
    if library(frame) == "pandas" and hasattr(type(frame), "columns"):
        pandas: Any = frame
        frame = pandas.reset_index(drop=True)
    return frames.opened(frame)


def levels(table: Table, name: str) -> Coded:
    """Return the code of every row, and the categories that occur, ascending; None is the last.

    NaN and None are both missing. An entry of a dictionary that no row has and a value below a mask
    are not categories. The error for values that cannot be sorted quotes none.
    """
    try:
        return _levels(table, name)
    except MemoryError:
        raise
    except Exception:
        pass
    # Outside, so the other error is not a part of this one.
    must = "hold values that can be compared and sorted"
    raise RefusedType("", must, frames.kind_of(table.column(name)), column=name)


def _levels(table: Table, name: str) -> Coded:
    plain = _plain_numbers(table.column(name))
    if plain is not None:
        return _of_numbers(plain)
    codes, values = _found(table, name)
    # Missing has the code -1, so the first count.
    counts = np.bincount(codes + 1, minlength=len(values) + 1)
    occurs = [i for i in np.flatnonzero(counts[1:]).tolist()
              if values[i] is not None and values[i] == values[i]]  # fmt: skip
    order = sorted(occurs, key=lambda i: (type(values[i]).__name__, values[i]))
    places = np.full(len(values) + 1, len(order), np.intp)
    places[order] = np.arange(len(order))
    ascending = [values[i] for i in order]
    missing = len(codes) > int(counts[1:][order].sum())
    return places[codes], [*ascending, None] if missing else ascending


def _plain_numbers(column: Any) -> np.ndarray | None:
    """Return a column of NumPy numbers without a mask as an array; None for anything else."""
    if library(column) == "pandas" and isinstance(column.dtype, np.dtype):
        column = column.to_numpy()
    known = type(column) is np.ndarray and column.dtype.kind in "iubf" and column.ndim == 1
    return column if known and len(column) else None


def _of_numbers(values: np.ndarray) -> Coded:
    """Return the codes and categories of numbers; NaN is missing."""
    if values.dtype.kind in "iub":
        least, most = int(values.min()), int(values.max())
        if most - least < min(len(values), 1 << 20):
            # Few integers are counted rather than sorted.
            away = values.astype(np.int64, copy=False)
            away = away - least if least else away
            seen = np.bincount(away) > 0
            known = np.flatnonzero(seen) + least
            codes = away if seen.all() else (np.cumsum(seen) - 1)[away]
            return codes, known.astype(values.dtype).tolist()
    known, codes = np.unique(values, return_inverse=True)
    listed = known.tolist()
    return codes, listed if listed[-1] == listed[-1] else [*listed[:-1], None]


def declared(table: Table, name: str) -> tuple[object, ...]:
    """Return the categories that the type of a column lists: of an Enum, in order, or booleans."""
    column = table.column(name)
    plain = _plain_numbers(column)
    if plain is not None and plain.dtype.kind != "b":
        return ()
    if not isinstance(table, frames.Frame):
        truths = getattr(getattr(column, "dtype", None), "kind", "") == "b"
        return (False, True) if truths else ()
    from bistochastic_survey.table.schemas import columns_of

    found = library(column)
    if found == "pandas" and getattr(column.dtype, "ordered", False):
        return tuple(column.cat.categories.tolist())
    if found == "pyarrow" and getattr(column.type, "ordered", False):
        return tuple(v for chunk in column.chunks for v in chunk.dictionary.to_pylist())
    [listed] = columns_of(table._frame.head(0).select(name).to_native())
    return listed.levels or () if listed.declared else ()


def _found(table: Table, name: str) -> Coded:
    """Find codes, -1 if missing, and the categories in some order."""
    column = table.column(name)
    ways: dict[str, Callable[[Any], Coded]]
    ways = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_arrow, "": _of_array}
    return ways[library(column)](column)


def _of_array(column: np.ndarray) -> Coded:
    if isinstance(column, list) or column.dtype.kind in "OT":
        return _of_objects(column if isinstance(column, list) else column.tolist())
    plain = np.ma.getdata(column)
    values, codes = np.unique(plain, return_inverse=True)
    return np.where(np.ma.getmaskarray(column), -1, codes), values.tolist()


def _of_objects(listed: list[object]) -> Coded:
    # True and 1 are equal in Python, but two categories.
    known: dict[tuple[bool, object], int] = {}
    codes = [
        -1
        if value is None or value != value
        else known.setdefault((isinstance(value, bool | np.bool_), value), len(known))
        for value in listed
    ]
    return np.array(codes, np.intp), [value for _is_bool, value in known]


def _of_pandas(column: pd.Series) -> Coded:
    if column.dtype == object:
        return _of_objects(column.where(column.notna(), None).tolist())
    codes, values = column.factorize()
    return np.asarray(codes, np.intp), list(values.tolist())


def _of_polars(column: pl.Series) -> Coded:
    import polars as pl

    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype.is_float():
        column = column.fill_nan(None)
    values = column.drop_nulls().unique().sort()
    ranks = column.rank("dense").cast(pl.Int64).fill_null(0).to_numpy()
    return ranks - 1, [_hashable(value) for value in values.to_list()]


def _hashable(value: object) -> object:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _of_arrow(column: Cells) -> Coded:
    from bistochastic_survey.table.arrow_cells import spelled_out, whole

    encoded = whole(spelled_out(column)).dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return codes.astype(np.intp), encoded.dictionary.to_pylist()


def maker(frame: object) -> Maker:
    """Find what makes a table of the library that ``frame`` is of, from columns by name."""
    name = library(frame) or frames.module_of(frame)
    return partial(made_by, name if name in ("pandas", "polars", "pyarrow", "duckdb") else "")


def made_by(name: str, columns: Mapping[str, Any]) -> Any:
    """Make a table of this library; without one, a dict of arrays."""
    listed = {k: v if isinstance(v, np.ndarray) else list(v) for k, v in columns.items()}
    if name in ("pandas", "polars"):
        return import_module(name).DataFrame(listed)
    if name in ("pyarrow", "duckdb"):
        import pyarrow as pa

        table = pa.table({k: pa.array(v) for k, v in listed.items()})
        return import_module(name).connect().from_arrow(table) if name == "duckdb" else table
    return {k: v if isinstance(v, np.ndarray) else np.array(v, object) for k, v in listed.items()}


def column(frame: Any, values: NDArray[np.float64]) -> Any:
    """Make a column of numbers that can be put into ``frame``."""
    name = library(frame) or frames.module_of(frame)
    if name == "pandas":
        return import_module(name).Series(values, index=frame.index, name="weight")
    if name == "polars":
        return import_module(name).Series("weight", values)
    if name in ("pyarrow", "duckdb"):
        return import_module("pyarrow").chunked_array([values])
    return values


# The methods that turn an engine's own object into rows.
_CURES = {"pyspark": "collect()", "dask": "compute()", "ray": "take_all()", "polars": "collect()"}


def opened_rows(rows: Any) -> Table:
    """Open a frame, a DuckDB relation or result, or a list of dicts, named tuples or Spark rows."""
    if type(rows).__name__ == "DuckDBPyConnection":
        names = [column[0] for column in rows.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in rows.fetchall()]
    if isinstance(rows, list | tuple):
        return opened(_columns(rows))
    try:
        return opened(rows)
    except RefusedType as error:
        if error.must != frames.BE_A_TABLE:
            raise
        cure = _CURES.get(frames.module_of(rows))
        must = "be a frame, a DuckDB relation, a dict of columns or a list of rows"
        made = "" if cure is None else f", of which {cure} makes rows"
    raise RefusedType("rows", must, f"{type(rows).__name__}{made}")


def _columns(rows: Sequence[object]) -> dict[str, list[object]]:
    """Return a list for every column of the first row; the others must have them too."""
    if not rows:
        raise Refused("rows", "hold at least one row, to show its columns", "none")
    found: dict[str, list[object]] = {name: [] for name in _fields(rows[0], 0)}
    for i, row in enumerate(rows):
        fields = _fields(row, i)
        for name, values in found.items():
            if name not in fields:
                must = f"have the column `{shown(name)}` in every row"
                raise Refused("rows", must, f"none in row {i}", row=i)
            values.append(fields[name])
    return found


def _fields(row: object, i: int) -> Mapping[str, object]:
    """Return the fields of a row by name."""
    if isinstance(row, Mapping):
        return row
    # Spark rows have fields with names; so have named tuples.
    names = getattr(row, "__fields__", None) or getattr(row, "_fields", None)
    if not isinstance(row, tuple) or names is None:
        must = "hold dicts, named tuples or rows of Spark, which name their columns"
        raise RefusedType("rows", must, f"{type(row).__name__} in row {i}", row=i)
    return dict(zip(names, row, strict=True))


def framed(columns: dict[str, Any], make: Maker | None, library: str | None) -> Any:
    """Make a DataFrame of ``library``, else by ``make``, else of an installed library."""
    must = 'be "pandas" or "polars"'
    if library is not None and not isinstance(library, str):
        raise RefusedType("library", must, type(library).__name__)
    if library not in (None, "pandas", "polars"):
        raise Refused("library", must, f"{library!r}")
    if make is not None and library is None:
        return make(columns)
    for name in ("pandas", "polars") if library is None else (library,):
        with suppress(ImportError):
            return made_by(name, columns)
    if library is None:
        raise ImportError("`to_frame` must find pandas or polars; got neither")
    raise ImportError(f"`to_frame` must find {library}; got none: install it")
