"""Shared by all pictures: new figures, a caller's axes, titles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from bistochastic.arguments import items
from bistochastic.words import down, spoken, up

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bistochastic.matrix import Matrix

# The colour of what is said next to the numbers.
QUIET = "#555555"
# How many digits a picture shows: the profile has all of them.
DIGITS = 3


def axes_for(
    axes: object, width: float, height: float, *, panels: int = 1, columns: int = 1
) -> list[Axes]:
    """List a caller's axes, as many as there are panels, or those of a new figure, row by row.

    Pyplot does not know the new figure.
    """
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
    must = f"be {'' if panels == 1 else f'{panels} '}matplotlib axes"
    grid = axes.ravel() if isinstance(axes, np.ndarray) else axes
    listed = [axes] if isinstance(axes, Axes) else items("axes", must, grid)
    if len(listed) != panels or not all(isinstance(one, Axes) for one in listed):
        got = f"{len(listed)} axes" if listed else type(axes).__name__
        raise TypeError(f"`axes` must {must}; got {got}")
    return listed


def plain(ax: Axes, words: str, *, grid: Literal["x", "both"], left: bool = True) -> Figure:
    """Draw a title, a quiet grid behind the numbers and no frame; return the figure of the axes."""
    ax.set_title(words, loc="left", fontsize="medium")
    ax.grid(axis=grid, color="#dddddd", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", *([] if left else ["left"])]].set_visible(False)
    if not left:
        ax.tick_params(axis="y", length=0)
    return figure_of(ax)


def title(matrix: Matrix) -> str:
    """Name family, size, beta and epsilon, in words and few digits, infinity spelled out."""
    lead, top = ("", "") if matrix.is_exact else ("at least ", "at most ")
    noun = "category" if matrix.size == 1 else "categories"
    if math.isinf(matrix.epsilon):
        epsilon = "epsilon infinite: some reported values rule out some true values"
    else:
        epsilon = f"epsilon {top}{up(matrix.epsilon, DIGITS)}"
    name = f"{spoken(matrix.family)}, {matrix.size:,} {noun}"
    return f"{name}\nbeta {lead}{down(matrix.beta, DIGITS)}, {epsilon}"


def figure_of(ax: Axes) -> Figure:
    """Return the figure that axes are in."""
    return cast("Figure", ax.figure)
