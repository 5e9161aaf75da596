"""Numbers and names in words, and tables of them. Never sees a record.

Numbers are shown rounded so that privacy is never overstated: beta and bits down, epsilon up.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from bistochastic.errors import Refused, RefusedType


class Shown:
    """A result that a notebook shows as its text."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from html import escape

        lines = "\n".join(map(visible, str(self).split("\n")))
        return f"<pre>{escape(lines)}</pre>"


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
    """Escape what cannot be printed or changes the direction of writing, before a terminal."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def shown(name: object) -> str:
    """Write a name inside a sentence: escape backquotes and what cannot be printed."""
    return visible(str(name)).replace("`", r"\x60") or "''"


def prefix(columns: Iterable[str]) -> str:
    """Write the start of a sentence about columns; nothing if there are none."""
    listed = [f"`{shown(column)}`" for column in columns]
    return f"column{'s' * (len(listed) > 1)} {', '.join(listed)}: " if listed else ""


@contextmanager
def about(columns: Iterable[str]) -> Iterator[None]:
    """Name the columns in an error that is raised inside and names none."""
    try:
        yield
    except (Refused, RefusedType) as error:
        error.column = error.column or tuple(columns)
        raise


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,)
) -> str:
    """Align columns, those in ``left`` to the left and the others to the right.

    All cells pass :func:`visible`.
    """
    lines = [[visible(text) for text in line] for line in (header, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(
            text.ljust(width) if i in left else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
