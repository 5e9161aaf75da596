"""Pictures for papers: a matrix, an estimate, and families at the same beta.

It needs the extra ``plot`` (matplotlib). Every function returns the matplotlib ``Figure``:
``bs.plot.tradeoff(12).savefig("tradeoff.png")``. A notebook shows it after ``%matplotlib inline``.
Pyplot is not used, so no window opens and no figure stays in memory. ``axes=`` draws into axes of
your own. The pictures can be read in grey: lines also differ by marker and style.

>>> import bistochastic as bs
>>> figure = bs.plot.tradeoff(12, betas=[0.5], against=["truthfulness", "epsilon"])
>>> len(figure.axes)
2
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from bistochastic.arguments import Several, items, names_of, one_of
from bistochastic.choose.compare import Make, Point
from bistochastic.choose.compare import tradeoff as points_of
from bistochastic.errors import Refused, RefusedType
from bistochastic.estimate import Estimate
from bistochastic.families import BY_BETA
from bistochastic.formatting import down
from bistochastic.matrix import Matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["estimate", "heatmap", "tradeoff"]

# Told apart by the colour-blind, and by marker and style in grey.
COLOURS = ("#0072B2", "#D55E00", "#000000", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
# The colour of what is said next to the numbers.
_QUIET = "#555555"
# How many digits a picture shows: the profile has all of them.
_DIGITS = 3
_PANELS = {
    "truthfulness": "truthful probability: high is useful",
    "epsilon": "epsilon: low is safe",
    "standard_error": "standard error: low is useful",
    "expected_cost": "mean distance in steps: low is useful",
}
# The largest matrix that is drawn, the largest with every number in its cell, and the most names
# along an axis, and the most cells of an estimate.
_MOST, _NUMBERED, _LABELLED, _CELLS = 4096, 12, 30, 200


def heatmap(
    matrix: Matrix,
    *,
    scale: Literal["linear", "log"] = "linear",
    categories: Several[object] | None = None,
    axes: object = None,
) -> Figure:
    """Draw the probabilities of a matrix as colours: true categories down, reported ones across.

    White means a probability of exactly 0: the reported value rules out the true one. A logarithmic
    ``scale`` distinguishes small entries, down to a millionth of the largest. ``categories`` are
    the names of the codes in their order, of which about 30 are shown; up to 12 get numbers in
    their cells, and at most 4096 are accepted. ``axes`` are matplotlib axes to draw into.

    >>> figure = bs.plot.heatmap(bs.geometric(12, beta=0.6))
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('reported', 'true')
    """
    if not isinstance(matrix, Matrix):
        raise RefusedType("matrix", "be a matrix", type(matrix).__name__)
    n = matrix.size
    if n > _MOST:
        raise Refused("matrix", f"have at most {_MOST} categories for a heat map", n)
    log, must = one_of("scale", scale, ("linear", "log")) == "log", f"hold {n} names"
    listed = range(n) if categories is None else items("categories", must, categories)
    if len(listed) != n:
        raise Refused("categories", must, len(listed))
    (ax,) = _axes_for(axes, 6.4, 5.6)
    import matplotlib as mpl
    from matplotlib.colors import ListedColormap, LogNorm, Normalize

    dense = matrix.to_dense()
    most = float(dense.max())
    floor = max(float(dense[dense > 0].min()), most * 1e-6)
    norm: Normalize = LogNorm(min(floor, most / 10), most) if log else Normalize(0.0, most)
    # Blue without its palest fifth, so white is left for 0; dark is likely, in grey, too.
    blues = mpl.colormaps["Blues"](np.linspace(0.2, 1.0, 256))
    colours = ListedColormap(blues).with_extremes(bad="white")
    # On a linear scale, too, an entry of 0 differs from a small one.
    shown = np.ma.masked_equal(dense, 0.0)
    image = ax.imshow(np.ma.maximum(shown, floor) if log else shown, cmap=colours, norm=norm,
                      interpolation="nearest")  # fmt: skip
    # Next to the image and as high, whatever the layout.
    bar = _figure_of(ax).colorbar(image, cax=ax.inset_axes((1.03, 0.0, 0.04, 1.0)))
    white = "; white: never" if 0 in dense else ""
    bar.set_label("probability" + (", logarithmic" if log else "") + white)
    for (u, v), p in np.ndenumerate(dense) if n <= _NUMBERED else ():
        colour = _QUIET if p == 0 else "white" if norm(p) > 0.5 else "black"
        # 0 and 1 stand only for what is never and what is always reported.
        words = f"{p:g}" if p in (0, 1) else f"{min(p, 0.99):.2f}"[1:] if p >= 0.005 else "<.01"
        ax.text(v, u, words, ha="center", va="center", color=colour, fontsize="small")
    every = -(-n // (_LABELLED if categories is not None else _NUMBERED))
    names = [str(each) for each in listed[::every]]
    # Long names would run into each other below the picture.
    upright = 90 if max(map(len, names)) > 3 else 0
    ax.set_xticks(range(0, n, every), names, rotation=upright, fontsize="small")
    ax.set_yticks(range(0, n, every), names, fontsize="small")
    ax.set_xlabel("reported")
    ax.set_ylabel("true")
    ax.set_title(repr(matrix)[8:-1].replace(": ", "\n"), loc="left", fontsize="medium")
    return _figure_of(ax)


def estimate(estimate: Estimate, *, axes: object = None) -> Figure:
    """Draw reported and estimated proportions with 95% intervals; returns the matplotlib figure.

    A circle is an estimated proportion, its bar the interval of the true proportion; a cross is the
    proportion of reported values. A circle may be outside its bar if the method is biased. ``axes``
    are matplotlib axes to draw the ``estimate`` into.

    >>> found = bs.randomized_response(3, epsilon=2).estimate(counts=[520, 290, 190])
    >>> figure = bs.plot.estimate(found)
    >>> figure.axes[0].get_xlabel()
    'proportion'
    """
    if not isinstance(estimate, Estimate):
        raise RefusedType("estimate", "be an estimate", type(estimate).__name__)
    cells = len(estimate.frequencies)
    if cells > _CELLS:
        raise Refused("estimate", f"have at most {_CELLS} cells to be drawn", cells)
    _, rows = estimate._rows(most=cells)
    columns = max(1, len(estimate.axes))
    names = [", ".join(row[:columns]) for row in rows]
    (ax,) = _axes_for(axes, 7.0, 1.6 + 0.32 * cells)
    label = f"estimated ({estimate.method})"
    ax.hlines(range(cells), *estimate.interval().T, color=COLOURS[0], linewidth=2,
              label="95% interval")  # fmt: skip
    ax.plot(estimate.frequencies, range(cells), "o", color=COLOURS[0], label=label)
    # The first cell is at the top.
    ax.set_yticks(range(cells), names)
    ax.set_ylim(cells - 0.5, -0.5)
    ax.set_xlabel("proportion")
    ax.plot(estimate.reports, range(cells), "x", color=COLOURS[1], markersize=7, label="reported")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.08), ncols=3, frameon=False,
              fontsize="small")  # fmt: skip
    return _finished(ax, estimate._title(), grid="x", left=False)


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

    The numbers come from :func:`bistochastic.tradeoff`, which explains ``size``, ``families``,
    ``betas`` and ``records``. ``against`` picks the panels: ``"truthfulness"``, ``"epsilon"``,
    ``"standard_error"``, ``"expected_cost"`` for ordered categories. Points are at the stated beta.

    An infinite epsilon is drawn at the top edge. If a family cannot reach some beta, the legend
    says its largest. A singular matrix leaves a gap among the standard errors, whose dotted line is
    the error without any protection. ``axes`` are as many matplotlib axes as panels.

    >>> figure = bs.plot.tradeoff(12, betas=[0.3, 0.6, 0.9])
    >>> for axes in figure.axes:
    ...     print(axes.get_title(loc="left"))
    truthful probability: high is useful
    epsilon: low is safe
    standard error: low is useful
    mean distance in steps: low is useful
    """
    panels = names_of("against", against, _PANELS)
    columns = len(panels) if len(panels) < 4 else 2
    rows = -(-len(panels) // columns)
    width = 3.1 * max(columns, 1.5) * (1 if rows == 1 else 1.2)
    all_axes = _axes_for(axes, width, 0.7 + 3.0 * rows, panels=len(panels), columns=columns)
    figure = _figure_of(all_axes[0])
    curves: dict[str, list[Point]] = {}
    for point in points_of(size, families=families, betas=betas, records=records):
        curves.setdefault(point.family, []).append(point)
    for ax, name in zip(all_axes, panels, strict=True):
        # Labels of a caller's own are left as they are.
        _panel(ax, name, curves, own=hasattr(families, "items"))
        if name == "standard_error":
            error = math.sqrt(size - 1) / (size * math.sqrt(records))
            ax.axhline(error, color=_QUIET, linestyle=":", linewidth=1.2, label="_unprotected")
            words = f"of a proportion of 1/{size:,}\nfrom {records:,} records"
            ax.text(0.03, 0.97, words, transform=ax.transAxes, fontsize="small", va="top",
                    color=_QUIET)  # fmt: skip
    if axes is None:
        handles, lines = all_axes[0].get_legend_handles_labels()
        figure.legend(handles, lines, loc="outside lower center", ncols=min(2, len(lines)),
                      frameon=False, fontsize="small")  # fmt: skip
        figure.suptitle(f"{size:,} categories, at equal beta", x=0.01, ha="left", fontsize="medium")
    else:
        all_axes[-1].legend(fontsize="small", edgecolor="none")
    return figure


def _panel(ax: Axes, name: str, curves: Mapping[str, Sequence[Point]], *, own: bool) -> None:
    log = name in ("epsilon", "standard_error")
    if log:
        ax.set_yscale("log")
    for i, (family, every) in enumerate(curves.items()):
        label = family if own else family.replace("k_", "k-").replace("_", " ")
        ends = next((point.most for point in every if point.most is not None), None)
        if ends is not None:
            label += f" (beta to {down(ends, _DIGITS)})"
        pairs = [(p.beta, getattr(p, name)) for p in every if p.beta is not None]
        # Between the steps of a family there is nothing, so no line that says there were.
        stepped = len({beta for beta, _ in pairs}) < len(pairs)
        look: dict[str, Any] = {
            "color": COLOURS[i % len(COLOURS)],
            "marker": _MARKERS[i % len(_MARKERS)],
            "linestyle": "none" if stepped else _STYLES[i % len(_STYLES)],
            "markersize": 4.5,
            "linewidth": 1.4,
            # Markers on an edge are drawn whole, and need no room in the layout.
            "clip_on": False,
            "in_layout": False,
        }
        on = [math.nan if y in (None, math.inf) or (log and not y) else y for _, y in pairs]
        ax.plot([beta for beta, _ in pairs], on, label=label, **look)
        if far := [beta for beta, y in pairs if y == math.inf]:
            ax.plot(far, [1.0] * len(far), label="_far", transform=ax.get_xaxis_transform(), **look)
            ax.text(0.03, 0.03, "at the top: infinite", transform=ax.transAxes, fontsize="small",
                    color=_QUIET)  # fmt: skip
    ax.set_xlim(0, 1)
    if not log:
        ax.set_ylim(0, 1 if name == "truthfulness" else None)
    ax.set_xlabel("beta")
    _finished(ax, _PANELS[name], grid="both")


def _axes_for(
    axes: object, width: float, height: float, *, panels: int = 1, columns: int = 1
) -> list[Axes]:
    """List a caller's axes, or those of a new figure, row by row, which pyplot does not know."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        must = "`plot` must find matplotlib; got none: install bistochastic[plot]"
        raise ImportError(must) from None
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if axes is None:
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        made = list(figure.subplots(-(-panels // columns), columns, squeeze=False).flat)
        for spare in made[panels:]:
            spare.remove()
        return made[:panels]
    listed = list(np.ravel(np.asarray(axes, dtype=object)))
    if len(listed) != panels or not all(isinstance(one, Axes) for one in listed):
        raise RefusedType("axes", f"be matplotlib axes, {panels} in number", type(axes).__name__)
    return listed


def _finished(ax: Axes, words: str, *, grid: Literal["x", "both"], left: bool = True) -> Figure:
    """Draw a title, a quiet grid behind the numbers and no frame; return the figure."""
    ax.set_title(words, loc="left", fontsize="medium")
    ax.grid(axis=grid, color="#dddddd", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", *([] if left else ["left"])]].set_visible(False)
    if not left:
        ax.tick_params(axis="y", length=0)
    return _figure_of(ax)


def _figure_of(ax: Axes) -> Figure:
    return cast("Figure", ax.figure)
