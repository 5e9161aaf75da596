"""Tables that are seen at a glance: a matrix as shaded cells, and bars with intervals.

They have the colour of the text around them, so they fit light and dark pages. All can be read
without colour: cells hold their numbers, below the names of their rows and columns.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bistochastic.errors import Refused

# The largest matrix that is drawn.
LARGEST = 32
# Up to this many categories cells hold two decimals, above it whole percents.
_FEW = 12
# Names of columns that are longer are turned upright.
_LEVEL = 4
# The longest label in a picture; the whole one is in the tables.
_LONGEST = 22
_CUT = "\u2026"
# Steps of darkness, and of the length of bars: `fragment.css.j2` has a class for each.
_SHADES = 12
_WIDTHS = 50

# The label of a bar, its number in words, where the dark part ends, and where the pale part ends.
Item = tuple[object, str, float, float]


@dataclass(frozen=True)
class Heat:
    """A shaded table: for each row its name, and the text and the shade of each cell."""

    title: str
    caption: str
    names: list[str]
    rows: list[list[tuple[str, int]]]
    kind: str


@dataclass(frozen=True)
class Bars:
    """Groups of bars: the name of each, its number in words, and the widths of its two parts."""

    title: str
    caption: str
    groups: list[list[tuple[str, str, int, int]]]


def heat(
    rows: Sequence[Sequence[float]], labels: Sequence[object], *, title: str, caption: str
) -> Heat:
    """Shade a matrix: true categories down, reported ones across, at most 32.

    Darker is more likely. Cells hold their numbers: two decimals up to 12 categories, above that
    whole percents. A number is 0 only if the reported value never occurs, and the caption says so.
    Rows and columns have the names of their categories.
    """
    n = len(rows)
    if n > LARGEST:
        raise Refused("rows", f"be at most {LARGEST}", n)
    most = max((max(row) for row in rows), default=1.0) or 1.0
    names = short_names(labels)
    upright = max(map(len, names), default=0) > _LEVEL
    notes = "; in percent" * (n > _FEW) + "; 0: never" * any(p == 0 for row in rows for p in row)
    cells = [[(cell_text(p, n), math.ceil(p / most * _SHADES)) for p in row] for row in rows]
    kind = "bs-table bs-heat" + " bs-many" * (n > _FEW) + " bs-up" * upright
    return Heat(title, caption + notes, names, cells, kind)


def short_names(labels: Sequence[object]) -> list[str]:
    """Shorten the names of categories; those that are then alike get numbers."""
    names = [_short(str(label)) for label in labels]
    return [f"{name} {i + 1}" if names.count(name) > 1 else name for i, name in enumerate(names)]


def bars(items: Sequence[Item | None], *, title: str, most: float) -> Bars:
    """Measure bars from 0: dark, and pale where an interval begins, with their numbers.

    An item that is ``None`` is a gap. A bar of the length ``most`` is as wide as can be.
    """

    def along(value: float) -> int:
        # An infinite value reaches the edge, and its number says so. Nothing but 0 has no bar.
        share = min(1.0, max(0.0, value / most)) if math.isfinite(value) else 1.0
        return max(round(_WIDTHS * share), int(share > 0))

    groups: list[list[tuple[str, str, int, int]]] = [[]]
    for item in items:
        if item is None:
            groups.append([])
            continue
        label, text, low, high = item
        dark = along(low)
        groups[-1].append((_short(str(label)), text, dark, along(high) - dark))
    return Bars(title, title, groups)


def between(
    label: object,
    value: float,
    low: float | None,
    high: float | None,
    shown: Callable[[float], str],
) -> Item:
    """Make an item of a number and, if there is one, its interval."""
    if low is None or high is None:
        return label, shown(value), value, value
    return label, f"{shown(value)} ({shown(low)} to {shown(high)})", low, high


def cell_text(p: float, n: int) -> str:
    """Write a probability as a cell of a matrix of ``n`` categories holds it; 0 only if it is."""
    # Hundredths, 100 only if it is 1.
    whole = 100 if p == 1 else min(99, int(f"{p:.2f}".replace(".", "")))
    if n > _FEW:
        return "<1" if p > 0 and not whole else str(whole)
    return str(int(p)) if p in (0, 1) else f".{whole:02}" if whole else "<.01"


def _short(name: str) -> str:
    name = " ".join(name.split()) or "''"
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + _CUT
