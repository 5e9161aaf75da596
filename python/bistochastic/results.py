"""Every class that is returned, for annotations.

>>> import bistochastic as bs
>>> isinstance(bs.identity(2).estimate([0, 1]), bs.results.Estimate)
True
"""

from bistochastic._core import Key
from bistochastic.audit.results import (
    Audit,
    Disclosure,
    Finding,
    Giveaway,
    Guess,
    Linkage,
    Marginal,
    Neighbours,
    Pooled,
    Rate,
    Repeats,
    Scenario,
)
from bistochastic.choose.allocate import Allocation
from bistochastic.choose.strongest import Choice, Strongest
from bistochastic.choose.tradeoff import Point, Tradeoff
from bistochastic.estimate import Estimate
from bistochastic.estimate.counts import Axis, Counts
from bistochastic.estimate.quantities import Quantity, Ratio
from bistochastic.masking import (
    Anatomy,
    Classes,
    Microaggregation,
    PermutationDistance,
    ReverseMap,
)
from bistochastic.matrix import Matrix
from bistochastic.measures.profile import Entry, Profile
from bistochastic.models.ledger import Ledger, Spent
from bistochastic.models.panels import Transitions
from bistochastic.models.result import Regression
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
    Wave,
)
from bistochastic.report import Comparison
from bistochastic.sources import KeySource
from bistochastic.tables.collector import Collector
from bistochastic.tables.design import Design
from bistochastic.theory import Step, TTransforms

__all__ = [
    "Allocation", "Anatomy", "Audit", "Axis", "BatchFunction", "Binned", "Bits", "ByIds",
    "Categorical", "Certificate", "Choice", "Classes", "Collector",
    "Comparison", "Counts", "Decomposition", "Design", "Disclosure", "Displacement",
    "Entry", "Estimate", "Finding", "Giveaway", "Groups", "Guess", "Joint", "Key",
    "KeySource", "Ledger", "Linkage", "Marginal", "Matrix", "Measures", "Microaggregation",
    "Neighbours", "Numeric", "PermutationDistance", "Plan", "Point", "Pooled",
    "Preview", "Profile", "ProtectedBatches", "Quantity", "Rate",
    "Ratio", "Regression", "Release", "Repeats", "ReverseMap", "Scenario", "Spent",
    "Step", "Strongest", "TTransforms", "Tradeoff", "Transitions",
    "Unit", "Wave",
]  # fmt: skip
