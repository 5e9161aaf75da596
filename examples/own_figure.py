"""Draw into a matplotlib figure of your own: ``python examples/own_figure.py [folder]``."""

from __future__ import annotations

import sys
from pathlib import Path

from matplotlib.figure import Figure

import bistochastic as bs


def main(folder: Path) -> None:
    """Draw three matrices at the same beta, and below them their families at other betas."""
    figure = Figure(figsize=(11, 7.5), layout="constrained")
    places = figure.subplot_mosaic([["a", "b", "c"], ["epsilon", "error", "distance"]])
    bs.plot.heatmap(bs.randomized_response(24, beta=0.4), axes=places["a"])
    bs.plot.heatmap(bs.geometric(24, beta=0.4), axes=places["b"])
    bs.plot.heatmap(bs.k_anonymous(24, beta=0.4), axes=places["c"])
    below = [places[name] for name in ("epsilon", "error", "distance")]
    families = ["randomized_response", "geometric", "k_anonymous"]
    against = ["epsilon", "standard_error", "expected_cost"]
    bs.plot.tradeoff(24, families=families, against=against, axes=below)
    figure.savefig(folder / "own_figure.png", dpi=100)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
