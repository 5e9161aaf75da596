"""Choosing a matrix: what families cost and preserve at the same beta."""

from bistochastic.choose.strongest import Choice, Strongest, by_suspicion, reach, strongest

__all__ = ["Choice", "Strongest", "by_suspicion", "reach", "strongest"]
