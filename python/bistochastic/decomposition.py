"""What a decomposition looks like outside: one term after the other, files, a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction
    from os import PathLike

    from numpy.typing import NDArray

    from bistochastic._core import Decomposition


def walk(decomposition: Decomposition) -> Iterator[tuple[Fraction, NDArray[np.int64]]]:
    """Exact weights and permutations, one after the other."""
    for j in range(decomposition.terms):
        yield decomposition[j]


def _integers(numbers: list[int]) -> NDArray[Any]:
    """As 64 bits where they fit, else as text."""
    if max(numbers, default=0) < 2**64:
        return np.array(numbers, dtype=np.uint64)
    return np.array([str(number) for number in numbers])


def to_npz(decomposition: Decomposition, path: str | PathLike[str]) -> None:
    """Write ``weights``, ``numerators``, ``denominators``, ``permutations`` and any ``residual``."""
    exact = decomposition.exact_weights
    arrays: dict[str, NDArray[Any]] = {
        "weights": decomposition.weights,
        "numerators": _integers([weight.numerator for weight in exact]),
        "denominators": _integers([weight.denominator for weight in exact]),
        "permutations": decomposition.permutations,
    }
    residual = decomposition.residual
    if residual is not None:
        arrays["residual"] = residual.to_dense()
    with open(path, "wb") as file:  # noqa: PTH123 - a file object keeps the name as it is
        np.savez_compressed(file, allow_pickle=False, **arrays)
