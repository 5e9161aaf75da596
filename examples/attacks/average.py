"""Averages with a public matrix: anyone who can solve equations computes the incomes again.

Multiplying a column by a bistochastic matrix looks like blurring, and every published number is an
average. But the matrix is public and nothing is random. ``m.average`` refuses all matrices but
those of classes, which publish one mean per class; ``examples/averages_undone.py`` shows more.
"""

import numpy as np

import bistochastic as bs

incomes = np.round(np.random.default_rng(4).lognormal(10, 0.7, 1_000), 2)


def undone() -> float:
    """Return the largest error of the incomes that an attacker computes from the averages."""
    matrix = bs.tridiagonal(0.2, size=len(incomes))
    published = np.round(matrix.apply(incomes), 2)
    return float(np.abs(matrix.solve(published) - incomes).max())


def refused() -> str:
    """Return what is said instead of publishing them."""
    try:
        bs.tridiagonal(0.2, size=len(incomes)).average(incomes)
    except bs.errors.InvertibleReleaseError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    print(f"every income recovered within {undone():.2f}; the median is {np.median(incomes):,.0f}")
    print(f"m.average: {refused()}")
