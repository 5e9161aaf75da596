"""``plan.sql``: a view with corrected columns, for unbiased estimates in a database.

For every category ``c`` of a protected column the view has a column ``"column=c"``. Its value in a
row is the pseudo-response ``(P^-1 d)[reported]``, where ``d`` is 1 for the category and 0 for all
others. Its mean over the noise is 1 if the true value is ``c`` and 0 otherwise, so ``sum``
estimates how many records have the category. A product of columns of different attributes estimates
how many records have both categories, because attributes are randomized independently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bistochastic import arguments
from bistochastic.plan.attributes import named
from bistochastic.tables.question import digits, levels_of, pseudo
from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from bistochastic.plan.attributes import Categorical, Joint
    from bistochastic.plan.plan import Plan

    Array = NDArray[np.float64]

DIALECTS = ("duckdb", "sqlite")
# Corrected columns of a view; a table of more is wider than databases like.
_MOST = 2000

# n / (n - 1) times the sum of squares about the mean, with n the records of the whole table: rows
# that a condition leaves out count as 0.
_MORE = "max(bs_n) / (max(bs_n) - 1.0)"
# y, of rows that have an x.
_BASE = "x * 0 + y"
_MACROS = {
    "bs_count(x)": "sum(x)",
    "bs_se(x)": f"sqrt({_MORE} * (sum(x * x) - sum(x) * sum(x) / max(bs_n)))",
    "bs_mean(x)": "sum(x) / count(x)",
    "bs_mean_se(x)": f"sqrt({_MORE} * (sum(x * x) - sum(x) * sum(x) / count(x))) / count(x)",
    "bs_ratio(x, y)": f"sum(x) / sum({_BASE})",
    "bs_ratio_se(x, y)": f"sqrt({_MORE} * (sum(x * x) - 2 * sum(x) / sum({_BASE}) * sum(x * y) "
    f"+ (sum(x) / sum({_BASE})) ** 2 * sum(x * 0 + y * y))) / abs(sum({_BASE}))",
}


def sql(plan: Plan, dialect: object, table: object) -> str:
    """Write the statements."""
    kind = arguments.one_of("dialect", dialect, DIALECTS)
    name = named("table", table)
    plan._refuse_undecided()
    columns = [each for attribute in plan._coded for each in _correct(attribute)]
    if len(columns) > _MOST:
        raise ValueError(f"`plan` must have at most {_MOST} categories in SQL; got {len(columns)}")
    lines = [f"  t.*,\n  (SELECT count(*) FROM {_quote(name)}) AS bs_n", *columns]
    view = _quote(f"{name}_corrected")
    body = ",\n  ".join(lines)
    statements = [f"CREATE VIEW {view} AS SELECT\n{body}\nFROM {_quote(name)} AS t;"]
    if kind == "duckdb":
        statements += [f"CREATE OR REPLACE MACRO {head} AS {it};" for head, it in _MACROS.items()]
    return "\n".join(statements) + "\n"


def _correct(attribute: Categorical | Joint) -> Iterator[str]:
    """Corrected columns of an attribute, as SQL."""
    places = digits(attribute)
    wanted: list[tuple[str, Array]] = []
    for column, place in zip(attribute.columns, places, strict=True):
        levels = levels_of(attribute, column)
        for code, level in enumerate(levels):
            wanted.append((f"{column}={_spoken(level)}", (place == code).astype(float)))
        if all(type(level) is int for level in levels):
            wanted.append((f"{column} score", np.array(levels, float)[place]))
    # The column and the category of every column of each code.
    every = [
        [(column, levels_of(attribute, column)[at]) for at in place]
        for column, place in zip(attribute.columns, places, strict=True)
    ]
    codes = list(zip(*every, strict=True))
    if len(attribute.columns) > 1:
        units = np.eye(len(codes))
        names = [", ".join(f"{c}={_spoken(level)}" for c, level in cell) for cell in codes]
        wanted += zip(names, units, strict=True)
    found = pseudo(attribute, np.stack([scores for _, scores in wanted]), "sql")
    conditions = [" AND ".join(_equals(*each) for each in cell) for cell in codes]
    # A missing value that is published as such has no corrected value, which sums leave out.
    gone = f"WHEN {_equals(attribute.columns[0], None)} THEN NULL"
    unanswered = [gone] * (attribute.missing == "keep")
    for row, (name, _) in enumerate(wanted):
        cases = [_cases(unanswered, conditions, table[row]) for table in found]
        whole = cases[0]
        if attribute.groups is not None:
            by = attribute.groups.column
            pairs = zip(attribute.groups.labels.values, cases, strict=True)
            whole = " ".join(f"WHEN {_equals(by, v)} THEN {case}" for v, case in pairs)
            whole = f"CASE {whole} END"
        yield f"{whole} AS {_quote(name)}"


def _cases(first: list[str], conditions: list[str], values: Array) -> str:
    """Write a value for each code; the commonest comes last, without a condition of its own."""
    each, counts = np.unique(values, return_counts=True)
    usual = each[np.argmax(counts)]
    cases = first + [
        f"WHEN {condition} THEN {_number(value)}"
        for condition, value in zip(conditions, values.tolist(), strict=True)
        if value != usual
    ]
    rest = _number(float(usual))
    return f"CASE {' '.join(cases)} ELSE {rest} END" if cases else rest


def _number(value: float) -> str:
    """Write a double: without an exponent DuckDB would read a decimal number."""
    return repr(value) if "e" in repr(value) else f"{value!r}e0"


def _equals(column: str, level: object) -> str:
    test = "IS NULL" if level is None else f"= {_literal(level)}"
    return f"t.{_quote(column)} {test}"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: object) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).upper()


def _spoken(value: object) -> str:
    return "missing" if value is None else shown(str(value))
