"""A caller's table of any library: what it is, and what is wrong with it.

Its columns are read and made by the class of its library, which is imported once a table of that
library comes. Rows that an engine returned are a table, too, and results come in the library that
the table came from.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bistochastic import backend
from bistochastic.errors import Refused, RefusedType
from bistochastic_survey.wording import shown

if TYPE_CHECKING:
    from bistochastic_survey.table.table import Table as Table
else:
    # To import the class would import pyarrow.
    Table = object

Codes = NDArray[np.unsignedinteger]
Mask = NDArray[np.bool_]
Ids = np.ndarray | list[object] | backend.Ids

# How objects give Arrow columns to any library.
_WAYS = ("stream", "array")


class Undeclared(Exception):  # noqa: N818 - becomes a sentence about a column
    """Rows that hold something else than the declared categories: how many, and the first."""

    def __init__(self, mask: Mask) -> None:
        super().__init__()
        self.count = int(np.count_nonzero(mask))
        self.row = int(np.argmax(mask))
        self.every = self.count == len(mask)


class WrongType(Exception):  # noqa: N818 - becomes a sentence about a column
    """A column of another type; the type's name, which says nothing of its values."""

    def __init__(self, kind: object) -> None:
        super().__init__()
        # A type of another library may list categories.
        name = kind if isinstance(kind, str) else str(kind).split("(")[0].split("<")[0]
        # The type of a sparse pandas column names the value that most rows have.
        self.kind = "dtype Sparse" if "Sparse[" in name else name


def kind_of(column: object) -> str:
    """Return the type of a column as its library calls it; it says nothing of the values."""
    kind = getattr(column, "dtype", getattr(column, "type", None))
    return WrongType(type(column).__name__ if kind is None else kind).kind


BE_A_TABLE = (
    "be a pandas or polars frame, a pyarrow table or record batch, a DuckDB relation "
    "or a dict of arrays"
)
# Tables of each library with the class here that reads and makes them, and other kinds of it.
_KINDS = {
    "pandas": {"DataFrame": "pandas_frame.PandasFrame", "Series": None},
    "polars": {"DataFrame": "polars_frame.PolarsFrame", "Series": None},
    "pyarrow": {"Table": "arrow_table.ArrowTable", "RecordBatch": "arrow_table.Batch",
                **dict.fromkeys(("Array", "ChunkedArray", "RecordBatchReader"))},
}  # fmt: skip


def opened(frame: Any, *, any_index: bool = False) -> Table:
    """Return the caller's table. Only the library that it is of is imported, and pyarrow.

    With ``any_index``, the index of a pandas frame may be any: it is left out.
    """
    name, kind = _kind(frame)
    if any_index and (name, kind) == ("pandas", "DataFrame"):
        frame = frame.reset_index(drop=True)
    home = _KINDS.get(name, {}).get(kind)
    if isinstance(frame, dict):
        home = "array_table.Arrays"
    elif module_of(frame) == "duckdb" and hasattr(type(frame), "query"):
        home = "arrow_table.Relation"
    elif not name and any(hasattr(type(frame), f"__arrow_c_{way}__") for way in _WAYS):
        home = "arrow_table.Exported"
    if home is not None:
        file, _, found = home.partition(".")
        made: Table = getattr(import_module(f"bistochastic_survey.table.{file}"), found)(frame)
        return made
    got = type(frame).__name__
    if (module_of(frame), got) == ("polars", "LazyFrame"):
        got += ", which collect() makes one"
    raise RefusedType("frame", BE_A_TABLE, got)


def library(given: object) -> str:
    """Name the library that a column or a table is of: pandas, polars, pyarrow, or none."""
    return _kind(given)[0]


def _kind(given: object) -> tuple[str, str]:
    for name, kinds in _KINDS.items():
        # A library whose object this is has been imported.
        module = sys.modules.get(name)
        for kind in kinds if module is not None else ():
            if isinstance(given, getattr(module, kind)):
                return name, kind
    return "", ""


def module_of(given: object) -> str:
    """Name the package that the class of an object is of."""
    # A class made by `type` may have none.
    return str(getattr(type(given), "__module__", "")).split(".")[0].lstrip("_")


def unchanged(found: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """Reject other columns, another order or other types than stated."""
    names, before = list(found), list(expected)
    if names != before:
        must = "have the columns that were said, in their order"
        if len(names) != len(before):
            raise Refused("batch", must, f"{len(names)} columns instead of {len(before)}")
        at = next(i for i, name in enumerate(names) if name != before[i])
        got = f"`{shown(names[at])}` instead of `{shown(before[at])}` at position {at}"
        raise Refused("batch", must, got)
    for name, kind in found.items():
        if kind != expected[name]:
            raise RefusedType("", f"stay of type {shown(expected[name])}", shown(kind), column=name)


def distinct(names: Iterable[object]) -> list[str]:
    """Check names of columns: each a string, none twice."""
    found: dict[str, None] = {}
    twice = None
    for name in names:
        if not isinstance(name, str):
            raise RefusedType("frame", "name its columns by text", type(name).__name__)
        twice = name if twice is None and name in found else twice
        found[name] = None
    if twice is not None:
        raise Refused("frame", "name each column once", f"`{shown(twice)}` twice")
    return list(found)


def column(frame: Any, values: NDArray[np.float64]) -> Any:
    """Make a column of numbers that can be put into ``frame``."""
    name = library(frame) or module_of(frame)
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
        return opened(_columns(rows), any_index=True)
    try:
        return opened(rows, any_index=True)
    except RefusedType as error:
        if error.must != BE_A_TABLE:
            raise
        cure = _CURES.get(module_of(rows))
        must = "be a frame, a DuckDB relation, a dict of columns or a list of rows"
        made = "" if cure is None else f", of which {cure} makes rows"
    raise RefusedType("rows", must, f"{type(rows).__name__}{made}")


def _columns(rows: Sequence[object]) -> dict[str, list[object]]:
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
    if isinstance(row, Mapping):
        return row
    # Spark rows have fields with names; so have named tuples.
    names = getattr(row, "__fields__", None) or getattr(row, "_fields", None)
    if not isinstance(row, tuple) or names is None:
        must = "hold dicts, named tuples or rows of Spark, which name their columns"
        raise RefusedType("rows", must, f"{type(row).__name__} in row {i}", row=i)
    return dict(zip(names, row, strict=True))
