"""The shares under which reports are likeliest: exactly, or by expectation maximisation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bistochastic import operators
from bistochastic.errors import SingularMatrixError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bistochastic._core import Matrix

    Array = NDArray[np.float64]

# Gaps in nats a record at which maximum likelihood stops: one attribute, and joint tables.
_GAP, _JOINT_GAP = 1e-10, 1e-6
_JOINT_STEPS = 2000


def maximum(matrix: Matrix, reports: Array) -> tuple[Array, float]:
    """The shares under which the reports are likeliest, and the gap that is left, in nats a record.

    Where the inverse is a distribution it is the answer, since it explains the reports perfectly.
    For randomized response it is exact; else expectation maximisation, whose step from pi is
    ``pi * P (reports / P^T pi)``: with ``g`` that factor, the likelihood is at most ``max g - 1``
    below its maximum (it is concave, and its slope towards any distribution is at most that).
    """
    if operators.is_singular(matrix):
        raise SingularMatrixError(operators.singular_sentence("estimate", matrix))
    inverse = operators.solve(matrix, reports)
    if (inverse >= 0).all():
        return inverse / math.fsum(inverse), 0.0
    if matrix.family == "randomized_response" and matrix[0, 0] > matrix[0, 1]:
        return _response_likelihood(reports, matrix[0, 0], matrix[0, 1]), 0.0
    return _expectation_maximisation(matrix, reports)


def _response_likelihood(reports: Array, keep: float, lie: float) -> Array:
    """Sorted, the smallest shares of reports are explained by lies alone, the others are scaled.

    On the support the reports are matched in proportion to the mass that k empty categories leave,
    ``1 - k lie``; k grows while the next share would come out negative.
    """
    order = np.argsort(reports, kind="stable")
    phi = reports[order]
    left = 1 - np.concatenate([[0.0], np.cumsum(phi)[:-1]])
    k = np.arange(len(phi))
    empty = lie * left > (1 - k * lie) * phi
    # The first that is not empty ends the run.
    first = int(np.argmin(empty)) if not empty.all() else len(phi) - 1
    s = left[first]
    shares = np.zeros_like(phi)
    shares[first:] = ((1 - first * lie) * phi[first:] - s * lie) / (s * (keep - lie))
    found = np.empty_like(shares)
    found[order] = np.maximum(shares, 0.0)
    return found / math.fsum(found)


def _expectation_maximisation(matrix: Matrix, reports: Array) -> tuple[Array, float]:
    """EM, extrapolated two steps at a time (SQUAREM) and kept only where the likelihood grows."""
    r = matrix.size
    joint = matrix.family == "kron"
    small = r <= 2048 and not joint
    dense = matrix.to_dense() if small else None
    seen = reports > 0

    def through(x: Array, *, back: bool) -> Array:
        if dense is not None:
            return dense @ x if back else x @ dense
        row = np.ascontiguousarray(x[None, :])
        # A transform may leave a little below 0 where there is nothing.
        return np.asarray(np.maximum(operators.forth(matrix, row, back=back)[0], 0.0))

    def look(pi: Array) -> tuple[float, Array]:
        """The log-likelihood a record, and the factor of the next step."""
        expected = np.maximum(through(pi, back=False), 1e-300)
        likelihood = float(reports[seen] @ np.log(expected[seen]))
        return likelihood, through(np.where(seen, reports / expected, 0.0), back=True)

    def gap_of(g: Array) -> float:
        return max(0.0, float(g.max()) - 1)

    wanted = _JOINT_GAP if joint else _GAP
    most = _JOINT_STEPS if joint else 200_000
    pi = np.full(r, 1 / r)
    likelihood, g = look(pi)
    steps = 0
    while gap_of(g) > wanted and steps < most:
        first = pi * g
        _, h = look(first)
        second = first * h
        steps += 2
        change, bend = first - pi, second - 2 * first + pi
        length, curve = float(np.linalg.norm(change)), float(np.linalg.norm(bend))
        candidate = second
        if curve > 0 and length > curve:
            jump = length / curve
            candidate = np.maximum(pi + 2 * jump * change + jump * jump * bend, 0.0)
            # What is 0 would stay so for ever.
            candidate = np.maximum(candidate, 1e-3 * second)
            candidate = candidate / candidate.sum()
        better, f = look(candidate)
        if better < likelihood and candidate is not second:
            candidate = second
            better, f = look(second)
        pi, likelihood, g = candidate, better, f
    return pi / math.fsum(pi), gap_of(g)
