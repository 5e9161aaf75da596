"""The names of codes: a category, or a combination of several columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bistochastic.words import shown

if TYPE_CHECKING:
    from bistochastic.plan.attributes import Categorical, Joint

_MISSING = "(missing)"
# The longest name in a sentence; declared categories may be whole paragraphs.
_LONGEST = 60


def level(attribute: Categorical | Joint, code: int) -> str:
    """The name of one code of an attribute.

    >>> import bistochastic as bs
    >>> level(bs.Categorical("sex", ["F", "M"], "uniform", missing="category"), 2)
    '(missing)'
    >>> joint = bs.Joint(("a", "b"), [["x", "y"], [1, 2]], "uniform", impossible=[("x", 1)])
    >>> [level(joint, code) for code in range(3)]
    ['x, 2', 'y, 1', 'y, 2']
    """
    cell = code
    # Codes count the cells that can occur; those that cannot are in the order of their places.
    for place in _places(attribute):
        if place <= cell:
            cell += 1
    digits: list[str] = []
    for labels, size in zip(reversed(attribute.axes), reversed(attribute.shape), strict=True):
        cell, digit = divmod(cell, size)
        digits.append(name(labels.values[digit]) if digit < len(labels) else _MISSING)
    return ", ".join(reversed(digits))


def levels(attribute: Categorical | Joint, most: int) -> list[str] | None:
    """The names of all codes; None where there are more than ``most``."""
    if attribute.size > most:
        return None
    return [level(attribute, code) for code in range(attribute.size)]


def name(label: object) -> str:
    """A declared category, cut where it is very long."""
    text = shown(label)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _places(attribute: Categorical | Joint) -> list[int]:
    """The places of impossible cells among all, from the first to the last."""
    found = []
    for cell in attribute.impossible:
        place = 0
        for value, labels, size in zip(cell, attribute.axes, attribute.shape, strict=True):
            digit = len(labels) if value is None else labels.code(value)
            assert digit is not None
            place = place * size + digit
        found.append(place)
    return sorted(found)
