"""A profile as bars on one scale from 0 to 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bistochastic.measures.profile import WORDS, shorten
from bistochastic.plot.canvas import DIGITS, QUIET, axes_for, plain, title

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bistochastic.matrix import Matrix
    from bistochastic.measures.profile import Entry, Profile

# Groups of bars: heading, colour and measures.
_GROUPS = (
    ("hidden from an attacker: long is safe", "#0072B2",
     ("beta", "worst_row", "worst_column", "remaining_uncertainty")),
    ("revealed to an attacker: short is safe", "#D55E00",
     ("mutual_information", "capacity", "max_leakage", "guessing_probability", "best_guess",
      "epsilon")),
    ("left to the analyst: long is useful", "#767676", ("truthfulness",)),
)  # fmt: skip
_IN_BITS = {"remaining_uncertainty", "mutual_information", "capacity", "max_leakage",
            "guaranteed_max_leakage"}  # fmt: skip
_ERRS = {-1: "at least ", 0: "about ", 1: "at most "}


def profile(profile: Profile, *, axes: object = None) -> Figure:
    """Draw the profile of a matrix as bars from 0 to 1; returns the matplotlib figure.

    There are three groups of bars:

    * what is hidden from an attacker: beta, also of the least protected category and of the most
      revealing reported value
    * what is revealed: mutual information, capacity and maximal leakage as parts of ``log2 size``;
      the best guess; and epsilon
    * what is left to the analyst: the truthful probability

    The bar of epsilon is the surest choice between two true values that were equally likely before:
    ``1 / (1 + exp(-epsilon))``, from 1/2 to 1. The number next to it is epsilon.

    A mark on maximal leakage shows the most that beta allows. Dotted marks show what can be guessed
    without a reported value. Bounds are hatched. A measure that was not computed says so.

    If the profile has a ``prior``, two more bars follow: the best guess under the prior, and the
    remaining uncertainty as a part of the prior's entropy.

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
    bars = sum(name in known for _, _, group in _GROUPS for name in group)
    (ax,) = axes_for(axes, 8.0, 1.9 + 0.33 * bars)
    from matplotlib.patches import Patch

    matrix = profile.matrix
    y = 0.0
    places: dict[str, float] = {}
    for heading, colour, group in _GROUPS:
        ax.text(0.0, y, heading, fontsize="small", color=QUIET, va="center", style="italic")
        for name in group:
            if name in known:
                y += 1
                _bar(ax, y, known[name], colour, matrix)
                places[name] = y
        y += 1.2
    if known["max_leakage"].value is not None:
        most = _share(known["guaranteed_max_leakage"], matrix)
        _mark(ax, most, places["max_leakage"], "most that beta allows")
    # Between two equally likely true values, and by the prior only.
    blind = {"epsilon": 0.5} | {
        name: entry.before
        for name in ("guessing_probability", "best_guess")
        if (entry := known.get(name)) and entry.value is not None and entry.before is not None
    }
    for i, (name, guess) in enumerate(blind.items()):
        # One line of the legend is enough for all of them.
        _mark(ax, guess, places[name], "_blind" if i else "guess without a reported value", ":")
    ax.set_yticks(list(places.values()), [known[name].words.split(", bits")[0] for name in places])
    ax.set_ylim(y - 0.6, -0.6)
    ax.set_xlim(0, 1)
    handles: list[Artist] = [x for x in ax.lines if not str(x.get_label()).startswith("_")]
    if any(known[name].status == "bound" for name in places):
        handles.append(Patch(facecolor="white", edgecolor=QUIET, hatch="////",
                             label="hatched: a bound"))  # fmt: skip
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=3,
              frameon=False, fontsize="small")  # fmt: skip
    return plain(ax, title(matrix), grid="x", left=False)


def _most(entry: Entry, matrix: Matrix) -> float:
    """Return the largest possible number of bits: of the prior, or of as many categories."""
    return matrix.max_bits if entry.before is None else entry.before


def _share(entry: Entry, matrix: Matrix) -> float:
    """Put a measure on the scale from 0 to 1; bits as a fraction of the largest number possible."""
    value = float(entry.value or 0.0)
    if entry.name in _IN_BITS:
        most = _most(entry, matrix)
        value = value / most if most > 0 else 0.0
    if entry.name == "epsilon":
        value = 1 / (1 + math.exp(-value))
    return min(1.0, max(0.0, value))


def _bar(ax: Axes, y: float, entry: Entry, colour: str, matrix: Matrix) -> None:
    """Draw one bar, its number on the right; hatched if it is a bound, words without a number."""
    if entry.value is None:
        text = f"not computed: {entry.note}"
        ax.text(0.01, y, text, fontsize="small", color=QUIET, va="center")
        return
    bound = entry.status == "bound"
    ax.barh(y, _share(entry, matrix), height=0.66, facecolor="white" if bound else colour,
            edgecolor=colour, hatch="////" if bound else None, label=entry.name)  # fmt: skip
    text = "infinite" if entry.value == math.inf else shorten(entry, DIGITS)
    text = _ERRS[WORDS[entry.name][1]] * bound + text
    if entry.name in _IN_BITS:
        text += f" of {_most(entry, matrix):.{DIGITS}g} bits"
    ax.text(1.02, y, text, fontsize="small", va="center", transform=ax.get_yaxis_transform())


def _mark(ax: Axes, x: float, y: float, label: str, style: str = "-") -> None:
    """Draw a line across a bar, wider than the bar, with a white rim to be visible everywhere."""
    from matplotlib.patheffects import withStroke

    rim = [withStroke(linewidth=4.5, foreground="white")]
    ax.plot(
        [x, x], [y - 0.45, y + 0.45], color="black", linewidth=2, linestyle=style,
        label=label, path_effects=rim, clip_on=False, solid_capstyle="butt",
    )  # fmt: skip
