"""What a decomposition looks like outside: one term after the other, files, a table."""

from __future__ import annotations

import struct
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
    """Write the weights, also as fractions, the permutations and any residual."""
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
        try:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        except struct.error:
            # Some devices say where one is and are not there; a pipe says that it does not know.
            must = "`path` must be a file or a pipe"
            raise ValueError(f"{must}; got a device that cannot be gone back in") from None


def to_csv(decomposition: Decomposition, path: str | PathLike[str]) -> None:
    """Write one line a term: the weight, the same as a fraction, and where each code goes."""
    codes = ",".join(str(u) for u in range(decomposition.matrix.size))
    with open(path, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123 - see above
        file.write(f"weight,exact,{codes}\n")
        for weight, permutation in walk(decomposition):
            targets = ",".join(map(str, permutation.tolist()))
            file.write(f"{float(weight)!r},{weight},{targets}\n")


def _order(decomposition: Decomposition, terms: int) -> list[int]:
    """The numbers of the largest terms; of very many, which only a kron has, those of the first."""
    import numpy as np

    if decomposition.terms > 1 << 22:
        return list(range(terms))
    order = np.argsort(-decomposition.weights, kind="stable")
    return [int(j) for j in order[:terms]]


def largest(decomposition: Decomposition, terms: int) -> list[list[str]]:
    """The largest terms as rows of text: number, weight, sum so far, permutation in short."""
    rows: list[list[str]] = []
    so_far = 0.0
    for j in _order(decomposition, terms):
        weight, permutation = decomposition[j]
        so_far += float(weight)
        shown = " ".join(map(str, permutation[:12].tolist()))
        more = " ..." if len(permutation) > 12 else ""
        rows.append([str(j), f"{float(weight):.6g}", f"{so_far:.6g}", shown + more])
    return rows
