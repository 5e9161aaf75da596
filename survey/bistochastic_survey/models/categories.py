"""Logistic and multinomial regression: the corrected score, and the likelihood of an outcome.

The reported table, multiplied by the inverse of every matrix, is right on average, though some of
its cells are negative: ``T = (Q_1^T x Q_2^T x ...) N``. The coefficients come from an ordinary fit
to T. They solve ``sum over cells of (T_y - T p_y(D)) D = 0``, so they estimate the coefficients
that the original table would give, whether the model is true or not.

Rows of T are the combinations of unprotected columns (each record has its own if one of them has
many values), columns are the cells of the protected ones. A column of the design is a number for
each row times a number for each cell, so all sums over rows and cells are products of matrices.

If only the outcome is protected, a record of row g reports m with ``lambda_g = P^T p_g``, and that
likelihood has smaller errors. It estimates the coefficients of the model if the model is true.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from bistochastic.errors import Refused
from bistochastic_survey.analysis.request import invertible
from bistochastic_survey.analysis.responses import Function
from bistochastic_survey.cached import cached
from bistochastic_survey.checks import Array
from bistochastic_survey.models.records import UNPROTECTED, Fitted, Records
from bistochastic_survey.wording import about

# Cells of the table that are held at a time.
_HELD = 1 << 22
_STEPS = 60
# A coefficient times the standard deviation of its column: beyond it, a probability is 0 or 1.
_BEYOND = 30.0
_STARTS = 6


@dataclass(frozen=True, eq=False)
class Grid:
    """Rows by cells: the table that a model of categories is fitted to.

    ``axes`` are the protected attributes of the covariates, ``across`` and ``inside`` the design:
    for each column, a number for every row and for every cell.
    """

    records: Records
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    across: Array
    inside: Array
    possible: Array
    """1 for each cell, or 0 if it is reported and never true."""

    @classmethod
    def of(cls, records: Records, columns: Sequence[Function]) -> Grid:
        """Return the grid of the columns of a design."""
        axes = tuple(a for a in records.attributes if any(a in f.scores for f in columns))
        shape = tuple(records.attributes[name].size for name in axes)
        cells, rows = math.prod(shape), len(records.frames[UNPROTECTED])
        across, inside = np.ones((rows, len(columns))), np.ones((cells, len(columns)))
        places = np.unravel_index(np.arange(cells), shape) if shape else ()
        for i, column in enumerate(columns):
            for name, scores in column.scores.items():
                if name == UNPROTECTED:
                    across[:, i] = scores
                else:
                    at = axes.index(name)
                    inside[:, i] *= np.pad(scores, (0, shape[at] - len(scores)))[places[at]]
        possible = np.ones(cells)
        for name, place, size in zip(axes, places, shape, strict=True):
            possible *= place < size - records.attributes[name].matrices[0].padding
        return cls(records, axes, shape, across, inside * possible[:, None], possible)

    @property
    def cells(self) -> int:
        """How many cells each row has."""
        return len(self.inside)

    @cached
    def rows(self) -> NDArray[np.intp]:
        """The row of the grid that each row of the sample belongs to."""
        return np.asarray(self.records.responses.codes[UNPROTECTED])

    @cached
    def reported(self) -> NDArray[np.intp]:
        """The cell that each row of the sample reports."""
        codes = self.records.responses.codes
        found = np.zeros(len(self.rows), np.intp)
        for name, size in zip(self.axes, self.shape, strict=True):
            found = found * size + codes[name]
        return found

    @cached
    def _order(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows of the sample sorted by rows of the grid, and where each of these begins."""
        order = np.argsort(self.rows, kind="stable")
        return order, np.searchsorted(self.rows[order], np.arange(len(self.across) + 1))

    def batches(self) -> Iterator[tuple[slice, NDArray[np.intp]]]:
        """Give some rows of the grid at a time, with the rows of the sample that belong to them."""
        step = max(1, _HELD // self.cells)
        if step >= len(self.across):
            yield slice(0, len(self.across)), np.arange(len(self.rows))
            return
        order, ends = self._order
        for start in range(0, len(self.across), step):
            stop = min(len(self.across), start + step)
            yield slice(start, stop), order[ends[start] : ends[stop]]

    def counted(self, part: slice, sample: NDArray[np.intp], weights: Array) -> Array:
        """Add the weights of reported cells, a row for each row of the grid."""
        rows = part.stop - part.start
        place = (self.rows[sample] - part.start) * self.cells + self.reported[sample]
        sums = np.bincount(place, weights[sample], minlength=rows * self.cells)
        return sums.astype(float, copy=False).reshape(rows, self.cells)

    def through(self, tables: Array, part: slice, *, back: bool) -> Array:
        """Multiply rows by the inverse of every matrix: a reported table becomes the original one,
        or with ``back`` functions of the original become their pseudo-responses."""
        if self.records.raw:
            return tables
        found = tables.reshape(len(tables), *self.shape)
        for i, name in enumerate(self.axes, 1):
            attribute = self.records.attributes[name]
            chosen = self.matrices(name)[part]
            moved = np.ascontiguousarray(np.moveaxis(found, i, -1))
            for k, matrix in enumerate(attribute.matrices):
                here = slice(None) if len(attribute.matrices) == 1 else chosen == k
                flat = np.ascontiguousarray(moved[here]).reshape(-1, attribute.size)
                with about(attribute.columns), invertible("regress"):
                    done = matrix.solve(flat.T, back=back).T
                moved[here] = done.reshape(-1, *moved.shape[1:])
            found = np.moveaxis(moved, -1, i)
        done = np.ascontiguousarray(found).reshape(tables.shape)
        return done if back else done * self.possible

    def matrices(self, name: str) -> NDArray[np.intp]:
        """Find the matrix of an attribute for each row of the grid."""
        groups, found = self.records.attributes[name].groups, np.zeros(len(self.across), np.intp)
        if groups is not None:
            found[self.rows] = self.records.responses.codes[groups.column]
        return found

    @cached
    def pairs(self) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], Array, Array]:
        """All pairs of columns, their products across rows, and inside."""
        pairs = np.triu_indices(self.inside.shape[1])
        return (
            pairs,
            self.across[:, pairs[0]] * self.across[:, pairs[1]],
            self.inside[:, pairs[0]] * self.inside[:, pairs[1]],
        )

    def second(self, weights: Array, part: slice) -> Array:
        """Compute ``sum over rows and cells of weight D D^T``."""
        (one, other), across, inside = self.pairs
        sums = np.einsum("ij,ij->j", weights @ inside, across[part])
        found = np.empty((self.inside.shape[1],) * 2)
        found[one, other] = found[other, one] = sums
        return found

    def limits(self, classes: int) -> Array:
        """Limit each coefficient by the standard deviation of its column over rows and cells."""
        squares = (self.across**2).mean(axis=0) * (self.inside**2).mean(axis=0)
        means = self.across.mean(axis=0) * self.inside.mean(axis=0)
        with np.errstate(divide="ignore"):
            most = _BEYOND / np.sqrt(np.maximum(squares - means**2, 0.0))
        return np.tile(most, classes)


