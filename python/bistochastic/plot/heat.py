"""A matrix as colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bistochastic.arguments import items
from bistochastic.markup.pictures import LARGEST, cell_text
from bistochastic.matrix import Matrix
from bistochastic.plot.canvas import QUIET, axes_for, figure_of, title

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage


# The largest matrix that is drawn, and the most cells per side.
_MOST = 4096
_CELLS = 1024
# Up to this many categories every code is on the axes, and every number in its cell.
_FEW = 12
# Two digits are as wide as 1.9 letters are high; numbers below 5 points cannot be read.
_WIDTH = 1.9
_POINTS = (5.0, 8.3)
# The most names that are written along an axis.
_LABELLED = 30


def heatmap(
    matrix: Matrix, *, scale: str = "linear", categories: object = None, axes: object = None
) -> Figure:
    """Draw the probabilities of a matrix as colours: true categories down, reported ones across.

    White means a probability of exactly 0: the reported value rules out the true one.

    * ``scale`` is ``"linear"`` or ``"log"``. A logarithmic scale distinguishes small entries, but
      blurs a matrix that is mostly truthful. All entries below a millionth of the largest share its
      lightest colour.
    * ``categories`` are their names, in the order of their codes. With more than 30 categories only
      some are shown.
    * ``axes`` are matplotlib axes to draw into. Without them a figure is made.

    Numbers are written into the cells if they can be read: up to 32 categories in a figure of its
    own. Above 12 categories cells below 0.005 stay empty. Above 1024 a cell is the mean of a square
    of neighbours, white if all are 0, and the colour bar says so. At most 4096 categories are
    accepted.

    >>> import bistochastic as bs
    >>> figure = bs.plot.heatmap(bs.geometric(12, beta=0.6))
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('reported', 'true')
    >>> bs.plot.heatmap(bs.uniform(5000))
    Traceback (most recent call last):
        ...
    ValueError: `matrix` must have at most 4096 categories for a heat map; got 5000
    """
    if not isinstance(matrix, Matrix):
        raise TypeError(f"`matrix` must be a matrix; got {type(matrix).__name__}")
    n = matrix.size
    if n > _MOST:
        must = f"`matrix` must have at most {_MOST} categories for a heat map"
        raise ValueError(f"{must}; got {n}")
    if not isinstance(scale, str) or scale not in ("linear", "log"):
        got = repr(scale) if isinstance(scale, str) else type(scale).__name__
        raise ValueError(f'`scale` must be "linear" or "log"; got {got}')
    names: list[str] | None = None
    if categories is not None:
        must = f"hold {n} names, one for each category"
        if isinstance(categories, str):
            raise TypeError(f"`categories` must {must}; got str")
        names = [str(each) for each in items("categories", must, categories)]
        if len(names) != n:
            raise ValueError(f"`categories` must {must}; got {len(names)}")
    side = 5.6 + max(0, min(n, LARGEST) - _FEW) * 0.17
    (ax,) = axes_for(axes, side + 0.8, side)
    import matplotlib as mpl
    import numpy as np
    from matplotlib.colors import ListedColormap, LogNorm, Normalize
    from matplotlib.ticker import MaxNLocator

    dense = matrix.to_dense()
    step = -(-n // _CELLS)
    if step > 1:
        starts = np.arange(0, n, step)
        widths = np.diff(np.append(starts, n))
        sums = np.add.reduceat(np.add.reduceat(dense, starts, axis=0), starts, axis=1)
        dense = sums / np.outer(widths, widths)
    positive = dense[dense > 0]
    least, most = float(positive.min()), float(positive.max())
    log = scale == "log"
    floor = max(least, most * 1e-6)
    norm: Normalize = LogNorm(min(floor, most / 10), most) if log else Normalize(0.0, most)
    # Blue without its palest fifth, so white is left for 0; dark is likely, in grey, too.
    blues = mpl.colormaps["Blues"](np.linspace(0.2, 1.0, 256))
    colours = ListedColormap(blues).with_extremes(bad="white")
    # On a linear scale, too, an entry of 0 differs from a small one.
    shown = np.ma.masked_equal(dense, 0.0)
    if log:
        shown = np.ma.maximum(shown, floor)
    # Cells are centred on their codes, and the last square may hold fewer of them.
    end = len(dense) * step - 0.5
    image = ax.imshow(shown, cmap=colours, norm=norm, interpolation="nearest",
                      extent=(-0.5, end, end, -0.5))  # fmt: skip
    ax.set_xlim(-0.5, n - 0.5)
    ax.set_ylim(n - 0.5, -0.5)
    # Next to the image and as high, whatever the layout.
    bar = figure_of(ax).colorbar(image, cax=ax.inset_axes((1.03, 0.0, 0.04, 1.0)),
                                 extend="min" if log and least < floor else "neither"
                                 )  # fmt: skip
    words = "probability" if step == 1 else f"probability, mean of {step} x {step}"
    white = "; white: never" if len(positive) < dense.size else ""
    bar.set_label(words + (", logarithmic" if log else "") + white)
    if n <= LARGEST:
        _write_numbers(ax, dense, image)
    if names is not None:
        every = -(-n // _LABELLED)
        # Long names would run into each other below the picture.
        upright = 90 if max(map(len, names)) > 3 else 0
        ax.set_xticks(range(0, n, every), names[::every], rotation=upright, fontsize="small")
        ax.set_yticks(range(0, n, every), names[::every], fontsize="small")
    for axis in (ax.xaxis, ax.yaxis) if names is None else ():
        bins = _FEW if n <= _FEW else 8
        axis.set_major_locator(MaxNLocator(integer=True, nbins=bins, min_n_ticks=1))
    ax.set_xlabel("reported")
    ax.set_ylabel("true")
    # The colour bar says what infinite means, so the title need not.
    ax.set_title(title(matrix).split(":")[0], loc="left", fontsize="medium")
    return figure_of(ax)


def _write_numbers(ax: Axes, dense: np.ndarray, image: AxesImage) -> None:
    """Write two decimals in every cell, dark on light and light on dark, if they fit."""
    box = ax.get_window_extent()
    points = 72 / figure_of(ax).dpi * min(box.width, box.height) / len(dense) / _WIDTH
    if points < _POINTS[0]:
        return
    for u, row in enumerate(dense.tolist()):
        for v, p in enumerate(row):
            if p < 0.005 and len(dense) > _FEW:
                continue
            red, green, blue, _ = image.cmap(image.norm(p)) if p > 0 else (1, 1, 1, 1)
            light = 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5
            colour = QUIET if p == 0 else "black" if light else "white"
            ax.text(v, u, cell_text(p, _FEW), ha="center", va="center", color=colour,
                    fontsize=min(points, _POINTS[1]))  # fmt: skip
