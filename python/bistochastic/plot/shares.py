"""An estimate as points with error bars, beside what was reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bistochastic.plot.canvas import QUIET, figure_of, given_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bistochastic.estimate import Estimate

# Cells beyond which a picture could not be read.
_MOST = 200


def estimate(estimate: Estimate, *, axes: object = None) -> Figure:
    """Reported beside estimated shares, with error bars of 95 %; returns the matplotlib figure.

    A circle is an estimated share, its bar the interval of the original share; a cross is the share
    of the reports. A share may lie outside its bar if the method is biased.

    >>> import bistochastic as bs
    >>> found = bs.randomized_response(3, epsilon=2).estimate(counts=[520, 290, 190])
    >>> figure = bs.plot.estimate(found)
    >>> figure.axes[0].get_xlabel()
    'share'
    """
    from bistochastic.estimate import Estimate

    if not isinstance(estimate, Estimate):
        raise TypeError(f"`estimate` must be an estimate; got {type(estimate).__name__}")
    cells = len(estimate.frequencies)
    if cells > _MOST:
        must = f"`estimate` must have at most {_MOST} cells to be drawn"
        raise ValueError(f"{must}; got {cells}")
    if axes is None:
        _, (ax,) = new_figure(7.0, 1.6 + 0.32 * cells)
    else:
        (ax,) = given_axes(axes)
    _, rows = estimate._rows(most=cells)
    columns = max(1, len(estimate.axes))
    names = [", ".join(row[:columns]) for row in rows]
    places = np.arange(cells)
    bounds = estimate.interval()
    ax.hlines(places, bounds[:, 0], bounds[:, 1], color="#0072B2", linewidth=2, label="95 %")
    ax.plot(
        estimate.frequencies, places, "o", color="#0072B2", label=f"estimated ({estimate.method})"
    )
    ax.plot(estimate.reports, places, "x", color="#D55E00", markersize=7, label="reported")
    ax.set_yticks(places, names)
    ax.set_ylim(cells - 0.5, -0.5)
    ax.set_xlabel("share")
    ax.set_title(estimate._title(), loc="left", fontsize="medium")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="#dddddd", linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    if estimate._is_quick and (notes := estimate._remarks()):
        ax.text(
            0, -0.16, "\n".join(notes), fontsize="small", color=QUIET, va="top",
            transform=ax.transAxes,
        )  # fmt: skip
    ax.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.08), ncols=3, frameon=False, fontsize="small"
    )
    return figure_of(ax)
