"""Every table that a plan may release, with its exact probability: for tests by enumeration."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import bistochastic_survey as sv
from bistochastic_survey.analysis.request import digits, levels_of

Columns = dict[str, list[Any]]


def _reports(attribute: Any, record: dict[str, Any]) -> list[tuple[Fraction, dict[str, Any]]]:
    """What one record may report of an attribute, each with its probability."""
    places = digits(attribute)
    levels = [levels_of(attribute, column) for column in attribute.columns]
    cells = []
    for code in range(attribute.size):
        own = [names[place[code]] for names, place in zip(levels, places, strict=True)]
        cells.append(dict(zip(attribute.columns, own, strict=True)))
    law = attribute.matrix
    if attribute.groups is not None:
        law = attribute.groups.matrices[
            attribute.groups.labels.code(record[attribute.groups.column])
        ]
    true = {column: record[column] for column in attribute.columns}
    row = law.exact_row(cells.index(true))
    return [(p, cell) for p, cell in zip(row, cells, strict=True) if p]


def worlds(plan: sv.Plan, columns: Columns) -> Iterator[tuple[Fraction, Columns]]:
    """All released tables of an original one; columns in clear stay."""
    rows = len(next(iter(columns.values())))
    choices = []
    for i in range(rows):
        record = {name: values[i] for name, values in columns.items()}
        choices += [_reports(attribute, record) for attribute in plan.attributes]
    for chosen in product(*choices):
        released = {name: list(values) for name, values in columns.items()}
        for k, (_, cell) in enumerate(chosen):
            for name, level in cell.items():
                released[name][k // len(plan.attributes)] = level
        yield math.prod((p for p, _ in chosen), start=Fraction(1)), released


def samples(columns: Columns, size: int) -> Iterator[tuple[Fraction, Columns]]:
    """All samples of so many rows, drawn with replacement."""
    rows = len(next(iter(columns.values())))
    for chosen in product(range(rows), repeat=size):
        yield (
            Fraction(1, rows**size),
            {name: [values[i] for i in chosen] for name, values in columns.items()},
        )


def expected(plan: sv.Plan, columns: Columns, number: Callable[[Columns], float]) -> float:
    """The expectation of a number over all releases, to the rounding of one double."""
    return float(sum(p * Fraction(number(table)) for p, table in worlds(plan, columns)))
