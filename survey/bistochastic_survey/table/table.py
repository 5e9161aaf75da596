"""A caller's table: Arrow inside, the caller's library outside."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from itertools import compress
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bistochastic.errors import Refused, RefusedType
from bistochastic_survey.plan.labels import Labels
from bistochastic_survey.table import arrays, arrow_cells
from bistochastic_survey.table import codes as coding
from bistochastic_survey.table.arrays import id_list, nans, some
from bistochastic_survey.table.arrow_cells import Cells
from bistochastic_survey.table.codes import Labelled
from bistochastic_survey.table.frames import (
    Codes,
    Ids,
    Mask,
    Undeclared,
    WrongType,
    distinct,
    kind_of,
)

# The code of every row, and the categories.
Coded = tuple[NDArray[np.intp], list[Any]]
_P = ParamSpec("_P")
_R = TypeVar("_R")


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


class Table:
    """A table that is read as Arrow columns, and made again in the caller's library.

    A subclass has one library: how it reads a column, makes one, and rebuilds one from its cells.
    """

    def __init__(self, columns: Mapping[Any, Any], rows: int) -> None:
        self.names = distinct(columns)
        self.rows = rows
        self._columns = columns
        self._types: dict[str, pa.DataType] = {}

    def column(self, name: str) -> Any:
        """Return a column, as its library has it."""
        return self._columns[name]

    def _read(self, name: str) -> Cells:
        """Read a column that holds no Python objects."""
        raise NotImplementedError

    def _same(self, name: str, values: Sequence[Any]) -> Codes | None:
        """Find the code of every row by the bytes in memory; None if a row has no such bytes."""
        return None

    def _coded(
        self, values: Labelled, codes: Codes, missing: Mask | None, like: Any, own: bool
    ) -> Any:
        """Make a column of some of these values like another one; ``own``: of their own type."""
        raise NotImplementedError

    def _valued(self, values: np.ndarray, missing: Mask | None, like: Any, own: bool) -> Any:
        """Make a column of these numbers or dates like another one."""
        raise NotImplementedError

    def _rebuilt(self, name: str, order: np.ndarray | None) -> Any:
        """Make a column of the visible cells of one that stays, rows in order."""
        raise NotImplementedError

    def _taken(self, column: Any, order: np.ndarray) -> Any:
        """Return the rows of a new column in order."""
        raise NotImplementedError

    def _table(self, columns: dict[str, Any]) -> Any:
        """Make a table of the caller's type."""
        raise NotImplementedError

    def texts(self, values: Sequence[str]) -> Any:
        """Return a column of strings."""
        raise NotImplementedError

    def objects(self, name: str) -> list[object] | None:
        """Return a column as Python's objects, if it holds these; None for any other."""
        return None

    def can_be_missing(self, name: str) -> bool:
        """Whether a column like that one can hold missing values."""
        return True

    def is_declared(self, name: str) -> bool:
        """Whether a column that stays publishes all its categories, in an order of their own."""
        return False

    def categories(self, name: str) -> tuple[tuple[Any, ...], bool, bool]:
        """Return the categories that the type of a column lists; whether declared, and ordered."""
        if self.word(name) not in ("Boolean", "Categorical"):
            return (), False, False
        column = self.cells(name)
        if pa.types.is_boolean(column.type):
            return (False, True), True, False
        if pa.types.is_nested(column.type.value_type):
            return (), False, False
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        listed = dict.fromkeys(value for c in chunks for value in c.dictionary.to_pylist())
        return tuple(listed), False, bool(column.type.ordered)

    def _called(self, name: str) -> object:
        """Return how errors call the type of a column that cannot hold categories."""
        return None

    def word(self, name: str) -> str:
        """Return how errors call the type of a column that holds no numbers, dates or ids."""
        if self.objects(name) is not None:
            return "Object"
        try:
            return arrow_cells.word(self.cells(name).type)
        except WrongType:
            return "Unknown"

    @reading
    def cells(self, name: str, empty: pa.DataType | None = None) -> Cells:
        """Read a column as one of Arrow; of type ``empty`` if no object says its type."""
        listed = self.objects(name)
        found = self._read(name) if listed is None else coding.of_objects(listed, empty)
        self._types[name] = found.type
        return found

    @reading
    def codes(self, name: str, labels: Labels) -> tuple[Codes, Mask | None]:
        """Find the code of every row, 0 for missing rows; and the missing rows."""
        same = self._same(name, labels.values) if labels.kind == "text" else None
        if same is not None:
            self._types[name] = pa.string()
            return same, None
        column = self.cells(name, coding.OWN[labels.kind])
        return coding.codes_of(column, labels, self._called(name))

    def labelled(self, name: str, labels: Labels, codes: Codes, missing: Mask | None) -> Any:
        """Return a column like that one, with these codes."""
        if name not in self._types:
            self.cells(name, coding.OWN[labels.kind])
        kind = self._types[name]
        labels = coding.spelled(labels, kind)
        listed = pa.array(labels.values, arrow_cells.value_type(kind))
        is_number = pa.types.is_primitive(kind) and self.objects(name) is None
        if not is_number:
            return self._coded(listed.to_pylist(), codes, missing, self.column(name), own=False)
        values = codes
        if labels.kind != "integer" or not labels._bounds[2]:
            # Codes are below the number of categories: not looked at again.
            values = np.take(np.asarray(listed), codes, mode="clip")
        return self._valued(values, missing, self.column(name), own=False)

    def relabelled(self, name: str, labels: Labels, codes: Codes, missing: Mask | None) -> Any:
        """Return a column of the categories' own type in the place of that one."""
        return self._coded(labels.values, codes, missing, self.column(name), own=True)

    @reading
    def numbers(self, name: str) -> tuple[np.ndarray, Mask | None]:
        """Return a numeric column, 0 for missing rows; which rows are missing, if any."""
        called = self.word(name)
        if not called.startswith(("Int", "UInt", "Float")) or "128" in called:
            raise WrongType(called)
        return numbers_in(self.cells(name))

    @reading
    def dates(self, name: str) -> tuple[np.ndarray, Mask | None]:
        """Return a column of dates without a time zone, and which rows are missing, if any."""
        called = self.word(name)
        if called not in ("Date", "Datetime"):
            raise WrongType(called)
        return dates_in(self.cells(name))

    def numbered(
        self, name: str, values: np.ndarray, missing: Mask | None = None, *, own: bool = False
    ) -> Any:
        """Make a similar column with these numbers or dates; ``own``: of the values' type."""
        return self._valued(values, missing, self.column(name), own)

    @reading
    def ids(self, name: str) -> tuple[Ids, Mask | None]:
        """Ids as an array of integers, strings or bytes, or a list; which are missing."""
        listed = self.objects(name)
        if listed is not None:
            none = np.array([_is_missing(value) for value in listed], bool)
            return ([], none) if none.any() else (id_list(listed), None)
        cells = self.cells(name)
        column = arrow_cells.spelled_out(cells)
        missing = arrow_cells.nulls(column)
        if missing is not None:
            return [], missing
        if pa.types.is_integer(column.type):
            return arrays.whole(column.to_numpy()), None
        found = arrow_cells.ids_of(column)
        if found is None:
            raise WrongType(self.word(name) if column is cells else arrow_cells.word(column.type))
        return found, None

    def levels(self, name: str) -> Coded:
        """Return the code of every row, and the categories that occur, ascending; None is the last.

        NaN and None are both missing. An entry of a dictionary that no row has and a value below a
        mask are not categories. The error for values that cannot be sorted quotes none.
        """
        try:
            codes, values = _found(self, name)
            missing, *occurs = np.bincount(codes + 1, minlength=len(values) + 1) > 0
            # The last place is for missing values.
            places = np.append(np.cumsum(occurs, dtype=np.intp) - 1, np.count_nonzero(occurs))
            return places[codes], [*compress(values, occurs), *[None] * int(missing)]
        except MemoryError:
            raise
        except Exception:
            pass
        # Outside, so the other error is not a part of this one.
        must = "hold values that can be compared and sorted"
        raise RefusedType("", must, kind_of(self.column(name)), column=name)

    def declared(self, name: str) -> tuple[object, ...]:
        """Return the categories that the type of a column lists: of an Enum, or booleans."""
        listed, is_declared, is_ordered = self.categories(name)
        return listed if is_declared or is_ordered else ()

    def made(self, columns: Mapping[str, Any], order: np.ndarray | None) -> Any:
        """Make a table of the caller's type: columns by name, None if it stays; rows in order.

        This is the one place: results are made from visible cells and declared types.
        """
        found = {}
        for name, new in columns.items():
            if new is None:
                found[name] = self._rebuilt(name, order)
            else:
                found[name] = new if order is None else self._taken(new, order)
        return self._table(found)


