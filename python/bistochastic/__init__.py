"""Privacy by bistochastic matrices: exact laws, measured in bits.

A bistochastic matrix says with which probability a true category ``u`` is reported as ``v``. Beta
is the average entropy of its rows, divided by log2 of the number of categories: 0 hides nothing, 1
hides everything.

>>> import bistochastic as bs
>>> m = bs.randomized_response(12, beta=0.6)
>>> m
<Matrix randomized_response 12 x 12: beta 0.6, epsilon 3.01077, exact>
>>> bool((m.to_dense().sum(axis=0) == 1.0).all())
True
"""

from typing import TYPE_CHECKING, Any

from bistochastic import errors
from bistochastic._core import Key, entropy_rate
from bistochastic.audit import audit
from bistochastic.families import (
    balance,
    blocks,
    build,
    circulant,
    dense,
    geometric,
    gibbs,
    identity,
    k_anonymous,
    kron,
    mix,
    permutation,
    randomized_response,
    reflected,
    t_transform,
    tridiagonal,
    uniform,
)
from bistochastic.matrix import Matrix
from bistochastic.permutations.decomposition import Decomposition, decompose_all

if TYPE_CHECKING:
    from bistochastic import plot
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
    from bistochastic.choose.tradeoff import Point, Tradeoff, tradeoff
    from bistochastic.estimate import Estimate
    from bistochastic.estimate.axes import Axis
    from bistochastic.estimate.conjunctions import Conjunction, conjunction
    from bistochastic.estimate.counts import Counts
    from bistochastic.estimate.quantities import Quantity, Ratio
    from bistochastic.labels import Labels
    from bistochastic.measures.profile import Entry, Profile
    from bistochastic.numeric.anatomy import Anatomy, anatomize
    from bistochastic.numeric.classes import (
        Classes,
        Microaggregation,
        k_anonymous_classes,
        microaggregate,
    )
    from bistochastic.numeric.displacement import Displacement
    from bistochastic.numeric.ranks import (
        PermutationDistance,
        ReverseMap,
        permutation_distance,
        reverse_map,
    )
    from bistochastic.permutations.majorization import Step, TTransforms, majorizes, t_transforms
    from bistochastic.plan import (
        Bits,
        ByIds,
        Categorical,
        Certificate,
        Function,
        Joint,
        Measures,
        Numeric,
        Plan,
        Preview,
        ProtectedBatches,
        Release,
        Strata,
    )
    from bistochastic.report import Comparison, compare
    from bistochastic.report.explorer import explore
    from bistochastic.samples import titanic
    from bistochastic.sources import KeySource

    __version__: str

__all__ = [
    "Anatomy",
    "Audit",
    "Axis",
    "Bits",
    "ByIds",
    "Categorical",
    "Certificate",
    "Classes",
    "Comparison",
    "Conjunction",
    "Correlation",
    "Counts",
    "Decomposition",
    "Disclosure",
    "Displacement",
    "Entry",
    "Estimate",
    "Function",
    "Giveaway",
    "Guess",
    "Joint",
    "Key",
    "KeySource",
    "Labels",
    "Linkage",
    "Marginal",
    "Matrix",
    "Measures",
    "Microaggregation",
    "Neighbours",
    "Numeric",
    "PairTable",
    "PermutationDistance",
    "Plan",
    "Point",
    "Preview",
    "Profile",
    "Propensity",
    "ProtectedBatches",
    "Quantity",
    "Rate",
    "Ratio",
    "Release",
    "Repeats",
    "ReverseMap",
    "Step",
    "Strata",
    "TTransforms",
    "Tradeoff",
    "anatomize",
    "audit",
    "balance",
    "blocks",
    "build",
    "circulant",
    "compare",
    "conjunction",
    "decompose_all",
    "dense",
    "entropy_rate",
    "errors",
    "explore",
    "geometric",
    "gibbs",
    "identity",
    "k_anonymous",
    "k_anonymous_classes",
    "kron",
    "majorizes",
    "microaggregate",
    "mix",
    "permutation",
    "permutation_distance",
    "plot",
    "randomized_response",
    "reflected",
    "reverse_map",
    "t_transform",
    "t_transforms",
    "titanic",
    "tradeoff",
    "tridiagonal",
    "uniform",
]

# What few need and takes a while to import waits until it is asked for.
_LATER = {
    "Anatomy": "bistochastic.numeric.anatomy",
    "Audit": "bistochastic.audit.results",
    "Axis": "bistochastic.estimate.axes",
    "Bits": "bistochastic.plan",
    "ByIds": "bistochastic.plan",
    "Categorical": "bistochastic.plan",
    "Certificate": "bistochastic.plan",
    "Classes": "bistochastic.numeric.classes",
    "Comparison": "bistochastic.report",
    "Conjunction": "bistochastic.estimate.conjunctions",
    "Correlation": "bistochastic.audit.results",
    "Counts": "bistochastic.estimate.counts",
    "Disclosure": "bistochastic.audit.results",
    "Displacement": "bistochastic.numeric.displacement",
    "Entry": "bistochastic.measures.profile",
    "Estimate": "bistochastic.estimate",
    "Function": "bistochastic.plan",
    "Giveaway": "bistochastic.audit.results",
    "Guess": "bistochastic.audit.results",
    "Joint": "bistochastic.plan",
    "KeySource": "bistochastic.sources",
    "Labels": "bistochastic.labels",
    "Linkage": "bistochastic.audit.results",
    "Marginal": "bistochastic.audit.results",
    "Measures": "bistochastic.plan",
    "Microaggregation": "bistochastic.numeric.classes",
    "Neighbours": "bistochastic.audit.results",
    "Numeric": "bistochastic.plan",
    "PairTable": "bistochastic.audit.results",
    "PermutationDistance": "bistochastic.numeric.ranks",
    "Plan": "bistochastic.plan",
    "Point": "bistochastic.choose.tradeoff",
    "Preview": "bistochastic.plan",
    "Profile": "bistochastic.measures.profile",
    "Propensity": "bistochastic.audit.results",
    "ProtectedBatches": "bistochastic.plan",
    "Quantity": "bistochastic.estimate.quantities",
    "Rate": "bistochastic.audit.results",
    "Ratio": "bistochastic.estimate.quantities",
    "Release": "bistochastic.plan",
    "Repeats": "bistochastic.audit.results",
    "ReverseMap": "bistochastic.numeric.ranks",
    "Step": "bistochastic.permutations.majorization",
    "Strata": "bistochastic.plan",
    "TTransforms": "bistochastic.permutations.majorization",
    "Tradeoff": "bistochastic.choose.tradeoff",
    "anatomize": "bistochastic.numeric.anatomy",
    "compare": "bistochastic.report",
    "conjunction": "bistochastic.estimate.conjunctions",
    "explore": "bistochastic.report.explorer",
    "k_anonymous_classes": "bistochastic.numeric.classes",
    "majorizes": "bistochastic.permutations.majorization",
    "microaggregate": "bistochastic.numeric.classes",
    "permutation_distance": "bistochastic.numeric.ranks",
    "reverse_map": "bistochastic.numeric.ranks",
    "t_transforms": "bistochastic.permutations.majorization",
    "titanic": "bistochastic.samples",
    "tradeoff": "bistochastic.choose.tradeoff",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "plot":
        return import_module("bistochastic.plot")
    if name == "__version__":
        return import_module("importlib.metadata").version("bistochastic")
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'bistochastic' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
