"""``release.regress``: coefficients of the original from a protected table."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic.errors import Refused
from bistochastic_survey import checks
from bistochastic_survey.analysis.quantities import student
from bistochastic_survey.analysis.request import between
from bistochastic_survey.analysis.responses import Function, numeric, represented
from bistochastic_survey.checks import Array
from bistochastic_survey.models.cells import fit_by_score
from bistochastic_survey.models.fitting import Fitted, fit_moments
from bistochastic_survey.models.formula import Terms, numeric_columns, parse, terms_of
from bistochastic_survey.models.likelihood import fit_by_likelihood
from bistochastic_survey.models.records import OUTCOME, UNPROTECTED, Records, read_records
from bistochastic_survey.progress import watched
from bistochastic_survey.release.release import Release
from bistochastic_survey.table.results import framed, maker
from bistochastic_survey.wording import shown, table, visible

if TYPE_CHECKING:
    from bistochastic_survey.table.results import Maker

MODELS = ("linear", "logistic", "multinomial")
METHODS = ("corrected", "likelihood")
# Odds of 3,000,000 to 1.
_SURE = 15
# The marks that formulaic puts around a category.
_CATEGORY = re.compile(r"^.*?\[(?:[A-Z]\.)?(.*)\]$")


@dataclass(frozen=True, eq=False, repr=False)
class Regression:
    """Coefficients that the original table would give, estimated from a protected one.

    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("x", ["a", "b"], "randomized_response", keep=0.9)],
    ...                keep=["y"])
    >>> frame = {"x": ["a", "b", "b", "a", "b"] * 20, "y": [1, 4, 2, 3, 3] * 20}
    >>> sv.Release(frame, plan).regress("y ~ x", model="linear")
    Linear regression by corrected moments: y ~ x
    outcome: y; records: 100
    <BLANKLINE>
                 coef  std err      z  P>|z|  [0.025  0.975]  no noise    cost
    ---------  ------  -------  -----  -----  ------  ------  --------  ------
    Intercept  1.8000   0.1971  9.133  0.000  1.4137  2.1863    0.1323  x 1.49
    x[T.b]     1.2800   0.2452  5.219  0.000  0.7993  1.7607    0.1673  x 1.47
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
    without_noise: Array | None
    """Standard errors of the same model without noise; None if the design does not give them."""
    records: int
    degrees: float
    """Degrees of freedom of the intervals; infinite without a survey design."""
    steps: int
    negative: float
    """The negative part of the corrected table, relative to its total."""
    log_likelihood: float | None
    notes: tuple[str, ...] = ()
    _make: Maker | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for array in (self.coefficients, self.covariance, self.without_noise):
            if array is not None:
                array.flags.writeable = False

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), tuple(getattr(self, one.name) for one in fields(self))

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

    def to_frame(self, library: str | None = None) -> Any:
        """Return the coefficients as a DataFrame, of the same library as the protected table.

        The columns are ``term``, ``coefficient``, ``standard_error``, ``z``, ``p_value``, ``low``,
        ``high``, and ``without_noise`` if it is known. A multinomial model has ``outcome`` first.
        """
        return framed(self._columns(), self._make, library)

    def _columns(self) -> dict[str, Sequence[object] | np.ndarray]:
        return {**self._labels(), **self._numbers()}

    def _labels(self) -> dict[str, list[str]]:
        blocks = len(self.coefficients) // len(self.terms)
        names = {"term": list(self.terms) * blocks}
        if self.model == "multinomial":
            names = {"outcome": list(np.repeat(self.outcomes[1:], len(self.terms))), **names}
        return names

    def _numbers(self) -> dict[str, Array]:
        low, high = self.interval().T
        z = "z" if math.isinf(self.degrees) else "t"
        known = {} if self.without_noise is None else {"without_noise": self.without_noise}
        return {
            "coefficient": self.coefficients,
            "standard_error": self.standard_errors,
            z: self.coefficients / self.standard_errors,
            "p_value": self.p_values,
            "low": low,
            "high": high,
            **known,
        }

    def summary(self) -> str:
        """Write a table in the style of statsmodels, with the cost of the noise.

        The last two columns have the standard error of the same model without noise, and how many
        times larger it is with noise.
        """
        numbers = self._numbers()
        z = list(numbers)[2]
        header = ["", "coef", "std err", z, f"P>|{z}|", "[0.025", "0.975]"]
        header += ["no noise", "cost"] * (self.without_noise is not None)
        rows = []
        for name, *given in zip(self.names, *numbers.values(), strict=True):
            digits = (4, 4, 3, 3, 4, 4)
            row = [f"{x:.{places}f}" for x, places in zip(given, digits, strict=False)]
            if self.without_noise is not None:
                error, plain = given[1], given[-1]
                row += (f"{plain:.4f}", f"x {error / plain:.2f}") if plain > 0 else ("", "")
            rows.append([shown(name), *row])
        return "\n".join([*self._facts(), "", table(header, rows, left=(0,)), *self._remarks()])

    def _facts(self) -> list[str]:
        how = "by the corrected score" if self.method == "corrected" else "by maximum likelihood"
        how = "by corrected moments" if self.model == "linear" else how
        what = shown(self.outcomes[0])
        if self.model == "logistic":
            what = f"{shown(self.outcomes[1])} rather than {what}"
        elif self.model == "multinomial":
            what = f"{len(self.outcomes)} categories, compared with {what}"
        lines = [
            f"{self.model.capitalize()} regression {how}: {visible(self.formula)}",
            f"outcome: {what}; records: {self.records:,}",
        ]
        if math.isfinite(self.degrees):
            lines[-1] += f"; degrees of freedom: {self.degrees:g}"
        if self.log_likelihood is not None:
            lines[-1] += f"; log-likelihood: {self.log_likelihood:.3f}"
        return lines

    def _remarks(self) -> list[str]:
        found = [f"note: {each}" for each in self.notes]
        if self.negative > 0:
            part = f"{self.negative:.2%} of the corrected table"
            found.append(f"note: {part} is negative, which noise can cause")
        return found

    __repr__ = summary

    def _repr_html_(self) -> str:
        from bistochastic_survey.pages import render

        names, numbers = self._labels(), self._numbers()
        cells = [[f"{each:.4g}" for each in column] for column in numbers.values()]
        caption, *facts = self._facts()
        table = {"caption": caption, "header": [*names, *numbers], "left": range(len(names)),
                 "rows": list(zip(*names.values(), *cells, strict=True))}  # fmt: skip
        return render("notebook", tables=[table], lines=[*facts, *self._remarks()])


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
        fit = fit_moments(records, terms, outcome)
        how = "corrected"
        used = numeric_columns(sides.left) | numeric_columns(sides.right)
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
            fit = other = fit_by_score(records, terms, classes)
        except ValueError:
            # The likelihood can do without it.
            if how == "corrected":
                raise
        if how == "likelihood":
            start = None if other is None else other.coefficients
            fit = fit_by_likelihood(records, terms, classes, start)
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
