"""``bs.strongest``: the most privacy that keeps estimates within a tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bistochastic import _core, difference_sets, families, linear
from bistochastic.arguments import items, positive
from bistochastic.choose.reach import largest, ways
from bistochastic.errors import Refused
from bistochastic.estimate import intervals, quantiles
from bistochastic.estimate.planning import largest_variance
from bistochastic.formatting import Shown, down, exact, shown, table, up
from bistochastic.measures.costs import cost_table, expected_cost, mean_distance
from bistochastic.measures.survey import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from bistochastic.matrix import Matrix

FAMILIES = ("randomized_response", "difference_set", "geometric", "tridiagonal", "k_anonymous")
CLASSES = "class totals only: single proportions cannot be estimated"
SINGULAR = "singular even with the least noise: proportions cannot be estimated"
BEYOND = "not within the tolerance, however little noise"
_HEADER = ["family", "beta", "epsilon", "truthfulness", "expected cost", "note"]


@dataclass(frozen=True, eq=False)
class Choice(Shown):
    """The strongest matrix of one family that keeps estimates within a tolerance.

    ``matrix`` is None if the family has none, and ``note`` says why. ``expected_cost`` is the mean
    cost of a reported value, or the mean distance between codes if no cost was given.

    >>> import bistochastic as bs
    >>> bs.strongest(4, records=4580, tolerance=0.03)[0].beta
    0.78921...
    """

    family: str
    matrix: Matrix | None
    expected_cost: float | None = None
    note: str = ""

    @property
    def beta(self) -> float | None:
        """The largest beta: every smaller one keeps the tolerance, too."""
        return None if self.matrix is None else self.matrix.beta

    @property
    def epsilon(self) -> float | None:
        """The epsilon of the same matrix."""
        return None if self.matrix is None else self.matrix.epsilon

    def cells(self) -> list[str]:
        """Write the row of a table."""
        if self.matrix is None:
            return [self.family, "-", "-", "-", "-", self.note]
        numbers = (self.matrix.truthfulness, self.expected_cost)
        return [
            self.family, down(self.matrix.beta), up(self.matrix.epsilon, 5),
            *("-" if x is None else f"{x:.4g}" for x in numbers), self.note,
        ]  # fmt: skip


class Strongest(tuple[Choice, ...]):
    """The choices of :func:`strongest`: a tuple that prints as a table.

    >>> import bistochastic as bs
    >>> [choice.family for choice in bs.strongest(4, records=4580, tolerance=0.03)][:2]
    ['randomized_response', 'difference_set']
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return table(_HEADER, [choice.cells() for choice in self], left=(0, 5))

    _repr_html_ = Shown._repr_html_


def strongest(
    size: int,
    *,
    records: int,
    tolerance: float,
    share: float | None = None,
    confidence: float = 0.95,
    design_effect: float = 1,
    family: str | Iterable[str] | None = None,
    cost: ArrayLike | None = None,
) -> Strongest:
    """Find the largest beta of each family at which every estimated proportion is close enough.

    It inverts :meth:`Matrix.required_records`: with ``records`` records every estimate is within
    ``tolerance`` of the true proportion with probability ``confidence``, at the stated beta and at
    every smaller one. The result is a table with one row per family.

    * ``share``: the true proportion for which it must hold. By default it holds for all.
    * ``design_effect``: how many times larger the variances are than in a simple random sample.
    * ``family``: one name or several, by default all that have a beta
    * ``cost``: a table of costs. It adds :func:`gibbs`, and the expected cost of each matrix.

    Beta and epsilon measure different things: the family with the largest beta seldom has the
    least epsilon. :func:`difference_set` is chosen by epsilon, and its beta follows.

    Raises ``ValueError`` if not even unprotected records reach the tolerance.

    >>> import bistochastic as bs
    >>> bs.strongest(4, records=4580, tolerance=0.03, family=["randomized_response", "geometric"])
    family                   beta  epsilon  truthfulness  expected cost  note
    -------------------  --------  -------  ------------  -------------  ----
    randomized_response  0.789215   1.5544         0.612         0.6466
    geometric            0.595408   4.5231        0.7132         0.3336
    >>> bs.strongest(4, records=500, tolerance=0.03)
    Traceback (most recent call last):
        ...
    bistochastic.errors.Refused: `tolerance` must be at least 0.0438... for 500 records, even
        without noise; got 0.03
    """
    goal = Goal.of(records, tolerance, share, confidence, design_effect)
    many = _core.as_whole("size", size, 2)
    costs = None if cost is None else cost_table(many, cost)
    return Strongest(goal.choice(name, many, costs) for name in _names(family, costs))


