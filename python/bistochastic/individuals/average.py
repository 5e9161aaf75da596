"""Class means of records, for releases; see :meth:`bistochastic.Matrix.average`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bistochastic import _core, arguments, linear
from bistochastic.errors import InvertibleReleaseError, Refused
from bistochastic.individuals import order as orders
from bistochastic.individuals.permute import of_records
from bistochastic.progress import watched
from bistochastic.structure import Kron, classes, composition, wide_factors

if TYPE_CHECKING:
    from bistochastic.arguments import Array
    from bistochastic.matrix import Matrix

# Size up to which a rank is found by singular values.
_DENSE = 2048


@watched("averaging")
def average(
    matrix: Matrix,
    values: object,
    *,
    order: orders.Order,
    allow_invertible: bool,
    key: _core.Key | None,
    stream: str | None,
) -> Array:
    """Compute ``P.T @ values``, with the records in ``order``."""
    if not allow_invertible:
        _refuse(matrix)
    numbers = _numbers(of_records(values, matrix.size))
    rows = orders.rows(matrix, numbers, order, key, stream)
    if rows is None:
        return _averaged(matrix, numbers)
    out = np.empty_like(numbers)
    out[rows] = _averaged(matrix, numbers[rows])
    return out


def _numbers(plain: np.ndarray) -> Array:
    size, must = len(plain), "hold finite numbers, one column or several"
    if plain.ndim not in (1, 2):
        raise Refused("values", must, f"{plain.ndim} axes")
    numbers = plain if plain.dtype == np.float64 else arguments.floats("values", must, plain)
    if _core.not_finite(np.require(numbers.reshape(size, -1), requirements=["C", "A"])) is not None:
        orders.refuse_nan(numbers)
        bad = np.isinf(numbers).reshape(size, -1).any(axis=1)
        got = f"{int(bad.sum())} infinite, the first at position {int(bad.argmax())}"
        raise Refused("values", must, got)
    return numbers


def _averaged(matrix: Matrix, numbers: Array) -> Array:
    if numbers.ndim == 2:
        columns = [_averaged(matrix, column) for column in numbers.T]
        return np.stack(columns, axis=1) if columns else numbers.copy()
    packed = np.require(numbers, requirements=["C", "A"])
    found = linear.apply(matrix, packed)
    if np.isfinite(found).all():
        return found
    # The sum of a class passed the largest double; its mean cannot.
    return linear.apply(matrix, packed * 2.0**-64) * 2.0**64


def _refuse(matrix: Matrix) -> None:
    """Anything but a projection onto the means of classes of two and more."""
    secret = classes(matrix)
    alone = 0 if secret is None else int(secret.many[secret.sizes == 1].sum())
    if secret is not None and not alone:
        return
    must = "be used with uniform or blocks with two or more in every class"
    rank = _rank(matrix)
    size = matrix.size
    if alone and rank is not None and rank < size:
        got = f"{alone} of {size} records in classes of one, whose values it would publish"
    elif rank is None:
        got = f"a matrix over {size} records that may be undone"
    elif rank == size:
        got = f"a matrix of rank {rank} out of {size}, which anybody can undo"
    else:
        values = f"{size - rank} known value{'s' * (size - rank > 1)}"
        got = f"a matrix of rank {rank} out of {size}, which {values} can undo"
    raise InvertibleReleaseError("average", f"{must} unless `allow_invertible` is True", got)


def _rank(matrix: Matrix) -> int | None:
    """Find the rank, if that is possible in a reasonable time."""
    spectrum = _core.spectrum(matrix)
    if spectrum is not None:
        return spectrum[1]
    made = composition(matrix)
    if isinstance(made, Kron):
        ranks = [_rank(factor) for factor in wide_factors(made)]
        known = [rank for rank in ranks if rank is not None]
        return math.prod(known) if len(known) == len(ranks) else None
    if matrix.size <= _DENSE:
        return linear.dense_rank(matrix, linear.singular_values(matrix.to_dense()))
    return None
