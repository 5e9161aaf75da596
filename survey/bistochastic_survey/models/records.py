"""``Records``: the rows of a table that a model needs; ``Fitted``, and linear models by moments.

An *axis* is what a function of the true values can depend on: a protected attribute (its codes), a
permuted number (its values), or all unprotected columns of one side of the formula (their
combinations). :class:`bistochastic_survey.analysis.responses.Function` is a product over axes, and
``Responses.of`` gives its pseudo-response on every row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bistochastic.errors import Refused
from bistochastic.estimate import Sample
from bistochastic_survey.analysis.design import Design
from bistochastic_survey.analysis.request import Coded, ask, digits, levels_of
from bistochastic_survey.analysis.responses import (
    Function,
    Responses,
    numeric,
    read_responses,
    score_row,
)
from bistochastic_survey.checks import Array
from bistochastic_survey.plan.numeric import Binned
from bistochastic_survey.release.release import Release
from bistochastic_survey.table.arrays import combinations

# One of pandas, which is imported where a frame is made.
DataFrame = Any
# The axes of unprotected columns: those of the outcome, and those of everything else.
OUTCOME, UNPROTECTED = "(outcome)", "(unprotected)"
MISSING = "(missing)"


def frame_of(columns: Mapping[str, Any], rows: int) -> DataFrame:
    """Make a frame of columns of one length, as formulaic reads them."""
    from pandas import DataFrame

    return DataFrame(columns, index=range(rows))


@dataclass(frozen=True, eq=False)
class Records:
    """Rows with their codes on every axis, and the true values of each code."""

    responses: Responses
    frames: dict[str, DataFrame]
    """For each axis, the true values of its codes, a row for each code."""
    notes: tuple[str, ...]
    raw: bool = False
    """Whether reported values are treated as true ones, as ordinary software does."""

    def of(self, function: Function) -> Array:
        """Return the pseudo-response of a function of the true values, on every row."""
        if not self.raw:
            return self.responses.of(function)
        found = np.ones(len(self.sample.sums))
        for name, scores in function.scores.items():
            known = self.attributes.get(name)
            # A code that is reported but never true counts as nothing.
            padded = scores if known is None else np.pad(scores, (0, known.size - len(scores)))
            found = found * padded[self.responses.codes[name]]
        return found

    @property
    def sample(self) -> Sample:
        """The weights and the design of the rows."""
        return self.responses.sample

    @property
    def attributes(self) -> dict[str, Coded]:
        """The protected attributes, by axis."""
        return {", ".join(each.columns): each for each in self.responses.question.coded}

    def axes_of(self, columns: set[str], side: str) -> tuple[str, ...]:
        """Return the axes that hold these columns; unprotected ones are on the axis ``side``."""
        every = [name for name in self.frames if name not in (OUTCOME, UNPROTECTED)]
        return tuple(name for name in (*every, side) if columns & set(self.frames[name]))


def read_records(
    release: Release[Any],
    outcome: set[str],
    others: set[str],
    given: object,
    *,
    midpoints: bool = False,
) -> Records:
    """Read the columns of both sides of a formula from a protected table.

    With ``midpoints``, classes of a binned column are numbers rather than categories.
    """
    plan = release.plan
    design = Design._of(given, plan)
    finite = ["fpc is left out: errors are as with replacement, and not too small"]
    finite = finite if design.fpc is not None else []
    # The noise of scores would have to stay whole, and is not known by itself.
    design = replace(design, fpc=None)
    columns = sorted(outcome | others)
    permuted = [name for name in columns if numeric(plan, name) is not None]
    question = ask(plan, [name for name in columns if name not in permuted], None)
    responses = read_responses(release, question, permuted, design, "regress", complete=True)
    codes = responses.codes
    frames: dict[str, DataFrame] = {}
    for attribute in question.coded:
        frames[", ".join(attribute.columns)] = _declared(attribute, midpoints)
    for name in permuted:
        different, codes[name] = np.unique(responses.numbers[name], return_inverse=True)
        frames[name] = frame_of({name: different}, len(different))
    unprotected = {name: values for name, values in responses.axes.items() if values is not None}
    for side, wanted in ((OUTCOME, outcome), (UNPROTECTED, others | set(question.groups))):
        axes = [name for name in unprotected if name in wanted]
        rows = len(responses.sample.sums)
        first, codes[side], _ = combinations([codes[name] for name in axes], rows)
        values = {name: _values(unprotected[name])[codes[name][first]] for name in axes}
        frames[side] = frame_of(values, len(first))
    left_out = responses.unanswered
    notes = (f"{left_out:,} record{'s' * (left_out > 1)} with missing values left out",)
    return Records(responses, frames, (*(notes if left_out else ()), *finite, *responses.notes))


def _declared(attribute: Coded, midpoints: bool) -> DataFrame:
    """Return the categories of each column of an attribute, for every code that can be true."""
    places = digits(attribute)
    if midpoints and isinstance(attribute, Binned) and attribute.missing != "category":
        numbers = score_row(attribute, attribute.column, None)
        return frame_of({attribute.column: numbers}, len(numbers))
    columns = zip(attribute.columns, places, strict=True)
    values = {column: _categories(attribute, column, at) for column, at in columns}
    return frame_of(values, len(places[0]))


def _categories(attribute: Coded, column: str, codes: NDArray[np.intp]) -> Any:
    known = [MISSING if level is None else level for level in levels_of(attribute, column)]
    if not any(isinstance(level, str) for level in known):
        return np.array(known)[codes]
    from pandas import Categorical

    return Categorical.from_codes(codes, [str(level) for level in known])


def _values(values: tuple[object, ...]) -> np.ndarray:
    """Return the values of an unprotected column; rows with a missing one are left out already."""
    known = [value for value in values if value is not None]
    filled = [known[0] if value is None else value for value in values]
    kinds = {type(value) for value in known}
    return np.array(filled, object if len(kinds) > 1 and str in kinds else None)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A solution of estimating equations: coefficients, and what their errors come from.

    ``information`` is minus the derivative of the score, ``scores`` has a row for each coefficient
    and a column for each row of the sample; None if the information is all that errors need.
    """

    coefficients: Array
    information: Array
    scores: Array | None
    log_likelihood: float | None = None

    def covariance(self, sample: Sample) -> Array:
        """Compute the covariance of the coefficients: ``A^-1 B A^-1``.

        Without weights, B is the sum of ``psi psi^T``; under a design, the covariance of the total
        score. A likelihood without weights has only ``A^-1``, and no scores.
        """
        inverse = np.linalg.inv(self.information)
        if self.scores is None:
            return np.asarray(inverse)
        if sample.is_plain:
            middle = (self.scores * sample.squares) @ self.scores.T
        else:
            middle = sample.covariance(self.scores)
        return np.asarray(inverse @ middle @ inverse.T)


