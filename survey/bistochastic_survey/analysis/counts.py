"""``Counts``: one table of a collector, with a cell for each combination of categories.

Reports come one by one, in tables, or counted by an engine: a group-by returns rows in any order,
and none for a cell that was never reported. Here every cell has its place, so an estimate can use
it like the protected table itself.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bistochastic.errors import Refused, RefusedType
from bistochastic.estimate import Axis
from bistochastic_survey.analysis.design import Design
from bistochastic_survey.analysis.protected_table import Sheet, read_numbers, sheet_of
from bistochastic_survey.analysis.request import Question, ask, digits, reports_of
from bistochastic_survey.plan.attributes import named
from bistochastic_survey.plan.labels import spelling
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.table.frames import Table, opened
from bistochastic_survey.table.results import opened_rows
from bistochastic_survey.wording import Shown, shown

# Integers below this are exact as floats, in which tables are solved.
MOST = 2**53
CELLS = 2**27
WHOLE = "hold integers that are not negative"


class Counts(Shown):
    """The number of records that report each combination of categories, in the declared order.

    :meth:`Collector.counts` returns it, and ``Release(counts, plan)`` analyses it: only under the
    plan that it was made for.

    Tables are equal if columns, counts, ``unanswered`` and ``digest`` are, in whatever order the
    records came. They have no hash, because tables of a collector change.

    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
    >>> collector = plan.collector("sex")
    >>> collector.update({"sex": ["F"] * 60 + ["M"] * 40})
    >>> table = collector.counts("sex")
    >>> table, table.counts
    (<Counts of 100 records: sex 2>, array([60, 40]))
    >>> sv.Release(table, plan).estimate("sex").counts
    array([70., 30.])
    """

    columns: tuple[str, ...]
    """The requested columns."""
    axes: tuple[Axis, ...]
    """These columns, and after them those that an estimate of them needs, with their categories."""
    unanswered: int
    """Records without an answer, which are in no cell: those of ``missing="keep"``."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, plan: Plan, columns: Iterable[str]) -> None:
        self._question = question = ask(plan, columns, None)
        self.columns, known = question.columns, _declared(question)
        for name in self.columns:
            if name not in known:
                must = "hold columns with declared categories"
                raise Refused("tables", must, f"`{shown(name)}`, which the plan does not protect")
        names = dict.fromkeys([*self.columns, *self._beside()])
        self.axes = tuple(known[name] for name in names)
        shape = [len(axis.categories) for axis in self.axes]
        if math.prod(shape) > CELLS:
            raise Refused("tables", "have at most 2^27 cells together", math.prod(shape))
        self._cells = np.zeros(shape, np.int64)
        self.unanswered = 0
        self._keeps = {n for a in question.coded if a.missing == "keep" for n in a.columns}
        self._banned = [
            (attribute.columns, {tuple(map(_spell, cell)) for cell in attribute.impossible})
            for attribute in question.coded
            if attribute.impossible
        ]
        strides = [np.int64(math.prod(shape[i + 1 :])) for i in range(len(shape))]
        self._strides = dict(zip(names, strides, strict=True))
        # The place of each category along the flat array, however it is spelled.
        self._places: list[tuple[str, dict[object, int]]] = [
            (axis.name, {_spell(value): i * int(stride) for i, value in enumerate(axis.categories)})
            for axis, stride in zip(self.axes, strides, strict=True)
        ]

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many records report each combination, an axis of the array for each of ``axes``."""
        found = self._cells.view()
        found.setflags(write=False)
        return found

    @property
    def digest(self) -> str:
        """The digest of the plan that protected the records; other plans reject it."""
        return self._question.plan.digest

    @property
    def records(self) -> int:
        """The number of records in all cells."""
        return int(self._cells.sum())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        same = [(x.columns, x.digest, x.unanswered) for x in (self, other)]
        return same[0] == same[1] and np.array_equal(self._cells, other._cells)

    def __repr__(self) -> str:
        sizes = " x ".join(f"{shown(axis.name)} {len(axis.categories)}" for axis in self.axes)
        return f"<Counts of {self.records} records: {sizes}>"

    def _copy(self) -> Counts:
        """Return the same counts, which stay as they are now."""
        found = copy.copy(self)
        found._cells = self._cells.copy()
        return found

    def _beside(self) -> dict[str, str]:
        """Name the columns that are needed in addition to the requested ones, and why."""
        found = {}
        for attribute in self._question.coded:
            asked = [name for name in attribute.columns if name in self.columns]
            for name in attribute.columns:
                if name not in asked:
                    found[name] = f", as it is protected together with `{shown(asked[0])}`"
            if attribute.groups is not None and attribute.groups.column not in self.columns:
                why = f", as it chooses the matrix of `{shown(asked[0])}`"
                found[attribute.groups.column] = why
        return found

    def _find(self, record: Mapping[str, object]) -> int | None:
        """Find the cell of a reported record; None if a value that the table needs is missing."""
        cell, absent = 0, False
        for name, codes in self._places:
            try:
                value = record[name]
            except KeyError:
                raise Refused("", "be in `record`", "none of that name", column=name) from None
            place = codes.get(_spell(value))
            if place is None:
                if name not in self._keeps or not _is_missing(value):
                    raise Refused("", "hold a declared category", "an undeclared one", column=name)
                absent = True
            else:
                cell += place
        for columns, cells in self._banned:
            if tuple(_spell(record[name]) for name in columns) in cells:
                raise Refused("", "hold no combination declared impossible", "one", column=columns)
        return None if absent else cell

    def _read(
        self, table: Table, what: str = "frame", times: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64] | int, int]:
        """Find the cells of the rows of a table, the records of each, and those unanswered."""
        sheet = sheet_of(self._question, table, Design(), what, times=times, empty=True)
        cells = np.zeros(sheet.rows, np.int64)
        for axis, step in zip(sheet.axes, self._steps(), strict=True):
            cells += axis.codes * step if isinstance(step, np.int64) else step[axis.codes]
        inside = slice(None) if sheet.inside is None else sheet.inside
        if times is not None:
            return cells[inside], times[inside].astype(np.int64), sheet.unanswered
        if sheet.rows < self._cells.size:
            return cells[inside], 1, sheet.unanswered
        # So that not all rows are held for each table.
        found = np.bincount(cells[inside])
        seen = np.flatnonzero(found)
        return seen, found[seen], sheet.unanswered

    def _steps(self) -> list[np.int64 | NDArray[np.int64]]:
        """For each axis of a sheet, the stride of a code along the flat array, or every place."""
        question, strides = self._question, self._strides
        found: list[np.int64 | NDArray[np.int64]] = [strides[name] for name in question.groups]
        for attribute in question.coded:
            first, *more = [strides[name] for name in attribute.columns]
            # Of a single column, codes that are only reported are behind all others, as here.
            places = zip(digits(attribute), (first, *more), strict=True) if more else ()
            found.append(sum((p * step for p, step in places), np.int64(0)) if more else first)
        return found

    def _add(
        self, cells: NDArray[np.int64] | Sequence[int], many: NDArray[np.int64] | int, none: int
    ) -> None:
        """Count records in these cells, as many in each, and others without an answer."""
        np.add.at(self._cells.reshape(-1), cells, many)
        self.unanswered += none

    def _merge(self, other: Counts) -> None:
        """Add the counts of the same table elsewhere."""
        self._cells += other._cells
        self.unanswered += other.unanswered

    def _sheet(self, question: Question, design: Design) -> Sheet:
        """Return the same as rows, one for each cell that has records."""
        if not design._is_plain:
            must = "be a table if weights, strata or cluster are given"
            raise RefusedType("data", must, "Counts")
        plan = question.plan
        if self.digest != plan.digest:
            must = f"be those of plan `{shown(plan.name)}`, digest {plan.digest[:12]}"
            raise Refused("counts", must, f"digest {self.digest[:12]}")
        if not self.records:
            raise Refused("counts", "hold at least one record", "none")
        for name in question.columns:
            if name not in self._strides:
                must = "be columns of the table"
                raise Refused("columns", must, f"`{shown(name)}`, which it lacks")
        filled = np.nonzero(self._cells)
        rows = {
            axis.name: [axis.categories[i] for i in place.tolist()]
            for axis, place in zip(self.axes, filled, strict=True)
        }
        times = self._cells[filled].astype(np.float64)
        return sheet_of(question, opened(rows), design, "counts", times=times)


def read_rows(
    rows: object, count: object, tables: Iterable[Counts]
) -> tuple[Table, NDArray[np.float64]]:
    """Open the rows of a group-by, and read how many records each of them is."""
    column = named("count", count)
    table = opened_rows(rows)
    for each in tables:
        needed = {**dict.fromkeys(each.columns, ""), **each._beside()}
        if column in needed:
            got = f"`{shown(column)}`, which the table is made of"
            raise Refused("count", "name the column of counts", got)
        for name, why in needed.items():
            if name not in table.names:
                raise Refused("rows", f"have the column `{shown(name)}`{why}", "none of that name")
    if column not in table.names:
        got = "none of that name: count= names the column of counts"
        raise Refused("rows", f"have the column `{shown(column)}`", got)
    values, missing = read_numbers(table, "count", WHOLE, column)
    wide = values.astype(np.float64)
    wrong = ~((wide >= 0) & (wide == np.floor(wide)) & (wide < MOST))
    if missing is not None or wrong.any():
        at = int(np.argmax(wrong if missing is None else missing))
        got = (
            f"a missing one in row {at}" if missing is not None else f"one that is not, in row {at}"
        )
        raise Refused("count", WHOLE, got, column=column, row=at)
    total = math.fsum(wide.tolist())
    if not total < MOST:
        raise Refused("count", f"{WHOLE}, less than 2^53 in all", f"{total:g}", column=column)
    return table, wide


def _declared(question: Question) -> dict[str, Axis]:
    """Return the columns that have declared categories, by name, protected or choosing a matrix."""
    coded = [(name, reports_of(each, name)) for each in question.coded for name in each.columns]
    groups = [(name, labels.values) for name, labels in question.groups.items()]
    return {name: Axis(name, categories) for name, categories in (*groups, *coded)}


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _spell(value: object) -> object:
    """Return what distinguishes reported categories; None for a missing value."""
    if _is_missing(value):
        return None
    known = spelling(value)
    # An object of its own, which is not a category.
    return object() if known is None else known
