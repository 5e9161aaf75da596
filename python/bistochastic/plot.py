"""Pictures for reports: a profile, a matrix, and what families pay for the same beta.

Needs the extra ``plot`` (matplotlib), which is imported when a picture is asked for and not before.
Every function returns the matplotlib ``Figure``: ``bs.plot.tradeoff(12).savefig("tradeoff.png")``;
a notebook shows it after ``%matplotlib inline``. Nothing goes through pyplot, so no window opens
and no figure stays behind. With ``axes=`` a picture is drawn into axes of one's own. Colours differ
in grey, too, and are never alone: lines have markers and styles, bounds are hatched.

>>> import bistochastic as bs
>>> bs.plot.tradeoff(12, betas=[0.5]).savefig("tradeoff.png")  # doctest: +SKIP
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from bistochastic import _core
from bistochastic.report import down, up
from bistochastic.tradeoff import FAMILIES, Point, tradeoff_points

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bistochastic._core import Matrix
    from bistochastic.profile import Entry, Profile
    from bistochastic.tradeoff import Make

__all__ = ["heatmap", "profile", "tradeoff", "tradeoff_points"]

# Okabe and Ito's colours, told apart by colour-blind readers, in an order that also differs in
# grey.
_COLOURS = ("#0072B2", "#D55E00", "#000000", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
_QUIET = "#555555"

# The largest matrix that is drawn, the most cells a side, and the most with their numbers written
# in.
_LARGEST = 4096
_CELLS = 1024
_WRITTEN = 12


def _new_figure(width: float, height: float, panels: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure of its own with axes side by side, known to nobody else."""
    _matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(1, panels, squeeze=False)[0])


def _matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        must = "`plot` must find matplotlib; got none: install bistochastic[plot]"
        raise ImportError(must) from None


def _given_axes(axes: Any, panels: int = 1) -> list[Axes]:
    _matplotlib()
    from matplotlib.axes import Axes

    listed = [axes] if isinstance(axes, Axes) else list(axes) if hasattr(axes, "__iter__") else []
    if len(listed) != panels or not all(isinstance(one, Axes) for one in listed):
        many = "matplotlib axes" if panels == 1 else f"{panels} matplotlib axes"
        got = f"{len(listed)} axes" if listed else type(axes).__name__
        raise TypeError(f"`axes` must be {many}; got {got}")
    return listed


# --- a profile -----------------------------------------------------------------------------------

# Groups of bars: heading, colour, and for each bar the measure, its words, and which way its bound
# errs.
_GROUPS: tuple[tuple[str, str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "hidden from an attacker: long is safe",
        "#0072B2",
        (
            ("beta", "beta, average over rows", "at least"),
            ("worst_row", "beta of the worst row", "at least"),
            ("worst_column", "beta of the worst column", "at least"),
            ("remaining_uncertainty", "uncertainty left, given prior", "at least"),
        ),
    ),
    (
        "told to an attacker: short is safe",
        "#D55E00",
        (
            ("mutual_information", "mutual information", "at most"),
            ("capacity", "channel capacity", "at most"),
            ("max_leakage", "maximal leakage", "at most"),
            ("guessing_probability", "best guess", "at most"),
            ("best_guess", "best guess, given prior", "at most"),
        ),
    ),
    (
        "left to the analyst: long is useful",
        "#767676",
        (("truthfulness", "truthfulness", "about"),),
    ),
)
_IN_BITS = {"remaining_uncertainty", "mutual_information", "capacity", "max_leakage"}