class Corrected:
    """The corrected likelihood of categories: ``sum theta S - sum T log(sum of exp eta)``.

    ``S`` are the corrected moments of columns and indicators of the outcome.
    """

    def __init__(
        self, records: Records, columns: Sequence[Function], classes: Sequence[Function]
    ) -> None:
        self.grid = Grid.of(records, columns)
        self.size = len(classes) * len(columns)
        self._products = [one * other for one in classes for other in columns]
        self._classes, self._records, self._weights = len(classes), records, records.sample.sums
        moments = [float(self._weights @ records.of(each)) for each in self._products]
        self.moments = np.array(moments)
        self._held: Array | None = None

    def table(self, part: slice, sample: NDArray[np.intp]) -> Array:
        """Return the corrected table of some rows of the grid."""
        if self._held is not None:
            return self._held
        counted = self.grid.counted(part, sample, self._weights)
        found = self.grid.through(counted, part, back=False)
        if part.stop - part.start == len(self.grid.across):
            self._held = found
        return found

    def chances(self, theta: Array, part: slice) -> tuple[list[Array], Array]:
        """Return the probability of every class but the first, and ``log(1 + sum of exp eta)``."""
        across, inside = self.grid.across[part], self.grid.inside.T
        eta = [(across * row) @ inside for row in theta.reshape(self._classes, -1)]
        total = reduce(np.logaddexp, eta, np.zeros(1))
        return [np.exp(each - total) for each in eta], total

    def value(self, theta: Array) -> float:
        """Return the corrected likelihood."""
        found = float(theta @ self.moments)
        for part, sample in self.grid.batches():
            found -= float(np.vdot(self.table(part, sample), self.chances(theta, part)[1]))
        return found

    def slopes(self, theta: Array) -> tuple[Array, Array]:
        """Return the corrected score, and the information."""
        m, grid = self._classes, self.grid
        k = self.size // m
        gradient, information = self.moments.reshape(m, k).copy(), np.zeros((m, k, m, k))
        for part, sample in grid.batches():
            table, (chances, _) = self.table(part, sample), self.chances(theta, part)
            for a in range(m):
                mine = table * chances[a]
                gradient[a] -= np.einsum("ij,ij->j", mine @ grid.inside, grid.across[part])
                for b in range(a, m):
                    own = mine * (1 - chances[a]) if a == b else -mine * chances[b]
                    found = grid.second(own, part)
                    information[a, :, b] += found
                    if a != b:
                        information[b, :, a] += found
        return gradient.ravel(), information.reshape(self.size, self.size)

    def scores(self, theta: Array) -> Array:
        """Return the corrected score of every row of the sample."""
        grid, k = self.grid, self.size // self._classes
        found = np.stack([self._records.of(each) for each in self._products])
        for part, sample in grid.batches():
            rows, cells = grid.rows[sample] - part.start, grid.reported[sample]
            for m, chance in enumerate(self.chances(theta, part)[0]):
                for j in range(k):
                    pseudo = grid.through(chance * grid.inside[:, j], part, back=True)
                    found[m * k + j, sample] -= pseudo[rows, cells] * grid.across[part][rows, j]
        return found


