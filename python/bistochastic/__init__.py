"""Privacy by bistochastic matrices: exact probabilities, measured in bits.

A bistochastic matrix holds the probability that each true category ``u`` is reported as each ``v``.
Beta is the average entropy of its rows, divided by log2 of the number of categories: 0 hides
nothing, 1 hides everything.

>>> import bistochastic as bs
>>> m = bs.randomized_response(12, beta=0.6)
>>> m
<Matrix randomized_response 12 x 12: beta 0.6, epsilon 3.01077, exact>
>>> bool((m.to_dense().sum(axis=0) == 1.0).all())
True
"""

from typing import TYPE_CHECKING

from bistochastic import errors
from bistochastic._core import Key, entropy_rate
from bistochastic.birkhoff import Decomposition, decompose_all
from bistochastic.families import (
    balance,
    blocks,
    build,
    circulant,
    dense,
    difference_set,
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

if TYPE_CHECKING:
    from bistochastic import backend, choose, estimate, masking, measures, plot, structure, theory
    from bistochastic.channel import Channel
    from bistochastic.choose.compare import compare, tradeoff
    from bistochastic.choose.optimal import optimal
    from bistochastic.choose.strongest import strongest
    from bistochastic.estimate import Estimate
    from bistochastic.guarantees import Guarantee, guarantee
    from bistochastic.keys import KeySource
    from bistochastic.measures import Profile
    from bistochastic.shuffling import shuffled

    __version__: str

__all__ = [
    "Channel", "Decomposition", "Estimate", "Guarantee", "Key", "KeySource", "Matrix",
    "Profile", "backend", "balance", "blocks", "build", "choose", "circulant", "compare",
    "decompose_all", "dense", "difference_set", "entropy_rate", "errors", "estimate",
    "geometric", "gibbs", "guarantee", "identity", "k_anonymous", "kron", "masking", "measures",
    "mix", "optimal", "permutation", "plot", "randomized_response", "reflected", "shuffled",
    "strongest", "structure", "t_transform", "theory", "tradeoff", "tridiagonal", "uniform",
]  # fmt: skip

# Names that few users need and that are slow to import: imported at first use.
_LATER = {
    "Channel": "channel", "Estimate": "estimate", "Guarantee": "guarantees", "KeySource": "keys",
    "Profile": "measures", "compare": "choose.compare", "guarantee": "guarantees",
    "optimal": "choose.optimal", "shuffled": "shuffling", "strongest": "choose.strongest",
    "tradeoff": "choose.compare",
}  # fmt: skip


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _LATER:
        return getattr(import_module(f"bistochastic.{_LATER[name]}"), name)
    if name in (*__all__, "individuals", "linear", "matrix_json"):
        return import_module(f"bistochastic.{name}")
    if name == "__version__":
        return import_module("importlib.metadata").version("bistochastic")
    raise AttributeError(f"module 'bistochastic' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
