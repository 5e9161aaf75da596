"""Dicts of arrays, and the lookups from values to codes that all tables share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core
from bistochastic.adapters.frames import Undeclared, WrongType, distinct
from bistochastic.labels import bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from bistochastic.adapters.frames import Codes, Mask
    from bistochastic.labels import Labels

# Whole numbers in a range of up to so many are looked up, others searched for.
_TABLE = 1 << 16


@cache
def narrow(size: int) -> np.dtype[Any]:
    """The narrowest unsigned integers for so many codes.

    >>> narrow(256), narrow(257)
    (dtype('uint8'), dtype('uint16'))
    """
    for dtype, most in ((np.uint8, 8), (np.uint16, 16), (np.uint32, 32)):
        if size <= 1 << most:
            return np.dtype(dtype)
    return np.dtype(np.uint64)


def solid(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The same numbers of this type, one after the other in memory; most are so already."""
    flags = values.flags
    if values.dtype == dtype and flags.c_contiguous and flags.aligned:
        return values
    return np.require(values, dtype=dtype, requirements=["C", "A"])


def recoded(values: NDArray[Any], size: int, dtype: np.dtype[Any]) -> NDArray[Any] | None:
    """Whole numbers as those of another type; None where one is not from 0 to below ``size``.

    The caller's own memory, where the type has the same width.

    >>> recoded(np.array([0, 2]), 3, np.dtype("uint8")), recoded(np.array([-1]), 3, narrow(3))
    (array([0, 2], dtype=uint8), None)
    """
    plain = values.dtype.newbyteorder("=")
    values = solid(values, plain)
    if plain.itemsize == dtype.itemsize:
        unsigned = values.view(f"u{plain.itemsize}")
        # As unsigned, a negative number is larger than any size that its type counts.
        good = not len(values) or int(unsigned.max()) < size
        return values.view(dtype) if good else None
    return _core.plan_recode(values, size, dtype)


def check(unknown: Mask, missing: Mask | None) -> None:
    """Refuse rows that hold no declared category and are not missing."""
    if missing is not None:
        unknown = unknown & ~missing
    if unknown.any():
        raise Undeclared(unknown)


def of_integers(values: NDArray[Any], labels: Labels, missing: Mask | None) -> Codes:
    """The codes of whole numbers, of any width: their own memory where they are codes already."""
    dtype = narrow(len(labels))
    low, high, in_order = bounds(labels)
    if not len(values):
        return values.astype(dtype)
    if missing is not None:
        values = np.where(missing, values.dtype.type(labels.values[0]), values)
    if in_order:
        # In the order of the codes: nothing to look up.
        codes = recoded(values, len(labels), np.dtype(f"u{values.dtype.itemsize}"))
        if codes is None:
            raise Undeclared((values < 0) | (values > high))
        return codes
    given = np.array(labels.values, dtype=np.int64)
    check((values < low) | (values > high), None)
    if high - low < _TABLE:
        table = np.zeros(high - low + 1, dtype)
        known = np.zeros(high - low + 1, bool)
        table[given - low] = np.arange(len(given), dtype=dtype)
        known[given - low] = True
        places = values.astype(np.int64) - low
        if not known.all():
            check(~known[places], None)
        return table[places]
    order = np.argsort(given)
    values = values.astype(np.int64)
    at = np.searchsorted(given, values, sorter=order)
    codes = order[np.minimum(at, len(given) - 1)]
    check(given[codes] != values, None)
    return codes.astype(dtype)


def of_booleans(values: NDArray[np.bool_], labels: Labels, missing: Mask | None) -> Codes:
    """The codes of truth values."""
    table = np.zeros(2, np.uint8)
    known = np.zeros(2, bool)
    for code, value in enumerate(labels.values):
        table[int(value)] = code
        known[int(value)] = True
    places = values.astype(bool, copy=False).view(np.uint8)
    if not known.all():
        check(~known[places], missing)
    if table[1] == 1:
        return places
    return table[places]


