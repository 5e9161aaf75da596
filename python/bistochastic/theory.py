"""Theorem 2 and Appendix A.3: which histograms a bistochastic matrix can make of another one.

``p`` majorizes ``q`` if both have the same sum and, for every ``n``, the ``n`` largest entries of
``p`` sum to at least as much as the ``n`` largest of ``q``. In words, ``p`` has the higher peaks.
By Hardy, Littlewood and Polya (Theorem 2) this holds exactly if ``q = P^T p`` for some bistochastic
``P``.

Hence a bistochastic matrix **never decreases** uncertainty: ``p`` majorizes ``P^T p``, and every
entropy of ``P^T p`` is at least the entropy of ``p``. It may stay the same: no ``P`` changes the
uniform histogram. All this is about the histogram of a column, not about what a reported value
reveals of one person.

>>> import bistochastic as bs
>>> bs.theory.majorizes([3, 1], [2, 2])
True
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import isfinite, lcm
from typing import Any

import numpy as np

from bistochastic import arguments, families
from bistochastic.errors import Refused, RefusedType
from bistochastic.formatting import Shown
from bistochastic.matrix import Matrix

Number = int | float | Fraction
Vector = Sequence[Number] | np.ndarray

__all__ = ["TTransforms", "majorizes", "t_transforms"]

# Floats may be apart by the sum of the absolute values over this: well above what summing
# proportions leaves behind, well below what a histogram of people can show.
_SLACK = 10**12


@dataclass(frozen=True, repr=False)
class TTransforms(Shown):
    """The result of :func:`t_transforms`: a relabelling if it is needed, then T-transforms.

    >>> bs.theory.t_transforms([3, 1], [2, 2]).to_matrix().to_dense()
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    targets: tuple[int, ...]
    """The target of each code before the first step, as in ``bs.permutation``."""
    steps: tuple[tuple[int, int, Fraction], ...]
    """Triples of ``i``, ``j`` and ``keep``, fewer than codes: ``i`` and ``j`` are swapped with
    probability ``1 - keep``."""

    @property
    def relabels(self) -> bool:
        """Whether codes change places before the first step."""
        return self.targets != tuple(range(len(self.targets)))

    def __repr__(self) -> str:
        after = " after a relabelling" if self.relabels else ""
        return f"<TTransforms of {len(self.targets)} codes: {len(self.steps)} steps{after}>"

    def apply(self, p: Vector) -> list[Fraction | int]:
        """Compute ``P^T p`` exactly, step by step, without the matrix.

        >>> found = bs.theory.t_transforms([5, 3, 1], [4, 3, 2])
        >>> found.apply([0, 0, 1])
        [Fraction(1, 4), 0, Fraction(3, 4)]
        """
        given = _numbers_in("p", p)
        if len(given) != len(self.targets):
            raise Refused("p", f"hold {len(self.targets)} numbers", len(given))
        x = [Fraction(given[u]) for u in sorted(range(len(given)), key=self.targets.__getitem__)]
        for i, j, keep in self.steps:
            x[i], x[j] = keep * x[i] + (1 - keep) * x[j], (1 - keep) * x[i] + keep * x[j]
        return [z if z.denominator > 1 else z.numerator for z in x]

    def matrices(self) -> list[Matrix]:
        """List the matrices in order. If codes are relabelled, a permutation comes first.

        Every ``keep`` must have a denominator below 2^63.
        """
        first = [families.permutation(self.targets)] if self.relabels else []
        return first + [
            families.t_transform(len(self.targets), i, j, keep=keep) for i, j, keep in self.steps
        ]

    def to_matrix(self) -> Matrix:
        """Return the bistochastic matrix: the product of :meth:`matrices`, at most 512 of them."""
        factors = self.matrices() or [families.identity(len(self.targets))]
        # Pairs of pairs, since composites nest only so deep.
        while len(factors) > 1:
            odd = factors[len(factors) & ~1 :]
            factors = [a @ b for a, b in zip(factors[::2], factors[1::2], strict=False)] + odd
        return factors[0]


def majorizes(p: Vector, q: Vector) -> bool:
    """Whether ``p`` majorizes ``q``: the same sum, and higher peaks.

    For every ``n``, the ``n`` largest entries of ``p`` must sum to at least as much as the ``n``
    largest of ``q``. Negative numbers are allowed.

    Integers of any size and fractions are compared exactly, so give counts if you can. With floats
    a difference of up to 1e-12 of the sum of the absolute values is ignored.

    >>> bs.theory.majorizes([3, 1, 0], [2, 1, 1]), bs.theory.majorizes([2, 1, 1], [3, 1, 0])
    (True, False)
    """
    return not _against(*_as_integers(p, q))


