"""Linear regression by corrected moments: a closed form, for any number of protected columns.

With pseudo-responses ``M_i`` of ``D D^T`` and ``c_i`` of ``D y``, each right on average whatever
was reported, ``theta = (sum w_i M_i)^-1 sum w_i c_i`` and ``psi_i = c_i - M_i theta``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bistochastic.errors import Refused
from bistochastic_survey.models.fitting import Expanded, Fitted

if TYPE_CHECKING:
    from bistochastic_survey.analysis.responses import Function
    from bistochastic_survey.checks import Array
    from bistochastic_survey.models.formula import Terms
    from bistochastic_survey.models.records import Records


def fit(records: Records, terms: Terms, outcome: tuple[Function, ...]) -> Fitted:
    """Fit the columns of a formula to the outcome, a sum of functions."""
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
