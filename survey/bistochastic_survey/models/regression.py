"""``release.regress``: coefficients of the original from a protected table."""

import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bistochastic.errors import Refused
from bistochastic_survey import checks
from bistochastic_survey.analysis.quantities import student
from bistochastic_survey.analysis.request import between
from bistochastic_survey.analysis.responses import Function, numeric, represented
from bistochastic_survey.checks import Array
from bistochastic_survey.models.categories import fit_by_likelihood, fit_by_score
from bistochastic_survey.models.formula import needed_columns, numeric_columns, parse, terms_of
from bistochastic_survey.models.records import OUTCOME, UNPROTECTED, fit_moments, read_records
from bistochastic_survey.progress import watched
from bistochastic_survey.release.release import Release
from bistochastic_survey.wording import Shown, quoted, shown, table, visible

MODELS = ("linear", "logistic", "multinomial")
METHODS = ("corrected", "likelihood")
# Odds of 3,000,000 to 1.
_SURE = 15
# The decimal places of the columns of a summary.
_DIGITS = (4, 4, 3, 3, 4, 4)
# The marks that formulaic puts around a category.
_CATEGORY = re.compile(r"^.*?\[(?:[A-Z]\.)?(.*)\]$")


@dataclass(frozen=True, eq=False, repr=False)
class Regression(Shown):
    """Coefficients that the original table would give, estimated from a protected one.

    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("x", ["a", "b"], "randomized_response", keep=0.9)],
    ...                keep=["y"])
    >>> frame = {"x": ["a", "b", "b", "a", "b"] * 20, "y": [1, 4, 2, 3, 3] * 20}
    >>> sv.Release(frame, plan).regress("y ~ x", model="linear")
    Linear regression by corrected moments: y ~ x
    outcome: y; records: 100
    <BLANKLINE>
                 coef  std err      z  P>|z|  [0.025  0.975]
    ---------  ------  -------  -----  -----  ------  ------
    Intercept  1.8000   0.1971  9.133  0.000  1.4137  2.1863
    x[T.b]     1.2800   0.2452  5.219  0.000  0.7993  1.7607
    """

    formula: str
    model: str
    method: str
    """``"corrected"`` or ``"likelihood"``."""
    outcomes: tuple[str, ...]
    """The categories of the outcome, which are compared with the first; or its name."""
    terms: tuple[str, ...]
    """The columns of the design, as formulaic names them."""
    coefficients: Array
    """One for each of :attr:`names`."""
    covariance: Array
    """The covariance matrix of the coefficients."""
    records: int
    degrees: float
    """Degrees of freedom of the intervals; infinite without a survey design."""
    log_likelihood: float | None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for array in (self.coefficients, self.covariance):
            array.flags.writeable = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coefficients; in a multinomial model with the category in front."""
        if self.model != "multinomial":
            return self.terms
        return tuple(f"{each}: {term}" for each in self.outcomes[1:] for term in self.terms)

    @property
    def standard_errors(self) -> Array:
        """The standard error of each coefficient."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def p_values(self) -> Array:
        """The p-value of each coefficient being 0, normal or Student's."""
        from scipy import special

        z = -np.abs(self.coefficients / self.standard_errors)
        plain = math.isinf(self.degrees)
        return np.asarray(2 * (special.ndtr(z) if plain else special.stdtr(self.degrees, z)))

    def interval(self, confidence: float = 0.95) -> Array:
        """Return lower and upper bounds of every coefficient, of shape ``(k, 2)``.

        They are normal, or Student's with :attr:`degrees` under a survey design.
        """
        alpha = 1 - between("confidence", confidence)
        times = student(alpha, self.degrees) if self.degrees >= 1 else math.inf
        away = times * self.standard_errors
        return np.stack([self.coefficients - away, self.coefficients + away], axis=1)

    def to_columns(self) -> dict[str, Any]:
        """Return the coefficients as columns, e.g. for ``pandas.DataFrame``.

        They are ``term``, ``coefficient``, ``standard_error``, ``z`` (``t`` under a design),
        ``p_value``, ``low`` and ``high``. A multinomial model has ``outcome`` first.
        """
        names = {"term": list(self.terms) * (len(self.coefficients) // len(self.terms))}
        if self.model == "multinomial":
            names = {"outcome": list(np.repeat(self.outcomes[1:], len(self.terms))), **names}
        low, high = self.interval().T
        return {
            **names,
            "coefficient": self.coefficients,
            "standard_error": self.standard_errors,
            "z" if math.isinf(self.degrees) else "t": self.coefficients / self.standard_errors,
            "p_value": self.p_values,
            "low": low,
            "high": high,
        }

    def summary(self) -> str:
        """Write a table in the style of statsmodels."""
        how = "by the corrected score" if self.method == "corrected" else "by maximum likelihood"
        how = "by corrected moments" if self.model == "linear" else how
        what = shown(self.outcomes[0])
        if self.model == "logistic":
            what = f"{shown(self.outcomes[1])} rather than {what}"
        elif self.model == "multinomial":
            what = f"{len(self.outcomes)} categories, compared with {what}"
        facts = f"outcome: {what}; records: {self.records:,}"
        if math.isfinite(self.degrees):
            facts += f"; degrees of freedom: {self.degrees:g}"
        if self.log_likelihood is not None:
            facts += f"; log-likelihood: {self.log_likelihood:.3f}"
        z = "z" if math.isinf(self.degrees) else "t"
        header = ["", "coef", "std err", z, f"P>|{z}|", "[0.025", "0.975]"]
        rows = [
            [shown(name), *(f"{x:.{digits}f}" for x, digits in zip(row, _DIGITS, strict=True))]
            for name, *row in zip(self.names, *list(self.to_columns().values())[-6:], strict=True)
        ]
        title = f"{self.model.capitalize()} regression {how}: {visible(self.formula)}"
        notes = [f"note: {each}" for each in self.notes]
        return "\n".join([title, facts, "", table(header, rows, left=(0,)), *notes])

    __repr__ = summary


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
        return _regress(release, formula, model, method, design, raw)
    except np.linalg.LinAlgError:
        must = "find a maximum at which the information is positive definite"
        cure = "leave out columns that are constant, or that others add up to"
    raise Refused("regress", must, f"information that is singular: {cure}")


def _regress(
    release: Release[Any], formula: object, model: object, method: object, design: object, raw: bool
) -> Regression:
    kind = checks.one_of("model", model, MODELS)
    how = None if method is None else checks.one_of("method", method, METHODS)
    if how == "likelihood" and kind == "linear":
        raise Refused("method", "be corrected for a linear model", "likelihood")
    text, outcome, terms = parse(formula)
    explained, explaining = needed_columns(outcome), needed_columns(terms)
    for name in sorted(explained | explaining):
        if kind != "linear" and numeric(release.plan, name) is not None:
            must = "not be a permuted number unless the model is linear"
            raise Refused("", must, kind, column=name)
    records = read_records(release, explained, explaining, design, midpoints=kind == "linear")
    records = replace(records, raw=raw)
    right = terms_of(records, terms, UNPROTECTED)
    if not right:
        raise Refused("formula", "have a term or an intercept", "none")
    left, columns = terms_of(records, outcome, OUTCOME), list(right.values())
    outcomes: tuple[str, ...]
    if kind == "linear":
        if len(left) > 2:
            must = "have an outcome of numbers or two categories"
            raise Refused("formula", must, f"{len(left)} categories")
        # 1 for the second of two categories.
        outcomes = (_named(left)[-1] if len(left) == 2 else next(iter(left)),)
        fit, how = fit_moments(records, columns, list(left.values())[-1]), "corrected"
        used = numeric_columns(outcome) | numeric_columns(terms)
        mine = [each for each in records.attributes.values() if used & set(each.columns)]
        more = tuple(
            f"{note}: C({shown(each.columns[0])}) has the classes themselves"
            for each in mine for note in represented(each)
        )  # fmt: skip
    else:
        classes, outcomes = _classes(left, kind)
        covariates = {name for column in columns for name in column.scores}
        only = records.attributes and not covariates & records.attributes.keys()
        how = how or ("likelihood" if only and not raw else "corrected")
        fit = (fit_by_likelihood if how == "likelihood" else fit_by_score)(
            records, columns, classes
        )
        more = _separated(right, fit.coefficients)
    return Regression(
        formula=text,
        model=kind,
        method=how,
        outcomes=outcomes,
        terms=tuple(right),
        coefficients=fit.coefficients,
        covariance=fit.covariance(records.sample),
        records=records.sample.records,
        degrees=np.inf if records.sample.is_plain else records.sample.degrees,
        log_likelihood=fit.log_likelihood,
        notes=(*records.notes, *more),
    )


def _separated(right: dict[str, Function], coefficients: Array) -> tuple[str, ...]:
    """Write a note on columns that change the log-odds by more than data can show."""
    widths = []
    for column in right.values():
        ends = [1.0]
        for scores in column.scores.values():
            ends = [end * float(x) for end in ends for x in (scores.min(), scores.max())]
        widths.append(max(ends) - min(ends))
    moved = np.abs(coefficients).reshape(-1, len(widths)).max(axis=0) * widths
    found = quoted(name for name, x in zip(right, moved, strict=True) if x > _SURE)
    why = "the outcome may be separated, so errors and intervals do not hold"
    return (f"{found} changes the log-odds by more than {_SURE}: {why}",) if found else ()


def _named(left: dict[str, Function]) -> list[str]:
    """Return the categories of an outcome that formulaic encoded."""
    return [_CATEGORY.sub(r"\1", name) for name in left]


def _classes(left: dict[str, Function], kind: str) -> tuple[list[Function], tuple[str, ...]]:
    """Whether the outcome is each category but the first, and the names of all of them."""
    found, names = list(left.values()), _named(left)
    if len(left) == 1:
        ((axis, values),) = found[0].scores.items()
        different = np.unique(values)
        found = [Function({axis: (values == each).astype(float)}) for each in different]
        names = [f"{each:g}" for each in different]
    wanted = "two categories" if kind == "logistic" else "two or more categories"
    if len(found) < 2 or (kind == "logistic" and len(found) > 2):
        raise Refused("formula", f"have an outcome of {wanted}", len(found))
    if len(found) > 1000:
        raise Refused("formula", "have an outcome of categories", f"{len(found)} numbers")
    return found[1:], tuple(names)