def profile(profile: Profile, *, axes: Any = None) -> Figure:
    """The profile of a matrix on one scale from 0 to 1, as bars; returns the matplotlib figure.

    Three groups: what is hidden from an attacker (beta, and beta of the worst row and column),
    what is told (mutual information, capacity and maximal leakage as shares of ``log2 size``; the
    best guess), and what is left to the analyst (truthfulness). A mark on maximal leakage shows
    the most that beta alone allows, one on the best guess what can be guessed without a report.
    Bounds are hatched, and what was not computed says so in place of its bar. With ``prior=`` in
    the profile two more bars follow.

    ``axes`` are matplotlib axes to draw into; a figure is made where none are given.

    >>> import bistochastic as bs
    >>> figure = bs.plot.profile(bs.randomized_response(12, beta=0.6).profile())
    >>> len(figure.axes[0].patches), figure.axes[0].get_title(loc="left")
    (8, 'randomized_response, 12 categories\\nbeta 0.6, epsilon 3.01077')
    """
    from bistochastic.profile import Profile

    if not isinstance(profile, Profile):
        raise TypeError(f"`profile` must be a profile; got {type(profile).__name__}")
    known = {entry.name: entry for entry in profile}
    bars = sum(name in known for _, _, group in _GROUPS for name, _, _ in group)
    if axes is None:
        _, (ax,) = _new_figure(8.0, 1.9 + 0.33 * bars)
    else:
        (ax,) = _given_axes(axes)
    matrix = profile.matrix
    y, places, names = 0.0, [], []
    for heading, colour, group in _GROUPS:
        ax.text(0.0, y, heading, fontsize="small", color=_QUIET, va="center", style="italic")
        for name, words, errs in group:
            if name in known:
                y += 1
                _bar(ax, y, known[name], colour, errs, matrix)
                places.append(y)
                names.append(words)
        y += 1.2
    if "max_leakage" in known and known["max_leakage"].value is not None:
        at = places[names.index("maximal leakage")]
        _mark(
            ax, _share(known["guaranteed_max_leakage"], matrix), at, "most that beta alone allows"
        )
    if known["guessing_probability"].value is not None:
        at = places[names.index("best guess")]
        _mark(ax, 1 / matrix.size, at, "guess without a report", style=":")
    ax.set_yticks(places, names)
    ax.set_ylim(y - 0.6, -0.6)
    ax.set_xlim(0, 1)
    ax.set_title(_title(matrix), loc="left", fontsize="medium")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="#dddddd", linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    _profile_legend(ax, bounds=any(e.status == "bound" for e in known.values()))
    return _figure_of(ax)


def _share(entry: Entry, matrix: Matrix) -> float:
    """A measure on the scale from 0 to 1; bits as a share of the most there can be."""
    value = float(entry.value or 0.0)
    if entry.name in _IN_BITS or entry.name == "guaranteed_max_leakage":
        value = value / matrix.max_bits if matrix.max_bits > 0 else 0.0
    return min(1.0, max(0.0, value))


def _bar(ax: Axes, y: float, entry: Entry, colour: str, errs: str, matrix: Matrix) -> None:
    """One bar, its number on the right; hatched where it is a bound, words where there is none."""
    if entry.value is None:
        text = f"not computed: {entry.note}"
        ax.text(0.01, y, text, fontsize="small", color=_QUIET, va="center")
        return
    bound = entry.status == "bound"
    look: dict[str, Any] = (
        {"facecolor": "white", "hatch": "////"} if bound else {"facecolor": colour}
    )
    ax.barh(y, _share(entry, matrix), height=0.66, edgecolor=colour, label=entry.name, **look)
    text = f"{errs} {entry.text}" if bound else entry.text
    if entry.name in _IN_BITS:
        text += f" of {matrix.max_bits:.4g} bits"
    side = ax.get_yaxis_transform()
    ax.text(1.02, y, text, fontsize="small", va="center", transform=side)


def _mark(ax: Axes, x: float, y: float, label: str, style: str = "-") -> None:
    """A line across a bar, wider than it, with a white rim to be seen on every ground."""
    from matplotlib.patheffects import withStroke

    rim = [withStroke(linewidth=4.5, foreground="white")]
    ax.plot(
        [x, x], [y - 0.45, y + 0.45], color="black", linewidth=2, linestyle=style,
        label=label, path_effects=rim, clip_on=False, solid_capstyle="butt",
    )  # fmt: skip


def _profile_legend(ax: Axes, *, bounds: bool) -> None:
    from matplotlib.patches import Patch

    shown = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    handles: list[Any] = list(shown)
    labels = [str(line.get_label()) for line in shown]
    if bounds:
        handles.append(Patch(facecolor="white", edgecolor=_QUIET, hatch="////"))
        labels.append("hatched: a bound")
    if handles:
        ax.legend(
            handles, labels, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=3,
            frameon=False, fontsize="small",
        )  # fmt: skip


def _title(matrix: Matrix) -> str:
    lead, top = ("", "") if matrix.certified == "exact" else ("at least ", "at most ")
    noun = "category" if matrix.size == 1 else "categories"
    if math.isinf(matrix.epsilon):
        epsilon = "epsilon infinite: some reports exclude some truths"
    else:
        epsilon = f"epsilon {top}{up(matrix.epsilon)}"
    name = f"{matrix.family}, {matrix.size:,} {noun}"
    return f"{name}\nbeta {lead}{down(matrix.beta)}, {epsilon}"