class Likelihood:
    """The likelihood of the reported outcome, if no other protected column is in the model."""

    def __init__(
        self, records: Records, columns: Sequence[Function], classes: Sequence[Function]
    ) -> None:
        self.naive = Corrected(replace(records, raw=True), columns, classes)
        self.grid, self.size = self.naive.grid, self.naive.size
        many, rows = len(classes) + 1, len(self.grid.across)
        ((name, _),) = classes[0].scores.items()
        scores = np.stack([each.scores[name] for each in classes])
        own = np.argmax(np.concatenate([0.5 * np.ones((1, scores.shape[1])), scores]), axis=0)
        attribute = records.attributes.get(name)
        if self.grid.axes or (attribute and own.tolist() != list(range(attribute.size))):
            must = "be corrected unless the outcome alone is protected, each category by itself"
            raise Refused("method", must, "likelihood")
        self._place = own[records.responses.codes[name]] * rows + self.grid.rows
        self.counts = np.bincount(self._place, records.sample.sums, many * rows)
        self._laws, self._which = np.eye(many)[None], np.zeros(rows, np.intp)
        if attribute is not None:
            self._laws = np.stack([matrix.to_dense() for matrix in attribute.matrices])
            self._which = self.grid.matrices(name)

    def _reported(self, tables: Array) -> Array:
        """Probabilities of true outcomes, along the first axis, as those of reported ones."""
        found = np.empty_like(tables)
        for i, law in enumerate(self._laws):
            here = self._which == i
            found[..., here] = np.tensordot(law.T, tables[..., here], 1)
        return found

    def _chances(self, theta: Array) -> Array:
        found = np.stack(self.naive.chances(theta, slice(0, len(self.grid.across)))[0])[..., 0]
        return np.concatenate([1 - found.sum(axis=0, keepdims=True), found])

    def value(self, theta: Array) -> float:
        """Return the logarithm of the likelihood, given the unprotected columns."""
        expected, seen = self._reported(self._chances(theta)).ravel(), self.counts > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(self.counts[seen] @ np.log(expected[seen]))

    def slopes(self, theta: Array) -> tuple[Array, Array]:
        """Return the score, and the expected information."""
        each, information = self._scores(theta)
        return each @ self.counts, information

    def _scores(self, theta: Array) -> tuple[Array, Array]:
        """Compute the score of a record in every reported cell, and the expected information."""
        chances = self._chances(theta)
        expected = np.maximum(self._reported(chances), 1e-300)
        moved = []
        for m in range(1, len(chances)):
            # The slope of every probability by the predictor of class m.
            slope = -chances * chances[m]
            slope[m] += chances[m]
            moved += [self._reported(slope) * column for column in self.grid.across.T]
        each = np.stack(moved)
        totals = self.counts.reshape(chances.shape).sum(axis=0)
        scores = (each / expected).reshape(self.size, -1)
        return scores, np.asarray((each * totals).reshape(self.size, -1) @ scores.T)

    def scores(self, theta: Array) -> Array:
        """Return the score of every row of the sample."""
        return np.asarray(self._scores(theta)[0][:, self._place])


