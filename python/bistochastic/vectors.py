"""A caller's arrays, whatever holds them, and vectors compared without losing any number.

Imports NumPy, so the package itself imports this file only where it is needed. Series, frames and
Arrow arrays are known by what they can do, so that no library of theirs is imported here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core
from bistochastic.errors import OutOfMemoryError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    Vector = Sequence[int | float | Fraction] | NDArray[Any]
    Exact = list[int | Fraction]
    Floats = NDArray[np.float64]

# How far sums of floats may be apart, of the sum of the absolute values: well above what summing
# proportions leaves behind, well below what a histogram of people can show.
SLACK = 1e-12


# What NumPy and others raise for what is no array of theirs.
_NO_ARRAY = (TypeError, ValueError, OverflowError, NotImplementedError, Warning)
# Types of Python's that NumPy reads without asking them anything.
_NUMBERS = frozenset((int, float))


def zeros(what: str, size: int, dtype: Any) -> NDArray[Any]:
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


def array(name: str, must: str, given: Any, *, by_code: bool = False) -> NDArray[Any]:
    """What a caller gave as a plain array: a sequence, an array, a series, a frame, Arrow.

    What is missing (masked, NA, null) is refused. ``by_code`` says that a place in the array is a
    code, so that labels (pandas) must not say another order.

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
    except OutOfMemoryError:
        # A matrix that is too large to be an array says so itself.
        raise
    except _NO_ARRAY:
        ragged = isinstance(given, list | tuple) and any(hasattr(x, "__len__") for x in given)
        got = "rows of several lengths or kinds" if ragged else type(given).__name__
        raise TypeError(f"`{name}` must {must}; got {got}") from None
    first = np.unravel_index(int(missing.argmax()), missing.shape)
    at = f"position {first[0]}" if missing.ndim == 1 else str(tuple(int(i) for i in first))
    got = f"{int(missing.sum())}, the first at {at}"
    raise ValueError(f"`{name}` must hold no missing values; got {got}")


def floats(name: str, must: str, given: Any, *, by_code: bool = True) -> Floats:
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


def doubles(name: str, plain: NDArray[Any]) -> Floats:
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


def one_of(name: str, given: Any, known: tuple[str, ...]) -> str:
    """One of several words."""
    must = f"`{name}` must be one of {', '.join(known)}"
    if not isinstance(given, str):
        raise TypeError(f"{must}; got {type(given).__name__}")
    if given not in known:
        raise ValueError(f"{must}; got {given!r}")
    return given


def _missing(given: Any) -> NDArray[np.bool_] | None:
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


def _masked_items(given: Sequence[Any]) -> NDArray[np.bool_] | None:
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


def _plain(given: Any) -> NDArray[Any]:
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


def _of_arrow(given: Any) -> Any:
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


def refuse_another_order(name: str, given: Any, *, columns: bool = True) -> None:
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
            got = f"labels in another, which sort_index({axis}) puts right"
            raise ValueError(f"{must}; got {got}")


def vector(name: str, values: Any) -> NDArray[Any] | Exact:
    """A vector as a float64 or int64 array, or as a list where only that is exact."""
    if not isinstance(values, list | tuple):
        values = array(name, "hold numbers in one row", values, by_code=True)
        if values.ndim != 1 or values.dtype.kind not in "iufO":
            got = values.dtype.name if values.ndim == 1 else f"{values.ndim} axes"
            raise TypeError(f"`{name}` must hold numbers in one row; got {got}")
        if values.dtype.kind == "O" or values.dtype == np.uint64:
            values = values.tolist()
    if len(values) == 0:
        raise ValueError(f"`{name}` must hold at least one number; got none")
    if not isinstance(values, np.ndarray):
        values = _array(name, list(values))
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        values = doubles(name, values)
        bad = ~np.isfinite(values)
        if bad.any():
            at = int(np.argmax(bad))
            got = "NaN" if np.isnan(values[at]) else f"{values[at]:g}"
            raise ValueError(f"`{name}` must hold finite numbers; got {got} at {at}")
    elif isinstance(values, np.ndarray):
        values = values.astype(np.int64)
    return values  # type: ignore[no-any-return]


