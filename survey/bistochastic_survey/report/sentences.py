"""Sentences of a report: names in quotes, numbers rounded so that privacy is never overstated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from bistochastic_survey.release.columns import Coded
from bistochastic_survey.report.suspicion import STATED, after, percent
from bistochastic_survey.wording import shown, up

# The longest name in a sentence; declared categories may be whole paragraphs.
_LONGEST = 60


def names(columns: Sequence[str]) -> str:
    """Name columns inside a sentence."""
    quoted = [f"`{shown(column)}`" for column in columns]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def becomes(most: Fraction | None, suspicions: Sequence[Fraction] = STATED) -> list[str]:
    """Write the most that the stated suspicions can become, by the largest odds."""
    if most is None:
        return ["no limit"] * len(suspicions)
    return [percent(after(each, most)) for each in suspicions]


def count(many: int, noun: str) -> str:
    """Write a number of things."""
    return f"{many:,} {noun}{'s' * (many != 1)}"


def points(share: float) -> str:
    """Write a proportion in percentage points, in three digits and not below it."""
    return up(100 * share, 3) if share < 10 else "above 1,000"


def category(attribute: Coded, code: int) -> str:
    """Name one code of an attribute: a category, or a combination of several columns."""
    cell = code
    # Codes count the cells that can occur, and the impossible ones come in order.
    for impossible in attribute.cells:
        cell += int(impossible <= cell)
    digits: list[str] = []
    if cell >= math.prod(attribute.shape):
        # After those that can be true, of which a missing value may be the last.
        more = attribute.reported[0].values[len(attribute.axes[0]) :]
        return name(more[cell - attribute.shape[0]])
    for labels, size in zip(reversed(attribute.axes), reversed(attribute.shape), strict=True):
        cell, digit = divmod(cell, size)
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
