"""Protected tables as they are analysed, rows that an engine returned, and results in the library
that tables came from.

An unprotected column has no declared categories: those that occur are found here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bistochastic.errors import Refused, RefusedType
from bistochastic_survey.table import frames
from bistochastic_survey.table.frames import Table, library
from bistochastic_survey.wording import shown


def opened(frame: object) -> Table:
    """Open the table of a caller; a pandas index is left out."""
    if library(frame) == "pandas" and hasattr(type(frame), "columns"):
        pandas: Any = frame
        frame = pandas.reset_index(drop=True)
    return frames.opened(frame)


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
