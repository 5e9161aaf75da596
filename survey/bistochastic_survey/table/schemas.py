"""The columns of a frame or a schema: names, types, and declared categories."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bistochastic.errors import RefusedType
from bistochastic_survey.table.frames import BE_A_TABLE, Table, module_of, opened

# Strings with more different values than this are free text or ids rather than categories.
MOST_LEVELS = 256


Holds = Literal["numbers", "integers", "levels", "strings", "something else"]
# What holds a type, by the beginning of its name.
_HOLDS: dict[str, Holds] = {
    "Int": "integers", "UInt": "integers", "Float": "numbers", "String": "strings",
    "Object": "strings", "Categorical": "levels", "Enum": "levels", "Boolean": "levels",
}  # fmt: skip


@dataclass(frozen=True)
class SchemaColumn:
    """A column before any row of it is protected.

    ``levels`` are its categories, None if they are unknown. They are ``declared`` if the type lists
    them, and otherwise happen to occur in the data. They are ``ordered`` if the type says so: an
    ordered categorical of pandas, or an ordered dictionary of Arrow. A statistical file also has a
    ``label`` of the column, ``texts`` for values, and codes for ``missing`` values.
    """

    name: str
    holds: Holds
    type: str
    levels: tuple[Any, ...] | None = None
    declared: bool = False
    ordered: bool = False
    label: str | None = field(default=None, repr=False)
    texts: tuple[tuple[Any, str], ...] = field(default=(), repr=False)
    missing: tuple[Any, ...] = field(default=(), repr=False)


def columns_of(schema: Any, *, look: bool = False) -> list[SchemaColumn]:
    """List the columns of a frame, relation or schema; ``look`` reads categories off the rows."""
    try:
        table = opened(_frame(schema, look), any_index=True)
    except RefusedType as error:
        if error.must != BE_A_TABLE:
            raise
        got = error.got
    else:
        return [_column(table, name, look) for name in table.names]
    must = "be a pandas or polars frame, a pyarrow table or schema, a "
    more = "polars schema, a DuckDB relation, a codebook or a dict of categories"
    raise RefusedType("schema", f"{must}{more}", got)


def _frame(schema: Any, look: bool) -> Any:
    """Return a schema as a frame without rows, and a frame as it is."""
    match module_of(schema), type(schema).__name__:
        case "polars", "Schema":
            return schema.to_frame()
        case "polars", "LazyFrame":
            return schema.collect() if look else schema.collect_schema().to_frame()
        case "pyarrow", "Schema":
            return schema.empty_table()
        case "duckdb", "DuckDBPyRelation":
            return schema if look else schema.limit(0)
    return schema


def _column(table: Table, name: str, look: bool) -> SchemaColumn:
    word = table.word(name)
    holds = next(
        (holds for start, holds in _HOLDS.items() if word.startswith(start) and "128" not in word),
        None,
    )
    if holds == "levels":
        levels, declared, ordered = table.categories(name)
        word = "Enum" if declared and word != "Boolean" else word
        return SchemaColumn(name, holds, word, levels or None, declared, ordered and not declared)
    if holds == "strings" and look:
        return SchemaColumn(name, holds, word, _different(table, name))
    return SchemaColumn(name, holds or "something else", word)


def _different(table: Table, name: str) -> tuple[str, ...] | None:
    """List the different strings of a column, in order; None if they are too many."""
    listed = table.objects(name)
    try:
        if listed is None:
            cells = table.cells(name)
            return levels_among(
                cells.unique().drop_null().to_pylist(), len(cells) - cells.null_count
            )
        known = [value for value in listed if value is not None and value == value]
        return levels_among(list(set(known)), len(known))
    except TypeError:
        # Objects that cannot be compared are not categories.
        return None


def levels_among(values: Sequence[object], rows: int) -> tuple[str, ...] | None:
    """Return the strings as categories, or None if they look like free text or ids."""
    if not values or len(values) > min(MOST_LEVELS, max(1, rows // 2)):
        return None
    texts = sorted(value for value in values if isinstance(value, str))
    return tuple(texts) if len(texts) == len(values) else None
