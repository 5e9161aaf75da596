"""Arrow columns to codes of declared categories, and back."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bistochastic_survey.plan.labels import EXACT, Label, Labels, spelled_as, spelling
from bistochastic_survey.table import arrow_cells
from bistochastic_survey.table.arrays import narrow, recoded, some
from bistochastic_survey.table.arrow_cells import Cells
from bistochastic_survey.table.frames import Codes, Mask, Undeclared, WrongType

Labelled = Sequence[Label | float]

# Python's types; a boolean is an int, too, so it comes first.
_PYTHON: tuple[tuple[tuple[type, ...], pa.DataType], ...] = (
    ((bool, np.bool_), pa.bool_()),
    ((int, np.integer), pa.int64()),
    ((str,), pa.large_string()),
    ((float, np.floating), pa.float64()),
    ((bytes,), pa.large_binary()),
)
NAMES = {kind: types[0].__name__ for types, kind in _PYTHON}
# The type of a column that holds nothing but missing values, by the kind of its categories.
OWN = {"text": pa.string(), "integer": pa.int64(), "boolean": pa.bool_()}


def of_objects(values: Sequence[object], empty: pa.DataType | None = None) -> pa.Array:
    """Read Python's objects, all of one kind or numbers; None and NaN are missing."""
    found: dict[pa.DataType, str] = {}
    for kind in set(map(type, values)) - {type(None)}:
        known = next((each for types, each in _PYTHON if issubclass(kind, types)), None)
        if known is None:
            raise WrongType(kind.__name__)
        found[known] = kind.__name__
    if pa.float64() in found and all(v != v for v in values if isinstance(v, float | np.floating)):
        del found[pa.float64()]
    if found.keys() == {pa.int64(), pa.float64()}:
        del found[pa.int64()]
    if len(found) > 1:
        raise WrongType(" and ".join(sorted(found.values())))
    kind = next(iter(found), empty or pa.string())
    try:
        return pa.array(values, kind, from_pandas=True)
    except (pa.ArrowException, OverflowError, ValueError):
        if empty is None:
            raise
    # Among categories: an integer that is too large, or text that is no Unicode, is none.
    return pa.array([None if v is None or v != v else _digits(v) for v in values], pa.string())


def _digits(value: object) -> str:
    """Spell a value as categories are; what none is ends in a character in which none does."""
    found = spelling(value)
    try:
        return found if isinstance(found, str) and found.encode() else "\0"
    except UnicodeEncodeError:
        return "\0"


def spelled(labels: Labels, column: pa.DataType, what: object = None) -> Labels:
    """Spell the categories as a column of that type does; ``WrongType`` if it cannot hold them."""
    kind = arrow_cells.value_type(column)
    if what is None:
        what = kind if kind is column else f"categories of {str(kind).split('<')[0]}"
    if arrow_cells.is_string(kind):
        found = spelled_as(labels, "text")
    elif pa.types.is_boolean(kind):
        found = spelled_as(labels, "boolean")
    else:
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        found = spelled_as(labels, "integer") if is_number else None
    if found is None:
        raise WrongType(what)
    if found.kind == "integer":
        dtype = np.dtype(kind.to_pandas_dtype())
        if dtype.kind == "f":
            most = min(EXACT, 2 << int(np.finfo(dtype).nmant)) - 1
            least = -most
        else:
            least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        if found._bounds[0] < least or found._bounds[1] > most:
            raise WrongType(f"{dtype}, which cannot hold every category")
    return found


def codes_of(column: Cells, labels: Labels, what: object = None) -> tuple[Codes, Mask | None]:
    """Return the code of every row, 0 for missing ones; which rows are missing, if any."""
    kind = arrow_cells.value_type(column.type)
    labels = spelled(labels, column.type, what)
    dtype = narrow(len(labels))
    entries, places = parts(column)
    entries = alike(entries)
    if pa.types.is_boolean(kind):
        entries = entries.cast(pa.uint8())
    missing = arrow_cells.nulls(entries)
    if labels.kind != "text" and labels._bounds[2] and places is None:
        # In the order of the codes: nothing to look up.
        numbers = np.asarray(entries if missing is None else entries.fill_null(0))
        codes = recoded(numbers, len(labels), dtype) if numbers.dtype.kind in "iu" else None
        if codes is not None:
            return codes, missing
    values = pa.array(labels.values, kind).cast(entries.type)
    found = pc.index_in(entries, value_set=values).fill_null(-1).to_numpy()
    if places is not None:
        none = missing
        missing = arrow_cells.nulls(places)
        found, at = at_places(found, places)
        if none is not None:
            missing = none[at] if missing is None else missing | none[at]
    unknown = found < 0 if missing is None else (found < 0) & ~missing
    if unknown.any():
        raise Undeclared(unknown)
    if missing is None:
        return found.astype(dtype), None
    return np.where(missing, 0, found).astype(dtype), some(missing)


def of_bytes(cells: np.ndarray, values: np.ndarray) -> Codes | None:
    """Find cells of equal width among values byte by byte; None if one is not among them."""
    kind = pa.binary(cells.itemsize)
    rows, keys = (
        pa.Array.from_buffers(kind, len(x), [None, pa.py_buffer(x.view(np.uint8))])
        for x in (cells, values)
    )
    found = pc.index_in(rows, value_set=keys)
    return None if found.null_count else found.to_numpy().astype(narrow(len(values)))


def alike(entries: Cells) -> Cells:
    """Return equal values in one way: NaN is missing, and -0.0 is 0."""
    if pa.types.is_floating(entries.type):
        return pa.array(np.asarray(entries).astype(np.float64) + 0.0, from_pandas=True)
    return arrow_cells.plain(entries)


def parts(column: Cells) -> tuple[Cells, pa.Array | None]:
    """Return the entries of a dictionary and the place of each row; of any other, the cells."""
    if not pa.types.is_dictionary(column.type):
        return column, None
    try:
        one = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        return one.dictionary, one.indices
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # Dictionaries with nulls among them, say, are spelled out.
        return arrow_cells.spelled_out(column), None


def at_places(of_entries: np.ndarray, places: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return for each row what is said of its entry; and its place, 0 if it is missing."""
    at = (places.fill_null(0) if places.null_count else places).to_numpy()
    padded = of_entries if len(of_entries) else np.full(1, -1, of_entries.dtype)
    return np.take(padded, at, mode="clip"), at


def coded(
    kind: pa.DataType, values: Labelled, codes: Codes, missing: Mask | None
) -> pa.ChunkedArray:
    """Return a column of a type, with these values at these codes."""
    if pa.types.is_dictionary(kind):
        places = codes.astype(_wide(kind.index_type, len(values)).to_pandas_dtype())
        entries = pa.array(values, kind.value_type)
        # Not looked at again: codes are below the number of entries.
        indices = pa.array(places, mask=missing)
        found = pa.DictionaryArray.from_arrays(indices, entries, ordered=kind.ordered, safe=False)
    else:
        taken = pa.array(values, arrow_cells.VIEWS.get(kind, kind)).take(
            pa.array(codes, mask=missing)
        )
        # What is taken may say of every row that it is not missing.
        found = arrow_cells.made(taken).cast(kind)
    return pa.chunked_array([found])


def _wide(index: pa.DataType, entries: int) -> pa.DataType:
    """Return the type of the indices, or a wider one if it cannot count all categories."""
    for kind in (index, pa.int16(), pa.int32()):
        if entries - 1 <= np.iinfo(kind.to_pandas_dtype()).max:
            return kind
    return pa.int64()
