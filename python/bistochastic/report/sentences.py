"""Sentences of a report: names in quotes, numbers rounded so that privacy is never overstated."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bistochastic.markup import Markup, element, join
from bistochastic.report.suspicion import STATED, after, percent
from bistochastic.words import shown, up

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction


def said(sentence: str) -> Markup:
    """Turn a sentence into markup: names in backticks, and what is strong between stars.

    >>> said("column `a<b**`: **not met**")
    'column <code>a&lt;b**</code>: <strong>not met</strong>'
    """
    parts = sentence.split("`")
    return join(element("code", part) if i % 2 else _strong(part) for i, part in enumerate(parts))


def _strong(text: str) -> list[object]:
    return [element("strong", x) if i % 2 else x for i, x in enumerate(text.split("**"))]


def listed(sentences: Sequence[str]) -> Markup:
    """List sentences, each with its first letter large and a full stop."""
    return element("ul", [element("li", said(_whole(sentence))) for sentence in sentences])


def _whole(sentence: str) -> str:
    start = sentence[:1].upper() + sentence[1:]
    return start if start.endswith((".", ":")) else start + "."


def paragraph(sentence: str, **attributes: object) -> Markup:
    """Set a sentence as a paragraph."""
    return element("p", said(sentence), **attributes)


def names(columns: Sequence[str]) -> str:
    """Name columns inside a sentence.

    >>> names(["a", "b", "c"])
    '`a`, `b` and `c`'
    """
    quoted = [f"`{shown(column)}`" for column in columns]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def becomes(most: Fraction | None, suspicions: Sequence[Fraction] = STATED) -> list[str]:
    """Write the most that the stated suspicions can become, by the largest odds."""
    if most is None:
        return ["no limit"] * len(suspicions)
    return [percent(after(each, most)) for each in suspicions]


def count(many: int, noun: str) -> str:
    """Write a number of things.

    >>> count(1, "record"), count(2201, "record")
    ('1 record', '2,201 records')
    """
    return f"{many:,} {noun}{'s' * (many != 1)}"


def points(share: float) -> str:
    """Write a proportion in percentage points, in three digits and not below it."""
    return up(100 * share, 3) if share < 10 else "above 1,000"


def rounded(share: float, error: float) -> str:
    """Write a proportion with as many digits as its error supports.

    >>> rounded(0.1, 0.0312), rounded(0.25, 0.12), rounded(0.5, 0.0)
    ('10.0%', '25%', '50%')
    """
    decimals = 1 - math.floor(math.log10(100 * error)) if 0 < error < 1 else 0
    return f"{100 * share:.{min(max(0, decimals), 6)}f}%"
