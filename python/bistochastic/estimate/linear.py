"""Tables of reported values mapped back to tables of the original, axis by axis, with errors.

Every cell of the original is a mean of pseudo-responses: numbers that a reported value adds to it,
unbiased for any true value. The pseudo-response of a combination is the product over its columns.
So means, and variances of any design, need only tables of reported values: of records, of weights,
of squared weights.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from bistochastic import _core, linear, structure
from bistochastic.arguments import Array
from bistochastic.cached import cached
from bistochastic.estimate import intervals, quantiles
from bistochastic.estimate.sample import Stage, Tallies
from bistochastic.structure import Stochastic

# What a table is multiplied by, from the pseudo-responses of categories x codes.
_KINDS: dict[str, Callable[[Array], Array]] = {
    "back": np.asarray,
    "squares": np.square,
    "cross": lambda back: np.asarray(back * back.sum(axis=0)),
    "domain": lambda back: np.asarray(back.sum(axis=0, keepdims=True) ** 2),
}


@dataclass(frozen=True, eq=False)
class Factor:
    """One axis of the reported table: its pseudo-responses, and the categories it reports.

    ``back`` has the pseudo-responses of each requested category: an array of categories x codes, or
    one for each code of the axis ``by``. A ``matrix`` is used through its inverse, which is never
    written down; codes that are never true are left out. An unprotected axis has neither and stays
    as it is.

    >>> import numpy as np
    >>> Factor(0, matrix=bs.randomized_response(2, keep=0.75)).of(np.array([[60.0, 40.0]]), "back")
    array([[70., 30.]])
    """

    axis: int
    back: tuple[Array, ...] | None = None
    told: Array | None = None
    by: int | None = None
    matrix: Stochastic | None = None

    def of(self, tables: Array, kind: str) -> Array:
        """Map its axis of a stack of tables; the ``kind`` is that of :meth:`Map.of`."""
        axis = 1 + self.axis
        if self.back is None and kind == "domain":
            return np.asarray(tables.sum(axis=axis, keepdims=True))
        if self.matrix is not None:
            moved = np.moveaxis(tables, axis, -1)
            rows = np.ascontiguousarray(moved).reshape(-1, moved.shape[-1])
            if kind == "squares":
                rows = np.stack([intervals.squared_rows(self.matrix, row) for row in rows])
            elif kind != "told":
                # All categories together add 1, so their product with the sum is themselves.
                rows = np.asarray(linear.solve(self.matrix, rows.T)).T
            true = rows[:, : self.matrix.size - self.matrix.padding]
            return np.moveaxis(true.reshape(*moved.shape[:-1], -1), -1, axis)
        if self.back is None:
            return tables
        arrays = [_KINDS[kind](back) for back in self.back] if kind in _KINDS else [self.told]
        by = 1 + (self.by or 0)
        parts = zip(np.split(tables, len(arrays), axis=by), arrays, strict=True)
        done = (np.moveaxis(part, axis, -1) @ np.asarray(each).T for part, each in parts)
        return np.concatenate([np.moveaxis(part, -1, axis) for part in done], axis=by)

    def ends(self, size: int) -> tuple[Array, Array]:
        """Find the least and the most that one of ``size`` codes can add to each category."""
        if self.matrix is not None:
            low, high = intervals.extremes(self.matrix)
            true = slice(size - self.matrix.padding)
            return low[true], high[true]
        if self.back is None:
            return np.zeros(size), np.ones(size)
        both = np.stack(self.back)
        return both.min(axis=(0, 2)), both.max(axis=(0, 2))


@dataclass(frozen=True, eq=False)
class Map:
    """All factors: a map from a stack of reported tables to tables of the request.

    ``shape`` is the shape of the reported table, ``columns`` the sizes of the columns in the order
    of the factors, ``order`` their requested order.

    >>> import numpy as np
    >>> m = bs.randomized_response(2, keep=0.75)
    >>> unprotected = Factor(0)
    >>> both = Map((2, 2), (unprotected, Factor(1, matrix=m)), (2, 2), (1, 0))
    >>> both.of(np.array([[6.0, 4.0], [5.0, 5.0]])).reshape(2, 2)
    array([[7., 5.],
           [3., 5.]])
    """

    shape: tuple[int, ...]
    factors: tuple[Factor, ...]
    columns: tuple[int, ...]
    order: tuple[int, ...]

    @classmethod
    def back_from(cls, matrix: Stochastic) -> Self:
        """Make the map back from reported values of one matrix, an axis per factor of a kron."""
        parts = structure.axes(matrix) or [matrix]
        shape = tuple(part.size for part in parts)
        factors = tuple(Factor(i, matrix=part) for i, part in enumerate(parts))
        true = tuple(part.size - part.padding for part in parts)
        return cls(shape, factors, true, tuple(range(len(parts))))

    @property
    def cells(self) -> int:
        """The number of requested cells."""
        return math.prod(self.columns)

    def of(self, tables: Array, kind: str = "back") -> Array:
        """Compute a row of cells for each of the ``tables``.

        The ``kind`` is ``"back"`` for totals, ``"squares"`` of pseudo-responses, their ``"cross"``
        with those of the subgroup, its ``"domain"``, or ``"told"`` for what was reported.
        """
        found = tables.reshape(-1, *self.shape)
        # Axes that others depend on come last.
        for factor in sorted(self.factors, key=lambda each: each.by is None):
            found = factor.of(found, kind)
        return found.reshape(-1, 1) if kind == "domain" else self._arranged(found)

    def ends(self) -> tuple[Array, Array]:
        """Find the least and the most that a reported value can add to each cell."""
        found = np.ones(1), np.ones(1)
        for factor, size in zip(self.factors, self.shape, strict=True):
            found = intervals.corners(found, factor.ends(size))
        return self._arranged(found[0])[0], self._arranged(found[1])[0]

    def _arranged(self, tables: Array) -> Array:
        axes = (0, *(1 + place for place in self.order))
        arranged = tables.reshape(-1, *self.columns).transpose(axes)
        return np.ascontiguousarray(arranged).reshape(len(arranged), -1)


@dataclass(frozen=True, eq=False)
class Linear:
    """Shares of a subgroup by inverse estimates, and their errors.

    With ``N`` the estimated total of a cell and ``D`` the total of the subgroup, a share is ``N /
    D``. Its error is the error of the total of ``(g_N - share g_D) / D``, with g the
    pseudo-responses. If the subgroup is known (``exact``), D is the sum of weights.

    >>> import numpy as np
    >>> counts = np.array([60.0, 40.0])
    >>> tallies = bs.estimate.Tallies.counted(100, counts, counts, 100)
    >>> back = Map.back_from(bs.randomized_response(2, keep=0.75))
    >>> found = Linear(back, tallies, fixed=False, exact=True)
    >>> found.shares, np.sqrt(found.variance).round(4)
    (array([0.7, 0.3]), array([0.0985, 0.0985]))
    """

    map: Map
    tallies: Tallies
    fixed: bool
    exact: bool

    @cached
    def totals(self) -> Array:
        """The estimated total of each cell."""
        return np.asarray(self.map.of(self.tallies.whole)[0])

    @cached
    def total(self) -> float:
        """The estimated total of the subgroup."""
        return float(self.tallies.whole.sum() if self.exact else self.totals.sum())

    @cached
    def shares(self) -> Array:
        """The estimated shares of the subgroup; NaN if it is estimated to be empty."""
        if not self.total > 0:
            return np.full(self.map.cells, math.nan)
        return np.asarray(self.totals / self.total)

    @cached
    def reported(self) -> Array:
        """The shares among the reported values."""
        told = self.map.of(self.tallies.whole, "told")[0]
        total = self.tallies.whole.sum() if self.exact else told.sum()
        return np.asarray(told / total if total > 0 else told)

    def _whole(self, tables: Array, cells: Array) -> Array:
        """Return the total of the subgroup in each table: of all reported values if it is known."""
        held = tables.reshape(len(cells), -1) if self.exact else cells
        return np.asarray(held.sum(axis=1))

    @cached
    def _moments(self) -> tuple[Array, Array, float]:
        """Variances of totals, their covariances with the domain's, and the domain's variance."""
        sample = self.tallies.sample
        if self.fixed:
            return self._of_noise(sample.squares)
        if self._replicated is not None:
            cells, totals = self._replicated
            away, whole, scale = cells - self.totals, totals - self.total, sample.scale
            every = scale * np.einsum("ij,ij->j", away, away)
            return every, scale * (whole @ away), float(scale * (whole @ whole))
        parts = [self._between(stage) for stage in sample.stages]
        if sample.left is not None:
            own, cross, all_ = self._of_noise(sample.squares * sample.left)
            # A domain that is known holds no noise.
            parts.append((own, 0 * own, 0.0) if self.exact else (own, cross, all_))
        nn, nd, dd = zip(*parts, strict=True)
        return np.sum(nn, axis=0), np.sum(nd, axis=0), math.fsum(dd)

    def _between(self, stage: Stage) -> tuple[Array, Array, float]:
        tallies, more = self.tallies, stage.more
        if stage.lonely:
            return np.full(self.map.cells, math.inf), np.zeros(self.map.cells), math.inf
        sums = tallies.by_group(stage, tallies.sample.sums)
        means = self.map.of(sums)
        wholes = self._whole(sums, means)
        if stage.units is None:
            tables = tallies.by_group(stage, tallies.sample.squares)
            squares, crosses = self.map.of(tables, "squares"), self.map.of(tables, "cross")
            domains = self.map.of(tables, "domain")[:, 0]
        else:
            squares, crosses = np.zeros_like(means), np.zeros_like(means)
            domains = np.zeros(len(means))
            for groups, tables in tallies.by_unit(stage):
                found = self.map.of(tables)
                whole = self._whole(tables, found)
                np.add.at(squares, groups, found**2)
                np.add.at(crosses, groups, found * whole[:, None])
                np.add.at(domains, groups, whole**2)
        many = stage.many[:, None]
        nn = more @ (squares - means**2 / many)
        nd = more @ (crosses - means * wholes[:, None] / many)
        return nn, nd, float(more @ (domains - wholes**2 / stage.many))

    def _of_noise(self, squares: Array) -> tuple[Array, Array, float]:
        """Return the part that only randomization adds: ``E g^2 - f``, as a true f is 0 or 1."""
        table = self.tallies.table(squares)
        own = self.map.of(table)[0]
        nn = self.map.of(table, "squares")[0] - own
        nd = self.map.of(table, "cross")[0] - own
        return nn, nd, float(self.map.of(table, "domain")[0, 0] - own.sum())

    @cached
    def _replicated(self) -> tuple[Array, Array] | None:
        """The totals of cells and of the subgroup under each replicate's weights, if any."""
        replicates = self.tallies.sample.replicates
        if replicates is None or self.fixed:
            return None
        tables = np.stack([self.tallies.table(each) for each in replicates])
        cells = self.map.of(tables)
        return cells, self._whole(tables, cells)

    @cached
    def _away(self) -> Array | None:
        """The distances of each replicate's shares from the estimates; None without replicates.

        A replicate divides by its own total, the total of the subgroup under its weights. A share
        is NaN if that total is not positive.
        """
        if self._replicated is None:
            return None
        cells, wholes = self._replicated
        totals = wholes[:, None]
        shares = np.divide(cells, totals, out=np.full_like(cells, math.nan), where=totals > 0)
        away = shares - self.shares
        # A move that is only rounding is none.
        return np.where(np.abs(away) <= 1e-14 * np.maximum(1, np.abs(self.shares)), 0.0, away)

    @property
    def silent(self) -> int:
        """How many replicates have no positive total in the domain, and so no shares."""
        return 0 if self._away is None else int(np.isnan(self._away).any(axis=1).sum())

    @cached
    def variance(self) -> Array:
        """The variance of each share."""
        sample, p = self.tallies.sample, self.shares
        if sample.lost:
            raise ValueError(sample.lost)
        if not self.total > 0 or self.silent:
            return np.full_like(p, math.inf)
        if self._away is not None:
            return np.asarray(sample.scale * np.einsum("ij,ij->j", self._away, self._away))
        nn, nd, dd = self._moments
        if np.isinf(nn).any():
            return np.full_like(p, math.inf)
        # In a fixed population a known domain is not a part of what was drawn.
        found = nn if self.fixed and self.exact else nn - 2 * p * nd + p * p * dd
        rounding = 8e-16 * (np.abs(nn) + 2 * np.abs(p * nd) + p * p * abs(dd))
        return np.where(found > rounding, found, 0.0) / self.total**2

    def covariance(self) -> Array:
        """Return the covariance matrix of the shares."""
        cells, codes = self.map.cells, math.prod(self.map.shape)
        _core.require_memory("covariance", cells, cells + codes, 32)
        p, sample = self.shares, self.tallies.sample
        if not self.total > 0 or np.isinf(self.variance).any():
            return intervals.unknown(cells)
        if self._away is not None:
            return np.asarray(sample.scale * (self._away.T @ self._away))
        responses = self.map.of(np.eye(codes))
        centred = responses - np.outer(self._whole(np.eye(codes), responses), p)
        if self.fixed:
            return self._noisy(sample.squares, responses, centred)
        found = np.sum([self._spread(stage, centred) for stage in sample.stages], axis=0)
        found = np.asarray(found / self.total**2)
        if sample.left is None:
            return found
        return found + self._noisy(sample.squares * sample.left, responses, centred)

    def _spread(self, stage: Stage, centred: Array) -> Array:
        tallies, more = self.tallies, stage.more
        sums = tallies.by_group(stage, tallies.sample.sums) @ centred
        total = -(sums.T * (more / stage.many)) @ sums
        if stage.units is None:
            weights = more @ tallies.by_group(stage, tallies.sample.squares)
            return np.asarray(total + (centred.T * weights) @ centred)
        for groups, tables in tallies.by_unit(stage):
            found = tables @ centred
            total += (found.T * more[groups]) @ found
        return np.asarray(total)

    def _noisy(self, squares: Array, responses: Array, centred: Array) -> Array:
        """Compute the part of the covariance that only randomization adds, for squared weights."""
        weights = self.tallies.table(squares)
        own = weights @ responses
        # The expected square of what a true value adds: f_c f_d is 0 apart from f_c itself.
        truth = np.diag(own)
        if self.exact:
            centred = responses
        else:
            p = self.shares
            truth = truth - np.outer(own, p) - np.outer(p, own) + own.sum() * np.outer(p, p)
        return np.asarray(((centred.T * weights) @ centred - truth) / self.total**2)

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the intervals; infinite if they are normal."""
        return math.inf if self.fixed else self.tallies.sample.degrees

    def bounds(self, alpha: float) -> tuple[Array, Array]:
        """Bounds of the shares that miss with ``alpha`` each."""
        p, n = self.shares, self.tallies.sample.records
        if not self.total > 0 or self.degrees < 1 or np.isinf(self.variance).any():
            return np.zeros_like(p), np.ones_like(p)
        if self.exact and self.tallies.sample.is_plain:
            spread = self.variance * (n if self.fixed else n - 1)
            if self.fixed:
                spread = spread + np.clip(p * (1 - p), 0, None)
            ends = self.map.ends()
            low, high = intervals.mean_bounds(p, spread, ends, n, alpha, fixed=self.fixed)
            # A cell that no reported value adds to cannot occur.
            never = ends[0] == ends[1]
            return np.where(never, p, low), np.where(never, p, high)
        t = quantiles.student(alpha, self.degrees)
        if self.exact:
            away = t * np.sqrt(self.variance)
            return p - away, p + away
        nn, nd, dd = self._moments
        low, high, bounded = intervals.fieller(self.totals, self.total, nn, nd, dd, t)
        return np.where(bounded, low, 0.0), np.where(bounded, high, 1.0)
