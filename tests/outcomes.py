"""What reports there may be, and how likely shares make them."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

import bistochastic as bs


def outcomes(n: int, r: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(r), repeat=n))


def likelihood(m: bs.Matrix, pi: NDArray[np.float64], reports: NDArray[np.float64]) -> float:
    expected = m.to_dense().T @ pi
    seen = reports > 0
    return float(reports[seen] @ np.log(np.maximum(expected[seen], 1e-300)))
