"""A function of DuckDB: ``SELECT protect_sex(sex, person) FROM people``."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa

import bistochastic as bs
import bistochastic_survey as sv


def register(
    connection: duckdb.DuckDBPyConnection, plan: sv.Plan, name: str, *, key: bs.KeySource
) -> None:
    """Add ``protect_<name>(value, id)`` for a column of strings and ids that are integers."""
    function = plan.column(name).function(key=key)

    def protect(values: pa.ChunkedArray, ids: pa.ChunkedArray) -> pa.ChunkedArray:
        return function(values, ids)

    types = ["VARCHAR", "BIGINT"], "VARCHAR"
    add: Any = connection.create_function
    add(f"protect_{name}", protect, *types, type="arrow")
