"""pandas DataFrames."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.extensions import ExtensionDtype

from bistochastic.errors import Refused
from bistochastic_survey.table import arrays, arrow_cells
from bistochastic_survey.table.arrow_cells import Cells
from bistochastic_survey.table.codes import NAMES, Labelled, coded, of_objects
from bistochastic_survey.table.frames import Codes, Mask
from bistochastic_survey.table.table import Table


class PandasFrame(Table):
    """A frame with a plain index: any other would be an unprotected column without a name.

    A frame that was filtered is accepted. What leaves is numbered anew, as the numbers of its rows
    would say where they were in the original.
    """

    def __init__(self, native: pd.DataFrame) -> None:
        super().__init__(native, len(native))
        index = native.index
        plain = pd.RangeIndex(len(native))
        filtered = index.dtype.kind in "iu" and index.is_monotonic_increasing and index.is_unique
        if index.nlevels > 1 or index.name is not None or not (filtered or index.equals(plain)):
            must = "have the plain index 0, 1, 2, ..., since another would be published unchanged"
            cure = "reset_index() makes it a column, reset_index(drop=True) leaves it out"
            kind = type(index).__name__ + (" with a name" if index.name is not None else "")
            raise Refused("frame", must, f"{kind}: {cure}")

    def objects(self, name: str) -> list[object] | None:
        series = self.column(name)
        return series.tolist() if _is_object(series.dtype) else None

    def _read(self, name: str) -> Cells:
        return _cells(self.column(name))

    def _called(self, name: str) -> str:
        dtype = self.column(name).dtype
        is_list = isinstance(dtype, pd.CategoricalDtype)
        if not _is_object(dtype.categories.dtype if is_list else dtype):
            return f"dtype {dtype}"
        kind = arrow_cells.value_type(self._types[name])
        return f"{'categories of ' * is_list}{NAMES[kind]}"

    def word(self, name: str) -> str:
        dtype = self.column(name).dtype
        if isinstance(dtype, pd.CategoricalDtype):
            return "Enum" if dtype.ordered else "Categorical"
        texts = _is_object(dtype) and pd.api.types.infer_dtype(self.column(name), skipna=True)
        return "String" if texts in ("string", "empty") else super().word(name)

    def can_be_missing(self, name: str) -> bool:
        dtype = self.column(name).dtype
        return not isinstance(dtype, np.dtype) or dtype.kind in "Of"

    def is_declared(self, name: str) -> bool:
        dtype = self.column(name).dtype
        if isinstance(dtype, pd.ArrowDtype):
            return arrow_cells.is_declared(dtype.pyarrow_dtype)
        return isinstance(dtype, pd.CategoricalDtype) and bool(dtype.ordered)

    def categories(self, name: str) -> tuple[tuple[Any, ...], bool, bool]:
        dtype = self.column(name).dtype
        if isinstance(dtype, pd.CategoricalDtype):
            return tuple(dtype.categories.tolist()), False, bool(dtype.ordered)
        return super().categories(name)

    def _coded(
        self, values: Labelled, codes: Codes, missing: Mask | None, like: Any, own: bool
    ) -> pd.Series:
        dtype = like.dtype
        if isinstance(dtype, pd.CategoricalDtype) and not own:
            kind = pd.CategoricalDtype(_index(values, dtype.categories.dtype), dtype.ordered)
            signed = codes.astype(np.min_scalar_type(-len(values)))
            if missing is not None:
                signed[missing] = -1
            return pd.Series(pd.Categorical.from_codes(signed, dtype=kind, validate=False))
        if isinstance(dtype, pd.ArrowDtype) and not own:
            return _of_arrow(coded(dtype.pyarrow_dtype, values, codes, missing), dtype)
        if own:
            dtype = {str: "str", int: "Int64", bool: "boolean"}[type(values[0])]
            if missing is None and dtype != "str":
                dtype = dtype.lower().removesuffix("ean")
        if own or _is_object(dtype):
            found = np.array([*values, None], object)[codes]
            if missing is not None:
                found[missing] = None
            return pd.Series(found, dtype=dtype)
        places = codes.astype(np.int64)
        if missing is not None:
            places[missing] = -1
        taken = pd.array(values, dtype=dtype).take(places, allow_fill=missing is not None)
        return pd.Series(taken)

    def _valued(self, values: np.ndarray, missing: Mask | None, like: Any, own: bool) -> pd.Series:
        whole = own and missing is not None and values.dtype.kind == "i"
        found = pd.array(values, dtype="Int64" if whole else values.dtype if own else like.dtype)
        if missing is not None:
            found = found.take(np.where(missing, -1, np.arange(len(found))), allow_fill=True)
        return pd.Series(found)

    def texts(self, values: Sequence[str]) -> pd.Series:
        return pd.Series(values, dtype="str")

    def _rebuilt(self, name: str, order: np.ndarray | None) -> pd.Series:
        return _made(self.column(name), order)

    def _taken(self, column: pd.Series, order: np.ndarray) -> pd.Series:
        return column.take(order)

    def _table(self, columns: dict[str, pd.Series]) -> pd.DataFrame:
        """Return a frame without what was noted about the other."""
        index = pd.RangeIndex(self.rows)
        for column in columns.values():
            column.index = index
        # Not put together in blocks, which would copy every column once more.
        return pd.DataFrame(columns, index=index, copy=False)


def _is_object(dtype: object) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind == "O"


def _cells(column: pd.Series | pd.Index) -> Cells:
    dtype: Any = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = column.array.codes
        listed = dtype.categories
        is_plain = pd.api.types.is_numeric_dtype(listed.dtype)
        is_plain = is_plain or isinstance(listed.dtype, pd.StringDtype)
        entries = _cells(listed) if is_plain else of_objects(listed.tolist())
        indices = pa.array(codes, mask=arrays.some(codes < 0))
        whole = arrow_cells.whole(entries)
        return pa.DictionaryArray.from_arrays(indices, whole, ordered=dtype.ordered, safe=False)
    # A NaN of NumPy stays one: to find it would take a copy.
    return pa.array(column.to_numpy() if isinstance(dtype, np.dtype) else column.array)


def _made(series: pd.Series, order: np.ndarray | None = None) -> pd.Series:
    """Rebuild a column from its cells, rows in order: the one place for pandas.

    It has the categories that occur, sorted, unless they are declared to have an order.
    """
    array, dtype = series.array, series.dtype
    if isinstance(dtype, np.dtype):
        return pd.Series(arrays.made(series.to_numpy(), order), dtype=dtype)
    if hasattr(dtype, "__from_arrow__"):
        return _of_arrow(arrow_cells.column(pa.array(array), order), dtype)
    array = array if order is None else array.take(order)
    if isinstance(dtype, pd.CategoricalDtype):
        return pd.Series(_categories(array))
    return pd.Series(pd.array(list(array), dtype=dtype))


def _categories(array: pd.Categorical) -> pd.Categorical:
    """Return the same cells with the categories that occur, sorted, or with all declared ones."""
    codes, listed, ordered = array.codes, array.categories, bool(array.ordered)
    if not ordered:
        used = np.unique(codes[codes >= 0])
        used = used[arrays.in_order(listed.take(used).tolist())]
        # The last place is for missing values.
        places = np.full(len(listed) + 1, -1, np.intp)
        places[used] = np.arange(len(used))
        codes, listed = places[codes], listed.take(used)
    kind = pd.CategoricalDtype(pd.Index(_made(pd.Series(listed)).array), ordered)
    return pd.Categorical.from_codes(codes.copy(), dtype=kind)


def _of_arrow(cells: Cells, dtype: ExtensionDtype) -> pd.Series:
    kind = pd.ArrowDtype(cells.type) if isinstance(dtype, pd.ArrowDtype) else dtype
    return pd.Series(kind.__from_arrow__(cells))


def _index(values: Labelled, dtype: object) -> pd.Index:
    try:
        return pd.Index(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        # Categories that happened to occur may have had a narrower type.
        return pd.Index(values)
