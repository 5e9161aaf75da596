"""Choosing a matrix: what families cost and preserve at the same beta."""

from bistochastic.choose.strongest import (
    Choice,
    Goal,
    Strongest,
    by_suspicion,
    largest,
    reach,
    strongest,
)

__all__ = [
    "Choice", "Goal", "Strongest", "by_suspicion", "largest", "reach", "strongest",
]  # fmt: skip
