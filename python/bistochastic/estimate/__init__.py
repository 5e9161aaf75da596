"""From reported values back to frequencies: estimates, errors, and required records.

For tools that count by themselves: a :class:`Map` inverts the matrices of one or several columns (a
:class:`Factor` each), :class:`Tallies` and a :class:`Sample` hold counts with the design they come
from, :class:`Linear` puts both together, and an :class:`Estimate` is what users get.

>>> import bistochastic as bs, numpy as np
>>> from bistochastic.estimate import Linear, Map, Limits, Tallies, of_linear
>>> m, weights = bs.randomized_response(2, keep=0.75), np.array([2.0, 1.0, 1.0, 4.0])
>>> codes = np.array([0, 1, 0, 0])
>>> sums, squares = np.bincount(codes, weights), np.bincount(codes, weights**2)
>>> tallies = Tallies.counted(len(codes), sums, squares, len(codes), weighted=True)
>>> linear = Linear(Map.back_from(m), tallies, fixed=False, exact=True)
>>> of_linear(linear, "inverse", "sampled", Limits()).frequencies
array([ 1.25, -0.25])
"""

from bistochastic.estimate.intervals import fieller, mean_bounds
from bistochastic.estimate.likelihood import Limits
from bistochastic.estimate.linear import Factor, Linear, Map
from bistochastic.estimate.methods import METHODS, POPULATIONS, fit_shares, of_counts, of_linear
from bistochastic.estimate.planning import largest_variance, mean_standard_error
from bistochastic.estimate.result import Axis, Estimate
from bistochastic.estimate.sample import Sample, Stage, Tallies, wrong_weight

__all__ = [
    "METHODS",
    "POPULATIONS",
    "Axis",
    "Estimate",
    "Factor",
    "Limits",
    "Linear",
    "Map",
    "Sample",
    "Stage",
    "Tallies",
    "fieller",
    "fit_shares",
    "largest_variance",
    "mean_bounds",
    "mean_standard_error",
    "of_counts",
    "of_linear",
    "wrong_weight",
]  # fmt: skip
