"""``plan.respond``: one record on a client, as ``protect`` by ids would report it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core
from bistochastic.labels import like
from bistochastic.plan.attributes import about, prefix
from bistochastic.sources import secret_of
from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bistochastic.plan.attributes import Categorical, Joint
    from bistochastic.plan.plan import Plan


def respond(
    plan: Plan, record: Mapping[str, Any], *, key: Any, id: Any, allow_insecure: Any = False
) -> dict[str, Any]:
    """The report of one record."""
    plan._refuse_undecided()
    if not hasattr(record, "keys") or not hasattr(record, "__getitem__"):
        raise TypeError(f"`record` must map columns to values; got {type(record).__name__}")
    held = secret_of(key, allow_insecure)
    given = {name: record[name] for name in record.keys()}  # noqa: SIM118 - any mapping
    _check_columns(plan, list(given))
    reports: dict[str, Any] = {}
    for attribute in plan.attributes:
        if attribute.whole_column:
            must = "must not be numeric for one record, as numbers are permuted among records"
            raise ValueError(f"{prefix(attribute.columns)}{must}; got a numeric one")
        reports.update(_report(plan, attribute, given, held, id))
    left_out = set(plan.drop)
    return {name: reports.get(name, value) for name, value in given.items() if name not in left_out}


def _check_columns(plan: Plan, names: list[str]) -> None:
    protected = [column for attribute in plan.attributes for column in attribute.columns]
    needed = protected + (list(plan.keep) if plan.keep != "*" else [])
    needed += [a.strata.column for a in plan.attributes if a.strata is not None]
    for column in needed:
        if column not in names:
            raise ValueError(f"{prefix([column])}must be in `record`; got none of that name")
    known = {*needed, *plan.drop}
    unknown = [name for name in names if name not in known]
    if unknown and plan.keep != "*":
        listed = ", ".join(f"`{shown(name)}`" for name in unknown)
        must = "`record` must hold columns that the plan protects, keeps or drops"
        raise ValueError(f"{must}; got {listed}")


def _report(
    plan: Plan, attribute: Categorical | Joint, given: Mapping[str, Any], key: _core.Key, id: Any
) -> dict[str, Any]:
    """The columns of an attribute as they are reported."""
    digits = []
    spelled = {}
    missing = [column for column in attribute.columns if _is_missing(given[column])]
    if missing and attribute.missing == "refuse":
        raise ValueError(f"{prefix(missing)}must not be missing; got a missing value")
    if missing and attribute.missing == "keep":
        if len(missing) < len(attribute.columns):
            must = 'must be missing together where missing="keep"'
            raise ValueError(f"{prefix(attribute.columns)}{must}; got some of them")
        return dict.fromkeys(attribute.columns)
    for column, labels, size in zip(
        attribute.columns, attribute.axes, attribute.shape, strict=True
    ):
        digit = size - 1 if column in missing else labels.code(given[column])
        if digit is None:
            must = "must hold a declared category"
            raise ValueError(f"{prefix([column])}{must}; got an undeclared one")
        digits.append(digit)
        values = labels.values if column in missing else like(labels, given[column])
        if values is None:
            must = "must hold a text, as its categories are"
            raise TypeError(f"{prefix([column])}{must}; got {type(given[column]).__name__}")
        spelled[column] = values
    code = 0
    for digit, size in zip(digits, attribute.shape, strict=True):
        code = code * size + digit
    cells: list[int] = []
    if attribute.impossible:
        cells = attribute.cells.tolist()
        if code in cells:
            must = "must hold no combination declared impossible"
            raise ValueError(f"{prefix(attribute.columns)}{must}; got one")
        code -= sum(cell < code for cell in cells)
    matrix = attribute.matrices[_stratum(attribute, given)]
    with about(attribute.columns):
        columns = list(attribute.columns)
        codes = np.array([code], dtype=np.int64)
        [report] = _core.plan_ids(key, plan.name, columns, matrix, codes, [id]).tolist()
    for cell in cells:
        report += cell <= report
    found = {}
    for column, labels, size in reversed(
        list(zip(attribute.columns, attribute.axes, attribute.shape, strict=True))
    ):
        report, digit = divmod(report, size)
        found[column] = None if digit == len(labels) else spelled[column][digit]
    return found


def _stratum(attribute: Categorical | Joint, given: Mapping[str, Any]) -> int:
    if attribute.strata is None:
        return 0
    column = attribute.strata.column
    code = attribute.strata.labels.code(given[column])
    if code is None:
        raise ValueError(f"{prefix([column])}must hold a declared category; got an undeclared one")
    return code


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)
