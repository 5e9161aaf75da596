"""Dicts of arrays, and the lookups from values to codes that all tables share."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic.errors import Refused, RefusedType
from bistochastic_survey.plan.labels import EXACT, spelled_as
from bistochastic_survey.table.frames import Undeclared, WrongType, distinct

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Literal

    from numpy.typing import NDArray

    from bistochastic_survey.plan.labels import Labels
    from bistochastic_survey.table.frames import Codes, Mask

    Holds = Literal["text", "integer", "boolean", "float"]

# Integers in a range of at most this many are looked up; others are searched for.
_TABLE = 1 << 16


@cache
def narrow(size: int) -> np.dtype:
    """Return the narrowest unsigned integer type for this many codes."""
    return np.min_scalar_type(max(size - 1, 0))


def solid(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the same numbers of this type, one after the other in memory; most are so already."""
    flags = values.flags
    if values.dtype == dtype and flags.c_contiguous and flags.aligned:
        return values
    return np.require(values, dtype=dtype, requirements=["C", "A"])


def recoded(values: np.ndarray, size: int, dtype: np.dtype) -> np.ndarray | None:
    """Convert integers to another type; None if one is not from 0 to below ``size``.

    The result is the caller's own memory if the type has the same width.
    """
    plain = values.dtype.newbyteorder("=")
    values = solid(values, plain)
    # As unsigned, a negative number is larger than all that its type counts.
    most = min(size - 1, int(np.iinfo(plain).max))
    if len(values) and int(values.view(f"u{plain.itemsize}").max()) > most:
        return None
    return values.view(dtype) if plain.itemsize == dtype.itemsize else values.astype(dtype)


def check(unknown: Mask, missing: Mask | None) -> None:
    """Reject rows that hold no declared category and are not missing."""
    if missing is not None:
        unknown = unknown & ~missing
    if unknown.any():
        raise Undeclared(unknown)


def kind_of(known: Iterable[bool]) -> Holds | None:
    """Name the kind of a column by whether it holds text, booleans, integers or floats."""
    return next((kind for kind, is_one in zip(NAMES, known, strict=True) if is_one), None)


def spelled(labels: Labels, kind: Holds | None, what: object) -> tuple[Holds, Labels]:
    """Spell the categories for a column of that kind; ``WrongType`` if it cannot hold them."""
    found = None if kind is None else spelled_as(labels, "integer" if kind == "float" else kind)
    if kind is None or found is None:
        raise WrongType(what)
    if kind == "float":
        holds(np.dtype(np.float64), found)
    return kind, found


def of_values(
    values: np.ndarray, labels: Labels, missing: Mask | None
) -> tuple[Codes, Mask | None]:
    """Find the codes of booleans, floats or integers, and which rows are missing.

    NaN is missing, and only whole floats are categories.
    """
    if values.dtype.kind == "b":
        return _of_integers(values.view(np.uint8), labels, missing), missing
    holds(values.dtype, labels)
    if values.dtype.kind == "f":
        missing = nans(values, missing)
        fits = np.abs(values) < EXACT
        numbers = np.where(fits, values, 0).astype(np.int64)
        others = ~fits | (numbers != values)
        # Above all categories, so they are counted with the others.
        numbers[others] = labels._bounds[1] + 1
        values = numbers
    return _of_integers(values, labels, missing), missing


def _of_integers(values: np.ndarray, labels: Labels, missing: Mask | None) -> Codes:
    """Return the codes of integers, of any width: their own memory if they are codes already."""
    dtype = narrow(len(labels))
    low, high, in_order = labels._bounds
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
    outside = (values < low) | (values > high)
    if outside.any():
        # A category in their place, so all others are counted.
        values = np.where(outside, values.dtype.type(low), values)
    if high - low < _TABLE:
        table = np.zeros(high - low + 1, dtype)
        known = np.zeros(high - low + 1, bool)
        table[given - low] = np.arange(len(given), dtype=dtype)
        known[given - low] = True
        places = values.astype(np.int64) - low
        check(outside if known.all() else outside | ~known[places], None)
        return table[places]
    return _searched(given, values.astype(np.int64), outside)


