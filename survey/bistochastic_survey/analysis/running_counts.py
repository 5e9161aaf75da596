"""``Running``: counts of reported values, batch by batch, for files larger than memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic.errors import Refused
from bistochastic.estimate import Patience, Tallies
from bistochastic_survey.analysis.estimates import of_tallies, way_back
from bistochastic_survey.analysis.protected_table import Axis, read
from bistochastic_survey.analysis.request import absent, refuse_absent
from bistochastic_survey.table.arrays import narrow
from bistochastic_survey.table.results import opened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bistochastic.estimate import Estimate
    from bistochastic_survey.analysis.design import Design
    from bistochastic_survey.analysis.protected_table import Sheet
    from bistochastic_survey.analysis.request import Question


class Running:
    """The counts that a question needs, over batches: the same as for the whole file at once.

    Errors of strata, clusters and replicates need whole columns, so the batches are then held until
    the end.
    """

    def __init__(self, question: Question, design: Design) -> None:
        self._question, self._design = question, design
        self._axes: tuple[Axis, ...] = ()
        # The categories of unprotected axes so far; declared ones stay in their order.
        self._found: dict[str, list[object]] = {}
        # Tables of weights and of their squares.
        self._both = np.zeros((2, 0))
        self.rows = self.records = self.unanswered = 0
        self.notes: tuple[str, ...] = ()
        # Categories of conditions that no batch has had yet.
        self._unmet = question.clear_where
        self._held: list[object] | None = [] if design._is_drawn or question.units else None

    def add(self, batch: object) -> None:
        """Count one more batch."""
        if self._held is not None:
            self._held.append(batch)
            self.rows += opened(batch).rows
            return
        sheet = self._read(batch)
        sample = sheet.tallies().sample
        table = np.stack([sample.sums, sample.squares]).reshape(2, *sheet.shape)
        if not self._axes:
            self._axes = sheet.axes
            clear = [axis.name for axis in sheet.axes if axis.values is not None]
            self._found = {name: [] for name in clear if name not in self._question.groups}
            sizes = [0 if axis.name in self._found else axis.size for axis in sheet.axes]
            self._both = np.zeros((2, *sizes))
        places = [
            _place(self._found[axis.name], axis.values or ())
            if axis.name in self._found
            else np.arange(axis.size)
            for axis in sheet.axes
        ]
        # An axis without a category has one empty cell.
        for i, place in enumerate(places, 1):
            table = np.take(table, range(len(place)), axis=i)
        grown = [len(self._found.get(axis.name, range(axis.size))) for axis in sheet.axes]
        more = [(0, new - old) for new, old in zip((2, *grown), self._both.shape, strict=True)]
        self._both = np.pad(self._both, more)
        self._both[np.ix_(np.arange(2), *places)] += table
        self.rows += sheet.rows

    def estimate(self, method: str, population: str) -> Estimate:
        """Estimate from everything that was counted."""
        whole = None
        if self._held:
            from bistochastic_survey.table.record_batches import gathered

            whole = self._read(gathered(self._held), first=0)
        if self.rows:
            for name, levels in self._unmet.items():
                refuse_absent("where", name, levels)
        if not self.records:
            name, must = ("where", "leave") if self._question.where else ("FILE", "have")
            raise Refused(name, f"{must} at least one record", "none")
        weighted = self._design.weights is not None
        total = self._both[0] if whole is None else whole.weighed()
        if weighted and not float(total.sum()) > 0:
            raise Refused("weights", "have a positive one inside the domain", "none")
        axes, tallies = (whole.axes, whole.tallies()) if whole is not None else self._sorted()
        back, named = way_back(self._question, axes)
        return of_tallies(self._question, back, named, tallies, method, population, Patience())

    def _read(self, batch: object, first: int | None = None) -> Sheet:
        """Read rows, and add up what is known of them."""
        at = self.rows if first is None else first
        sheet = read(self._question, batch, self._design, first=at, empty=True)
        self._unmet = {k: absent(v, sheet.known[k]) for k, v in self._unmet.items()}
        self.notes = sheet.notes
        self.records += sheet.records
        self.unanswered += sheet.unanswered
        return sheet

    def _sorted(self) -> tuple[Sequence[Axis], Tallies]:
        """Return the axes and tables, categories in the order of a table that is read at once."""
        axes, orders = [], []
        for axis, size in zip(self._axes, self._both.shape[1:], strict=True):
            order, values = list(range(size)), axis.values
            if axis.name in self._found:
                known = self._found[axis.name]
                order.sort(key=[_rank(value) for value in known].__getitem__)
                values = tuple(known[i] for i in order)
            orders.append(order)
            axes.append(Axis(axis.name, values, size, np.zeros(0, narrow(max(1, size)))))
        sums, squares = self._both[np.ix_([0, 1], *orders)]
        weighted = self._design.weights is not None
        units = self.rows if weighted else self.records
        return axes, Tallies.counted(self.records, sums, squares, units, weighted=weighted)


def _place(known: list[object], values: Sequence[object]) -> NDArray[np.intp]:
    """Find the places of a batch's categories among all so far, with new ones at the end."""
    found = {(type(value), value): i for i, value in enumerate(known)}
    places = [found.setdefault((type(value), value), len(found)) for value in values]
    known.extend(value for _, value in list(found)[len(known) :])
    return np.array(places, np.intp)


def _rank(value: object) -> tuple[bool, str, Any]:
    """Missing comes last, as in a table that is read at once."""
    return value is None, type(value).__name__, 0 if value is None else value
