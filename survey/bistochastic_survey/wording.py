"""Numbers and names in words, and tables of them. Never sees a record.

Numbers are shown rounded so that privacy is never overstated: beta and bits down, epsilon up.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from html import escape
from unicodedata import category

from bistochastic.errors import Refused, RefusedType


class Shown:
    """A result that a notebook shows as its text."""

    __slots__ = ()

    def _repr_html_(self: object) -> str:
        return f"<pre>{escape(visible_lines(str(self)))}</pre>"


def _digits(x: float, digits: int = 6, *, direction: int) -> str:
    if not math.isfinite(x) or x == 0:
        return f"{x:g}"
    text = f"{x:.{digits}g}"
    if (float(text) - x) * direction < 0:
        # Rounding to nearest went the wrong way: one more in the last digit shown.
        step = 10.0 ** (math.floor(math.log10(abs(x))) - digits + 1)
        text = f"{float(text) + direction * step:.{digits}g}"
    return text


# A number in short, rounded down or up.
down, up = partial(_digits, direction=-1), partial(_digits, direction=1)


def exact(x: float) -> str:
    """Write all digits that distinguish a number from its neighbours."""
    return "NaN" if math.isnan(x) else repr(x).removesuffix(".0")


def visible(text: str) -> str:
    """Escape what cannot be printed or turns a line around, in all text that others wrote."""
    # Spaces of other scripts do no harm.
    safe = (c if c.isprintable() or category(c) == "Zs" else ascii(c)[1:-1] for c in text)
    return text if text.isprintable() else "".join(safe)


def visible_lines(text: str) -> str:
    """Do the same for a string of several lines, which stay lines."""
    return "\n".join(map(visible, text.split("\n")))


def shown(name: object) -> str:
    """Write a name inside a sentence: escape backquotes and what cannot be printed."""
    try:
        text = str(name)
    except ValueError:
        # Python does not write integers of thousands of digits.
        text = f"a long {type(name).__name__}"
    return visible(text).replace("`", r"\x60") or "''"


def meant(name: object, known: Iterable[str]) -> str:
    """Suggest the known name that is closest, at the end of a sentence; nothing if none is."""
    found = get_close_matches(str(name), known, 1)
    return f", did you mean {shown(found[0])}?" if found else ""


def quoted(columns: Iterable[str]) -> str:
    """List names inside a sentence."""
    return ", ".join(f"`{shown(column)}`" for column in columns)


def prefix(columns: Iterable[str]) -> str:
    """Write the start of a sentence about columns; nothing if there are none."""
    listed = list(columns)
    return f"column{'s' * (len(listed) > 1)} {quoted(listed)}: " if listed else ""


@contextmanager
def about(columns: Iterable[str]) -> Iterator[None]:
    """Name the columns in an error that is raised inside and names none."""
    try:
        yield
    except (Refused, RefusedType) as error:
        error.column = error.column or tuple(columns)
        raise


def row(number: int, first: int | None = 0) -> str:
    """Name a row in a sentence; ``first`` is the first row of its batch, None if unknown."""
    return f"row {number} of its batch" if first is None else f"row {first + number}"


def cut(items: Sequence[object], most: int = 8) -> list[str]:
    """Write items as strings; if they are many, only the first ones and the last."""
    if len(items) <= most:
        return list(map(str, items))
    return [*map(str, items[: most - 2]), "...", str(items[-1])]


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,)
) -> str:
    """Align columns, those in ``left`` to the left and the others to the right."""
    lines = [[visible(text) for text in line] for line in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    sides = [str.ljust if i in left else str.rjust for i in range(len(widths))]
    padded = [map(lambda side, *cell: side(*cell), sides, line, widths) for line in lines]
    return "\n".join("  ".join(line).rstrip() for line in padded)