def _searched(given: np.ndarray, values: np.ndarray, unknown: Mask | bool = False) -> Codes:
    """Return the place of each value among the given ones; those that are not raise."""
    order = np.argsort(given)
    at = np.searchsorted(given, values, sorter=order)
    codes = order[np.minimum(at, len(given) - 1)]
    check(unknown | (given[codes] != values), None)
    return codes.astype(narrow(len(given)))


@dataclass(frozen=True)
class Entries:
    """The codes of a list of entries that a column is written as indices into.

    An entry that no row has may be anything.
    """

    codes: Codes
    unknown: Mask | None
    """Which entries are not a category; None if all are."""
    missing: Mask | None
    """Which entries are missing values; None if none is."""
    in_order: bool
    """Whether each entry's code is its own place."""

    @classmethod
    def of(cls, entries: Sequence[object], labels: Labels) -> Entries:
        """Look every entry up."""
        found = [labels.code(entry) for entry in entries]
        none = np.array([entry is None or entry != entry for entry in entries], dtype=bool)
        unknown = np.array([code is None for code in found], dtype=bool) & ~none
        return cls(
            np.array([code or 0 for code in found] or [0], dtype=narrow(len(labels))),
            some(unknown),
            some(none),
            found == list(range(len(found))),
        )

    def at(self, indices: np.ndarray, nulls: Mask | None) -> tuple[Codes, Mask | None]:
        """Return the codes of rows, any index below null; which are missing, if any."""
        missing = nulls
        places = indices if nulls is None else np.where(nulls, indices.dtype.type(0), indices)
        if self.missing is not None:
            none = self.missing[places]
            missing = some(none if nulls is None else none | nulls)
        if self.unknown is not None:
            check(self.unknown[places], missing)
        if self.in_order and nulls is None:
            codes = recoded(indices, max(len(self.codes), 1), self.codes.dtype)
            if codes is None:
                raise Undeclared((indices < 0) | (indices >= len(self.codes)))
            return codes, missing
        return np.take(self.codes, places, mode="clip"), missing


# The contents of arrays, by the kind of their type, in Python's words.
_ARRAYS: dict[str, Holds] = {"U": "text", "i": "integer", "u": "integer", "b": "boolean",
                             "f": "float"}  # fmt: skip
NAMES: dict[Holds, str] = {"text": "str", "boolean": "bool", "integer": "int", "float": "float"}
# Python's types in words; a boolean is an int, too, so it comes first.
_HOLDS: tuple[tuple[tuple[type, ...], Holds], ...] = (
    ((bool, np.bool_), "boolean"),
    ((int, np.integer), "integer"),
    ((str,), "text"),
    ((float, np.floating), "float"),
)


def objects_hold(values: Sequence[object], labels: Labels) -> Holds:
    """Say what Python's objects are, except None and NaN: strings, integers, booleans or floats."""
    found: dict[Holds, str] = {}
    for kind in set(map(type, values)) - {type(None)}:
        known = next((holds for types, holds in _HOLDS if issubclass(kind, types)), None)
        if known is None:
            raise WrongType(kind.__name__)
        found[known] = kind.__name__
    if "float" in found and all(v != v for v in values if isinstance(v, float | np.floating)):
        del found["float"]
    if found.keys() == {"integer", "float"}:
        return "float"
    if len(found) > 1:
        raise WrongType(" and ".join(sorted(found.values())))
    return next(iter(found), labels.kind)


def of_objects(values: list[object], labels: Labels) -> tuple[Codes, Mask | None]:
    """Find the codes of Python's objects, spelled like the categories; None and NaN are missing."""
    # 2.0 is found as 2, and NaN is not found.
    table: dict[object, int] = {value: code for code, value in enumerate(labels.values)}
    found = np.fromiter(map(table.get, values, repeat(-1)), np.int64, len(values))
    missing: Mask | None = None
    if len(found) and int(found.min()) < 0:
        array = np.array(values, dtype=object)
        # As objects, one by one: NaN is not equal to itself.
        nan = np.asarray(array != array).astype(bool)
        missing = nan | np.asarray(array == np.array(None)).astype(bool)
        check(found < 0, missing)
        found[missing] = 0
    return found.astype(narrow(len(labels))), missing