def maximize(
    model: Corrected | Likelihood, start: Array, most: Array
) -> tuple[Array, Array] | None:
    """Maximize by Newton's method with halved steps; None if nothing is found from this start.

    The information may have negative eigenvalues away from the maximum, because corrected tables
    have negative cells. Steps use their absolute values, at least a millionth of the largest, so
    the function rises along every step. ``most`` limits the coefficients.
    """
    theta, now = start, model.value(start)
    for _ in range(_STEPS):
        gradient, information = model.slopes(theta)
        if not (np.isfinite(gradient).all() and np.isfinite(information).all()):
            return None
        scale = np.sqrt(np.maximum(np.abs(np.diag(information)), 1e-300))
        values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
        floored = np.maximum(np.abs(values), 1e-6 * np.abs(values).max())
        move = vectors @ (vectors.T @ (gradient / scale) / floored) / scale
        # Twice what a step can gain: the squared distance to the maximum, in standard errors.
        if abs(float(gradient @ move)) < 1e-12:
            there = theta + move
            good = values.min() > 0 and bool((np.abs(there) <= most).all())
            return (there, information) if good else None
        length = 1.0
        # A loss within rounding is none.
        while not (new := model.value(theta + length * move)) >= now - 1e-10 * max(1.0, abs(now)):
            length /= 2
            if length < 1e-10:
                return None
        theta, now = theta + length * move, new
    return None


def _refuse(starts: int, cure: str) -> NoReturn:
    must = "find a maximum at which the information is positive definite"
    raise Refused("regress", must, f"none from {starts} starts: {cure}")


def fit_by_score(
    records: Records, columns: Sequence[Function], classes: Sequence[Function]
) -> Fitted:
    """Fit by the corrected score, from 0 and from the fit to the uncorrected table."""
    model = Corrected(records, columns, classes)
    most, zero = model.grid.limits(len(classes)), np.zeros(model.size)
    # A step too far is seen in its value, and halved.
    with np.errstate(all="ignore"):
        found = maximize(model, zero, most)
        if found is None:
            naive = Corrected(replace(records, raw=True), columns, classes)
            start = maximize(naive, zero, most)
            found = start and maximize(model, start[0], most)
    if found is None:
        _refuse(2, "join rare categories, or use fewer columns, more records or less noise")
    return Fitted(*found, model.scores(found[0]))


def fit_by_likelihood(
    records: Records, columns: Sequence[Function], classes: Sequence[Function]
) -> Fitted:
    """Find the best maximum from several starts: a noisy outcome may cause several maxima."""
    model = Likelihood(records, columns, classes)
    most, rng = model.grid.limits(len(classes)), np.random.default_rng(0)
    starts = [np.zeros(model.size)]
    naive = maximize(model.naive, starts[0], most)
    starts += [] if naive is None else [naive[0]]
    scale = np.where(np.isfinite(most), most / _BEYOND, 1.0)
    starts += [rng.normal(size=model.size) * scale for _ in range(_STARTS - len(starts))]
    found = [each for each in (maximize(model, start, most) for start in starts) if each]
    if not found:
        _refuse(len(starts), "use more records")
    theta = max((each[0] for each in found), key=model.value)
    scores = None if records.sample.is_plain else model.scores(theta)
    return Fitted(theta, model.slopes(theta)[1], scores, model.value(theta))