def fit_moments(records: Records, columns: Sequence[Function], outcome: Function) -> Fitted:
    """Fit a linear model by corrected moments: a closed form, for any number of protected columns.

    With pseudo-responses ``M_i`` of ``D D^T`` and ``c_i`` of ``D y``, each right on average
    whatever was reported, ``theta = (sum w_i M_i)^-1 sum w_i c_i`` and ``psi_i = c_i - M_i theta``.
    """
    k, weights = len(columns), records.sample.sums
    alone = [records.of(column) for column in columns]

    def product(i: int, j: int) -> Array:
        # For different axes, the pseudo-response of a product is the product of both.
        shared = columns[i].scores.keys() & columns[j].scores.keys()
        return records.of(columns[i] * columns[j]) if shared else alone[i] * alone[j]

    moments = np.empty((k, k))
    for i in range(k):
        for j in range(i, k):
            moments[i, j] = moments[j, i] = float(weights @ product(i, j))
    scores = np.stack([records.of(column * outcome) for column in columns])
    scale = np.sqrt(np.abs(np.diag(moments)))
    scale[scale == 0] = 1.0
    if not np.linalg.eigvalsh(moments / np.outer(scale, scale)).min() > 1e-12:
        must = "find a moment matrix that is positive definite"
        raise Refused("regress", must, "one that is not: use fewer or coarser columns")
    right = scores @ weights / scale
    theta = np.linalg.solve(moments / np.outer(scale, scale), right) / scale
    for i in range(k):
        for j in range(k):
            scores[i] -= theta[j] * product(i, j)
    return Fitted(theta, moments, scores)
