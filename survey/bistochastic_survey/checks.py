"""Checks of a caller's numbers, flags, paths and lists, each with its sentence."""

import math
import os
import sys
from collections.abc import Callable, Iterator, Reversible, Set
from contextlib import suppress
from operator import index
from pathlib import Path
from types import UnionType
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from bistochastic.errors import Refused, RefusedType
from bistochastic_survey.wording import meant, shown

Array = NDArray[np.float64]
T_co = TypeVar("T_co", covariant=True)


class Several(Protocol[T_co]):
    """Things one after the other, for type checkers: a string is one thing."""

    def __contains__(self, item: object, /) -> bool: ...
    def __iter__(self) -> Iterator[T_co]: ...


def _kind(given: Any) -> str:
    """Return the kind of a number as NumPy names it; empty for text, vectors and masked numbers."""
    if isinstance(given, np.generic | np.ndarray):
        return "" if given.ndim or np.ma.is_masked(given) else given.dtype.kind
    with suppress(Exception):
        len(given)
        return ""
    return "b" if isinstance(given, bool) else "f"


def of_type(name: str, must: str, given: object, kind: type | UnionType) -> Any:
    """Check the type of what a caller gave, and return it."""
    if not isinstance(given, kind):
        raise RefusedType(name, must, type(given).__name__)
    return given


def real(name: str, must: str, given: Any) -> float:
    """Read a number as the nearest double."""
    try:
        if _kind(given) in ("f", "i", "u"):
            return float(given)
    except OverflowError:
        return math.inf if given > 0 else -math.inf
    except (TypeError, ValueError):
        pass
    raise RefusedType(name, must, type(given).__name__)


def whole(name: str, given: Any, low: int) -> int:
    """Read an integer of at least ``low``, below 2^127."""
    must = f"be an integer of at least {low}"
    found = None
    with suppress(TypeError, ValueError):
        found = int(index(given)) if _kind(given) in ("f", "i", "u") else None
    if found is None:
        raise RefusedType(name, must, type(given).__name__)
    if low <= found < 2**127:
        return found
    raise Refused(name, must, found if abs(found) < 2**127 else "a number beyond 2^127")


def number(name: str, must: str, given: object, holds: Callable[[float], bool]) -> float:
    """Read a number that meets a condition, which no NaN does."""
    found = real(name, must, given)
    if holds(found):
        return found
    raise Refused(name, must, "NaN" if math.isnan(found) else f"{found:g}")


def limit(name: str, given: object) -> float:
    """Read an epsilon, at least 0, or a share such as beta, from 0 to 1."""
    if name in ("epsilon", "temperature"):
        return number(name, "be at least 0", given, lambda x: x >= 0)
    return number(name, "be from 0 to 1", given, lambda x: 0 <= x <= 1)


def positive(name: str, given: object, most: float = sys.float_info.max) -> float:
    """Read a positive number, finite unless ``most`` is infinite."""
    return number(name, "be a positive number", given, lambda x: 0 < x <= most)


def flag(name: str, given: object) -> bool:
    """Read True or False, as Python or NumPy writes them."""
    if _kind(given) != "b":
        raise RefusedType(name, "be True or False", type(given).__name__)
    return bool(given)


def path(name: str, given: Any) -> str:
    """Read the path of a file, but no number, which would be an open file."""
    must = "be the path of a file"
    found = os.fspath(given) if hasattr(type(given), "__fspath__") else given
    if not isinstance(found, str):
        raise RefusedType(name, must, type(given).__name__)
    with suppress(UnicodeEncodeError):
        if b"\0" not in os.fsencode(found):
            return str(found)
    raise Refused(name, must, "one with a character that file names cannot have")


def html_path(name: str, given: Any) -> Path:
    """Read the path of a page."""
    found = Path(path(name, given))
    if found.suffix.lower() not in (".html", ".htm"):
        raise Refused(name, "end in .html", shown(found.suffix) if found.suffix else "no ending")
    return found


def items(name: str, must: str, given: Any, *, unordered: bool = False) -> list[Any]:
    """List the items of an iterable; those of a set, which has no order, only if ``unordered``."""
    kind = type(given)
    # Dict views and ordered sets have an order, and can be reversed.
    if (isinstance(given, Set) and not isinstance(given, Reversible)) or kind is type(iter({1})):
        if unordered:
            return sorted(given, key=lambda item: (type(item).__name__, str(item)))
        raise RefusedType(name, f"{must}, in an order", kind.__name__)
    # A lazy frame has only __getitem__, and Python would read it as a sequence.
    if hasattr(kind, "__iter__") or (hasattr(kind, "__len__") and hasattr(kind, "__getitem__")):
        # An array without an axis has no items.
        with suppress(TypeError):
            return list(iter(given))
    raise RefusedType(name, must, kind.__name__)


def one_of(name: str, given: object, known: tuple[str, ...]) -> str:
    """Check that a string is one of the known ones."""
    must = f"be one of {', '.join(known)}"
    found: str = of_type(name, must, given, str)
    if found not in known:
        raise Refused(name, must, f"{found!r}{meant(found, known)}")
    return found
