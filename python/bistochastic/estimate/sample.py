"""``Sample``: rows with weights and a design, and the covariance of totals over them.

A row is a record, or all records that share every requested number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bistochastic.arguments import Array
from bistochastic.cached import cached
from bistochastic.errors import Refused

Places = NDArray[np.intp]

# Weights between these have squares, and products of four, that doubles hold.
_LEAST, _MOST = 1e-50, 1e50
# Numbers that tables of units hold at a time.
_HELD = 1 << 22


def wrong_weight(weights: Array) -> tuple[int, str, str] | None:
    """Find the first of ``weights`` that cannot be used: its row, what it must be, and what it is.

    >>> import numpy as np
    >>> wrong_weight(np.array([1.0, 0.5, -2.0]))
    (2, 'hold non-negative numbers', 'a negative one')
    """
    good = (weights == 0) | ((weights >= _LEAST) & (weights <= _MOST))
    if good.all():
        return None
    at = int(np.argmin(good))
    if weights[at] > 0 and np.isfinite(weights[at]):
        return at, f"hold 0 or numbers from {_LEAST:g} to {_MOST:g}", "one outside of that"
    got = "a negative one" if weights[at] < 0 else "one that is missing or infinite"
    return at, "hold non-negative numbers", got


@dataclass(frozen=True, eq=False)
class Stage:
    """A stage of a design: how many units each group has, and a factor on their variance.

    Groups are strata, or the clusters of the stage before. With the fraction f of a stage sampled,
    ``1 - f`` of the variance between its units is left. The other part f is replaced by the
    variance of the next stage: the variance within units, and at last the noise, which no sampling
    removes.

    >>> import numpy as np
    >>> strata, clusters = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 2, 3])
    >>> stage = Stage.of(strata, clusters)
    >>> stage.many, stage.lonely
    (array([2, 2]), 0)
    """

    many: NDArray[np.int64]
    factors: Array
    groups: Places | None = None
    """The group of every row; None if there is one."""
    units: Places | None = None
    """The unit of every row; None if records are the units."""
    group_of_units: Places | None = None

    @classmethod
    def of(cls, groups: Places, units: Places | None = None, factor: Array | None = None) -> Self:
        """Make a stage from the ``groups``, the ``units`` and the ``factor`` of every row."""
        group_of_units = None
        if units is not None:
            group_of_units = np.zeros(int(units.max(initial=-1)) + 1, np.intp)
            group_of_units[units] = groups
        many = np.bincount(groups if group_of_units is None else group_of_units)
        factors = np.ones(len(many))
        if factor is not None:
            factors[groups] = factor
        return cls(many, factors, groups, units, group_of_units)

    @property
    def lonely(self) -> int:
        """How many groups have one unit, so the variance between units is not known."""
        return int(np.count_nonzero((self.many < 2) & (self.factors > 0)))

    @property
    def more(self) -> Array:
        """The factor from the sum of squares about the mean of a group to the variance."""
        return np.where(self.many > 1, self.factors * self.many / np.maximum(self.many - 1, 1), 0.0)


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of a table: sums of weights and of their squares, and the stages of the design.

    >>> import numpy as np
    >>> weights = np.array([1.0, 1.0, 2.0])
    >>> sample = Sample(3, weights, weights**2, (Stage(np.array([3]), np.ones(1)),), weighted=True)
    >>> sample.degrees, round(sample.effective, 3)
    (2.0, 2.667)
    >>> sample.totals(np.array([[0.0, 1.0, 1.0]])), sample.covariance(np.array([[0.0, 1.0, 1.0]]))
    (array([3.]), array([[3.]]))
    """

    records: int
    sums: Array
    squares: Array
    stages: tuple[Stage, ...]
    weighted: bool = False
    replicates: Array | None = None
    scale: float = 1.0
    left: Array | None = None
    """The part of each row's noise that no stage has; None unless the population is finite."""
    lost: str = ""
    """The reason why errors are unknown, if they are."""

    @property
    def degrees(self) -> float:
        """Degrees of freedom: replicates less 1, or clusters less strata."""
        if self.replicates is not None:
            return float(len(self.replicates) - 1)
        many = self.stages[0].many
        return float(many.sum() - len(many))

    @property
    def effective(self) -> float:
        """How many records of equal weight are as informative (Kish)."""
        return float(self.sums.sum()) ** 2 / float(self.squares.sum())

    @property
    def clustered(self) -> bool:
        """Whether records of a cluster share noise or were drawn together."""
        return self.stages[0].units is not None

    @property
    def is_plain(self) -> bool:
        """Whether all records count alike."""
        simple = not self.weighted and not self.clustered and self.left is None
        return simple and not self.lost and len(self.stages[0].many) == 1

    def totals(self, values: Array) -> Array:
        """Weighted totals of rows of values."""
        return np.array([math.fsum(row * self.sums) for row in values])

    def error(self, value: float, statistic: Callable[[Self], float]) -> float:
        """Compute the standard error of a statistic from its value under each replicate's weights.

        It is infinite if a replicate has no value: the statistic is NaN, or rejects the weights.
        """
        assert self.replicates is not None
        each = (replace(self, sums=x, squares=x**2, replicates=None) for x in self.replicates)
        try:
            found = [statistic(sample) for sample in each]
        except (ValueError, ZeroDivisionError):
            return math.inf
        if not all(map(math.isfinite, found)):
            return math.inf
        return math.sqrt(self.scale * math.fsum((theirs - value) ** 2 for theirs in found))

    def covariance(self, values: Array, products: Array | None = None) -> Array:
        """Compute the covariance matrix of the totals of ``values``, between units of each stage.

        For one stratum of n records it is ``n / (n - 1)`` times the sum of squares about the mean.
        It is infinite if a stratum has one unit. In a finite population the factors of each stage
        count, and the noise, which needs the ``products`` of :meth:`noise`.
        """
        if self.replicates is not None:
            away = self.replicates @ values.T - self.totals(values)
            return np.asarray(self.scale * (away.T @ away))
        if self.left is not None and products is None:
            must = "be given for tables, counts, ratios and means only"
            raise Refused("fpc", must, "it for a model")
        if self.stages[0].lonely:
            return np.full((len(values), len(values)), math.inf)
        found = np.sum([self._between(stage, values) for stage in self.stages], axis=0)
        if self.left is not None and products is not None:
            found += replace(self, squares=self.squares * self.left).noise(values, products)
        return np.asarray(found)

    def noise(self, values: Array, products: Array) -> Array:
        """Compute the covariance of the totals that only randomization adds.

        ``products`` has the pseudo-responses of the products of the true values.
        """
        return _of_pairs(
            values, lambda i, j: math.fsum(self.squares * (values[i] * values[j] - products[i, j]))
        )

    def _between(self, stage: Stage, values: Array) -> Array:
        """Sum squares and products about the means of the groups of a stage, each with its factor.

        Rows are units with their squared weights, unless the stage has units of several rows.
        """
        groups, count, more = stage.groups, len(stage.many), stage.more
        groups = np.zeros(len(self.sums), np.intp) if groups is None else groups
        sums = [row * self.sums for row in values]
        squares = self.squares
        if stage.units is not None and stage.group_of_units is not None:
            groups, units = stage.group_of_units, len(stage.group_of_units)
            sums = [np.bincount(stage.units, x, units).astype(float) for x in sums]
            values, squares = np.stack(sums), np.ones(units)
        means = [np.bincount(groups, x, count) for x in sums]

        def about(i: int, j: int) -> float:
            total = np.bincount(groups, values[i] * values[j] * squares, count)
            return math.fsum(more * (total - means[i] * means[j] / np.maximum(stage.many, 1)))

        return _of_pairs(values, about)


