"""Columns of a matrix, by its structure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bistochastic import _core, operators
from bistochastic.structure import (
    Kron,
    Mixture,
    Product,
    by_parts,
    composition,
    wide_factors,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from bistochastic.matrix import Matrix

    Array = NDArray[np.float64]

# Size up to which a product is written out for one column.
_PRODUCT = 512


def column(matrix: Matrix, v: int) -> Array:
    """Column ``v`` as doubles, by the structure of the matrix."""
    return by_parts(matrix, lambda part, found: _column(part, v, found))


def _column(matrix: Matrix, v: int, found: Callable[[Matrix], Array]) -> Array:
    match composition(matrix):
        case Kron() as kron:
            joint = np.ones(1)
            place = matrix.size
            for factor in wide_factors(kron):
                place //= factor.size
                joint = np.multiply.outer(joint, column(factor, v // place % factor.size))
            return joint.reshape(-1)
        case Mixture() as mixture:
            total = np.zeros(matrix.size)
            for weight, part in mixture:
                total += weight * found(part)
            return total
        case Product(parts=(first, second)):
            if matrix.size <= _PRODUCT:
                return np.ascontiguousarray(matrix.to_dense()[:, v])
            row = np.ascontiguousarray(found(second)[None, :])
            # A transform leaves a little rounding where there is nothing.
            return np.asarray(np.maximum(operators.forth(first, row, back=True)[0], 0.0))
    return _core.column(matrix, v)
