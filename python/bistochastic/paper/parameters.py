"""Section 4: the diagonal and invertibility, and zeros filled with a small gamma."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bistochastic import families
from bistochastic.paper.section import Section

if TYPE_CHECKING:
    from bistochastic.matrix import Matrix

FILLED = 1000
ALPHA = 0.1


@dataclass(frozen=True)
class Dominance:
    """The diagonal of a matrix beside its rank and condition."""

    what: str
    size: int
    least: float
    """Smallest diagonal entry."""
    rank: int
    condition: float
    """In the 2-norm; infinite where singular."""


def _dominance(what: str, matrix: Matrix) -> Dominance:
    least = min(matrix[u, u] for u in range(matrix.size))
    rank = int(matrix.profile().rank or 0)
    return Dominance(what, matrix.size, least, rank, matrix.condition)


def proposition3() -> list[Dominance]:
    """A diagonal of exactly 1/2, above it, and below it.

    >>> [(d.least, d.rank) for d in proposition3()][0]
    (0.5, 1)
    """
    return [
        _dominance("[[.5, .5], [.5, .5]]", families.tridiagonal([0.5])),
        _dominance("(7), alpha .2", families.tridiagonal(0.2, size=12)),
        _dominance("(7), alpha .2499", families.tridiagonal(0.2499, size=500)),
        _dominance("(7), alpha .4", families.tridiagonal(0.4, size=12)),
        _dominance("(2), epsilon 1", families.randomized_response(12, epsilon=1)),
        _dominance("a permutation", families.permutation([1, 2, 0])),
    ]


def proposition3_section() -> Section:
    """Proposition 3: strict, sufficient, and silent on how well."""
    return Section(
        "Proposition 3: a diagonal above 1/2",
        (
            "A bistochastic matrix whose diagonal is above 1/2 everywhere is non-singular. The "
            "proof in the text speaks of dominance that is larger or equal; it has to be strict, "
            "as a diagonal of exactly 1/2 can be singular. It is sufficient only, and being "
            "non-singular does not mean that frequencies can be recovered well: errors of the "
            "reported frequencies may grow by the condition number.",
        ),
        ("matrix", "size", "least diagonal", "rank", "condition"),
        tuple(
            (
                d.what,
                str(d.size),
                f"{d.least:.4g}",
                str(d.rank),
                f"{d.condition:.4g}" if math.isfinite(d.condition) else "singular",
            )
            for d in proposition3()
        ),
    )


@dataclass(frozen=True)
class Filling:
    """Zeros replaced by gamma without adjusting the rest, beside the honest mixture."""

    gamma: float
    row_sum: float
    """Largest sum of a row after filling."""
    beta: float
    """What the formula of beta then gives."""
    mixed_beta: float
    """Beta of ``(1 - r gamma) P + gamma J``, whose sums are exactly 1."""
    mixed_epsilon: float
    """Its epsilon."""


def fillings() -> list[Filling]:
    """Super doubly stochastic matrices of size 1000 from Expression (7).

    >>> [filling.beta > 1 for filling in fillings()]
    [False, False, False, True]
    """
    from fractions import Fraction

    import numpy as np

    from bistochastic.paper import reference

    matrix = families.tridiagonal(ALPHA, size=FILLED)
    secret = families.uniform(FILLED)
    array = matrix.to_dense()
    found = []
    for gamma in (Fraction(0), Fraction(1, 10**5), Fraction(1, 10**4), Fraction(1, 10**3)):
        filled = np.where(array == 0, float(gamma), array)
        share = FILLED * gamma
        parts = [(matrix, 1 - share), (secret, share)]
        parts = [(part, weight) for part, weight in parts if weight]
        mixed = families.mix([part for part, _ in parts], weights=[w for _, w in parts])
        found.append(
            Filling(
                float(gamma),
                float(filled.sum(axis=1).max()),
                reference.beta(filled),
                mixed.beta,
                mixed.epsilon,
            )
        )
    return found


def fillings_section() -> Section:
    """Why zeros are not filled here, and what is done instead."""
    return Section(
        "Super doubly stochastic: zeros filled with gamma",
        (
            "For positive entries the paper replaces zeros by a small gamma and does not adjust "
            "the rest. Rows then sum to more than 1, so nothing can be drawn from them, and beta "
            "grows without bound. Tridiagonal, "
            f"alpha {ALPHA:g}, size {FILLED}; beside it, with sums of exactly 1, the mixture with "
            "perfect secrecy that has the same gamma in place of the zeros, "
            "`bs.mix([m, bs.uniform(r)], weights=[1 - r*gamma, r*gamma])`:",
        ),
        ("gamma", "rows sum to", "beta if filled", "beta if mixed", "epsilon if mixed"),
        tuple(
            (
                f"{filling.gamma:g}",
                f"{filling.row_sum:.3f}",
                f"{filling.beta:.3f}",
                f"{filling.mixed_beta:.3f}",
                f"{filling.mixed_epsilon:.3f}",
            )
            for filling in fillings()
        ),
        (
            "Neither is needed for beta: the uniform distribution is stationary under every "
            "bistochastic matrix, with zeros or without, and 0 log 0 is 0. What mixing buys is a "
            "finite epsilon.",
        ),
    )
