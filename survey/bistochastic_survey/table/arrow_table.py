"""pyarrow tables and record batches, and DuckDB relations, which are read as such tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bistochastic.errors import RefusedType
from bistochastic_survey.table import arrays, arrow_cells
from bistochastic_survey.table.arrow_cells import is_string, memory, nulls, value_type, whole
from bistochastic_survey.table.frames import Frame
from bistochastic_survey.wording import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import duckdb

    from bistochastic_survey.plan.labels import Labels
    from bistochastic_survey.table.arrow_cells import Cells
    from bistochastic_survey.table.frames import Codes, Ids, Mask

# Strings as places among the categories.
_PLACES = pa.dictionary(pa.int32(), pa.string())


class ArrowTable(Frame):
    """A table, in chunks of any length. Engines give many small chunks, so calls are few."""

    def __init__(self, native: pa.Table) -> None:
        super().__init__(native, native.column_names)

    def column(self, name: str) -> Cells:
        return self._native.column(name)

    def codes(self, name: str, labels: Labels) -> tuple[Codes, Mask | None]:
        return codes_of(self.column(name), labels)

    def labelled(self, name: str, labels: Labels, codes: Codes, missing: Mask | None) -> Cells:
        return labelled_as(self.column(name).type, labels, codes, missing)

    def ids(self, name: str) -> tuple[Ids, Mask | None]:
        column = self.column(name)
        if pa.types.is_integer(column.type) and not column.null_count:
            return arrays.whole(column.to_numpy()), None
        return super().ids(name)

    def spelled_out(self, name: str) -> Cells:
        return arrow_cells.spelled_out(self.column(name))

    def relabelled(self, name: str, labels: Labels, codes: Codes, missing: Mask | None) -> Cells:
        kinds = {"text": pa.string(), "integer": pa.int64(), "boolean": pa.bool_()}
        return labelled_as(kinds[labels.kind], labels, codes, missing)

    def numbered(
        self, name: str, values: np.ndarray, missing: Mask | None = None, *, own: bool = False
    ) -> Cells:
        if missing is not None:
            # Nothing is left under a mask.
            values = np.where(missing, np.zeros(1, values.dtype), values)
        found = pa.array(values, mask=missing)
        return pa.chunked_array([found if own else found.cast(self.column(name).type)])

    def texts(self, values: Sequence[str]) -> Cells:
        return pa.chunked_array([pa.array(values, pa.string())])

    def is_declared(self, name: str) -> bool:
        return arrow_cells.is_declared(self.column(name).type)

    def made(self, columns: Mapping[str, Cells | None], order: np.ndarray | None) -> pa.Table:
        """Return a table, each column in one chunk."""
        return pa.table(self._columns(columns, order))

    def _columns(
        self, columns: Mapping[str, Cells | None], order: np.ndarray | None
    ) -> dict[str, Cells]:
        """List columns by name; None means that a column stays, with only its visible cells."""
        found = {}
        for name, new in columns.items():
            if new is not None:
                new = whole(new)
                found[name] = new if order is None else arrow_cells.taken(new, order)
                continue
            column = self.column(name)
            try:
                found[name] = arrow_cells.column(column, order)
            except (pa.ArrowException, TypeError):
                must = "have a type that can be written cell by cell"
                raise RefusedType(
                    "", must, shown(str(column.type).split("<")[0]), column=name
                ) from None
        return found


class PlacedTable(ArrowTable):
    """A table that gives protected strings as places among the categories, however they came."""

    def labelled(self, name: str, labels: Labels, codes: Codes, missing: Mask | None) -> Cells:
        kind = self.column(name).type
        is_text = _respelled(kind, labels)[0] == "text"
        return labelled_as(_PLACES if is_text else value_type(kind), labels, codes, missing)

    def relabelled(self, name: str, labels: Labels, codes: Codes, missing: Mask | None) -> Cells:
        if labels.kind != "text":
            return super().relabelled(name, labels, codes, missing)
        return labelled_as(_PLACES, labels, codes, missing)


class Batch(ArrowTable):
    """A record batch."""

    def __init__(self, native: pa.RecordBatch) -> None:
        super().__init__(pa.Table.from_batches([native]))

    def made(self, columns: Mapping[str, Cells | None], order: np.ndarray | None) -> pa.RecordBatch:
        found = self._columns(columns, order)
        return pa.record_batch({name: whole(column) for name, column in found.items()})


class Relation(ArrowTable):
    """A relation: computed once when it is read, and one of the same connection given back."""

    def __init__(self, native: duckdb.DuckDBPyRelation) -> None:
        self._relation = native
        self._types = dict(zip(native.columns, map(str, native.types), strict=True))
        table = native.to_arrow_table() if hasattr(native, "to_arrow_table") else native.arrow()
        super().__init__(table)

    def labelled(self, name: str, labels: Labels, codes: Codes, missing: Mask | None) -> Cells:
        if self._types[name].startswith("ENUM"):
            entries = ", ".join(_quoted(str(value), "'") for value in labels.values)
            self._types[name] = f"ENUM({entries})"
        return super().labelled(name, labels, codes, missing)

    def relabelled(self, name: str, labels: Labels, codes: Codes, missing: Mask | None) -> Cells:
        self._types.pop(name)
        return super().relabelled(name, labels, codes, missing)

    def numbered(
        self, name: str, values: np.ndarray, missing: Mask | None = None, *, own: bool = False
    ) -> Cells:
        if own:
            self._types.pop(name)
        return super().numbered(name, values, missing, own=own)

    def is_declared(self, name: str) -> bool:
        """Whether a column like that one lists its categories: an ENUM does, also inside of it."""
        return "ENUM(" in self._types[name]

    def made(
        self, columns: Mapping[str, Cells | None], order: np.ndarray | None
    ) -> duckdb.DuckDBPyRelation | None:
        """Return a relation over the protected table, with the types of the other."""
        protected = super().made(columns, order)
        # Read back, an Arrow dictionary is text: the type has to be given.
        terms = [
            f"CAST({_quoted(name)} AS {self._types[name]}) AS {_quoted(name)}"
            if name in self._types
            else _quoted(name)
            for name in columns
        ]
        # DuckDB finds the table by the name of the variable.
        assert protected is not None
        query = f"SELECT {', '.join(terms)} FROM protected"
        return self._relation.query("bistochastic_original", query)


def _quoted(text: str, mark: str = '"') -> str:
    return mark + text.replace(mark, 2 * mark) + mark


def opened(native: pa.Table | pa.RecordBatch) -> ArrowTable:
    """Return the caller's table or record batch."""
    return Batch(native) if isinstance(native, pa.RecordBatch) else ArrowTable(native)


