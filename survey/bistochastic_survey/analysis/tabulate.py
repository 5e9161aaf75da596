"""Counts that an engine made, in the table that the plan declares: ``Collector.add_counts``.

A group-by returns rows in any order, and none for a cell that was never reported. Here every cell
has its place, so an estimate can use it like the protected table itself.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bistochastic import backend
from bistochastic.errors import Refused, RefusedType
from bistochastic.estimate import Axis
from bistochastic_survey.analysis import protected_table as sheets
from bistochastic_survey.analysis.counts import MOST, Counts
from bistochastic_survey.analysis.design import Design
from bistochastic_survey.analysis.request import Question, ask, reports_of
from bistochastic_survey.plan.attributes import named
from bistochastic_survey.table.frames import opened
from bistochastic_survey.table.results import opened_rows
from bistochastic_survey.wording import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bistochastic_survey.plan.plan import Plan
    from bistochastic_survey.table.frames import Table


def counted(rows: object, count: object, questions: Sequence[Question]) -> tuple[list[Counts], int]:
    """Read the rows of a group-by as one table for each question, and the number of records."""
    column = named("count", count)
    table = opened_rows(rows)
    for question in questions:
        if column in (*question.columns, *beside(question)):
            must = "name the column of counts"
            raise Refused("count", must, f"`{shown(column)}`, which the table is made of")
        for name, why in {**dict.fromkeys(question.columns, ""), **beside(question)}.items():
            if name not in table.names:
                raise Refused("rows", f"have the column `{shown(name)}`{why}", "none of that name")
    times = _times(table, column)
    # Once read, the table is codes: every cell has its place.
    sheets_ = [
        sheets.of_table(question, table, Design(), "rows", times=times, empty=True)
        for question in questions
    ]
    found = [place(*both) for both in zip(questions, sheets_, strict=True)]
    return found, int(times.sum())


def beside(question: Question) -> dict[str, str]:
    """Name the columns that are needed in addition to the requested ones, and why."""
    found = {}
    for attribute in question.coded:
        asked = [name for name in attribute.columns if name in question.columns]
        for name in attribute.columns:
            if name not in asked:
                found[name] = f", as it is protected together with `{shown(asked[0])}`"
        if attribute.groups is not None and attribute.groups.column not in question.columns:
            found[attribute.groups.column] = f", as it chooses the matrix of `{shown(asked[0])}`"
    return found


def known_axes(question: Question) -> dict[str, Axis]:
    """Return the columns that have declared categories, by name, protected or choosing a matrix."""
    coded = [(name, reports_of(each, name)) for each in question.coded for name in each.columns]
    groups = [(name, labels.values) for name, labels in question.groups.items()]
    return {name: Axis(name, categories) for name, categories in (*groups, *coded)}


def _times(table: Table, column: str) -> NDArray[np.float64]:
    """Read the number of records of each row."""
    if column not in table.names:
        got = "none of that name: count= names the column of counts"
        raise Refused("rows", f"have the column `{shown(column)}`", got)
    must = "hold integers that are not negative"
    values, missing = sheets.read_numbers(table, "count", must, column)
    if missing is not None:
        at = int(np.argmax(missing))
        raise Refused("count", must, f"a missing one in row {at}", column=column, row=at)
    wide = values.astype(np.float64)
    wrong = ~((wide >= 0) & (wide == np.floor(wide)) & (wide < MOST))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise Refused("count", must, f"one that is not, in row {at}", column=column, row=at)
    total = math.fsum(wide.tolist())
    if not total < MOST:
        raise Refused("count", f"{must}, less than 2^53 in all", f"{total:g}", column=column)
    return wide


def place(question: Question, sheet: sheets.Sheet) -> Counts:
    """Make the counted table, an axis for each column, in the requested order."""
    counted = sheet.tallies().whole.astype(np.int64).reshape(sheet.shape)
    clear = len(sheet.axes) - len(question.coded)
    axes = [Axis(each.name, each.values or ()) for each in sheet.axes[:clear]]
    for i, axis in enumerate(axes):
        if axis.name not in question.groups:
            # A category without records does not occur.
            others = tuple(k for k in range(counted.ndim) if k != i)
            seen = np.flatnonzero(counted.sum(axis=others))
            counted = np.take(counted, seen, axis=i)
            axes[i] = Axis(axis.name, tuple(axis.categories[k] for k in seen.tolist()))
    for attribute in question.coded:
        at = len(axes)
        before, after = counted.shape[:at], counted.shape[at + 1 :]
        if attribute.impossible:
            cells = math.prod(attribute.shape)
            backend.require_memory("columns", cells, math.prod((*before, *after)), 8)
            whole = np.zeros((*before, cells, *after), np.int64)
            possible = np.delete(np.arange(cells), attribute.cells)
            np.moveaxis(whole, at, 0)[possible] = np.moveaxis(counted, at, 0)
            counted = whole
        shape = (attribute.size,) if len(attribute.shape) == 1 else attribute.shape
        counted = counted.reshape(*before, *shape, *after)
        axes += [Axis(name, reports_of(attribute, name)) for name in attribute.columns]
    places = {axis.name: i for i, axis in enumerate(axes)}
    names = [*question.columns, *(name for name in places if name not in question.columns)]
    order = [places[name] for name in names]
    return Counts(
        question.columns,
        tuple(axes[i] for i in order),
        np.ascontiguousarray(counted.transpose(order)),
        sheet.unanswered,
        question.plan.digest,
    )


def read(question: Question, table: Counts, design: Design) -> Counts:
    """Check counts before they are used: a table of this plan, with all requested columns."""
    if not design._is_plain:
        raise RefusedType("data", "be a table if weights, strata or cluster are given", "Counts")
    plan = question.plan
    # Checked again, as its array may have been written to.
    table = replace(table)
    for axis in table.axes:
        _check_levels(plan, axis)
    if table.digest is not None and table.digest != plan.digest:
        must = f"be those of plan `{shown(plan.name)}`, digest {plan.digest[:12]}"
        raise Refused("counts", must, f"digest {table.digest[:12]}")
    if not table.records:
        raise Refused("counts", "hold at least one record", "none")
    known = {axis.name for axis in table.axes}
    for name in question.columns:
        if name not in known:
            raise Refused("columns", "be columns of the table", f"`{shown(name)}`, which it lacks")
    return table


def as_sheet(question: Question, table: Counts) -> sheets.Sheet:
    """Return the same as rows, one for each cell that has records."""
    filled = np.nonzero(table.counts)
    rows = {
        axis.name: [axis.categories[i] for i in place.tolist()]
        for axis, place in zip(table.axes, filled, strict=True)
    }
    times = table.counts[filled].astype(np.float64)
    others = {axis.name: axis.categories for axis in table.axes}
    return sheets.of_table(question, opened(rows), Design(), "counts", times=times, others=others)


def _check_levels(plan: Plan, axis: Axis) -> None:
    """Raise an error for a table that was made for another plan."""
    for attribute in ask(plan, [axis.name], None).coded:
        if axis.categories != reports_of(attribute, axis.name):
            must = f"be a table of plan `{shown(plan.name)}`"
            raise Refused("counts", must, f"other categories of `{shown(axis.name)}`")
