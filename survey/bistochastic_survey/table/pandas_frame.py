"""pandas DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bistochastic.errors import Refused
from bistochastic_survey.table import arrays
from bistochastic_survey.table.frames import Frame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from pandas.api.extensions import ExtensionDtype

    from bistochastic_survey.plan.labels import Label, Labels
    from bistochastic_survey.table.arrow_cells import Cells
    from bistochastic_survey.table.frames import Codes, Mask


class PandasFrame(Frame):
    """A frame with a plain index: any other would be an unprotected column without a name."""

    def __init__(self, native: pd.DataFrame) -> None:
        super().__init__(native, list(native.columns))
        index = native.index
        plain = pd.RangeIndex(len(native))
        if index.nlevels > 1 or index.name is not None or not index.equals(plain):
            must = "have the plain index 0, 1, 2, ..., since another would be published unchanged"
            cure = "reset_index() makes it a column, reset_index(drop=True) leaves it out"
            kind = type(index).__name__ + (" with a name" if index.name is not None else "")
            raise Refused("frame", must, f"{kind}: {cure}")
        self._objects: dict[str, arrays.Holds] = {}

    def codes(self, name: str, labels: Labels) -> tuple[Codes, Mask | None]:
        series = self.column(name)
        dtype = series.dtype
        if _arrow_type(dtype) is not None:
            from bistochastic_survey.table.arrow_table import codes_of

            return codes_of(_arrow(series), labels)
        kind, labels = self._spelled(name, labels)
        if isinstance(dtype, pd.CategoricalDtype):
            indices = series.cat.codes.to_numpy()
            entries = arrays.Entries.of(dtype.categories.tolist(), labels)
            return entries.at(indices, arrays.some(indices < 0))
        if pd.api.types.is_object_dtype(dtype):
            return arrays.of_objects(series.tolist(), labels)
        missing = arrays.some(series.isna().to_numpy(dtype=bool))
        if kind == "text":
            index = pd.Index(list(labels.values), dtype=dtype)
            found = index.get_indexer(pd.Index(series))
            arrays.check(found < 0, missing)
            if missing is not None:
                found = np.where(missing, 0, found)
            return found.astype(arrays.narrow(len(labels))), missing
        plain = getattr(dtype, "numpy_dtype", dtype)
        fill = {} if missing is None else {"na_value": np.nan if kind == "float" else False}
        values = series.to_numpy(dtype=plain, **fill)
        return arrays.of_values(values, labels, missing)

    def _spelled(self, name: str, labels: Labels) -> tuple[arrays.Holds, Labels]:
        """Return the kind of a column, and the categories spelled in that kind."""
        series = self.column(name)
        dtype = series.dtype
        is_list = isinstance(dtype, pd.CategoricalDtype)
        what = f"dtype {dtype}"
        kind = _holds(dtype)
        if kind is None and (is_list or pd.api.types.is_object_dtype(dtype)):
            if name not in self._objects:
                listed = dtype.categories if is_list else series
                self._objects[name] = arrays.objects_hold(listed.tolist(), labels)
            kind = self._objects[name]
            what = f"{'categories of ' * is_list}{arrays.NAMES[kind]}"
        return arrays.spelled(labels, kind, what)

    def labelled(self, name: str, labels: Labels, codes: Codes, missing: Mask | None) -> pd.Series:
        dtype = self.column(name).dtype
        arrow = _arrow_type(dtype)
        if arrow is not None:
            from bistochastic_survey.table.arrow_table import labelled_as

            return _of_arrow(labelled_as(arrow, labels, codes, missing), dtype)
        holds, labels = self._spelled(name, labels)
        values = list(labels.values)
        if isinstance(dtype, pd.CategoricalDtype):
            kind = pd.CategoricalDtype(_index(values, dtype.categories.dtype), dtype.ordered)
            signed = codes.astype(np.min_scalar_type(-len(values)))
            if missing is not None:
                signed[missing] = -1
            return pd.Series(pd.Categorical.from_codes(signed, dtype=kind, validate=False))
        if pd.api.types.is_object_dtype(dtype):
            return pd.Series(arrays.objects_of(labels, holds, codes, missing), dtype=object)
        if isinstance(dtype, np.dtype):
            # No one else holds them, and pandas 3 would copy.
            return pd.Series(arrays.numbers_of(labels, codes, dtype, missing), copy=False)
        places = codes.astype(np.int64)
        if missing is not None:
            places[missing] = -1
        taken = pd.array(values, dtype=dtype).take(places, allow_fill=missing is not None)
        return pd.Series(taken)

    def spelled_out(self, name: str) -> pd.Series:
        series = self.column(name)
        if isinstance(series.dtype, pd.CategoricalDtype) and not series.isna().any():
            return series.astype(series.dtype.categories.dtype)
        return series

    def can_be_missing(self, name: str) -> bool:
        dtype = self.column(name).dtype
        return not isinstance(dtype, np.dtype) or dtype.kind in "Of"

    def relabelled(
        self, name: str, labels: Labels, codes: Codes, missing: Mask | None
    ) -> pd.Series:
        dtype = {"text": "str", "integer": "Int64", "boolean": "boolean"}[labels.kind]
        if missing is None and labels.kind != "text":
            dtype = dtype.lower().removesuffix("ean")
        return pd.Series(arrays.objects_of(labels, labels.kind, codes, missing), dtype=dtype)

    def numbered(
        self, name: str, values: np.ndarray, missing: Mask | None = None, *, own: bool = False
    ) -> pd.Series:
        whole = own and missing is not None and values.dtype.kind == "i"
        kind = "Int64" if whole else values.dtype if own else self.column(name).dtype
        found = pd.array(values, dtype=kind)
        if missing is not None:
            found = found.take(np.where(missing, -1, np.arange(len(found))), allow_fill=True)
        return pd.Series(found)

    def texts(self, values: Sequence[str]) -> pd.Series:
        return pd.Series(values, dtype="str")

    def is_declared(self, name: str) -> bool:
        dtype = self.column(name).dtype
        arrow = _arrow_type(dtype)
        if arrow is not None:
            from bistochastic_survey.table.arrow_cells import is_declared

            return is_declared(arrow)
        return isinstance(dtype, pd.CategoricalDtype) and bool(dtype.ordered)

    def made(
        self, columns: Mapping[str, pd.Series | None], order: np.ndarray | None
    ) -> pd.DataFrame:
        """Return a frame with a plain index, and without what was noted about the other."""
        plain = pd.RangeIndex(self.rows)
        found = {}
        for name, column in columns.items():
            if column is None:
                found[name] = made(self.column(name), order)
                continue
            found[name] = column if order is None else column.take(order)
            found[name].index = plain
        # Not put together in blocks, which would copy every column once more.
        return pd.DataFrame(found, index=plain, copy=False)


opened = PandasFrame


def _holds(dtype: object) -> arrays.Holds | None:
    """Return the kind of a column of this type, or its categories; None if its objects decide."""
    types = pd.api.types
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype
    known = types.is_bool_dtype, types.is_integer_dtype, types.is_float_dtype
    is_text = isinstance(dtype, pd.StringDtype)
    return arrays.kind_of((is_text, *(is_one(dtype) for is_one in known)))


def made(series: pd.Series, order: np.ndarray | None = None) -> pd.Series:
    """Rebuild a column from its cells, with a plain index, rows in order: the door for pandas.

    It has the categories that occur, sorted, unless they are declared to have an order.
    """
    array, dtype = series.array, series.dtype
    if _arrow_type(dtype) is not None:
        from bistochastic_survey.table import arrow_cells

        return _of_arrow(arrow_cells.column(_arrow(series), order), dtype, series.name)
    if isinstance(dtype, np.dtype):
        return pd.Series(arrays.made(series.to_numpy(), order), dtype=dtype, name=series.name)
    array = array if order is None else array.take(order)
    new: Any
    if isinstance(dtype, pd.CategoricalDtype):
        new = _categories(array)
    elif hasattr(dtype, "numpy_dtype"):
        missing = np.array(array.isna(), dtype=bool)
        values = array.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        new = type(array)(np.where(missing, dtype.type(0), values), missing)
    elif isinstance(dtype, pd.DatetimeTZDtype):
        moments = arrays.made(array.tz_convert("UTC").tz_localize(None).to_numpy())
        new = pd.Series(moments).dt.tz_localize("UTC").dt.tz_convert(dtype.tz).array
    else:
        new = pd.array(list(array), dtype=dtype)
    return pd.Series(new, name=series.name)


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
    kind = pd.CategoricalDtype(pd.Index(made(pd.Series(listed)).array), ordered)
    return pd.Categorical.from_codes(codes.copy(), dtype=kind)


def table_made(frame: pd.DataFrame, order: np.ndarray | None = None) -> pd.DataFrame:
    """Return the cells of a frame as a new one, with a plain index, rows in order."""
    columns = {i: made(frame.iloc[:, i], order) for i in range(frame.shape[1])}
    found = pd.DataFrame(columns, index=pd.RangeIndex(len(frame)))
    found.columns = pd.Index(frame.columns.tolist())
    return found


def labels_made(index: pd.Index) -> pd.Index:
    """Return the visible labels of rows, without anything else that their type holds."""
    if index.nlevels > 1:
        levels = [made(index.get_level_values(i).to_series()).array for i in range(index.nlevels)]
        return pd.MultiIndex.from_arrays(levels, names=index.names)
    if isinstance(index.dtype, np.dtype):
        return index
    return pd.Index(made(index.to_series()).array, name=index.name)


def _arrow_type(dtype: object) -> pa.DataType | None:
    """Return the Arrow type of a column that pandas holds in Arrow; None for any other column."""
    if isinstance(dtype, pd.ArrowDtype):
        return dtype.pyarrow_dtype
    if getattr(dtype, "storage", "") != "pyarrow":
        return None
    import pyarrow as pa

    return pa.large_string()


def _of_arrow(cells: Cells, dtype: ExtensionDtype, name: object = None) -> pd.Series:
    """Return a column of this type, or of the type of the cells if it is one of Arrow."""
    kind = pd.ArrowDtype(cells.type) if isinstance(dtype, pd.ArrowDtype) else dtype
    return pd.Series(kind.__from_arrow__(cells), name=name)


def _arrow(series: pd.Series) -> Cells:
    import pyarrow as pa

    found = pa.array(series.array)
    return found if isinstance(found, pa.ChunkedArray) else pa.chunked_array([found])


def _index(values: list[Label], dtype: object) -> pd.Index:
    try:
        return pd.Index(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        # Categories that happened to occur may have had a narrower type.
        return pd.Index(values)
