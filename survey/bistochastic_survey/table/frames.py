"""A caller's table of any library: opened, read column by column, and rebuilt.

Each of the other files reads and writes the columns of one library, and is imported once an object
of that library comes. Common code is here.
"""

from __future__ import annotations

import sys
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

import numpy as np

from bistochastic.errors import Refused, RefusedType
from bistochastic_survey.cached import cached
from bistochastic_survey.wording import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import ModuleType

    import narwhals.stable.v2 as nw
    from numpy.typing import NDArray

    from bistochastic import backend
    from bistochastic_survey.plan.labels import Labels

    Codes = NDArray[np.unsignedinteger]
    Mask = NDArray[np.bool_]
    Ids = np.ndarray | list[object] | backend.Ids


_P = ParamSpec("_P")
_R = TypeVar("_R")


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


def reading(method: Callable[_P, _R]) -> Callable[_P, _R]:
    """Turn what a library says of a column that it cannot read, which may quote a value, into ours.

    The method is one of a table, and its first argument the name of a column.
    """

    @wraps(method)
    def read(*given: _P.args, **named: _P.kwargs) -> _R:
        try:
            return method(*given, **named)
        except (Undeclared, WrongType, Refused, RefusedType, MemoryError):
            raise
        except Exception:
            pass
        # Outside, so the other error is not a part of this one.
        table: Any = given[0]
        raise WrongType(kind_of(table.column(given[1])))

    return read


def kind_of(column: object) -> str:
    """Return the type of a column as its library calls it; it says nothing of the values."""
    kind = getattr(column, "dtype", getattr(column, "type", None))
    return WrongType(type(column).__name__ if kind is None else kind).kind


class Table(Protocol):
    """A table that can be read by column and made again with other ones."""

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""

    @property
    def rows(self) -> int:
        """The number of rows."""

    def column(self, name: str) -> Any:
        """Return a column, as its library has it."""

    def codes(self, name: str, labels: Labels) -> tuple[Codes, Mask | None]:
        """Find the code of every row, of any width, 0 for missing rows; and the missing rows."""

    def labelled(self, name: str, labels: Labels, codes: Codes, missing: Mask | None) -> object:
        """Return a column like that one, with these codes."""

    def relabelled(self, name: str, labels: Labels, codes: Codes, missing: Mask | None) -> object:
        """Return a column of the categories' own type in the place of that one."""

    def can_be_missing(self, name: str) -> bool:
        """Whether a column like that one can hold missing values."""

    def numbers(self, name: str) -> tuple[np.ndarray, Mask | None]:
        """Return a numeric column, 0 for missing rows; which rows are missing, if any."""

    def dates(self, name: str) -> tuple[np.ndarray, Mask | None]:
        """Return a column of dates without a time zone, and which rows are missing, if any."""

    def numbered(
        self, name: str, values: np.ndarray, missing: Mask | None = None, *, own: bool = False
    ) -> object:
        """Make a similar column with these numbers or dates; ``own``: of the values' type."""

    def ids(self, name: str) -> tuple[Ids, Mask | None]:
        """Ids as an array of integers, strings or bytes, or a list; which are missing."""

    def texts(self, values: Sequence[str]) -> object:
        """Return a column of strings."""

    def is_declared(self, name: str) -> bool:
        """Whether a column that stays publishes all its categories, in an order of their own."""

    def made(self, columns: Mapping[str, Any], order: np.ndarray | None) -> Any:
        """Make a table of the caller's type: columns by name, None if it stays; rows in order.

        This is the door: results are made from visible cells and declared types.
        """


BE_A_TABLE = (
    "be a pandas or polars frame, a pyarrow table or record batch, a DuckDB relation "
    "or a dict of arrays"
)


def opened(frame: Any) -> Table:
    """Return the caller's table."""
    if isinstance(frame, dict):
        from bistochastic_survey.table.arrays import Arrays

        return Arrays(frame)
    home = home_of(frame)
    if home is not None and hasattr(type(frame), "columns"):
        table: Table = home.opened(frame)
        return table
    if module_of(frame) == "duckdb" and hasattr(type(frame), "query"):
        from bistochastic_survey.table.arrow_table import Relation

        return Relation(frame)
    got = type(frame).__name__
    if (module_of(frame), got) == ("polars", "LazyFrame"):
        got += ", which collect() makes one"
    raise RefusedType("frame", BE_A_TABLE, got)


