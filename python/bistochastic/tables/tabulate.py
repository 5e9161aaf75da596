"""``plan.tabulate``: counts that an engine made, in the table that the plan declares.

A group-by returns rows in any order, and none for a cell that was never reported. Here every cell
has its place, so an estimate can use it like the protected table itself.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bistochastic import _core, arguments
from bistochastic.adapters.frames import opened
from bistochastic.adapters.results import opened_rows
from bistochastic.errors import Refused
from bistochastic.estimate.counts import MOST, Axis, Counts
from bistochastic.plan.attributes import named
from bistochastic.tables import sheet as sheets
from bistochastic.tables.question import Question, ask, ask_table, reports_of
from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from bistochastic.adapters.frames import Table
    from bistochastic.plan.plan import Plan


def tabulate(plan: Plan, rows: object, columns: Iterable[object], count: object) -> Counts:
    """See :meth:`bistochastic.Plan.tabulate`."""
    question = ask_table(plan, columns)
    column = named("count", count)
    if column in (*question.columns, *beside(question)):
        must = "`count` must name the column of counts"
        raise ValueError(f"{must}; got `{shown(column)}`, which the table is made of")
    table = opened_rows(rows)
    for name, why in {**dict.fromkeys(question.columns, ""), **beside(question)}.items():
        if name not in table.names:
            must = f"`rows` must have the column `{shown(name)}`{why}"
            raise ValueError(f"{must}; got none of that name")
    times = _times(table, column)
    # Once read, the table is codes: every cell has its place.
    sheet = sheets.of_table(question, table, sheets.Design(), "rows", times=times, empty=True)
    return place(question, sheet)


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
            _core.require_memory("columns", cells, math.prod((*before, *after)), 8)
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


def read(plan: Plan, given: object, columns: object) -> tuple[Counts, tuple[str, ...]]:
    """Read a caller's counts as a table of the plan, and the requested columns."""
    names = None
    if columns is not None:
        if isinstance(columns, str | bytes):
            raise TypeError(f"`columns` must be a list of columns; got {type(columns).__name__}")
        listed = arguments.items("columns", "be a list of columns", columns)
        names = ask(plan, listed, None).columns
    # Checked again, as its array may have been written to.
    table = replace(given) if isinstance(given, Counts) else _of_array(plan, given, names)
    for axis in table.axes:
        _check_levels(plan, axis)
    if table.digest is not None and table.digest != plan.digest:
        must = f"`counts` must be those of plan `{shown(plan.name)}`, digest {plan.digest[:12]}"
        raise ValueError(f"{must}; got digest {table.digest[:12]}")
    if not table.records:
        raise ValueError("`counts` must hold at least one record; got none")
    known = {axis.name for axis in table.axes}
    for name in names or ():
        if name not in known:
            must = "`columns` must be columns of the table"
            raise ValueError(f"{must}; got `{shown(name)}`, which it lacks")
    return table, names or table.columns


def as_sheet(question: Question, table: Counts) -> sheets.Sheet:
    """Return the same as rows, one for each cell that has records."""
    filled = np.nonzero(table.counts)
    rows = {
        axis.name: [axis.categories[i] for i in place.tolist()]
        for axis, place in zip(table.axes, filled, strict=True)
    }
    times = table.counts[filled].astype(np.float64)
    others = {axis.name: axis.categories for axis in table.axes}
    return sheets.of_table(
        question, opened(rows), sheets.Design(), "counts", times=times, others=others
    )


def _check_levels(plan: Plan, axis: Axis) -> None:
    """Raise an error for a table that was made for another plan."""
    for attribute in ask(plan, [axis.name], None).coded:
        if axis.categories != reports_of(attribute, axis.name):
            must = f"`counts` must be a table of plan `{shown(plan.name)}`"
            raise ValueError(f"{must}; got other categories of `{shown(axis.name)}`")


def _of_array(plan: Plan, given: object, names: tuple[str, ...] | None) -> Counts:
    """Read a caller's array: an axis for each column, with its categories as declared."""
    must = "`counts` must be a table of plan.tabulate, or an array with an axis for each of columns"
    if names is None:
        raise TypeError(f"{must}; got {type(given).__name__} without columns")
    question = ask(plan, names, None)
    for name, why in beside(question).items():
        raise ValueError(f"`columns` must hold `{shown(name)}`{why}; got none of that name")
    known = known_axes(question)
    for name in names:
        if name not in known:
            cure = "plan.tabulate finds them"
            got = f"`{shown(name)}`, whose categories are not declared: {cure}"
            raise ValueError(f"`columns` must have declared categories in an array; got {got}")
    axes = tuple(known[name] for name in names)
    try:
        array = np.asarray(given)
        array.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{must}; got {type(given).__name__}") from None
    shape = tuple(len(axis.categories) for axis in axes)
    if array.shape != shape:
        raise ValueError(f"{must}, of shape {shape}; got {array.shape}")
    return Counts(names, axes, array)