@dataclass(frozen=True)
class Entries:
    """The codes of a list of entries that a column is written as indices into.

    An entry that no row has may be anything.
    """

    codes: Codes
    unknown: Mask | None
    """Which entries are no category; None where all are."""
    missing: Mask | None
    """Which entries stand for missing values; None where none does."""
    in_order: bool
    """Whether each entry's code is its own place."""

    @classmethod
    def of(cls, entries: Sequence[Any], labels: Labels) -> Entries:
        """Look every entry up."""
        kinds = {type(entry).__name__ for entry in entries if entry is not None}
        if kinds and kinds.isdisjoint({{"text": "str", "integer": "int"}.get(labels.kind, "bool")}):
            raise WrongType(f"categories of {min(kinds)}")
        found = [labels.code(entry) for entry in entries]
        none = np.array([entry is None for entry in entries], dtype=bool)
        unknown = np.array([code is None for code in found], dtype=bool) & ~none
        return cls(
            np.array([code or 0 for code in found] or [0], dtype=narrow(len(labels))),
            unknown if unknown.any() else None,
            none if none.any() else None,
            found == list(range(len(found))),
        )

    def at(self, indices: NDArray[Any], nulls: Mask | None) -> tuple[Codes, Mask | None]:
        """The codes of rows, any index below null; which are missing, if any."""
        codes, missing, others = self.split(indices, nulls)
        if others is not None:
            check(others, None)
        return codes, missing

    def split(
        self, indices: NDArray[Any], nulls: Mask | None
    ) -> tuple[Codes, Mask | None, Mask | None]:
        """The same, and which rows hold no category, if any might."""
        missing = nulls
        places = indices if nulls is None else np.where(nulls, indices.dtype.type(0), indices)
        if self.missing is not None and len(places):
            none = self.missing[places]
            missing = none if nulls is None else none | nulls
            missing = missing if missing.any() else None
        others = None
        if self.unknown is not None and len(places):
            others = self.unknown[places]
            others = others if missing is None else others & ~missing
        if self.in_order and nulls is None:
            codes = recoded(indices, max(len(self.codes), 1), self.codes.dtype)
            if codes is None:
                raise Undeclared((indices < 0) | (indices >= len(self.codes)))
            return codes, missing, others
        return np.take(self.codes, places, mode="clip"), missing, others


# Types of Python's that each kind of category has.
_TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "integer": (int, np.integer),
    "boolean": (bool, np.bool_),
}


def of_objects(values: list[Any], labels: Labels) -> tuple[Codes, Mask | None]:
    """The codes of Python's texts, numbers or truth values; None and NaN are missing."""
    types = list(map(type, values))
    missing: Mask | None = None
    others = False
    for kind in set(types):
        if issubclass(kind, _TYPES[labels.kind]) and (kind is not bool or labels.kind == "boolean"):
            continue
        if kind not in (type(None), float):
            raise WrongType(kind.__name__)
        others = True
    if others:
        array = np.array(values, dtype=object)
        # As objects, one by one: NaN is not equal to itself.
        nan = np.asarray(array != array).astype(bool)
        if types.count(float) != np.count_nonzero(nan):
            raise WrongType("float")
        missing = nan | np.asarray(array == np.array(None)).astype(bool)
    table = {value: code for code, value in enumerate(labels.values)}
    found = np.fromiter(map(table.get, values, repeat(-1)), np.int64, len(values))
    check(found < 0, missing)
    if missing is not None:
        found[missing] = 0
    return found.astype(narrow(len(labels))), missing


def of_texts(values: NDArray[np.str_], labels: Labels) -> Codes:
    """The codes of NumPy's own texts."""
    given = np.array(labels.values)
    order = np.argsort(given)
    at = np.searchsorted(given, values, sorter=order)
    codes = order[np.minimum(at, len(given) - 1)]
    check(given[codes] != values, None)
    return codes.astype(narrow(len(labels)))