def t_transforms(p: Vector, q: Vector) -> TTransforms:
    """Find T-transforms that turn ``p`` into ``q``, at most ``len(p) - 1``.

    So ``result.apply(p) == q``, exactly: ``p`` and ``q`` hold integers and fractions, no floats. A
    T-transform moves two entries towards each other, or swaps them, see :func:`t_transform`. ``p``
    must majorize ``q``. The search takes O(r log r) steps, and no matrix is formed.

    If ``p`` and ``q`` are in other orders, ``len(p) - 1`` T-transforms may not be enough: no three
    lead from (0, 9, 5, 3) to (8, 1, 2, 6). So ``result.targets`` relabels the codes first.

    >>> bs.theory.t_transforms([3, 1], [2, 2]).steps
    ((0, 1, Fraction(1, 2)),)
    >>> found = bs.theory.t_transforms([0, 9, 5, 3], [8, 1, 2, 6])
    >>> found.relabels, found.apply([0, 9, 5, 3])
    (True, [8, 1, 2, 6])
    """
    x, y, floats = _as_integers(p, q, exact=True)
    against = _against(x, y, floats)
    if against:
        raise Refused("p", "majorize `q`", against)
    # Codes are first put into the order of `q`. Going down from the largest, what a coordinate
    # lacks comes from the nearest above it that has too much: all between are finished, so `p`
    # stays in order. As `p` majorizes `q`, those above always have enough. Each step finishes a
    # coordinate, the last one two.
    codes = range(len(x))
    # By one, then by the other, so vectors that are ordered alike get the same order.
    falling = sorted(codes, key=lambda k: (x[k], y[k]), reverse=True)
    places = sorted(codes, key=lambda k: (y[k], x[k]), reverse=True)
    steps: list[tuple[int, int, Fraction]] = []
    targets, above = [0] * len(x), []
    now = [0] * len(x)
    for u, k in zip(falling, places, strict=True):
        targets[u], now[k] = k, x[u]
        if now[k] > y[k]:
            above.append(k)
        while now[k] < y[k]:
            j = above[-1]
            moved, gap = min(y[k] - now[k], now[j] - y[j]), now[j] - now[k]
            steps.append((j, k, Fraction(gap - moved, gap)))
            now[j], now[k] = now[j] - moved, now[k] + moved
            if now[j] == y[j]:
                above.pop()
    return TTransforms(tuple(targets), tuple(steps))


def _as_integers(p: Vector, q: Vector, exact: bool = False) -> tuple[list[int], list[int], bool]:
    """Read two vectors exactly as integers of one unit; True if there are floats among them."""
    x, y = _numbers_in("p", p, exact), _numbers_in("q", q, exact)
    if len(x) != len(y):
        raise Refused("q", f"hold as many numbers as `p`, {len(x)}", len(y))
    ratios = [z.as_integer_ratio() for z in x + y]
    unit = lcm(*{below for _, below in ratios})
    both = [above * (unit // below) for above, below in ratios]
    return both[: len(x)], both[len(x) :], float in map(type, x + y)


def _against(x: list[int], y: list[int], floats: bool) -> str:
    """Say what speaks against ``x`` majorizing ``y``; an empty string if nothing does."""
    slack = max(sum(map(abs, x)), sum(map(abs, y))) // _SLACK if floats else 0
    falling = zip(sorted(x, reverse=True), sorted(y, reverse=True), strict=True)
    # By how much each sum of the largest of `x` is ahead.
    ahead = list(accumulate(a - b for a, b in falling))
    if abs(ahead[-1]) > slack:
        return "sums that differ"
    first = next((n for n, by in enumerate(ahead, 1) if by < -slack), None)
    return "" if first is None else f"less in the {first} largest of `p` than of `q`"


def _numbers_in(name: str, given: Any, exact: bool = False) -> list[Number]:
    if not isinstance(given, list | tuple):
        plain = arguments.array(name, "hold numbers in one row", given, by_code=True)
        if plain.ndim != 1:
            raise RefusedType(name, "hold numbers in one row", f"{plain.ndim} axes")
        given = plain.tolist()
    if not given:
        raise Refused(name, "hold at least one number", "none")
    found = [z.item() if isinstance(z, np.generic) else z for z in given]
    for at, z in enumerate(found):
        if isinstance(z, bool) or not isinstance(z, int | float | Fraction):
            raise RefusedType(name, "hold numbers", f"{type(z).__name__} at {at}")
        if isinstance(z, float) and not isfinite(z):
            raise Refused(name, "hold finite numbers", f"{z:g} at {at}")
        if isinstance(z, float) and exact:
            raise RefusedType(name, "hold integers or fractions", f"float at {at}")
    return found
