"""``Axis``: a column of an estimated table, and how a caller's categories are read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from bistochastic import arguments
from bistochastic.errors import Refused, RefusedType
from bistochastic.formatting import Shown, cut, shown


@dataclass(frozen=True)
class Axis(Shown):
    """A column of an estimated table: its name, and its categories in the order of the table.

    >>> Axis("sex", ("F", "M"))
    Axis(name='sex', categories=('F', 'M'))
    """

    name: str
    categories: tuple[Any, ...]

    def words(self) -> list[str]:
        """Write the categories as they are printed; None is a missing value."""
        return ["(missing)" if each is None else str(each) for each in self.categories]

    def __repr__(self) -> str:
        names = ", ".join(cut([repr(each) for each in self.categories]))
        return f"Axis(name={self.name!r}, categories=({names}{',' * (len(self.categories) == 1)}))"


def of_categories(categories: Any, size: int) -> tuple[Axis, ...]:
    """Read categories from a caller: one list, or a list for each of several columns."""
    must = f"hold {size} names, or for each column a list of its own"
    if isinstance(categories, str | bytes):
        raise RefusedType("categories", must, type(categories).__name__)
    by_column = hasattr(categories, "keys") and not hasattr(categories, "dtype")
    lists = dict(categories) if by_column else {"category": categories}
    axes = []
    for name, names in lists.items():
        if not isinstance(name, str):
            raise RefusedType("categories", "name its columns by text", type(name).__name__)
        if isinstance(names, str | bytes):
            raise RefusedType("categories", must, type(names).__name__)
        listed = tuple(arguments.items("categories", must, names))
        try:
            distinct = len(set(listed)) == len(listed)
        except TypeError:
            kinds = sorted({type(x).__name__ for x in listed if type(x).__hash__ is None})
            got = ", ".join(kinds) or "what cannot be compared"
            raise RefusedType("categories", "be strings or numbers", got) from None
        if not distinct:
            raise Refused("categories", "be distinct", f"one twice in `{shown(name)}`")
        axes.append(Axis(name, listed))
    if math.prod(len(axis.categories) for axis in axes) != size or not axes:
        got = " x ".join(str(len(axis.categories)) for axis in axes) or "none"
        raise Refused("categories", must, got)
    return tuple(axes)
