"""Section 2.2: differential privacy by randomized response, Expression (2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bistochastic import families
from bistochastic.paper.section import Section

if TYPE_CHECKING:
    from fractions import Fraction

    from bistochastic.matrix import Matrix


@dataclass(frozen=True)
class Decomposition:
    """A matrix as a mixture of permutations, Theorem 1."""

    what: str
    matrix: Matrix
    permutations: tuple[tuple[int, ...], ...]
    weights: tuple[Fraction, ...]

    @property
    def not_permuting(self) -> Fraction:
        """The weight of the identity."""
        from fractions import Fraction

        stay = tuple(range(self.matrix.size))
        pairs = zip(self.permutations, self.weights, strict=True)
        return sum((weight for targets, weight in pairs if targets == stay), Fraction(0))

    @property
    def is_exact(self) -> bool:
        """Whether the weighted permutations add up to the matrix, fraction by fraction."""
        from fractions import Fraction

        for u in range(self.matrix.size):
            row = [Fraction(0)] * self.matrix.size
            for targets, weight in zip(self.permutations, self.weights, strict=True):
                row[targets[u]] += weight
            if row != self.matrix.exact_row(u):
                return False
        return sum(self.weights) == 1


def _shifts(size: int) -> tuple[tuple[int, ...], ...]:
    """The permutations that move every code on by the same number."""
    return tuple(tuple((u + by) % size for u in range(size)) for by in range(size))


def decompositions() -> list[Decomposition]:
    """The two of the paper, other weights for the second matrix, and one for Expression (3).

    >>> [d.is_exact for d in decompositions()]
    [True, True, True, True]
    """
    strict = families.randomized_response(3, epsilon=0)
    lax = families.randomized_response(3, epsilon=2)
    keep, lie = lax.exact_row(0)[:2]
    # The three swaps add up to the matrix of ones, as the three shifts do.
    swaps = ((0, 2, 1), (2, 1, 0), (1, 0, 2))
    blocks = families.k_anonymous(6, k=3)
    inside = tuple((*shift, *(3 + v for v in shift)) for shift in _shifts(3))
    third = strict.exact_row(0)[0]
    return [
        Decomposition("(2), epsilon 0, by shifts", strict, _shifts(3), (third,) * 3),
        Decomposition("(2), epsilon 2, by shifts", lax, _shifts(3), (keep, lie, lie)),
        Decomposition(
            "(2), epsilon 2, by swaps", lax, (_shifts(3)[0], *swaps), (keep - lie, lie, lie, lie)
        ),
        Decomposition("(3), two classes of 3, by shifts", blocks, inside, (third,) * 3),
    ]


def decompositions_section() -> Section:
    """Theorem 1 on Expressions (2) and (3)."""
    found = decompositions()
    stay = float(found[1].not_permuting)
    other = float(found[2].not_permuting)
    keeps = [families.randomized_response(12, epsilon=e).truthfulness for e in (3, 6)]
    return Section(
        "Section 2.2: the two decompositions",
        (
            "Every bistochastic matrix is a mixture of permutations (Theorem 1). For three "
            "categories the paper gives one for epsilon 0 and one for epsilon 2. Weights, and "
            "whether the weighted permutations add up to the matrix in exact fractions:",
        ),
        ("expression", "weights", "identity", "adds up"),
        tuple(
            (
                d.what,
                ", ".join(f"{float(weight):.4f}" for weight in d.weights),
                f"{float(d.not_permuting):.4f}",
                "exactly" if d.is_exact else "no",
            )
            for d in found
        ),
        (
            f"The paper prints 0.78 and 0.11 at epsilon 2; {stay:.4f} rounds to {stay:.2f}. The "
            "mixture is not unique: with swaps in place of shifts the identity has weight "
            f"{other:.4f}, so the chance of not permuting belongs to a mixture, and only the "
            f"chance of a true report, {stay:.4f}, to the matrix. Epsilon is not proportional to "
            "it either: at 12 categories twice the epsilon, 6 for 3, takes it from "
            f"{keeps[0]:.3f} to {keeps[1]:.3f}.",
        ),
    )


@dataclass(frozen=True)
class Truth:
    """How much truth a matrix tells, beside the most that its epsilon allows."""

    what: str
    epsilon: float
    trace: float
    most: float
    """Trace of Expression (2) with that epsilon."""
    columns: tuple[float, ...]
    """Column sums: all 1 where the matrix is bistochastic."""


def _truth(what: str, rows: list[list[Fraction]]) -> Truth:
    """Proposition 1 put right: epsilon from the extremes over ``u`` within each column ``v``."""
    size = len(rows)
    columns = list(zip(*rows, strict=True))
    ratio = max(max(column) / min(column) for column in columns)
    return Truth(
        what,
        math.log(ratio),
        float(sum(rows[u][u] for u in range(size))),
        float(size * ratio / (size - 1 + ratio)),
        tuple(float(sum(column)) for column in columns),
    )


def proposition1() -> list[Truth]:
    """Matrices that are locally private, one of them not bistochastic.

    >>> all(truth.trace <= truth.most for truth in proposition1())
    True
    """
    from fractions import Fraction

    def exact(matrix: Matrix) -> list[list[Fraction]]:
        return [matrix.exact_row(u) for u in range(matrix.size)]

    tenths = [[6, 4], [5, 5]]
    return [
        _truth("[[.6, .4], [.5, .5]]", [[Fraction(n, 10) for n in row] for row in tenths]),
        _truth(
            "(2), 2 categories, ratio 5/4",
            exact(families.randomized_response(2, keep=Fraction(5, 9))),
        ),
        _truth("circulant .6, .3, .1", exact(families.circulant([6, 3, 1]))),
        _truth(
            "(2), 3 categories, ratio 6",
            exact(families.randomized_response(3, keep=Fraction(6, 8))),
        ),
    ]


def proposition1_section() -> Section:
    """Proposition 1 in its correct form, with a counterexample to the printed one."""
    return Section(
        "Proposition 1: differential privacy",
        (
            "Printed: the matrix of an epsilon-differentially private scheme is of the form (2), "
            "with epsilon at least the logarithm of an extreme over u of extremes over u.",
            "What holds: a matrix is epsilon-locally private where, within every column v, the "
            "largest entry over u is at most e^epsilon times the smallest. Nothing makes such a "
            "matrix bistochastic, or of the form (2): the first one below is neither. But among "
            "all of them (2) tells the most truth. As p_uv >= e^-epsilon p_vv, the sum of all "
            "entries gives r >= trace (1 + (r-1) e^-epsilon), with equality for (2).",
        ),
        ("matrix", "column sums", "epsilon", "trace", "most at that epsilon"),
        tuple(
            (
                truth.what,
                ", ".join(f"{total:g}" for total in truth.columns),
                f"{truth.epsilon:.4f}",
                f"{truth.trace:.4f}",
                f"{truth.most:.4f}",
            )
            for truth in proposition1()
        ),
        (
            "This is local privacy, of one attribute: those of several attributes of a person add "
            "up.",
        ),
    )
