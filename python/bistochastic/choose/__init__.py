"""Choosing a matrix: what families cost and preserve at the same beta."""

from bistochastic.choose.reach import by_suspicion, reach
from bistochastic.choose.strongest import Choice, Strongest, strongest

__all__ = ["Choice", "Strongest", "by_suspicion", "reach", "strongest"]
