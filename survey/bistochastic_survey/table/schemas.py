"""The columns of a frame or a schema: names, types, and declared categories."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from bistochastic.errors import RefusedType
from bistochastic_survey.table.frames import distinct, library, module_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import narwhals.stable.v2 as nw
    import pyarrow as pa

# Strings with more different values than this are free text or ids rather than categories.
MOST_LEVELS = 256


Holds = Literal["numbers", "integers", "levels", "strings", "something else"]


@dataclass(frozen=True)
class Column:
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


def columns_of(schema: Any, *, look: bool = False) -> list[Column]:
    """List the columns of a frame, relation or schema; ``look`` reads categories off the rows."""
    import narwhals.stable.v2 as nw

    native = _empty_frame(schema)
    # A pandas frame lists the categories that occur, even if they are ordered.
    declares = library(native) != "pandas"
    if not declares and hasattr(type(native), "columns"):
        distinct(list(native.columns))
    try:
        frame = nw.from_native(native)
    except TypeError:
        must = "be a pandas or polars frame, a pyarrow table or schema, a "
        more = "polars schema, a DuckDB relation, a codebook or a dict of categories"
        raise RefusedType("schema", f"{must}{more}", type(schema).__name__) from None
    listed = frame.collect_schema() if isinstance(frame, nw.LazyFrame) else frame.schema
    found = []
    for name, dtype in listed.items():
        word = str(dtype).split("(")[0]
        if isinstance(dtype, nw.Enum) and declares:
            found.append(Column(name, "levels", word, tuple(dtype.categories), True))
        elif dtype == nw.Boolean:
            found.append(Column(name, "levels", word, (False, True), True))
        elif dtype in (nw.Enum, nw.Categorical):
            declared = _enum_of_polars(native, name)
            levels = declared or (() if isinstance(frame, nw.LazyFrame) else
                                  _categories(frame[name]))  # fmt: skip
            # Narwhals reads an ordered categorical of pandas as an Enum.
            ordered = isinstance(dtype, nw.Enum) if not declares else _is_ordered(native, name)
            known = declared is not None
            found.append(Column(name, "levels", word, levels or None, known, ordered and not known))
        elif dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128):
            found.append(Column(name, "integers", word))
        elif dtype.is_float():
            found.append(Column(name, "numbers", word))
        elif dtype in (nw.String, nw.Object):
            found.append(Column(name, "strings", word, _different(frame, name) if look else None))
        else:
            found.append(Column(name, "something else", word))
    return found


def _empty_frame(schema: Any) -> Any:
    """Return a schema as a frame without rows, and a frame as it is."""
    match module_of(schema), type(schema).__name__:
        case "polars", "Schema":
            return schema.to_frame()
        case "pyarrow", "Schema":
            distinct(schema.names)
            return schema.empty_table()
        case "pyarrow", "RecordBatch":
            import pyarrow as pa

            return pa.Table.from_batches([schema])
    return schema


def declares(schema: pa.Schema, name: str) -> bool:
    """Whether a column of an Arrow schema publishes its categories, in an order of their own.

    A polars Enum does, which older versions mark only by metadata.
    """
    from bistochastic_survey.table.arrow_cells import is_declared

    return is_declared(schema.field(name).type) or _enum_of_polars(schema, name) is not None


def _is_ordered(native: Any, name: str) -> bool:
    """Whether a column is an ordered dictionary of Arrow."""
    if module_of(native) != "pyarrow":
        return False
    return bool(getattr(getattr(native, "schema", native).field(name).type, "ordered", False))


def _enum_of_polars(native: Any, name: str) -> tuple[str, ...] | None:
    """Return the categories of a polars Enum in an Arrow schema, e.g. in a file of polars."""
    if module_of(native) != "pyarrow":
        return None
    schema = getattr(native, "schema", native)
    text: bytes | None = (schema.field(name).metadata or {}).get(b"_PL_ENUM_VALUES2")
    if text is None:
        return None
    found = []
    while text:
        length, _, rest = text.partition(b";")
        if not length.isdigit() or len(rest) < int(length):
            return None
        found.append(rest[: int(length)].decode(errors="replace"))
        text = rest[int(length) :]
    return tuple(found)


def _categories(series: nw.Series[Any]) -> tuple[Any, ...]:
    """Return the categories of a column; none if its library does not list them."""
    try:
        found = series.cat.get_categories().to_list()
        return tuple(found) if len(set(found)) == len(found) else ()
    except MemoryError:
        raise
    except Exception:
        return ()


def _different(frame: nw.DataFrame[Any] | nw.LazyFrame[Any], name: str) -> tuple[str, ...] | None:
    """List the different strings of a column, in order; None if they are too many."""
    column = frame.lazy().select(name).collect()[name].drop_nulls()
    try:
        values = column.unique().to_list()
    except MemoryError:
        raise
    except Exception:
        # Objects that cannot be compared are not categories.
        return None
    return levels_among(values, len(column))


def levels_among(values: Sequence[object], rows: int) -> tuple[str, ...] | None:
    """Return the strings as categories, or None if they look like free text or ids."""
    if not values or len(values) > min(MOST_LEVELS, max(1, rows // 2)):
        return None
    texts = sorted(value for value in values if isinstance(value, str))
    return tuple(texts) if len(texts) == len(values) else None
