"""``bs.strongest``: the most privacy that keeps estimates within a tolerance; and the least noise
that reaches an epsilon or a truthfulness."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bistochastic import _core, arguments, difference_sets, families, linear
from bistochastic.arguments import Array
from bistochastic.errors import OutOfReachError, Refused, RefusedType
from bistochastic.estimate import quantiles
from bistochastic.estimate.planning import largest_variance
from bistochastic.formatting import Shown, down, exact, table, up
from bistochastic.matrix import Matrix
from bistochastic.measures.costs import cost_table, expected_cost, mean_distance
from bistochastic.measures.survey import TABLE

# A matrix from a number: the larger it is, the more noise.
Make = Callable[[float], Matrix]

FAMILIES = ("randomized_response", "difference_set", "geometric", "tridiagonal", "k_anonymous")
# The requests that a family accepts in addition to its own parameters.
KNOWN = ("epsilon", "beta", "truthfulness")
CLASSES = "class totals only: single proportions cannot be estimated"
SINGULAR = "singular even with the least noise: proportions cannot be estimated"
BEYOND = "not within the tolerance, however little noise"
# Temperatures for costs of 1, cold enough for any tolerance and as hot as no matrix needs to be.
_COLD, _HOT = 0.02, 1e5
_HEADER = ["family", "beta", "epsilon", "truthfulness", "expected cost", "note"]


@dataclass(frozen=True, eq=False)
class Choice(Shown):
    """The strongest matrix of one family that keeps estimates within a tolerance.

    ``matrix`` is None if the family has none, and ``note`` says why. ``expected_cost`` is the mean
    cost of a reported value, or the mean distance between codes if no cost was given.

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


