"""Pseudo-responses row by row: numbers that are right on average, whatever was reported.

A function of the original that is a product over its columns has the product of their
pseudo-responses, because the columns were randomized independently. The pseudo-response of a
protected column is ``P^-1`` times its scores, at the reported code. For a number permuted by
randomized response, which is reported as ``a x + (1 - a) mean`` on average, it is ``(y - (1 - a)
mean) / a``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bistochastic import structure
from bistochastic.errors import Refused, RefusedType
from bistochastic.estimate import Sample
from bistochastic_survey import checks
from bistochastic_survey.analysis import protected_table, request
from bistochastic_survey.analysis.collector import read_data
from bistochastic_survey.analysis.design import Design
from bistochastic_survey.analysis.protected_table import CodedTable
from bistochastic_survey.analysis.request import Coded, Request
from bistochastic_survey.checks import Array
from bistochastic_survey.plan.labels import key
from bistochastic_survey.plan.numeric import Binned, Numeric
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.release.columns import NumericValues
from bistochastic_survey.release.release import Release
from bistochastic_survey.table.frames import Table, opened
from bistochastic_survey.wording import shown

# Tables of at most this many cells replace rows.
_CELLS = 1 << 20


@dataclass(frozen=True, eq=False)
class Function:
    """A product over columns: scores of the codes of an axis, powers of columns of numbers."""

    scores: dict[str, Array] = field(default_factory=dict)
    powers: dict[str, int] = field(default_factory=dict)

    def __mul__(self, other: Function) -> Function:
        scores = dict(self.scores)
        for name, row in other.scores.items():
            scores[name] = scores[name] * row if name in scores else row
        powers = dict(self.powers)
        for name, power in other.powers.items():
            powers[name] = powers.get(name, 0) + power
        return Function(scores, powers)


@dataclass(frozen=True, eq=False)
class Responses:
    """Rows of a protected table, and the pseudo-responses of functions on them."""

    question: Request
    sample: Sample
    axes: dict[str, tuple[object, ...] | None]
    codes: dict[str, np.ndarray]
    numbers: dict[str, Array]
    unanswered: int
    what: str
    known: dict[str, tuple[object, ...]]
    notes: tuple[str, ...]
    """Notes on the errors."""
    table: Table | None = None
    """The table with the numbers, if there are some."""

    def of(self, function: Function) -> Array:
        """Compute the pseudo-response of every row."""
        found = np.ones(len(self.sample.sums))
        for name, scores in function.scores.items():
            codes, attribute = self.codes[name], self.attribute(name)
            if attribute is None:
                found = found * self._moved_back(name, scores[codes])
                continue
            tables = request.pseudo(attribute, scores[None], self.what)
            if attribute.groups is None:
                found = found * tables[0][0][codes]
            else:
                stacked = np.concatenate([table[0] for table in tables])
                groups = self.codes[attribute.groups.column].astype(np.int64)
                found = found * stacked[groups * attribute.size + codes]
        for name, power in function.powers.items():
            found = found * self._moved_back(name, self.numbers[name] ** power)
        return found

    def attribute(self, name: str) -> Coded | None:
        """Return the protected attribute of an axis; None if it is not protected."""
        return next((each for each in self.question.coded if _axis(each) == name), None)

    def _moved_back(self, name: str, values: Array) -> Array:
        """Functions of a permuted number without the part that other records have in them.

        Whatever the function f, ``E f(reported) = a f(true) + (1 - a) mean f``.
        """
        attribute = numeric(self.question.plan, name)
        if attribute is None:
            return values
        a = slope(attribute, len(values), self.what)
        return np.asarray((values - (1 - a) * float(values.mean())) / a)

    def ends(self, function: Function) -> tuple[float, float]:
        """Find the least and the most that a row can add."""
        least = most = 1.0
        for name, scores in function.scores.items():
            attribute = self.attribute(name)
            tables = (
                (scores,)
                if attribute is None
                else request.pseudo(attribute, scores[None], self.what)
            )
            ends = np.min(tables), np.max(tables)
            corners = [float(x * y) for x in (least, most) for y in ends]
            least, most = min(corners), max(corners)
        return least, most

    def inside(self, where: Mapping[str, tuple[object, ...]], name: str = "where") -> Function:
        """1 if all conditions are met, 0 elsewhere; the caller knows them as ``name``."""
        found = Function()
        for attribute in self.question.coded:
            own = {k: v for k, v in where.items() if k in attribute.columns}
            if own:
                found = found * Function(
                    {_axis(attribute): request.allowed(attribute, own).astype(float)}
                )
        for column, wanted in where.items():
            values = self.axes.get(column)
            if values is not None:
                if column in self.known:
                    request.refuse_absent(name, column, request.absent(wanted, self.known[column]))
                keys = {key(level) for level in wanted}
                met = [float(key(value) in keys) for value in values]
                found = found * Function({column: np.array(met or [0.0])})
        return found

    def column(self, name: str, given: object) -> Function:
        """Return the scores of a column of categories, or the numbers of another."""
        for attribute in self.question.coded:
            if name in attribute.columns:
                place = request.digits(attribute)[attribute.columns.index(name)]
                return Function({_axis(attribute): score_row(attribute, name, given)[place]})
        if given is not None:
            must = "be given only for columns of categories"
            raise Refused("scores", must, f"some for `{shown(name)}`")
        return Function(powers={name: 1})


def _axis(attribute: Coded) -> str:
    return ", ".join(attribute.columns)


def numeric(plan: Plan, column: str) -> Numeric | None:
    """Return the numeric attribute of that name; None if it is not numeric."""
    return next((a for a in plan._numeric if a.column == column), None)


def can_be_undone(attribute: Numeric) -> bool:
    """Whether numbers were permuted by randomized response, so means have no bias."""
    return attribute.how == "permute" and structure.two_valued(attribute._example) is not None


def reach(attribute: Numeric, numbers: NumericValues) -> tuple[Array, Array]:
    """Find the least and the largest original number that each reported number may come from.

    Inside a class of ranks, numbers are exchanged with each other. If it is not known that they
    stay in a class, they stay in their group. For class means, the means of the neighbouring
    classes bound the numbers of a class. A number that is in two classes may have come from both.
    """
    low, high = np.full((2, len(numbers)), np.nan)
    for rows in numbers.parts():
        if not len(rows):
            continue
        values = numbers.values[rows].astype(np.float64)
        ranked = np.sort(values)
        law = attribute._matrix_for(len(rows)) if attribute.family else attribute.matrix
        classes = None
        if attribute.order == "rank" and law is not None:
            classes = structure.classes(law)
        starts = np.zeros(1, np.int64) if classes is None else classes.starts()
        least, most = ranked[starts], ranked[np.append(starts[1:], len(rows)) - 1]
        if attribute.how == "average":
            least, most = np.append(-np.inf, most[:-1]), np.append(least[1:], np.inf)
        place = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(rows))))
        low[rows] = least[place[np.searchsorted(ranked, values, "left")]]
        high[rows] = most[place[np.searchsorted(ranked, values, "right") - 1]]
    return low, high


def slope(attribute: Numeric, records: int, what: str) -> float:
    """Compute the part of a number that its reported value keeps on average."""
    law = attribute.for_records(records).matrix
    both = None if law is None else structure.two_valued(law)
    whole = "without conditions on protected columns or " if what == "mean" else ""
    if what == "covariance" and attribute.how == "permute":
        whole = "with one column twice on the whole table without weights or "
    must = f"be used {whole}with a column permuted by randomized response"
    if attribute.how != "permute" or both is None:
        how = attribute.family if attribute.how == "permute" else "class means"
        raise Refused(what, must, f"{how}, which cannot be undone", column=attribute.column)
    a = both[0] - both[1]
    if not a > 0:
        raise Refused(what, must, "one that keeps nothing of the number", column=attribute.column)
    return a


def represented(attribute: Coded | None, scores: object = None) -> tuple[str, ...]:
    """Write a note if the numbers of a column are those of its classes, not of the original."""
    if scores is not None or not isinstance(attribute, Binned) or attribute.missing == "category":
        return ()
    ends = ", and the finite end of an open class" if attribute._bins.open else ""
    name, what = shown(attribute.column), f"the middles of its classes{ends}"
    if attribute.representatives is not None:
        what = "the declared representatives of its classes"
    return (f"the numbers of `{name}` are {what}, not the original ones",)


def score_row(attribute: Coded, name: str, given: Any) -> Array:
    """Return a number for each category of a column: as given, or the categories themselves."""
    levels = request.levels_of(attribute, name)
    must = f"hold a number for each of {len(levels)} categories"
    if given is None and isinstance(attribute, Binned) and None not in levels:
        if attribute.representatives is not None:
            return np.array(attribute.representatives)
        middles = attribute._bins.midpoints
        return middles.astype(np.int64 if attribute._bins.dated else float).astype(float)
    if given is None:
        if not all(type(level) in (int, bool) for level in levels):
            raise RefusedType(
                "scores", must, "none, and the categories are not numbers", column=name
            )
        return np.array([float(level) for level in levels])
    if hasattr(given, "keys") and not hasattr(given, "dtype"):
        known = {key(level) for level in levels}
        unknown = [each for each in given if key(each) not in known]
        scores = {key(each): score for each, score in dict(given).items()}
        if unknown or not len(dict(given)) == len(scores) == len(levels):
            got = f"{len(unknown)} names that are none" if unknown else f"{len(dict(given))}"
            raise Refused("scores", must, got, column=name)
        listed = [scores[key(level)] for level in levels]
    else:
        if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
            raise RefusedType("scores", must, type(given).__name__, column=name)
        listed = checks.items("scores", "be one number for each category", given)
    if len(listed) != len(levels):
        raise Refused("scores", must, len(listed), column=name)
    found = np.array([checks.real("scores", "hold finite numbers", x) for x in listed])
    if not np.isfinite(found).all():
        raise Refused("scores", "hold finite numbers", "NaN or an infinity", column=name)
    return found


def respond(
    release: Release[Any],
    design: Design,
    what: str,
    where: Mapping[str, object],
    columns: Sequence[str] = (),
) -> Responses:
    """Read what conditions and columns need. Rows that share all codes become one.

    Columns that the plan does not protect as categories are numbers.
    """
    plan = release.plan
    protected = {column for each in plan._coded for column in each.columns}
    numbers = [name for name in dict.fromkeys(columns) if name not in protected]
    axes = dict.fromkeys([*where, *(name for name in columns if name in protected)])
    return read_responses(release, Request(plan, tuple(axes)), numbers, design, what)


def read_responses(
    release: Release[Any],
    question: Request,
    numbers: Sequence[str],
    design: Design,
    what: str,
    *,
    complete: bool = False,
) -> Responses:
    """Read what a question needs, and columns of numbers.

    With ``complete``, rows with a missing unprotected value are left out.
    """
    plan, frame = release.plan, release.data
    within = [a.within for a in plan._numeric if a.column in numbers and a.within is not None]
    frame = protected_table.gathered(frame, question, (*numbers, *within, *design._columns))
    sheet = read_data(frame, question, design)
    if sheet.lost:
        raise Refused(sheet.lost)
    sheet = _completed(sheet) if complete else sheet
    table = opened(frame, any_index=True) if numbers else None
    values = {name: numbers_of(plan, table, name) for name in numbers}
    sample, codes = rows_of(sheet, together=not values)
    named = {axis.name: axis.values for axis in sheet.axes}
    shared = (*sheet.notes, *protected_table.noise_notes(release, question, design))
    return Responses(
        question, sample, named, codes, values, sheet.unanswered, what, sheet.known, shared, table
    )


def _completed(sheet: CodedTable) -> CodedTable:
    inside = np.ones(sheet.rows, bool) if sheet.inside is None else sheet.inside.copy()
    before = int(inside.sum())
    for axis in sheet.axes:
        if axis.values is not None and None in axis.values:
            inside &= axis.codes != axis.values.index(None)
    left_out = before - int(inside.sum())
    if left_out == before:
        raise Refused("frame", "have a record without missing values", "none")
    if not left_out:
        return sheet
    return replace(sheet, inside=inside, unanswered=sheet.unanswered + left_out)


def numbers_of(plan: Plan, table: Any, name: str) -> Array:
    """Return the numbers of a column, permuted or unprotected; none missing or infinite."""
    request.refuse_undecided("columns", plan, name)
    protected_table.require(table, "frame", name)
    attribute = numeric(plan, name)
    if attribute is not None:
        return np.asarray(attribute._read(table).values, dtype=np.float64)
    must = "hold finite numbers, none missing"
    values, missing = protected_table.read_numbers(table, "", must, name)
    found = np.asarray(values, dtype=np.float64)
    if missing is not None or not np.isfinite(found).all():
        at = int(np.argmax(missing if missing is not None else ~np.isfinite(found)))
        got = "a missing one" if missing is not None else "an infinite one"
        raise Refused("", must, f"{got} in row {at}", column=name, row=at)
    return found


def rows_of(sheet: CodedTable, *, together: bool) -> tuple[Sample, dict[str, np.ndarray]]:
    """Return the sample, and the codes of every axis on its rows; cells are rows if few."""
    names = [axis.name for axis in sheet.axes]
    if not (together and sheet.is_counted and math.prod(sheet.shape) <= _CELLS):
        return sheet.sample(), {axis.name: axis.codes for axis in sheet.axes}
    sample = sheet.tallies().sample
    stage, seen = sample.stages[0], np.flatnonzero(sample.squares)
    strata, *places = np.unravel_index(seen, (len(stage.many), *sheet.shape))
    found = replace(
        sample, sums=sample.sums[seen], squares=sample.squares[seen],
        stages=(replace(stage, groups=strata),),
    )  # fmt: skip
    return found, dict(zip(names, places, strict=True))
