"""Protected files that are larger than memory: what an analysis needs of them, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bistochastic.errors import Refused
from bistochastic.estimate import Tallies
from bistochastic_survey.analysis.design import Design
from bistochastic_survey.analysis.protected_table import CodedAxis, Reported, read_sheet
from bistochastic_survey.analysis.request import Question, absent, refuse_absent
from bistochastic_survey.checks import Array
from bistochastic_survey.table.arrays import narrow
from bistochastic_survey.table.batched import Batched
from bistochastic_survey.wording import shown

# The categories of each axis, as they are sorted, and tables of weights and of their squares.
_Counted = tuple[list[Sequence[Any]], Array]


def gathered(frame: Any, question: Question, more: Iterable[str]) -> Any:
    """Read the columns of a question, and ``more``, of an open file; other tables are whole."""
    return frame.table(_needed(question, more, frame)) if isinstance(frame, Batched) else frame


def _needed(question: Question, more: Iterable[str], source: Batched) -> list[str]:
    """List what has to be read; columns of units may be missing."""
    names = source.schema.names
    needed = dict.fromkeys([*question.needed, *more])
    for column in needed:
        if column not in names:
            raise Refused("file", f"have the column `{shown(column)}`", "none of that name")
    return [*needed, *(unit for unit in question.units if unit in names and unit not in needed)]


def tally(question: Question, source: Batched, design: Design) -> Reported:
    """Count an open file: the same as all of it at once, but rows are not held.

    Errors of strata, clusters and replicates need whole columns, which are then held.
    """
    if design._is_drawn or question.units:
        return read_sheet(question, gathered(source, question, design._columns), design).reported()
    rows = records = unanswered = 0
    axes: tuple[CodedAxis, ...] = ()
    counted: list[_Counted] = []
    # Categories of conditions that no batch has had yet.
    unmet = question.clear_where
    for batch in source.batches(_needed(question, design._columns, source)):
        sheet = read_sheet(question, batch, design, first=rows, empty=True)
        unmet = {name: absent(levels, sheet.known[name]) for name, levels in unmet.items()}
        rows, records = rows + sheet.rows, records + sheet.records
        unanswered, axes = unanswered + sheet.unanswered, sheet.axes
        sample = sheet.tallies().sample
        known: list[Sequence[Any]] = [
            # Declared categories stay in their order; the others are found batch by batch.
            range(axis.size)
            if axis.values is None or axis.name in question.groups
            else [_rank(value) for value in axis.values]
            for axis in axes
        ]
        table = np.stack([sample.sums, sample.squares]).reshape(2, *sheet.shape)
        # An axis without a category has one empty cell.
        counted.append((known, table[(slice(None), *(slice(len(each)) for each in known))]))
        counted = [_merged(counted)]
    for name, levels in unmet.items() if rows else ():
        refuse_absent("where", name, levels)
    if not records:
        name, must = ("where", "leave") if question.where else ("file", "have")
        raise Refused(name, f"{must} at least one record", "none")
    [(known, (sums, squares))] = counted
    weighted = design.weights is not None
    if weighted and not float(sums.sum()) > 0:
        raise Refused("weights", "have a positive one inside the domain", "none")
    whole = [
        CodedAxis(
            axis.name,
            axis.values if isinstance(each, range) else tuple(value for *_, value in each),
            len(each),
            np.zeros(0, narrow(max(1, len(each)))),
        )
        for axis, each in zip(axes, known, strict=True)
    ]
    units = rows if weighted else records
    tallies = Tallies.counted(records, sums, squares, units, weighted=weighted)
    return Reported(whole, tallies, unanswered)


def _merged(counted: list[_Counted]) -> _Counted:
    """Add up counts of batches, over the categories of all of them."""
    if len(counted) == 1:
        return counted[0]
    (one, first), (other, second) = counted
    if one == other:
        return one, first + second
    known = [a if a == b else sorted({*a, *b}) for a, b in zip(one, other, strict=True)]
    total = np.zeros((2, *map(len, known)))
    orders = [{level: i for i, level in enumerate(each)} for each in known]
    for own, table in counted:
        places = [[order[level] for level in mine] for order, mine in zip(orders, own, strict=True)]
        total[np.ix_([0, 1], *places)] += table
    return known, total


def _rank(value: object) -> tuple[bool, str, object]:
    """Sort as in a table that is read at once: missing comes last, and true is not 1."""
    return value is None, type(value).__name__, value
