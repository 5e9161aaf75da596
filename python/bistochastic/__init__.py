"""Privacy by bistochastic matrices: exact laws, measured in bits.

A bistochastic matrix says with which probability a true category ``u`` is reported as ``v``. Its
entropy rate in bits over the most it could be is beta: how much of perfect secrecy has been bought.

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
from bistochastic.decomposition import Decomposition, decompose_all
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
from bistochastic.majorization import majorizes, t_transforms
from bistochastic.matrix import Matrix
from bistochastic.report import compare

if TYPE_CHECKING:
    from bistochastic import plot
    from bistochastic.conjunctions import conjunction
    from bistochastic.estimate import Estimate
    from bistochastic.plan import Categorical, Certificate, Joint, Numeric, Plan, Release

__all__ = [
    "Categorical",
    "Certificate",
    "Decomposition",
    "Estimate",
    "Joint",
    "Key",
    "Matrix",
    "Numeric",
    "Plan",
    "Release",
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
    "geometric",
    "gibbs",
    "identity",
    "k_anonymous",
    "kron",
    "majorizes",
    "mix",
    "permutation",
    "plot",
    "randomized_response",
    "reflected",
    "t_transform",
    "t_transforms",
    "tridiagonal",
    "uniform",
]


def __getattr__(name: str) -> Any:
    # What few need and takes a while to import waits until it is asked for.
    if name == "plot":
        from importlib import import_module

        return import_module("bistochastic.plot")
    if name == "conjunction":
        from bistochastic.conjunctions import conjunction

        return conjunction
    if name == "Estimate":
        from bistochastic.estimate import Estimate

        return Estimate
    if name in ("Plan", "Categorical", "Joint", "Numeric", "Release", "Certificate"):
        from importlib import import_module

        return getattr(import_module("bistochastic.plan"), name)
    raise AttributeError(f"module 'bistochastic' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
