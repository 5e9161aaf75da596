"""Numbers as they are typed."""

from __future__ import annotations

from fractions import Fraction

import click


def number(text: str) -> int | float | Fraction:
    """Read a number as it is written: 3, 0.65 or 2/3."""
    try:
        if "/" in text:
            return Fraction(text)
        try:
            return int(text)
        except ValueError:
            return float(text)
    except (ValueError, ZeroDivisionError):
        raise click.BadParameter(f"{text!r} is not a number") from None
