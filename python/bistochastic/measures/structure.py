"""Columns and classes of a matrix, by its structure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bistochastic import _core, operators

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bistochastic._core import Matrix

    Array = NDArray[np.float64]

# Size up to which a product is written out for one column.
_PRODUCT = 512


def column(matrix: Matrix, v: int) -> Array:
    """Column ``v`` as doubles, by the structure of the matrix."""
    match matrix.family:
        case "kron":
            factors = matrix.parameters["matrices"]
            joint = np.ones(1)
            place = matrix.size
            for factor in factors:
                place //= factor.size
                joint = np.multiply.outer(joint, column(factor, v // place % factor.size))
            return joint.reshape(-1)
        case "mix":
            total = np.zeros(matrix.size)
            for weight, part in operators.parts(matrix):
                total += weight * column(part, v)
            return total
        case "product":
            if matrix.size <= _PRODUCT:
                return np.ascontiguousarray(matrix.to_dense()[:, v])
            first, second = matrix.parameters["matrices"]
            row = np.ascontiguousarray(column(second, v)[None, :])
            # A transform leaves a little rounding where there is nothing.
            return np.asarray(np.maximum(operators.forth(first, row, back=True)[0], 0.0))
    return _core.column(matrix, v)


def class_sizes(matrix: Matrix) -> NDArray[np.int64]:
    """How many codes each class of blocks has."""
    if matrix.family == "uniform":
        return np.array([matrix.size])
    if matrix.family == "blocks":
        return np.asarray(_core.arrays(matrix)["sizes"])
    spectrum = _core.spectrum(matrix)
    classes = spectrum[1] if spectrum else 1
    sizes = np.full(classes, matrix.size // classes, dtype=np.int64)
    sizes[: matrix.size % classes] += 1
    return sizes