def made(given: Cells, order: np.ndarray | None = None) -> Cells:
    """Return the cells of an array, or of one in chunks, as a new one, rows in order."""
    is_whole = isinstance(given, pa.Array)
    return (arrow_cells.made if is_whole else arrow_cells.column)(given, order)


def table_made(given: pa.Table, order: np.ndarray | None = None) -> pa.Table:
    """Return the cells of a table or a record batch as a new one, rows in order."""
    columns = [made(column, order) for column in given.columns]
    return type(given).from_arrays(columns, names=given.schema.names)


def codes_of(column: Cells, labels: Labels) -> tuple[Codes, Mask | None]:
    """Return the code of every row, and which rows are missing, if any."""
    kind = column.type
    holds, labels = _respelled(kind, labels)
    if pa.types.is_dictionary(kind):
        return _of_dictionary(column, labels)
    missing = nulls(column)
    if holds == "text":
        known = _of_strings(column, labels, missing)
        if known is not None:
            return known, missing
        # Some string is not a category. Find its row for the error message.
        if pa.types.is_string_view(kind):
            column = column.cast(pa.string())
        found = pc.index_in(column, value_set=pa.array(labels.values, column.type))
        if found.null_count > column.null_count:
            arrays.check(arrow_cells.flags(found.is_null()), missing)
        codes = found.fill_null(0).to_numpy()
        return codes.astype(arrays.narrow(len(labels))), missing
    plain = column if missing is None else column.fill_null(False if holds == "boolean" else 0)
    return arrays.of_values(plain.to_numpy(), labels, missing)


def _of_strings(column: Cells, labels: Labels, missing: Mask | None) -> Codes | None:
    """The same for strings; None if one is no category, or this pyarrow does not make views."""
    try:
        views = column.cast(pa.string_view()).chunks
    except pa.ArrowNotImplementedError:
        return None
    return codes_of_views(views, labels, missing)


