"""``Fitted``: the result of every model; linear models, and the zero of a corrected score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bistochastic.errors import Refused
from bistochastic.estimate import Sample
from bistochastic_survey.analysis.responses import Function
from bistochastic_survey.checks import Array
from bistochastic_survey.models.formula import Terms
from bistochastic_survey.models.records import Records

_STEPS = 60
# A coefficient times the standard deviation of its column: beyond it, a probability is 0 or 1.
_BEYOND = 30.0


@dataclass(frozen=True, eq=False)
class Fitted:
    """A solution of estimating equations: coefficients, and what their errors come from.

    ``information`` is minus the derivative of the score, ``scores`` has a row for each coefficient
    and a column for each row of the sample. ``spread`` is what the covariance of the total score
    would be without noise and without a design; None if that is not known.
    """

    coefficients: Array
    information: Array
    scores: Array | None
    spread: Array | None
    steps: int
    negative: float = 0.0
    """The negative part of the corrected table, relative to its total."""
    log_likelihood: float | None = None
    notes: tuple[str, ...] = ()

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

    def without_noise(self) -> Array | None:
        """Compute the standard errors of the same model without noise; None if unknown."""
        if self.spread is None:
            return None
        inverse = np.linalg.inv(self.information)
        variances = np.diag(inverse @ self.spread @ inverse.T)
        return np.asarray(np.sqrt(np.where(variances > 0, variances, np.nan)))


@dataclass(frozen=True, eq=False)
class Expanded:
    """Columns that are sums of functions: the functions, and to which column each belongs."""

    functions: tuple[Function, ...]
    to: NDArray[np.intp]
    size: int

    @classmethod
    def of(cls, columns: Sequence[tuple[Function, ...]]) -> Expanded:
        """Take the columns of a design apart."""
        functions = tuple(function for column in columns for function in column)
        to = np.repeat(np.arange(len(columns)), [len(column) for column in columns])
        return cls(functions, to, len(columns))

    def collect(self, values: Array) -> Array:
        """Add up what belongs to the same column, along the first axis."""
        if len(self.functions) == self.size:
            return values
        found = np.zeros((self.size, *values.shape[1:]))
        np.add.at(found, self.to, values)
        return found

    def collect_both(self, values: Array) -> Array:
        """Do the same along both axes of a matrix."""
        return self.collect(self.collect(values).T).T


class Model(Protocol):
    """The function to maximize: concave, up to noise."""

    size: int

    def value(self, theta: Array) -> float:
        """Compute the function."""
        ...

    def slopes(self, theta: Array) -> tuple[Array, Array]:
        """Compute its gradient, and minus its second derivative or the expectation of that."""
        ...


class Score(Model, Protocol):
    """A corrected likelihood, whose information has other weights for errors without noise."""

    def slopes(self, theta: Array, weights: Array | None = None) -> tuple[Array, Array]:
        """Compute the corrected score, and the information with these weights."""
        ...

    def scores(self, theta: Array) -> Array:
        """Return the corrected score of every row of the sample."""
        ...


def maximize(model: Model, start: Array, most: Array) -> tuple[Array, Array, int] | None:
    """Maximize by Newton's method with halved steps; None if nothing is found from this start.

    The information may have negative eigenvalues away from the maximum, because corrected tables
    have negative cells. Steps use their absolute values, at least a millionth of the largest, so
    the function rises along every step. ``most`` limits the coefficients.
    """
    theta, now = start, model.value(start)
    for step in range(_STEPS):
        gradient, information = model.slopes(theta)
        if not (np.isfinite(gradient).all() and np.isfinite(information).all()):
            return None
        scale = np.sqrt(np.maximum(np.abs(np.diag(information)), 1e-300))
        values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
        floored = np.maximum(np.abs(values), 1e-6 * np.abs(values).max())
        move = vectors @ (vectors.T @ (gradient / scale) / floored) / scale
        # Twice what a step can gain: the squared distance to the maximum, in standard errors.
        if abs(float(gradient @ move)) < 1e-12:
            there = theta + move
            good = values.min() > 0 and bool((np.abs(there) <= most).all())
            return (there, information, step) if good else None
        length = 1.0
        # A loss within rounding is none.
        while not (new := model.value(theta + length * move)) >= now - 1e-10 * max(1.0, abs(now)):
            length /= 2
            if length < 1e-10:
                return None
        theta, now = theta + length * move, new
    return None


def fit_corrected(
    model: Score, naive: Callable[[], Model], scales: Array, sample: Sample
) -> Fitted:
    """Search from 0, then from the fit of a naive model; raise an error without a maximum."""
    most = coefficient_limits(scales)
    zero = np.zeros(model.size)
    # A step too far is seen in its value, and halved.
    with np.errstate(all="ignore"):
        found = maximize(model, zero, most)
        start = None if found is not None else maximize(naive(), zero, most)
        if start is not None:
            found = maximize(model, start[0], most)
    if found is None:
        must = "find a maximum at which the information is positive definite"
        cure = "join rare categories, or use fewer columns, more records or less noise"
        raise Refused("regress", must, f"none from {1 if start is None else 2} starts: {cure}")
    theta, information, steps = found
    spread = model.slopes(theta, sample.squares)[1]
    return Fitted(theta, information, model.scores(theta), spread, steps)


def coefficient_limits(scales: Array) -> Array:
    """Limit the coefficients by the standard deviations of their columns."""
    with np.errstate(divide="ignore"):
        return np.asarray(_BEYOND / scales)


def fit_moments(records: Records, terms: Terms, outcome: tuple[Function, ...]) -> Fitted:
    """Fit a linear model by corrected moments: a closed form, for any number of protected columns.

    ``outcome`` is a sum of functions. With pseudo-responses ``M_i`` of ``D D^T`` and ``c_i`` of
    ``D y``, each right on average whatever was reported, ``theta = (sum w_i M_i)^-1 sum w_i c_i``
    and ``psi_i = c_i - M_i theta``.
    """
    of, sample = records.of, records.sample
    design = Expanded.of(terms.columns)
    columns = design.functions
    k = len(columns)
    weights, squares = sample.sums, sample.squares
    moments, spread = np.empty((k, k)), np.empty((k, k))
    right = np.empty(k)
    scores = np.empty((k, len(weights)))
    alone = [of(column) for column in columns]
    for i in range(k):
        scores[i] = sum(of(columns[i] * each) for each in outcome)
        right[i] = float(weights @ scores[i])
        for j in range(i, k):
            both = _product(records, columns, alone, i, j)
            moments[i, j] = moments[j, i] = float(weights @ both)
            spread[i, j] = spread[j, i] = float(squares @ both)
    whole = design.collect_both(moments)
    scale = np.sqrt(np.abs(np.diag(whole)))
    scale[scale == 0] = 1.0
    if not np.linalg.eigvalsh(whole / np.outer(scale, scale)).min() > 1e-12:
        must = "find a moment matrix that is positive definite"
        raise Refused("regress", must, "one that is not: use fewer or coarser columns")
    total = design.collect(right)
    theta = np.linalg.solve(whole / np.outer(scale, scale), total / scale) / scale
    for i in range(k):
        for j in range(k):
            scores[i] -= theta[design.to[j]] * _product(records, columns, alone, i, j)
    square = sum(of(one * other) for one in outcome for other in outcome)
    variance = (float(weights @ square) - float(theta @ total)) / float(weights.sum())
    return Fitted(
        theta, whole, design.collect(scores), variance * design.collect_both(spread), 0
    )  # fmt: skip


def _product(
    records: Records, columns: tuple[Function, ...], alone: list[Array], i: int, j: int
) -> Array:
    """Compute the pseudo-response of a product; for different axes, it is the product of both."""
    shared = columns[i].scores.keys() & columns[j].scores.keys()
    return records.of(columns[i] * columns[j]) if shared else alone[i] * alone[j]
