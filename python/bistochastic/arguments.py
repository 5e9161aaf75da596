"""A caller's numbers, codes and labels, read once, whatever holds them.

Imports NumPy, so the package itself imports this file only where it is needed. Series, frames and
Arrow arrays are known by what they can do, so that no library of theirs is imported here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core, spelled
from bistochastic.errors import OutOfMemoryError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Types of Python's that NumPy reads without asking them anything.
_NUMBERS = frozenset((int, float))


def zeros(what: str, size: int, dtype: Any) -> np.ndarray:
    """A square array of zeros, for ``what``; OutOfMemoryError where it does not fit.

    >>> zeros("matrix", 2, np.int64)
    array([[0, 0],
           [0, 0]])
    """
    each = np.dtype(dtype).itemsize
    _core.require_memory(what, size, size, each)
    try:
        return np.zeros((size, size), dtype=dtype)
    except MemoryError:
        got = f"a {size} x {size} array of {size * size * each} bytes"
        raise OutOfMemoryError(f"`{what}` must fit in memory; got {got}") from None


def array(name: str, must: str, given: Any, *, by_code: bool = False) -> np.ndarray:
    """What a caller gave as a plain array: a sequence, an array, a series, a frame, Arrow.

    Missing values (masked, NA, null) are refused. ``by_code`` says that positions in the array are
    codes, so that labels (pandas) must be in the order of the codes.

    >>> array("x", "hold numbers", np.ma.array([1, 2], mask=[False, True]))
    Traceback (most recent call last):
        ...
    ValueError: `x` must hold no missing values; got 1, the first at position 1
    """
    if type(given) is np.ndarray:
        return given
    # The common case: nothing can be missing, and nothing has labels.
    numbers = type(given) is list and _NUMBERS.issuperset(map(type, given))
    if by_code and not numbers:
        refuse_another_order(name, given)
    try:
        missing = None if numbers else _missing(given)
        if missing is None or not missing.any():
            return np.array(given) if numbers else _plain(given)
    except MemoryError:
        # A matrix that is too large to be an array says so itself.
        raise
    except Exception:
        # Whatever NumPy and other libraries raise for what is no array of theirs.
        ragged = isinstance(given, list | tuple) and any(hasattr(x, "__len__") for x in given)
        got = "rows of several lengths or kinds" if ragged else type(given).__name__
        raise TypeError(f"`{name}` must {must}; got {got}") from None
    first = np.unravel_index(int(missing.argmax()), missing.shape)
    at = f"position {first[0]}" if missing.ndim == 1 else str(tuple(int(i) for i in first))
    got = f"{int(missing.sum())}, the first at {at}"
    raise ValueError(f"`{name}` must hold no missing values; got {got}")


def floats(name: str, must: str, given: object, *, by_code: bool = True) -> Floats:
    """The same as doubles: fractions and the like become the nearest, complex ones are refused."""
    plain = array(name, must, given, by_code=by_code)
    if plain.dtype.kind == "O":
        flat = [_core.as_real(name, must, item) for item in plain.ravel().tolist()]
        found = np.array(flat, dtype=np.float64).reshape(plain.shape)
        reals = [isinstance(item, float) for item in plain.ravel()]
        known = np.array(reals, dtype=bool).reshape(plain.shape)
        _refuse_larger(name, found, np.isinf(found) & known)
        return found
    if plain.dtype.kind not in "fiu":
        what = f"dtype {plain.dtype}" if plain.ndim else type(given).__name__
        raise TypeError(f"`{name}` must {must}; got {what}")
    return doubles(name, plain)


def doubles(name: str, plain: np.ndarray) -> Floats:
    """Numbers of NumPy's as doubles, of longer ones the nearest; a finite one stays finite."""
    if plain.dtype.itemsize <= 8:
        return plain.astype(np.float64)
    with np.errstate(over="ignore"):
        found = plain.astype(np.float64)
    _refuse_larger(name, found, np.isinf(plain))
    return found


def _refuse_larger(name: str, found: Floats, infinite: NDArray[np.bool_]) -> None:
    """What is infinite as a double and was not before would mean something else."""
    if not np.array_equal(np.isinf(found), infinite):
        raise ValueError(f"`{name}` must hold numbers below 2^1024; got a larger one")


def fault(number: float) -> str:
    """What is wrong with a number that should be finite and not negative.

    >>> fault(-2.0), fault(float("nan"))
    ('a negative number', 'NaN')
    """
    if np.isnan(number):
        return "NaN"
    return "a negative number" if number < 0 else "an infinite number"


def columns_of(given: Any) -> Any:
    """The columns of a frame as a list; what is no frame as it is."""
    if hasattr(type(given), "iloc") and getattr(given, "ndim", 1) == 2:
        return [given.iloc[:, i] for i in range(given.shape[1])]
    columns = _columns(given)
    return given if columns is None else columns


def items(name: str, must: str, given: Any) -> list[Any]:
    """Things one after the other, as a list.

    >>> items("matrices", "be a sequence", np.array(1))
    Traceback (most recent call last):
        ...
    TypeError: `matrices` must be a sequence; got ndarray
    """
    kind = type(given)
    # A lazy frame has an index alone, and Python would take it for a sequence.
    if hasattr(kind, "__iter__") or (hasattr(kind, "__len__") and hasattr(kind, "__getitem__")):
        try:
            return list(iter(given))
        except TypeError:
            # An array without an axis.
            pass
    raise TypeError(f"`{name}` must {must}; got {kind.__name__}")


