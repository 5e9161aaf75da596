"""Counts of protected columns, each with a matrix of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic.estimate.quantities import Quantity


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