def pair(p: Vector, q: Vector) -> tuple[Any, Any]:
    """Both as float64 arrays, as int64 arrays whose sums are safe, or as lists of whole numbers."""
    x, y = vector("p", p), vector("q", q)
    if len(x) != len(y):
        raise ValueError(f"`q` must hold as many numbers as `p`, {len(x)}; got {len(y)}")
    if is_floats(x) or is_floats(y):
        return _rounded("p", x), _rounded("q", y)
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        largest = max(abs(int(edge)) for z in (x, y) for edge in (z.min(), z.max()))
        if 2 * largest * len(x) < 2**63:
            return x, y
    from math import lcm

    exact = listed(x) + listed(y)
    unit = lcm(*{z.denominator for z in exact})
    scaled = [z.numerator * (unit // z.denominator) for z in exact]
    return scaled[: len(x)], scaled[len(x) :]


def listed(values: NDArray[Any] | Exact) -> Exact:
    """An exact vector as a list of Python numbers."""
    return values.tolist() if isinstance(values, np.ndarray) else values


def wholes(x: Any, y: Any) -> tuple[list[int], list[int]]:
    """What :func:`pair` gives as lists of whole numbers of one unit, exactly."""
    if not is_floats(x):
        return [int(z) for z in listed(x)], [int(z) for z in listed(y)]
    mantissa, exponent = np.frexp(np.concatenate([x, y]))
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    exponent = np.where(whole == 0, exponent.max(), exponent)
    shifts = (exponent - exponent.min()).tolist()
    both = [w << s for w, s in zip(whole.tolist(), shifts, strict=True)]
    return both[: len(x)], both[len(x) :]


def is_floats(values: NDArray[Any] | Exact) -> bool:
    """Whether a vector is one of floats rather than exact numbers."""
    return isinstance(values, np.ndarray) and values.dtype == np.float64


def against(x: Any, y: Any) -> str:
    """What speaks against ``x`` majorizing ``y``, or nothing."""
    if isinstance(x, np.ndarray):
        ahead, slack = _ahead_floats(x, y) if is_floats(x) else _ahead_wholes(x, y)
        level, first = bool(abs(ahead[-1]) <= slack), int(np.argmax(ahead < -slack))
        short = bool(ahead[first] < -slack)
    else:
        total = 0
        first, short = 0, False
        for n, (a, b) in enumerate(zip(sorted(x)[::-1], sorted(y)[::-1], strict=True)):
            total += a - b
            if total < 0 and not short:
                first, short = n, True
        level = total == 0
    if not level:
        return "sums that differ"
    if short:
        largest = "the largest" if first == 0 else f"the {first + 1} largest"
        return f"less in {largest} of `p` than of `q`"
    return ""


def _ahead_wholes(x: NDArray[np.int64], y: NDArray[np.int64]) -> tuple[NDArray[Any], float]:
    """By how much each sum of the largest ones of ``x`` is ahead, exactly."""
    return np.cumsum(np.sort(x)[::-1] - np.sort(y)[::-1]), 0


def _ahead_floats(x: Floats, y: Floats) -> tuple[NDArray[Any], float]:
    """By how much each sum of the largest ones of ``x`` is ahead, and what is forgiven.

    Every double is cut into two whole numbers, the second in units so small that what is lost is
    nothing beside the slack, and these are summed exactly.
    """
    bits = min(40, 61 - len(x).bit_length())
    exponent = int(np.frexp(max(np.abs(x).max(), np.abs(y).max()))[1])

    def parts(values: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        # In two steps, as 2^(bits - exponent) itself may be no double.
        scaled = np.ldexp(np.ldexp(np.sort(values)[::-1], -exponent), bits)
        high = np.rint(scaled)
        low = np.rint(np.ldexp(scaled - high, bits))
        return high.astype(np.int64), low.astype(np.int64)

    (x_high, x_low), (y_high, y_low) = parts(x), parts(y)
    high, low = np.cumsum(x_high - y_high), np.cumsum(x_low - y_low)
    total = float(max(np.abs(x_high).sum(), np.abs(y_high).sum()))
    return high + np.ldexp(low.astype(np.float64), -bits), SLACK * total


def _rounded(name: str, values: NDArray[Any] | Exact) -> Floats:
    if isinstance(values, np.ndarray):
        return values.astype(np.float64)
    try:
        return np.array([float(z) for z in values])
    except OverflowError:
        raise ValueError(
            f"`{name}` must hold numbers below 2^1024 beside floats; got a larger one"
        ) from None


def _array(name: str, values: list[Any]) -> NDArray[Any] | Exact:
    kinds = set(map(type, values))
    if not kinds <= {int, float}:
        values = [_number(name, at, z) for at, z in enumerate(values)]
        kinds = set(map(type, values))
    if kinds == {int}:
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            return values
    if float in kinds:
        return _rounded(name, values)
    return values


def _number(name: str, at: int, value: Any) -> int | float | Fraction:
    from fractions import Fraction

    if isinstance(value, Fraction):
        return value
    if isinstance(value, float | np.floating):
        return float(value)
    # A span of time is an integer of NumPy's, too.
    if isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64):
        return int(value)
    raise TypeError(f"`{name}` must hold numbers; got {type(value).__name__} at {at}")


_core.register(array=array, items=items)
