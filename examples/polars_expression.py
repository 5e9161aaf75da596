"""An expression of polars that protects a column by ids, in eager and in lazy frames."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

import bistochastic as bs
import bistochastic_survey as sv


def protected(
    plan: sv.Plan, name: str, *, dtype: type[pl.DataType], key: bs.KeySource, ids: str
) -> pl.Expr:
    """Return the expression of a protected column; ``dtype`` is the type of the column."""
    function = plan.column(name).function(key=key)

    def protect(columns: Sequence[pl.Series]) -> pl.Series:
        values, people = columns
        return function(values, people)

    columns = [pl.col(name), pl.col(ids)]
    return pl.map_batches(columns, protect, return_dtype=dtype).alias(name)
