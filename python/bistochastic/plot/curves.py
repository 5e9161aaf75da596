"""Families against each other, over beta."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from bistochastic.arguments import items
from bistochastic.choose.tradeoff import Point
from bistochastic.choose.tradeoff import tradeoff as points_of
from bistochastic.families import BY_BETA
from bistochastic.plot.canvas import DIGITS, QUIET, figure_of, given_axes, new_figure, plain
from bistochastic.words import down, spoken

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bistochastic.choose.tradeoff import Make

# Told apart by the colour-blind, and by marker and style in grey.
COLOURS = ("#0072B2", "#D55E00", "#000000", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))

_PANELS = {
    "truthfulness": "truthful probability: high is useful",
    "epsilon": "epsilon: low is safe",
    "standard_error": "standard error: low is useful",
    "expected_cost": "mean distance: low is useful",
}
# The panels with the most room for a legend first.
_ROOM = ("expected_cost", "truthfulness", "standard_error", "epsilon")


def tradeoff(
    size: int,
    *,
    families: Iterable[str] | Mapping[str, Make] = BY_BETA,
    betas: Iterable[float] | None = None,
    against: str | Sequence[str] = tuple(_PANELS),
    records: int = 10_000,
    axes: object = None,
) -> Figure:
    """Draw several families at the same betas, and return the matplotlib figure.

    The numbers come from :func:`bistochastic.tradeoff`, which explains ``families``, ``betas``
    and ``records``. ``against`` picks the panels: ``"truthfulness"``, ``"epsilon"``,
    ``"standard_error"``, ``"expected_cost"``. Points are at the stated beta.

    The last panel is for ordered categories: how many steps a reported category is from the true
    one on average. A family whose false reported values are near misses does better there.

    * An infinite epsilon is drawn in a band at the top edge.
    * Epsilon is flat near 36 if the rarest reported values have probability 2^-53, the smallest
      possible.
    * If a family cannot reach some beta, the legend says its largest beta.
    * If two families are the same line, the legend says so.
    * A singular matrix leaves a gap among the standard errors, with a note.
    * The dotted line among the standard errors is the error without any protection.

    ``axes`` are as many matplotlib axes as panels. Without them a figure is made, two panels wide
    from four panels on.

    >>> import bistochastic as bs
    >>> figure = bs.plot.tradeoff(12, betas=[0.3, 0.6, 0.9])
    >>> for axes in figure.axes:
    ...     print(axes.get_title(loc="left"))
    truthful probability: high is useful
    epsilon: low is safe
    standard error: low is useful
    mean distance: low is useful
    """
    must = f"hold names out of {', '.join(_PANELS)}"
    panels = [against] if isinstance(against, str) else items("against", must, against)
    for name in panels:
        if not isinstance(name, str):
            raise TypeError(f"`against` must {must}; got {type(name).__name__}")
        if name not in _PANELS:
            raise ValueError(f"`against` must {must}; got {name!r}")
    if not panels:
        raise ValueError("`against` must hold at least one name; got none")
    if axes is None:
        columns = len(panels) if len(panels) < 4 else 2
        rows = -(-len(panels) // columns)
        width, height = 3.1 * max(columns, 1.5), 0.7 + 3.0 * rows
        figure, all_axes = new_figure(
            width if rows == 1 else 1.2 * width, height, rows=rows, columns=columns
        )
        for spare in all_axes[len(panels) :]:
            spare.remove()
        all_axes = all_axes[: len(panels)]
    else:
        all_axes = given_axes(axes, len(panels))
    points = points_of(size, families=families, betas=betas, records=records)
    curves: dict[str, list[Point]] = {}
    for point in points:
        curves.setdefault(point.family, []).append(point)
    # Labels of a caller's own are left as they are.
    own = hasattr(families, "items")
    words = {family: family if own else spoken(family) for family in curves}
    labels = _labels(curves, words)
    for ax, name in zip(all_axes, panels, strict=True):
        _panel(ax, name, curves, labels)
        if name == "expected_cost":
            ax.set_ylabel("steps", fontsize="small")
        if name == "standard_error":
            error = math.sqrt(size - 1) / (size * math.sqrt(records))
            _no_protection(ax, error, curves, words, size, records)
    if axes is None:
        handles, lines = all_axes[0].get_legend_handles_labels()
        # Long names need two columns, so the legend is not wider than the panels.
        wide = sum(map(len, lines)) > 90
        figure.legend(
            handles, lines, loc="outside lower center", ncols=min(2 if wide else 4, len(lines)),
            frameon=False, fontsize="small",
        )  # fmt: skip
        figure.suptitle(f"{size:,} categories, at equal beta", x=0.01, ha="left", fontsize="medium")
    else:
        # In the panel with the fewest words.
        least = min(panels, key=_ROOM.index)
        all_axes[panels.index(least)].legend(fontsize="small", edgecolor="none")
    return figure_of(all_axes[0])


def _labels(curves: Mapping[str, Sequence[Point]], words: Mapping[str, str]) -> dict[str, str]:
    """Name each family in the legend, with the end of its line and the family that shares it."""
    labels: dict[str, str] = {}
    for family, points in curves.items():
        same = next((other for other in labels if _coincide(curves[other], points)), None)
        ends = next((point.most for point in points if point.most is not None), None)
        labels[family] = words[family]
        if same is not None:
            labels[family] += f" (same as {words[same]})"
        elif ends is not None:
            labels[family] += f" (beta to {down(ends, DIGITS)})"
    return labels


def _coincide(ones: Sequence[Point], others: Sequence[Point]) -> bool:
    """Whether two families look the same in every panel."""
    pairs = [
        (getattr(one, name), getattr(other, name))
        for one, other in zip(ones, others, strict=True)
        for name in ("beta", *_PANELS)
    ]
    return any(one.beta is not None for one in ones) and all(
        a == b or (None not in (a, b) and math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9))
        for a, b in pairs
    )


def _looks(families: Iterable[str]) -> list[int]:
    """Number the style of each family: a known name has the same in every picture."""
    known = {name: i for i, family in enumerate(BY_BETA) for name in (family, spoken(family))}
    others = itertools.count(len(BY_BETA))
    return [known[f] if f in known else next(others) for f in families]


def _panel(
    ax: Axes, name: str, curves: Mapping[str, Sequence[Point]], labels: Mapping[str, str]
) -> None:
    """Draw one measure of all families over beta."""
    values = {
        family: [(p.beta, getattr(p, name)) for p in points if p.beta is not None]
        for family, points in curves.items()
    }
    finite = [
        y for pairs in values.values() for _, y in pairs if y is not None and math.isfinite(y)
    ]
    infinite = [f for f, pairs in values.items() if any(y == math.inf for _, y in pairs)]
    # A logarithmic scale has no 0, which only perfect secrecy reaches: it has an edge of its own,
    # too.
    zeros = [
        f for f, pairs in values.items() if name == "epsilon" and any(y == 0 for _, y in pairs)
    ]
    _scale(ax, name, finite, infinite=bool(infinite), zero=bool(zeros))
    edge = ax.get_xaxis_transform()
    for i, family in zip(_looks(curves), curves, strict=True):
        x = [beta for beta, _ in values[family]]
        stepped = len(set(x)) < len(x)
        look: dict[str, Any] = {
            "color": COLOURS[i % len(COLOURS)],
            "marker": _MARKERS[i % len(_MARKERS)],
            # Between the steps of a family there is nothing, so no line that says there were.
            "linestyle": "none" if stepped else STYLES[i % len(STYLES)],
            "markersize": 4.5,
            "linewidth": 1.4,
            # Markers on an edge are drawn whole, and need no room in the layout.
            "clip_on": False,
            "in_layout": False,
        }
        y = [math.nan if v is None or math.isinf(v) else v for _, v in values[family]]
        if family in zeros:
            y = [math.nan if v == 0 else v for v in y]
            low = [beta for beta, v in values[family] if v == 0]
            ax.plot(low, [0.04] * len(low), label="_zero", transform=edge, **look)
        ax.plot(x, y, label=labels[family], **look)
        if family in infinite:
            # Two lanes, so families do not hide each other.
            lane = 0.9 + 0.06 * (infinite.index(family) % 2)
            top = [beta for beta, v in values[family] if v == math.inf]
            ax.plot(top, [lane] * len(top), label="_infinite", transform=edge, **look)
    ax.set_xlim(0, 1)
    ax.set_xlabel("beta")
    ax.set_title(_PANELS[name], loc="left", fontsize="medium")
    plain(ax, grid="both")


def _scale(ax: Axes, name: str, finite: Sequence[float], *, infinite: bool, zero: bool) -> None:
    """Set the scale of y, with room at the edges for what a logarithm cannot show."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    if name == "truthfulness":
        ax.set_ylim(0, 1)
        return
    if name == "expected_cost":
        ax.set_ylim(0, 1.08 * max(finite, default=1.0) or 1.0)
        return
    positive = [y for y in finite if y > 0]
    low, high = (min(positive), max(positive)) if positive else (1.0, 10.0)
    decades = max(math.log10(high / low), 0.5)
    above = 0.25 if infinite else 0.08
    below = 0.2 if zero else 0.08
    ax.set_yscale("log")
    ax.set_ylim(low / 10 ** (decades * below), high * 10 ** (decades * above))
    ticks = LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1, 3))
    ax.yaxis.set_major_locator(ticks)
    ax.yaxis.set_minor_locator(NullLocator())
    percent = name == "standard_error"
    ax.yaxis.set_major_formatter(
        FuncFormatter(lambda y, _: f"{100 * y:.3g}%" if percent else f"{y:g}")
    )
    if infinite or zero:
        # No numbers next to the bands, where the scale does not hold.
        ends = low / 10 ** (decades * 0.08), high * 10 ** (decades * 0.02)
        inside = [y for y in ticks.tick_values(*ends) if ends[0] <= y <= ends[1]]
        ax.yaxis.set_major_locator(FixedLocator(inside))
    if infinite:
        _edge(ax, 0.86, 1.0, "infinite", 0.99, "right")
    if zero:
        _edge(ax, 0.0, 0.08, "zero", 0.01, "left")


