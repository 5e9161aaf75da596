"""Columns and classes of a matrix, by its structure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bistochastic import _core, operators

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from bistochastic.matrix import Matrix

    Array = NDArray[np.float64]

# Size up to which a product is written out for one column.
_PRODUCT = 512


def column(matrix: Matrix, v: int) -> Array:
    """Column ``v`` as doubles, by the structure of the matrix."""
    return operators.by_parts(matrix, _along, lambda part, found: _column(part, v, found))


def _along(matrix: Matrix) -> list[Matrix]:
    """The parts whose column of the same code is needed."""
    match matrix.family:
        case "mix":
            return [part for _, part in operators.parts(matrix)]
        case "product" if matrix.size > _PRODUCT:
            return [matrix.parameters["matrices"][1]]
    return []


def _column(matrix: Matrix, v: int, found: Callable[[Matrix], Array]) -> Array:
    match matrix.family:
        case "kron":
            joint = np.ones(1)
            place = matrix.size
            for factor in operators.factors(matrix):
                place //= factor.size
                joint = np.multiply.outer(joint, column(factor, v // place % factor.size))
            return joint.reshape(-1)
        case "mix":
            total = np.zeros(matrix.size)
            for weight, part in operators.parts(matrix):
                total += weight * found(part)
            return total
        case "product":
            if matrix.size <= _PRODUCT:
                return np.ascontiguousarray(matrix.to_dense()[:, v])
            first, second = matrix.parameters["matrices"]
            row = np.ascontiguousarray(found(second)[None, :])
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
