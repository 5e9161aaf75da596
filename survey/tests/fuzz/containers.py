"""The same numbers in another container, and containers that hold something else."""

from __future__ import annotations

import array
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from fuzz.prelude import Later

pd, pl, pa = Later("pandas"), Later("polars"), Later("pyarrow")


class UnbuiltError(Exception):
    """A container that does not take these values: there is nothing to test."""


class Containers:
    """The containers by name."""

    def __getattr__(self, name: str) -> Any:
        def built(v: Any) -> Any:
            try:
                return (ALIKE | MISSING | OTHERS)[name](v)
            except Exception as error:
                raise UnbuiltError(name) from error

        return built


def _swapped(v: Any) -> Any:
    a = np.asarray(v)
    return a.astype(a.dtype.newbyteorder())


def _frozen(v: Any) -> Any:
    a = np.array(v)
    a.flags.writeable = False
    return a


def _misaligned(v: Any) -> Any:
    a = np.asarray(v)
    if a.dtype.hasobject:
        return a
    room = np.zeros(a.nbytes + 1, dtype=np.uint8)
    b = room[1:].view(a.dtype).reshape(a.shape)
    b[...] = a
    return b


def _masked(v: Any) -> Any:
    a = np.ma.array(v)
    if a.size:
        a[(0,) * a.ndim] = np.ma.masked
    return a


def _zero_d(v: Any) -> Any:
    a = np.asarray(v).ravel()
    return np.array(a[0] if a.size else 0)


def _buffer(v: Any) -> Any:
    a = np.asarray(v)
    if a.ndim != 1 or a.dtype.kind not in "iuf" or a.dtype.itemsize != 8:
        return a
    return array.array({"i": "q", "u": "Q", "f": "d"}[a.dtype.kind], a.tolist())


def _flat(v: Any) -> Any:
    """Frames and columns hold one axis of plain numbers or texts; fractions they would round."""
    a = np.asarray(v)
    if any(isinstance(x, Fraction) for x in a.flat):
        raise UnbuiltError("fractions")
    return a.tolist() if a.ndim == 1 else a.ravel().tolist()


def _series(v: Any) -> Any:
    return pd.Series(_flat(v)) if np.ndim(v) == 1 else pd.DataFrame(np.asarray(v))


def _shuffled_series(v: Any) -> Any:
    """The numbers stand in the order given; the labels do not."""
    flat = _flat(v)
    return pd.Series(flat, index=range(len(flat), 0, -1)) if np.ndim(v) == 1 else _series(v)


def _extension(v: Any) -> Any:
    # Floats stay floats: whole numbers are taken as they are, and would be another matrix.
    whole = np.asarray(v).dtype.kind != "f"
    return _series(v).convert_dtypes(convert_integer=whole) if np.ndim(v) == 1 else _series(v)


def _with_na(v: Any) -> Any:
    s = _extension(_flat(v))
    if len(s):
        s.iloc[0] = None
    return s


def _polars(v: Any) -> Any:
    return pl.Series(_flat(v)) if np.ndim(v) == 1 else pl.DataFrame(np.asarray(v))


def _chunked(v: Any) -> Any:
    if np.ndim(v) != 1:
        return _polars(v)
    flat = _flat(v)
    first, rest = pl.Series(flat[:1]), pl.Series(flat[1:], dtype=None)
    return first.append(rest) if len(flat) > 1 else first


def _arrow(v: Any) -> Any:
    return pa.array(_flat(v)) if np.ndim(v) == 1 else pa.table(_polars(v).to_arrow())


def _arrow_chunks(v: Any) -> Any:
    flat = _flat(v)
    if np.ndim(v) != 1 or len(flat) < 2:
        return _arrow(v)
    return pa.chunked_array([flat[:1], flat[1:]])


def _arrow_slice(v: Any) -> Any:
    """With something before and behind it."""
    flat = _flat(v)
    return _arrow([*flat[:1], *flat, *flat[:1]])[1:-1] if np.ndim(v) == 1 and flat else _arrow(v)


def _laid_out(how: str) -> Callable[[Any], Any]:
    """Texts and bytes in another layout; numbers as they are."""

    def laid_out(v: Any) -> Any:
        found = _arrow(v)
        kind = str(getattr(found, "type", ""))
        if kind not in ("string", "binary"):
            return found
        if how == "entries":
            # Each different text or bytes once, and which one it is.
            return found.dictionary_encode()
        return found.cast(getattr(pa, how.format(kind))())

    return laid_out