def _names(family: object, cost: object) -> list[str]:
    known = (*FAMILIES, "gibbs")
    if family is None:
        return list(known if cost is not None else FAMILIES)
    must = f"hold names out of {', '.join(known)}"
    names = [family] if isinstance(family, str) else items("family", must, family, unordered=True)
    for name in names:
        if name not in known:
            got = shown(name) if isinstance(name, str) else type(name).__name__
            raise Refused("family", must, got)
        if name == "gibbs" and cost is None:
            raise Refused("cost", "be given for gibbs", "none")
    return names


@dataclass(frozen=True)
class Goal:
    """How many records there are, as many as without a design, and how precise to be.

    >>> import bistochastic as bs
    >>> goal = Goal.of(4580, 0.03, None, 0.95, 1)
    >>> [goal.holds(bs.randomized_response(4, beta=beta)) for beta in (0.78, 0.8)]
    [True, False]
    """

    records: float
    tolerance: float
    share: float | None
    z: float

    @classmethod
    def of(
        cls, records: object, tolerance: object, share: object, confidence: object, effect: object
    ) -> Goal:
        """Read a caller's request; raise if not even unprotected records are enough."""
        many = _core.as_whole("records", records, 1)
        more = positive("design_effect", effect)
        within = intervals.between("tolerance", tolerance)
        part = None if share is None else intervals.between("share", share)
        z = quantiles.two_sided(intervals.confidence_of(confidence))
        goal = cls(many / more, within, part, z)
        least = goal.within(families.identity(2))
        if not least <= within:
            must = f"be at least {exact(least)} for {many} records"
            raise Refused("tolerance", f"{must}, even without noise", exact(within))
        return goal

    def within(self, matrix: Matrix) -> float:
        """Compute how close every proportion is."""
        if linear.is_singular(matrix):
            return math.inf
        return self.z * math.sqrt(largest_variance(matrix, self.share) / self.records)

    def holds(self, matrix: Matrix) -> bool:
        """Whether that is close enough."""
        return self.within(matrix) <= self.tolerance * (1 + 1e-13)

    def choice(self, family: str, size: int, cost: Any = None) -> Choice:
        """Find the strongest matrix of a family, or why it has none."""
        if family == "k_anonymous":
            return Choice(family, None, None, CLASSES)
        if family == "difference_set":
            matrix = self._by_sets(size)
        else:
            make, low, high = ways(family, size, cost)
            if family == "tridiagonal":
                # Up to the first alpha at which it is singular; beyond it errors fall again.
                high = min(high, 0.5 / (1 - math.cos(math.pi * (size - 1) / size)))
            matrix = make(largest(low, high, lambda x: self.holds(make(x)), 1e-13))
            if not self.holds(matrix):
                note = SINGULAR if linear.is_singular(matrix) else BEYOND
                return Choice(family, None, None, note)
        if matrix.padding or (cost is None and matrix.size > TABLE):
            return Choice(family, matrix, mean_distance(matrix))
        far = expected_cost(matrix.to_dense(), "ordinal" if cost is None else cost, None)
        return Choice(family, matrix, far)

    def _by_sets(self, size: int) -> Matrix:
        """Find the least epsilon by closed form, and only then construct a set."""

        def holds(minus: float) -> bool:
            spread = difference_sets.spread(size, -minus, self.share)
            return self.z * math.sqrt(spread / self.records) <= self.tolerance

        epsilon = -largest(-45.0, -1e-9, holds, 1e-13)
        matrix = families.difference_set(size, epsilon=epsilon)
        while not self.holds(matrix):
            # Rounding onto the grid cost a little.
            epsilon *= 1 + 1e-9
            matrix = families.difference_set(size, epsilon=epsilon)
        return matrix
