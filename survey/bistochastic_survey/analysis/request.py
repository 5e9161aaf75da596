"""``Request``: the requested columns of a protected table, and the subgroup.

All of it is checked against the plan before any data are read. Categories of a plan are public, so
messages may name them; values of the data are not.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bistochastic import backend
from bistochastic.errors import Refused, RefusedType, SingularMatrixError
from bistochastic.estimate import Factor
from bistochastic_survey import checks
from bistochastic_survey.checks import Array
from bistochastic_survey.plan.attributes import Categorical, Joint, named
from bistochastic_survey.plan.labels import Labels, key
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.wording import about, shown

Coded = Categorical | Joint


@dataclass(frozen=True)
class Request:
    """Columns and conditions, sorted into protected and unprotected ones."""

    plan: Plan
    columns: tuple[str, ...]
    where: dict[str, tuple[object, ...]] = field(default_factory=dict)

    @property
    def coded(self) -> tuple[Coded, ...]:
        """The protected attributes that columns or conditions are about, in the plan's order."""
        names = {*self.columns, *self.where}
        return tuple(each for each in self.plan._coded if names & set(each.columns))

    @property
    def groups(self) -> dict[str, Labels]:
        """The columns that choose the matrices of these attributes, with their possible values."""
        return {e.groups.column: e.groups.labels for e in self.coded if e.groups is not None}

    @property
    def all_groups(self) -> dict[str, Labels]:
        """All columns that choose matrices of the plan, with their possible values."""
        return Request(self.plan, tuple(self.plan._protected)).groups

    @property
    def units(self) -> tuple[str, ...]:
        """The units that these attributes were drawn by."""
        return tuple(dict.fromkeys(each.unit for each in self.coded if each.unit is not None))

    @property
    def protected(self) -> set[str]:
        """All columns of these attributes."""
        return {column for each in self.coded for column in each.columns}

    @property
    def needed(self) -> tuple[str, ...]:
        """All columns that have to be read, but for units."""
        every = (*self.columns, *self.where, *sorted(self.protected), *self.groups)
        return tuple(dict.fromkeys(every))

    @property
    def clear(self) -> tuple[str, ...]:
        """The requested unprotected columns."""
        return tuple(column for column in self.columns if column not in self.protected)

    @property
    def clear_where(self) -> dict[str, tuple[object, ...]]:
        """The conditions on unprotected columns."""
        protected = self.protected
        return {k: v for k, v in self.where.items() if k not in protected}

    @property
    def is_exact(self) -> bool:
        """Whether the domain is known: no condition is about a protected column."""
        return len(self.clear_where) == len(self.where)


def ask(plan: Plan, columns: Iterable[object], where: object, name: str = "where") -> Request:
    """Read a caller's request; raise an error if the plan has no such column or category.

    ``name`` is the caller's name for the conditions.
    """
    listed = tuple(named("columns", column) for column in columns)
    if len(set(listed)) < len(listed):
        twice = next(name for i, name in enumerate(listed) if name in listed[:i])
        raise Refused("columns", "be different", f"`{shown(twice)}` twice")
    conditions = _conditions(plan, where, name)
    for column in listed:
        _check_known("columns", plan, column)
    return Request(plan, listed, conditions)


def ask_table(plan: Plan, columns: Iterable[object], where: object = None) -> Request:
    """Do the same for a table, which has a column at least."""
    question = ask(plan, columns, where)
    if not question.columns:
        raise Refused("columns", "name one or more", "none")
    return question


def refuse_undecided(name: str, plan: Plan, column: str | None) -> None:
    """Raise an error for a column of which the plan does not say yet what happens to it."""
    if column in plan.undecided:
        must = "name columns that the plan decides"
        raise Refused(name, must, f"`{shown(column)}`, which is undecided")


def _check_known(name: str, plan: Plan, column: str) -> None:
    """Raise an error for a column that protected tables of this plan do not have."""
    refuse_undecided(name, plan, column)
    known = "*" if isinstance(plan, Plan) or plan.keep == "*" else {*plan._protected, *plan.keep}
    if known != "*" and column not in known:
        # An observed column that was forgotten would be taken for true.
        raise Refused(name, "name observed columns, or those of keep=", f"`{shown(column)}`")
    if column in plan.drop:
        raise Refused(name, "name columns of the plan", f"`{shown(column)}`, which it drops")
    if column in [each.column for each in plan._numeric]:
        must = "name categories or unprotected columns"
        raise Refused(name, must, f"`{shown(column)}`, which holds permuted numbers")


def _conditions(plan: Plan, where: Any, name: str) -> dict[str, tuple[object, ...]]:
    """Read the categories of each column: declared ones as in the plan, others as in Python."""
    if where is None:
        return {}
    must = "be a dict from columns to lists of their categories"
    checks.of_type(name, must, where, Mapping)
    groups = Request(plan, tuple(plan._protected)).groups
    labels = {column: (values, False) for column, values in groups.items()}
    for each in plan._coded:
        for column, axis in zip(each.columns, each.axes, strict=True):
            labels[column] = axis, each.missing == "category"
    found: dict[str, tuple[object, ...]] = {}
    for given, levels in where.items():
        column = named(name, given)
        _check_known(name, plan, column)
        listed = _list_categories(name, levels, must)
        if column in labels:
            axis, missing = labels[column]
            for i, level in enumerate(listed):
                code = axis.code(level)
                if code is not None:
                    listed[i] = axis.values[code]
                elif level is not None or not missing:
                    declared = f"hold declared categories of `{shown(column)}`"
                    raise Refused(name, declared, _format_category(level))
        if not listed:
            raise Refused(name, must, f"none for `{shown(column)}`")
        found[column] = tuple(listed)
    return found