def one_of(name: str, given: object, known: tuple[str, ...]) -> str:
    """One of several words."""
    must = f"`{name}` must be one of {', '.join(known)}"
    if not isinstance(given, str):
        raise TypeError(f"{must}; got {type(given).__name__}")
    if given not in known:
        raise ValueError(f"{must}; got {given!r}")
    return given


def _missing(given: object) -> NDArray[np.bool_] | None:
    """Where nothing is known, in the shape of the array; None where all is."""
    if isinstance(given, np.ma.MaskedArray):
        mask = np.atleast_1d(np.ma.getmaskarray(given))
        return mask if mask.dtype == bool else None
    if isinstance(given, list | tuple):
        return _masked_items(given)
    kind = type(given)
    for ask in ("isna", "is_null"):
        # A series says isna in pandas, is_null in polars and pyarrow; a frame too, in pandas.
        if callable(getattr(kind, ask, None)):
            mask = np.asarray(getattr(given, ask)())
            return mask if mask.dtype == bool else None
    columns = _columns(given)
    if columns is None:
        return None
    masks = [mask for mask in map(_missing, columns) if mask is not None]
    return np.stack(masks, axis=1) if masks else None


def _masked_items(given: Sequence[object]) -> NDArray[np.bool_] | None:
    """Which items of a list are masked; NumPy would take the numbers behind the mask."""
    if not any(isinstance(item, np.ma.MaskedArray | list | tuple) for item in given):
        return None

    def masked(item: Any, depth: int) -> bool:
        if isinstance(item, list | tuple) and depth < 64:
            return any(masked(x, depth + 1) for x in item)
        return isinstance(item, np.ma.MaskedArray) and bool(np.ma.is_masked(item))

    return np.array([masked(item, 0) for item in given], dtype=bool)


def _columns(given: Any) -> list[Any] | None:
    """The columns of a frame of polars or pyarrow; None of what is none."""
    for ask in ("get_columns", "itercolumns"):
        if callable(getattr(type(given), ask, None)):
            return list(getattr(given, ask)())
    return None


def _plain(given: Any) -> np.ndarray:
    columns = _columns(given)
    if columns is not None:
        return np.stack([_plain(column) for column in columns], axis=1)
    kind = type(given)
    is_arrow = hasattr(kind, "__arrow_c_array__") or hasattr(kind, "__arrow_c_stream__")
    if is_arrow and not hasattr(kind, "__array__"):
        return _plain(_of_arrow(given))
    found = np.asarray(given)
    if found.dtype.kind in "US" and callable(getattr(kind, "to_numpy", None)):
        # As objects, since NumPy's own text and bytes of a fixed width end before a zero.
        return np.array(given.to_numpy(), dtype=object)
    if found.dtype.kind == "O":
        # Nullable columns of pandas may come as objects, though they know a type of NumPy's.
        known = getattr(getattr(given, "dtype", None), "numpy_dtype", None)
        if isinstance(known, np.dtype) and known.kind != "O":
            return np.asarray(given.to_numpy(dtype=known))
        if found.ndim == 2 and hasattr(kind, "iloc"):
            return np.stack([_plain(given.iloc[:, i]) for i in range(found.shape[1])], axis=1)
    return found


def _of_arrow(given: object) -> Any:
    """What only speaks Arrow's C interface, through the library that reads it."""
    try:
        import pyarrow
    except ImportError:
        raise TypeError from None
    if hasattr(type(given), "__arrow_c_array__"):
        found = pyarrow.array(given)
    else:
        found = pyarrow.chunked_array(given)
    if found.null_count:
        raise ValueError
    return found


def refuse_unsorted_labels(name: str, given: object) -> None:
    """Labels that are no codes, as text is, say an order of the codes only where they are sorted.

    That is the order in which pandas itself codes a column: text as it is sorted, a categorical by
    its categories. Counts that ``value_counts`` sorted by frequency are in no order of codes.
    """
    for side in ("index", "columns") if hasattr(type(given), "iloc") else ():
        labels = getattr(given, side, None)
        # Codes have a rule of their own.
        if labels is None or np.asarray(labels).dtype.kind in "iu":
            continue
        if getattr(labels, "is_monotonic_increasing", True) is False:
            must = f"`{name}` must be in the order of the codes"
            cure = f"{name}.loc[categories].to_numpy() says which one is meant"
            if side == "columns":
                cure = f"{name}[categories].to_numpy() says which one is meant"
            raise ValueError(f"{must}; got labels that are not sorted: {cure}")


def refuse_another_order(name: str, given: object, *, columns: bool = True) -> None:
    """A labelled column (pandas) that was sorted by frequency would be taken for another one.

    Of a table the ``columns`` are codes too, unless each of them is a vector of its own.
    """
    if not hasattr(type(given), "iloc"):
        # Others have no labels; to ask a lazy frame for its columns would make it work.
        return
    for side in ("index", "columns") if columns else ("index",):
        labels = getattr(given, side, None)
        if labels is None or callable(labels) or not hasattr(labels, "is_unique"):
            continue
        order = np.asarray(labels)
        codes = np.arange(len(order))
        if order.dtype.kind not in "iu" or np.array_equal(order, codes):
            continue
        if np.array_equal(np.sort(order), codes):
            must = f"`{name}` must be in the order of the codes"
            axis = "" if side == "index" else "axis=1"
            got = f"labels that are not sorted, which sort_index({axis}) puts right"
            raise ValueError(f"{must}; got {got}")


_core.register(array=array, items=items, spelled=spelled.spelled)
