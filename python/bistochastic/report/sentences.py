"""Sentences of a report: names set apart, numbers rounded so that privacy is never overstated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bistochastic.markup import Markup, element, join
from bistochastic.report.beliefs import STATED, after, percent
from bistochastic.words import shown, up

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction


def said(sentence: str) -> Markup:
    """A sentence of the package as markup, its names set apart.

    >>> said("column `a<b`: told")
    'column <code>a&lt;b</code>: told'
    """
    parts = unbroken(sentence).split("`")
    return join(element("code", part) if i % 2 else part for i, part in enumerate(parts))


def listed(sentences: Sequence[str]) -> Markup:
    """Sentences as a list, each with its first letter large and a full stop."""
    return element("ul", [element("li", said(_whole(sentence))) for sentence in sentences])


def _whole(sentence: str) -> str:
    start = sentence[:1].upper() + sentence[1:]
    return start if start.endswith((".", ":")) else start + "."


def names(columns: Sequence[str]) -> Markup:
    """The names of columns, set apart."""
    return join([[", " * (i > 0), element("code", shown(c))] for i, c in enumerate(columns)])


def becomes(most: Fraction | None) -> list[str]:
    """The most that the stated beliefs can become, by the largest odds."""
    if most is None:
        return ["certainty"] * len(STATED)
    return [unbroken(percent(after(belief, most))) for belief in STATED]


def before() -> list[str]:
    """The stated beliefs as heads of columns."""
    return [f"{unbroken(percent(belief))} before" for belief in STATED]


def unbroken(text: str) -> str:
    """No line begins with the sign of a percentage.

    >>> unbroken("at most 3 %")
    'at most 3\\xa0%'
    """
    return text.replace(" %", "\u00a0%")


def beliefs(most: Fraction) -> str:
    """The same as a sentence.

    >>> from fractions import Fraction
    >>> beliefs(Fraction(3))
    'Someone who thinks an answer 1 % likely can think it at most 2.95 % likely after seeing the
    report. 10 % becomes at most 25 %, and 50 % at most 75 %.'
    """
    if most == 1:
        return "A report changes no belief at all."
    one, ten, half = (percent(after(belief, most)) for belief in STATED)
    return (
        f"Someone who thinks an answer 1 % likely can think it at most {one} likely after seeing "
        f"the report. 10 % becomes at most {ten}, and 50 % at most {half}."
    )


def count(many: int, noun: str) -> str:
    """A number of things.

    >>> count(1, "record"), count(2201, "record")
    ('1 record', '2,201 records')
    """
    return f"{many:,} {noun}{'s' * (many != 1)}"


def points(share: float) -> str:
    """A share in percentage points, in three digits and not below it."""
    return up(100 * share, 3) if share < 10 else "above 1,000"