class Strongest(tuple[Choice, ...], Shown):
    """The choices of :func:`strongest`: a tuple that prints as a table.

    >>> [choice.family for choice in bs.strongest(4, records=4580, tolerance=0.03)][:2]
    ['randomized_response', 'difference_set']
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return table(_HEADER, [choice.cells() for choice in self], left=(0, 5))


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

    * ``size``: the number of categories
    * ``share``: the true proportion for which it must hold. By default it holds for all.
    * ``design_effect``: how many times larger the variances are than in a simple random sample.
    * ``family``: one name or several, by default all that have a beta
    * ``cost``: a table of costs. It adds :func:`gibbs`, and the expected cost of each matrix.

    Beta and epsilon measure different things: the family with the largest beta seldom has the
    least epsilon. :func:`difference_set` is chosen by epsilon, and its beta follows.

    Raises ``ValueError`` if not even unprotected records reach the tolerance.

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
    people = _core.as_whole("records", records, 1)
    more = arguments.positive("design_effect", design_effect)
    within = arguments.between("tolerance", tolerance)
    part = None if share is None else arguments.between("share", share)
    z = quantiles.two_sided(arguments.between("confidence", confidence))
    goal = _Goal(people / more, within, part, z)
    least = goal.within(families.identity(2))
    if not least <= within:
        must = f"be at least {exact(least)} for {people} records"
        raise Refused("tolerance", f"{must}, even without noise", exact(within))
    many = _core.as_whole("size", size, 2)
    costs = None if cost is None else cost_table(many, cost)
    known = FAMILIES if family is None and cost is None else (*FAMILIES, "gibbs")
    names = arguments.names_of("family", known if family is None else family, known)
    if "gibbs" in names and cost is None:
        raise Refused("cost", "be given for gibbs", "none")
    return Strongest(goal.choice(name, many, costs) for name in names)


@dataclass(frozen=True)
class _Goal:
    """How many records there are, as many as without a design, and how precise to be."""

    records: float
    tolerance: float
    share: float | None
    z: float

    def within(self, matrix: Matrix) -> float:
        if linear.is_singular(matrix):
            return math.inf
        return self.z * math.sqrt(largest_variance(matrix, self.share) / self.records)

    def holds(self, matrix: Matrix) -> bool:
        return self.within(matrix) <= self.tolerance * (1 + 1e-13)

    def choice(self, family: str, size: int, cost: Any = None) -> Choice:
        if family == "k_anonymous":
            return Choice(family, None, None, CLASSES)
        if family == "difference_set":
            matrix = self._by_sets(size)
        else:
            make, low, high = ways(family, size, cost)
            if family == "tridiagonal":
                # Up to the first alpha at which it is singular; beyond it errors fall again.
                high = min(high, 0.5 / (1 - math.cos(math.pi * (size - 1) / size)))
            matrix = make(last(low, high, lambda x: self.holds(make(x)))[0])
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

        epsilon = -last(-45.0, -1e-9, holds)[0]
        while not self.holds(matrix := families.difference_set(size, epsilon=epsilon)):
            # Rounding onto the grid cost a little.
            epsilon *= 1 + 1e-9
        return matrix


def by_suspicion(suspicion: object) -> float:
    """Compute the epsilon at which a suspicion grows at most from one probability to another.

    A reported value multiplies the odds of a true category by at most ``e^epsilon``.

    >>> bs.choose.by_suspicion((0.1, 0.3))
    1.349...
    """
    must = "be two probabilities (before, after), the second the larger one"
    if not isinstance(suspicion, tuple | list) or len(suspicion) != 2:
        raise RefusedType("suspicion", must, type(suspicion).__name__)
    before, after = (_core.as_real("suspicion", "be two probabilities", x) for x in suspicion)
    if not 0 < before < after < 1:
        raise Refused("suspicion", must, f"{before:g} and {after:g}")
    return math.log(after / (1 - after) * ((1 - before) / before)) * (1 - 1e-15)


def ways(family: str, size: int, cost: Array | str | None) -> tuple[Make, float, float]:
    """Return how a family is made from a number, and its range, from less noise to more."""
    if family == "randomized_response":
        return (lambda x: families.randomized_response(size, keep=1 - x), 0.0, 1 - 1 / size)
    if family == "tridiagonal":
        return (lambda x: families.tridiagonal(x, size=size), 0.0, 0.5)
    if family == "k_anonymous":
        return (lambda x: families.k_anonymous(size, k=math.ceil(x)), 1.0, float(size))
    if family == "geometric":
        low, high = math.log(_COLD), math.log(_HOT)
        return lambda x: families.geometric(size, temperature=math.exp(x)), low, high
    assert cost is not None
    if isinstance(cost, str):
        cost = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    steps = cost[np.isfinite(cost) & (cost > 0)]
    if not len(steps):
        raise Refused("cost", "hold a positive number", "none")
    table = np.asarray(cost)
    low, high = math.log(_COLD * float(steps.min())), math.log(_HOT * float(steps.max()))
    coldest = float(steps.max()) / 2**14
    return lambda x: families.gibbs(table, temperature=max(math.exp(x), coldest)), low, high


def reach(family: str, size: int, parameters: Mapping[str, Any]) -> Matrix | None:
    """Find the least noisy matrix that reaches one number; None if the family accepts it itself.

    ``parameters`` hold the epsilon, beta or truthfulness to reach at this ``size``, and for
    :func:`gibbs` the ``cost``.

    >>> bs.choose.reach("geometric", 5, {"truthfulness": 0.5}).truthfulness
    0.49999...
    >>> bs.choose.reach("geometric", 5, {"beta": 0.5}) is None
    True
    """
    asked = [name for name in KNOWN if parameters.get(name) is not None]
    others = set(parameters) - {*asked, "size", "cost"}
    if len(asked) != 1 or others or family not in (*families.BY_BETA, "gibbs"):
        return None
    (name,) = asked
    if name in signature(getattr(families, family)).parameters:
        return None
    limit = arguments.limit(name, parameters[name])
    if family == "randomized_response":
        # Exactly: the truthful probability is its parameter.
        matrix = families.randomized_response(size, keep=parameters[name])
    else:
        cost = parameters.get("cost")
        table = None if cost is None else np.asarray(cost, float)
        if family == "gibbs" and table is None:
            raise RefusedType("cost", "be given for gibbs", "nothing")
        make, low, high = ways(family, size, table)
        own: Callable[[Matrix], float] = lambda m: float(getattr(m, name) or 0.0)  # noqa: E731
        least = own(make(high))
        if family == "k_anonymous" and name == "epsilon":
            # Anything less than one class excludes true categories.
            least = math.inf
        if least > limit:
            must = "inf" if least == math.inf else f"at least {exact(least)}"
            must = f"`{name}` must be {must} for {family}"
            raise OutOfReachError(f"{must}; got {exact(limit)}", least=least)
        enough = own(make(low)) <= limit
        matrix = make(low if enough else last(low, high, lambda x: own(make(x)) > limit)[1])
    requested = {"size": size} if family != "gibbs" else {}
    return _core.restore(family, _core.arrays(matrix), {**requested, name: parameters[name]})


def last(low: float, high: float, holds: Callable[[float], bool]) -> tuple[float, float]:
    """Find where it ceases to hold: the last number from ``low`` on, and the first after it."""
    while (middle := (low + high) / 2) not in (low, high) and high - low > 1e-13 * abs(middle):
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high
