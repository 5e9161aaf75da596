"""Estimates as points with error bars, beside reported proportions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bistochastic.plot.canvas import QUIET, axes_for, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bistochastic.estimate import Estimate

# Points beyond which a picture could not be read.
_MOST = 200
_BLUE = "#0072B2"


def estimate(estimate: Estimate, *, axes: object = None) -> Figure:
    """Draw reported and estimated proportions with 95% intervals; returns the matplotlib figure.

    A circle is an estimated proportion, its bar the interval of the true proportion; a cross is the
    proportion of reported values. A circle may be outside its bar if the method is biased.

    >>> import bistochastic as bs
    >>> found = bs.randomized_response(3, epsilon=2).estimate(counts=[520, 290, 190])
    >>> figure = bs.plot.estimate(found)
    >>> figure.axes[0].get_xlabel()
    'proportion'
    """
    from bistochastic.estimate import Estimate

    if not isinstance(estimate, Estimate):
        raise TypeError(f"`estimate` must be an estimate; got {type(estimate).__name__}")
    cells = len(estimate.frequencies)
    if cells > _MOST:
        must = f"`estimate` must have at most {_MOST} cells to be drawn"
        raise ValueError(f"{must}; got {cells}")
    _, rows = estimate._rows(most=cells)
    columns = max(1, len(estimate.axes))
    names = [", ".join(row[:columns]) for row in rows]
    (ax,) = axes_for(axes, 7.0, 1.6 + 0.32 * cells)
    label = f"estimated ({estimate.method})"
    ax.hlines(range(cells), *estimate.interval().T, color=_BLUE, linewidth=2, label="95% interval")
    ax.plot(estimate.frequencies, range(cells), "o", color=_BLUE, label=label)
    # The first cell is at the top.
    ax.set_yticks(range(cells), names)
    ax.set_ylim(cells - 0.5, -0.5)
    ax.set_xlabel("proportion")
    ax.plot(estimate.reports, range(cells), "x", color="#D55E00", markersize=7, label="reported")
    if estimate._is_quick and (notes := estimate._remarks()):
        ax.text(0, -0.16, "\n".join(notes), fontsize="small", color=QUIET, va="top",
                transform=ax.transAxes)  # fmt: skip
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.08), ncols=3, frameon=False,
              fontsize="small")  # fmt: skip
    return plain(ax, estimate._title(), grid="x", left=False)
