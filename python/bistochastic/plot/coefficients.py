"""Coefficients of a regression as points with error bars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bistochastic.plot.canvas import figure_of, given_axes, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bistochastic.models.result import Regression

# Coefficients beyond which a picture could not be read.
_MOST = 200


def coefficients(found: Regression, *, axes: object = None) -> Figure:
    """Draw coefficients with intervals of 95%, without the intercept; return the figure."""
    shown = [i for i, name in enumerate(found.names) if not name.endswith("Intercept")]
    if not 0 < len(shown) <= _MOST:
        must = f"`plot` must be used with 1 to {_MOST} coefficients beside the intercept"
        raise ValueError(f"{must}; got {len(shown)}")
    if axes is None:
        _, (ax,) = new_figure(7.0, 1.6 + 0.32 * len(shown))
    else:
        (ax,) = given_axes(axes)
    places, bounds = np.arange(len(shown)), found.interval()[shown]
    ax.axvline(0, color="#999999", linewidth=0.8)
    ax.hlines(places, bounds[:, 0], bounds[:, 1], color="#0072B2", linewidth=2)
    ax.plot(found.coefficients[shown], places, "o", color="#0072B2")
    ax.set_yticks(places, [found.names[i] for i in shown])
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlabel("coefficient, with 95% interval")
    ax.set_title(found._facts()[0], loc="left", fontsize="medium")
    ax.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return figure_of(ax)
