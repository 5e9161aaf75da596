"""A caller's numbers, codes and names, read once from whatever NumPy reads.

Imports NumPy, so the package itself imports this file only when it is needed.
"""

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Reversible, Set
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from bistochastic import _core
from bistochastic.errors import Refused, RefusedType

Array = NDArray[np.float64]
T_co = TypeVar("T_co", covariant=True)


class Several(Protocol[T_co]):
    """Things one after the other, for type checkers: a string is one thing."""

    def __contains__(self, item: object, /) -> bool: ...
    def __iter__(self) -> Iterator[T_co]: ...


# Python types that NumPy reads without calling their methods.
_NUMBERS = frozenset((int, float))


def array(name: str, must: str, given: Any, *, by_code: bool = False) -> np.ndarray:
    """Convert a sequence, or whatever has ``__array__``, to a plain array.

    Missing values are rejected. ``by_code`` says that positions in the array are codes, so labels
    of rows and columns must be the codes in order.
    """
    if type(given) is np.ndarray:
        return given
    if type(given) in (list, tuple):
        kinds = set(map(type, given))
        if kinds <= _NUMBERS:
            # The common case: nothing can be missing, and nothing has labels.
            return np.array(given)
        if kinds & {np.ma.MaskedArray, type(np.ma.masked)}:
            # NumPy makes NaN of a masked number in a list, with a warning.
            refuse(name, "missing values", np.array([np.ma.is_masked(each) for each in given]))
    if by_code:
        refuse_labels(name, given)
    if name == "codes" and hasattr(getattr(given, "dtype", None), "categories"):
        raise RefusedType(name, "be integers", "categories, whose own codes may be meant")
    try:
        found = np.asarray(given)
        if isinstance(given, np.ma.MaskedArray):
            missing = np.ma.getmaskarray(given)
        elif isinstance(given, list | tuple) or found.dtype.kind != "O" or not found.ndim:
            return found
        elif set(map(type, found.flat)) <= _NUMBERS | {bool}:
            # Objects that are all numbers are numbers.
            return np.array(found.tolist())
        else:
            missing = lost(found)
    except MemoryError:
        # A matrix that is too large to be an array says so itself.
        raise
    except Exception:
        # Libraries raise all kinds of errors for objects that they cannot convert.
        got = "rows of several lengths" if isinstance(given, list | tuple) else _type(given)
        raise RefusedType(name, must, got) from None
    refuse(name, "missing values", missing)
    return found


def lost(plain: np.ndarray) -> NDArray[np.bool_]:
    """Find what is no value: NaN, NaT, None, and objects that are not equal to themselves."""

    def is_lost(item: object) -> bool:
        try:
            return item is None or bool(item != item)
        except TypeError:
            # What is neither equal nor different is unknown.
            return True

    if plain.dtype.kind in "fcmM":
        return np.asarray(np.isnan(plain))
    flat = [is_lost(item) for item in plain.flat] if plain.dtype.kind == "O" else False
    return np.broadcast_to(np.asarray(flat, dtype=bool), plain.size).reshape(plain.shape)


def _first(wrong: NDArray[np.bool_]) -> str:
    first = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return f"position {first[0]}" if len(first) == 1 else str(tuple(map(int, first)))


def refuse(name: str, what: str, wrong: NDArray[np.bool_]) -> None:
    """Reject values that are wrong, by their number and the position of the first."""
    if wrong.any():
        raise Refused(name, f"hold no {what}", f"{int(wrong.sum())}, the first at {_first(wrong)}")


def refuse_faults(name: str, must: str, numbers: Array, *, infinite: bool = False) -> None:
    """Reject numbers that are NaN, negative or, unless that is allowed, infinite."""
    wrong = ~(numbers >= 0) | (np.isinf(numbers) & (not infinite))
    if wrong.any():
        number = float(numbers[wrong][0])
        what = f"{'a negative' if number < 0 else 'an infinite'} number"
        got = "NaN" if math.isnan(number) else what
        raise Refused(name, must, f"{got} at {_first(wrong)}")


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


