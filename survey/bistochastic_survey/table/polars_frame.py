"""polars DataFrames."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from bistochastic_survey.table import arrow_cells
from bistochastic_survey.table.arrow_cells import Cells
from bistochastic_survey.table.codes import Labelled
from bistochastic_survey.table.frames import Codes, Mask
from bistochastic_survey.table.table import Table


class PolarsFrame(Table):
    """A frame in memory. An engine hands over many small ones, so calls are few."""

    def __init__(self, native: pl.DataFrame) -> None:
        super().__init__({series.name: series for series in native.get_columns()}, native.height)

    def _read(self, name: str) -> Cells:
        return self.column(name).to_arrow()

    def objects(self, name: str) -> list[object] | None:
        series = self.column(name)
        return series.to_list() if series.dtype == pl.Object else None

    def _called(self, name: str) -> object:
        return self.column(name).dtype

    def _same(self, name: str, values: Sequence[Any]) -> Codes | None:
        series = self.column(name)
        if series.dtype == pl.String:
            series = series.cast(pl.Enum(values), strict=False)
        if series.dtype != pl.Enum(values) or series.null_count():
            return None
        codes: Codes = series.to_physical().to_numpy()
        return codes

    def is_declared(self, name: str) -> bool:
        return _is_declared(self.column(name).dtype)

    def categories(self, name: str) -> tuple[tuple[Any, ...], bool, bool]:
        dtype = self.column(name).dtype
        if isinstance(dtype, pl.Enum):
            return tuple(dtype.categories.to_list()), True, False
        return super().categories(name)

    def word(self, name: str) -> str:
        return str(self.column(name).dtype).split("(")[0]

    def _coded(
        self, values: Labelled, codes: Codes, missing: Mask | None, like: Any, own: bool
    ) -> pl.Series:
        dtype = None if own else like.dtype
        if isinstance(dtype, pl.Enum):
            dtype = pl.Enum([str(value) for value in values])
        places = pl.Series(codes.astype(np.uint32, copy=False))
        return pl.Series(values, dtype=dtype).gather(_set(places, missing))

    def _valued(self, values: np.ndarray, missing: Mask | None, like: Any, own: bool) -> pl.Series:
        found = pl.Series(values)
        return _set(found if own else found.cast(like.dtype), missing)

    def texts(self, values: Sequence[str]) -> pl.Series:
        return pl.Series(values, dtype=pl.String)

    def _rebuilt(self, name: str, order: np.ndarray | None) -> pl.Series:
        series = self.column(name)
        return _cells(series.rechunk() if order is None else series.gather(order))

    def _taken(self, column: pl.Series, order: np.ndarray) -> pl.Series:
        return column.gather(order)

    def _table(self, columns: dict[str, pl.Series]) -> pl.DataFrame:
        return pl.DataFrame(columns)


def _set(series: pl.Series, missing: Mask | None) -> pl.Series:
    return series if missing is None else series.set(pl.Series(missing), None)


def _cells(series: pl.Series) -> pl.Series:
    """Return the visible cells of a column as a new one: the one place for polars."""
    dtype = series.dtype
    if isinstance(dtype, pl.Enum):
        return pl.Series(dtype.categories, dtype=dtype).gather(_cells(series.to_physical()))
    if isinstance(dtype, pl.Categorical):
        # Spelled out and read again: what is exported lists strings as they come in these rows.
        return _cells(series.cast(pl.String)).cast(dtype)
    try:
        if dtype == pl.Object:
            raise TypeError
        found = pl.from_arrow(arrow_cells.made(series.to_arrow()))
    except (NotImplementedError, TypeError, ValueError, pl.exceptions.PolarsError):
        # A type that pyarrow does not know.
        return pl.Series(series.to_list(), dtype=dtype)
    assert isinstance(found, pl.Series)
    return found if found.dtype == dtype else found.cast(dtype)


def _is_declared(dtype: object) -> bool:
    """Whether a type lists its categories: an Enum does, also inside of others."""
    inner = [getattr(dtype, "inner", None), *(f.dtype for f in getattr(dtype, "fields", ()))]
    return isinstance(dtype, pl.Enum) or any(_is_declared(kind) for kind in inner if kind)