def dates_in(column: Cells) -> tuple[np.ndarray, Mask | None]:
    """Return dates without a time zone as an array; which are missing, if any."""
    if getattr(column.type, "tz", None) is not None:
        raise WrongType("Datetime")
    values = np.asarray(column).astype("M8[us]")
    return values, some(np.isnat(values))


def numbers_in(column: Cells) -> tuple[np.ndarray, Mask | None]:
    """Return numbers as an array, 0 for missing ones; which are missing, if any."""
    missing = arrow_cells.nulls(column)
    values = np.asarray(column if missing is None else column.fill_null(0))
    return values, nans(values, missing)


def _found(table: Table, name: str) -> Coded:
    """Find codes, -1 if missing, and the categories of the type's values, ascending."""
    listed = table.objects(name)
    try:
        column = table.cells(name) if listed is None else None
    except WrongType:
        # Intervals of pandas, for example, are Python's objects when they are listed.
        native = table.column(name)
        listed, column = list(getattr(native, "tolist", native.__iter__)()), None
    if column is None:
        codes, values = _of_objects(listed or [])
        order = sorted(range(len(values)), key=lambda i: (type(values[i]).__name__, values[i]))
        values = [values[i] for i in order]
    else:
        entries, places = coding.parts(column)
        encoded = arrow_cells.whole(coding.alike(entries).dictionary_encode())
        order = pc.sort_indices(encoded.dictionary).to_numpy()
        codes, values = encoded.indices.fill_null(-1).to_numpy(), encoded.dictionary.take(order)
        values = values.to_pylist()
        if places is not None:
            none = arrow_cells.nulls(places)
            codes, _at = coding.at_places(codes, places)
            codes = codes if none is None else np.where(none, -1, codes)
    ranks = np.full(len(values) + 1, -1)
    ranks[order] = np.arange(len(values))
    return ranks[codes], values


def _is_missing(value: object) -> bool:
    return value is None or type(value).__name__ == "NAType" or value != value


def _of_objects(listed: list[object]) -> Coded:
    # True and 1 are equal in Python, but two categories.
    known: dict[tuple[bool, object], int] = {}
    codes = [
        -1
        if _is_missing(value)
        else known.setdefault((isinstance(value, bool | np.bool_), value), len(known))
        for value in listed
    ]
    return np.array(codes, np.intp), [value for _is_bool, value in known]
