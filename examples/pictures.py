"""Draw the pictures of the documentation: ``python examples/pictures.py [folder]``."""

from __future__ import annotations

import io
import math
import sys
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


def main(folder: Path) -> None:
    """Write all pictures into the folder."""
    figures = {
        "start": start(),
        "region": region(),
        "tradeoff": bs.plot.tradeoff(12),
        "choices": bs.plot.choices(200, records=100_000),
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
