"""Pictures as inline SVG, made of plain numbers: a heat map, and bars with intervals.

They have the colour of the text around them, so they fit light and dark pages. Every picture has a
title and a description. All can be read without colour: cells hold their numbers, and impossible
ones are struck through.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from bistochastic.markup.elements import Markup, element

# The largest matrix that is drawn.
LARGEST = 32
# Up to this many categories cells hold two decimals, above it whole percents.
_FEW = 12
# The width of a letter of a monospaced font, as a part of its height.
_MONO = 0.6
# A fraction of the ink, so text on it can be read on light and on dark.
_DARKEST = 0.6
# Steps of darkness: cells of the same step are drawn in one go.
_STEPS = 24
# The longest label in a picture; the whole one is in the tables.
_LONGEST = 22
_CUT = "\u2026"

Item = tuple[object, float, float | None, float | None]


def heat(
    rows: Sequence[Sequence[float]],
    labels: Sequence[object] | None = None,
    *,
    title: str,
    first: int = 1,
) -> Markup:
    """Draw a matrix: true categories down, reported ones across, at most 32 of each.

    Darker is more likely. Cells hold their numbers: two decimals up to 12 categories, above that
    whole percents, with those below a half left empty. A cell that is struck through is exactly 0.
    Rows and columns have the names of their categories; without ``labels`` they are numbered from
    ``first`` on.
    """
    n = len(rows)
    if n > LARGEST:
        raise ValueError(f"`rows` must be at most {LARGEST}; got {n}")
    cell, size = cell_size(n)
    most = max((max(row) for row in rows), default=1.0) or 1.0
    names = range(first, first + n) if labels is None else labels
    texts = [_numbers(row, u, cell, size, n) for u, row in enumerate(rows)]
    # Every cell that is exactly 0 is struck through.
    never = [(u, v) for u, row in enumerate(rows) for v, p in enumerate(row) if p == 0]
    d = "".join(f"M{_n(v * cell)} {_n(u * cell)}l{_n(cell)} {_n(cell)}" for u, v in never)
    cells = [_fills(rows, most, cell), element("path", d=d, class_="bs-strike") if d else None]
    return grid(names, cells, texts, title=title, description=heat_text(rows))


def grid(
    labels: Sequence[object], below: object, above: object, *, title: str, description: str
) -> Markup:
    """Draw the frame of a heat map: names on both axes, lines, and the cells around these."""
    n = len(labels)
    names = short_names(labels)
    cell, size = cell_size(n)
    side = cell * n
    longest = max(len(name) for name in names) * size * _MONO
    left = max(longest, 5 * size * _MONO) + 24
    # Above the columns, names are turned upright if they are wider than a cell.
    upright = longest > cell - 2
    top = longest + 30 if upright else 34.0
    lines = "".join(
        f"M0 {_n(i * cell)}h{_n(side)}M{_n(i * cell)} 0v{_n(side)}" for i in range(n + 1)
    )
    heads = [
        _text(name, (v + 0.5) * cell + size * 0.35, -6, size, "start", turned=True)
        if upright
        else _text(name, (v + 0.5) * cell, -6, size, "middle")
        for v, name in enumerate(names)
    ]
    sides = [_text(name, -6, (u + 0.5) * cell + size * 0.35, size, "end")
             for u, name in enumerate(names)]  # fmt: skip
    axes = [
        _text("reported", side / 2, 14 - top, size, "middle", quiet=True),
        _text("true", -6, -6, size, "end", quiet=True),
    ]
    drawn = [below, element("path", d=lines, class_="bs-grid"), above, heads, sides, axes]
    body = element("g", drawn, transform=f"translate({_n(left)} {_n(top)})")
    return _svg(left + side + 2, top + side + 2, body, title=title, description=description)


def cell_size(n: int) -> tuple[float, float]:
    """Return the side of a cell of a heat map, and the height of its letters."""
    return (34.0, 11.0) if n <= _FEW else (20.0, 9.0)


def short_names(labels: Sequence[object]) -> list[str]:
    """Shorten the names of categories; those that are then alike get numbers."""
    names = [_short(str(label)) for label in labels]
    return [f"{name} {i + 1}" if names.count(name) > 1 else name for i, name in enumerate(names)]


def heat_text(rows: Sequence[Sequence[float]]) -> str:
    """Say what a heat map shows."""
    n = len(rows)
    others = [p for u, row in enumerate(rows) for p in (*row[:u], *row[u + 1 :])]
    said = f"A table of {n} by {n} probabilities. The true category is reported with probability "
    said += f"{_span([row[u] for u, row in enumerate(rows)])}."
    if others:
        said += f" Each other category has probability {_span(others)}."
    if 0 in others:
        said += f" {others.count(0)} of the {len(others)} false reported values never occur."
    return said


def bars(
    items: Sequence[Item | None],
    *,
    title: str,
    most: float | None = None,
    shown: Callable[[float], str] = "{:.3g}".format,
    texts: Sequence[str] | None = None,
    faint: Collection[int] = (),
) -> Markup:
    """Draw horizontal bars from 0, each with its number and, if there is one, its interval.

    ``items`` are (label, value, low, high), with ``None`` for no interval. An item that is ``None``
    is a gap. ``texts`` replace the numbers; items in ``faint`` are paler.
    """
    given = [("", 0.0, None, None) if item is None else item for item in items]
    values = [max(value, high or 0.0) for _, value, _, high in given if math.isfinite(value)]
    top = (most if most is not None else max(values, default=1.0)) or 1.0
    width, size = 220.0, 11.0
    names = [_short(str(label)) if label else "" for label, *_ in given]
    left = max((len(name) for name in names), default=1) * size * _MONO + 12
    told = texts or [
        shown(value) + ("" if low is None or high is None else f" ({shown(low)} to {shown(high)})")
        for _, value, low, high in given
    ]
    right = max((len(text) for text in told), default=1) * size * _MONO + 12

    def along(value: float) -> float:
        # An infinite value reaches the edge, and its number says so.
        return width * min(1.0, max(0.0, value / top)) if math.isfinite(value) else width

    drawn: list[Markup] = []
    y = 0.0
    for i, (item, name, text) in enumerate(zip(items, names, told, strict=True)):
        if item is None:
            y += 10
            continue
        _, value, low, high = item
        drawn.append(_text(name, -6, y + 15, size, "end"))
        drawn.append(element("path", d=f"M0 {_n(y + 4)}h{_n(along(value))}v14H0z", class_="bs-ink",
                             fill_opacity=_n(_DARKEST / 2 if i in faint else _DARKEST)
                             ))  # fmt: skip
        if low is not None and high is not None:
            a, b, mid = _n(along(low)), _n(along(high)), _n(y + 11)
            ends = f"M{a} {_n(y + 7)}v8M{b} {_n(y + 7)}v8"
            drawn.append(element("path", d=f"M{a} {mid}H{b}{ends}", class_="bs-line"))
        drawn.append(_text(text, width + 8, y + 15, size, "start"))
        y += 22
    drawn.append(element("path", d=f"M0 0V{_n(y)}", class_="bs-line"))
    body = element("g", drawn, transform=f"translate({_n(left)} 2)")
    each = zip(items, given, told, strict=True)
    words = "; ".join(f"{label}: {text}" for item, (label, *_), text in each if item is not None)
    return _svg(left + width + right, y + 4, body, title=title, description=words)


def titled(picture: Markup) -> Markup:
    """Put the title of a picture above it, if nothing else says what it shows."""
    title = picture.split("<title>", 1)[1].split("</title>", 1)[0]
    return Markup(f'<p class="bs-quiet">{title}</p>{picture}')


def _svg(width: float, height: float, *children: object, title: str, description: str) -> Markup:
    """Make a picture with a title and a description, for readers who do not see it."""
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        *children,
        class_="bs-picture",
        role="img",
        viewBox=f"0 0 {math.ceil(width)} {math.ceil(height)}",
        width=math.ceil(width),
        height=math.ceil(height),
    )


def _fills(rows: Sequence[Sequence[float]], most: float, cell: float) -> list[Markup]:
    """Cells of the same darkness in one path."""
    found: dict[int, str] = {}
    side = _n(cell)
    for u, row in enumerate(rows):
        for v, p in enumerate(row):
            step = math.ceil(p / most * _STEPS)
            at = f"M{_n(v * cell)} {_n(u * cell)}h{side}v{side}h-{side}z"
            found[step] = found.get(step, "") + at * bool(step)
    return [
        element("path", d=d, class_="bs-ink", fill_opacity=_n(_DARKEST * step / _STEPS))
        for step, d in sorted(found.items())
        if d
    ]


def _numbers(row: Sequence[float], u: int, cell: float, size: float, n: int) -> Markup:
    """Write the numbers of a row as one element of cells of the same length, which is short."""
    letters = round(cell / (size * _MONO))
    line = "".join(f"{cell_text(p, n):^{letters}}" for p in row).replace(" ", "\u00a0")
    return element("text", line, x="0", y=_n((u + 0.5) * cell + size * 0.35),
                   textLength=_n(cell * len(row)), font_size=_n(size), class_="bs-mono"
                   )  # fmt: skip


def hundredths(p: float) -> int:
    """Write a probability in whole hundredths; 100 only if it is 1."""
    return 100 if p == 1 else min(99, int(f"{p:.2f}".replace(".", "")))


def cell_text(p: float, n: int) -> str:
    """Write a probability as a cell of a matrix of ``n`` categories holds it."""
    whole = hundredths(p)
    if n > _FEW:
        return str(whole or "")
    return str(int(p)) if p in (0, 1) else f".{whole:02}" if whole else "<.01"


def _text(
    text: str,
    x: float,
    y: float,
    size: float,
    anchor: str,
    quiet: bool = False,
    turned: bool = False,
) -> Markup:
    return element(
        "text",
        text,
        x=_n(x),
        y=_n(y),
        transform=f"rotate(-90 {_n(x)} {_n(y)})" if turned else None,
        font_size=_n(size),
        text_anchor=None if anchor == "start" else anchor,
        class_="bs-quiet" if quiet else None,
    )


def _span(values: Sequence[float]) -> str:
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return low if low == high else f"{low} to {high}"


def _short(name: str) -> str:
    name = " ".join(name.split()) or "''"
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + _CUT


def _n(x: float) -> str:
    """Write a number as short as a picture needs it."""
    return f"{x:.2f}".rstrip("0").rstrip(".")
