"""Several matrices on one scale, and several families at the same beta."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Literal

from numpy.typing import ArrayLike

from bistochastic import _core, arguments, measures
from bistochastic.arguments import names_of
from bistochastic.errors import OutOfReachError, Refused, RefusedType, SingularMatrixError
from bistochastic.estimate.planning import mean_standard_error
from bistochastic.families import BY_BETA, build
from bistochastic.formatting import Shown, down, table, up
from bistochastic.matrix import Matrix
from bistochastic.measures.profile import Profile
from bistochastic.progress import Progress, check_progress


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown):
    """Several matrices on one scale; see :func:`compare`.

    >>> [p.beta for p in bs.compare(bs.identity(2), bs.uniform(2)).profiles]
    [0.0, 1.0]
    """

    profiles: tuple[Profile, ...]
    """The profile of each matrix, in order."""

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        """The matrices compared, in order."""
        return tuple(profile.matrix for profile in self.profiles)

    def rows(self) -> list[list[str]]:
        """List one row of strings per measure; a bound ends in a star."""
        rows = [["size", *(str(matrix.size) for matrix in self.matrices)]]
        for entries in zip(*self.profiles, strict=True):
            shown = (entry.text + "*" * (entry.status == "bound") for entry in entries)
            rows.append([entries[0].words, *shown])
        return rows

    def __repr__(self) -> str:
        seen = {entry.status for profile in self.profiles for entry in profile}
        said = [("bound", "* a bound"), ("not computed", "- not computed")]
        legend = "; ".join(text for status, text in said if status in seen)
        header = ["Measure", *(matrix.family for matrix in self.matrices)]
        return table(header, self.rows()) + (f"\n\n{legend}" if legend else "")


def compare(
    *matrices: Matrix,
    cost: ArrayLike | Literal["ordinal"] | None = None,
    prior: ArrayLike | None = None,
    full: bool = False,
    progress: Progress = None,
) -> Comparison:
    """Put the profiles of several matrices side by side.

    ``cost``, ``prior`` and ``full``: see :meth:`Matrix.profile`. They apply to all matrices.
    ``progress``: see :meth:`Matrix.decompose`. It counts matrices.

    >>> bs.compare(bs.randomized_response(12, beta=0.6), bs.k_anonymous(12, beta=0.6))
    Measure                                  randomized_response  k_anonymous
    ---------------------------------------  -------------------  -----------
    size                                                      12           12
    entropy rate, bits                                   2.15097      2.58496
    beta                                                     0.6     0.721057
    ...
    """
    if not arguments.things("compare", "be given matrices", matrices, Matrix):
        raise Refused("compare", "be given matrices", "none")
    profiles = []
    tell = check_progress(progress)
    for matrix in matrices:
        profiles.append(matrix.profile(cost=cost, prior=prior, full=full))
        tell(len(profiles) / len(matrices))
    return Comparison(tuple(profiles))


Make = Callable[[int, float], Matrix]

# From 0.05 to 0.95: the ends are the identity and perfect secrecy in every family.
BETAS = tuple(step / 20 for step in range(1, 20))


@dataclass(frozen=True)
class Point(Shown):
    """The matrix of one family at one requested beta, or the reason why there is none.

    ``beta`` is the realized beta. It is None if the family has no such matrix; then ``most`` is the
    family's largest beta. ``standard_error`` is None if the matrix is singular, since no proportion
    can then be estimated by inversion. ``expected_cost`` is the mean distance between true and
    reported value, in steps from one code to the next. It is None if the matrix is too large to
    compute it. ``efficiency`` is :attr:`Matrix.efficiency`. ``least_epsilon`` bounds the epsilon of
    every matrix of this beta from below, and is None for codes that are never true; see
    ``bistochastic.measures.least_epsilon``. ``note`` says why something is None.

    >>> bs.tradeoff(12, families=["k_anonymous"], betas=[0.5])[0].note
    'singular: single shares cannot be estimated'
    >>> bs.tradeoff(12, families=["randomized_response"], betas=[0.5])[0]
    Point(family='randomized_response', asked=0.5, beta=0.5..., truthfulness=0.7265..., ...)
    """

    family: str
    asked: float
    beta: float | None = None
    truthfulness: float | None = None
    epsilon: float | None = None
    standard_error: float | None = None
    most: float | None = None
    note: str = ""
    expected_cost: float | None = None
    efficiency: float | None = None
    least_epsilon: float | None = None


def _cell(name: str, x: float) -> str:
    """Write a number, rounded so that privacy and accuracy are never overstated."""
    if name == "efficiency":
        return down(x * (1 + 1e-12), 4)
    if name in ("beta", "least_epsilon"):
        return down(x, 5)
    return up(x, 5) if name == "epsilon" else f"{x:.4g}"


class Tradeoff(tuple[Point, ...], Shown):
    """The points of :func:`tradeoff`: a tuple that prints as a table.

    >>> bs.tradeoff(12, families=["randomized_response", "geometric"], betas=[0.6])
    family               asked  beta  epsilon  least epsilon  truthfulness  standard error  ...
    -------------------  -----  ----  -------  -------------  ------------  --------------  ...
    randomized_response    0.6   0.6  3.0108*         3.0107        0.6486       0.004482*  ...
    geometric              0.6   0.6   10.502         3.0107        0.4776        0.009206  ...
    <BLANKLINE>
    * best at the same beta: worst case (epsilon), accuracy (standard error), expected cost
    """

    __slots__ = ()

    def rows(self) -> list[list[str]]:
        """Return one row of text per point; - is a number that is unknown or does not exist.

        A star marks the least epsilon, standard error and expected cost at each beta.
        """
        best: dict[tuple[float, str], float] = {}
        for point in self:
            for name in ("epsilon", "standard_error", "expected_cost"):
                own = getattr(point, name)
                if own is not None and own < math.inf:
                    at = (point.asked, name)
                    best[at] = min(own, best.get(at, math.inf))

        def cell(point: Point, name: str) -> str:
            own: float | None = getattr(point, name)
            if own is None:
                return "-"
            is_best = own <= best.get((point.asked, name), -1.0) * (1 + 1e-9)
            return _cell(name, own) + "*" * is_best

        return [[p.family, f"{p.asked:g}", *(cell(p, name) for name in _MEASURES)] for p in self]

    def __repr__(self) -> str:
        return f"{table(_HEADER, self.rows())}\n\n{BEST}"


BEST = "* best at the same beta: worst case (epsilon), accuracy (standard error), expected cost"
_MEASURES = (
    "beta", "epsilon", "least_epsilon", "truthfulness", "standard_error", "expected_cost",
    "efficiency",
)  # fmt: skip
_HEADER = ["family", "asked", *(name.replace("_", " ") for name in _MEASURES)]


def tradeoff(
    size: int,
    *,
    families: Iterable[str] | Mapping[str, Make] = BY_BETA,
    betas: Iterable[float] | None = None,
    records: int = 10_000,
    progress: Progress = None,
) -> Tradeoff:
    """Compare truthfulness, epsilon, error and distance of several families at the same betas.

    The result is a tuple with one point per family and beta. It prints as a table. The column
    ``least epsilon`` is the floor: no bistochastic matrix with this beta has a smaller epsilon.

    * ``families`` are names (``randomized_response``, ``k_anonymous``, ``geometric``,
      ``tridiagonal``), or a mapping from labels to functions that make a matrix from a size and a
      beta.
    * ``betas`` are 0.05, 0.1, ..., 0.95 by default. Some families have only certain betas. They
      use the next higher one, and the point says which.
    * ``records`` is the number of records for the standard error of one proportion estimated by
      inversion, see ``bistochastic.estimate.mean_standard_error``.
    * ``progress``: see :meth:`Matrix.decompose`. The callback receives the fraction of points
      computed so far.

    It does not need matplotlib. :func:`bistochastic.plot.tradeoff` draws the result.

    >>> for p in bs.tradeoff(12, betas=[0.6]):
    ...     print(p.family, p.note or (round(p.epsilon, 2), round(p.standard_error, 4)))
    randomized_response (3.01, 0.0045)
    k_anonymous singular: single shares cannot be estimated
    geometric (10.5, 0.0092)
    tridiagonal `beta` must be at most 0.4112897665259084 for one alpha at size 12; got 0.6
    >>> cost = [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    >>> own = {"gibbs": lambda size, beta: bs.gibbs(cost, beta=beta)}
    >>> bs.tradeoff(3, families=own, betas=[0.5])[0].beta >= 0.5
    True
    """
    many = _core.as_whole("size", size, 2)
    count = _core.as_whole("records", records, 1)
    makers, must = _makers(families), "hold numbers from 0 to 1"
    wanted = arguments.items("betas", must, BETAS if betas is None else betas, unordered=True)
    if not wanted:
        raise Refused("betas", must, "none")
    rising = sorted(arguments.real("betas", must, x, lambda x: 0 <= x <= 1) for x in wanted)
    asked = list(product(makers.items(), rising))
    found = []
    tell = check_progress(progress)
    for (family, make), beta in asked:
        found.append(_point(family, make, many, beta, count))
        tell(len(found) / len(asked))
    return Tradeoff(found)


def _point(family: str, make: Make, size: int, beta: float, records: int) -> Point:
    try:
        matrix = make(size, beta)
    except OutOfReachError as end:
        if end.most is None:
            raise
        return Point(family, beta, most=end.most, note=str(end))
    if not isinstance(matrix, Matrix):
        raise RefusedType("families", "hold functions that return a matrix", type(matrix).__name__)
    error, note = None, ""
    try:
        error = mean_standard_error(matrix, records)
        if error is None:
            note = "not computed: too large, or too close to singular"
    except SingularMatrixError:
        note = "singular: single shares cannot be estimated"
    stated = matrix.beta, matrix.truthfulness, matrix.epsilon
    far, own = measures.mean_distance(matrix), matrix.efficiency
    least = None if matrix.padding else measures.least_epsilon(matrix.beta, matrix.size)
    return Point(family, beta, *stated, error, None, note, far, own, least)


def _makers(families: object) -> dict[str, Make]:
    if not hasattr(families, "items"):
        names = names_of("families", families, BY_BETA, ", or be a mapping")
        return {name: partial(_by_beta, name) for name in names}
    made = dict(families.items())
    for make in made.values():
        if not callable(make):
            must = "map labels to functions of a size and a beta"
            raise RefusedType("families", must, type(make).__name__)
    if not made:
        raise Refused("families", "hold at least one", "none")
    return made


def _by_beta(family: str, size: int, beta: float) -> Matrix:
    return build(family, size=size, beta=beta)
