"""Recover incomes from averages: ``python examples/averages_undone.py [folder]``.

A statistical office publishes ``y = P^T x``: averages of neighbouring incomes, in cents. The
matrix is public and nothing is random. Two attackers undo it:

- With an invertible matrix, anyone can solve the equations without knowing any income.
- With a singular matrix (alpha = 1/2, rank N - 1), the equations leave one number open. An attacker
  who knows one income can compute that number, and all other incomes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import bistochastic as bs

Array = NDArray[np.float64]


def incomes(records: int = 1000) -> Array:
    """Invent lognormal incomes, in cents."""
    return np.round(np.random.default_rng(7).lognormal(10, 0.7, records), 2)


def release(matrix: bs.Matrix, x: Array) -> Array:
    """Compute what the office publishes, rounded to cents."""
    return np.round(matrix.apply(x), 2)


def solve(matrix: bs.Matrix, y: Array) -> Array:
    """Recover the incomes from an invertible matrix, as anyone can."""
    return matrix.solve(y)


def solve_with_one_known(matrix: bs.Matrix, y: Array, known: int, income: float) -> Array:
    """Recover the incomes from a matrix of rank N - 1 and one known income."""
    p, known_too = matrix.to_dense().T, y.copy()
    # One equation follows from the others. The known income replaces it.
    p[known], known_too[known] = np.eye(len(y))[known], income
    return np.asarray(np.linalg.solve(p, known_too))


def main(folder: Path) -> None:
    """Print the errors of both attackers and draw what they recover."""
    from matplotlib.figure import Figure

    x = incomes()
    invertible = bs.tridiagonal(0.1, size=len(x))
    singular = bs.tridiagonal(0.5, size=len(x))
    known = 500
    attacks = [
        (
            "invertible: alpha = 0.1, nothing known",
            release(invertible, x),
            solve(invertible, release(invertible, x)),
        ),
        (
            f"singular: alpha = 1/2, only income {known} known",
            release(singular, x),
            solve_with_one_known(singular, release(singular, x), known, x[known]),
        ),
    ]
    figure = Figure(figsize=(11, 6), layout="constrained")
    axes = figure.subplots(2, 2)
    for (title, y, recovered), (before, after) in zip(attacks, axes, strict=True):
        worst = float(np.abs(recovered - x).max())
        print(f"{title}: every income within {worst:.2f}, median {np.median(x):,.0f}")
        for place, values, words in (
            (before, y, "released average"),
            (after, recovered, f"recovered income, at most {worst:.2f} off"),
        ):
            place.scatter(x, values, s=6, color="#1f6f8b", linewidths=0)
            place.plot([x.min(), x.max()], [x.min(), x.max()], color="#b0413e", linewidth=0.8)
            place.set(xscale="log", yscale="log", xlabel="income", ylabel=words)
        before.set_title(title, loc="left")
    figure.savefig(folder / "averages_undone.png", dpi=120)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
