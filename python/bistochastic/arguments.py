"""A caller's numbers, codes and labels, read once from whatever NumPy reads.

Imports NumPy, so the package itself imports this file only when it is needed.
"""

import sys
from collections.abc import Callable, Reversible, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bistochastic import _core
from bistochastic.errors import Refused, RefusedType

Array = NDArray[np.float64]

# Python types that NumPy reads without calling their methods.
_NUMBERS = frozenset((int, float))
_SET_ITERATOR: type = type(iter(set()))


def array(name: str, must: str, given: Any, *, by_code: bool = False) -> np.ndarray:
    """Convert a sequence, or whatever has ``__array__``, to a plain array.

    Missing values are rejected. ``by_code`` says that positions in the array are codes, so labels
    of rows and columns must be the codes in order.
    """
    if type(given) is np.ndarray:
        return given
    if type(given) is list and _NUMBERS.issuperset(map(type, given)):
        # The common case: nothing can be missing, and nothing has labels.
        return np.array(given)
    if by_code:
        refuse_labels(name, given)
    if name == "codes" and hasattr(getattr(given, "dtype", None), "categories"):
        must = "`codes` must be integers"
        raise TypeError(f"{must}; got a column of categories, whose own codes may be meant")
    try:
        own = isinstance(given, np.ndarray | list | tuple)
        found = None if own else np.asarray(given)
        if found is not None and found.dtype.kind == "O" and found.ndim and found.size:
            # Objects that are all numbers are numbers.
            plain = set(map(type, found.flat)) <= _NUMBERS | {bool}
            found = np.array(found.tolist()) if plain else found
        missing = _masked(given) if found is None else _lost(found)
        if missing is None or not missing.any():
            return np.asarray(given) if found is None else found
    except MemoryError:
        # A matrix that is too large to be an array says so itself.
        raise
    except Exception:
        # Libraries raise all kinds of errors for objects that they cannot convert.
        ragged = isinstance(given, list | tuple) and any(hasattr(x, "__len__") for x in given)
        got = "rows of several lengths or kinds" if ragged else type(given).__name__
        raise RefusedType(name, must, got) from None
    first = np.unravel_index(int(missing.argmax()), missing.shape)
    at = f"position {first[0]}" if missing.ndim == 1 else str(tuple(int(i) for i in first))
    raise Refused(name, "hold no missing values", f"{int(missing.sum())}, the first at {at}")


def refuse_labels(name: str, given: object, *, columns: bool = True) -> None:
    """Reject labels of rows other than 0, 1, 2: counts that are sorted by frequency have such.

    A table's ``columns`` are codes too, unless each of them is a vector of its own.
    """
    labels: Any = getattr(given, "index", None)
    if labels is None or callable(labels):
        return
    for each in (labels, getattr(given, "columns", labels) if columns else labels):
        if not np.array_equal(np.asarray(each), np.arange(len(each))):
            got = "labels that are not 0, 1, 2 and so on; to_numpy() leaves them out"
            raise Refused(name, "be in the order of the codes", got)


def _lost(found: np.ndarray) -> NDArray[np.bool_] | None:
    """Find the objects that are no value: None, and what is not equal to itself."""
    if found.dtype.kind != "O" or not found.ndim:
        return None

    def lost(item: object) -> bool:
        try:
            return item is None or bool(item != item)
        except TypeError:
            # What is neither equal nor different is unknown.
            return True

    return np.array([lost(item) for item in found.flat], dtype=bool).reshape(found.shape)


def floats(name: str, must: str, given: object, *, by_code: bool = True) -> Array:
    """Convert to doubles: fractions become the nearest double, complex numbers are rejected."""
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
        raise RefusedType(name, must, what)
    return doubles(name, plain)


def doubles(name: str, plain: np.ndarray) -> Array:
    """Convert NumPy numbers to the nearest doubles; a finite number must stay finite."""
    if plain.dtype.itemsize <= 8:
        return plain.astype(np.float64)
    with np.errstate(over="ignore"):
        found = plain.astype(np.float64)
    _refuse_larger(name, found, np.isinf(plain))
    return found


