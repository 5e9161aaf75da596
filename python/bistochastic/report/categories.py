"""The names of codes: a category, or a combination of several columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bistochastic.words import shown

if TYPE_CHECKING:
    from bistochastic.plan.columns import Coded

# The longest name in a sentence; declared categories may be whole paragraphs.
_LONGEST = 60


def category(attribute: Coded, code: int) -> str:
    """Name one code of an attribute."""
    cell = code
    # Codes count the cells that can occur, and the impossible ones come in order.
    for impossible in attribute.cells:
        cell += impossible <= cell
    digits: list[str] = []
    if cell >= math.prod(attribute.shape):
        # After those that can be true, of which a missing value may be the last.
        more = attribute.reported[0].values[len(attribute.axes[0]) :]
        return name(more[int(cell) - attribute.shape[0]])
    for labels, size in zip(reversed(attribute.axes), reversed(attribute.shape), strict=True):
        cell, digit = divmod(int(cell), size)
        digits.append(name(labels.values[digit]) if digit < len(labels) else "(missing)")
    return ", ".join(reversed(digits))


def categories(attribute: Coded, most: int) -> list[str] | None:
    """Name all codes; ``None`` if there are more than ``most``."""
    if attribute.size > most:
        return None
    return [category(attribute, code) for code in range(attribute.size)]


def name(label: object) -> str:
    """Write a declared category, cut if it is very long."""
    text = shown(label)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
