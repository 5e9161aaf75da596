"""``Sample``: rows with weights and a design, and the covariance of totals over them.

A row is a record, or all records that share every requested number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from bistochastic.arguments import Array

# Weights between these have squares, and products of four, that doubles hold.
_LEAST, _MOST = 1e-50, 1e50


def wrong_weight(weights: Array) -> tuple[int, str, str] | None:
    """Find the first weight that cannot be used: its row, what it must be, and what it is."""
    good = (weights == 0) | ((weights >= _LEAST) & (weights <= _MOST))
    if good.all():
        return None
    at = int(np.argmin(good))
    if weights[at] > 0 and np.isfinite(weights[at]):
        return at, f"hold 0 or numbers from {_LEAST:g} to {_MOST:g}", "one outside of that"
    got = "a negative one" if weights[at] < 0 else "one that is missing or infinite"
    return at, "hold non-negative numbers", got


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of a table: sums of weights and of their squares, strata, clusters or replicates.

    ``units`` says how many clusters, or records, each stratum of the design has. ``clusters`` are
    the cluster of every row and the stratum of every cluster.
    """

    records: int
    sums: Array
    squares: Array
    units: NDArray[np.int64]
    weighted: bool = False
    strata: NDArray[np.intp] | None = None
    clusters: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None
    replicates: Array | None = None
    scale: float = 1.0
    factors: Array | None = None
    """The factor on the variance of each stratum in a finite population; 1 if None."""
    second: tuple[NDArray[np.intp], NDArray[np.intp], Array] | None = None
    """The second stage: the unit of every row, the cluster of every unit, a factor per cluster."""
    left: Array | None = None
    """The part of each row's noise that no stage of the design has."""

    @property
    def degrees(self) -> float:
        """Degrees of freedom: replicates less 1, or clusters less strata."""
        if self.replicates is not None:
            return float(len(self.replicates) - 1)
        return float(self.units.sum() - len(self.units))

    @property
    def is_plain(self) -> bool:
        """Whether all records count alike."""
        simple = self.clusters is None and self.replicates is None
        return not self.weighted and simple and len(self.units) == 1

    def totals(self, values: Array) -> Array:
        """Weighted totals of rows of values."""
        return np.array([math.fsum(row * self.sums) for row in values])

    def error(self, value: float, statistic: Callable[[Sample], float]) -> float:
        """Compute the standard error of a statistic from its value under each replicate's weights.

        It is infinite if a replicate has no value: the statistic is NaN, or rejects the weights.
        """
        assert self.replicates is not None
        found = []
        for weights in self.replicates:
            try:
                theirs = statistic(replace(self, sums=weights, squares=weights**2, replicates=None))
            except (ValueError, ZeroDivisionError):
                return math.inf
            if not math.isfinite(theirs):
                return math.inf
            found.append((theirs - value) ** 2)
        return math.sqrt(self.scale * math.fsum(found))

    def covariance(self, values: Array, products: Array | None = None) -> Array:
        """Compute the covariance matrix of the totals, between clusters within strata.

        For one stratum of n records it is ``n / (n - 1)`` times the sum of squares about the mean.
        It is infinite if a stratum has one unit. In a finite population the factors of each stage
        count, and the noise, which needs the ``products`` of :meth:`noise`.
        """
        if self.replicates is not None:
            away = self.replicates @ values.T - self.totals(values)
            return np.asarray(self.scale * (away.T @ away))
        if self.left is not None and products is None:
            raise ValueError(
                "`fpc` must be given for tables, counts, ratios and means only; got it for a model"
            )
        factors = np.ones(len(self.units)) if self.factors is None else self.factors
        if ((self.units < 2) & (factors > 0)).any():
            return np.full((len(values), len(values)), math.inf)
        if self.clusters is not None:
            which, strata = self.clusters
            parts = [np.bincount(which, row * self.sums, len(strata)) for row in values]
            found = _between(np.stack(parts).astype(float), None, None, strata, factors)
        else:
            strata = np.zeros(len(self.sums), np.intp) if self.strata is None else self.strata
            found = _between(values, self.sums, self.squares, strata, factors, self.units)
        if self.second is not None:
            which, clusters, inner = self.second
            parts = [np.bincount(which, row * self.sums, len(clusters)) for row in values]
            found += _between(np.stack(parts).astype(float), None, None, clusters, inner)
        if self.left is not None and products is not None:
            found += replace(self, squares=self.squares * self.left).noise(values, products)
        return found

    def noise(self, values: Array, products: Array) -> Array:
        """Compute the covariance of the totals that only randomization adds.

        ``products`` has the pseudo-responses of the products of the true values.
        """
        k = len(values)
        found = np.empty((k, k))
        for i in range(k):
            for j in range(i, k):
                rest = values[i] * values[j] - products[i, j]
                found[i, j] = found[j, i] = math.fsum(self.squares * rest)
        return found


def _between(
    sums: Array,
    weights: Array | None,
    squares: Array | None,
    groups: NDArray[np.intp],
    factors: Array,
    units: NDArray[np.int64] | None = None,
) -> Array:
    """Sum squares and products about the means of groups, each with its factor.

    Rows of values represent several units if they come with ``weights``, ``squares`` of these and
    the number of ``units`` of each group.
    """
    k, count = len(sums), len(factors)
    many = np.bincount(groups, minlength=count) if units is None else units
    more = np.where(many > 1, factors * many / np.maximum(many - 1, 1), 0.0)
    means = [np.bincount(groups, x if weights is None else x * weights, count) for x in sums]
    found = np.empty((k, k))
    for i in range(k):
        for j in range(i, k):
            both = sums[i] * sums[j]
            total = np.bincount(groups, both if squares is None else both * squares, count)
            about = total - means[i] * means[j] / np.maximum(many, 1)
            found[i, j] = found[j, i] = math.fsum(more * about)
    return found
