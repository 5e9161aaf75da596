"""``Decomposition``: the class that users see, over the core's terms; files, a table."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from bistochastic import _core
from bistochastic.progress import watched
from bistochastic.words import down

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from fractions import Fraction
    from os import PathLike

    from numpy.typing import NDArray

    from bistochastic.matrix import Matrix
    from bistochastic.progress import Progress


class Decomposition(_core.Terms):
    """A matrix as a weighted sum of permutations; see :meth:`Matrix.decompose`.

    Iteration gives pairs of an exact weight and a permutation. For structured families the
    permutations are computed when you read them: a circulant of a million categories stores a
    million shifts, not a million permutations.

    >>> d = bs.circulant([3, 0, 1]).decompose()
    >>> d
    <Decomposition circulant 3 x 3: 2 terms, 0.811278 bits>
    >>> for weight, permutation in d:
    ...     print(weight, permutation)
    3/4 [0 1 2]
    1/4 [2 0 1]
    """

    __slots__ = ()

    def __init_subclass__(cls, **_named: object) -> NoReturn:
        raise TypeError("type 'bistochastic.Decomposition' is not an acceptable base type")

    def to_npz(self, path: str | PathLike[str]) -> None:
        """Write weights and permutations to a NumPy archive, the weights also as exact fractions.

        The arrays are ``weights``, ``numerators``, ``denominators`` and ``permutations``, and
        ``residual`` if terms were left out. Numerators and denominators beyond 64 bits are
        decimal strings.

        >>> import numpy as np, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "terms.npz"
        >>> bs.uniform(3).decompose().to_npz(path)
        >>> np.load(path)["numerators"]
        array([1, 1, 1], dtype=uint64)
        """
        from bistochastic.files.whole import written

        exact = self.exact_weights
        arrays: dict[str, np.ndarray] = {
            "weights": self.weights,
            "numerators": _integers([weight.numerator for weight in exact]),
            "denominators": _integers([weight.denominator for weight in exact]),
            "permutations": self.permutations,
        }
        if (residual := self.residual) is not None:
            arrays["residual"] = residual.to_dense()
        with written(_core.as_path("path", path), "path") as part, part.open("wb") as file:
            try:
                np.savez_compressed(file, allow_pickle=False, **arrays)
            except struct.error:
                # Some devices state a position without having one; a pipe states none.
                must = "`path` must be a file or a pipe"
                raise ValueError(f"{must}; got a device that cannot seek") from None

    def __iter__(self) -> Iterator[tuple[Fraction, NDArray[np.int64]]]:
        for j in range(self.terms):
            yield self[j]

    def _repr_html_(self) -> str:
        from bistochastic import markup

        n, many = self.matrix.size, f"{self.terms:,} term{'s' * (self.terms != 1)}"
        title = f"Decomposition of {self.matrix.family}, {n} x {n}: {many}"
        rows = largest(self, min(_LISTED, self.terms))
        left_out = self.residual_weight
        notes = [
            "" if self.terms <= _LISTED else f"The {_LISTED} largest terms are shown.",
            f"Left out: {float(left_out):.6g} of the whole." if left_out else "",
            f"Joint entropy: {down(self.joint_entropy)} bits.",
        ]
        return markup.fragment(
            markup.table(
                ["term", "weight", "sum", "where 0, 1, 2, ... go"],
                rows,
                caption=title,
                left=(3,),
                scroll=False,
            ),
            *(markup.element("p", note) for note in notes if note),
        )


# Terms that a notebook shows.
_LISTED = 10

_core.register(Decomposition=Decomposition)


def decompose_all(
    matrices: Iterable[Matrix],
    *,
    mass: float = 1.0,
    max_terms: int | None = None,
    restarts: int = 1,
    progress: Progress = None,
) -> list[Decomposition]:
    """Decompose several matrices at the same time, on all threads.

    The options and results are the same as in :meth:`Matrix.decompose`.

    >>> import bistochastic as bs
    >>> [d.terms for d in bs.decompose_all([bs.uniform(5), bs.identity(3)])]
    [5, 1]
    """
    with watched("decomposing", progress) as tell:
        return _core.decompose_all(matrices, (mass, max_terms, restarts), tell)


def _integers(numbers: list[int]) -> np.ndarray:
    """Convert to 64-bit integers if they fit, else to strings."""
    if max(numbers, default=0) < 2**64:
        return np.array(numbers, dtype=np.uint64)
    return np.array([str(number) for number in numbers])


def largest(decomposition: Decomposition, terms: int) -> list[list[str]]:
    """Write the largest terms as rows: number, weight, sum so far, permutation in short."""
    # A kron may have too many terms to sort; then the first ones are written.
    few = decomposition.terms <= 1 << 22
    order = np.argsort(-decomposition.weights, kind="stable") if few else np.arange(terms)
    rows: list[list[str]] = []
    so_far = 0.0
    for j in order[:terms].tolist():
        weight, permutation = decomposition[j]
        so_far += float(weight)
        shown = " ".join(map(str, permutation[:12].tolist()))
        more = " ..." if len(permutation) > 12 else ""
        rows.append([str(j), f"{float(weight):.6g}", f"{so_far:.6g}", shown + more])
    return rows
