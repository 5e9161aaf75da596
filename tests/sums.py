"""Sums of permutations, held against the matrix they are sums of."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import bistochastic as bs
from bistochastic.birkhoff import Decomposition


def added_up(decomposition: Decomposition) -> list[list[Fraction]]:
    size = decomposition.matrix.size
    cells = [[Fraction(0)] * size for _ in range(size)]
    for weight, permutation in decomposition:
        assert sorted(permutation.tolist()) == list(range(size))
        assert weight > 0
        for u, v in enumerate(permutation.tolist()):
            cells[u][v] += weight
    return cells


def exact(matrix: bs.Matrix) -> list[list[Fraction]]:
    return [matrix.exact_row(u) for u in range(matrix.size)]


def check(decomposition: Decomposition) -> None:
    """Equality of sums, of the reconstruction and of all views of the terms; no tolerance."""
    matrix = decomposition.matrix
    assert added_up(decomposition) == exact(matrix)
    assert sum(decomposition.exact_weights) == 1
    assert decomposition.residual is None
    assert decomposition.residual_weight == 0
    assert np.array_equal(decomposition.reconstruct(), matrix.to_dense())
    assert len(decomposition) == decomposition.terms == len(decomposition.exact_weights)
    rows = decomposition.permutations
    assert rows.shape == (decomposition.terms, matrix.size)
    for j in {0, decomposition.terms // 2, decomposition.terms - 1}:
        assert np.array_equal(rows[j], decomposition.permutation(j))
        assert decomposition.weights[j] == float(decomposition.exact_weights[j])
    assert decomposition.joint_entropy <= np.log2(decomposition.terms) + 1e-12


def random_table(size: int, seed: int = 0) -> NDArray[np.float64]:
    p = np.random.default_rng(seed).random((size, size))
    for _ in range(200):
        p /= p.sum(axis=1, keepdims=True)
        p /= p.sum(axis=0)
    return p


def decomposed(matrix: bs.Matrix) -> Decomposition | None:
    """None where a composite says that its denominator is too long."""
    try:
        return matrix.decompose()
    except ValueError as error:
        if matrix.family in ("mix", "product") and "common denominator below 2^63" in str(error):
            return None
        raise
