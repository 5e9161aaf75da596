"""Section 3: uncertainty of a histogram, of one attribute, and of several."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bistochastic import families
from bistochastic.paper.section import Section
from bistochastic.permutations.majorization import majorizes, t_transforms

if TYPE_CHECKING:
    from fractions import Fraction

    from bistochastic.matrix import Matrix


@dataclass(frozen=True)
class Spread:
    """A histogram before and after a matrix."""

    what: str
    before: tuple[int, ...]
    after: tuple[Fraction, ...]

    @property
    def bits(self) -> tuple[float, float]:
        """Shannon entropy before and after."""
        return _entropy(self.before), _entropy(self.after)

    @property
    def majorized(self) -> bool:
        """Whether the histogram before majorizes the one after, exactly."""
        return majorizes(self.before, self.after)


def _entropy(histogram: tuple[int, ...] | tuple[Fraction, ...]) -> float:
    total = sum(histogram)
    shares = [float(count / total) for count in histogram if count]
    return math.fsum(-share * math.log2(share) for share in shares)


def _spread(what: str, before: tuple[int, ...], rows: list[list[Fraction]]) -> Spread:
    """``P^T p`` in fractions."""
    from fractions import Fraction

    after = [Fraction(0)] * len(before)
    for count, row in zip(before, rows, strict=True):
        after = [sum_ + count * p for sum_, p in zip(after, row, strict=True)]
    return Spread(what, before, tuple(after))


def theorem2() -> list[Spread]:
    """Histograms that a matrix flattens, leaves or, where it is not bistochastic, sharpens.

    >>> [spread.majorized for spread in theorem2()]
    [True, True, True, True, False]
    """
    from fractions import Fraction

    def rows(matrix: Matrix) -> list[list[Fraction]]:
        return [matrix.exact_row(u) for u in range(matrix.size)]

    half = families.randomized_response(3, keep=Fraction(1, 2))
    tenths = [[9, 1], [8, 2]]
    return [
        _spread("(2), keep 1/2", (8, 3, 1), rows(half)),
        _spread("(2), keep 1/2", (4, 4, 4), rows(half)),
        _spread("(3), classes of 3 and 2", (4, 4, 4, 1, 1), rows(families.blocks([3, 2]))),
        _spread("a permutation", (8, 3, 1), rows(families.permutation([1, 2, 0]))),
        _spread("[[.9, .1], [.8, .2]]", (1, 1), [[Fraction(n, 10) for n in row] for row in tenths]),
    ]


def theorem2_section() -> Section:
    """Theorem 2: never decreases, which is not always increases."""
    found = theorem2()
    first = found[0]
    steps = t_transforms(first.before, first.after)
    exact = steps.apply(first.before) == list(first.after)
    return Section(
        "Theorem 2: uncertainty never decreases",
        (
            "p majorizes q exactly where q = P^T p for some bistochastic P. Printed beside it: a P "
            "that is no permutation always increases uncertainty. It never decreases it; the "
            "uniform histogram stays under every P, and one that is constant on classes stays "
            "under their blocks. A matrix whose columns do not sum to 1 can decrease it.",
        ),
        ("matrix", "before", "after", "bits before", "bits after", "majorized"),
        tuple(
            (
                spread.what,
                ", ".join(map(str, spread.before)),
                ", ".join(f"{float(z):g}" for z in spread.after),
                f"{spread.bits[0]:.4f}",
                f"{spread.bits[1]:.4f}",
                "yes" if spread.majorized else "no",
            )
            for spread in found
        ),
        (
            f"The first pair by T-transforms, at most r-1: {len(steps)} of them, "
            + ", then ".join(f"{s.i} and {s.j} with keep {s.keep}" for s in steps)
            + f"; they give the histogram after {'exactly' if exact else 'inexactly'}. "
            "This is the histogram of a column: it does not say what a report tells of a person.",
        ),
    )


@dataclass(frozen=True)
class Clear:
    """How much can be published in clear behind a beta."""

    size: int
    one: float
    """Beta with one category in clear, the others perfectly secret among themselves."""
    many: int
    """How many categories can be in clear at beta 0.9."""


def average() -> list[Clear]:
    """Beta is an average over categories.

    >>> [clear.many for clear in average()]
    [0, 0, 8, 87]
    """

    def beta(size: int, clear: int) -> float:
        return families.blocks([1] * clear + [size - clear]).beta

    found = []
    for size in (3, 12, 100, 1000):
        many = 0
        while beta(size, many + 1) >= 0.9:
            many += 1
        found.append(Clear(size, beta(size, 1), many))
    return found


def average_section() -> Section:
    """Definition 1 is about the average category, and 2^H(Y) about the wrong thing."""
    clear = families.identity(12)
    return Section(
        "Definition 1: beta is an average",
        (
            "Beta bounds the mean entropy of the rows, not the entropy of each. Some categories "
            "can be published as they are while the others, perfectly secret among themselves, "
            "pay for them:",
        ),
        ("categories", "beta with one in clear", "in clear at beta 0.9"),
        tuple((str(c.size), f"{c.one:.3f}", str(c.many)) for c in average()),
        (
            "Section 3.1 counts 2^H(Y) sides of the die that an attacker faces. For the identity "
            f"on 12 equally frequent categories that is {2**clear.max_bits:.0f}, while the "
            f"attacker knows everything: the number is 2^H(X|Y) = {2**clear.entropy_rate:.0f}. "
            "For a uniform prior H(X|Y) is the entropy rate, which is what beta is good for.",
        ),
    )


@dataclass(frozen=True)
class Joint:
    """Several attributes, by Definition 2 and as one matrix by Definition 3."""

    what: str
    bits: float
    """Sum over the attributes."""
    joint_bits: float
    """Entropy rate of the matrix on the joint domain."""
    most: float
    """Sum of log2 of the sizes."""
    joint_most: float
    """log2 of the size of the joint domain."""


def _joint(what: str, *matrices: Matrix) -> Joint:
    whole = families.kron(*matrices)
    return Joint(
        what,
        math.fsum(m.entropy_rate for m in matrices),
        whole.entropy_rate,
        math.fsum(m.max_bits for m in matrices),
        whole.max_bits,
    )


def proposition2() -> list[Joint]:
    """Bits of several attributes add up, and so do the most that they can hold.

    >>> all(abs(joint.bits - joint.joint_bits) < 1e-9 for joint in proposition2())
    True
    """
    private = families.randomized_response(12, epsilon=3)
    classes = families.k_anonymous(12, k=4)
    return [
        _joint("(2) epsilon 3 and (3) k = 4, on 12 each", private, classes),
        _joint("perfect secrecy on 12 and on 3", families.uniform(12), families.uniform(3)),
        _joint("in clear on 2, secret on 1000", families.identity(2), families.uniform(1000)),
    ]


def proposition2_section() -> Section:
    """Proposition 2, and Definition 2 as Definition 3 of the product."""
    return Section(
        "Proposition 2: bits of several attributes",
        (
            "At most the sum of log2 of the sizes can be injected into a data set. The paper "
            "calls Definition 2, which adds the bits of the attributes, conservative, as joint "
            "entropy is subadditive. Attributes that are randomized independently have the "
            "Kronecker product as their joint matrix, and its entropy rate is the sum: Definition "
            "2 is Definition 3 for that matrix, with the same beta.",
        ),
        ("matrices", "sum of bits", "joint bits", "sum of most", "joint most", "beta"),
        tuple(
            (
                joint.what,
                f"{joint.bits:.4f}",
                f"{joint.joint_bits:.4f}",
                f"{joint.most:.4f}",
                f"{joint.joint_most:.4f}",
                f"{joint.joint_bits / joint.joint_most:.4f}",
            )
            for joint in proposition2()
        ),
        (
            "The last line is what Definition 2 lets through: one attribute is in clear and the "
            "other, larger one pays for it.",
        ),
    )