def _refuse_larger(name: str, found: Array, infinite: NDArray[np.bool_]) -> None:
    if not np.array_equal(np.isinf(found), infinite):
        raise Refused(name, "hold numbers below 2^1024", "a larger one")


def real(name: str, must: str, given: object, holds: Callable[[float], bool]) -> float:
    """Read a number that meets a condition, which no NaN does."""
    found = _core.as_real(name, must, given)
    if not holds(found):
        got = "NaN" if found != found else f"{found:g}"
        raise Refused(name, must, got)
    return found


def limit(name: str, given: object) -> float:
    """Read an epsilon, at least 0, or a share such as beta."""
    if name == "epsilon":
        return real(name, "be at least 0", given, lambda x: x >= 0)
    return real(name, "be from 0 to 1", given, lambda x: 0 <= x <= 1)


def between(name: str, given: object) -> float:
    """Read a number between 0 and 1."""
    return real(name, "be a number between 0 and 1", given, lambda x: 0 < x < 1)


def positive(name: str, given: object, most: float = sys.float_info.max) -> float:
    """Read a positive number, finite unless ``most`` is infinite."""
    return real(name, "be a positive number", given, lambda x: 0 < x <= most)


def fault(number: float) -> str:
    """Say what is wrong with a number that should be finite and not negative."""
    if np.isnan(number):
        return "NaN"
    return "a negative number" if number < 0 else "an infinite number"


def items(name: str, must: str, given: Any, *, unordered: bool = False) -> list[Any]:
    """List the items of an iterable.

    The order of a set depends on the process, so a set is rejected. If the order does not matter,
    ``unordered`` sorts the strings and numbers of a set.
    """
    kind = type(given)
    # Dict views and ordered sets have an order, and can be reversed.
    if (isinstance(given, Set) and not isinstance(given, Reversible)) or kind is _SET_ITERATOR:
        if unordered:
            return sorted(given, key=_sorting)
        raise RefusedType(name, f"{must}, in an order", kind.__name__)
    # A lazy frame has only __getitem__, and Python would read it as a sequence.
    if hasattr(kind, "__iter__") or (hasattr(kind, "__len__") and hasattr(kind, "__getitem__")):
        try:
            return list(iter(given))
        except TypeError:
            # An array without an axis.
            pass
    raise RefusedType(name, must, kind.__name__)


def _sorting(item: object) -> tuple[str, str]:
    text = item if isinstance(item, str) else repr(item) if type(item) in _NUMBERS else ""
    return type(item).__name__, text


def one_of(name: str, given: object, known: tuple[str, ...]) -> str:
    """Check that a string is one of the known ones."""
    must = f"be one of {', '.join(known)}"
    if not isinstance(given, str):
        raise RefusedType(name, must, type(given).__name__)
    if given not in known:
        raise Refused(name, must, f"{given!r}")
    return given


def _masked(given: Any) -> NDArray[np.bool_] | None:
    """Find the masked items; in a list, NumPy would use the numbers behind the masks."""
    if isinstance(given, np.ndarray):
        mask = np.atleast_1d(np.ma.getmaskarray(given))
        return mask if mask.dtype == bool else None
    if not any(isinstance(item, np.ma.MaskedArray | list | tuple) for item in given):
        return None

    def masked(item: Any, depth: int) -> bool:
        if isinstance(item, list | tuple) and depth < 64:
            return any(masked(x, depth + 1) for x in item)
        return isinstance(item, np.ma.MaskedArray) and bool(np.ma.is_masked(item))

    return np.array([masked(item, 0) for item in given], dtype=bool)


def _spelled(_name: str, _given: object) -> None:
    """Answer the core that ids are read as an array."""


_core.register(array=array, items=items, spelled=_spelled)
