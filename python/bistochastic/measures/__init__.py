"""Measures of what an attacker can do and an analyst can learn, one function per measure.

A kron is measured by its components. Numbers are rounded so that privacy is never overstated: up
what an attacker gains, down what remains hidden.
"""

from bistochastic.measures.bits import guaranteed_max_leakage, log2_up
from bistochastic.measures.costs import (
    cost_table,
    expected_cost,
    mean_distance,
    ordinal_cost,
    ordinal_epsilon,
)
from bistochastic.measures.priors import distribution, posterior, prior_of
from bistochastic.measures.survey import TABLE, deniability, line_betas, lines, require

__all__ = [
    "TABLE", "cost_table", "deniability", "distribution", "expected_cost", "guaranteed_max_leakage",
    "line_betas", "lines", "log2_up", "mean_distance", "ordinal_cost", "ordinal_epsilon",
    "posterior", "prior_of", "require",
]  # fmt: skip
