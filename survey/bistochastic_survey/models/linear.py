"""``Fitted``: the result of every model; linear models by corrected moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bistochastic.errors import Refused
from bistochastic.estimate import Sample
from bistochastic_survey.analysis.responses import Function
from bistochastic_survey.checks import Array
from bistochastic_survey.models.records import Records


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
