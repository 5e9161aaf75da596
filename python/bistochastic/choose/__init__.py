"""Choosing a matrix: what families cost and preserve at the same beta."""

from bistochastic.choose.reach import by_suspicion, largest, reach
from bistochastic.choose.strongest import Choice, Goal, Strongest, by_column, strongest

__all__ = [
    "Choice", "Goal", "Strongest", "by_column", "by_suspicion", "largest", "reach", "strongest",
]  # fmt: skip
