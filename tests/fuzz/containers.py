"""The same numbers in another container, and containers that hold something else."""

from __future__ import annotations

import array
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np

# Those that must give what a list gives, or be refused.
ALIKE = (
    "plain", "strided", "swapped", "frozen", "misaligned", "unmasked", "objects", "tuples",
    "fortran", "subclassed", "series", "shuffled_series", "extension", "polars", "chunked",
    "arrow", "arrow_chunks", "arrow_slice", "arrow_views", "arrow_large", "arrow_entries", "buffer",
)  # fmt: skip
# Those with a missing value, which must be refused.
MISSING = ("masked", "with_na", "with_null", "with_none", "with_nan")
# Those that hold something else.
OTHERS = (
    "half", "longdouble", "complexes", "bools", "texts", "byte_texts", "dates", "spans",
    "structured",
    "records", "cube", "column", "row", "empty", "ragged", "generator", "mapping", "a_set",
    "zero_d", "frame", "polars_frame", "table", "categorical", "view", "deque", "np_matrix",
    "dictionary",
    "void", "twice", "arrow_text", "dated_series", "lists",
)  # fmt: skip


class UnbuiltError(Exception):
    """A container that does not take these values: there is nothing to test."""


class Shelf:
    """The containers by name."""

    def __getattr__(self, name: str) -> Any:
        build = globals()[name]

        def built(v: Any) -> Any:
            try:
                return build(v)
            except Exception as error:
                raise UnbuiltError(name) from error

        return built


def plain(v: Any) -> Any:
    return np.asarray(v)


def lists(v: Any) -> Any:
    return [[x] for x in v]


def strided(v: Any) -> Any:
    return np.repeat(np.asarray(v), 2, axis=0)[::2]


def swapped(v: Any) -> Any:
    a = np.asarray(v)
    return a.astype(a.dtype.newbyteorder())


def frozen(v: Any) -> Any:
    a = np.array(v)
    a.flags.writeable = False
    return a


def misaligned(v: Any) -> Any:
    a = np.asarray(v)
    if a.dtype.hasobject:
        return a
    room = np.zeros(a.nbytes + 1, dtype=np.uint8)
    b = room[1:].view(a.dtype).reshape(a.shape)
    b[...] = a
    return b


def fortran(v: Any) -> Any:
    return np.asfortranarray(v)


def unmasked(v: Any) -> Any:
    return np.ma.array(v)


def masked(v: Any) -> Any:
    a = np.ma.array(v)
    if a.size:
        a[(0,) * a.ndim] = np.ma.masked
    return a


def objects(v: Any) -> Any:
    return np.array(v, dtype=object)


def tuples(v: Any) -> Any:
    return tuple(tuple(x) if isinstance(x, list) else x for x in v)


def subclassed(v: Any) -> Any:
    return np.asarray(v).view(type("Sub", (np.ndarray,), {}))


def np_matrix(v: Any) -> Any:
    return np.asarray(v).view(np.matrix)


def longdouble(v: Any) -> Any:
    return np.asarray(v).astype(np.longdouble)


def half(v: Any) -> Any:
    return np.asarray(v).astype(np.float16)


def complexes(v: Any) -> Any:
    return np.asarray(v).astype(complex) + 1j


def bools(v: Any) -> Any:
    return np.asarray(v).astype(bool)


def texts(v: Any) -> Any:
    return np.asarray(v).astype(str)


def byte_texts(v: Any) -> Any:
    return np.asarray(v).astype(str).astype("S")


def dates(v: Any) -> Any:
    return np.asarray(v).astype(int, casting="unsafe").astype("M8[s]")


def spans(v: Any) -> Any:
    return np.asarray(v).astype(int, casting="unsafe").astype("m8[ns]")


def structured(v: Any) -> Any:
    return np.zeros(np.shape(v), dtype=[("a", "f8"), ("b", "i4")])


def records(v: Any) -> Any:
    return structured(v).view(np.recarray)


def void(v: Any) -> Any:
    return np.zeros(np.shape(v), dtype="V5")


def cube(v: Any) -> Any:
    return np.asarray(v)[None, ..., None]


def column(v: Any) -> Any:
    return np.asarray(v)[:, None]


def row(v: Any) -> Any:
    return np.asarray(v)[None]


def zero_d(v: Any) -> Any:
    a = np.asarray(v).ravel()
    return np.array(a[0] if a.size else 0)


def empty(v: Any) -> Any:
    return np.asarray(v)[:0]


def ragged(v: Any) -> Any:
    return [list(np.atleast_1d(v[0])), [1, 2, 3]] if len(v) else [[1], [1, 2]]


def twice(v: Any) -> Any:
    return [v, v]


def generator(v: Any) -> Any:
    return (x for x in v)


def mapping(v: Any) -> Any:
    return dict(enumerate(v))


