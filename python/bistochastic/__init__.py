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

from bistochastic import errors
from bistochastic._core import Decomposition, Matrix, decompose_all, entropy_rate
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
from bistochastic.report import compare

__all__ = [
    "Decomposition",
    "Matrix",
    "balance",
    "blocks",
    "build",
    "circulant",
    "compare",
    "decompose_all",
    "dense",
    "entropy_rate",
    "errors",
    "geometric",
    "gibbs",
    "identity",
    "k_anonymous",
    "kron",
    "mix",
    "permutation",
    "randomized_response",
    "reflected",
    "t_transform",
    "tridiagonal",
    "uniform",
]
