"""Every class that is returned, for annotations.

>>> import bistochastic as bs
>>> isinstance(bs.identity(2).estimate([0, 1]), bs.results.Estimate)
True
"""

from bistochastic._core import Key
from bistochastic.audit.results import (
    Audit,
    Correlation,
    Disclosure,
    Giveaway,
    Guess,
    Linkage,
    Marginal,
    Neighbours,
    PairTable,
    Propensity,
    Rate,
    Repeats,
)
from bistochastic.choose.tradeoff import Point, Tradeoff
from bistochastic.estimate import Estimate
from bistochastic.estimate.axes import Axis
from bistochastic.estimate.counts import Counts
from bistochastic.estimate.quantities import Quantile, Quantity, Ratio
from bistochastic.masking import (
    Anatomy,
    Classes,
    Microaggregation,
    PermutationDistance,
    ReverseMap,
)
from bistochastic.matrix import Matrix
from bistochastic.measures.profile import Entry, Profile
from bistochastic.numeric.displacement import Displacement
from bistochastic.permutations.decomposition import Decomposition
from bistochastic.plan import (
    BatchFunction,
    Binned,
    Bits,
    ByIds,
    Categorical,
    Certificate,
    Groups,
    Joint,
    Measures,
    Numeric,
    Plan,
    Preview,
    ProtectedBatches,
    Release,
    Unit,
)
from bistochastic.report import Comparison
from bistochastic.sources import KeySource
from bistochastic.theory import Step, TTransforms

__all__ = [
    "Anatomy", "Audit", "Axis", "BatchFunction", "Binned", "Bits", "ByIds", "Categorical",
    "Certificate", "Classes", "Comparison", "Correlation", "Counts", "Decomposition",
    "Disclosure", "Displacement", "Entry", "Estimate", "Giveaway", "Groups", "Guess", "Joint",
    "Key", "KeySource", "Linkage", "Marginal", "Matrix", "Measures", "Microaggregation",
    "Neighbours", "Numeric", "PairTable", "PermutationDistance", "Plan", "Point", "Preview",
    "Profile", "Propensity", "ProtectedBatches", "Quantile", "Quantity", "Rate", "Ratio",
    "Release", "Repeats", "ReverseMap", "Step", "TTransforms", "Tradeoff", "Unit",
]  # fmt: skip