def _list_categories(name: str, given: object, must: str) -> list[object]:
    """List one category, or the categories in a container, each in a Python type."""
    one = _plain(given)
    single = one is None or isinstance(one, str | bytes) or not hasattr(one, "__iter__")
    listed = [one] if single else checks.items(name, "list categories", one, unordered=True)
    found = [_plain(level) for level in listed]
    for level in found:
        if type(level).__hash__ is None:
            raise RefusedType(name, must, f"a list of {type(level).__name__}")
    return found


def _plain(level: Any) -> Any:
    """Convert a category to a Python type; None if it is missing."""
    if hasattr(level, "as_py"):
        level = level.as_py()
    if level is None or level is np.ma.masked:
        return None
    if isinstance(level, np.generic) or (isinstance(level, np.ndarray) and level.ndim == 0):
        level = level.item()
    if hasattr(level, "__iter__"):
        return level
    try:
        return None if level != level else level
    except TypeError:
        # A value that does not equal itself is missing: pandas' NA.
        return None


def absent(levels: Iterable[object], known: Iterable[object]) -> tuple[object, ...]:
    """List the categories that match no known one. A missing category is never a mistake."""
    there = {key(value) for value in known}
    return tuple(level for level in levels if level is not None and key(level) not in there)


def refuse_absent(name: str, column: str, levels: Iterable[object]) -> None:
    """Raise an error for categories that neither occur nor are declared: they are mistyped."""
    for level in levels:
        must = f"hold categories that occur in column `{shown(column)}`"
        raise Refused(name, f"{must}, or that its type declares", _format_category(level))


def _format_category(level: object) -> str:
    """Write what a caller typed, in a sentence."""
    if isinstance(level, str):
        return f"'{shown(level)}'"
    return str(level) if isinstance(level, int | float) or level is None else type(level).__name__


def digits(attribute: Coded) -> list[NDArray[np.intp]]:
    """Find the category in each column for every code of an attribute."""
    cells = math.prod(attribute.shape)
    backend.require_memory("columns", cells, len(attribute.shape), 8)
    codes = np.arange(cells)
    if attribute.impossible:
        codes = np.delete(codes, attribute.cells)
    return [np.asarray(each) for each in np.unravel_index(codes, attribute.shape)]


def allowed(attribute: Coded, where: dict[str, tuple[object, ...]]) -> NDArray[np.bool_]:
    """Find the codes of an attribute that meet all conditions on its columns."""
    places = digits(attribute)
    inside = np.ones(len(places[0]), bool)
    for column, axis, place in zip(attribute.columns, attribute.axes, places, strict=True):
        if column in where:
            codes = [len(axis) if level is None else axis.code(level) for level in where[column]]
            inside &= np.isin(place, [code for code in codes if code is not None])
    return inside


def levels_of(attribute: Coded, column: str) -> tuple[Any, ...]:
    """List the categories of a column, missing as the last if it is a category."""
    values = attribute.axes[attribute.columns.index(column)].values
    return (*values, None) if attribute.missing == "category" else values


def reports_of(attribute: Coded, column: str) -> tuple[Any, ...]:
    """List the same, followed by the categories that are reported but never true."""
    known = attribute.axes[attribute.columns.index(column)]
    more = attribute.reported[attribute.columns.index(column)].values[len(known) :]
    return (*levels_of(attribute, column), *more)


@contextmanager
def invertible(what: str) -> Iterator[None]:
    """Name ``what`` in the error, if a step inside finds that a matrix is singular."""
    try:
        yield
    except SingularMatrixError as error:
        raise SingularMatrixError(what, error.must, error.got) from None


def between(name: str, given: object) -> float:
    """Read a number between 0 and 1."""
    return checks.number(name, "be a number between 0 and 1", given, lambda x: 0 < x < 1)


def pseudo(attribute: Coded, scores: Array, what: str) -> tuple[Array, ...]:
    """Pseudo-responses of rows of scores over the true codes, for the matrix of every group."""
    # Codes that are only reported have no score.
    found, scores = [], np.pad(scores, ((0, 0), (0, attribute.matrices[0].padding)))
    for matrix in attribute.matrices:
        with about(attribute.columns), invertible(what):
            found.append(matrix.solve(scores.T, back=True).T)
    return tuple(found)


def part(
    question: Request, attribute: Coded, axis: int, by: int | None
) -> tuple[list[str], list[tuple[object, ...]], Factor]:
    """Find the columns of one attribute, their categories, and the way back from its reports."""
    asked = [column for column in attribute.columns if column in question.columns]
    conditions = {k: v for k, v in question.where.items() if k in attribute.columns}
    whole = tuple(asked) == attribute.columns and not conditions and not attribute.impossible
    if whole and attribute.matrix is not None:
        every_level = [levels_of(attribute, column) for column in asked]
        return asked, every_level, Factor(axis, matrix=attribute.matrix)
    inside, places = allowed(attribute, conditions), digits(attribute)
    told = inside[None].astype(float)
    found: list[tuple[object, ...]] = []
    for column in asked:
        at = attribute.columns.index(column)
        every = levels_of(attribute, column)
        # Conditions have categories as they are declared, so codes are of one kind.
        kept = [i for i, level in enumerate(every) if level in conditions.get(column, every)]
        found.append(tuple(every[i] for i in kept))
        backend.require_memory("columns", len(told) * len(kept), len(inside), 16)
        is_level = (places[at][None] == np.array(kept)[:, None]).astype(float)
        told = (told[:, None] * is_level[None]).reshape(-1, len(inside))
    back = pseudo(attribute, told, "estimate")
    told = np.pad(told, ((0, 0), (0, attribute.matrices[0].padding)))
    return asked, found, Factor(axis, back, told, by)
