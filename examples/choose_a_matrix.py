"""Which matrix for an ordered scale? ``python examples/choose_a_matrix.py [folder]``.

Twelve ordered answers (income classes, say) shall be hidden to 60 % of perfect secrecy. Families
that reach it differ in what they give for it: how many reports are true, how far a false one
strays, what a single report can prove, and how well shares can be estimated from many of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import bistochastic as bs

SIZE, BETA = 12, 0.6


def main(folder: Path) -> None:
    """Prints the numbers and writes the picture into the folder."""
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
        # Every family keeps what was asked for, or this raises.
        m.require(beta=BETA)
        walk = m.profile(cost="ordinal").expected_cost
        print(f"{m.family:20} a report is off by {walk:.3f} steps on average")

    print("\nWithout an order, or where epsilon counts, take randomized response:\n")
    print(candidates[0].profile())
    print("\nWhere a near miss is still of use, the geometric matrix errs by half as much:\n")
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
