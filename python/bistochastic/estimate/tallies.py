"""Counts of reported categories: from reported values, or as given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bistochastic import _core, arguments
from bistochastic.structure import Kron, axes, composition

if TYPE_CHECKING:
    from bistochastic.arguments import Array
    from bistochastic.matrix import Matrix

# Parts of a kron whose axes of one category count, in the shape of a table.
_FEW = 256


def tally(matrix: Matrix, codes: object, counts: object) -> Array:
    """Count the reported values, or read the counts that were given."""
    if (codes is None) == (counts is None):
        got = "neither" if codes is None else "both"
        raise TypeError(f"`estimate` must be given codes or counts; got {got}")
    return _of_codes(matrix, codes) if codes is not None else _of_counts(matrix, counts)


def _of_codes(matrix: Matrix, codes: object) -> Array:
    array = code_array(codes, matrix.size)
    if array.ndim > 1 and isinstance(composition(matrix), Kron):
        # Columns side by side look just like this, and would be counted as many records as cells.
        how = "np.ravel_multi_index(columns, sizes)"
        must = f"`codes` must hold one joint code per record, as {how} makes them"
        raise ValueError(f"{must}; got shape {array.shape}")
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    plain = np.require(native, requirements=["C", "A"]).reshape(-1)
    return _core.count(plain, matrix.size).astype(float)


def code_array(codes: object, size: int) -> np.ndarray:
    """Read codes as an array of integers; True and False are 1 and 0."""
    from bistochastic.adapters.values import codes_of

    must = "be an array of integers"
    array = arguments.array("codes", must, codes_of(codes, size))
    if array.size == 0 and array.dtype.kind in "fO":
        # An empty list or series has no type.
        array = array.astype(np.int64)
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    if array.dtype.kind not in "iu":
        raise TypeError(f"`codes` must {must}; got dtype {array.dtype}")
    return array


def _of_counts(matrix: Matrix, counts: object) -> Array:
    from bistochastic.adapters.values import refuse_other_order

    r = matrix.size
    must = f"`counts` must hold {r} non-negative numbers"
    numbers = arguments.array("counts", f"hold {r} non-negative numbers", counts)
    if numbers.dtype.kind not in "fiu":
        what = f"dtype {numbers.dtype}" if numbers.ndim else type(counts).__name__
        raise TypeError(f"{must}; got {what}")
    shapes = {(r,), _axes(matrix)}
    kron = composition(matrix)
    if isinstance(kron, Kron):
        shapes.add(tuple(factor.size for factor in kron.parts))
    if numbers.shape not in shapes:
        wanted = " or ".join(str(shape) for shape in sorted(shapes, key=len))
        raise ValueError(f"{must}, of shape {wanted}; got shape {numbers.shape}")
    refuse_other_order("counts", counts, size=r)
    flat = arguments.doubles("counts", numbers).reshape(-1)
    wrong = ~((flat >= 0) & np.isfinite(flat))
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(f"{must}; got {arguments.fault(flat[at])} at position {at}")
    if (flat % 1 > 0).any() and float(flat.sum()) < 1.5:
        raise ValueError(f"{must} of records; got shares that sum to {float(flat.sum()):g}")
    return flat


def _axes(matrix: Matrix) -> tuple[int, ...]:
    """List the sizes of all axes; if they are very many, without axes of one category."""
    if _core.parts_in(matrix) > _FEW:
        return tuple(axis.size for axis in axes(matrix))
    kron = composition(matrix)
    if not isinstance(kron, Kron):
        return (matrix.size,)
    return tuple(size for factor in kron.parts for size in _axes(factor))