# Columns and tables of each library, and the file here that reads and makes them.
_KINDS = {
    "pandas": ("DataFrame", "Series"),
    "polars": ("DataFrame", "Series"),
    "pyarrow": ("RecordBatch", "Table", "Array", "ChunkedArray"),
}
_HOMES = {"pandas": "pandas_frame", "polars": "polars_frame", "pyarrow": "arrow_table"}


def library(given: object) -> str:
    """Name the library that a column or a table is of: pandas, polars, pyarrow, or none."""
    for name, kinds in _KINDS.items():
        # A library whose object this is has been imported.
        module = sys.modules.get(name)
        if module is not None and isinstance(given, tuple(getattr(module, k) for k in kinds)):
            return name
    return ""


def home_of(given: object) -> ModuleType | None:
    """Import the file of the library that a column or a table is of; None if it is of none.

    Such a file has ``opened`` for tables, ``made`` for columns and ``table_made``.
    """
    home = _HOMES.get(library(given))
    return None if home is None else import_module(f"bistochastic_survey.table.{home}")


def module_of(given: object) -> str:
    """Name the package that the class of an object is of."""
    # A class made by `type` may have none.
    return str(getattr(type(given), "__module__", "")).split(".")[0].lstrip("_")


class Frame:
    """A pandas, polars or pyarrow table, through narwhals."""

    def __init__(self, native: Any, names: Sequence[object]) -> None:
        self._native, self.names, self.rows = native, distinct(names), len(native)

    def __init_subclass__(cls) -> None:
        for name in ("codes", "numbers", "ids"):
            if name in vars(cls):
                setattr(cls, name, reading(vars(cls)[name]))

    @cached
    def _frame(self) -> nw.DataFrame[Any]:
        import narwhals.stable.v2 as nw

        return nw.from_native(self._native, eager_only=True)

    def column(self, name: str) -> Any:
        return self._frame.get_column(name).to_native()

    def spelled_out(self, name: str) -> Any:
        """Return a column without categories or a dictionary: integers in it stay integers."""
        return self.column(name)

    def can_be_missing(self, name: str) -> bool:
        return True

    @reading
    def numbers(self, name: str) -> tuple[np.ndarray, Mask | None]:
        from bistochastic_survey.table.arrays import nans, some

        series = self._frame.get_column(name)
        dtype = str(series.dtype).lower()
        if not (series.dtype.is_integer() or series.dtype.is_float()) or not hasattr(np, dtype):
            raise WrongType(series.dtype)
        missing = some(np.asarray(series.is_null().to_numpy(), dtype=bool))
        plain = series if missing is None else series.fill_null(0)
        values = np.asarray(plain.to_numpy(), dtype=dtype)
        return values, nans(values, missing)

    @reading
    def dates(self, name: str) -> tuple[np.ndarray, Mask | None]:
        import narwhals.stable.v2 as nw

        from bistochastic_survey.table.arrays import some

        series = self._frame.get_column(name)
        dtype = series.dtype
        if dtype != nw.Date and (
            dtype != nw.Datetime or getattr(dtype, "time_zone", None) is not None
        ):
            raise WrongType(dtype)
        values = np.asarray(series.cast(nw.Datetime("us")).to_numpy(), dtype="M8[us]")
        return values, some(np.isnat(values))

    @reading
    def ids(self, name: str) -> tuple[Ids, Mask | None]:
        import narwhals.stable.v2 as nw

        from bistochastic_survey.table.arrays import id_list, whole
        from bistochastic_survey.table.values import strings_of

        column = strings_of(self.column(name))
        if column is not None:
            from bistochastic_survey.table.arrow_cells import ids_of, nulls

            none = nulls(column)
            return (ids_of(column) if none is None else []), none
        series = nw.from_native(self.spelled_out(name), series_only=True)
        missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
        if missing.any():
            return [], missing
        dtype = series.dtype
        if dtype.is_integer():
            return whole(np.asarray(series.to_numpy(), dtype=str(dtype).lower())), None
        if dtype in (nw.Categorical, nw.Enum):
            series = series.cast(nw.String)
        elif dtype not in (nw.String, nw.Binary, nw.Object):
            raise WrongType(dtype)
        return id_list(series.to_list()), None


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