# Those that must give what a list gives, or be refused.
ALIKE: dict[str, Callable[[Any], Any]] = {
    "plain": np.asarray,
    "strided": lambda v: np.repeat(np.asarray(v), 2, axis=0)[::2],
    "swapped": _swapped,
    "frozen": _frozen,
    "misaligned": _misaligned,
    "unmasked": np.ma.array,
    "objects": lambda v: np.array(v, dtype=object),
    "tuples": lambda v: tuple(tuple(x) if isinstance(x, list) else x for x in v),
    "fortran": np.asfortranarray,
    "subclassed": lambda v: np.asarray(v).view(type("Sub", (np.ndarray,), {})),
    "series": _series,
    "shuffled_series": _shuffled_series,
    "extension": _extension,
    "polars": _polars,
    "chunked": _chunked,
    "arrow": _arrow,
    "arrow_chunks": _arrow_chunks,
    "arrow_slice": _arrow_slice,
    "arrow_views": _laid_out("{}_view"),
    "arrow_large": _laid_out("large_{}"),
    "arrow_entries": _laid_out("entries"),
    "buffer": _buffer,
}
# Those with a missing value, which must be refused.
MISSING: dict[str, Callable[[Any], Any]] = {
    "masked": _masked,
    "with_na": _with_na,
    "with_null": lambda v: pl.Series([None, *_flat(v)[1:]]),
    "with_none": lambda v: [None, *_flat(v)[1:]],
    "with_nan": lambda v: pd.Series([float("nan"), *_flat(v)[1:]]),
}
_STRUCTURE = np.dtype([("a", "f8"), ("b", "i4")])
# Those that hold something else.
OTHERS: dict[str, Callable[[Any], Any]] = {
    "half": lambda v: np.asarray(v).astype(np.float16),
    "longdouble": lambda v: np.asarray(v).astype(np.longdouble),
    "complexes": lambda v: np.asarray(v).astype(complex) + 1j,
    "bools": lambda v: np.asarray(v).astype(bool),
    "texts": lambda v: np.asarray(v).astype(str),
    "byte_texts": lambda v: np.asarray(v).astype(str).astype("S"),
    "dates": lambda v: np.asarray(v).astype(int, casting="unsafe").astype("M8[s]"),
    "spans": lambda v: np.asarray(v).astype(int, casting="unsafe").astype("m8[ns]"),
    "structured": lambda v: np.zeros(np.shape(v), dtype=_STRUCTURE),
    "records": lambda v: np.zeros(np.shape(v), dtype=_STRUCTURE).view(np.recarray),
    "cube": lambda v: np.asarray(v)[None, ..., None],
    "column": lambda v: np.asarray(v)[:, None],
    "row": lambda v: np.asarray(v)[None],
    "empty": lambda v: np.asarray(v)[:0],
    "ragged": lambda v: [list(np.atleast_1d(v[0])), [1, 2, 3]] if len(v) else [[1], [1, 2]],
    "generator": lambda v: (x for x in v),
    "mapping": lambda v: dict(enumerate(v)),
    "a_set": lambda v: {str(x) for x in v},
    "zero_d": _zero_d,
    "frame": lambda v: pd.DataFrame({"a": _flat(v)}),
    "polars_frame": lambda v: pl.DataFrame({"a": _flat(v)}),
    "table": lambda v: pa.table({"a": _flat(v)}),
    "categorical": lambda v: pd.Series(_flat(v)).astype("category"),
    "view": lambda v: np.ascontiguousarray(v).data,
    "deque": deque,
    "np_matrix": lambda v: np.asarray(v).view(np.matrix),
    "dictionary": lambda v: dict(enumerate(v)).values(),
    "void": lambda v: np.zeros(np.shape(v), dtype="V5"),
    "twice": lambda v: [v, v],
    "arrow_text": lambda v: pa.array([str(x) for x in _flat(v)]),
    "dated_series": lambda v: pd.Series(np.zeros(len(_flat(v)), dtype="M8[ns]")),
    "lists": lambda v: [[x] for x in v],
}
