"""Measures of what an attacker can do and an analyst can learn, one function per measure.

A kron is measured by its components. Numbers are rounded so that privacy is never overstated: up
what an attacker gains, down what remains hidden.

>>> import bistochastic as bs
>>> bs.measures.column_beta(bs.uniform(4))
1.0
"""

from bistochastic.individuals import Displacement, column_beta
from bistochastic.measures.bits import least_beta, least_epsilon, log2_up
from bistochastic.measures.costs import mean_distance
from bistochastic.measures.priors import prior_of
from bistochastic.measures.profile import Entry, Profile
from bistochastic.measures.survey import line_betas, lines

__all__ = [
    "Displacement", "Entry", "Profile", "column_beta", "least_beta", "least_epsilon", "line_betas",
    "lines", "log2_up", "mean_distance", "prior_of",
]  # fmt: skip
