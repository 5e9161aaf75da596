"""One table in every container that plans take, for the tests of plans."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

Columns = dict[str, list[Any]]


def _objects(columns: Columns) -> dict[str, Any]:
    return {name: np.array(values, dtype=object) for name, values in columns.items()}


def _masked(columns: Columns) -> dict[str, Any]:
    """Masked arrays, with a wrong value below the mask."""
    found = {}
    for name, values in columns.items():
        mask = [value is None for value in values]
        known = next((value for value in values if value is not None), "")
        plain = np.array([known if value is None else value for value in values])
        found[name] = np.ma.array(plain, mask=mask)
    return found


def _pandas(columns: Columns) -> pd.DataFrame:
    """As pandas makes it, but for whole numbers with missing ones, which it would make floats."""

    def column(values: list[Any]) -> pd.Series:
        known = next((value for value in values if value is not None), "")
        numbers = None in values and not isinstance(known, str)
        return pd.Series(values, dtype=object) if numbers else pd.Series(values)

    return pd.DataFrame({name: column(values) for name, values in columns.items()})


def _pandas_categories(columns: Columns) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Categorical(values) for name, values in columns.items()})


def _nullable(columns: Columns) -> pd.DataFrame:
    return pd.DataFrame({name: pd.array(values) for name, values in columns.items()})


def _arrow_pandas(columns: Columns) -> pd.DataFrame:
    return pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype)


def _enums(columns: Columns) -> pl.DataFrame:
    """Enums with their levels in another order than the plan's, and one that no row has."""
    frame = pl.DataFrame(columns)
    for name, values in columns.items():
        if frame[name].dtype == pl.String:
            levels = sorted({value for value in values if value is not None}, reverse=True)
            kind = pl.Enum([*levels, "a level that no row has"])
            frame = frame.with_columns(pl.col(name).cast(kind))
    return frame


def _polars_categories(columns: Columns) -> pl.DataFrame:
    return pl.DataFrame(columns).with_columns(pl.col(pl.String).cast(pl.Categorical))


def _chunks(columns: Columns) -> pa.Table:
    """Chunks of several lengths, one of them empty."""
    table = pa.table(columns)
    cuts = [0, 1, 1, len(table) // 3, len(table)]
    pieces = [table.slice(a, b - a) for a, b in pairwise(cuts)]
    return pa.concat_tables(pieces)


def _dictionaries(columns: Columns) -> pa.Table:
    """Dictionaries of their own in every chunk."""
    table = pa.table(columns)
    half = len(table) // 2
    pieces: list[pa.Table] = []
    for piece in (table.slice(half), table.slice(0, half)):
        encoded = {
            name: column.dictionary_encode() if not pa.types.is_boolean(column.type) else column
            for name, column in zip(piece.column_names, piece.columns, strict=True)
        }
        pieces.insert(0, pa.table(encoded))
    return pa.concat_tables(pieces)


def _views(columns: Columns) -> pa.Table:
    table = pa.table(columns)
    fields = [
        pa.field(f.name, pa.string_view() if pa.types.is_string(f.type) else f.type)
        for f in table.schema
    ]
    return table.cast(pa.schema(fields))


def _relation(columns: Columns) -> Any:
    table = pa.table(columns)
    assert len(table) >= 0
    return duckdb.connect().from_arrow(table)


def _enum_relation(columns: Columns) -> Any:
    terms = []
    for name, values in columns.items():
        known = [value for value in values if value is not None]
        if known and isinstance(known[0], str):
            levels = ", ".join(f"'{level}'" for level in sorted(set(known), reverse=True))
            terms.append(f'CAST("{name}" AS ENUM({levels})) AS "{name}"')
        else:
            terms.append(f'"{name}"')
    return _relation(columns).select(", ".join(terms))


# What makes a table of columns, and whether its whole numbers and truth values can be missing.
TABLES: dict[str, Callable[[Columns], Any]] = {
    "lists": dict,
    "objects": _objects,
    "masked arrays": _masked,
    "pandas": _pandas,
    "pandas categories": _pandas_categories,
    "pandas nullable": _nullable,
    "pandas arrow": _arrow_pandas,
    "polars": pl.DataFrame,
    "polars enums": _enums,
    "polars categories": _polars_categories,
    "arrow": pa.table,
    "arrow chunks": _chunks,
    "arrow dictionaries": _dictionaries,
    "arrow views": _views,
    "arrow batch": lambda columns: pa.record_batch(columns),
    "duckdb": _relation,
    "duckdb enums": _enum_relation,
}


def values_of(table: Any) -> Columns:
    """The same as lists, None where a value is missing."""
    if isinstance(table, dict):
        return {name: np.ma.asarray(column).tolist() for name, column in table.items()}
    if isinstance(table, pd.DataFrame):
        found = {}
        for name in table.columns:
            column = table[name]
            missing = column.isna().tolist()
            plain = column.astype(object).tolist()
            found[name] = [
                None if none else value for value, none in zip(plain, missing, strict=True)
            ]
        return found
    if isinstance(table, pl.DataFrame):
        return table.to_dict(as_series=False)
    if hasattr(table, "to_arrow_table"):
        table = table.to_arrow_table()
    return {name: table.column(name).to_pylist() for name in table.schema.names}


def kinds_of(table: Any) -> dict[str, str]:
    """The types of the columns in words; categories are left out, which are the plan's."""
    if isinstance(table, dict):
        return {
            name: "list" if isinstance(column, list) else f"{type(column)} {column.dtype.kind}"
            for name, column in table.items()
        }
    if isinstance(table, pd.DataFrame):
        return {name: str(dtype) for name, dtype in table.dtypes.items()}
    if isinstance(table, pl.DataFrame):
        return {name: str(kind).split("(")[0] for name, kind in table.schema.items()}
    if hasattr(table, "to_arrow_table"):
        pairs = zip(table.columns, table.types, strict=True)
        return {name: str(kind).split("(")[0] for name, kind in pairs}
    return {field.name: str(field.type) for field in table.schema}