def floats(name: str, must: str, given: object, *, by_code: bool = True) -> Array:
    """Convert to doubles: fractions become the nearest double, complex numbers are rejected."""
    plain = array(name, must, given, by_code=by_code)
    if plain.dtype.kind == "O":
        flat = [_core.as_real(name, must, item) for item in plain.ravel().tolist()]
        found = np.array(flat, dtype=np.float64).reshape(plain.shape)
        return _finite_stays(name, plain, found)
    if plain.dtype.kind not in "fiu":
        raise RefusedType(name, must, f"dtype {plain.dtype}" if plain.ndim else _type(given))
    return doubles(name, plain)


def doubles(name: str, plain: np.ndarray) -> Array:
    """Convert NumPy numbers to the nearest doubles; a finite number must stay finite."""
    with np.errstate(over="ignore"):
        found = plain.astype(np.float64)
    return _finite_stays(name, plain, found) if plain.dtype.itemsize > 8 else found


def _finite_stays(name: str, plain: np.ndarray, found: Array) -> Array:
    if (np.isinf(found) & (found != plain)).any():
        raise Refused(name, "hold numbers below 2^1024", "a larger one")
    return found


def finite(name: str, must: str, given: object) -> np.ndarray:
    """Read numbers that are neither NaN nor infinite, in their own type if it is NumPy's."""
    plain = array(name, must, given)
    if plain.dtype.kind == "O" or plain.dtype.itemsize > 8:
        plain = floats(name, must, plain, by_code=False)
    if plain.dtype.kind not in "iuf":
        raise RefusedType(name, must, f"dtype {plain.dtype}" if plain.ndim else _type(given))
    refuse(name, "NaN", np.isnan(plain))
    refuse(name, "infinite numbers", np.isinf(plain))
    return plain


def real(name: str, must: str, given: object, holds: Callable[[float], bool]) -> float:
    """Read a number that meets a condition, which no NaN does."""
    found = _core.as_real(name, must, given)
    if not holds(found):
        raise Refused(name, must, "NaN" if found != found else f"{found:g}")
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


def items(name: str, must: str, given: Any, *, unordered: bool = False) -> list[Any]:
    """List the items of an iterable.

    The order of a set depends on the process, so a set is rejected. If the order does not matter,
    ``unordered`` sorts the strings and numbers of a set.
    """
    # Dict views have an order, and can be reversed.
    is_set = isinstance(given, Set) and not isinstance(given, Reversible)
    if is_set or type(given) is type(iter(set())):
        if unordered:
            return sorted(given, key=lambda item: (_type(item), str(item)))
        raise RefusedType(name, f"{must}, in an order", _type(given))
    # A string is one thing; a lazy frame has only __getitem__, and an array without an axis only
    # __iter__.
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    if several and getattr(given, "ndim", True):
        return list(given)
    raise RefusedType(name, must, _type(given))


def things(name: str, must: str, given: object, kind: Any, each: str = "") -> list[Any]:
    """List the items of an iterable, which are ``each`` of one kind, or of several."""
    listed = items(name, must, given)
    for item in listed:
        if not isinstance(item, kind):
            raise RefusedType(name, each or must, _type(item))
    return listed


def one_of(name: str, given: object, known: Iterable[str]) -> str:
    """Check that a string is one of the known ones."""
    listed = tuple(known)
    must = f"be one of {', '.join(listed)}"
    if not isinstance(given, str):
        raise RefusedType(name, must, _type(given))
    if given not in listed:
        raise Refused(name, must, f"{given!r}{meant(given, listed)}")
    return given


def names_of(name: str, given: object, known: Iterable[str], more: str = "") -> list[str]:
    """List strings, each of them one of the known ones; a single one may stand alone."""
    listed = tuple(known)
    must = f"hold names out of {', '.join(listed)}{more}"
    found = [given] if isinstance(given, str) else items(name, must, given, unordered=True)
    for each in found or [None]:
        if not isinstance(each, str):
            raise RefusedType(name, must, _type(each) if found else "none")
        if each not in listed:
            raise Refused(name, must, f"{each!r}{meant(each, listed)}")
    return found


def meant(given: str, known: Iterable[str]) -> str:
    """Ask whether the nearest of the known names is meant; nothing if none is near."""
    from difflib import get_close_matches

    near = get_close_matches(given, known, n=1)
    return f", did you mean {near[0]}?" if near else ""


def _type(given: object) -> str:
    return type(given).__name__


_core.register(array=array, items=items)
