"""A profile as bars on one scale from 0 to 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bistochastic.measures.profile import shortened
from bistochastic.plot.canvas import DIGITS, QUIET, figure_of, given_axes, new_figure, title

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bistochastic.matrix import Matrix
    from bistochastic.measures.profile import Entry, Profile

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
            ("epsilon", "epsilon, as a choice of two", "at most"),
        ),
    ),
    (
        "left to the analyst: long is useful",
        "#767676",
        (("truthfulness", "truthfulness", "about"),),
    ),
)
_IN_BITS = {
    "remaining_uncertainty",
    "mutual_information",
    "capacity",
    "max_leakage",
    "guaranteed_max_leakage",
}


def profile(profile: Profile, *, axes: object = None) -> Figure:
    """The profile of a matrix on one scale from 0 to 1, as bars; returns the matplotlib figure.

    There are three groups of bars:

    * what is hidden from an attacker: beta, and beta of the worst row and column
    * what is told: mutual information, capacity and maximal leakage as shares of ``log2 size``; the
      best guess; and epsilon
    * what is left to the analyst: truthfulness

    The bar of epsilon is the surest choice between two truths that were equally likely before the
    report: ``1 / (1 + exp(-epsilon))``, from 1/2 to 1. The number beside it is epsilon.

    A mark on maximal leakage shows the most that beta alone allows. Dotted marks show what can be
    guessed without a report. Bounds are hatched. What was not computed says so in place of its bar.

    If the profile has a ``prior``, two more bars follow: the best guess under the prior, and the
    uncertainty left as a share of the prior's entropy.

    Numbers have three digits, rounded so that privacy is never overstated. The profile has more.

    ``axes`` are matplotlib axes to draw into. Without them a figure is made.

    >>> import bistochastic as bs
    >>> figure = bs.plot.profile(bs.randomized_response(12, beta=0.6).profile())
    >>> len(figure.axes[0].patches), figure.axes[0].get_title(loc="left")
    (9, 'randomized response, 12 categories\\nbeta 0.6, epsilon 3.02')
    """
    from bistochastic.measures.profile import Profile

    if not isinstance(profile, Profile):
        raise TypeError(f"`profile` must be a profile; got {type(profile).__name__}")
    known = {entry.name: entry for entry in profile}
    bars = sum(name in known for _, _, group in _GROUPS for name, _, _ in group)
    if axes is None:
        _, (ax,) = new_figure(8.0, 1.9 + 0.33 * bars)
    else:
        (ax,) = given_axes(axes)
    matrix = profile.matrix
    y = 0.0
    places: dict[str, float] = {}
    names: list[str] = []
    for heading, colour, group in _GROUPS:
        ax.text(0.0, y, heading, fontsize="small", color=QUIET, va="center", style="italic")
        for name, words, errs in group:
            if name in known:
                y += 1
                _bar(ax, y, known[name], colour, errs, matrix)
                places[name] = y
                names.append(words)
        y += 1.2
    if known["max_leakage"].value is not None:
        most = _share(known["guaranteed_max_leakage"], matrix)
        _mark(ax, most, places["max_leakage"], "most that beta alone allows")
    for i, (name, blind) in enumerate(_blind(known).items()):
        # One line of the legend is enough for all of them.
        label = "_blind" if i else "guess without a report"
        _mark(ax, blind, places[name], label, style=":")
    ax.set_yticks(list(places.values()), names)
    ax.set_ylim(y - 0.6, -0.6)
    ax.set_xlim(0, 1)
    ax.set_title(title(matrix), loc="left", fontsize="medium")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="#dddddd", linewidth=0.8)
    ax.set_axisbelow(True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    _profile_legend(ax, bounds=any(known[name].status == "bound" for name in places))
    return figure_of(ax)


def _blind(known: Mapping[str, Entry]) -> dict[str, float]:
    """What is guessed without a report, for each measure that is a guess."""
    found = {
        name: entry.before
        for name in ("guessing_probability", "best_guess")
        if (entry := known.get(name)) and entry.value is not None and entry.before is not None
    }
    # Between two equally likely truths.
    return {**found, "epsilon": 0.5}


def _most(entry: Entry, matrix: Matrix) -> float:
    """The most bits that there can be: those of the prior, or of as many categories."""
    return matrix.max_bits if entry.before is None else entry.before


def _share(entry: Entry, matrix: Matrix) -> float:
    """A measure on the scale from 0 to 1; bits as a share of the most there can be."""
    value = float(entry.value or 0.0)
    if entry.name in _IN_BITS:
        most = _most(entry, matrix)
        value = value / most if most > 0 else 0.0
    if entry.name == "epsilon":
        value = 1 / (1 + math.exp(-value))
    return min(1.0, max(0.0, value))


def _bar(ax: Axes, y: float, entry: Entry, colour: str, errs: str, matrix: Matrix) -> None:
    """One bar, its number on the right; hatched where it is a bound, words where there is none."""
    if entry.value is None:
        text = f"not computed: {entry.note}"
        ax.text(0.01, y, text, fontsize="small", color=QUIET, va="center")
        return
    bound = entry.status == "bound"
    look: dict[str, Any] = (
        {"facecolor": "white", "hatch": "////"} if bound else {"facecolor": colour}
    )
    ax.barh(y, _share(entry, matrix), height=0.66, edgecolor=colour, label=entry.name, **look)
    text = "infinite" if entry.value == math.inf else shortened(entry, DIGITS)
    if bound:
        text = f"{errs} {text}"
    if entry.name in _IN_BITS:
        text += f" of {_most(entry, matrix):.{DIGITS}g} bits"
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
        handles.append(Patch(facecolor="white", edgecolor=QUIET, hatch="////"))
        labels.append("hatched: a bound")
    if handles:
        ax.legend(
            handles, labels, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=3,
            frameon=False, fontsize="small",
        )  # fmt: skip
