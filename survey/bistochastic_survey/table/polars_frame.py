"""polars DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from bistochastic_survey.table import arrays
from bistochastic_survey.table.frames import Frame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bistochastic_survey.plan.labels import Labels
    from bistochastic_survey.table.frames import Codes, Ids, Mask


class PolarsFrame(Frame):
    """A frame in memory. An engine hands over many small ones, so calls are few."""

    def __init__(self, native: pl.DataFrame) -> None:
        super().__init__(native, native.columns)
        self._enums: dict[str, pl.Enum] = {}

    def column(self, name: str) -> pl.Series:
        found: pl.Series = self._native.get_column(name)
        return found

    def ids(self, name: str) -> tuple[Ids, Mask | None]:
        series = self.column(name)
        if series.dtype in (pl.Int64, pl.UInt64) and not series.null_count():
            return arrays.whole(series.to_numpy()), None
        return super().ids(name)

    def codes(self, name: str, labels: Labels) -> tuple[Codes, Mask | None]:
        series = self.column(name)
        dtype = series.dtype
        kind, labels = _spelled(dtype, labels)
        missing = series.is_null().to_numpy() if series.null_count() else None
        if isinstance(dtype, pl.Enum):
            physical = series.to_physical()
            indices = (physical if missing is None else physical.fill_null(0)).to_numpy()
            return arrays.Entries.of(dtype.categories.to_list(), labels).at(indices, missing)
        if dtype == pl.String:
            known = _of_texts(series, labels, missing)
            if known is not None:
                return known, missing
        if kind == "text":
            # Not strict: what is none of them becomes null, and no message can quote it.
            found = series.cast(pl.Enum([str(value) for value in labels.values]), strict=False)
            if found.null_count() > series.null_count():
                arrays.check(found.is_null().to_numpy(), missing)
            indices = found.to_physical().fill_null(0).to_numpy()
            return indices.astype(arrays.narrow(len(labels)), copy=False), missing
        plain = series if missing is None else series.fill_null(False if kind == "boolean" else 0)
        return arrays.of_values(plain.to_numpy(), labels, missing)

    def labelled(self, name: str, labels: Labels, codes: Codes, missing: Mask | None) -> pl.Series:
        dtype = self.column(name).dtype
        kind, labels = _spelled(dtype, labels)
        if kind != "text":
            plain = "bool" if kind == "boolean" else str(dtype).lower()
            return _set(pl.Series(arrays.numbers_of(labels, codes, plain)), missing)
        if isinstance(dtype, pl.Enum):
            dtype = pl.Enum([str(value) for value in labels.values])
            physical = pl.Series([], dtype=dtype).to_physical().dtype
            if missing is None and hasattr(pl.col(name).cat, "to"):
                # The codes belong to the type: `made` sets it for all columns at once.
                self._enums[name] = dtype
                return pl.Series(codes).cast(physical)
        return _gathered(pl.Series(list(labels.values), dtype=dtype), codes, missing)

    def is_declared(self, name: str) -> bool:
        return _is_declared(self.column(name).dtype)

    def made(
        self, columns: Mapping[str, pl.Series | None], order: np.ndarray | None
    ) -> pl.DataFrame:
        """Return a frame, with its enums made of codes, by as many threads as there are."""
        found = []
        for name, new in columns.items():
            if new is None:
                new = made(self.column(name), order)
            elif order is not None:
                new = new.gather(order)
            found.append(new.alias(name))
        frame = pl.DataFrame(found)
        enums = [pl.col(name).cat.to(kind) for name, kind in self._enums.items() if name in columns]
        return frame.with_columns(enums) if enums else frame

    def relabelled(
        self, name: str, labels: Labels, codes: Codes, missing: Mask | None
    ) -> pl.Series:
        return _gathered(pl.Series(list(labels.values)), codes, missing)

    def numbered(
        self, name: str, values: np.ndarray, missing: Mask | None = None, *, own: bool = False
    ) -> pl.Series:
        found = pl.Series(values)
        return _set(found if own else found.cast(self.column(name).dtype), missing)

    def texts(self, values: Sequence[str]) -> pl.Series:
        return pl.Series(values, dtype=pl.String)


opened = PolarsFrame


def _set(series: pl.Series, missing: Mask | None) -> pl.Series:
    return series if missing is None else series.set(pl.Series(missing), None)


def _gathered(entries: pl.Series, codes: Codes, missing: Mask | None) -> pl.Series:
    return entries.gather(_set(pl.Series(codes.astype(np.uint32, copy=False)), missing))


def _spelled(dtype: pl.DataType, labels: Labels) -> tuple[arrays.Holds, Labels]:
    """Return the kind of a column of this type, and the categories spelled in that kind."""
    is_text = dtype in (pl.String, pl.Categorical, pl.Enum)
    known = is_text, dtype == pl.Boolean, dtype.is_integer(), dtype.is_float()
    return arrays.spelled(labels, arrays.kind_of(known), dtype)


def made(series: pl.Series, order: np.ndarray | None = None) -> pl.Series:
    """Return the cells of a column as a new one, rows in order: the door for polars."""
    series = series.rechunk() if order is None else series.gather(order)
    return _cells(series).alias(series.name)


def _cells(series: pl.Series) -> pl.Series:
    dtype = series.dtype
    if isinstance(dtype, pl.Enum):
        return pl.Series(dtype.categories, dtype=dtype).gather(_cells(series.to_physical()))
    if isinstance(dtype, pl.Categorical):
        # Spelled out and read again: what is exported lists strings as they come in these rows.
        return _cells(series.cast(pl.String)).cast(dtype)
    if dtype == pl.Boolean or (dtype.is_numeric() and not dtype.is_decimal() and
                               "128" not in str(dtype)):  # fmt: skip
        missing = series.is_null().to_numpy() if series.null_count() else None
        plain = series.fill_null(False if dtype == pl.Boolean else 0)
        return _set(pl.Series(arrays.made(plain.to_numpy())).cast(dtype), missing)
    if dtype in (pl.Date, pl.Datetime, pl.Duration, pl.Time):
        return _cells(series.to_physical()).cast(dtype)
    try:
        if dtype == pl.Object:
            raise TypeError
        from bistochastic_survey.table import arrow_cells

        found = pl.from_arrow(arrow_cells.made(series.to_arrow()))
    except (ImportError, NotImplementedError, TypeError, ValueError, pl.exceptions.PolarsError):
        # Without pyarrow, or a type that it does not know.
        return pl.Series(series.to_list(), dtype=dtype)
    assert isinstance(found, pl.Series)
    return found if found.dtype == dtype else found.cast(dtype)


def _is_declared(dtype: object) -> bool:
    """Whether a type lists its categories: an Enum does, also inside of others."""
    inner = [getattr(dtype, "inner", None), *(f.dtype for f in getattr(dtype, "fields", ()))]
    return isinstance(dtype, pl.Enum) or any(_is_declared(kind) for kind in inner if kind)


def table_made(frame: pl.DataFrame, order: np.ndarray | None = None) -> pl.DataFrame:
    """Return the cells of a frame as a new one, rows in order."""
    return pl.DataFrame([made(column, order) for column in frame.get_columns()])


def _of_texts(series: pl.Series, labels: Labels, missing: Mask | None) -> Codes | None:
    """The codes of strings, from their memory; None if one is not a category, or without pyarrow.

    A cast to an Enum would take twice as long as all else that a release of strings takes.
    """
    try:
        from bistochastic_survey.table.arrow_table import codes_of_views
    except ImportError:
        return None
    newest = pl.CompatLevel.newest()
    chunks = [chunk.to_arrow(compat_level=newest) for chunk in series.get_chunks()]
    return codes_of_views(chunks, labels, missing)
