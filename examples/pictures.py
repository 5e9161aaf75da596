"""Draw the pictures of the documentation: ``python examples/pictures.py [folder]``."""

from __future__ import annotations

import contextlib
import io
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image  # comes with matplotlib

import bistochastic as bs
import bistochastic_survey as sv


def start() -> Figure:
    """Draw what README begins with: a matrix, and the proportions that come back."""
    figure = Figure(figsize=(9.5, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.6))
    names = ["1st", "2nd", "3rd", "crew"]
    m = bs.randomized_response(4, epsilon=1)
    bs.plot.heatmap(m, categories=names, axes=left)
    people = np.array([names.index(each) for each in sv.titanic()["class"]])
    # A key that anyone can guess, and the picture stays the same.
    reported = m.randomize(people, key=bs.Key.insecure(1), stream="class", start=0)
    bs.plot.estimate(m.estimate(reported, categories=names), axes=right)
    true = np.bincount(people) / len(people)
    right.scatter(true, range(4), marker="|", s=500, color="black", label="true", zorder=5)
    right.set_xlim(0, 0.65)
    right.legend(loc="upper right", markerscale=0.6)
    return figure


def most_beta(epsilon: float, size: int) -> float:
    """Give the largest beta of all matrices with at least this epsilon."""
    factor = math.exp(epsilon)

    def bits(x: float) -> float:
        """Entropy of a row with one entry ``x`` and the others equal."""
        other = (1 - x) / (size - 1)
        return -sum(n * p * math.log2(p) for n, p in ((1, x), (size - 1, other)) if p > 0)

    # One column has the entries low and factor * low, and equal ones in the other rows.
    lows = np.linspace(0, 1 / (1 + factor), 4001)
    ends = [(low, factor * low, (1 - (1 + factor) * low) / (size - 2)) for low in lows]
    return (
        max(bits(a) + bits(b) + (size - 2) * bits(c) for a, b, c in ends) / size / math.log2(size)
    )


def region() -> Figure:
    """Draw which epsilon and beta matrices of 12 categories can have, and what families have."""
    size, epsilons = 12, np.linspace(0.02, 8, 200)
    figure = Figure(figsize=(8, 4.4), layout="constrained")
    axes = figure.subplots()
    least = [bs.measures.least_beta(epsilon, size) for epsilon in epsilons]
    most = [most_beta(epsilon, size) for epsilon in epsilons]
    axes.fill_between(epsilons, least, most, color="#d9e8f2", label="what a matrix can have")
    simple = [math.log2((size - 1 + math.exp(e)) / math.exp(e)) / math.log2(size) for e in epsilons]
    axes.plot(epsilons, simple, ":", color="#555555", label="the simple floor")
    response = [bs.randomized_response(size, epsilon=epsilon).beta for epsilon in epsilons]
    axes.plot(epsilons, response, color="#0072B2", label="randomized response: most true values")
    scale = np.arange(size)
    cost, betas = abs(scale[:, None] - scale), np.arange(0.1, 1, 0.1)
    near = [bs.optimal(cost, beta=beta) for beta in betas]
    shown = [m for m in near if m.epsilon <= 8]
    axes.plot([m.epsilon for m in shown], [m.beta for m in shown], "s", color="#D55E00",
              label="optimal at a beta: nearest values")  # fmt: skip
    both = [bs.optimal(cost, epsilon=epsilon, beta=0.7) for epsilon in (3, 4, 5, 6)]
    axes.plot([m.epsilon for m in both], [m.beta for m in both], "^", color="#009E73",
              label="optimal at both: nearest values")  # fmt: skip
    axes.set(
        xlabel="epsilon, the worst case", ylabel="beta, an average", xlim=(0, 8), ylim=(0, 1.02)
    )
    axes.set_title("12 categories", loc="left")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def choices(size: int, records: int) -> Figure:
    """Draw which family is best at each epsilon and at each beta: a dot marks it."""
    makers: dict[str, Callable[..., bs.Matrix]] = {
        "randomized response": bs.randomized_response,
        "geometric": bs.geometric,
        "difference set": bs.difference_set,
        "tridiagonal": bs.tridiagonal,
    }
    looks = dict(
        zip(makers, zip(bs.plot.COLOURS, ("-", "--", "-.", ":"), strict=False), strict=True)
    )

    def error(m: bs.Matrix) -> float | None:
        return None if m.is_singular else bs.estimate.mean_standard_error(m, records)

    epsilons, betas = np.arange(1, 25) / 4, np.arange(1, 20) / 20
    distance = bs.measures.mean_distance
    panels: list[tuple[str, str, np.ndarray, str, Callable[[bs.Matrix], float | None]]] = [
        ("mean distance by epsilon", "epsilon", epsilons, "tridiagonal", distance),
        ("mean distance by beta", "beta", betas, "difference set", distance),
        ("standard error by epsilon", "epsilon", epsilons, "tridiagonal", error),
    ]
    figure = Figure(figsize=(11, 3.9), layout="constrained")
    for ax, (title, x, at, without, measure) in zip(figure.subplots(1, 3), panels, strict=True):
        best: dict[float, tuple[float, str]] = {}
        # Wide lines below narrow ones, so lines that coincide stay visible.
        widths = iter((5.0, 2.8, 1.2))
        for family, make in makers.items():
            found = []
            for number in at.tolist() if family != without else []:
                with contextlib.suppress(bs.errors.OutOfReachError):
                    value = measure(make(size=size, **{x: number}))
                    found += [(number, value)] if value is not None else []
            for number, value in found:
                if value < best.get(number, (math.inf, ""))[0] * (1 - 1e-9):
                    best[number] = value, family
            if found:
                colour, style = looks[family]
                ax.plot(*zip(*found, strict=True), style, color=colour, label=family,
                        linewidth=next(widths))  # fmt: skip
        for number, (value, family) in best.items():
            ax.plot(number, value, "o", color=looks[family][0], markersize=4.5,
                    markeredgecolor="white", zorder=9)  # fmt: skip
        ax.set_title(title, loc="left", fontsize="medium")
        ax.set(xlabel=x, yscale="log" if measure is error else "linear")
        ax.set_ylabel("" if measure is error else "steps")
        ax.legend(fontsize="small", frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="#dddddd", linewidth=0.8)
    words = f"{size:,} categories; errors from {records:,} records; a dot marks the best family"
    figure.suptitle(words, x=0.01, ha="left", fontsize="medium")
    return figure


def main(folder: Path) -> None:
    """Write all pictures into the folder."""
    figures = {
        "start": start(),
        "region": region(),
        "tradeoff": bs.plot.tradeoff(12),
        "choices": choices(200, 100_000),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        drawn = io.BytesIO()
        figure.savefig(drawn, dpi=180)
        # 64 colours are enough, and the file is a third as large.
        image = Image.open(drawn).convert("RGB").quantize(64)
        image.save(folder / f"{name}.png", optimize=True)


if __name__ == "__main__":
    here = Path(__file__).resolve().parent.parent / "docs" / "pictures"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else here)