def _edge(ax: Axes, low: float, high: float, words: str, x: float, side: str) -> None:
    """Draw a grey band along an edge, for a value off the scale."""
    from matplotlib.patches import Rectangle

    whole = ax.transAxes
    ax.add_patch(Rectangle((0, low), 1, high - low, transform=whole, color="#eeeeee", zorder=0))
    ax.text(
        x, (low + high) / 2, words, transform=whole, fontsize="small", va="center", ha=side,
        color=QUIET, style="italic",
    )  # fmt: skip


def _no_protection(
    ax: Axes,
    error: float,
    curves: Mapping[str, Sequence[Point]],
    words: Mapping[str, str],
    size: int,
    records: int,
) -> None:
    """Draw the error without protection, and say which families leave a gap here."""
    ax.axhline(error, color=QUIET, linestyle=":", linewidth=1.2, label="_unprotected")
    empty = all(p.standard_error is None for points in curves.values() for p in points)
    low, high = (error, 10 * error) if empty else ax.get_ylim()
    ax.set_ylim(min(low, error / 1.5), max(high, error * 1.5))
    ax.annotate(
        "without protection", (0.99, error), xytext=(0, -3), textcoords="offset points",
        fontsize="small", ha="right", va="top", color=QUIET,
    )  # fmt: skip
    notes = [f"of a proportion of 1/{size:,}", f"from {records:,} records"]
    for family, points in curves.items():
        gaps = [p.note for p in points if p.beta is not None and p.standard_error is None]
        if gaps:
            notes.append(f"{words[family]}:\nnone, {gaps[0].split(':')[0]}")
    ax.text(
        0.03, 0.97, "\n".join(notes), transform=ax.transAxes, fontsize="small",
        va="top", color=QUIET,
    )  # fmt: skip