def _figure_of(ax: Axes) -> Figure:
    """The figure that axes stand in."""
    figure: Any = ax.figure
    return figure  # type: ignore[no-any-return]


# --- a matrix ------------------------------------------------------------------------------------


def heatmap(matrix: Matrix, *, scale: str | None = None, axes: Any = None) -> Figure:
    """The probabilities of a matrix as colours, one row a truth, one column a report.

    White is never: an entry of exactly 0, by which a report excludes a truth. ``scale`` is
    ``"linear"`` or ``"log"``; logarithmic where the positive entries differ by more than a factor
    of 100, unless given, and then what is below a millionth of the largest shares the lightest
    colour. Up to 12 categories the numbers are written into the cells.

    Above 1024 categories a cell is the mean of a square of neighbours, white where all are 0, and
    the colour bar says so. All entries are looked at, so at most 4096 categories are accepted.

    >>> import bistochastic as bs
    >>> figure = bs.plot.heatmap(bs.geometric(12, beta=0.6))
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('report v', 'truth u')
    >>> bs.plot.heatmap(bs.uniform(5000))
    Traceback (most recent call last):
        ...
    ValueError: `matrix` must have at most 4096 categories for a heat map; got 5000
    """
    if not isinstance(matrix, _core.Matrix):
        raise TypeError(f"`matrix` must be a matrix; got {type(matrix).__name__}")
    if matrix.size > _LARGEST:
        must = f"`matrix` must have at most {_LARGEST} categories for a heat map"
        raise ValueError(f"{must}; got {matrix.size}")
    if scale not in (None, "linear", "log"):
        raise ValueError(f'`scale` must be "linear" or "log"; got {scale!r}')
    if axes is None:
        _, (ax,) = _new_figure(6.4, 5.6)
    else:
        (ax,) = _given_axes(axes)
    import matplotlib as mpl
    import numpy as np
    from matplotlib.colors import ListedColormap, LogNorm, Normalize
    from matplotlib.ticker import MaxNLocator

    dense = matrix.to_dense()
    step = -(-matrix.size // _CELLS)
    if step > 1:
        starts = np.arange(0, matrix.size, step)
        widths = np.diff(np.append(starts, matrix.size))
        sums = np.add.reduceat(np.add.reduceat(dense, starts, axis=0), starts, axis=1)
        dense = sums / np.outer(widths, widths)
    positive = dense[dense > 0]
    least, most = float(positive.min()), float(positive.max())
    log = scale == "log" or (scale is None and most > 100 * least)
    floor = max(least, most * 1e-6)
    norm: Normalize = LogNorm(min(floor, most / 10), most) if log else Normalize(0.0, most)
    # Blue without its palest fifth, so that white is left for 0; dark is likely, in grey, too.
    blues = mpl.colormaps["Blues"](np.linspace(0.2, 1.0, 256))
    colours = ListedColormap(blues).with_extremes(bad="white")
    # On a linear scale, too, an entry of 0 is another thing than a small one.
    shown = np.ma.masked_equal(dense, 0.0)
    if log:
        shown = np.ma.maximum(shown, floor)
    # Cells are centred on their codes, and the last square may hold fewer of them.
    ends = (-0.5, len(dense) * step - 0.5, len(dense) * step - 0.5, -0.5)
    image = ax.imshow(shown, cmap=colours, norm=norm, interpolation="nearest", extent=ends)
    ax.set_xlim(-0.5, matrix.size - 0.5)
    ax.set_ylim(matrix.size - 0.5, -0.5)
    below = log and least < floor
    # Beside the image and as high, whatever the layout.
    beside = ax.inset_axes((1.03, 0.0, 0.04, 1.0))
    bar = _figure_of(ax).colorbar(image, cax=beside, extend="min" if below else "neither")
    words = "probability" if step == 1 else f"probability, mean of {step} x {step}"
    white = "; white: never" if len(positive) < dense.size else ""
    bar.set_label(words + (", logarithmic" if log else "") + white)
    if matrix.size <= _WRITTEN:
        _write_numbers(ax, dense, image)
    for axis in (ax.xaxis, ax.yaxis):
        bins = _WRITTEN if matrix.size <= _WRITTEN else 8
        axis.set_major_locator(MaxNLocator(integer=True, nbins=bins, min_n_ticks=1))
    ax.set_xlabel("report v")
    ax.set_ylabel("truth u")
    # The colour bar tells what infinite means, so the title need not.
    ax.set_title(_title(matrix).split(":")[0], loc="left", fontsize="medium")
    return _figure_of(ax)


def _write_numbers(ax: Axes, dense: Any, image: Any) -> None:
    """Two decimals in every cell, dark on light and light on dark."""
    for (u, v), p in _entries(dense):
        red, green, blue, _ = image.cmap(image.norm(p)) if p > 0 else (1, 1, 1, 1)
        light = 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5
        text = "0" if p == 0 else "1" if p == 1 else "<.01" if p < 0.005 else f"{p:.2f}"
        text = text.removeprefix("0") or "0"
        colour = _QUIET if p == 0 else "black" if light else "white"
        ax.text(v, u, text, ha="center", va="center", fontsize="small", color=colour)


def _entries(dense: Any) -> Iterable[tuple[tuple[int, int], float]]:
    return (((u, v), float(p)) for u, row in enumerate(dense) for v, p in enumerate(row))


# --- families against each other -----------------------------------------------------------------

_PANELS = {
    "truthfulness": "truthfulness: high is useful",
    "epsilon": "epsilon: low is safe",
    "standard_error": "standard error: low is useful",
}


def tradeoff(
    size: int,
    *,
    families: Iterable[str] | Mapping[str, Make] = FAMILIES,
    betas: Iterable[float] | None = None,
    against: str | Sequence[str] = ("truthfulness", "epsilon", "standard_error"),
    records: int = 10_000,
    axes: Any = None,
) -> Figure:
    """What several families pay and keep at the same beta; returns the matplotlib figure.

    The numbers are those of :func:`tradeoff_points`, which explains ``families``, ``betas`` and
    ``records``. ``against`` picks the panels: ``"truthfulness"``, ``"epsilon"``,
    ``"standard_error"``. Points stand at the realised beta. An infinite epsilon is drawn in a band
    at the top edge; a family that ends below some beta says where in the legend; a singular matrix
    leaves a gap among the standard errors, with a note. The dotted line there is the error without
    any protection.

    ``axes`` are as many matplotlib axes as panels; a figure is made where none are given.

    >>> import bistochastic as bs
    >>> figure = bs.plot.tradeoff(12, betas=[0.3, 0.6, 0.9])
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['truthfulness: high is useful', 'epsilon: low is safe', 'standard error: low is useful']
    """
    panels = [against] if isinstance(against, str) else list(against)
    for name in panels:
        if name not in _PANELS:
            must = f"`against` must hold names out of {', '.join(_PANELS)}"
            raise ValueError(f"{must}; got {name!r}")
    if not panels:
        raise ValueError("`against` must hold at least one name; got none")
    if axes is None:
        figure, all_axes = _new_figure(3.1 * max(len(panels), 1.5), 3.7, len(panels))
    else:
        all_axes = _given_axes(axes, len(panels))
    points = tradeoff_points(size, families=families, betas=betas, records=records)
    curves: dict[str, list[Point]] = {}
    for point in points:
        curves.setdefault(point.family, []).append(point)
    for ax, name in zip(all_axes, panels, strict=True):
        _panel(ax, name, curves)
        if name == "standard_error":
            plain = math.sqrt(size - 1) / (size * math.sqrt(records))
            _no_protection(ax, plain, curves, size, records)
    if axes is None:
        handles, labels = all_axes[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower center", ncols=min(4, len(labels)),
            frameon=False, fontsize="small",
        )  # fmt: skip
        figure.suptitle(f"{size:,} categories, at equal beta", x=0.01, ha="left", fontsize="medium")
    else:
        all_axes[0].legend(fontsize="small", edgecolor="none")
    return _figure_of(all_axes[0])


def _label(family: str, points: Sequence[Point]) -> str:
    """The family, and where it ends if it does."""
    for point in points:
        if point.most is not None:
            return f"{family} (beta to {down(point.most, 3)})"
    return family


def _looks(families: Iterable[str]) -> list[int]:
    """The number of each family's look: a named one has the same in every picture."""
    others = itertools.count(len(FAMILIES))
    return [FAMILIES.index(f) if f in FAMILIES else next(others) for f in families]


def _panel(ax: Axes, name: str, curves: Mapping[str, Sequence[Point]]) -> None:
    """One measure of all families over beta."""
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
    for i, (family, points) in zip(_looks(curves), curves.items(), strict=True):
        x = [beta for beta, _ in values[family]]
        stepped = len(set(x)) < len(x)
        look: dict[str, Any] = {
            "color": _COLOURS[i % len(_COLOURS)],
            "marker": _MARKERS[i % len(_MARKERS)],
            # Between the steps of a family there is nothing, so no line that says there were.
            "linestyle": "none" if stepped else _STYLES[i % len(_STYLES)],
            "markersize": 4.5,
            "linewidth": 1.4,
            # Markers on an edge are drawn whole, and take no room in the layout.
            "clip_on": False,
            "in_layout": False,
        }
        y = [math.nan if v is None or math.isinf(v) else v for _, v in values[family]]
        if family in zeros:
            y = [math.nan if v == 0 else v for v in y]
            low = [beta for beta, v in values[family] if v == 0]
            ax.plot(low, [0.04] * len(low), label="_zero", transform=edge, **look)
        ax.plot(x, y, label=_label(family, points), **look)
        if family in infinite:
            # Two lanes, so that families do not hide each other.
            lane = 0.9 + 0.06 * (infinite.index(family) % 2)
            top = [beta for beta, v in values[family] if v == math.inf]
            ax.plot(top, [lane] * len(top), label="_infinite", transform=edge, **look)
    ax.set_xlim(0, 1)
    ax.set_xlabel("beta")
    ax.set_title(_PANELS[name], loc="left", fontsize="medium")
    ax.grid(color="#e2e2e2", linewidth=0.7)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _scale(ax: Axes, name: str, finite: Sequence[float], *, infinite: bool, zero: bool) -> None:
    """The scale of y, with room at the edges for what a logarithm cannot show."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    if name == "truthfulness":
        ax.set_ylim(0, 1)
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
        FuncFormatter(lambda y, _: f"{100 * y:.3g} %" if percent else f"{y:g}")
    )
    if infinite or zero:
        # No numbers beside the bands, where the scale does not hold.
        ends = low / 10 ** (decades * 0.08), high * 10 ** (decades * 0.02)
        inside = [y for y in ticks.tick_values(*ends) if ends[0] <= y <= ends[1]]
        ax.yaxis.set_major_locator(FixedLocator(inside))
    if infinite:
        _edge(ax, 0.86, 1.0, "infinite", 0.99, "right")
    if zero:
        _edge(ax, 0.0, 0.08, "zero", 0.01, "left")


def _edge(ax: Axes, low: float, high: float, words: str, x: float, side: str) -> None:
    """A grey band along an edge that stands for a value off the scale."""
    from matplotlib.patches import Rectangle

    whole = ax.transAxes
    ax.add_patch(Rectangle((0, low), 1, high - low, transform=whole, color="#eeeeee", zorder=0))
    ax.text(
        x, (low + high) / 2, words, transform=whole, fontsize="small", va="center", ha=side,
        color=_QUIET, style="italic",
    )  # fmt: skip


def _no_protection(
    ax: Axes, plain: float, curves: Mapping[str, Sequence[Point]], size: int, records: int
) -> None:
    """The error of sampling alone, and which families leave a gap here."""
    ax.axhline(plain, color=_QUIET, linestyle=":", linewidth=1.2, label="_unprotected")
    empty = all(p.standard_error is None for points in curves.values() for p in points)
    low, high = (plain, 10 * plain) if empty else ax.get_ylim()
    ax.set_ylim(min(low, plain / 1.5), max(high, plain * 1.5))
    ax.annotate(
        "without protection", (0.99, plain), xytext=(0, -3), textcoords="offset points",
        fontsize="small", ha="right", va="top", color=_QUIET,
    )  # fmt: skip
    notes = [f"of a share of 1/{size:,}", f"from {records:,} records"]
    for family, points in curves.items():
        gaps = [p.note for p in points if p.beta is not None and p.standard_error is None]
        if gaps:
            notes.append(f"{family}:\nnone, {gaps[0].split(':')[0]}")
    ax.text(
        0.03, 0.97, "\n".join(notes), transform=ax.transAxes, fontsize="small",
        va="top", color=_QUIET,
    )  # fmt: skip
