"""Tables of reported values mapped back to tables of the original, axis by axis, with errors.

Every cell of the original is a mean of pseudo-responses: numbers that a reported value adds to it,
unbiased for any true value. The pseudo-response of a combination is the product over its columns.
So means, and variances of any design, need only tables of reported values: of records, of weights,
of squared weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bistochastic import _core, operators, structure
from bistochastic.estimate import intervals, quantiles
from bistochastic.estimate.fieller import fieller
from bistochastic.kept import kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from bistochastic.arguments import Array
    from bistochastic.matrix import Matrix

# Numbers that tables of clusters hold at a time.
_HELD = 1 << 22


@dataclass(frozen=True, eq=False)
class Factor:
    """One axis of the reported table: its pseudo-responses, and the categories it reports.

    ``back`` has the pseudo-responses of each requested category: an array of categories x codes, or
    one for each code of the axis ``by``. A ``matrix`` is used through its inverse, which is never
    written down; codes that are never true are left out. An unprotected axis has neither and stays
    as it is.
    """

    axis: int
    back: tuple[Array, ...] | None = None
    told: Array | None = None
    by: int | None = None
    matrix: Matrix | None = None

    def whole(self, rows: Array, kind: str) -> Array:
        """Multiply rows by the inverse of the matrix, if all its categories are requested."""
        assert self.matrix is not None
        true = slice(self.matrix.size - self.matrix.padding)
        if kind == "told":
            return rows[:, true]
        if kind == "squares":
            squares = [intervals.squared_rows(self.matrix, row)[0][true] for row in rows]
            return np.stack(squares)
        # All categories together add 1, so their product with the sum is themselves.
        return np.asarray(operators.solve(self.matrix, rows.T)).T[:, true]

    def of(self, kind: str) -> tuple[Array, ...] | None:
        """Return its arrays to some power: ``back``, ``told``, squares, or with their sum."""
        if self.back is None:
            return None
        if kind == "told":
            assert self.told is not None
            return (self.told,) * len(self.back)
        if kind == "squares":
            return tuple(each**2 for each in self.back)
        if kind == "cross":
            return tuple(each * each.sum(axis=0) for each in self.back)
        if kind == "domain":
            return tuple(each.sum(axis=0, keepdims=True) ** 2 for each in self.back)
        return self.back


@dataclass(frozen=True, eq=False)
class Map:
    """All factors: a map from a stack of reported tables to tables of the request.

    ``shape`` is the shape of the reported table, ``columns`` the sizes of the columns in the order
    of the factors, ``order`` their requested order.
    """

    shape: tuple[int, ...]
    factors: tuple[Factor, ...]
    columns: tuple[int, ...]
    order: tuple[int, ...]

    @classmethod
    def back_from(cls, matrix: Matrix) -> Map:
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
        """Compute a row of cells for every table."""
        found = tables.reshape(-1, *self.shape)
        # Axes that others depend on come last.
        for factor in sorted(self.factors, key=lambda each: each.by is None):
            axis = 1 + factor.axis
            arrays = factor.of(kind)
            if arrays is None and kind == "domain":
                found = found.sum(axis=axis, keepdims=True)
                continue
            if factor.matrix is not None:
                moved = np.moveaxis(found, axis, -1)
                rows = np.ascontiguousarray(moved).reshape(-1, moved.shape[-1])
                whole = factor.whole(rows, kind).reshape(*moved.shape[:-1], -1)
                found = np.moveaxis(whole, -1, axis)
                continue
            if arrays is None:
                continue
            if factor.by is None:
                found = _along(found, axis, arrays[0])
            else:
                parts = np.split(found, len(arrays), axis=1 + factor.by)
                done = [_along(part, axis, each) for part, each in zip(parts, arrays, strict=True)]
                found = np.concatenate(done, axis=1 + factor.by)
        if kind == "domain":
            return np.ascontiguousarray(found.reshape(len(found), 1))
        axes = (0, *(1 + place for place in self.order))
        arranged = found.reshape(len(found), *self.columns).transpose(axes)
        return np.ascontiguousarray(arranged).reshape(len(found), -1)

    def ends(self) -> tuple[Array, Array]:
        """Find the least and the most that a reported value can add to each cell."""
        least, most = np.ones(1), np.ones(1)
        for factor, size in zip(self.factors, self.shape, strict=True):
            if factor.matrix is not None:
                true = slice(size - factor.matrix.padding)
                ends = intervals.extremes(factor.matrix)
                low, high = ends[0][true], ends[1][true]
            elif factor.back is None:
                low, high = np.zeros(size), np.ones(size)
            else:
                low = np.minimum.reduce([each.min(axis=1) for each in factor.back])
                high = np.maximum.reduce([each.max(axis=1) for each in factor.back])
            # Of products of two the ends are at the corners.
            corners = [np.outer(a, b).ravel() for a in (least, most) for b in (low, high)]
            least, most = np.minimum.reduce(corners), np.maximum.reduce(corners)
        return self._arranged(least), self._arranged(most)

    def _arranged(self, cells: Array) -> Array:
        return np.ascontiguousarray(cells.reshape(self.columns).transpose(self.order)).ravel()


def _along(tables: Array, axis: int, array: Array) -> Array:
    moved = np.moveaxis(tables, axis, -1) @ array.T
    return np.moveaxis(moved, -1, axis)


@dataclass(frozen=True, eq=False)
class Tallies:
    """Tables of reported values, with the design of the records in them.

    ``sums`` and ``squares`` have a row for each stratum of the design. ``units`` says how many
    clusters, or records, each stratum has. ``pieces`` are clusters: number, cell, weight, and the
    stratum of each.
    """

    records: int
    sums: Array
    squares: Array
    units: NDArray[np.int64]
    weighted: bool = False
    pieces: tuple[NDArray[np.intp], NDArray[np.intp], Array, NDArray[np.intp]] | None = None
    replicates: Array | None = None
    scale: float = 1.0
    lost: str = ""
    """The reason why errors are unknown, if they are."""
    factors: Array | None = None
    """The factor on the variance of each stratum in a finite population; 1 if None."""
    noise: Array | None = None
    """A table of squared weights whose noise no stage of the design has."""
    inner: Tallies | None = None
    """The second stage, whose strata are the clusters of the first."""

    @property
    def degrees(self) -> float:
        """Degrees of freedom of a variance: replicates less 1, or clusters less strata."""
        if self.replicates is not None:
            return float(len(self.replicates) - 1)
        return float(self.units.sum() - len(self.units))

    @property
    def is_plain(self) -> bool:
        """Whether all records count alike."""
        simple = self.pieces is None and self.factors is None and not self.lost
        return not self.weighted and simple and len(self.units) == 1

    def clusters(self, cells: int) -> Iterator[tuple[NDArray[np.intp], Array]]:
        """Tables of some clusters at a time, with their strata."""
        assert self.pieces is not None
        which, cell, weights, strata = self.pieces
        step = max(1, _HELD // cells)
        for start in range(0, len(strata), step):
            stop = min(len(strata), start + step)
            low, high = np.searchsorted(which, [start, stop])
            place = (which[low:high] - start) * cells + cell[low:high]
            tables = np.bincount(place, weights[low:high], minlength=(stop - start) * cells)
            yield strata[start:stop], tables.astype(float).reshape(stop - start, cells)


@dataclass(frozen=True, eq=False)
class Linear:
    """Shares of a subgroup by inverse estimates, and their errors.

    With ``N`` the estimated total of a cell and ``D`` the total of the subgroup, a share is ``N /
    D``. Its error is the error of the total of ``(g_N - share g_D) / D``, with g the
    pseudo-responses. If the subgroup is known (``exact``), D is the sum of weights.
    """

    map: Map
    tallies: Tallies
    fixed: bool
    exact: bool

    @kept
    def totals(self) -> Array:
        """The estimated total of each cell."""
        whole = self.tallies.sums.sum(axis=0)[None]
        return np.asarray(self.map.of(whole)[0])

    @kept
    def total(self) -> float:
        """The estimated total of the subgroup."""
        if self.exact:
            return float(self.tallies.sums.sum())
        return float(self.totals.sum())

    @kept
    def shares(self) -> Array:
        """The estimated shares of the subgroup; NaN if it is estimated to be empty."""
        if not self.total > 0:
            return np.full(self.map.cells, math.nan)
        return np.asarray(self.totals / self.total)

    @kept
    def reported(self) -> Array:
        """The shares among the reported values."""
        told = self.map.of(self.tallies.sums.sum(axis=0)[None], "told")[0]
        total = self.tallies.sums.sum() if self.exact else told.sum()
        return np.asarray(told / total if total > 0 else told)

    def _whole(self, tables: Array, cells: Array) -> Array:
        """Return the total of the subgroup in each table: of all reported values if it is known."""
        held = tables.reshape(len(cells), -1) if self.exact else cells
        return np.asarray(held.sum(axis=1))

    @kept
    def _moments(self) -> tuple[Array, Array, float]:
        """Variances of totals, their covariances with the domain's, and the domain's variance."""
        tallies = self.tallies
        if self.fixed:
            return self._of_noise(self.tallies.squares.sum(axis=0)[None])
        if tallies.replicates is not None:
            found = self.map.of(tallies.replicates)
            away, whole = found - self.totals, self._whole(tallies.replicates, found) - self.total
            every = tallies.scale * np.einsum("ij,ij->j", away, away)
            return every, tallies.scale * (whole @ away), float(tallies.scale * (whole @ whole))
        parts = [self._between(each) for each in (tallies, tallies.inner) if each is not None]
        if tallies.noise is not None:
            own, cross, all_ = self._of_noise(tallies.noise)
            # A domain that is known holds no noise.
            parts.append((own, 0 * own, 0.0) if self.exact else (own, cross, all_))
        nn = np.sum([part[0] for part in parts], axis=0)
        nd = np.sum([part[1] for part in parts], axis=0)
        return nn, nd, math.fsum(part[2] for part in parts)

    def _between(self, tallies: Tallies) -> tuple[Array, Array, float]:
        """Compute the same between the units of one stage of the design."""
        nn, nd, dd = np.zeros(self.map.cells), np.zeros(self.map.cells), 0.0
        factors = np.ones(len(tallies.units)) if tallies.factors is None else tallies.factors
        means = self.map.of(tallies.sums)
        wholes = self._whole(tallies.sums, means)
        if tallies.pieces is None:
            squares = self.map.of(tallies.squares, "squares")
            crosses = self.map.of(tallies.squares, "cross")
            domains = self.map.of(tallies.squares, "domain")[:, 0]
        else:
            squares, crosses = np.zeros_like(means), np.zeros_like(means)
            domains = np.zeros(len(means))
            for strata, tables in tallies.clusters(math.prod(self.map.shape)):
                found = self.map.of(tables)
                whole = self._whole(tables, found)
                np.add.at(squares, strata, found**2)
                np.add.at(crosses, strata, found * whole[:, None])
                np.add.at(domains, strata, whole**2)
        for h, units in enumerate(tallies.units.tolist()):
            if not factors[h]:
                continue
            if units < 2:
                return np.full_like(nn, math.inf), nd, math.inf
            more = factors[h] * units / (units - 1)
            whole = wholes[h]
            nn += more * (squares[h] - means[h] ** 2 / units)
            nd += more * (crosses[h] - means[h] * whole / units)
            dd += more * float(domains[h] - whole**2 / units)
        return nn, nd, dd

    def _of_noise(self, squares: Array) -> tuple[Array, Array, float]:
        """Return the part that only randomization adds: ``E g^2 - f``, as a true f is 0 or 1."""
        nn = self.map.of(squares, "squares")[0] - self.map.of(squares)[0]
        nd = self.map.of(squares, "cross")[0] - self.map.of(squares)[0]
        dd = float(self.map.of(squares, "domain")[0, 0] - self.map.of(squares)[0].sum())
        return nn, nd, dd

    @kept
    def _away(self) -> Array | None:
        """The distances of each replicate's shares from the estimates; None without replicates.

        A replicate divides by its own total, the total of the subgroup under its weights. A share
        is NaN if that total is not positive.
        """
        if self.tallies.replicates is None or self.fixed:
            return None
        cells = self.map.of(self.tallies.replicates)
        totals = self._whole(self.tallies.replicates, cells)[:, None]
        shares = np.divide(cells, totals, out=np.full_like(cells, math.nan), where=totals > 0)
        away = shares - self.shares
        # A move that is only rounding is none.
        return np.where(np.abs(away) <= 1e-14 * np.maximum(1, np.abs(self.shares)), 0.0, away)

    @property
    def silent(self) -> int:
        """How many replicates have no positive total in the domain, and so no shares."""
        return 0 if self._away is None else int(np.isnan(self._away).any(axis=1).sum())

    @kept
    def variance(self) -> Array:
        """The variance of each share."""
        if self.tallies.lost:
            raise ValueError(self.tallies.lost)
        p = self.shares
        if not self.total > 0 or self.silent:
            return np.full_like(p, math.inf)
        if self._away is not None:
            return np.asarray(self.tallies.scale * np.einsum("ij,ij->j", self._away, self._away))
        nn, nd, dd = self._moments
        # In a fixed population a known domain is not a part of what was drawn.
        found = nn if self.fixed and self.exact else nn - 2 * p * nd + p * p * dd
        if np.isinf(nn).any():
            return np.full_like(p, math.inf)
        rounding = 8e-16 * (np.abs(nn) + 2 * np.abs(p * nd) + p * p * abs(dd))
        return np.where(found > rounding, found, 0.0) / self.total**2

    def covariance(self) -> Array:
        """Return the covariance matrix of the shares."""
        cells, codes = self.map.cells, math.prod(self.map.shape)
        _core.require_memory("covariance", cells, cells + codes, 32)
        p, tallies = self.shares, self.tallies
        if not self.total > 0 or np.isinf(self.variance).any():
            unknown = np.full((cells, cells), math.nan)
            np.fill_diagonal(unknown, math.inf)
            return unknown
        if self._away is not None:
            return np.asarray(tallies.scale * (self._away.T @ self._away))
        responses = self.map.of(np.eye(codes).reshape(codes, *self.map.shape))
        centred = responses - np.outer(self._whole(np.eye(codes), responses), p)
        if self.fixed:
            squares = tallies.squares.sum(axis=0)
            return self._noisy(squares, responses, responses if self.exact else centred)
        total = np.zeros((cells, cells))
        for part in (tallies, tallies.inner):
            if part is not None:
                total += _spread(part, centred, codes)
        found = np.asarray(total / self.total**2)
        if tallies.noise is None:
            return found
        return found + self._noisy(
            tallies.noise[0], responses, responses if self.exact else centred
        )

    def _noisy(self, squares: Array, responses: Array, centred: Array) -> Array:
        """Compute the part of the covariance that only randomization adds, for squared weights."""
        weights = squares.reshape(-1)
        own = weights @ responses
        # The expected square of what a true value adds: f_c f_d is 0 apart from f_c itself.
        truth = np.diag(own)
        if centred is not responses:
            p = self.shares
            truth = truth - np.outer(own, p) - np.outer(p, own) + own.sum() * np.outer(p, p)
        return np.asarray(((centred.T * weights) @ centred - truth) / self.total**2)

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the intervals; infinite if they are normal."""
        return math.inf if self.fixed else self.tallies.degrees

    def bounds(self, alpha: float) -> tuple[Array, Array]:
        """Bounds of the shares that miss with ``alpha`` each."""
        p, n = self.shares, self.tallies.records
        if not self.total > 0 or self.degrees < 1 or np.isinf(self.variance).any():
            return np.zeros_like(p), np.ones_like(p)
        if self.exact and self.tallies.is_plain:
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
        low, high, bounded = fieller(self.totals, self.total, nn, nd, dd, t)
        return np.where(bounded, low, 0.0), np.where(bounded, high, 1.0)


def _spread(tallies: Tallies, centred: Array, codes: int) -> Array:
    """Sums of squares and products of residuals between the units of one stage."""
    cells = centred.shape[1]
    factors = np.ones(len(tallies.units)) if tallies.factors is None else tallies.factors
    sums = tallies.sums.reshape(len(tallies.units), -1) @ centred
    if tallies.pieces is None:
        flat = tallies.squares.reshape(len(tallies.units), -1)
        parts: Callable[[int], Array] = lambda h: (centred.T * flat[h]) @ centred  # noqa: E731
    else:
        _core.require_memory("covariance", len(tallies.units), cells**2, 8)
        held = np.zeros((len(tallies.units), cells, cells))
        for strata, tables in tallies.clusters(codes):
            for h, z in zip(strata, tables @ centred, strict=True):
                held[h] += np.outer(z, z)
        parts = held.__getitem__
    total = np.zeros((cells, cells))
    for h, units in enumerate(tallies.units.tolist()):
        if factors[h]:
            more = factors[h] * units / (units - 1)
            total += more * (parts(h) - np.outer(sums[h], sums[h]) / units)
    return total
