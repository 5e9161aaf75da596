"""What reports there may be, and how likely shares make them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.analysis.quantities import Quantity


def outcomes(n: int, r: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(r), repeat=n))


def count_of(
    matrices: Sequence[bs.Matrix],
    codes: Sequence[Any],
    events: Sequence[Any],
    population: Literal["sampled", "fixed"] = "sampled",
) -> Quantity:
    """``plan.count`` of records in all events, each column randomized by a matrix of its own."""
    names = [f"column {k}" for k in range(len(matrices))]
    columns = [
        sv.Categorical(name, list(range(m.size)), matrix=m)
        for name, m in zip(names, matrices, strict=True)
    ]
    frame, where = (dict(zip(names, given, strict=True)) for given in (codes, events))
    return sv.Release(frame, sv.Plan(columns)).count(where, population=population)


def likelihood(m: bs.Matrix, pi: NDArray[np.float64], reports: NDArray[np.float64]) -> float:
    expected = m.to_dense().T @ pi
    seen = reports > 0
    return float(reports[seen] @ np.log(np.maximum(expected[seen], 1e-300)))
