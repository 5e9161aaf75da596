"""Several matrices on one scale: ``bs.compare``."""

import math
from dataclasses import dataclass
from typing import Literal

from numpy.typing import ArrayLike

from bistochastic.errors import Refused, RefusedType, SingularMatrixError
from bistochastic.estimate import mean_standard_error
from bistochastic.formatting import Shown, table
from bistochastic.matrix import Matrix
from bistochastic.measures.profile import Profile
from bistochastic.progress import Progress, watched


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown):
    """Several matrices on one scale; see :func:`compare`.

    >>> import bistochastic as bs
    >>> [p.beta for p in bs.compare(bs.identity(2), bs.uniform(2)).profiles]
    [0.0, 1.0]
    """

    profiles: tuple[Profile, ...]
    """The profile of each matrix, in order."""

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        """The matrices compared, in order."""
        return tuple(profile.matrix for profile in self.profiles)

    @property
    def header(self) -> list[str]:
        """The first row of the table: the word ``Measure``, then the families in order."""
        return ["Measure", *(matrix.family for matrix in self.matrices)]

    def rows(self) -> list[list[str]]:
        """List one row of strings per measure; a bound ends in a star."""
        rows = [["size", *(str(matrix.size) for matrix in self.matrices)]]
        for entries in zip(*self.profiles, strict=True):
            shown = (entry.text + "*" * (entry.status == "bound") for entry in entries)
            rows.append([entries[0].words, *shown])
        return rows

    def _best(self) -> str:
        """Name the best matrices in each currency: bits, worst case, errors."""
        currencies = {
            "bits": [-matrix.beta for matrix in self.matrices],
            "epsilon": [matrix.epsilon for matrix in self.matrices],
            "errors": [_error(matrix) for matrix in self.matrices],
        }
        found = []
        for name, values in currencies.items():
            least = min(values)
            best = [m.family for m, x in zip(self.matrices, values, strict=True)
                    if x <= least + 1e-12 * abs(least) and x < math.inf]  # fmt: skip
            if 0 < len(best) < len(values):
                found.append(f"{name}: {', '.join(dict.fromkeys(best))}")
        return f"Best in {'; '.join(found)}" if found else ""

    def _legend(self) -> str:
        seen = {entry.status for profile in self.profiles for entry in profile}
        said = [("bound", "* a bound"), ("not computed", "- not computed")]
        legend = "; ".join(text for status, text in said if status in seen)
        return "\n".join(line for line in (self._best(), legend) if line)

    def __repr__(self) -> str:
        legend = self._legend()
        return table(self.header, self.rows()) + (f"\n\n{legend}" if legend else "")


def _error(matrix: Matrix) -> float:
    """Compute the standard error of a proportion, infinite if none can be estimated."""
    try:
        return mean_standard_error(matrix) or math.inf
    except SingularMatrixError:
        return math.inf


def compare(
    *matrices: Matrix,
    cost: ArrayLike | Literal["ordinal"] | None = None,
    prior: ArrayLike | None = None,
    full: bool = False,
    progress: Progress = None,
) -> Comparison:
    """Put the profiles of several matrices side by side.

    A line below the table names the best matrix by bits (beta), by the worst case (epsilon) and by
    the errors of estimated proportions.

    ``cost``, ``prior`` and ``full``: see :meth:`Matrix.profile`. They apply to all matrices.
    ``progress``: see :meth:`Matrix.decompose`. It counts matrices.

    >>> import bistochastic as bs
    >>> bs.compare(bs.randomized_response(12, beta=0.6), bs.k_anonymous(12, beta=0.6))
    Measure                                  randomized_response  k_anonymous
    ---------------------------------------  -------------------  -----------
    size                                                      12           12
    entropy rate, bits                                   2.15097      2.58496
    beta                                                     0.6     0.721057
    ...
    """
    if not matrices:
        raise Refused("compare", "be given matrices", "none")
    for matrix in matrices:
        if not isinstance(matrix, Matrix):
            raise RefusedType("compare", "be given matrices", type(matrix).__name__)
    profiles = []
    with watched("comparing", progress) as tell:
        for matrix in matrices:
            profiles.append(matrix.profile(cost=cost, prior=prior, full=full))
            if tell is not None:
                tell(len(profiles) / len(matrices))
    return Comparison(tuple(profiles))
