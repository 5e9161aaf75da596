"""Matrices of every kind to draw from, and codes for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bistochastic as bs

KEY = bs.Key.insecure(2026)


def matrices() -> dict[str, bs.Matrix]:
    """One of each structure and width, fixed."""
    i = np.arange(300)
    cost = np.abs(np.subtract.outer(np.arange(12), np.arange(12)))
    rr = bs.randomized_response
    return {
        "identity": bs.identity(12),
        "permutation": bs.permutation((5 * i[:12] + 3) % 12),
        "uniform": bs.uniform(12),
        "rr": rr(12, beta=0.6),
        "rr 200": rr(200, epsilon=3),
        "rr 70000": rr(70_000, beta=0.6),
        "rr 2^25": rr(2**25, beta=0.6),
        "blocks": bs.blocks([1, 4, 7]),
        "blocks 2^25": bs.k_anonymous(2**25, k=5),
        "k_anonymous": bs.k_anonymous(300, k=7),
        "circulant": bs.circulant([6, 3, 0, 1, 2, 2, 2, 1, 1, 1, 1, 1]),
        "circulant 300": bs.circulant(i**2 % 9),
        "tridiagonal": bs.tridiagonal(0.3, size=12),
        "tridiagonal 300": bs.tridiagonal(i[1:] * 37 % 101 / 202),
        "tridiagonal 2^25": bs.tridiagonal(0.5, size=2**25),
        "reflected": bs.reflected([5, 4, 3, 0, 1]),
        "geometric": bs.geometric(12, beta=0.6),
        "geometric 300": bs.geometric(300, temperature=20),
        "gibbs": bs.gibbs(cost, temperature=2),
        "dense 300": bs.balance(np.outer(i + 1, i + 2) * 7919 % 997 + 1),
        "t_transform": bs.t_transform(12, 3, 7, keep=0.6),
        "kron": bs.kron(rr(3, beta=0.6), bs.geometric(4, beta=0.4)),
        "mix": bs.mix([rr(12, beta=0.6), bs.geometric(12, beta=0.2)], weights=[0.25, 0.75]),
        "product": bs.gibbs(cost, temperature=2) @ bs.tridiagonal(0.3, size=12),
        "nested": bs.kron(
            bs.mix([rr(2, beta=0.5), bs.uniform(2)], weights=[0.5, 0.5]), rr(6, beta=1)
        )
        @ rr(12, beta=0.1),
    }


MATRICES = matrices()


every_matrix = pytest.mark.parametrize("name", list(MATRICES))


def codes_for(matrix: bs.Matrix, n: int) -> Any:
    return np.arange(n) * 104_729 % matrix.size