def holds(dtype: np.dtype[Any], labels: Labels) -> None:
    """Refuse whole numbers of a type that cannot hold every report."""
    limits = np.iinfo(dtype)
    low, high, _in_order = bounds(labels)
    if low < limits.min or high > limits.max:
        raise WrongType(f"{dtype}, which cannot hold every category")


def numbers_of(labels: Labels, codes: Codes, dtype: Any) -> NDArray[Any]:
    """The whole numbers or truth values that these codes stand for; codes that there are."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu" and labels.kind == "integer" and bounds(labels)[2]:
        if codes.dtype.itemsize == dtype.itemsize:
            return codes.view(dtype)
        found = recoded(codes, len(labels), dtype)
        if found is not None:
            return found
    # Without looking at each code again.
    return np.take(np.array(labels.values, dtype=dtype), codes, mode="clip")


def words(values: NDArray[Any]) -> tuple[str, NDArray[np.uint64]]:
    """Numbers as words of eight bytes, and of what kind: the same whatever their width was."""
    if values.dtype.kind == "f":
        wide = np.ascontiguousarray(values, dtype=np.float64)
        return "real", wide.view(np.uint64)
    if values.dtype.kind == "u":
        large = np.ascontiguousarray(values, dtype=np.uint64)
        return "large" if len(large) and int(large.max()) >= 2**63 else "whole", large
    return "whole", np.ascontiguousarray(values, dtype=np.int64).view(np.uint64)


class Arrays:
    """A dict of arrays or lists, all of one length."""

    together = False

    def __init__(self, frame: Mapping[str, Any]) -> None:
        self._names = distinct(list(frame))
        self._given = dict(frame)
        lengths = set()
        for name, column in self._given.items():
            if not isinstance(column, np.ndarray | list):
                must = "`frame` must hold NumPy arrays or lists"
                raise TypeError(f"column `{name}`: {must}; got {type(column).__name__}")
            if isinstance(column, np.ndarray) and column.ndim != 1:
                must = "`frame` must hold arrays of one axis"
                raise ValueError(f"column `{name}`: {must}; got {column.ndim}")
            lengths.add(len(column))
        if len(lengths) > 1:
            listed = ", ".join(str(n) for n in sorted(lengths))
            raise ValueError(f"`frame` must hold columns of one length; got {listed}")
        self._rows = lengths.pop() if lengths else 0

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""
        return self._names

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self._rows

    def codes(self, name: str, labels: Labels) -> tuple[Codes, Mask | None]:
        """The code of every row, and which rows are missing, if any."""
        column = self._given[name]
        if isinstance(column, list):
            if labels.kind != "integer" or set(map(type, column)) != {int}:
                return of_objects(column, labels)
            column = np.array(column)
        missing, plain = _masked(column), np.ma.getdata(column)
        kind = plain.dtype.kind
        if kind in "OT":
            if missing is not None:
                plain = np.where(missing, np.array(None), plain)
            return of_objects(plain.tolist(), labels)
        if labels.kind == "text" and kind == "U":
            if missing is not None:
                plain = np.where(missing, labels.values[0], plain)
            return of_texts(plain, labels), missing
        if labels.kind == "integer" and kind in "iu":
            holds(plain.dtype, labels)
            return of_integers(plain, labels, missing), missing
        if labels.kind == "boolean" and kind == "b":
            return of_booleans(plain, labels, missing), missing
        raise WrongType(f"dtype {plain.dtype}")

    def labelled(self, name: str, labels: Labels, codes: Codes, missing: Mask | None) -> Any:
        """A column like that one, with these codes."""
        column = self._given[name]
        if isinstance(column, list):
            entries = np.array(labels.values, dtype=object)
            return _with_none(entries[codes], missing).tolist()
        kind = column.dtype.kind
        if kind == "O":
            found = _with_none(np.array(labels.values, dtype=object)[codes], missing)
        elif kind == "U":
            entries = np.array(labels.values)
            found = entries.astype(np.promote_types(entries.dtype, column.dtype))[codes]
        elif kind == "T":
            found = np.array(labels.values, dtype=column.dtype)[codes]
            if missing is not None:
                found[missing] = column.dtype.na_object
        else:
            found = numbers_of(labels, codes, column.dtype.newbyteorder("="))
            found = found.astype(column.dtype, copy=False)
        if isinstance(column, np.ma.MaskedArray):
            return np.ma.array(
                found, mask=np.zeros(len(found), bool) if missing is None else missing
            )
        return found

    def can_be_missing(self, name: str) -> bool:
        """Whether a column like that one can hold missing values."""
        column = self._given[name]
        if isinstance(column, list | np.ma.MaskedArray) or column.dtype.kind == "O":
            return True
        return hasattr(column.dtype, "na_object")

    def numbers(self, name: str) -> tuple[NDArray[Any], Mask | None]:
        """A numeric column, and which rows are missing, if any."""
        column = self._given[name]
        array = np.asarray(column) if isinstance(column, list) else column
        missing, plain = _masked(array), np.ma.getdata(array)
        if plain.ndim != 1:
            raise WrongType("lists")
        if plain.dtype.kind not in "iuf" or plain.dtype.itemsize > 8:
            raise WrongType(f"dtype {plain.dtype}")
        return plain, nans(plain, missing)

    def numbered(self, name: str, values: NDArray[Any]) -> Any:
        """A column like that one, with these numbers."""
        column = self._given[name]
        if isinstance(column, list):
            return values.tolist()
        found = values.astype(column.dtype, copy=False)
        return np.ma.array(found) if isinstance(column, np.ma.MaskedArray) else found

    def ids(self, name: str) -> tuple[Any, Mask | None]:
        """Ids as an array of whole numbers or texts, or a list; which are missing."""
        column = self._given[name]
        if isinstance(column, list) or column.dtype.kind in "OT":
            return id_list(list(column)), None
        missing, plain = _masked(column), np.ma.getdata(column)
        if plain.dtype.kind in "iu":
            return whole(plain), missing
        if plain.dtype.kind == "U":
            return plain, missing
        raise WrongType(f"dtype {plain.dtype}")

    def texts(self, values: Sequence[str]) -> Any:
        """A column of texts."""
        return np.array(values, dtype=str)

    def made(self, columns: Mapping[str, Any], order: NDArray[Any] | None) -> Any:
        """A dict of the columns by name, None for one as it is; rows in order."""
        found = {}
        for name, column in columns.items():
            new = self._given[name] if column is None else column
            if order is not None:
                is_list = isinstance(new, list)
                new = list(map(new.__getitem__, order.tolist())) if is_list else new[order]
            elif column is None:
                new = list(new) if isinstance(new, list) else new.copy()
            found[name] = new
        return found


def nans(values: NDArray[Any], missing: Mask | None) -> Mask | None:
    """Missing rows, those that are not a number among them; None where there is none."""
    if values.dtype.kind == "f":
        none = np.isnan(values)
        missing = none if missing is None else missing | none
    return missing if missing is not None and missing.any() else None


def whole(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in eight bytes."""
    wide = np.uint64 if values.dtype.kind == "u" else np.int64
    # What came out of a message of another process may lie at an odd address.
    return solid(values, np.dtype(wide))


def id_list(values: list[Any]) -> Any:
    """Ids of Python's: an array where all are whole numbers, so that it does not matter."""
    kinds = set(map(type, values))
    if kinds <= {int} and values:
        try:
            array = np.array(values)
        except OverflowError:
            return values
        return whole(array) if array.dtype.kind in "iu" else values
    return values


def _masked(column: NDArray[Any]) -> Mask | None:
    if not isinstance(column, np.ma.MaskedArray):
        return None
    mask = np.ma.getmaskarray(column)
    return mask if mask.any() else None


def _with_none(values: NDArray[Any], missing: Mask | None) -> NDArray[Any]:
    if missing is not None:
        values[missing] = None
    return values
