"""The structure of a matrix. Code with a closed form asks here, never for a family's name.

Every function returns None if the matrix has another structure. Two families of the same structure
give the same answers, so a new family gets every closed form of its structure.

>>> import bistochastic as bs
>>> bs.structure.is_uniform(bs.uniform(3))
True
"""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Union, cast

import numpy as np
from numpy.typing import NDArray

from bistochastic import _core
from bistochastic.arguments import Array
from bistochastic.matrix import Matrix

if TYPE_CHECKING:
    from bistochastic.channel import Channel

Counts = NDArray[np.int64]
Stochastic: TypeAlias = Union[Matrix, "Channel"]
"""What estimators take. A :class:`Channel` has no structure but the parts of a joint one."""

__all__ = [
    "ClassRuns", "Composition", "Kron", "Mixture", "Product", "Swap", "Vector", "axes", "by_parts",
    "classes", "composition", "counts", "even_kernel", "first_row", "forced", "is_certain",
    "is_uniform", "shift_invariant", "steps", "swap", "targets", "true_codes", "two_valued",
    "wide_factors",
]  # fmt: skip

T = TypeVar("T")
M = TypeVar("M", bound="Matrix | Channel")


def asked(matrix: Stochastic, what: str) -> Any:
    """Ask the core for a structure."""
    return _core.structure_of(matrix, what) if isinstance(matrix, Matrix) else None


def place_of(matrix: Stochastic) -> int:
    """Return a number that is the same for equal parts of a composite."""
    return _core.identity_of(matrix) if isinstance(matrix, Matrix) else id(matrix)


def parts_in(matrix: Stochastic) -> int:
    """Count the parts of a composite, and theirs."""
    return _core.parts_in(matrix) if isinstance(matrix, Matrix) else len(matrix.parts)


def has_rows(matrix: Stochastic) -> bool:
    """Whether a matrix is stored row by row, without any structure."""
    return _core.has_rows(matrix) if isinstance(matrix, Matrix) else not matrix.parts


def two_valued(matrix: Stochastic) -> tuple[float, float] | None:
    """Return the entry on the diagonal and the entry everywhere else, if there are only these two.

    Identity, perfect secrecy and randomized response have them; one category has ``(1.0, 0.0)``.

    >>> bs.structure.two_valued(bs.randomized_response(3, keep=0.5))
    (0.5, 0.25)
    """
    found = asked(matrix, "two values")
    return None if found is None else (found[0], found[1])


def forced(matrix: Stochastic) -> tuple[float, Array] | None:
    """Return the probability of the truth, and those of answers that do not depend on it.

    Only of a :class:`bistochastic.Channel` of one column; all its reports are one or the other.

    >>> bs.structure.forced(bs.Channel(warner=0.75))
    (0.5, array([0.25, 0.25]))
    """
    return None if isinstance(matrix, Matrix) else matrix.answers


def is_certain(matrix: Stochastic) -> bool:
    """Whether every true category has one reported category.

    >>> bs.structure.is_certain(bs.permutation([1, 0])), bs.structure.is_certain(bs.uniform(2))
    (True, False)
    """
    return isinstance(matrix, Matrix) and _core.is_certain(matrix)


def targets(matrix: Stochastic) -> Counts | None:
    """Return the code that each code is reported as; also None if all stay and none are stored.

    >>> bs.structure.targets(bs.permutation([1, 2, 0]))
    array([1, 2, 0])
    """
    found: Counts | None = asked(matrix, "targets")
    return found


