"""A caller's numbers, and columns by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import arguments
from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

_NUMBERS = frozenset((int, float))


def finite(name: str, given: object) -> np.ndarray:
    """Read an array of finite numbers, in the type of the input."""
    must = "be an array of numbers"
    plain = arguments.array(name, must, given)
    if plain.dtype.kind == "O" or plain.dtype.itemsize > 8:
        plain = arguments.floats(name, must, given, by_code=False)
    if plain.dtype.kind not in "iuf":
        what = f"dtype {plain.dtype}" if plain.ndim else type(given).__name__
        raise TypeError(f"`{name}` must {must}; got {what}")
    if plain.dtype.kind != "f":
        return plain
    _refuse(name, "NaN", np.isnan(plain))
    _refuse(name, "infinite numbers", np.isinf(plain))
    return plain


def _refuse(name: str, what: str, wrong: NDArray[np.bool_]) -> None:
    if wrong.any():
        first = tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
        at = f"position {first[0]}" if len(first) == 1 else str(first)
        got = f"{int(wrong.sum())}, the first at {at}"
        raise ValueError(f"`{name}` must hold no {what}; got {got}")


def title(argument: str, name: object) -> str:
    """Name a column in a sentence, if its name is a string or a number."""
    return f"{argument}[{shown(repr(name)) if type(name) in (str, int) else '...'}]"


def read(argument: str, given: object) -> tuple[dict[Hashable, Any], int]:
    """Read a mapping of names to columns of one length, and that length."""
    must = f"`{argument}` must map names to columns"
    if not isinstance(given, Mapping):
        raise TypeError(f"{must}; got {type(given).__name__}")
    columns = dict(given)
    if not columns:
        raise ValueError(f"{must}; got none")
    try:
        lengths = {len(column) for column in columns.values()}
    except TypeError:
        raise TypeError(f"{must}; got a column without a length") from None
    if len(lengths) > 1:
        raise ValueError(f"{must} of one length; got {min(lengths)} and {max(lengths)}")
    return columns, lengths.pop()


def numbers(argument: str, name: object, column: object) -> np.ndarray:
    """Read a column of finite numbers, of the type it came in."""
    return _single(title(argument, name), finite(title(argument, name), column))


def plain(name: str, column: Any) -> np.ndarray:
    """Read a column as an array with one axis and nothing missing."""
    if isinstance(column, list | tuple) and not _NUMBERS.issuperset(map(type, column)):
        # NumPy would convert numbers that are next to strings to strings.
        found = np.fromiter(column, dtype=object, count=len(column))
    else:
        found = _single(name, arguments.array(name, "be a column of values", column))
    if found.dtype.kind == "O":
        items = (item is None or (isinstance(item, float) and item != item) for item in found)
        _refuse(name, "missing values", np.fromiter(items, dtype=bool, count=len(found)))
    elif found.dtype.kind in "fmM":
        _refuse(name, "missing values", np.isnan(found))
    return found


def _single(name: str, found: np.ndarray) -> np.ndarray:
    if found.ndim != 1:
        raise ValueError(f"`{name}` must hold one value for each record; got {found.ndim} axes")
    return found


def codes(name: str, column: np.ndarray) -> tuple[NDArray[np.int64], int]:
    """Convert a plain column to codes from 0 on, and count them.

    >>> codes("town", np.array(["b", "a", "b"], dtype=object))
    (array([0, 1, 0]), 2)
    """
    if column.dtype.kind in "biufmM":
        values, found = np.unique(column, return_inverse=True)
        return found.astype(np.int64), len(values)
    known: dict[object, int] = {}
    found = np.empty(len(column), dtype=np.int64)
    for i, value in enumerate(column.tolist()):
        try:
            found[i] = known.setdefault(value, len(known))
        except TypeError:
            must = f"`{name}` must hold values that can be compared"
            raise TypeError(f"{must}; got {type(value).__name__} at position {i}") from None
    return found, len(known)


def named(argument: str, given: object, columns: Mapping[Hashable, object]) -> list[Hashable]:
    """Check the names of columns that a caller gave: one, several, or a mapping from them."""
    must = f"`{argument}` must name columns"
    single = isinstance(given, str | int)
    names = [given] if single else arguments.items(argument, "name columns", given, unordered=True)
    if not names:
        raise ValueError(f"{must}; got none")
    for i, name in enumerate(names):
        try:
            known, again = name in columns, name in names[:i]
        except (TypeError, ValueError):
            known = again = False
        if not known:
            got = shown(repr(name)) if type(name) is str else type(name).__name__
            raise ValueError(f"{must}; got {got} at position {i}")
        if again:
            raise ValueError(f"{must}, each once; got one again at position {i}")
    return names
