"""``release.regress``: coefficients of the original from a protected table."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic.errors import Refused
from bistochastic_survey import checks
from bistochastic_survey.analysis.responses import Function, numeric, represented
from bistochastic_survey.models import cells, likelihood, linear
from bistochastic_survey.models.formula import numbers_of, parse, terms_of
from bistochastic_survey.models.records import OUTCOME, UNPROTECTED, read_records
from bistochastic_survey.models.result import Regression
from bistochastic_survey.progress import watched
from bistochastic_survey.table.results import maker
from bistochastic_survey.wording import shown

if TYPE_CHECKING:
    from bistochastic_survey.checks import Array
    from bistochastic_survey.models.fitting import Fitted
    from bistochastic_survey.models.formula import Terms
    from bistochastic_survey.models.records import Records
    from bistochastic_survey.release.release import Release

MODELS = ("linear", "logistic", "multinomial")
METHODS = ("corrected", "likelihood")
# Odds of 3,000,000 to 1.
_SURE = 15
# The marks that formulaic puts around a category.
_CATEGORY = re.compile(r"^.*?\[(?:[A-Z]\.)?(.*)\]$")


@watched("fitting")
def regress(
    release: Release[Any],
    formula: object,
    model: object,
    method: object,
    design: object,
    *,
    raw: bool = False,
) -> Regression:
    """Fit a model: see ``Release.regress``; ``raw`` skips the correction."""
    try:
        return _regress(release, formula, model, method, design, raw=raw)
    except np.linalg.LinAlgError:
        must = "find a maximum at which the information is positive definite"
        cure = "leave out columns that are constant, or that others add up to"
    raise Refused("regress", must, f"information that is singular: {cure}")


def _regress(
    release: Release[Any],
    formula: object,
    model: object,
    method: object,
    design: object,
    *,
    raw: bool,
) -> Regression:
    kind = checks.one_of("model", model, MODELS)
    how = None if method is None else checks.one_of("method", method, METHODS)
    if how == "likelihood" and kind == "linear":
        raise Refused("method", "be corrected for a linear model", "likelihood")
    sides = parse(formula)
    for name in sorted(sides.outcome | sides.covariates):
        if kind != "linear" and numeric(release.plan, name) is not None:
            must = "not be a permuted number unless the model is linear"
            raise Refused("", must, kind, column=name)
    records = read_records(
        release, sides.outcome, sides.covariates, design, midpoints=kind == "linear"
    )
    records = replace(records, raw=raw)
    terms = terms_of(records, sides.right, UNPROTECTED)
    if not terms.names:
        raise Refused("formula", "have a term or an intercept", "none")
    left = terms_of(records, sides.left, OUTCOME)
    other: Fitted | None = None
    outcomes: tuple[str, ...]
    more: tuple[str, ...]
    if kind == "linear":
        outcome, what = _number(left)
        outcomes = (what,)
        fit = linear.fit(records, terms, outcome)
        how = "corrected"
        used = numbers_of(sides.left) | numbers_of(sides.right)
        mine = [each for each in records.attributes.values() if used & set(each.columns)]
        more = tuple(
            f"{note}: C({shown(each.columns[0])}) has the classes themselves"
            for each in mine for note in represented(each)
        )  # fmt: skip
    else:
        classes, outcomes = _classes(records, left, kind)
        only = records.attributes and not any(
            name in records.attributes for column in terms.columns for f in column
            for name in f.scores
        )  # fmt: skip
        how = how or ("likelihood" if only and not raw else "corrected")
        try:
            fit = other = cells.fit(records, terms, classes)
        except ValueError:
            # The likelihood can do without it.
            if how == "corrected":
                raise
        if how == "likelihood":
            start = None if other is None else other.coefficients
            fit = likelihood.fit(records, terms, classes, start)
        more = _separated(terms, fit.coefficients)
    known = not records.sample.clustered and records.sample.replicates is None
    return Regression(
        formula=sides.text,
        model=kind,
        method=how,
        outcomes=outcomes,
        terms=terms.names,
        coefficients=fit.coefficients,
        covariance=fit.covariance(records.sample),
        without_noise=(other or fit).without_noise() if known and not raw else None,
        records=records.sample.records,
        degrees=np.inf if records.sample.is_plain else records.sample.degrees,
        steps=fit.steps,
        negative=fit.negative,
        log_likelihood=fit.log_likelihood,
        notes=(*records.notes, *fit.notes, *more),
        _make=maker(release.data),
    )


def _separated(terms: Terms, coefficients: Array) -> tuple[str, ...]:
    """Write a note on columns that change the log-odds by more than data can show."""
    widths = []
    for column in terms.columns:
        low = high = 0.0
        for function in column:
            ends = [1.0]
            for scores in function.scores.values():
                ends = [end * float(x) for end in ends for x in (scores.min(), scores.max())]
            low, high = low + min(ends), high + max(ends)
        widths.append(high - low)
    moved = np.abs(coefficients).reshape(-1, len(widths)).max(axis=0) * widths
    found = ", ".join(f"`{shown(terms.names[i])}`" for i in np.flatnonzero(moved > _SURE))
    why = "the outcome may be separated, so errors and intervals do not hold"
    return (f"{found} changes the log-odds by more than {_SURE}: {why}",) if found else ()


def _number(left: Terms) -> tuple[tuple[Function, ...], str]:
    """Convert the outcome to a number: a numeric column, or 1 for the second of two categories."""
    if len(left.columns) == 1:
        return left.columns[0], left.names[0]
    if len(left.columns) != 2:
        must = "have an outcome of numbers or two categories"
        raise Refused("formula", must, f"{len(left.columns)} categories")
    return left.columns[1], _named(left)[1]


def _named(left: Terms) -> list[str]:
    """Return the categories of an outcome that formulaic encoded."""
    return [_CATEGORY.sub(r"\1", name) for name in left.names]


def _classes(records: Records, left: Terms, kind: str) -> tuple[list[Function], tuple[str, ...]]:
    """Whether the outcome is each category but the first, and the names of all of them."""
    if len(left.columns) > 1:
        found, names = [column[0] for column in left.columns], _named(left)
    else:
        if len(left.columns[0]) > 1 or len(left.columns[0][0].scores) != 1:
            raise Refused("formula", "have an outcome of one column", f"`{shown(left.names[0])}`")
        ((axis, values),) = left.columns[0][0].scores.items()
        different = np.unique(values)
        found = [Function({axis: (values == each).astype(float)}) for each in different]
        names = [f"{each:g}" for each in different]
    wanted = "two categories" if kind == "logistic" else "two or more categories"
    if len(found) < 2 or (kind == "logistic" and len(found) > 2):
        raise Refused("formula", f"have an outcome of {wanted}", len(found))
    if len(found) > 1000:
        raise Refused("formula", "have an outcome of categories", f"{len(found)} numbers")
    return found[1:], tuple(names)
