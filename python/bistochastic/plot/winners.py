"""The best family by expected cost and by error, at each epsilon and beta."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bistochastic import _core, families
from bistochastic.choose.tradeoff import BETAS, makers, numbers, points
from bistochastic.plot.canvas import QUIET, figure_of, given_axes, new_figure, plain
from bistochastic.plot.curves import COLOURS, STYLES
from bistochastic.words import spoken

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bistochastic.choose.tradeoff import Make

_MOST = 4096
_EPSILONS = tuple(0.25 * step for step in range(1, 25))
_BY_EPSILON = ("randomized_response", "geometric", "difference_set")
_BY_BETA = ("randomized_response", "geometric", "tridiagonal")
# Wide lines below narrow ones, so lines that coincide stay visible.
_WIDTHS = (5.0, 2.8, 1.2)


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
    made: dict[str, Make] = {name: _at_epsilon(name) for name in _BY_EPSILON}
    asked = list(points(made, many, by_epsilon, count))
    kept = list(points(makers(_BY_BETA), many, by_beta, count))
    panels = (
        ("mean distance by epsilon", "epsilon", "expected_cost", asked),
        ("mean distance by beta", "beta", "expected_cost", kept),
        ("standard error by epsilon", "epsilon", "standard_error", asked),
    )
    if axes is None:
        figure, listed = new_figure(11.0, 3.9, columns=3)
    else:
        listed = given_axes(axes, len(panels))
    for ax, (title, x, y, some) in zip(listed, panels, strict=True):
        curves: dict[str, list[tuple[float, float]]] = {}
        for point in some:
            value = getattr(point, y)
            if value is not None:
                curves.setdefault(point.family, []).append((point.asked, value))
        _panel(ax, title, x, curves, logarithmic=y == "standard_error")
    if axes is None:
        words = f"{many:,} categories; errors from {count:,} records; a dot marks the best family"
        figure.suptitle(words, x=0.01, ha="left", fontsize="medium")
    return figure_of(listed[0])


def _at_epsilon(name: str) -> Make:
    return lambda size, epsilon: families.build(name, size=size, epsilon=epsilon)


def _panel(
    ax: Axes,
    title: str,
    x: str,
    curves: Mapping[str, Sequence[tuple[float, float]]],
    *,
    logarithmic: bool,
) -> None:
    best: dict[float, tuple[float, str]] = {}
    names = list(dict.fromkeys((*_BY_EPSILON, *_BY_BETA)))
    for place, (family, pairs) in enumerate(curves.items()):
        look = names.index(family)
        ax.plot(
            *zip(*pairs, strict=True), color=COLOURS[look], linewidth=_WIDTHS[place % len(_WIDTHS)],
            linestyle=STYLES[look] if place else "-", label=spoken(family), zorder=2 + place,
        )  # fmt: skip
        for at, value in pairs:
            # Of lines that coincide the first is marked.
            if value < best.get(at, (math.inf, ""))[0] * (1 - 1e-9):
                best[at] = value, family
    for at, (value, family) in best.items():
        ax.plot(at, value, "o", color=COLOURS[names.index(family)], markersize=4.5,
                markeredgecolor="white", zorder=9, label="_best")  # fmt: skip
    if logarithmic:
        ax.set_yscale("log")
    ax.set_title(title, loc="left", fontsize="medium")
    ax.set_xlabel(x)
    ax.set_ylabel("" if logarithmic else "steps", color=QUIET)
    plain(ax, grid="both")
    if curves:
        ax.legend(fontsize="small", frameon=False)
