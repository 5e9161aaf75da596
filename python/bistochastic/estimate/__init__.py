"""From reported values back to frequencies: estimates, errors, and required records.

For tools that count by themselves: a :class:`Map` inverts the matrices of one or several columns (a
:class:`Factor` each), :class:`Tallies` and a :class:`Sample` hold counts with the design they come
from, :class:`Linear` puts both together, and an :class:`Estimate` is what users get.
"""

from bistochastic.estimate.effort import Patience
from bistochastic.estimate.intervals import fieller, mean_bounds
from bistochastic.estimate.linear import Factor, Linear, Map
from bistochastic.estimate.methods import (
    METHODS,
    POPULATIONS,
    estimate,
    fit_shares,
    of_counts,
    of_linear,
    project,
)
from bistochastic.estimate.planning import largest_variance, mean_standard_error, standard_error
from bistochastic.estimate.quantiles import chi_square, clopper_pearson, student, two_sided
from bistochastic.estimate.result import Axis, Estimate
from bistochastic.estimate.sample import Sample, Stage, Tallies, summed

__all__ = [
    "METHODS", "POPULATIONS", "Axis", "Estimate", "Factor", "Linear", "Map", "Patience", "Sample",
    "Stage", "Tallies", "chi_square", "clopper_pearson", "estimate", "fieller", "fit_shares",
    "largest_variance", "mean_bounds", "mean_standard_error", "of_counts", "of_linear", "project",
    "standard_error", "student", "summed", "two_sided",
]  # fmt: skip
