"""Table 1: twelve betas as printed, as their text implies, and the reading that gives the print."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from bistochastic import families
from bistochastic.paper.section import Section

if TYPE_CHECKING:
    from collections.abc import Callable

    from bistochastic.matrix import Matrix

SIZE = 12


class Cell(NamedTuple):
    """One cell of Table 1: what is printed, what the text implies, and what gives the print."""

    family: str
    parameter: str
    printed: int
    """In per cent, as printed."""
    implied: float
    """Beta of the matrix that the text describes."""
    reading: str
    """What reproduces the print where the text does not; else empty."""
    read: float
    """The number of that reading."""

    @property
    def agrees(self) -> bool:
        """Whether the print is the text's number, rounded."""
        return round(100 * self.implied) == self.printed


def _short_of_one(keep: float) -> float:
    """Beta's formula on ``keep`` and 11 entries of ``(1 - keep)/12``, which do not sum to 1."""
    import numpy as np

    from bistochastic.paper import reference

    row = np.full(SIZE, (1 - keep) / SIZE)
    row[0] = keep
    return reference.beta(reference.circulant(row))


def _lies_equal(keep: float) -> Matrix:
    return families.circulant([keep] + [(1 - keep) / (SIZE - 1)] * (SIZE - 1))


def table1() -> list[Cell]:
    """The twelve cells of Table 1, in the paper's order.

    >>> [cell.agrees for cell in table1()].count(False)
    5
    """

    def row(
        family: str,
        printed: tuple[int, int, int],
        parameters: dict[str, Matrix],
        readings: dict[str, tuple[str, float]],
    ) -> list[Cell]:
        return [
            Cell(family, name, cell, matrix.beta, *readings.get(name, ("", matrix.beta)))
            for (name, matrix), cell in zip(parameters.items(), printed, strict=True)
        ]

    def by(function: Callable[[float], Matrix], name: str, *values: float) -> dict[str, Matrix]:
        return {f"{name} = {value:g}": function(value) for value in values}

    def sums(keep: float) -> tuple[str, float]:
        total = keep + (SIZE - 1) * (1 - keep) / SIZE
        return (f"off-diagonals (1-p)/12, rows sum to {total:.4f}", _short_of_one(keep))

    def tridiagonal(alpha: float) -> Matrix:
        return families.tridiagonal(alpha, size=SIZE)

    return [
        *row(
            "differential privacy",
            (17, 60, 97),
            by(lambda e: families.randomized_response(SIZE, epsilon=e), "epsilon", 5, 3, 1),
            {},
        ),
        *row(
            "k-anonymity",
            (28, 56, 72),
            by(lambda k: families.k_anonymous(SIZE, k=int(k)), "k", 2, 3, 6),
            {"k = 3": ("k = 4", families.k_anonymous(SIZE, k=4).beta)},
        ),
        *row(
            "tridiagonal",
            (24, 35, 40),
            by(tridiagonal, "alpha", 0.1, 0.3, 0.4),
            {"alpha = 0.3": ("alpha = 0.2", tridiagonal(0.2).beta)},
        ),
        *row(
            "circulant",
            (21, 63, 93),
            by(_lies_equal, "p11", 0.9, 0.6, 0.2),
            {f"p11 = {p:g}": sums(p) for p in (0.9, 0.6, 0.2)},
        ),
    ]


def peak_alpha(size: int = SIZE) -> float:
    """The one alpha at which a tridiagonal matrix of a size has the most entropy.

    The two end rows hold alpha once and the others twice, so the derivative of the entropy is
    ``2 log((1-a)/a) + 2 (size-2) log((1-2a)/a)`` up to a factor: it falls from a = 1/3 on.

    >>> round(peak_alpha(3), 3)
    0.382
    """
    low, high = 1 / 3, 1 / 2
    for _ in range(60):
        alpha = (low + high) / 2
        slope = math.log((1 - alpha) / alpha) + (size - 2) * math.log((1 - 2 * alpha) / alpha)
        low, high = (alpha, high) if slope > 0 else (low, alpha)
    return low


def table1_section() -> Section:
    """Table 1 with its corrections."""
    cells = table1()
    wrong = sum(not cell.agrees for cell in cells)
    epsilons = [_lies_equal(keep).epsilon for keep in (0.9, 0.6, 0.2)]
    peak = peak_alpha()
    return Section(
        "Table 1: betas at size 12",
        (f"{wrong} of its {len(cells)} cells do not follow from the text.",),
        ("family", "parameter", "printed", "from its text", "another reading", "namely"),
        tuple(
            (
                cell.family,
                cell.parameter,
                f"{cell.printed} %",
                f"{100 * cell.implied:.3f} %",
                "" if cell.agrees else f"{100 * cell.read:.3f} %",
                "" if cell.agrees else cell.reading,
            )
            for cell in cells
        ),
        (
            "The circulant rows have equal lies, so they are Expression (2) with epsilon "
            + ", ".join(f"{epsilon:.3f}" for epsilon in epsilons)
            + ": they do not resemble differential privacy, they are it.",
            f"With one alpha the tridiagonal entropy peaks at alpha = {peak:.4f}, with beta "
            f"{100 * families.tridiagonal(peak, size=SIZE).beta:.3f} %, so alpha = 0.4 has less "
            "entropy than 0.3, though the parameters are said to go towards more.",
        ),
    )
