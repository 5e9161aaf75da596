"""What an attacker can do and an analyst can learn: one function a measure, kron by its rules.

Privacy is rounded against us: what an attacker gains up, what remains hidden down.
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
    metric_epsilon,
    ordinal_cost,
    ordinal_epsilon,
)
from bistochastic.measures.leakage import guaranteed_max_leakage
from bistochastic.measures.priors import best_guess, distribution, posterior, remaining_uncertainty
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
    "lines",
    "log2_up",
    "metric_epsilon",
    "mutual_information",
    "ordinal_cost",
    "ordinal_epsilon",
    "posterior",
    "remaining_uncertainty",
]