def objects_of(labels: Labels, kind: Holds, codes: Codes, missing: Mask | None) -> np.ndarray:
    """Return the Python objects of these codes, None for missing ones."""
    entries = np.empty(len(labels), dtype=object)
    entries[:] = [float(value) if kind == "float" else value for value in labels.values]
    return _with_none(entries[codes], missing)


def holds(dtype: np.dtype, labels: Labels) -> None:
    """Reject numbers of a type that cannot hold every reported value."""
    low, high, _in_order = labels._bounds
    if dtype.kind == "f":
        most = min(EXACT, 2 << int(np.finfo(dtype).nmant)) - 1
        least = -most
    else:
        least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if low < least or high > most:
        raise WrongType(f"{dtype}, which cannot hold every category")


def numbers_of(labels: Labels, codes: Codes, dtype: Any, missing: Mask | None = None) -> np.ndarray:
    """Return the numbers or booleans of these codes; a missing float is NaN."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu" and labels.kind == "integer" and labels._bounds[2]:
        if codes.dtype.itemsize == dtype.itemsize:
            return codes.view(dtype)
        found = recoded(codes, len(labels), dtype)
        if found is not None:
            return found
    # Without looking at each code again.
    taken = np.take(np.array(labels.values, dtype=dtype), codes, mode="clip")
    if missing is not None and dtype.kind == "f":
        taken[missing] = np.nan
    return taken


def words(values: np.ndarray) -> tuple[str, NDArray[np.uint64]]:
    """Convert numbers to words of eight bytes, with their kind, the same for any width."""
    if values.dtype.kind == "f":
        return "real", np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    wide = whole(values)
    large = wide.dtype.kind == "u" and len(wide) and int(wide.max()) >= 2**63
    return "large" if large else "whole", wide.view(np.uint64)


class Arrays:
    """A dict of arrays or lists, all of one length."""

    def __init__(self, frame: Mapping[str, object]) -> None:
        self.names = distinct(list(frame))
        self._objects: dict[str, Holds] = {}
        self._given: dict[str, np.ndarray | list[object]] = {}
        lengths = set()
        for name, column in frame.items():
            if not isinstance(column, np.ndarray | list):
                must = "hold NumPy arrays or lists"
                raise RefusedType("frame", must, type(column).__name__, column=name)
            if isinstance(column, np.ndarray) and column.ndim != 1:
                raise Refused("frame", "hold arrays of one axis", column.ndim, column=name)
            self._given[name] = column
            lengths.add(len(column))
        if len(lengths) > 1:
            listed = ", ".join(str(n) for n in sorted(lengths))
            raise Refused("frame", "hold columns of one length", listed)
        self.rows: int = lengths.pop() if lengths else 0

    def column(self, name: str) -> np.ndarray | list[object]:
        return self._given[name]

    def codes(self, name: str, labels: Labels) -> tuple[Codes, Mask | None]:
        column = self._given[name]
        kind, labels = self._spelled(name, labels)
        if isinstance(column, list):
            if kind != "integer" or set(map(type, column)) != {int}:
                return of_objects(column, labels)
            column = np.array(column)
        plain, missing = _parts(column)
        is_objects = plain.dtype.kind in "OT"
        if missing is not None and (is_objects or kind == "text"):
            plain = np.where(missing, np.array(None) if is_objects else labels.values[0], plain)
        if is_objects:
            return of_objects(plain.tolist(), labels)
        if kind == "text":
            return _searched(np.array(labels.values), plain), missing
        return of_values(plain, labels, missing)

    def _spelled(self, name: str, labels: Labels) -> tuple[Holds, Labels]:
        """Return the kind of a column, and the categories spelled in that kind."""
        column = self._given[name]
        kind = None if isinstance(column, list) else _ARRAYS.get(column.dtype.kind)
        what = "list" if isinstance(column, list) else f"dtype {column.dtype}"
        if kind is None and (isinstance(column, list) or column.dtype.kind in "OT"):
            if name not in self._objects:
                if not isinstance(column, list):
                    plain, missing = _parts(column)
                    column = (plain if missing is None else plain[~missing]).tolist()
                self._objects[name] = objects_hold(column, labels)
            kind = self._objects[name]
            what = NAMES[kind]
        return spelled(labels, kind, what)

    def labelled(
        self, name: str, labels: Labels, codes: Codes, missing: Mask | None
    ) -> np.ndarray | list[object]:
        column = self._given[name]
        holds, labels = self._spelled(name, labels)
        if isinstance(column, list):
            return list(objects_of(labels, holds, codes, missing))
        dtype: Any = column.dtype
        kind = dtype.kind
        if kind == "O":
            found = objects_of(labels, holds, codes, missing)
        elif kind == "U":
            entries = np.array(labels.values)
            found = entries.astype(np.promote_types(entries.dtype, column.dtype))[codes]
        elif kind == "T":
            found = np.array(labels.values, dtype=dtype)[codes]
            if missing is not None:
                found[missing] = dtype.na_object
        else:
            found = numbers_of(labels, codes, dtype.newbyteorder("="), missing)
            found = found.astype(dtype, copy=False)
        return _as_masked(found, missing) if isinstance(column, np.ma.MaskedArray) else found

    def can_be_missing(self, name: str) -> bool:
        column = self._given[name]
        if isinstance(column, list | np.ma.MaskedArray) or column.dtype.kind in "Of":
            return True
        return hasattr(column.dtype, "na_object")

    def numbers(self, name: str) -> tuple[np.ndarray, Mask | None]:
        column = self._given[name]
        if isinstance(column, list):
            none = [each is None for each in column]
            filled = np.asarray([0 if each is None else each for each in column])
            column = np.ma.array(filled, mask=none) if any(none) else filled
        plain, missing = _parts(column)
        if plain.ndim != 1:
            raise WrongType("lists")
        if plain.dtype.kind not in "iuf" or plain.dtype.itemsize > 8:
            raise WrongType(f"dtype {plain.dtype}")
        return plain, nans(plain, missing)

    def relabelled(
        self, name: str, labels: Labels, codes: Codes, missing: Mask | None
    ) -> np.ndarray | list[object]:
        if isinstance(self._given[name], np.ndarray) and missing is None:
            return np.array(labels.values)[codes]
        found = objects_of(labels, labels.kind, codes, missing)
        return list(found) if isinstance(self._given[name], list) else found

    def dates(self, name: str) -> tuple[np.ndarray, Mask | None]:
        column = self._given[name]
        plain, masked = _parts(np.array(column, object) if isinstance(column, list) else column)
        if plain.dtype.kind == "O":
            kinds = set(map(type, plain.tolist()))
            zoned = any(getattr(each, "tzinfo", None) is not None for each in column)
            if not kinds <= {date, datetime, type(None)} or zoned:
                raise WrongType(" and ".join(sorted(kind.__name__ for kind in kinds)))
            plain = np.array(column, dtype="M8[us]")
        if plain.dtype.kind != "M":
            raise WrongType(f"dtype {plain.dtype}")
        return plain, some(np.isnat(plain) if masked is None else np.isnat(plain) | masked)

    def numbered(
        self, name: str, values: np.ndarray, missing: Mask | None = None, *, own: bool = False
    ) -> np.ndarray | list[object]:
        column = self._given[name]
        if isinstance(column, list):
            return list(_with_none(values.astype(object), missing))
        found = values if own or column.dtype.kind == "O" else values.astype(column.dtype)
        if isinstance(column, np.ma.MaskedArray):
            return _as_masked(found, missing)
        if missing is None:
            return found
        if found.dtype.kind not in "fM":
            return _with_none(found.astype(object), missing)
        found[missing] = np.nan if found.dtype.kind == "f" else np.datetime64("NaT")
        return found

    def ids(self, name: str) -> tuple[np.ndarray | list[object], Mask | None]:
        column = self._given[name]
        if isinstance(column, list) or column.dtype.kind in "OT":
            return id_list(list(column)), None
        plain, missing = _parts(column)
        if plain.dtype.kind in "iu":
            return whole(plain), missing
        if plain.dtype.kind == "U":
            return plain, missing
        raise WrongType(f"dtype {plain.dtype}")

    def texts(self, values: Sequence[str]) -> np.ndarray:
        return np.array(values, dtype=str)

    def is_declared(self, name: str) -> bool:
        """Whether a column like that one lists its categories: none does."""
        return False

    def made(self, columns: Mapping[str, Any], order: np.ndarray | None) -> dict[str, Any]:
        found = {}
        for name, new in columns.items():
            known = new is not None and order is None
            found[name] = new if known else made(self._given[name] if new is None else new, order)
        return found


def made(given: Any, order: np.ndarray | None = None) -> Any:
    """Return the cells of an array or a list as a new one, rows in order: the door for NumPy.

    Values under a mask, the fill value and metadata of the type are dropped.
    """
    if isinstance(given, list | tuple):
        rows = given if order is None else [given[i] for i in order.tolist()]
        return list(rows) if isinstance(given, list) else tuple(rows)
    found = given if order is None else given[order]
    dtype = _plain_type(found.dtype)
    # Not a copy: it would include bytes between the fields of a record.
    new = np.zeros(found.shape, dtype)
    masked = isinstance(found, np.ma.MaskedArray)
    new[...] = found.filled(np.zeros((), found.dtype)[()]) if masked else np.asarray(found)
    one_nan(new)
    return np.ma.array(new, mask=np.ma.getmaskarray(found).copy()) if masked else new


def _plain_type(dtype: np.dtype) -> np.dtype:
    """Return the type without notes and without titles of fields."""
    if dtype.names is not None:
        return np.dtype([(name, _plain_type(dtype[name])) for name in dtype.names])
    if dtype.subdtype is not None:
        return np.dtype((_plain_type(dtype.subdtype[0]), dtype.shape))
    return dtype if dtype.kind in "OTV" else np.dtype(dtype.str)


def one_nan(values: np.ndarray) -> None:
    """Write every NaN in the same way: the bits of a NaN can hold something."""
    if values.dtype.kind in "fc":
        wrong = np.isnan(values)
        if wrong.any():
            values[wrong] = np.nan


_ORDERED = (str, bytes, int, float, Decimal, date, time, timedelta, np.generic)


def in_order(values: list[Any]) -> list[int]:
    """Return the places of different values from the first to the last: by type, then by value.

    Values without an order are sorted by how they are written.
    """
    kinds = [type(value).__name__ for value in values]
    places = range(len(values))
    if all(isinstance(value, _ORDERED) for value in values):
        with contextlib.suppress(TypeError):
            # NaN is not equal to itself, and comes after all numbers.
            return sorted(places, key=lambda i: (
                kinds[i], values[i] != values[i], values[i], repr(values[i])))  # fmt: skip
    return sorted(places, key=lambda i: (kinds[i], repr(values[i])))


def nans(values: np.ndarray, missing: Mask | None) -> Mask | None:
    """Find the rows that are missing or NaN; None if none is."""
    if values.dtype.kind == "f":
        none = np.isnan(values)
        missing = none if missing is None else missing | none
    return None if missing is None else some(missing)


def some(mask: Mask) -> Mask | None:
    """Return the mask, or None if no row is in it."""
    return mask if mask.any() else None


def whole(values: np.ndarray) -> np.ndarray:
    """Integers in eight bytes."""
    wide = np.uint64 if values.dtype.kind == "u" else np.int64
    # A buffer from a message of another process may be at an odd address.
    return solid(values, np.dtype(wide))


def id_list(values: list[object]) -> np.ndarray | list[object]:
    """Return Python ids: as an array if all are integers, which have the same addresses."""
    if set(map(type, values)) == {int}:
        with contextlib.suppress(OverflowError):
            array = np.array(values)
            return whole(array) if array.dtype.kind in "iu" else values
    return values


def _parts(column: np.ndarray) -> tuple[np.ndarray, Mask | None]:
    """Return an array without its mask, and the mask, if it hides anything."""
    if not isinstance(column, np.ma.MaskedArray):
        return column, None
    return np.ma.getdata(column), some(np.ma.getmaskarray(column))


def _as_masked(values: np.ndarray, missing: Mask | None) -> np.ndarray:
    return np.ma.array(values, mask=np.zeros(len(values), bool) if missing is None else missing)


def _with_none(values: np.ndarray, missing: Mask | None) -> np.ndarray:
    if missing is not None:
        values[missing] = None
    return values
