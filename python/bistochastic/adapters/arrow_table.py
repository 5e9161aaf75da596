"""Tables and record batches of pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bistochastic.adapters import arrays
from bistochastic.adapters.frames import Frame, WrongType, distinct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from bistochastic.adapters.frames import Codes, Mask
    from bistochastic.labels import Labels


class ArrowTable(Frame):
    """A table, in chunks of whatever length."""

    def __init__(self, native: Any) -> None:
        distinct(native.column_names)
        super().__init__(native)

    def codes(self, name: str, labels: Labels) -> tuple[Codes, Mask | None]:
        """The code of every row, and which rows are missing, if any."""
        return codes_of(self.column(name), labels)

    def labelled(self, name: str, labels: Labels, codes: Codes, missing: Mask | None) -> Any:
        """A column like that one, with these codes."""
        return labelled_as(self.column(name).type, labels, codes, missing)

    def spelled_out(self, name: str) -> Any:
        """A column without a dictionary: whole numbers in it stay whole numbers."""
        column = self.column(name)
        kind = column.type
        return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column

    def numbered(self, name: str, values: NDArray[Any]) -> Any:
        """A column like that one, with these numbers."""
        return pa.chunked_array([pa.array(values, self.column(name).type)])

    def texts(self, values: Sequence[str]) -> Any:
        """A column of texts."""
        return pa.chunked_array([pa.array(values, pa.string())])

    def made(self, columns: Mapping[str, Any], order: NDArray[Any] | None) -> Any:
        """A table, without what was noted about the other."""
        return super().made(columns, order).replace_schema_metadata(None)


class Batch(ArrowTable):
    """A record batch."""

    def __init__(self, native: Any) -> None:
        distinct(native.schema.names)
        super().__init__(pa.Table.from_batches([native]))

    def made(self, columns: Mapping[str, Any], order: NDArray[Any] | None) -> Any:
        """A record batch."""
        table = super().made(columns, order).combine_chunks()
        arrays = [column.combine_chunks() for column in table.columns]
        return pa.RecordBatch.from_arrays(arrays, schema=table.schema)


def codes_of(column: Any, labels: Labels) -> tuple[Codes, Mask | None]:
    """The code of every row, and which rows are missing, if any."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _of_dictionaries(column, labels)
    missing = _nulls(column)
    if labels.kind == "text" and _is_text(kind):
        if pa.types.is_string_view(kind):
            column = column.cast(pa.string())
        found = pc.index_in(column, value_set=pa.array(labels.values, column.type))
        if found.null_count > column.null_count:
            arrays.check(_nulls(found), missing)  # type: ignore[arg-type]
        codes = found.fill_null(0).to_numpy()
        return codes.astype(arrays.narrow(len(labels))), missing
    if labels.kind == "integer" and pa.types.is_integer(kind):
        values = (column if missing is None else column.fill_null(0)).to_numpy()
        arrays.holds(values.dtype, labels)
        return arrays.of_integers(values, labels, missing), missing
    if labels.kind == "boolean" and pa.types.is_boolean(kind):
        values = column.fill_null(False).to_numpy().astype(bool)
        return arrays.of_booleans(values, labels, missing), missing
    raise WrongType(kind)


def _of_dictionaries(column: Any, labels: Labels) -> tuple[Codes, Mask | None]:
    """The same, chunk by chunk: each may have a dictionary of its own, mostly all have one."""
    known: dict[Any, arrays.Entries] = {}
    if column.num_chunks == 1 and not column.null_count:
        [chunk] = column.chunks
        entries = arrays.Entries.of(chunk.dictionary.to_pylist(), labels)
        return entries.at(chunk.indices.to_numpy(), None)
    codes = np.zeros(len(column), arrays.narrow(len(labels)))
    missing: Mask | None = None
    others: Mask | None = None
    start = 0
    for chunk in column.chunks:
        here = slice(start, start + len(chunk))
        start = here.stop
        entries = chunk.dictionary
        places = [None if buffer is None else buffer.address for buffer in entries.buffers()]
        same = (entries.offset, len(entries), *places)
        if same not in known:
            known[same] = arrays.Entries.of(entries.to_pylist(), labels)
        indices = chunk.indices
        nulls = _nulls(indices)
        plain = (indices if nulls is None else indices.fill_null(0)).to_numpy(zero_copy_only=False)
        codes[here], none, unknown = known[same].split(plain, nulls)
        if none is not None:
            missing = np.zeros(len(column), bool) if missing is None else missing
            missing[here] = none
        if unknown is not None:
            others = np.zeros(len(column), bool) if others is None else others
            others[here] = unknown
    if others is not None:
        arrays.check(others, None)
    return codes, missing


def labelled_as(kind: Any, labels: Labels, codes: Codes, missing: Mask | None) -> Any:
    """A column of a type, with these codes."""
    if pa.types.is_dictionary(kind):
        index = _wide(kind.index_type, len(labels))
        places = arrays.recoded(codes, len(labels), np.dtype(index.to_pandas_dtype()))
        entries = _texts(labels, kind.value_type)
        # Not looked at again: codes are below the number of entries.
        indices = pa.array(places, mask=missing)
        found = pa.DictionaryArray.from_arrays(indices, entries, ordered=kind.ordered, safe=False)
    elif labels.kind != "text":
        plain = arrays.numbers_of(labels, codes, kind.to_pandas_dtype())
        found = pa.array(plain, kind, mask=missing)
    else:
        entries = _texts(labels, pa.string() if pa.types.is_string_view(kind) else kind)
        found = entries.take(pa.array(codes, mask=missing))
        found = found if found.type == kind else found.cast(kind)
    return pa.chunked_array([found])


def _nulls(column: Any) -> Mask | None:
    if not column.null_count:
        return None
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False), dtype=bool)


def _is_text(kind: Any) -> bool:
    return any(
        is_one(kind)
        for is_one in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    )


def _texts(labels: Labels, kind: Any) -> Any:
    return pa.array(labels.values, kind)


def _wide(index: Any, entries: int) -> Any:
    """The type of the indices, a wider one where there are more categories than it counts."""
    for kind in (index, pa.int16(), pa.int32()):
        if entries - 1 <= np.iinfo(kind.to_pandas_dtype()).max:
            return kind
    return pa.int64()
