"""The columns of a table in a file: types, and on request the categories that occur."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bistochastic.adapters.arrow_cells import spelled_out
from bistochastic.adapters.schemas import MOST_LEVELS, Column, levels_among

if TYPE_CHECKING:
    from bistochastic.adapters.arrow_cells import Cells
    from bistochastic.adapters.table_files import Source


def columns_in(source: Source, *, look: bool) -> list[Column]:
    """Return the columns of a file. ``look`` reads all of it for the categories that occur.

    A CSV file does not give types: a column is numeric if all its values are numbers. It is
    read whole for that.
    """
    is_csv = source.rows is None
    texts = source.described()
    if is_csv:
        source.decide(source.schema.names)
    numbers = {field.name for field in source.schema if not pa.types.is_string(field.type)}
    found = [
        replace(column, holds="numbers", type="number")
        if is_csv and column.name in numbers
        else column
        for column in texts
    ]
    open_ones = [column.name for column in found if _is_open(column)]
    seen = {name: _Seen() for name in open_ones}
    if open_ones and look:
        for batch in source.batches(open_ones):
            for name, column in zip(open_ones, batch.columns, strict=True):
                seen[name].add(column)
    return [_known(column, seen[column.name]) if look and _is_open(column) else column
            for column in found]  # fmt: skip


def _is_open(column: Column) -> bool:
    return column.levels is None and column.holds in ("strings", "levels")


def _known(column: Column, seen: _Seen) -> Column:
    if column.holds == "levels":
        # A type that lists its values means categories, however many.
        return replace(column, levels=seen.sorted())
    return replace(column, levels=levels_among(seen.sorted() or (), seen.rows))


class _Seen:
    """The different values of a column so far; none once they are too many for categories."""

    def __init__(self) -> None:
        self.values: set[Any] | None = set()
        self.rows = 0

    def add(self, column: Cells) -> None:
        column = spelled_out(column).drop_null()
        self.rows += len(column)
        if self.values is not None:
            self.values.update(pc.unique(column).to_pylist())
            if len(self.values) > MOST_LEVELS * 1024 or any(map(_has_line_end, self.values)):
                # Many different values are free text or ids, and so are values of several lines.
                self.values = None

    def sorted(self) -> tuple[Any, ...] | None:
        return tuple(sorted(self.values)) if self.values else None


def _has_line_end(value: object) -> bool:
    return isinstance(value, str) and ("\n" in value or "\r" in value)
