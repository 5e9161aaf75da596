"""Theorem 2: which histograms a bistochastic matrix can make of another one.

>>> import bistochastic as bs
>>> bs.theory.majorizes([3, 1], [2, 2])
True
"""

from bistochastic.permutations.majorization import Step, TTransforms, majorizes, t_transforms

__all__ = ["Step", "TTransforms", "majorizes", "t_transforms"]
