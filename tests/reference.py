"""Every definition again in plain NumPy, straight from the paper and slow on purpose.

The fast code is held to these functions. Here a matrix is an ordinary
array and nothing is exact beyond floating point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def randomized_response(size: int, epsilon: float) -> Array:
    """Expression (2): ``e^eps / (r-1+e^eps)`` on the diagonal, ``1 / (r-1+e^eps)`` elsewhere."""
    off = 1 / (size - 1 + np.exp(epsilon))
    matrix = np.full((size, size), off)
    np.fill_diagonal(matrix, np.exp(epsilon) * off)
    return matrix


def blocks(sizes: Sequence[int]) -> Array:
    """Expression (3): ``1/n_l`` inside class ``l``, 0 across."""
    matrix = np.zeros((sum(sizes), sum(sizes)))
    start = 0
    for n in sizes:
        matrix[start : start + n, start : start + n] = 1 / n
        start += n
    return matrix


def entropy_rate(matrix: Array) -> float:
    """Expression (4): ``-(1/r) * sum of p_uv log2 p_uv``, with ``0 log 0 = 0``."""
    positive = matrix[matrix > 0]
    return float(-(positive * np.log2(positive)).sum() / len(matrix))


def epsilon(matrix: Array) -> float:
    """``max over columns of ln(largest / smallest)``: Proposition 1 with its indices put right."""
    low, high = matrix.min(axis=0), matrix.max(axis=0)
    return float("inf") if (low == 0).any() else float(np.log(high / low).max())


def truthfulness(matrix: Array) -> float:
    """Mean of the diagonal."""
    return float(np.trace(matrix) / len(matrix))


def is_ergodic(matrix: Array) -> bool:
    """Whether some power is positive; by Wielandt, the power ``(r-1)^2 + 1`` then is."""
    step = matrix > 0
    power = step
    for _ in range((len(matrix) - 1) ** 2):
        power = (power.astype(int) @ step.astype(int)) > 0
    return bool(power.all())


def capacity(matrix: Array, steps: int = 20_000) -> tuple[float, float]:
    """Blahut-Arimoto as in the textbook: a lower and an upper bound of the channel capacity."""
    prior = np.full(len(matrix), 1 / len(matrix))
    low, high = 0.0, float("inf")
    for _ in range(steps):
        safe = np.where(matrix > 0, matrix, 1)
        ratio = np.log2(safe) - np.log2(np.maximum(matrix.T @ prior, 1e-300))
        divergence = np.where(matrix > 0, matrix * ratio, 0).sum(axis=1)
        low = max(low, float(np.log2(prior @ 2**divergence)))
        high = min(high, float(divergence.max()))
        if high - low < 1e-10:
            break
        prior = prior * 2**divergence
        prior = prior / prior.sum()
    return low, high


def best_guess(matrix: Array, prior: Array) -> float:
    """``sum over v of max_u prior_u p_uv``: how often the best guess of the truth is right."""
    return float((prior[:, None] * matrix).max(axis=0).sum())


def remaining_uncertainty(matrix: Array, prior: Array) -> float:
    """``H(X | Y)`` in bits, from the joint distribution of truth and report."""
    joint = prior[:, None] * matrix
    reports = joint.sum(axis=0)
    posterior = joint / np.where(reports > 0, reports, 1)
    return float(-(joint * np.log2(np.where(joint > 0, posterior, 1))).sum())


def deniability(matrix: Sequence[Sequence[object]], gamma: object) -> int:
    """``min over p_uv > 0`` of the number of w with ``1/gamma <= p_uv / p_wv <= gamma``."""
    fewest = len(matrix)
    for column in zip(*matrix, strict=True):
        possible = [(q, gamma * q) for q in column if q > 0]
        for p, most in set(possible):
            near = [q for q, over in possible if q <= most and p <= over]
            fewest = min(fewest, len(near))
    return fewest


def metric_epsilon(matrix: Array, cost: Array) -> float:
    """``max over u, w, v of ln(p_uv / p_wv) / cost(u, w)``."""
    worst = 0.0
    for u, row in enumerate(matrix):
        for w, other in enumerate(matrix):
            for p, q in zip(row, other, strict=True):
                if u != w and p > q:
                    gap = float(np.log(p / q)) if q > 0 else float("inf")
                    worst = max(worst, gap / cost[u, w])
    return worst


def expected_cost(matrix: Array, cost: Array, prior: Array) -> float:
    """The mean cost of a report."""
    return float(sum(prior[u] * p * cost[u, v] for (u, v), p in np.ndenumerate(matrix) if p > 0))
