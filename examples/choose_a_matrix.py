"""Choose a matrix for an ordered scale: ``python examples/choose_a_matrix.py [folder]``.

Twelve ordered categories, e.g. income classes, need a beta of at least 0.6. The families that reach
it differ in four ways: how many reported values are true, how far a false value is from the true
one, how much a single reported value can reveal, and how accurate estimates are.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import bistochastic as bs

SIZE, BETA = 12, 0.6


def main(folder: Path) -> None:
    """Print the numbers and write the picture into the folder."""
    steps = abs(np.subtract.outer(np.arange(SIZE), np.arange(SIZE)))
    candidates = [
        bs.randomized_response(SIZE, beta=BETA),
        bs.geometric(SIZE, beta=BETA),
        bs.gibbs(steps, beta=BETA),
        bs.k_anonymous(SIZE, beta=BETA),
    ]
    print(f"{SIZE} ordered categories, beta at least {BETA}\n")
    print(bs.compare(*candidates), "\n")
    for m in candidates:
        # This raises an error unless the family reaches the beta.
        m.require(beta=BETA)
        walk = m.profile(cost="ordinal").expected_cost
        print(f"{m.family:20} reported values are off by {walk:.3f} steps on average")

    print("\nWithout an order, or if epsilon counts, use randomized response:\n")
    print(candidates[0].profile())
    print("\nIf a near miss is still useful, the geometric matrix has half the error:\n")
    print(candidates[1].profile(cost="ordinal"))

    families = {
        "randomized response": lambda size, beta: bs.randomized_response(size, beta=beta),
        "geometric": lambda size, beta: bs.geometric(size, beta=beta),
        "Gibbs, cost |u - v|": lambda size, beta: bs.gibbs(steps, beta=beta),
        "k-anonymous": lambda size, beta: bs.k_anonymous(size, beta=beta),
    }
    path = folder / "choose_a_matrix.png"
    bs.plot.tradeoff(SIZE, families=families).savefig(path, dpi=150)
    print(f"\nwrote {path.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
