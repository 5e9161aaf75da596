"""``Axis``: a column of an estimated table, with its name and its levels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from bistochastic import arguments
from bistochastic.words import cut, shown


@dataclass(frozen=True)
class Axis:
    """A column of an estimated table: its name, and its levels in the order of the table.

    >>> Axis("sex", ("F", "M"))
    Axis(name='sex', categories=('F', 'M'))
    """

    name: str
    levels: tuple[Any, ...]

    def words(self) -> list[str]:
        """The levels as they are printed; None is a missing value."""
        return ["(missing)" if level is None else str(level) for level in self.levels]

    def __repr__(self) -> str:
        levels = ", ".join(cut([repr(level) for level in self.levels]))
        return f"Axis(name={self.name!r}, levels=({levels}{',' * (len(self.levels) == 1)}))"

    def _repr_html_(self) -> str:
        from bistochastic.markup import facts, fragment

        pairs = [("levels", f"{len(self.levels):,}"), ("in order", ", ".join(cut(self.words())))]
        return fragment(facts(pairs, caption=f"Axis {shown(self.name)}"))


def of_labels(labels: Any, size: int) -> tuple[Axis, ...]:
    """Labels as a caller gave them: a list for all categories, or a list for each of some columns.

    >>> of_labels(["F", "M"], 2)
    (Axis(name='category', categories=('F', 'M')),)
    >>> [axis.name for axis in of_labels({"sex": ["F", "M"], "age": [1, 2, 3]}, 6)]
    ['sex', 'age']
    """
    must = f"`labels` must hold {size} labels, or for each column a list of its own"
    if isinstance(labels, str | bytes):
        raise TypeError(f"{must}; got {type(labels).__name__}")
    given = dict(labels) if hasattr(labels, "keys") and not hasattr(labels, "dtype") else None
    lists = {"category": labels} if given is None else given
    axes = []
    for name, levels in lists.items():
        if not isinstance(name, str):
            raise TypeError(f"`labels` must name its columns by text; got {type(name).__name__}")
        if isinstance(levels, str | bytes):
            raise TypeError(f"{must}; got {type(levels).__name__}")
        listed = tuple(arguments.items("labels", must.partition(" must ")[2], levels))
        try:
            distinct = len(set(listed)) == len(listed)
        except TypeError:
            kinds = sorted({type(x).__name__ for x in listed if type(x).__hash__ is None})
            got = ", ".join(kinds) or "what cannot be compared"
            raise TypeError(f"`labels` must be texts or numbers; got {got}") from None
        if not distinct:
            raise ValueError(f"`labels` must be distinct; got one twice in `{shown(name)}`")
        axes.append(Axis(name, listed))
    if math.prod(len(axis.categories) for axis in axes) != size or not axes:
        got = " x ".join(str(len(axis.categories)) for axis in axes) or "none"
        raise ValueError(f"{must}; got {got}")
    return tuple(axes)