def _of_pairs(values: Array, entry: Callable[[int, int], float]) -> Array:
    k = len(values)
    found = np.empty((k, k))
    for i in range(k):
        for j in range(i, k):
            found[i, j] = found[j, i] = entry(i, j)
    return found


def summed(places: NDArray[Any], weights: Array, cells: int) -> Array:
    """Sum the weights of the rows of each cell."""
    return np.asarray(np.bincount(places, weights, cells), float)


@dataclass(frozen=True, eq=False)
class Tallies:
    """A sample in the cells of a table: the ``place`` of every row.

    Without places the rows are all cells, stratum by stratum.

    >>> import numpy as np
    >>> counts = np.array([60.0, 40.0])
    >>> tallies = Tallies.counted(100, counts, counts, 100)
    >>> tallies.whole, tallies.sample.degrees
    (array([60., 40.]), 99.0)
    """

    sample: Sample
    cells: int
    place: NDArray[np.uint32] | None = None

    @classmethod
    def counted(
        cls, records: int, sums: Array, squares: Array, units: object, *, weighted: bool = False,
        lost: str = "",
    ) -> Self:  # fmt: skip
        """Make tables of counted cells, a row for each stratum, which has that many ``units``.

        ``sums`` and ``squares`` are those of the weights of the ``records`` in each cell, which are
        counts unless ``weighted``. ``lost`` says why errors are unknown, if they are.
        """
        many = np.atleast_1d(np.asarray(units, np.int64))
        stage = Stage(many, np.ones(len(many)))
        sample = Sample(records, sums.reshape(-1), squares.reshape(-1), (stage,), weighted,
                        lost=lost)  # fmt: skip
        return cls(sample, sums.size // len(many))

    def table(self, weights: Array) -> Array:
        """Make the table of some weights."""
        if self.place is None:
            return np.asarray(weights.reshape(-1, self.cells).sum(axis=0))
        return summed(self.place, weights, self.cells)

    @cached
    def whole(self) -> Array:
        """The table of all rows."""
        return self.table(self.sample.sums)

    def by_group(self, stage: Stage, weights: Array) -> Array:
        """Make a table of ``weights`` for each group of a stage."""
        count = len(stage.many)
        if self.place is None:
            return weights.reshape(count, self.cells)
        assert stage.groups is not None
        joint = stage.groups.astype(np.int64) * self.cells + self.place
        return summed(joint, weights, count * self.cells).reshape(count, self.cells)

    def by_unit(self, stage: Stage) -> Iterator[tuple[Places, Array]]:
        """Make tables of some units of a stage at a time, with their groups."""
        assert stage.units is not None
        assert stage.group_of_units is not None
        assert self.place is not None
        order = np.argsort(stage.units, kind="stable")
        units, place = stage.units[order], self.place[order]
        weights = self.sample.sums[order]
        step = max(1, _HELD // self.cells)
        for start in range(0, len(stage.group_of_units), step):
            groups = stage.group_of_units[start : start + step]
            low, high = np.searchsorted(units, [start, start + step])
            at = (units[low:high] - start) * self.cells + place[low:high]
            tables = np.bincount(at, weights[low:high], minlength=len(groups) * self.cells)
            yield groups, tables.astype(float).reshape(len(groups), self.cells)
