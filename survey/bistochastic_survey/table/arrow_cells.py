"""Arrow columns rebuilt from their visible content: the one place for pyarrow.

A column holds more than its cells: values under a null, rows outside of a slice, entries of a
dictionary that no row has, the order of those entries, metadata of the type. Nothing of this is
copied. Columns made from equal cells and an equal type are equal, byte by byte.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bistochastic import backend
from bistochastic_survey.table.arrays import in_order, one_nan, solid
from bistochastic_survey.table.frames import Mask

# An Arrow column, in one chunk or in several.
Cells: TypeAlias = pa.Array | pa.ChunkedArray

# Bytes that the offsets of a string column can count, and rows of a chunk if there are more.
_MOST, _ROWS = (1 << 31) - 1, 1 << 16
VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
_STRINGS = (pa.string(), pa.large_string(), pa.string_view())
_BYTES = (pa.binary(), pa.large_binary(), pa.binary_view())
# The names that data frames have for types of Arrow.
_WORDS = {
    "bool": "Boolean", "halffloat": "Float16", "float": "Float32", "double": "Float64",
    "string": "String", "large_string": "String", "string_view": "String", "binary": "Binary",
    "date32": "Date", "timestamp": "Datetime", "duration": "Duration", "time32": "Time",
    "time64": "Time", "dictionary": "Categorical", "struct": "Struct", "list": "List",
    "large_list": "List", "fixed_size_list": "Array", "decimal128": "Decimal",
}  # fmt: skip
_LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a dictionary; of any other type, itself."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def spelled_out(column: Cells) -> Cells:
    """Return a column without a dictionary."""
    if not pa.types.is_dictionary(column.type):
        return column
    if isinstance(column, pa.Array):
        return plain(column.dictionary).take(column.indices)
    kind = VIEWS.get(column.type.value_type, column.type.value_type)
    return pa.chunked_array([spelled_out(chunk) for chunk in column.chunks], kind)


def plain(column: Cells) -> Cells:
    """Return strings or bytes in a layout that pyarrow takes everywhere."""
    return column.cast(VIEWS.get(column.type, column.type))


def is_string(kind: pa.DataType) -> bool:
    """Whether a type holds strings, in any layout."""
    return kind in _STRINGS


def flags(found: Cells, missing: bool = False) -> Mask:
    """Read a column of booleans as an array, with this value for missing ones."""
    return np.array(found.fill_null(missing), bool)


def nulls(column: Cells) -> Mask | None:
    """Find which cells are null; None if none is."""
    return flags(column.is_null()) if column.null_count else None


def memory(buffer: pa.Buffer | None, kind: str) -> np.ndarray:
    """Read a buffer as an array over the same memory; empty without a buffer."""
    if not buffer:
        return np.empty(0, kind)
    array = np.frombuffer(buffer, kind, buffer.size // np.dtype(kind).itemsize)
    # A buffer from a message of another process may be at an odd address.
    return solid(array, array.dtype)


def word(kind: pa.DataType) -> str:
    """Return the name that data frames have for a type, which says nothing of the values.

    >>> word(pa.large_string()), word(pa.timestamp("s")), word(pa.uint8())
    ('String', 'Datetime', 'UInt8')
    """
    if pa.types.is_integer(kind):
        return str(kind).replace("uint", "UInt").replace("int", "Int")
    return _WORDS.get(re.split("[<[(]", str(kind))[0], "Unknown")


def ids_of(column: Cells) -> backend.Ids | None:
    """Read ids from the buffers of strings or bytes: no Python object is made per record."""
    kind, parts = column.type, []
    is_text = is_string(kind)
    if not (is_text or kind in _BYTES or pa.types.is_fixed_size_binary(kind)):
        return None
    column = column.cast(_LARGE[pa.string() if is_text else pa.binary()])
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        _, offsets, data = chunk.buffers()
        places = memory(offsets, "i8")[chunk.offset :][: len(chunk) + 1]
        parts.append((places, memory(data, "u1")))
    return backend.Ids.of_buffers(parts, text=is_text)


def declared(
    kind: pa.DataType, leaf: Callable[[pa.DataType], pa.DataType] = lambda kind: kind
) -> pa.DataType:
    """Return a type without notes; whether a part of it may be missing is not said either.

    ``leaf`` is applied to the types that have no parts.

    >>> declared(pa.list_(pa.field("item", pa.int8(), nullable=False, metadata={"who": "Ann"})))
    ListType(list<item: int8>)
    """
    types = pa.types

    def plain(field: pa.Field) -> pa.Field:
        return pa.field(field.name, declared(field.type, leaf))

    if types.is_struct(kind):
        return pa.struct([plain(field) for field in kind])
    if types.is_map(kind):
        return pa.map_(declared(kind.key_type, leaf), plain(kind.item_field))
    for is_one, make in (
        (types.is_list, pa.list_),
        (types.is_large_list, pa.large_list),
        (types.is_list_view, pa.list_view),
        (types.is_large_list_view, pa.large_list_view),
    ):
        if is_one(kind):
            return make(plain(kind.value_field))
    if types.is_fixed_size_list(kind):
        return pa.list_(plain(kind.value_field), kind.list_size)
    return leaf(kind)


def is_declared(kind: pa.DataType) -> bool:
    """Whether a type keeps its categories and their order: one of an ordered dictionary."""
    if pa.types.is_dictionary(kind):
        return bool(kind.ordered)
    return any(is_declared(kind.field(i).type) for i in range(kind.num_fields))


def column(given: Cells, order: np.ndarray | None = None) -> Cells:
    """Rebuild a column in one chunk, or in several if its strings are too long; rows in order."""
    kind = given.type
    long = kind in _LARGE and given.nbytes > _MOST
    if not long or (pc.sum(pc.binary_length(given)).as_py() or 0) <= _MOST:
        return pa.chunked_array([made(given, order)])
    large = made(given.cast(_LARGE[kind]), order)
    starts = range(0, len(large), _ROWS)
    return pa.chunked_array([large.slice(start, _ROWS).cast(kind) for start in starts])


def made(given: pa.Array, order: np.ndarray | None = None) -> pa.Array:
    """Return the visible cells of an array, or of one in chunks, as a new array; rows in order."""
    given = whole(given)
    kind, types = given.type, pa.types
    if types.is_run_end_encoded(kind):
        plain = made(pc.run_end_decode(given), order)
        return pc.run_end_encode(plain, run_end_type=kind.run_end_type)
    if order is not None:
        given = taken(given, order)
    missing = nulls(given)
    if types.is_dictionary(kind):
        return _listed(given)
    if types.is_null(kind):
        return pa.nulls(len(given))
    if isinstance(given, pa.ExtensionArray):
        return pa.ExtensionArray.from_storage(kind, made(given.storage))
    if types.is_boolean(kind):
        return pa.Array.from_buffers(kind, len(given), [_valid(missing), _bits(flags(given))])
    if kind in VIEWS:
        return made(given.cast(VIEWS[kind])).cast(kind)
    mask = None if missing is None else pa.array(missing)
    if types.is_list(kind) or types.is_large_list(kind):
        lengths = np.asarray(pc.list_value_length(given).fill_null(0))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        small = offsets.astype(np.int32 if types.is_list(kind) else np.int64)
        # Without the items of a list that is missing.
        items = made(given.flatten())
        return type(given).from_arrays(pa.array(small), items, type=declared(kind), mask=mask)
    if types.is_struct(kind):
        fields = list(declared(kind))
        if not fields:
            return pa.Array.from_buffers(kind, len(given), [_valid(missing)])
        parts = [made(part) for part in given.flatten()]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)
    is_fixed = types.is_decimal(kind) or types.is_fixed_size_binary(kind)
    is_number = types.is_primitive(kind) and not types.is_interval(kind)
    if is_fixed or is_number or is_string(kind) or kind in _BYTES:
        return _plain(given, missing)
    return pa.array(given.to_pylist(), declared(kind))


def taken(given: Cells, order: np.ndarray) -> Cells:
    """Return the rows of an array in order; pyarrow does not accept views."""
    return plain(given).take(pa.array(order)).cast(given.type)


def whole(given: Cells) -> pa.Array:
    """Join chunks to one array; dictionaries inside of others that differ are joined by value."""
    if not isinstance(given, pa.ChunkedArray):
        return given
    if given.num_chunks < 2:
        return given.chunk(0) if given.num_chunks else pa.nulls(0, given.type)
    try:
        return given.combine_chunks()
    except pa.ArrowNotImplementedError:
        return pa.array(given.to_pylist(), declared(given.type))


def _bits(found: Mask) -> pa.Buffer:
    return pa.py_buffer(np.packbits(found, bitorder="little"))


def _valid(missing: Mask | None) -> pa.Buffer | None:
    return None if missing is None else _bits(~missing)


def _plain(given: pa.Array, missing: Mask | None) -> pa.Array:
    """Cells one after the other, and nothing in the place of missing ones."""
    kind, types = given.type, pa.types
    if missing is not None:
        width = kind.byte_width if types.is_fixed_size_binary(kind) else 0
        nothing = "" if is_string(kind) else bytes(width) if width or kind in _BYTES else 0
        given = given.fill_null(pa.scalar(nothing, kind))
    if types.is_floating(kind):
        values = np.array(given)
        one_nan(values)
        given = pa.array(values)
    # Two arrays are joined in new memory, which holds their cells alone.
    cells = pa.concat_arrays([given, given[:0]])
    return pa.Array.from_buffers(kind, len(cells), [_valid(missing), *cells.buffers()[1:]])


def _listed(given: pa.Array) -> pa.Array:
    """Places in a dictionary: all of a declared one, else the values that occur, in order."""
    kind, entries = given.type, given.dictionary
    places = given.indices.fill_null(0).to_numpy(zero_copy_only=False)
    missing, none = flags(given.indices.is_null()), nulls(entries)
    if none is not None:
        missing |= none[places]
    if kind.ordered:
        values = made(entries)
    else:
        used = np.unique(places[~missing])
        values, ranks = _ranked(made(entries, used))
        codes = np.zeros(max(len(entries), 1), places.dtype)
        codes[used] = ranks
        places = codes[places]
    places = np.where(missing, places.dtype.type(0), places)
    indices = pa.array(places, kind.index_type, mask=missing if missing.any() else None)
    return pa.DictionaryArray.from_arrays(indices, values, ordered=kind.ordered, safe=False)


def _ranked(values: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Different values in order, and the place of each that was given."""
    kind, types = values.type, pa.types
    quick = (types.is_string, types.is_large_string, types.is_integer, types.is_temporal)
    if any(is_one(kind) for is_one in quick):
        encoded = values.dictionary_encode()
        order = pc.sort_indices(encoded.dictionary).to_numpy()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        unique = encoded.dictionary
    else:
        # Told apart by how they are written: 0.0 is not -0.0, and one NaN is another.
        seen: dict[str, int] = {}
        listed = values.to_pylist()
        codes = np.array([seen.setdefault(repr(v), len(seen)) for v in listed], np.intp)
        first = np.unique(codes, return_index=True)[1]
        unique = values.take(pa.array(first, pa.int64()))
        order = np.array(in_order([listed[i] for i in first]), np.intp)
    return made(unique, order), np.argsort(order)[codes]
