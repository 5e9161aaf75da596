"""Choosing a matrix: what families cost and preserve at the same beta."""

from bistochastic.choose.reach import by_suspicion, largest, reach
from bistochastic.choose.strongest import Choice, Goal, Strongest, strongest

__all__ = [
    "Choice", "Goal", "Strongest", "by_suspicion", "largest", "reach", "strongest",
]  # fmt: skip
