"""Draw the pictures of the documentation: ``python examples/pictures.py [folder]``."""

from __future__ import annotations

import io
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
    # A key that anyone can guess, so that the picture stays the same.
    reported = m.randomize(people, key=bs.Key.insecure(1), stream="class", start=0)
    bs.plot.estimate(m.estimate(reported, categories=names), axes=right)
    true = np.bincount(people) / len(people)
    right.scatter(true, range(4), marker="|", s=500, color="black", label="true", zorder=5)
    right.set_xlim(0, 0.65)
    right.legend(loc="upper right")
    return figure


def main(folder: Path) -> None:
    """Write all pictures into the folder."""
    figures = {
        "start": start(),
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
