"""Majorization, Appendix A.3, and the T-transforms that carry one histogram into another.

``p`` majorizes ``q`` if both have the same sum and, for every ``n``, the ``n`` largest entries of
``p`` sum to at least as much as the ``n`` largest of ``q``. In words, ``p`` has the higher peaks.
By Hardy, Littlewood and Polya (Theorem 2) this holds exactly if ``q = P^T p`` for some bistochastic
``P``.

Hence a bistochastic matrix **never decreases** uncertainty: ``p`` majorizes ``P^T p``, and every
entropy of ``P^T p`` is at least the entropy of ``p``. It does not always increase uncertainty. No
``P`` changes the uniform histogram. ``blocks`` do not change a histogram that is constant on their
classes. All this is about the histogram of a column, not about what a reported value reveals of one
person.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bistochastic import families
from bistochastic.permutations import vectors
from bistochastic.words import Shown, show_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from bistochastic.matrix import Matrix
    from bistochastic.permutations.vectors import Exact, Vector

# Keeps that come from floats are integers of this unit, 2^-53.
_UNIT = 2**53


class Step(NamedTuple):
    """One T-transform: ``i`` and ``j`` are swapped with probability ``1 - keep``.

    >>> import bistochastic as bs
    >>> bs.theory.t_transforms([3, 1], [2, 2]).steps
    (Step(i=1, j=0, keep=Fraction(1, 2)),)
    """

    i: int
    j: int
    keep: Fraction

    def _repr_html_(self) -> str:
        return show_text(self)


# With the products of pairs they are the 64 different matrices that a composite may hold.
_FACTORS = 33


@dataclass(frozen=True, repr=False)
class TTransforms(Shown):
    """The result of :func:`t_transforms`: a relabelling if it is needed, then T-transforms.

    >>> import bistochastic as bs
    >>> found = bs.theory.t_transforms([5, 3, 1], [4, 3, 2])
    >>> found
    <TTransforms of 3 codes: 2 T-transforms>
    >>> list(found)[-1]
    Step(i=0, j=1, keep=Fraction(2, 3))
    """

    targets: tuple[int, ...]
    """The target of each code before the first step, as in ``bs.permutation``."""
    steps: tuple[Step, ...]
    """The T-transforms, fewer than codes."""

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.targets)

    @property
    def relabels(self) -> bool:
        """Whether codes change places before the first step."""
        return self.targets != tuple(range(self.size))

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __repr__(self) -> str:
        after = " after a relabelling" if self.relabels else ""
        many = "" if len(self) == 1 else "s"
        return f"<TTransforms of {self.size} codes: {len(self)} T-transform{many}{after}>"

    def apply(self, p: Vector) -> Any:
        """Compute ``P^T p``, step by step, without the matrix.

        Integers and fractions come back exact, as a list. Floats come back as an array, with
        an error per step of at most ``2^-51`` times the largest absolute value.

        >>> import bistochastic as bs
        >>> found = bs.theory.t_transforms([5, 3, 1], [4, 3, 2])
        >>> found.apply([5, 3, 1])
        [4, 3, 2]
        >>> found.apply([0, 0, 1])
        [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)]
        """
        given = vectors.vector("p", p)
        if len(given) != self.size:
            raise ValueError(f"`p` must hold {self.size} numbers; got {len(given)}")
        before = sorted(range(self.size), key=self.targets.__getitem__)
        if vectors.is_floats(given):
            return np.array(self._floats(given[before].tolist()))
        listed = vectors.listed(given)
        return self._exact([listed[u] for u in before])

    def _exact(self, x: Exact) -> Exact:
        from fractions import Fraction

        for i, j, keep in self.steps:
            away = keep.denominator - keep.numerator
            moved: int | Fraction = away * (x[i] - x[j])
            # Integers stay whole if they can: a thousand times faster than fractions.
            if isinstance(moved, int) and moved % keep.denominator == 0:
                moved //= keep.denominator
            else:
                moved = Fraction(moved) / keep.denominator
            x[i], x[j] = x[i] - moved, x[j] + moved
        return x

    def _floats(self, x: list[float]) -> list[float]:
        for i, j, keep in self.steps:
            a, b = x[i], x[j]
            # Two products rather than one difference, which could overflow. Keep 0 swaps exactly.
            stay = float(keep)
            go = float(1 - keep)
            x[i], x[j] = stay * a + go * b, go * a + stay * b
        return x

    def matrices(self) -> list[Matrix]:
        """List the matrices in order. If codes are relabelled, a permutation comes first.

        Every ``keep`` must have a denominator below 2^63, which holds if ``p`` and ``q`` were
        floats.

        >>> import bistochastic as bs
        >>> [m.family for m in bs.theory.t_transforms([5, 3, 1], [4, 3, 2]).matrices()]
        ['t_transform', 't_transform']
        """
        first = [families.permutation(self.targets)] if self.relabels else []
        return first + [
            families.t_transform(self.size, i, j, keep=keep) for i, j, keep in self.steps
        ]

    def to_matrix(self) -> Matrix:
        """Return the bistochastic matrix, a product of at most 33 :meth:`matrices`.

        >>> import bistochastic as bs
        >>> bs.theory.t_transforms([3, 1], [2, 2]).to_matrix().to_dense()
        array([[0.5, 0.5],
               [0.5, 0.5]])
        """
        factors = self.matrices() or [families.identity(self.size)]
        if len(factors) > _FACTORS:
            must = f"`to_matrix` must multiply at most {_FACTORS} matrices"
            raise ValueError(f"{must}; got {len(factors)}: matrices() are the factors")
        # Pairs of pairs, since composites nest only so deep.
        while len(factors) > 1:
            odd = factors[len(factors) & ~1 :]
            factors = [a @ b for a, b in zip(factors[::2], factors[1::2], strict=False)] + odd
        return factors[0]


def majorizes(p: Vector, q: Vector) -> bool:
    """Whether ``p`` majorizes ``q``: the same sum, and higher peaks.

    For every ``n``, the ``n`` largest entries of ``p`` must sum to at least as much as the ``n``
    largest of ``q``. Negative numbers are allowed. It is as fast as a sort.

    Integers of any size and fractions are compared exactly, so give counts if you can. Floats
    are summed exactly too, but proportions hardly ever have exactly the same sum. So a difference
    of up to 1e-12 of the sum of the absolute values is ignored.

    >>> import bistochastic as bs
    >>> bs.theory.majorizes([3, 1, 0], [2, 1, 1]), bs.theory.majorizes([2, 1, 1], [3, 1, 0])
    (True, False)
    >>> p, m = [0.7, 0.2, 0.1], bs.randomized_response(3, beta=0.5)
    >>> bs.theory.majorizes(p, m.to_dense().T @ p)
    True
    """
    return not vectors.against(*vectors.pair(p, q))


def t_transforms(p: Vector, q: Vector) -> TTransforms:
    """Find T-transforms that turn ``p`` into ``q``, at most ``len(p) - 1``.

    So ``result.apply(p) == q``. A T-transform moves two entries towards each other, or swaps them,
    see :func:`t_transform`. ``p`` must majorize ``q``, see :func:`majorizes`. The search takes
    O(r log r) steps, and no matrix is formed.

    Integers and fractions are exact. For floats the result is rounded to multiples of 2^-53.
    Then ``result.apply(p)`` may differ from ``q`` by ``2e-12`` of the sum of the absolute values
    (which :func:`majorizes` ignores), plus ``2^-50`` of the largest of them per step.

    If ``p`` and ``q`` are in the same order, T-transforms are enough. In other orders ``len(p) -
    1`` T-transforms may not be: no three lead from (0, 9, 5, 3) to (8, 1, 2, 6). Then
    ``result.targets`` relabels the codes first.

    >>> import bistochastic as bs
    >>> bs.theory.t_transforms([3, 1], [1, 3]).steps
    (Step(i=1, j=0, keep=Fraction(0, 1)),)
    >>> found = bs.theory.t_transforms([0, 9, 5, 3], [8, 1, 2, 6])
    >>> len(found), found.relabels, found.apply([0, 9, 5, 3])
    (2, True, [8, 1, 2, 6])
    >>> bs.theory.t_transforms([2, 1, 1], [3, 1, 0])
    Traceback (most recent call last):
        ...
    ValueError: `p` must majorize `q`; got less in the largest of `p` than of `q`
    """
    x, y = vectors.pair(p, q)
    against = vectors.against(x, y)
    if against:
        raise ValueError(f"`p` must majorize `q`; got {against}")
    return _search(*vectors.wholes(x, y), floats=vectors.is_floats(x))


def _search(x: list[int], y: list[int], floats: bool) -> TTransforms:
    """Find the T-transforms from ``x`` to ``y``; each step finishes one coordinate.

    Lemma. Let ``x`` majorize ``y`` and let ``t = y_k`` be between ``x_k`` and ``x_j``, which are
    neighbours in the order of ``x``. The T-transform of ``k`` and ``j`` that gives ``x_k`` the
    value ``t`` gives ``x_j`` the value ``s = x_k + x_j - t``, and ``x`` without ``k`` still
    majorizes ``y`` without ``k``. Proof: let the two be the ``b``-th and ``b+1``-st largest, and
    ``X_n``, ``Y_n`` the sums of the ``n`` largest. As ``s`` is between the two, it is the
    ``b``-th largest of what remains, so the new sums are ``X_n`` for ``n < b`` and
    ``X_{n+1} - t`` from there on. The sums of ``y`` without ``t`` are at most ``Y_n``, and at most
    ``Y_{n+1} - t``.

    So each step finishes a coordinate, and the last one two: fewer steps than coordinates. If
    ``x`` and ``y`` are ordered alike, some neighbours always allow it: the largest has
    ``x >= y`` and the smallest ``x <= y``, so going down, ``x_n >= y_n >= y_{n+1} >= x_{n+1}``
    somewhere. In other orders no neighbours may be left that do; then the values of the unfinished
    coordinates are put into the order of ``y``, once. Floats may leave an unfinished rest, as large
    as the difference that :func:`majorizes` ignores.
    """
    from fractions import Fraction

    size = len(x)
    steps: list[tuple[int, int, int, int]] = []
    # By x, and by y if x is the same, so vectors that are ordered alike get the same order.
    order = sorted(sorted(range(size), key=y.__getitem__), key=x.__getitem__)
    left = _finish(x, y, order, steps)
    targets = list(range(size))
    if left:
        alike = sorted(left, key=y.__getitem__)
        for u, v, value in zip(left, alike, [x[k] for k in left], strict=True):
            targets[u], x[v] = v, value
        # First a step, then a relabelling, is first the relabelling, then the step relabelled.
        steps = [(targets[i], targets[j], n, d) for i, j, n, d in steps]
        _finish(x, y, alike, steps)
    made = []
    for i, j, n, d in steps:
        keep = Fraction((2 * n * _UNIT + d) // (2 * d), _UNIT) if floats else Fraction(n, d)
        if keep != 1:
            made.append(Step(i, j, keep))
    return TTransforms(tuple(targets), tuple(made))


def _finish(
    x: list[int], y: list[int], order: list[int], steps: list[tuple[int, int, int, int]]
) -> list[int]:
    """Finish coordinates while the lemma allows it; those left, in increasing order of ``x``."""
    size = len(x)
    # A linked list in increasing order of x, with `size` before the first and after the last.
    below, above = [size] * (size + 1), [size] * (size + 1)
    for low, high in pairwise(order):
        above[low], below[high] = high, low
    done = [True] * (size + 1)
    for k in order:
        done[k] = False
    to_try = order[::-1]
    while to_try:
        k = to_try.pop()
        if done[k]:
            continue
        low, high, t = below[k], above[k], y[k]
        if t != x[k]:
            j = low if t < x[k] else high
            # The target must be between the two.
            if j == size or abs(x[j] - x[k]) < abs(t - x[k]):
                continue
            gap, moved = abs(x[j] - x[k]), abs(t - x[k])
            steps.append((k, j, gap - moved, gap))
            x[j] += x[k] - t
            x[k] = t
        # Only the neighbours of k and j get another neighbour or another value.
        done[k] = True
        above[low], below[high] = high, low
        to_try += [below[low], low, high, above[high]]
        below[size] = above[size] = size
    return [k for k in order if not done[k]]
