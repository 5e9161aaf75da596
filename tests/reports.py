"""What reports there may be, and how likely shares make them."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

import bistochastic as bs


def outcomes(n: int, r: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(r), repeat=n))


def likelihood(m: bs.Matrix, pi: NDArray[np.float64], reports: NDArray[np.float64]) -> float:
    expected = m.to_dense().T @ pi
    seen = reports > 0
    return float(reports[seen] @ np.log(np.maximum(expected[seen], 1e-300)))


def all_counts(n: int, r: int) -> NDArray[np.int64]:
    if r == 1:
        return np.array([[n]])
    parts = [(k, all_counts(n - k, r - 1)) for k in range(n + 1)]
    return np.concatenate([np.insert(rest, 0, k, axis=1) for k, rest in parts])


def chances(counts: NDArray[np.int64], law: NDArray[np.float64]) -> NDArray[np.float64]:
    """The multinomial probability of every row of counts."""
    n = int(counts[0].sum())
    log = np.array([math.lgamma(k + 1) for k in range(n + 1)])
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(law, 0))
    terms = np.where(counts > 0, counts * np.where(counts > 0, logs, 0), 0)
    return np.asarray(np.exp(log[n] - log[counts].sum(axis=1) + terms.sum(axis=1)))