def counts(matrix: Stochastic) -> Counts | None:
    """Return the integers of a matrix that is stored row by row, all out of one total.

    >>> found = bs.structure.counts(bs.dense([[0.75, 0.25], [0.25, 0.75]]))
    >>> found / found[0].sum()
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    found: Counts | None = asked(matrix, "counts")
    return found


@dataclass(frozen=True)
class Kron:
    """Independent factors of a joint domain in C order.

    >>> bs.structure.composition(bs.kron(bs.uniform(2), bs.identity(3)))
    Kron(parts=(<Matrix uniform 2 x 2: ...>, <Matrix identity 3 x 3: ...>))
    """

    parts: tuple[Matrix, ...]


@dataclass(frozen=True)
class Mixture:
    """One of several matrices, chosen with mixing weights that are not 0.

    >>> mixed = bs.mix([bs.identity(2), bs.uniform(2)], weights=[0.75, 0.25])
    >>> [(weight, part.family) for weight, part in bs.structure.composition(mixed)]
    [(0.75, 'identity'), (0.25, 'uniform')]
    """

    weights: tuple[float, ...]
    parts: tuple[Matrix, ...]

    def __iter__(self) -> Iterator[tuple[float, Matrix]]:
        return zip(self.weights, self.parts, strict=True)


@dataclass(frozen=True)
class Product:
    """Two matrices, one applied after the other.

    >>> a, b = bs.tridiagonal(0.25, size=3), bs.permutation([1, 2, 0])
    >>> bs.structure.composition(a @ b) == bs.structure.Product((a, b))
    True
    """

    parts: tuple[Matrix, Matrix]


Composition: TypeAlias = Kron | Mixture | Product


def composition(matrix: Stochastic) -> Composition | None:
    """Return how a composite is put together.

    >>> bs.structure.composition(bs.uniform(6)) is None
    True
    """
    if not isinstance(matrix, Matrix):
        # Its parts may be channels, which types do not say.
        return Kron(cast("tuple[Matrix, ...]", matrix.parts)) if matrix.parts else None
    found = asked(matrix, "composition")
    if found is None:
        return None
    kind, weights, parts = found
    if kind == "kron":
        return Kron(tuple(parts))
    if kind == "product":
        return Product((parts[0], parts[1]))
    drawn = (pair for pair in zip(weights, parts, strict=True) if pair[0])
    return Mixture(*zip(*drawn, strict=True))


def wide_factors(kron: Kron) -> list[Matrix]:
    """List the factors with more than one category, or one factor if all have one category.

    Factors with one category change nothing, and there may be very many. If only one factor is left
    and it is a kron, the list holds its factors.

    >>> made = bs.structure.composition(bs.kron(bs.uniform(2), bs.identity(1), bs.uniform(3)))
    >>> [factor.size for factor in bs.structure.wide_factors(made)]
    [2, 3]
    """
    wide = [factor for factor in kron.parts if factor.size > 1] or [kron.parts[0]]
    inner = composition(wide[0]) if len(wide) == 1 else None
    return wide_factors(inner) if isinstance(inner, Kron) else wide


def axes(matrix: M) -> list[M]:
    """List the matrices of the axes of a joint table, including those of a kron inside a kron.

    Axes with one category are left out, because there may be very many.

    >>> inner = bs.kron(bs.uniform(2), bs.identity(3))
    >>> [axis.size for axis in bs.structure.axes(bs.kron(inner, bs.uniform(4)))]
    [2, 3, 4]
    """
    if matrix.size == 1:
        return []
    made = composition(matrix)
    parts: Any = made.parts if isinstance(made, Kron) else ()
    return [axis for part in parts for axis in axes(part)] or [matrix]


def true_codes(matrix: Stochastic) -> NDArray[np.intp] | slice:
    """Return the codes that can be true, as an index: all, unless some are only reported.

    >>> import numpy as np
    >>> m = bs.difference_set(4, epsilon=1)
    >>> np.arange(m.size)[bs.structure.true_codes(m)]
    array([0, 1, 2, 3])
    """
    if not matrix.padding:
        return slice(None)
    parts = axes(matrix)
    each = np.ix_(*(np.arange(part.size - part.padding) for part in parts))
    return np.ravel_multi_index(each, [part.size for part in parts]).reshape(-1)


def by_parts(matrix: Stochastic, value: Callable[[Any, Callable[[Any], T]], T]) -> T:
    """Compute ``value(matrix, found)``; ``found`` computes the value of each distinct part once.

    >>> def leaves(matrix, found):
    ...     made = bs.structure.composition(matrix)
    ...     return 1 if made is None else sum(found(part) for part in made.parts)
    >>> bs.structure.by_parts(bs.kron(bs.uniform(2), bs.identity(3)), leaves)
    2
    """
    known: dict[int, T] = {}

    def found(part: Stochastic) -> T:
        key = place_of(part)
        if key not in known:
            known[key] = value(part, found)
        return known[key]

    return found(matrix)


def exact_row(matrix: Matrix, u: int) -> list[Fraction]:
    """Compute row ``u``; the rows of parts are computed once."""
    known: dict[tuple[int, int], list[Fraction]] = {}

    def row(part: Matrix, u: int) -> list[Fraction]:
        place = _core.identity_of(part), u
        if place not in known:
            short = _core.short_row(part, u)
            known[place] = joined(part, u) if short is None else short
        return known[place]

    def joined(part: Matrix, u: int) -> list[Fraction]:
        made = composition(part)
        assert made is not None
        if isinstance(made, Kron):
            found, place = [Fraction(1)], part.size
            for factor in (factor for factor in made.parts if factor.size > 1):
                place //= factor.size
                found = [a * b for a in found for b in row(factor, u // place % factor.size)]
            return found
        if isinstance(made, Mixture):
            shares = [weight for weight in part.parameters["weights"] if weight]
            rows = [row(each, u) for each in made.parts]
        else:
            first = row(made.parts[0], u)
            shares = [share for share in first if share]
            rows = [row(made.parts[1], w) for w, share in enumerate(first) if share]
        columns = zip(*rows, strict=True)
        return [sum(map(operator.mul, shares, column), Fraction(0)) for column in columns]

    return row(matrix, _core.as_code("u", u, matrix.size))


@dataclass(frozen=True)
class ClassRuns:
    """Classes of consecutive codes, uniform inside each class: runs of classes of one size.

    >>> found = bs.structure.classes(bs.blocks([1, 2, 2]))
    >>> found.number, found.each(), found.starts()
    (3, array([1, 2, 2]), array([0, 1, 3]))
    """

    sizes: Counts
    many: Counts

    @property
    def number(self) -> int:
        """The number of classes."""
        return int(self.many.sum())

    def each(self) -> Counts:
        """Count the codes of each class."""
        return np.repeat(self.sizes, self.many)

    def starts(self) -> Counts:
        """Find the first code of each class."""
        each = self.each()
        return np.cumsum(each) - each


def classes(matrix: Stochastic) -> ClassRuns | None:
    """Find the classes inside which nothing is revealed; one code per class for the identity.

    >>> bs.structure.classes(bs.k_anonymous(6, k=3)).number
    2
    """
    found = asked(matrix, "classes")
    return None if found is None else ClassRuns(*found)


def is_uniform(matrix: Stochastic) -> bool:
    """Whether each reported value is equally likely for all true values, if it is quick to see.

    >>> bs.structure.is_uniform(bs.randomized_response(4, beta=1))
    True
    """
    found = two_valued(matrix)
    return found is not None and (matrix.size == 1 or found[0] == found[1])


@dataclass(frozen=True)
class Vector:
    """Counts out of a total.

    >>> import numpy as np
    >>> Vector(np.array([3, 1]), 4).shares()
    array([0.75, 0.25])
    """

    counts: Counts
    total: int

    def shares(self) -> Array:
        """Return the proportions as doubles."""
        return np.asarray(self.counts / self.total)


def _counted(kind: str, matrix: Stochastic) -> Vector | None:
    found = asked(matrix, kind)
    return None if found is None else Vector(*found)


def first_row(matrix: Stochastic) -> Vector | None:
    """Return the first row, if the others are stored as shifts of it.

    >>> bs.structure.first_row(bs.circulant([3, 0, 1])).shares()
    array([0.75, 0.  , 0.25])
    """
    return _counted("first row", matrix)


def even_kernel(matrix: Stochastic) -> Vector | None:
    """Return ``c_0`` to ``c_r`` of a random step that is folded back at both ends of a scale.

    >>> bs.structure.even_kernel(bs.reflected([2, 1, 0, 0]))
    Vector(counts=array([2, 1, 0, 0]), total=4)
    """
    return _counted("kernel", matrix)


def steps(matrix: Stochastic) -> Vector | None:
    """Return the probabilities of a step between neighbours, one or one per pair.

    No step is longer.

    >>> bs.structure.steps(bs.tridiagonal(0.25, size=4)).shares()
    array([0.25])
    """
    return _counted("steps", matrix)


@dataclass(frozen=True)
class Swap:
    """Two codes that change places unless they stay.

    >>> bs.structure.swap(bs.t_transform(4, 0, 2, keep=0.75))
    Swap(i=0, j=2, keep=Fraction(3, 4))
    """

    i: int
    j: int
    keep: Fraction


def swap(matrix: Stochastic) -> Swap | None:
    """Return the two codes that may change places, while all others stay.

    >>> bs.structure.swap(bs.uniform(4)) is None
    True
    """
    found = asked(matrix, "swap")
    return None if found is None else Swap(found[0], found[1], Fraction(*found[2:]))


def shift_invariant(matrix: Stochastic) -> bool:
    """Whether all rows are shifts of the first, also of a composite of such matrices.

    >>> bs.structure.shift_invariant(bs.circulant([2, 1, 1]) @ bs.uniform(3))
    True
    """
    if two_valued(matrix) is not None or first_row(matrix) is not None:
        return True
    made = composition(matrix)
    return isinstance(made, Mixture | Product) and all(map(shift_invariant, made.parts))
