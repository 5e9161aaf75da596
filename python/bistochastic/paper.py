"""The paper's tables, recomputed on the spot.

N. Ruiz and J. Domingo-Ferrer, "Bistochastic privacy", MDAI 2022.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bistochastic import families

if TYPE_CHECKING:
    from collections.abc import Callable

    from bistochastic._core import Matrix

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

    from bistochastic import reference

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


def report() -> str:
    """Table 1 as printed, as its text implies, and the reading that gives the print."""
    from bistochastic.report import table

    cells = table1()
    rows = [
        [
            cell.family,
            cell.parameter,
            f"{cell.printed} %",
            f"{100 * cell.implied:.3f} %",
            "" if cell.agrees else f"{100 * cell.read:.3f} %",
            "" if cell.agrees else cell.reading,
        ]
        for cell in cells
    ]
    wrong = sum(not cell.agrees for cell in cells)
    header = ["family", "parameter", "printed", "from its text", "another reading", "namely"]
    return (
        f"Table 1 (beta at size {SIZE}): {wrong} of its {len(cells)} cells do not follow from "
        f"the text.\n\n{table(header, rows)}\n\n"
        "The circulant rows have equal lies, so they are randomized response: they do not\n"
        "resemble differential privacy, they are it. With one alpha the tridiagonal entropy\n"
        "peaks at alpha = 0.3406, so 0.4 has less entropy than 0.3."
    )
