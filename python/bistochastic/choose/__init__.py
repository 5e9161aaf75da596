"""Choosing a matrix: what families cost and preserve at the same beta.

>>> import bistochastic as bs
>>> bs.choose.by_suspicion((0.1, 0.3))
1.349...
"""

from bistochastic.choose.strongest import Choice, Strongest, by_suspicion, reach, strongest

__all__ = ["Choice", "Strongest", "by_suspicion", "reach", "strongest"]
