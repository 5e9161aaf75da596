"""``Decomposition``: the class that users see, over the core's terms; NumPy archives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from os import PathLike
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from bistochastic import _core
from bistochastic.errors import Refused
from bistochastic.formatting import Shown
from bistochastic.matrix import Matrix
from bistochastic.progress import Progress, check_progress

if TYPE_CHECKING:
    from fractions import Fraction


@final
class Decomposition(_core.Decomposition, Shown):
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

    def to_npz(self, path: str | PathLike[str]) -> None:
        """Write weights and permutations to a NumPy archive, the weights also as exact fractions.

        A file at ``path`` is replaced. The arrays are ``weights``, ``numerators``, ``denominators``
        and ``permutations``, and ``residual`` if terms were left out. Numerators and denominators
        beyond 64 bits are decimal strings.

        >>> import numpy as np, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "terms.npz"
        >>> bs.uniform(3).decompose().to_npz(path)
        >>> np.load(path)["numerators"]
        array([1, 1, 1], dtype=uint64)
        """
        import secrets
        from pathlib import Path

        exact = self.exact_weights
        arrays: dict[str, np.ndarray] = {
            "weights": self.weights,
            "numerators": _whole_numbers([weight.numerator for weight in exact]),
            "denominators": _whole_numbers([weight.denominator for weight in exact]),
            "permutations": self.permutations,
        }
        if (residual := self.residual) is not None:
            arrays["residual"] = residual.to_dense()
        # A link stays a link: what it leads to is replaced.
        target = Path(_core.as_path("path", path)).resolve()
        if target.exists() and not target.is_file():
            raise Refused("path", "be a file", "a folder or a device")
        part = target.with_name(f".{target.name}-{secrets.token_hex(8)}")
        try:
            with part.open("xb") as file:
                np.savez_compressed(file, allow_pickle=False, **arrays)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)

    def __iter__(self) -> Iterator[tuple[Fraction, NDArray[np.int64]]]:
        for j in range(self.terms):
            yield self[j]


_core.register(Decomposition=Decomposition)


def decompose_all(
    matrices: Iterable[Matrix],
    *,
    mass: float = 1.0,
    max_terms: int | None = None,
    restarts: int = 1,
    progress: Progress = None,
) -> list[Decomposition]:
    """Decompose several ``matrices`` at the same time, on all threads.

    ``mass``, ``max_terms``, ``restarts`` and ``progress``: see :meth:`Matrix.decompose`.

    >>> [d.terms for d in bs.decompose_all([bs.uniform(5), bs.identity(3)])]
    [5, 1]
    """
    return _core.decompose_all(matrices, (mass, max_terms, restarts), check_progress(progress))


def _whole_numbers(numbers: list[int]) -> np.ndarray:
    return np.array(numbers, dtype=np.uint64 if max(numbers, default=0) < 2**64 else str)
