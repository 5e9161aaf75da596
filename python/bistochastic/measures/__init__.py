"""What an attacker can do and an analyst can learn: one function per measure, kron by its rules.

Numbers are rounded so that privacy is never overstated: up what an attacker gains, down what
remains hidden.
"""

from bistochastic.measures.bits import SLACK, entropy, log2_up
from bistochastic.measures.channel import (
    Average,
    Capacity,
    average,
    capacity,
    mutual_information,
)
from bistochastic.measures.columns import column
from bistochastic.measures.costs import (
    cost_table,
    expected_cost,
    mean_distance,
    metric_epsilon,
    ordinal_cost,
    ordinal_epsilon,
)
from bistochastic.measures.leakage import guaranteed_max_leakage
from bistochastic.measures.priors import (
    best_guess,
    distribution,
    posterior,
    prior_of,
    remaining_uncertainty,
)
from bistochastic.measures.require import line_betas, require
from bistochastic.measures.survey import TABLE, Lines, deniability, lines

__all__ = [
    "SLACK",
    "TABLE",
    "Average",
    "Capacity",
    "Lines",
    "average",
    "best_guess",
    "capacity",
    "column",
    "cost_table",
    "deniability",
    "distribution",
    "entropy",
    "expected_cost",
    "guaranteed_max_leakage",
    "line_betas",
    "lines",
    "log2_up",
    "mean_distance",
    "metric_epsilon",
    "mutual_information",
    "ordinal_cost",
    "ordinal_epsilon",
    "posterior",
    "prior_of",
    "remaining_uncertainty",
    "require",
]
