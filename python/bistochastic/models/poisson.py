"""Poisson regression with a log link by the corrected score, without a table of cells.

``exp(eta)`` is a product over blocks of protected columns that no term combines. So its
pseudo-response is a product, too: ``E_i = exp(z b) prod_k (Q_k exp(f_k b_k))(reported_ik)``. The
corrected score is ``sum y D - E(D exp(eta))``, each part by its pseudo-response.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from bistochastic import operators
from bistochastic.models.cells import Grid
from bistochastic.models.fitting import Expanded, Fitted, fit_corrected
from bistochastic.models.records import UNPROTECTED
from bistochastic.plan.attributes import about

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from bistochastic.arguments import Array
    from bistochastic.models.formula import Terms
    from bistochastic.models.records import Records
    from bistochastic.tables.question import Coded
    from bistochastic.tables.responses import Function

# Cells of a block that terms put together, and numbers that are held at a time.
_CELLS = 4096
_HELD = 1 << 22


@dataclass(frozen=True, eq=False)
class Block:
    """Protected columns that some term puts together, and the functions that depend on them."""

    functions: NDArray[np.intp]
    grid: Grid
    undo: Array
    """For each matrix and report, what every true cell adds to a pseudo-response."""
    place: NDArray[np.intp]
    """The row of ``undo`` that each row of the sample has."""
    alike: bool
    """Whether the functions are the same for all unprotected values."""

    @classmethod
    def of(cls, records: Records, every: Expanded, axes: set[str]) -> Block:
        """Make the block of some axes; without axes, the block of the unprotected columns."""
        own = [set(function.scores) - {UNPROTECTED} for function in every.functions]
        mine = [j for j, each in enumerate(own) if each & axes or each == axes]
        grid = Grid.of(records, [every.functions[j] for j in mine])
        if grid.cells > _CELLS:
            must = f"`formula` must put at most {_CELLS} protected cells together in its terms"
            raise ValueError(f"{must}; got {grid.cells}")
        alike = bool((grid.across == grid.across[:1]).all())
        kinds, which = grid.kinds
        undo = [grid.dense(kind, _same if records.raw else _inverse) for kind in kinds]
        place = which[grid.rows] * grid.cells + grid.reported
        return cls(np.array(mine, np.intp), grid, np.concatenate(undo), place, alike)

    def responses(self, theta: Array, rows: slice, order: int) -> list[Array]:
        """Pseudo-responses of ``exp(eta)`` times 1, one function, and two: ``order`` of them."""
        grid = self.grid
        inside = [grid.possible[:, None], grid.inside, grid.pairs[2]][: order + 1]
        across = [np.ones((len(grid.across), 1)), grid.across, grid.pairs[1]][: order + 1]
        place, at = self.place[rows], grid.rows[rows]
        if self.alike:
            eta = grid.inside @ (theta * grid.across[0])
            table = self.undo @ (np.exp(eta)[:, None] * np.concatenate(inside, axis=1))
            found = table[place]
        else:
            eta = (grid.across[at] * theta) @ grid.inside.T
            found = (self.undo[place] * np.exp(eta)) @ np.concatenate(inside, axis=1)
        ends = np.cumsum([part.shape[1] for part in inside])[:-1]
        parts = np.split(found, ends, axis=1)
        return [part * times[at] for part, times in zip(parts, across, strict=True)]


def _same(attribute: Coded, _matrix: int) -> Array:
    return np.eye(attribute.size)


def _inverse(attribute: Coded, matrix: int) -> Array:
    """Compute the inverse of a matrix of an attribute: a row for each reported code."""
    law = attribute.matrices[matrix]
    with about(attribute.columns), operators.said_of("regress", law):
        return np.ascontiguousarray(operators.solve_back(law, np.eye(attribute.size)).T)


class Corrected:
    """The corrected likelihood of counts: ``sum theta S - sum E``."""

    def __init__(self, records: Records, terms: Terms, outcome: tuple[Function, ...]) -> None:
        self.design = Expanded.of(terms.columns)
        self.size = self.design.size
        self._weights = records.sample.sums
        self.blocks = [Block.of(records, self.design, axes) for axes in _together(self.design)]
        self._first = np.stack([
            np.sum([records.of(each * function) for each in outcome], axis=0)
            for function in self.design.functions
        ])  # fmt: skip
        self.moments = self.design.collect(self._first @ self._weights)

    def _batches(self, order: int) -> Iterator[slice]:
        width = sum(
            (1 if block.alike else block.grid.cells) + len(block.functions) ** order
            for block in self.blocks
        )
        step = max(1, _HELD // width)
        for start in range(0, len(self._weights), step):
            yield slice(start, min(len(self._weights), start + step))

    def _parts(self, theta: Array, rows: slice, order: int) -> tuple[list[list[Array]], Array]:
        """Compute the responses of every block, and the product of the means of all blocks."""
        spread = theta[self.design.to]
        with np.errstate(over="ignore", invalid="ignore"):
            parts = [b.responses(spread[b.functions], rows, order) for b in self.blocks]
            return parts, reduce(np.multiply, [part[0][:, 0] for part in parts])

    def value(self, theta: Array) -> float:
        """Return the corrected likelihood."""
        found = float(theta @ self.moments)
        for rows in self._batches(0):
            found -= float(self._weights[rows] @ self._parts(theta, rows, 0)[1])
        return found

    def slopes(self, theta: Array, weights: Array | None = None) -> tuple[Array, Array]:
        """Return the corrected score, and the information."""
        gradient, information = self.moments.copy(), np.zeros((self.size, self.size))
        for rows in self._batches(2):
            first, second = self._sums(theta, rows, self._weights if weights is None else weights)
            gradient -= first
            information += second
        return gradient, information

    def _sums(self, theta: Array, rows: slice, weights: Array) -> tuple[Array, Array]:
        parts, _ = self._parts(theta, rows, 2)
        k = len(self.design.functions)
        first, second = np.zeros(k), np.zeros((k, k))
        for a, block in enumerate(self.blocks):
            mine = block.functions
            rest = weights[rows] * self._others(parts, a)
            first[mine] = rest @ parts[a][1]
            one, other = block.grid.pairs[0]
            both = rest @ parts[a][2]
            second[mine[one], mine[other]] = second[mine[other], mine[one]] = both
            for b in range(a):
                rest = weights[rows] * self._others(parts, a, b)
                cross = (parts[a][1] * rest[:, None]).T @ parts[b][1]
                theirs = self.blocks[b].functions
                second[np.ix_(mine, theirs)] = cross
                second[np.ix_(theirs, mine)] = cross.T
        return self.design.collect(first), self.design.collect_both(second)

    def _others(self, parts: list[list[Array]], *left_out: int) -> Array:
        """Return the product of the means of all blocks but some."""
        ones = np.ones(len(parts[0][0]))
        kept = [part[0][:, 0] for i, part in enumerate(parts) if i not in left_out]
        return reduce(np.multiply, kept, ones)

    def scores(self, theta: Array) -> Array:
        """Return the corrected score of every row of the sample."""
        found = self._first.copy()
        for rows in self._batches(1):
            parts, _ = self._parts(theta, rows, 1)
            for a, block in enumerate(self.blocks):
                rest = self._others(parts, a)
                found[block.functions, rows] -= (parts[a][1] * rest[:, None]).T
        return self.design.collect(found)


def _together(design: Expanded) -> list[set[str]]:
    """List the sets of protected axes that terms combine; the empty set has none."""
    found: list[set[str]] = []
    for function in design.functions:
        axes = set(function.scores) - {UNPROTECTED}
        if axes:
            apart = [each for each in found if not each & axes]
            found = [*apart, axes.union(*(each for each in found if each & axes))]
    bare = any(not set(f.scores) - {UNPROTECTED} for f in design.functions)
    return [*found, set()] if bare or not found else found


def fit(records: Records, terms: Terms, outcome: tuple[Function, ...]) -> Fitted:
    """Fit by the corrected score, from 0 and from the fit to the uncorrected table."""
    model = Corrected(records, terms, outcome)
    scales = np.zeros(model.size)
    for block in model.blocks:
        k = len(block.functions)
        own = block.grid.scales(Expanded(model.design.functions[:k], np.arange(k), k))
        np.add.at(scales, model.design.to[block.functions], own)
    raw = replace(records, raw=True)
    return fit_corrected(model, lambda: Corrected(raw, terms, outcome), scales, records.sample)
