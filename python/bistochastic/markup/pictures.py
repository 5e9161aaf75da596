"""Pictures as inline SVG, made of plain numbers: a heat map, and bars with intervals.

They take the colour of the text around them, so that they are right on light and on dark. Every
picture has a title and a text that says what it shows. None needs colour to be read: cells hold
their numbers, and impossible ones are struck through.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from bistochastic.markup.elements import Markup, element

# The largest matrix that is drawn.
LARGEST = 32
# Up to so many categories cells hold two decimals, above it whole percents.
_FEW = 12
# A letter of a monospaced font is about so wide as a share of its height.
_MONO = 0.6
# Of the ink, so that text on it can be read on light and on dark.
_DARKEST = 0.6
# Steps of darkness: cells of the same step are drawn in one go.
_STEPS = 24
# The longest label beside a picture; the whole one is in the tables.
_LONGEST = 22
_CUT = "\u2026"


def heat(
    rows: Sequence[Sequence[float]],
    labels: Sequence[object] | None = None,
    *,
    title: str,
    description: str | None = None,
    id: str | None = None,
    first: int = 1,
) -> Markup:
    """The probabilities of a matrix: a row per truth, a column per report, at most 32 of each.

    Darker is more likely. Cells hold their numbers: two decimals up to 12 levels, above that whole
    percents, with those below a half left empty. A cell that is struck through is exactly 0. Rows
    and columns have the names of their categories; without ``labels`` they are numbered from
    ``first`` on.

    >>> picture = heat([[0.75, 0.25], [0.25, 0.75]], ["<a>", "b"], title="sex")
    >>> "&lt;a&gt;" in picture, "<title>sex</title>" in picture, ".75" in picture
    (True, True, True)
    """
    n = len(rows)
    if n > LARGEST:
        raise ValueError(f"`rows` must be at most {LARGEST}; got {n}")
    names = [str(i + first) for i in range(n)] if labels is None else short_names(labels, first)
    cell = 34.0 if n <= _FEW else 20.0
    size = 11.0 if n <= _FEW else 9.0
    side = cell * n
    longest = max(len(name) for name in names) * size * _MONO
    left = max(longest, 5 * size * _MONO) + 24
    # Above the columns names stand upright where they are wider than these.
    upright = longest > cell - 2
    top = longest + 30 if upright else 34.0
    most = max((max(row) for row in rows), default=1.0) or 1.0
    drawn = [
        _fills(rows, most, cell),
        _strikes(rows, cell),
        _grid(n, cell),
        [_numbers(row, u, cell, size, n) for u, row in enumerate(rows)],
    ]
    heads = [
        _text(name, (v + 0.5) * cell + size * 0.35, -6, size, "start", turned=True)
        if upright
        else _text(name, (v + 0.5) * cell, -6, size, "middle")
        for v, name in enumerate(names)
    ]
    sides = [_text(name, -6, (u + 0.5) * cell + size * 0.35, size, "end")
             for u, name in enumerate(names)]  # fmt: skip
    axes = [
        _text("report", side / 2, 14 - top, size, "middle", quiet=True),
        _text("truth", -6, -6, size, "end", quiet=True),
    ]
    body = element("g", drawn, heads, sides, axes, transform=f"translate({_n(left)} {_n(top)})")
    said = description or heat_text(rows)
    return svg(left + side + 2, top + side + 2, body, title=title, description=said, id=id)


def short_names(labels: Sequence[object], first: int = 1) -> list[str]:
    """The names of categories beside a picture, cut if they are long; those that are then alike
    have their numbers.

    >>> short_names(["a", "b"]), short_names(["x" * 30, "x" * 31])[1]
    (['a', 'b'], 'xxxxxxxxxxxxxxxxxxxxx… 2')
    """
    names = [_short(str(label)) for label in labels]
    return [
        f"{name} {i + first}" if names.count(name) > 1 else name for i, name in enumerate(names)
    ]


def heat_text(rows: Sequence[Sequence[float]]) -> str:
    """What a heat map shows, in words."""
    n = len(rows)
    truth, others, never = spans(rows)
    said = f"A table of {n} by {n} probabilities: a row per truth, a column per report. The truth "
    said += f"is reported with probability {truth}."
    if others:
        said += f" Each other report has probability {others}."
    if never != "0":
        said += f" {never} of the {n * (n - 1)} other reports never occur."
    return said


def spans(rows: Sequence[Sequence[float]]) -> tuple[str, str, str]:
    """The chances of the truth, those of other reports, and how many of these never occur."""
    truths = [row[u] for u, row in enumerate(rows)]
    others = [p for u, row in enumerate(rows) for p in (*row[:u], *row[u + 1 :])]
    return _span(truths), _span(others) if others else "", str(others.count(0))


def bars(
    items: Sequence[tuple[object, float, float | None, float | None]],
    *,
    title: str,
    most: float | None = None,
    shown: Callable[[float], str] = "{:.3g}".format,
    description: str | None = None,
    id: str | None = None,
) -> Markup:
    """Horizontal bars from 0, each with its number and, where there is one, its interval.

    ``items`` are (label, value, low, high), with ``None`` for no interval.

    >>> "0.5 (0.4 to 0.6)" in bars([("a", 0.5, 0.4, 0.6)], title="shares", most=1)
    True
    """
    values = [max(value, high or 0.0) for _, value, _, high in items if math.isfinite(value)]
    top = most if most is not None else max(values, default=1.0)
    top = top if top > 0 else 1.0
    width, height, size = 300.0, 22.0, 11.0
    names = [_short(str(label)) for label, *_ in items]
    left = max((len(name) for name in names), default=1) * size * _MONO + 12
    texts = [_interval(value, low, high, shown) for _, value, low, high in items]
    right = max((len(text) for text in texts), default=1) * size * _MONO + 12
    drawn: list[Markup] = []
    for i, ((_, value, low, high), name, text) in enumerate(zip(items, names, texts, strict=True)):
        y = i * height
        # An infinite one goes to the edge, and its number says so.
        x = width * min(1.0, max(0.0, value / top if math.isfinite(value) else 1.0))
        drawn.append(_text(name, -6, y + 15, size, "end"))
        drawn.append(element("path", d=f"M0 {_n(y + 4)}h{_n(x)}v14H0z", class_="bs-ink",
                             fill_opacity=_n(_DARKEST)))  # fmt: skip
        if low is not None and high is not None:
            a, b = (width * min(1.0, max(0.0, end / top)) for end in (low, high))
            y += 11
            d = f"M{_n(a)} {_n(y)}H{_n(b)}M{_n(a)} {_n(y - 4)}v8M{_n(b)} {_n(y - 4)}v8"
            drawn.append(element("path", d=d, class_="bs-line"))
        drawn.append(_text(text, width + 8, i * height + 15, size, "start"))
    tall = height * len(items)
    drawn.append(element("path", d=f"M0 0V{_n(tall)}", class_="bs-line"))
    body = element("g", drawn, transform=f"translate({_n(left)} 2)")
    said = description or "; ".join(
        f"{label}: {text}" for (label, *_), text in zip(items, texts, strict=True)
    )
    return svg(left + width + right, tall + 4, body, title=title, description=said, id=id)


def titled(picture: Markup) -> Markup:
    """A picture below its title, where nothing else says what it shows.

    >>> titled(bars([("a", 0.5, None, None)], title="shares")).startswith('<p class="bs-quiet">sha')
    True
    """
    title = picture.split("<title>", 1)[1].split("</title>", 1)[0]
    return Markup(f'<p class="bs-quiet">{title}</p>{picture}')


def svg(
    width: float,
    height: float,
    *children: object,
    title: str,
    description: str,
    id: str | None = None,
) -> Markup:
    """A picture of its own with a title and a text, for those who do not see it."""
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
        id=id,
    )


def _fills(rows: Sequence[Sequence[float]], most: float, cell: float) -> list[Markup]:
    """Cells of the same darkness in one path, neighbours of a row as one stretch."""
    found: dict[int, list[str]] = {}
    for u, row in enumerate(rows):
        steps = [math.ceil(p / most * _STEPS) for p in row]
        v = 0
        while v < len(steps):
            end = v
            while end < len(steps) and steps[end] == steps[v]:
                end += 1
            if steps[v]:
                d = f"M{_n(v * cell)} {_n(u * cell)}h{_n((end - v) * cell)}v{_n(cell)}"
                found.setdefault(steps[v], []).append(f"{d}h-{_n((end - v) * cell)}z")
            v = end
    return [
        element("path", d="".join(d), class_="bs-ink", fill_opacity=_n(_DARKEST * k / _STEPS))
        for k, d in sorted(found.items())
    ]


def _strikes(rows: Sequence[Sequence[float]], cell: float) -> Markup | None:
    """A stroke through every cell that is exactly 0; neighbours along the stroke as one."""
    n = len(rows)
    d: list[str] = []
    for u in range(n):
        for v in range(n):
            # A run of zeros along the falling diagonal starts where the cell before it is none.
            if rows[u][v] or (u and v and not rows[u - 1][v - 1]):
                continue
            far = 1
            while u + far < n and v + far < n and not rows[u + far][v + far]:
                far += 1
            d.append(f"M{_n(v * cell)} {_n(u * cell)}l{_n(far * cell)} {_n(far * cell)}")
    return element("path", d="".join(d), class_="bs-strike") if d else None


def _grid(n: int, cell: float) -> Markup:
    side = _n(n * cell)
    across = "".join(f"M0 {_n(i * cell)}H{side}" for i in range(n + 1))
    down = "".join(f"M{_n(i * cell)} 0V{side}" for i in range(n + 1))
    return element("path", d=across + down, class_="bs-grid")


def _numbers(row: Sequence[float], u: int, cell: float, size: float, n: int) -> Markup:
    """The numbers of a row as one text of cells of the same length, which is short to write."""
    letters = round(cell / (size * _MONO))
    line = "".join(f"{cell_text(p, n):^{letters}}" for p in row).replace(" ", "\u00a0")
    return element(
        "text",
        Markup(line),
        x="0",
        y=_n((u + 0.5) * cell + size * 0.35),
        textLength=_n(cell * len(row)),
        font_size=_n(size),
        class_="bs-mono",
    )


def hundredths(p: float) -> int:
    """A probability in whole hundredths; 100 only where it is 1."""
    return 100 if p == 1 else min(99, int(f"{p:.2f}".replace(".", "")))


def cell_text(p: float, n: int) -> str:
    """A probability as it stands in a cell of a matrix of ``n`` levels."""
    if n <= _FEW:
        return "0" if p == 0 else "1" if p == 1 else f".{hundredths(p):02}"
    return str(hundredths(p) or "")


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


def _interval(
    value: float, low: float | None, high: float | None, shown: Callable[[float], str]
) -> str:
    if low is None or high is None:
        return shown(value)
    return f"{shown(value)} ({shown(low)} to {shown(high)})"


def _span(values: Sequence[float]) -> str:
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return low if low == high else f"{low} to {high}"


def _short(name: str) -> str:
    name = " ".join(name.split()) or "''"
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + _CUT


def _n(x: float) -> str:
    """A number as short as a picture needs it."""
    return f"{x:.2f}".rstrip("0").rstrip(".")