def a_set(v: Any) -> Any:
    return {str(x) for x in v}


def deque(v: Any) -> Any:
    from collections import deque as double_ended

    return double_ended(v)


def dictionary(v: Any) -> Any:
    return dict(enumerate(v)).values()


def buffer(v: Any) -> Any:
    a = np.asarray(v)
    if a.ndim != 1 or a.dtype.kind not in "iuf" or a.dtype.itemsize != 8:
        return a
    return array.array({"i": "q", "u": "Q", "f": "d"}[a.dtype.kind], a.tolist())


def view(v: Any) -> Any:
    plain: Any = np.ascontiguousarray(v)
    return memoryview(plain)


def _pandas() -> Any:
    return import_module("pandas")


def _polars() -> Any:
    return import_module("polars")


def _arrow() -> Any:
    return import_module("pyarrow")


def _flat(v: Any) -> Any:
    """Frames and columns hold one axis of plain numbers or texts; fractions they would round."""
    a = np.asarray(v)
    if any(isinstance(x, Fraction) for x in a.flat):
        raise UnbuiltError("fractions")
    return a.tolist() if a.ndim == 1 else a.ravel().tolist()


def series(v: Any) -> Any:
    return _pandas().Series(_flat(v)) if np.ndim(v) == 1 else _pandas().DataFrame(np.asarray(v))


def shuffled_series(v: Any) -> Any:
    """The numbers stand in the order given; the labels do not."""
    flat = _flat(v)
    return _pandas().Series(flat, index=range(len(flat), 0, -1)) if np.ndim(v) == 1 else series(v)


def extension(v: Any) -> Any:
    # Floats stay floats: whole numbers are taken as they are, and would be another matrix.
    whole = np.asarray(v).dtype.kind != "f"
    return series(v).convert_dtypes(convert_integer=whole) if np.ndim(v) == 1 else series(v)


def with_na(v: Any) -> Any:
    s = extension(_flat(v))
    if len(s):
        s.iloc[0] = None
    return s


def with_none(v: Any) -> Any:
    return [None, *_flat(v)[1:]]


def with_nan(v: Any) -> Any:
    return _pandas().Series([float("nan"), *_flat(v)[1:]])


def dated_series(v: Any) -> Any:
    return _pandas().Series(np.zeros(len(_flat(v)), dtype="M8[ns]"))


def categorical(v: Any) -> Any:
    return _pandas().Series(_flat(v)).astype("category")


def frame(v: Any) -> Any:
    return _pandas().DataFrame({"a": _flat(v)})


def polars(v: Any) -> Any:
    return _polars().Series(_flat(v)) if np.ndim(v) == 1 else _polars().DataFrame(np.asarray(v))


def polars_frame(v: Any) -> Any:
    return _polars().DataFrame({"a": _flat(v)})


def with_null(v: Any) -> Any:
    return _polars().Series([None, *_flat(v)[1:]])


def chunked(v: Any) -> Any:
    if np.ndim(v) != 1:
        return polars(v)
    flat = _flat(v)
    first, rest = _polars().Series(flat[:1]), _polars().Series(flat[1:], dtype=None)
    return first.append(rest) if len(flat) > 1 else first


def arrow(v: Any) -> Any:
    return _arrow().array(_flat(v)) if np.ndim(v) == 1 else _arrow().table(polars(v).to_arrow())


def arrow_chunks(v: Any) -> Any:
    flat = _flat(v)
    if np.ndim(v) != 1 or len(flat) < 2:
        return arrow(v)
    return _arrow().chunked_array([flat[:1], flat[1:]])


def arrow_slice(v: Any) -> Any:
    """With something before and behind it."""
    flat = _flat(v)
    return arrow([*flat[:1], *flat, *flat[:1]])[1:-1] if np.ndim(v) == 1 and flat else arrow(v)


def _spelled_as(v: Any, kinds: dict[str, str]) -> Any:
    """Texts and bytes in another layout; numbers as they are."""
    found = arrow(v)
    kind = kinds.get(str(getattr(found, "type", "")))
    return found if kind is None else found.cast(getattr(_arrow(), kind)())


def arrow_views(v: Any) -> Any:
    return _spelled_as(v, {"string": "string_view", "binary": "binary_view"})


def arrow_large(v: Any) -> Any:
    return _spelled_as(v, {"string": "large_string", "binary": "large_binary"})


def arrow_entries(v: Any) -> Any:
    """Each different text or bytes once, and which one it is; numbers as they are."""
    found = arrow(v)
    is_spelled = str(getattr(found, "type", "")) in ("string", "binary")
    return found.dictionary_encode() if is_spelled else found


def arrow_text(v: Any) -> Any:
    return _arrow().array([str(x) for x in _flat(v)])


def table(v: Any) -> Any:
    return _arrow().table({"a": _flat(v)})
