"""``Running``: counts of reported values, batch by batch, for files larger than memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic.adapters.arrays import narrow
from bistochastic.adapters.results import opened
from bistochastic.estimate.effort import Patience
from bistochastic.estimate.linear import Tallies
from bistochastic.tables.estimates import of_tallies, way_back
from bistochastic.tables.question import absent, refuse_absent
from bistochastic.tables.sheet import Axis, Sheet, read

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bistochastic.arguments import Array
    from bistochastic.estimate.result import Estimate
    from bistochastic.tables.question import Question
    from bistochastic.tables.sheet import Design


class Running:
    """The counts that a question needs, over batches: the same as for the whole file at once.

    Errors of strata, clusters and replicates need whole columns, so the batches are then held until
    the end.
    """

    def __init__(self, question: Question, design: Design) -> None:
        self._question, self._design = question, design
        self._axes: list[tuple[str, list[Any] | None, int]] = []
        self._sums, self._squares = np.zeros(0), np.zeros(0)
        self.rows = self.records = self.unanswered = 0
        self.notes: tuple[str, ...] = ()
        # Categories of conditions that no batch has had yet.
        self._unmet = question.clear_where
        grouped = design.strata is not None or design.cluster is not None
        drawn = grouped or design.replicates or design.fpc
        self._held: list[Any] | None = [] if drawn or question.units else None

    def add(self, batch: object) -> None:
        """Count one more batch."""
        if self._held is not None:
            self._held.append(batch)
            self.rows += opened(batch).rows
            return
        sheet = read(self._question, batch, self._design, first=self.rows, empty=True)
        self._unmet = {k: absent(v, sheet.known[k]) for k, v in self._unmet.items()}
        tallies = sheet.tallies()
        if not self._axes:
            # Categories that are declared stay in their order; unprotected ones are found on the
            # way.
            declared = {*self._question.groups}
            for axis in sheet.axes:
                known = axis.values is None or axis.name in declared
                self._axes.append((axis.name, None if known else [], axis.size if known else 0))
            self._sums = np.zeros([size for _, _, size in self._axes])
            self._squares = np.zeros_like(self._sums)
        places = [
            np.arange(axis.size) if known[1] is None else _place(known[1], axis)
            for axis, known in zip(sheet.axes, self._axes, strict=True)
        ]
        self._axes = [
            (name, values, size if values is None else len(values))
            for name, values, size in self._axes
        ]
        shape = [size for _, _, size in self._axes]
        grown = [(0, new - old) for new, old in zip(shape, self._sums.shape, strict=True)]
        self._sums, self._squares = np.pad(self._sums, grown), np.pad(self._squares, grown)
        cells = np.ix_(*places)
        self._sums[cells] += _cut(tallies.sums, sheet, places)
        self._squares[cells] += _cut(tallies.squares, sheet, places)
        self.rows += sheet.rows
        self.records += sheet.records
        self.unanswered += sheet.unanswered

    def estimate(self, method: str, population: str) -> Estimate:
        """Estimate from everything that was counted."""
        whole = self._read() if self._held else None
        if self.rows:
            for name, levels in self._unmet.items():
                refuse_absent("where", name, levels)
        if not self.records:
            what = "`where` must leave" if self._question.where else "`FILE` must have"
            raise ValueError(f"{what} at least one record; got none")
        weighted = self._design.weights is not None
        total = whole.weighed() if whole is not None else self._sums
        if weighted and not float(total.sum()) > 0:
            raise ValueError("`weights` must have a positive one inside the domain; got none")
        if whole is not None:
            back, named = way_back(self._question, whole)
            return of_tallies(
                self._question, back, named, whole.tallies(), method, population, Patience()
            )
        axes, orders = [], []
        for name, values, size in self._axes:
            order = list(range(size))
            if values is not None:
                ranks = [_rank(value) for value in values]
                order.sort(key=ranks.__getitem__)
                values = [values[i] for i in order]
            orders.append(order)
            told = None if values is None else tuple(values)
            if name in self._question.groups:
                told = self._question.groups[name].values
            axes.append(Axis(name, told, size, np.zeros(0, narrow(max(1, size)))))
        cells = np.ix_(*orders)
        sums, squares = self._sums[cells].reshape(1, -1), self._squares[cells].reshape(1, -1)
        units = np.array([self.rows if weighted else self.records])
        tallies = Tallies(self.records, sums, squares, units, weighted=weighted)
        counted = Sheet(tuple(axes), 0, None, 0, None, None, None, (), 1.0)
        back, named = way_back(self._question, counted)
        return of_tallies(self._question, back, named, tallies, method, population, Patience())

    def _read(self) -> Sheet:
        """Join all batches that were held to one table."""
        from bistochastic.adapters.record_batches import gathered

        assert self._held is not None
        sheet = read(self._question, gathered(self._held), self._design, empty=True)
        self.notes = sheet.notes
        self.records, self.unanswered = sheet.records, sheet.unanswered
        self._unmet = {k: absent(v, sheet.known[k]) for k, v in self._unmet.items()}
        return sheet


def _place(known: list[Any], axis: Axis) -> NDArray[np.intp]:
    """Find the places of a batch's categories among all so far, with new ones at the end."""
    assert axis.values is not None
    found = {(type(value), value): i for i, value in enumerate(known)}
    places = []
    for value in axis.values:
        key = (type(value), value)
        if key not in found:
            found[key] = len(known)
            known.append(value)
        places.append(found[key])
    return np.array(places, np.intp)


def _cut(table: Array, sheet: Sheet, places: list[NDArray[np.intp]]) -> Array:
    """Return the table of a batch without the one empty cell of an axis that has no category."""
    whole = table.reshape(sheet.shape)
    return whole[tuple(slice(len(place)) for place in places)]


def _rank(value: object) -> tuple[bool, str, Any]:
    """Missing comes last, as in a table that is read at once."""
    return value is None, type(value).__name__, 0 if value is None else value
