"""The fields of a plan, which columns they may name, and labels for SPSS and Stata."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bistochastic.errors import Refused, RefusedType
from bistochastic_survey.cached import cached
from bistochastic_survey.plan.attributes import Categorical, Joint, named
from bistochastic_survey.plan.labels import Label, Labels
from bistochastic_survey.plan.numeric import Attribute, Numeric
from bistochastic_survey.release.columns import Coded
from bistochastic_survey.wording import about, meant, shown

if TYPE_CHECKING:
    from bistochastic_survey.plan.plan import Plan

ColumnLabels = tuple[tuple[str, str], ...]
ValueLabels = tuple[tuple[str, tuple[tuple[Label, str], ...]], ...]
IdType = Literal["string", "integer", "bytes"]


@dataclass(frozen=True)
class PlanFields:
    """The fields of a plan, named like its arguments, as ``dataclasses.replace`` needs them.

    Three of them are kept as tuples, of which the properties of a plan make dicts.
    """

    attributes: tuple[Attribute, ...]
    name: str
    keep: tuple[str, ...] | Literal["*"]
    drop: tuple[str, ...]
    undecided: tuple[str, ...] = ()
    units: tuple[str, ...] | None = None
    requirement: Any = ()
    column_labels: Any = ()
    value_labels: Any = ()
    id_type: IdType | None = None

    @cached
    def _coded(self) -> tuple[Categorical | Joint, ...]:
        """The attributes that are drawn row by row."""
        return tuple(a for a in self.attributes if not a.whole_column)

    @cached
    def _numeric(self) -> tuple[Numeric, ...]:
        """The attributes that are drawn as a whole."""
        return tuple(a for a in self.attributes if a.whole_column)

    @cached
    def _protected(self) -> frozenset[str]:
        return frozenset(column for a in self.attributes for column in a.columns)


def of_columns(given: object, known: Collection[str] | None) -> ColumnLabels:
    """Read a dict from columns to labels; ``known`` are the columns of the plan, None for any."""
    found = []
    for column, text in _items("column_labels", given, "be a dict from columns to strings"):
        name = _column("column_labels", column, known)
        with about([name]):
            found.append((name, named("column_labels", text)))
    return tuple(found)


def of_values(
    given: object, attributes: Collection[Attribute], known: Collection[str] | None
) -> ValueLabels:
    """Read a dict from columns to dicts from values to labels.

    Values of a protected column are among its categories.
    """
    must = "be a dict from columns to dicts from values to strings"
    found = []
    for column, pairs in _items("value_labels", given, must):
        name = _column("value_labels", column, known)
        with about([name]):
            listed = _items("value_labels", pairs, must)
            values = Labels.of("value_labels", [value for value, _text in listed]).values
            texts = tuple(named("value_labels", text) for _value, text in listed)
            twice = len(texts) - len(set(texts))
            if twice:
                raise Refused("value_labels", "be distinct", f"{twice} again")
            for attribute in attributes:
                if name in attribute.columns and not attribute.whole_column:
                    _check_declared(attribute, name, values)
            found.append((name, tuple(zip(values, texts, strict=True))))
    return tuple(found)


def _check_declared(attribute: Coded, column: str, values: tuple[Label, ...]) -> None:
    at = attribute.columns.index(column)
    labels, recode = attribute.axes[at], dict(attribute.recode[at] if attribute.recode else ())
    for value in values:
        if labels.code(value) is None or type(value) is not type(labels.values[0]):
            is_missing = recode.get(value, value) is None
            got = "a code that is recoded as missing" if is_missing else "a value that is none"
            raise Refused("value_labels", "be of declared categories", got)


def _items(name: str, given: object, must: str) -> list[tuple[object, object]]:
    if not hasattr(given, "items"):
        raise RefusedType(name, must, type(given).__name__)
    return list(given.items())


def _column(name: str, given: object, known: Collection[str] | None) -> str:
    column = named(name, given)
    if known is not None and column not in known:
        must = "be of columns that the plan names"
        raise Refused(name, must, f"`{shown(column)}`, which is none of them{meant(column, known)}")
    return column


def check_columns(plan: Plan) -> None:
    """Check that no column occurs twice and that columns of groups stay unprotected."""
    if plan.keep == "*" and plan.undecided:
        them = "it" if len(plan.undecided) == 1 else "them"
        must = f'not be undecided if keep="*", which keeps {them}'
        raise Refused("", must, "both", column=plan.undecided)
    seen: dict[str, str] = {}
    named_in = [(column, "an attribute") for a in plan.attributes for column in a.columns]
    named_in += [(column, "`keep`") for column in plan.keep if plan.keep != "*"]
    named_in += [(column, "`drop`") for column in plan.drop]
    named_in += [(column, "`undecided`") for column in plan.undecided]
    for column, where in named_in:
        if column in seen:
            got = f"{seen[column]} and {where}" if seen[column] != where else f"{where} twice"
            raise Refused("", "be named once", got, column=column)
        seen[column] = where
    for column in plan.units or ():
        if seen.get(column) in ("an attribute", "`undecided`"):
            which = "protects" if column in plan._protected else "does not decide"
            must = "name unprotected columns"
            raise Refused("units", must, f"`{shown(column)}`, which the plan {which}")
    by = [(a, "groups", a.groups.column) for a in plan.attributes if a.groups is not None]
    within = [(a, "within", a.within) for a in plan._numeric if a.within is not None]
    for attribute, name, column in (*by, *within):
        clear = column in plan.keep or (plan.keep == "*" and column not in seen)
        if not clear:
            raise Refused(
                name,
                "be by a column that the plan keeps",
                f"`{shown(column)}`, which is not in `keep`",
                column=attribute.columns,
            )


def refuse_others(plan: Plan, where: str) -> None:
    """Raise for columns that need other records than those at hand, and for numbers in classes."""
    plan._refuse_undecided()
    for attribute in plan._numeric:
        must = f"not be numeric {where}, as numbers are permuted among records"
        raise Refused("", must, "a numeric one", column=attribute.columns)
    refuse_numbers(plan, where)
    for coded in plan._coded:
        if coded.unit is not None:
            must = f"not be drawn by unit {where}, as a client holds no other record"
            raise Refused("", must, f"unit `{shown(coded.unit)}`", column=coded.columns)


def refuse_numbers(plan: Plan, where: str) -> None:
    """Raise for numbers inside classes, which are drawn for a row: without one, by an id, they
    would be the same for ever."""
    for attribute in plan._coded:
        if attribute._has_numbers:
            must = f'have output="interval" or output="midpoint" {where}'
            raise Refused("", must, 'output="number", which needs a row', column=attribute.columns)
