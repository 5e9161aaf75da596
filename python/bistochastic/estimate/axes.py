"""``Axis``: a column of an estimated table, with its name and its categories."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from bistochastic import arguments
from bistochastic.words import Shown, cut, shown


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
    must = f"`categories` must hold {size} names, or for each column a list of its own"
    if isinstance(categories, str | bytes):
        raise TypeError(f"{must}; got {type(categories).__name__}")
    given = (
        dict(categories)
        if hasattr(categories, "keys") and not hasattr(categories, "dtype")
        else None
    )
    lists = {"category": categories} if given is None else given
    axes = []
    for name, names in lists.items():
        if not isinstance(name, str):
            raise TypeError(
                f"`categories` must name its columns by text; got {type(name).__name__}"
            )
        if isinstance(names, str | bytes):
            raise TypeError(f"{must}; got {type(names).__name__}")
        listed = tuple(arguments.items("categories", must.partition(" must ")[2], names))
        try:
            distinct = len(set(listed)) == len(listed)
        except TypeError:
            kinds = sorted({type(x).__name__ for x in listed if type(x).__hash__ is None})
            got = ", ".join(kinds) or "what cannot be compared"
            raise TypeError(f"`categories` must be strings or numbers; got {got}") from None
        if not distinct:
            raise ValueError(f"`categories` must be distinct; got one twice in `{shown(name)}`")
        axes.append(Axis(name, listed))
    if math.prod(len(axis.categories) for axis in axes) != size or not axes:
        got = " x ".join(str(len(axis.categories)) for axis in axes) or "none"
        raise ValueError(f"{must}; got {got}")
    return tuple(axes)
