"""Dicts of NumPy arrays and lists."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from bistochastic.errors import Refused, RefusedType
from bistochastic_survey.table import arrays
from bistochastic_survey.table.arrow_cells import Cells
from bistochastic_survey.table.codes import NAMES, Labelled, of_bytes, of_objects
from bistochastic_survey.table.frames import Codes, Mask, WrongType
from bistochastic_survey.table.table import Table, dates_in, numbers_in


class Arrays(Table):
    """A dict of arrays or lists, all of one length."""

    def __init__(self, frame: Mapping[str, Any]) -> None:
        lengths = set()
        for name, column in frame.items():
            if not isinstance(column, np.ndarray | list):
                must = "hold NumPy arrays or lists"
                raise RefusedType("frame", must, type(column).__name__, column=str(name))
            if isinstance(column, np.ndarray) and column.ndim != 1:
                raise Refused("frame", "hold arrays of one axis", column.ndim, column=str(name))
            lengths.add(len(column))
        if len(lengths) > 1:
            listed = ", ".join(str(n) for n in sorted(lengths))
            raise Refused("frame", "hold columns of one length", listed)
        super().__init__(frame, lengths.pop() if lengths else 0)

    def objects(self, name: str) -> list[object] | None:
        column = self.column(name)
        if isinstance(column, list):
            return column
        # A masked cell of objects or of strings of any length is None.
        return column.tolist() if column.dtype.kind in "OT" else None

    def _called(self, name: str) -> object:
        kind = NAMES.get(self._types[name])
        return self.word(name) if self.objects(name) is None or kind is None else kind

    def word(self, name: str) -> str:
        column = self.column(name)
        return "list" if isinstance(column, list) else f"dtype {column.dtype}"

    def cells(self, name: str, empty: pa.DataType | None = None) -> Cells:
        try:
            return super().cells(name, empty)
        except WrongType:
            column = self.column(name)
            if empty is None or isinstance(column, list) or column.dtype.kind != "U":
                raise
        # Half of a surrogate pair: no category, but not a wrong type.
        self._types[name] = pa.string()
        return of_objects(column.tolist(), empty)

    def _same(self, name: str, values: Sequence[Any]) -> Codes | None:
        column = self.column(name)
        if type(column) is not np.ndarray or column.dtype.kind != "U":
            return None
        # Strings have one width: shorter ones end in zeros, and longer ones do not fit.
        listed = np.array(values, column.dtype)
        fits = column.flags.c_contiguous and listed.tolist() == list(values)
        return of_bytes(column, listed) if fits else None

    def _read(self, name: str) -> pa.Array:
        column = self.column(name)
        if column.dtype.kind not in "iufbUM":
            raise WrongType(self.word(name))
        return _read(column)

    def numbers(self, name: str) -> tuple[np.ndarray, Mask | None]:
        column = self.column(name)
        if isinstance(column, list):
            none = np.array([each is None for each in column], bool)
            column = np.asarray([0 if each is None else each for each in column])
            if column.ndim != 1:
                raise WrongType("lists")
            column = np.ma.array(column, mask=none)
        if column.dtype.kind not in "iuf" or column.dtype.itemsize > 8:
            raise WrongType(f"dtype {column.dtype}")
        return numbers_in(_read(column))

    def dates(self, name: str) -> tuple[np.ndarray, Mask | None]:
        listed = self.objects(name)
        if listed is None:
            if self.column(name).dtype.kind != "M":
                raise WrongType(self.word(name))
            return dates_in(self._read(name))
        kinds = set(map(type, listed))
        zoned = any(getattr(each, "tzinfo", None) is not None for each in listed)
        if not kinds <= {date, datetime, type(None)} or zoned:
            raise WrongType(" and ".join(sorted(kind.__name__ for kind in kinds)))
        values = np.array(listed, dtype="M8[us]")
        return values, arrays.some(np.isnat(values))

    def categories(self, name: str) -> tuple[tuple[Any, ...], bool, bool]:
        is_truth = getattr(getattr(self.column(name), "dtype", None), "kind", "") == "b"
        return (False, True) if is_truth else (), is_truth, False

    def can_be_missing(self, name: str) -> bool:
        column = self.column(name)
        if isinstance(column, list | np.ma.MaskedArray) or column.dtype.kind in "Of":
            return True
        return hasattr(column.dtype, "na_object")

    def _coded(
        self, values: Labelled, codes: Codes, missing: Mask | None, like: Any, own: bool
    ) -> np.ndarray | list[object]:
        is_list = isinstance(like, list)
        if is_list or like.dtype.kind == "O" or (own and missing is not None):
            found = _with_none(np.array([*values, None], object)[codes], missing)
            if is_list:
                return list(found)
        elif own:
            return np.array(values)[codes]
        elif like.dtype.kind == "U":
            entries = np.array(values)
            found = entries.astype(np.promote_types(entries.dtype, like.dtype))[codes]
        else:
            found = np.array(values, dtype=like.dtype)[codes]
            if missing is not None:
                found[missing] = getattr(like.dtype, "na_object", "")
        is_masked = isinstance(like, np.ma.MaskedArray) and not own
        return _as_masked(found, missing) if is_masked else found

    def _valued(
        self, values: np.ndarray, missing: Mask | None, like: Any, own: bool
    ) -> np.ndarray | list[object]:
        if isinstance(like, list):
            return list(_with_none(values.astype(object), missing))
        found = values if own or like.dtype.kind == "O" else values.astype(like.dtype)
        if isinstance(like, np.ma.MaskedArray):
            return _as_masked(found, missing)
        if missing is None:
            return found
        if found.dtype.kind not in "fM":
            return _with_none(found.astype(object), missing)
        found[missing] = np.nan if found.dtype.kind == "f" else np.datetime64("NaT")
        return found

    def texts(self, values: Sequence[str]) -> np.ndarray:
        return np.array(values, dtype=str)

    def _rebuilt(self, name: str, order: np.ndarray | None) -> Any:
        return arrays.made(self.column(name), order)

    def _taken(self, column: Any, order: np.ndarray) -> Any:
        return arrays.made(column, order)

    def _table(self, columns: dict[str, Any]) -> dict[str, Any]:
        return columns


def _as_masked(values: np.ndarray, missing: Mask | None) -> np.ndarray:
    return np.ma.array(values, mask=np.zeros(len(values), bool) if missing is None else missing)


def _with_none(values: np.ndarray, missing: Mask | None) -> np.ndarray:
    if missing is not None:
        values[missing] = None
    return values


def _read(column: np.ndarray) -> pa.Array:
    plain, mask = np.ma.getdata(column), np.ma.getmaskarray(column)
    kind = plain.dtype.kind
    if kind == "f" and plain.dtype.itemsize > 8:
        # What only a longer float can hold is no category.
        near = plain.astype(np.float64)
        plain = np.where((near == plain) | np.isnan(plain), near, np.inf)
    dtype = plain.dtype.newbyteorder("=")
    unit = np.datetime_data(dtype)[0] if kind == "M" else "s"
    if unit in "YMWD":
        days = plain[~np.isnat(plain)].astype("M8[D]").astype(np.int64)
        # Arrow counts days in four bytes.
        dtype = np.dtype("M8[D]" if (np.abs(days) < 1 << 31).all() else "M8[s]")
    elif unit not in ("s", "ms", "us", "ns"):
        dtype = np.dtype("M8[us]")
    return pa.array(plain.astype(dtype, copy=False), mask=mask if mask.any() else None)