def codes_of_views(
    chunks: Iterable[pa.Array], labels: Labels, missing: Mask | None
) -> Codes | None:
    """The codes of strings, from the memory of their views; None if one is no category.

    pyarrow's `index_in` takes four times as long.
    """
    dtype = arrays.narrow(len(labels))
    parts, start = [np.empty(0, dtype)], 0
    for chunk in chunks:
        _valid, first, *rest = chunk.buffers()
        views = memory(first, "u8")[2 * chunk.offset :][: 2 * len(chunk)]
        none = None if missing is None else missing[start : start + len(chunk)]
        data = [memory(buffer, "u1") for buffer in rest]
        codes = labels._texts.find_codes(views, data, none)
        if codes is None:
            return None
        parts.append(codes)
        start += len(chunk)
    return parts[-1] if len(parts) == 2 else np.concatenate(parts)


def _respelled(kind: pa.DataType, labels: Labels) -> tuple[arrays.Holds, Labels]:
    """Return the kind of a column of this type, and the categories spelled in that kind."""
    values, types = value_type(kind), pa.types
    what = kind if values is kind else f"categories of {str(values).split('<')[0]}"
    known = is_string, types.is_boolean, types.is_integer, types.is_floating
    holds, labels = arrays.spelled(labels, arrays.kind_of(is_one(values) for is_one in known), what)
    if holds in ("integer", "float"):
        arrays.holds(np.dtype(values.to_pandas_dtype()), labels)
    return holds, labels


def _of_dictionary(column: Cells, labels: Labels) -> tuple[Codes, Mask | None]:
    """Return the same for a column of categories; chunks may have dictionaries of their own."""
    if not len(column):
        return np.zeros(0, arrays.narrow(len(labels))), None
    try:
        several = column.num_chunks > 1
        chunk = column.unify_dictionaries().combine_chunks() if several else column.chunk(0)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # Dictionaries with nulls among them, say, are spelled out.
        return codes_of(arrow_cells.spelled_out(column), labels)
    missing = nulls(chunk.indices)
    indices = chunk.indices if missing is None else chunk.indices.fill_null(0)
    return _entries(chunk.dictionary, labels).at(indices.to_numpy(zero_copy_only=False), missing)


def _entries(dictionary: pa.Array, labels: Labels) -> arrays.Entries:
    """Return the codes of a dictionary, which is cached because batches often share it."""
    known = labels._latest.get("arrow")
    if known is None or not known[0].equals(dictionary):
        known = dictionary, arrays.Entries.of(dictionary.to_pylist(), labels)
        labels._latest["arrow"] = known
    found: arrays.Entries = known[1]
    return found


def labelled_as(kind: pa.DataType, labels: Labels, codes: Codes, missing: Mask | None) -> Cells:
    """Return a column of a type, with these codes."""
    _holds, labels = _respelled(kind, labels)
    if pa.types.is_dictionary(kind):
        index = _wide(kind.index_type, len(labels))
        places = arrays.recoded(codes, len(labels), np.dtype(index.to_pandas_dtype()))
        entries = pa.array(labels.values, kind.value_type)
        # Not looked at again: codes are below the number of entries.
        indices = pa.array(places, mask=missing)
        found = pa.DictionaryArray.from_arrays(indices, entries, ordered=kind.ordered, safe=False)
    elif labels.kind != "text":
        plain = arrays.numbers_of(labels, codes, kind.to_pandas_dtype())
        found = pa.array(plain, kind, mask=missing)
    else:
        plain = arrow_cells.VIEWS.get(kind, kind)
        found = pa.array(labels.values, plain).take(pa.array(codes, mask=missing))
        if missing is None:
            # Else it says of every row that it is not missing.
            found = pa.Array.from_buffers(plain, len(found), [None, *found.buffers()[1:]])
        found = found if found.type == kind else found.cast(kind)
    return pa.chunked_array([found])


def _wide(index: pa.DataType, entries: int) -> pa.DataType:
    """Return the type of the indices, or a wider one if it cannot count all categories."""
    for kind in (index, pa.int16(), pa.int32()):
        if entries - 1 <= np.iinfo(kind.to_pandas_dtype()).max:
            return kind
    return pa.int64()
