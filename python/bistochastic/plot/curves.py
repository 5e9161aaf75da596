"""Families against each other: over beta, and the best one at each epsilon and beta."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from bistochastic import _core
from bistochastic.arguments import items
from bistochastic.choose.tradeoff import BETAS, by_name, makers, numbers, points
from bistochastic.choose.tradeoff import tradeoff as points_of
from bistochastic.families import BY_BETA
from bistochastic.plot.canvas import DIGITS, QUIET, axes_for, figure_of, plain
from bistochastic.words import down, spoken

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bistochastic.choose.tradeoff import Make, Point

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
# The largest size, the epsilons and the families of `choices`.
_MOST = 4096
_EPSILONS = tuple(0.25 * step for step in range(1, 25))
_BY_EPSILON = ("randomized_response", "geometric", "difference_set")
_BY_BETA = ("randomized_response", "geometric", "tridiagonal")
# Wide lines below narrow ones, so lines that coincide stay visible.
_WIDTHS = (5.0, 2.8, 1.2)
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
    single = isinstance(against, str)
    panels = [against] if single else items("against", must, against, unordered=True)
    for name in panels:
        if not isinstance(name, str):
            raise TypeError(f"`against` must {must}; got {type(name).__name__}")
        if name not in _PANELS:
            raise ValueError(f"`against` must {must}; got {name!r}")
    if not panels:
        raise ValueError("`against` must hold at least one name; got none")
    columns = len(panels) if len(panels) < 4 else 2
    rows = -(-len(panels) // columns)
    width = 3.1 * max(columns, 1.5) * (1 if rows == 1 else 1.2)
    all_axes = axes_for(axes, width, 0.7 + 3.0 * rows, panels=len(panels), columns=columns)
    figure = figure_of(all_axes[0])
    curves: dict[str, list[Point]] = {}
    for point in points_of(size, families=families, betas=betas, records=records):
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
            _no_protection(ax, curves, words, size, records)
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
    return figure


def _labels(curves: Mapping[str, Sequence[Point]], words: Mapping[str, str]) -> dict[str, str]:
    """Name each family in the legend, with the end of its line and the family that shares it."""
    labels: dict[str, str] = {}
    for family, own in curves.items():
        same = next((other for other in labels if _coincide(curves[other], own)), None)
        ends = next((point.most for point in own if point.most is not None), None)
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


def _panel(
    ax: Axes, name: str, curves: Mapping[str, Sequence[Point]], labels: Mapping[str, str]
) -> None:
    """Draw one measure of all families over beta."""
    values = {
        family: [(p.beta, getattr(p, name)) for p in points if p.beta is not None]
        for family, points in curves.items()
    }
    every = {y for pairs in values.values() for _, y in pairs if y is not None}
    # A logarithmic scale has no 0, which only perfect secrecy reaches: it has an edge of its own,
    # too.
    edges = every & ({math.inf, 0.0} if name == "epsilon" else {math.inf})
    _scale(ax, name, sorted(every - {math.inf}), edges)
    whole = ax.get_xaxis_transform()
    # A known name has the same style in every picture.
    known = {name: i for i, family in enumerate(BY_BETA) for name in (family, spoken(family))}
    others, lanes = itertools.count(len(BY_BETA)), itertools.count()
    for family, pairs in values.items():
        i = known[family] if family in known else next(others)
        stepped = len({beta for beta, _ in pairs}) < len(pairs)
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
        on = [math.nan if v is None or v in edges else v for _, v in pairs]
        ax.plot([beta for beta, _ in pairs], on, label=labels[family], **look)
        for value in edges.intersection(v for _, v in pairs):
            at = [beta for beta, v in pairs if v == value]
            # Two lanes at the top, so families do not hide each other.
            height = 0.9 + 0.06 * (next(lanes) % 2) if value else 0.04
            ax.plot(at, [height] * len(at), label="_edge", transform=whole, **look)
    ax.set_xlim(0, 1)
    ax.set_xlabel("beta")
    plain(ax, _PANELS[name], grid="both")


def _scale(ax: Axes, name: str, finite: Sequence[float], edges: set[float]) -> None:
    """Set the scale of y, with room at the edges for what a logarithm cannot show."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    if name in ("truthfulness", "expected_cost"):
        top = 1.08 * max(finite, default=1.0) or 1.0
        ax.set_ylim(0, 1 if name == "truthfulness" else top)
        return
    positive = [y for y in finite if y > 0]
    low, high = (positive[0], positive[-1]) if positive else (1.0, 10.0)
    decades = max(math.log10(high / low), 0.5)
    above = 0.25 if math.inf in edges else 0.08
    below = 0.2 if 0 in edges else 0.08
    ax.set_yscale("log")
    ax.set_ylim(low / 10 ** (decades * below), high * 10 ** (decades * above))
    ticks = LogLocator(subs=(1, 2, 5) if decades < 2.5 else (1, 3))
    ax.yaxis.set_major_locator(ticks)
    ax.yaxis.set_minor_locator(NullLocator())
    percent = name == "standard_error"
    ax.yaxis.set_major_formatter(
        FuncFormatter(lambda y, _: f"{100 * y:.3g}%" if percent else f"{y:g}")
    )
    if edges:
        # No numbers next to the bands, where the scale does not hold.
        ends = low / 10 ** (decades * 0.08), high * 10 ** (decades * 0.02)
        inside = [y for y in ticks.tick_values(*ends) if ends[0] <= y <= ends[1]]
        ax.yaxis.set_major_locator(FixedLocator(inside))
    if math.inf in edges:
        _edge(ax, 0.86, 1.0, "infinite", 0.99, "right")
    if 0 in edges:
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
    curves: Mapping[str, Sequence[Point]],
    words: Mapping[str, str],
    size: int,
    records: int,
) -> None:
    """Draw the error without protection, and say which families leave a gap here."""
    error = math.sqrt(size - 1) / (size * math.sqrt(records))
    ax.axhline(error, color=QUIET, linestyle=":", linewidth=1.2, label="_unprotected")
    empty = all(p.standard_error is None for points in curves.values() for p in points)
    low, high = (error, 10 * error) if empty else ax.get_ylim()
    ax.set_ylim(min(low, error / 1.5), max(high, error * 1.5))
    ax.annotate(
        "without protection", (0.99, error), xytext=(0, -3), textcoords="offset points",
        fontsize="small", ha="right", va="top", color=QUIET,
    )  # fmt: skip
    notes = [f"of a proportion of 1/{size:,}", f"from {records:,} records"]
    for family, own in curves.items():
        gaps = [p.note for p in own if p.beta is not None and p.standard_error is None]
        if gaps:
            notes.append(f"{words[family]}:\nnone, {gaps[0].split(':')[0]}")
    ax.text(
        0.03, 0.97, "\n".join(notes), transform=ax.transAxes, fontsize="small",
        va="top", color=QUIET,
    )  # fmt: skip


