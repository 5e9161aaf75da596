"""Theorem 2 and Appendix A.3: which histograms a bistochastic matrix can make of another one.

``p`` majorizes ``q`` if both have the same sum and, for every ``n``, the ``n`` largest entries of
``p`` sum to at least as much as the ``n`` largest of ``q``. In words, ``p`` has the higher peaks.
By Hardy, Littlewood and Polya (Theorem 2) this holds exactly if ``q = P^T p`` for some bistochastic
``P``.

Hence a bistochastic matrix **never decreases** uncertainty: ``p`` majorizes ``P^T p``, and every
entropy of ``P^T p`` is at least the entropy of ``p``. It does not always increase uncertainty. No
``P`` changes the uniform histogram. ``blocks`` do not change a histogram that is constant on their
classes. All this is about the histogram of a column, not about what a reported value reveals of one
person.

>>> import bistochastic as bs
>>> bs.theory.majorizes([3, 1], [2, 2])
True
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from math import isfinite, lcm
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bistochastic import arguments, families
from bistochastic.words import Shown, show_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bistochastic.matrix import Matrix

    Number = int | float | Fraction
    Vector = Sequence[Number] | np.ndarray

__all__ = ["Step", "TTransforms", "majorizes", "t_transforms"]

# Keeps that come from floats are integers of this unit, 2^-53.
_UNIT = 2**53
# Floats may be apart by the sum of the absolute values over this: well above what summing
# proportions leaves behind, well below what a histogram of people can show.
_SLACK = 10**12


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
        given = _vector("p", p)
        if len(given) != self.size:
            raise ValueError(f"`p` must hold {self.size} numbers; got {len(given)}")
        if float in map(type, given):
            try:
                return np.array(self._carry(list(map(float, given)), float))
            except OverflowError:
                must = "`p` must hold numbers below 2^1024 next to floats"
                raise ValueError(f"{must}; got a larger one") from None
        found = self._carry([Fraction(z) for z in given], Fraction)
        return [z if z.denominator > 1 else z.numerator for z in found]

    def _carry(self, given: list[Any], kind: type[float | Fraction]) -> list[Any]:
        """Carry numbers, or rows of a matrix."""
        x = [given[u] for u in sorted(range(self.size), key=self.targets.__getitem__)]
        for i, j, keep in self.steps:
            a, b = x[i], x[j]
            # Two products rather than one difference, which could overflow. Keep 0 swaps exactly.
            stay, go = kind(keep), kind(1 - keep)
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
        """Return the bistochastic matrix: the product of :meth:`matrices`.

        Beyond 33 of them it is computed in doubles, as :func:`dense`.

        >>> import bistochastic as bs
        >>> bs.theory.t_transforms([3, 1], [2, 2]).to_matrix().to_dense()
        array([[0.5, 0.5],
               [0.5, 0.5]])
        """
        if len(self) + self.relabels > _FACTORS:
            rows = arguments.zeros("to_matrix", self.size, np.float64)
            np.fill_diagonal(rows, 1.0)
            return families.dense(np.array(self._carry(list(rows), float)).T)
        factors = self.matrices() or [families.identity(self.size)]
        # Pairs of pairs, since composites nest only so deep.
        while len(factors) > 1:
            odd = factors[len(factors) & ~1 :]
            factors = [a @ b for a, b in zip(factors[::2], factors[1::2], strict=False)] + odd
        return factors[0]


def majorizes(p: Vector, q: Vector) -> bool:
    """Whether ``p`` majorizes ``q``: the same sum, and higher peaks.

    For every ``n``, the ``n`` largest entries of ``p`` must sum to at least as much as the ``n``
    largest of ``q``. Negative numbers are allowed.

    Integers of any size and fractions are compared exactly, so give counts if you can. Floats
    are summed exactly too, but proportions hardly ever have exactly the same sum. So with floats a
    difference of up to 1e-12 of the sum of the absolute values is ignored.

    >>> import bistochastic as bs
    >>> bs.theory.majorizes([3, 1, 0], [2, 1, 1]), bs.theory.majorizes([2, 1, 1], [3, 1, 0])
    (True, False)
    >>> p, m = [0.7, 0.2, 0.1], bs.randomized_response(3, beta=0.5)
    >>> bs.theory.majorizes(p, m.to_dense().T @ p)
    True
    """
    return not _against(*_wholes(p, q))


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
    x, y, floats = _wholes(p, q)
    against = _against(x, y, floats)
    if against:
        raise ValueError(f"`p` must majorize `q`; got {against}")
    return _search(x, y, floats)


def _wholes(p: Vector, q: Vector) -> tuple[list[int], list[int], bool]:
    """Read two vectors exactly as integers of one unit; True if there are floats among them."""
    x, y = _vector("p", p), _vector("q", q)
    if len(x) != len(y):
        raise ValueError(f"`q` must hold as many numbers as `p`, {len(x)}; got {len(y)}")
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
    first = next((n for n, by in enumerate(ahead) if by < -slack), None)
    if first is None:
        return ""
    largest = "the largest" if first == 0 else f"the {first + 1} largest"
    return f"less in {largest} of `p` than of `q`"


def _vector(name: str, given: Any) -> list[Number]:
    """List finite numbers as Python's own."""
    if not isinstance(given, list | tuple):
        must = "hold numbers in one row"
        plain = arguments.array(name, must, given, by_code=True)
        if plain.ndim != 1 or plain.dtype.kind not in "iufO":
            got = plain.dtype.name if plain.ndim == 1 else f"{plain.ndim} axes"
            raise TypeError(f"`{name}` must {must}; got {got}")
        given = (arguments.doubles(name, plain) if plain.dtype.kind == "f" else plain).tolist()
    if not given:
        raise ValueError(f"`{name}` must hold at least one number; got none")
    found: list[Number] = []
    for at, z in enumerate(given):
        if isinstance(z, float | np.floating):
            z = float(z)
            if not isfinite(z):
                got = "NaN" if z != z else f"{z:g}"
                raise ValueError(f"`{name}` must hold finite numbers; got {got} at {at}")
        elif isinstance(z, int | np.integer) and not isinstance(z, bool | np.timedelta64):
            # A timedelta is an integer type of NumPy, too.
            z = int(z)
        elif not isinstance(z, Fraction):
            raise TypeError(f"`{name}` must hold numbers; got {type(z).__name__} at {at}")
        found.append(z)
    return found


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
