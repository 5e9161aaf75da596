"""Rows that an engine returned: counts of a group-by, in any container."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bistochastic.adapters import results
from bistochastic.adapters.frames import module_of
from bistochastic.words import shown

if TYPE_CHECKING:
    from bistochastic.adapters.frames import Table

# The methods that turn an engine's own object into rows.
_CURES = {"pyspark": "collect()", "dask": "compute()", "ray": "take_all()", "polars": "collect()"}


def opened(rows: Any) -> Table:
    """Open a frame, a DuckDB relation or result, or a list of dicts, named tuples or Spark rows."""
    if type(rows).__name__ == "DuckDBPyConnection":
        names = [column[0] for column in rows.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in rows.fetchall()]
    if isinstance(rows, list | tuple):
        return results.opened(_columns(rows))
    try:
        return results.opened(rows)
    except TypeError as error:
        said = str(error)
        if not said.startswith("`frame` must be"):
            raise
        cure = _CURES.get(module_of(rows))
        must = "`rows` must be a frame, a DuckDB relation, a dict of columns or a list of rows"
        made = "" if cure is None else f", of which {cure} makes rows"
    raise TypeError(f"{must}; got {type(rows).__name__}{made}")


def _columns(rows: Sequence[object]) -> dict[str, list[object]]:
    """Return a list for every column of the first row; the others must have them too."""
    if not rows:
        raise ValueError("`rows` must hold at least one row, to show its columns; got none")
    found: dict[str, list[object]] = {name: [] for name in _fields(rows[0], 0)}
    for i, row in enumerate(rows):
        fields = _fields(row, i)
        for name, values in found.items():
            if name not in fields:
                must = f"`rows` must have the column `{shown(name)}` in every row"
                raise ValueError(f"{must}; got none in row {i}")
            values.append(fields[name])
    return found


def _fields(row: object, i: int) -> Mapping[str, object]:
    """Return the fields of a row by name."""
    if isinstance(row, Mapping):
        return row
    # Spark rows have fields with names; so have named tuples.
    names = getattr(row, "__fields__", None) or getattr(row, "_fields", None)
    if not isinstance(row, tuple) or names is None:
        must = "`rows` must hold dicts, named tuples or rows of Spark, which name their columns"
        raise TypeError(f"{must}; got {type(row).__name__} in row {i}")
    return dict(zip(names, row, strict=True))