def choices(
    size: int,
    *,
    epsilons: Iterable[float] | None = None,
    betas: Iterable[float] | None = None,
    records: int = 10_000,
    axes: object = None,
) -> Figure:
    """Draw which family is best at each epsilon and at each beta; returns the matplotlib figure.

    Three panels: the mean distance between reported and true categories by epsilon, the same by
    beta, and the standard error of a proportion by epsilon with :func:`difference_set`. A dot marks
    the best family. Lines that coincide are drawn with different widths. ``size`` is at most 4,096,
    since every matrix is measured.

    >>> import bistochastic as bs
    >>> figure = bs.plot.choices(8, epsilons=[1, 2], betas=[0.3, 0.6])
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['mean distance by epsilon', 'mean distance by beta', 'standard error by epsilon']
    """
    many, count = _core.as_whole("size", size, 2), _core.as_whole("records", records, 1)
    if many > _MOST:
        raise ValueError(f"`size` must be at most {_MOST} in this picture; got {many}")
    by_epsilon = numbers("epsilons", epsilons, _EPSILONS, math.inf)
    by_beta = numbers("betas", betas, BETAS, 1.0)
    made = {name: by_name(name, "epsilon") for name in _BY_EPSILON}
    asked = list(points(made, many, by_epsilon, count))
    kept = list(points(makers(_BY_BETA), many, by_beta, count))
    panels = (
        ("mean distance by epsilon", "epsilon", "expected_cost", asked),
        ("mean distance by beta", "beta", "expected_cost", kept),
        ("standard error by epsilon", "epsilon", "standard_error", asked),
    )
    listed = axes_for(axes, 11.0, 3.9, panels=3, columns=3)
    for ax, (title, x, y, some) in zip(listed, panels, strict=True):
        curves: dict[str, list[tuple[float, float]]] = {}
        for point in some:
            value = getattr(point, y)
            if value is not None:
                curves.setdefault(point.family, []).append((point.asked, value))
        _mark_best(ax, curves)
        if y == "standard_error":
            ax.set_yscale("log")
        ax.set_xlabel(x)
        ax.set_ylabel("" if y == "standard_error" else "steps", color=QUIET)
        figure = plain(ax, title, grid="both")
    if axes is None:
        words = f"{many:,} categories; errors from {count:,} records; a dot marks the best family"
        figure.suptitle(words, x=0.01, ha="left", fontsize="medium")
    return figure


def _mark_best(ax: Axes, curves: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    """Draw a line for each family, and a dot on the lowest at each place."""
    best: dict[float, tuple[float, str]] = {}
    looks = {name: i for i, name in enumerate(dict.fromkeys((*_BY_EPSILON, *_BY_BETA)))}
    for place, (family, pairs) in enumerate(curves.items()):
        ax.plot(
            *zip(*pairs, strict=True), color=COLOURS[looks[family]], label=spoken(family),
            linewidth=_WIDTHS[place], linestyle=STYLES[looks[family]] if place else "-",
            zorder=2 + place,
        )  # fmt: skip
        for at, value in pairs:
            # Of lines that coincide the first is marked.
            if value < best.get(at, (math.inf, ""))[0] * (1 - 1e-9):
                best[at] = value, family
    for at, (value, family) in best.items():
        ax.plot(at, value, "o", color=COLOURS[looks[family]], markersize=4.5,
                markeredgecolor="white", zorder=9, label="_best")  # fmt: skip
    if curves:
        ax.legend(fontsize="small", frameon=False)
