"""Logistic and multinomial regression by the corrected score.

The reported table, multiplied by the inverse of every matrix, is right on average, though some of
its cells are negative: ``T = (Q_1^T x Q_2^T x ...) N``. The coefficients come from an ordinary fit
to T. They solve ``sum over cells of (T_y - T p_y(D)) D = 0``, so they estimate the coefficients
that the original table would give, whether the model is true or not.

Rows of T are the combinations of unprotected columns (each record has its own if one of them has
many values), columns are the cells of the protected ones. A column of the design is a number for
each row times a number for each cell, so all sums over rows and cells are products of matrices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from bistochastic_survey.analysis.request import invertible
from bistochastic_survey.analysis.responses import Function
from bistochastic_survey.cached import cached
from bistochastic_survey.checks import Array
from bistochastic_survey.models.fitting import Expanded, Fitted, fit_corrected
from bistochastic_survey.models.formula import Terms
from bistochastic_survey.models.records import UNPROTECTED, Records
from bistochastic_survey.plan.attributes import about

# Cells of the table that are held at a time.
_HELD = 1 << 22


@dataclass(frozen=True, eq=False)
class Grid:
    """Rows by cells: the table that a model of categories is fitted to.

    ``axes`` are the protected attributes of the covariates, ``across`` and ``inside`` the design:
    for each function, a number for every row and for every cell.
    """

    records: Records
    axes: tuple[str, ...]
    shape: tuple[int, ...]
    across: Array
    inside: Array
    possible: Array
    """1 for each cell, or 0 if it is reported and never true."""

    @classmethod
    def of(cls, records: Records, functions: Sequence[Function]) -> Grid:
        """Return the grid of the functions of a design."""
        axes = tuple(a for a in records.attributes if any(a in f.scores for f in functions))
        shape = tuple(records.attributes[name].size for name in axes)
        cells, rows = math.prod(shape), len(records.frames[UNPROTECTED])
        across, inside = np.ones((rows, len(functions))), np.ones((cells, len(functions)))
        places = np.unravel_index(np.arange(cells), shape) if shape else ()
        for i, function in enumerate(functions):
            for name, scores in function.scores.items():
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
        ends = np.searchsorted(self.rows[order], np.arange(len(self.across) + 1))
        return order, ends

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
    def kinds(self) -> tuple[list[list[int]], NDArray[np.intp]]:
        """The combinations of matrices that rows of the grid have, and which one each row has."""
        if not self.axes:
            return [[]], np.zeros(len(self.across), np.intp)
        every = np.stack([self.matrices(name) for name in self.axes])
        found, which = np.unique(every, axis=1, return_inverse=True)
        return found.T.tolist(), which.reshape(-1)

    @cached
    def pairs(self) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], Array, Array]:
        """All pairs of columns, their products across rows, and inside."""
        pairs = np.triu_indices(self.inside.shape[1])
        return (
            pairs,
            self.across[:, pairs[0]] * self.across[:, pairs[1]],
            self.inside[:, pairs[0]] * self.inside[:, pairs[1]],
        )

    def dense(self, kind: list[int]) -> Array:
        """Return one matrix over all cells from a matrix of every attribute."""
        attributes = [self.records.attributes[name] for name in self.axes]
        parts = [each.matrices[k].to_dense() for each, k in zip(attributes, kind, strict=True)]
        return reduce(lambda one, other: np.kron(one, other).astype(float), parts, np.ones((1, 1)))

    def second(self, weights: Array, part: slice) -> Array:
        """Compute ``sum over rows and cells of weight D D^T``."""
        (one, other), across, inside = self.pairs
        sums = np.einsum("ij,ij->j", weights @ inside, across[part])
        found = np.empty((self.inside.shape[1],) * 2)
        found[one, other] = found[other, one] = sums
        return found

    def scales(self, design: Expanded) -> Array:
        """Return the standard deviation of every column over rows and cells."""
        rows, cells = len(self.across), len(self.inside)
        squares = (self.across.T @ self.across / rows) * (self.inside.T @ self.inside / cells)
        means = design.collect(self.across.mean(axis=0) * self.inside.mean(axis=0))
        variance = np.diag(design.collect_both(squares)) - means**2
        return np.sqrt(np.maximum(variance, 0.0))


class Corrected:
    """The corrected likelihood of categories: ``sum theta S - sum T log(sum of exp eta)``.

    ``S`` are the corrected moments of columns and indicators of the outcome.
    """

    def __init__(self, records: Records, terms: Terms, classes: Sequence[Function]) -> None:
        self.design = Expanded.of(terms.columns)
        self.grid = Grid.of(records, self.design.functions)
        self.classes = len(classes)
        self.size = self.classes * self.design.size
        self._weights = records.sample.sums
        self._classes, self._records = classes, records
        k = len(self.design.functions)
        sums = [[float(self._weights @ self._of(m, j)) for j in range(k)]
                for m in range(self.classes)]  # fmt: skip
        self.moments = self.design.collect(np.array(sums).T).T
        self._held: Array | None = None
        self._last: tuple[Array, tuple[list[Array], Array]] | None = None

    def _of(self, m: int, j: int) -> Array:
        """Return the pseudo-responses of a class and a function, on every row of the sample."""
        return self._records.of(self._classes[m] * self.design.functions[j])

    def table(self, part: slice, sample: NDArray[np.intp], weights: Array | None = None) -> Array:
        """Return the corrected table of some rows of the grid."""
        if weights is None and self._held is not None:
            return self._held
        given = self._weights if weights is None else weights
        found = self.grid.through(self.grid.counted(part, sample, given), part, back=False)
        if weights is None and part.stop - part.start == len(self.grid.across):
            self._held = found
        return found

    def predictors(self, theta: Array, part: slice) -> list[Array]:
        """Return the linear predictor of every class but the first, over rows and cells."""
        spread = theta.reshape(self.classes, -1)[:, self.design.to]
        return [(self.grid.across[part] * row) @ self.grid.inside.T for row in spread]

    def chances(self, theta: Array, part: slice) -> tuple[list[Array], Array]:
        """Return the probability of every class but the first, and ``log(1 + sum of exp eta)``."""
        if self._last is not None and part.start == 0 and np.array_equal(self._last[0], theta):
            return self._last[1]
        found = chances_of(self.predictors(theta, part))
        if part.stop == len(self.grid.across) and part.start == 0:
            # The same coefficients are needed twice: for the value and for the slope.
            self._last = theta.copy(), found
        return found

    def value(self, theta: Array) -> float:
        """Return the corrected likelihood."""
        found = float((theta * self.moments.ravel()).sum())
        for part, sample in self.grid.batches():
            found -= float(np.vdot(self.table(part, sample), self.chances(theta, part)[1]))
        return found

    def slopes(self, theta: Array, weights: Array | None = None) -> tuple[Array, Array]:
        """Return the corrected score, and the information."""
        gradient, information = self.moments.ravel().copy(), np.zeros((self.size, self.size))
        for part, sample in self.grid.batches():
            first, second = self.sums(theta, self.table(part, sample, weights), part)
            gradient += first
            information += second
        return gradient, information

    def sums(self, theta: Array, table: Array, part: slice) -> tuple[Array, Array]:
        """Compute ``- sum T p D`` for every class, and the information over some rows."""
        k, m, grid = self.design.size, self.classes, self.grid
        first, second = np.zeros((m, k)), np.zeros((m, k, m, k))
        chances, _ = self.chances(theta, part)
        for a in range(m):
            mine = table * chances[a]
            sums = np.einsum("ij,ij->j", mine @ grid.inside, grid.across[part])
            first[a] = -self.design.collect(sums)
            for b in range(a, m):
                own = mine * (1 - chances[a]) if a == b else -mine * chances[b]
                second[a, :, b] = self.design.collect_both(grid.second(own, part))
                second[b, :, a] = second[a, :, b]
        return first.ravel(), second.reshape(m * k, m * k)

    def scores(self, theta: Array) -> Array:
        """Return the corrected score of every row of the sample."""
        grid, k = self.grid, len(self.design.functions)
        found = np.stack([self._of(m, j) for m in range(self.classes) for j in range(k)])
        for part, sample in grid.batches():
            rows, cells = grid.rows[sample] - part.start, grid.reported[sample]
            chances, _ = self.chances(theta, part)
            own = None
            if len(sample) == part.stop - part.start:
                # Each row of the grid is one record, and its table what the record adds to it.
                weights = np.maximum(self._weights[sample], 1e-300)[:, None]
                own = self.table(part, sample)[rows] / weights
            for m, chance in enumerate(chances):
                if own is not None:
                    pseudo = (own * chance[rows]) @ grid.inside * grid.across[part][rows]
                    found[m * k : (m + 1) * k, sample] -= pseudo.T
                    continue
                for j in range(k):
                    pseudo = grid.through(chance * grid.inside[:, j], part, back=True)
                    found[m * k + j, sample] -= pseudo[rows, cells] * grid.across[part][rows, j]
        each = found.reshape(self.classes, k, -1)
        return np.concatenate([self.design.collect(block) for block in each])

    def negative(self) -> float:
        """Return the negative part of the corrected table, relative to its total."""
        below = sum(-float(np.minimum(self.table(p, s), 0).sum()) for p, s in self.grid.batches())
        return below / float(self._weights.sum())


def chances_of(eta: list[Array]) -> tuple[list[Array], Array]:
    """Return the probability of every class but the first, and ``log(1 + sum of exp eta)``."""
    total = reduce(np.logaddexp, eta, np.zeros(1))
    return [np.exp(each - total) for each in eta], total


def fit_by_score(records: Records, terms: Terms, classes: Sequence[Function]) -> Fitted:
    """Fit by the corrected score, from 0 and from the fit to the uncorrected table."""
    model = Corrected(records, terms, classes)
    scales = np.tile(model.grid.scales(model.design), len(classes))
    raw = replace(records, raw=True)
    found = fit_corrected(model, lambda: Corrected(raw, terms, classes), scales, records.sample)
    return replace(found, negative=model.negative())
