"""Counts of records in several events at once, without a joint table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bistochastic import _core, arguments, operators
from bistochastic.estimate.intervals import confidence_of, mean_bounds
from bistochastic.estimate.tallies import code_array
from bistochastic.matrix import Matrix
from bistochastic.progress import watched

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Conjunction:
    """An unbiased count, and its error.

    >>> import bistochastic as bs
    >>> m = bs.tridiagonal(0.1, size=3)
    >>> c = bs.conjunction([m], [[0] * 500 + [1] * 300 + [2] * 200], [[0]])
    >>> round(c.count, 1), round(c.standard_error, 1), [round(x, 1) for x in c.interval()]
    (523.8, 19.2, [485.0, 562.5])
    >>> c
    <Conjunction: count 523.81, standard error 19.1..., 95 % from 48... to 56...; 1,000 records ...>
    """

    count: float
    standard_error: float
    """Infinite for a sample of one record."""
    records: int
    ends: tuple[float, float]
    """The least and the most that a record can add to the count."""
    population: str = "sampled"
    """``"sampled"`` where the records are a sample, ``"fixed"`` where they are everyone."""

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Bounds of the count, cut to what a count can be, from 0 to ``records``.

        The bounds are made as in :meth:`Estimate.interval`: normal and widened for skewness if the
        reports vary enough, otherwise valid for any number of records. For a sample they are about
        ``records`` times the share in the whole population. If both are 0, or both are ``records``,
        such reports are unlikely from these matrices.

        >>> import bistochastic as bs
        >>> m = bs.randomized_response(2, keep=0.75)
        >>> bs.conjunction([m, m], [[0], [0]], [[0], [0]]).interval()
        (0.0, 1.0)
        """
        alpha = 1 - confidence_of(confidence)
        n, fixed = self.records, self.population == "fixed"
        share = self.count / n
        spread = 0.0 if n == 1 else self.standard_error**2 / n
        if fixed:
            # What truths differ by is left out of the error, and wanted here.
            spread = max(0.0, spread + share * (1 - share))
        else:
            spread *= (n - 1) / n
        ends = tuple(np.array([end]) for end in self.ends)
        low, high = mean_bounds(
            np.array([share]), np.array([spread]), (ends[0], ends[1]), n, alpha, fixed=fixed
        )
        # Both on both sides: unlikely reports may put all of the bounds outside.
        least, most = np.clip([n * float(low[0]), n * float(high[0])], 0.0, float(n)).tolist()
        return least, most

    def _facts(self) -> list[tuple[str, str]]:
        low, high = self.interval()
        return [
            ("count", f"{self.count:.6g}"),
            ("standard error", f"{self.standard_error:.6g}"),
            ("95 %", f"from {low:.6g} to {high:.6g}"),
        ]

    def __repr__(self) -> str:
        said = ", ".join(f"{name} {text}" for name, text in self._facts())
        plural = "s" * (self.records != 1)
        return f"<Conjunction: {said}; {self.records:,} record{plural} ({self.population})>"

    def _repr_html_(self) -> str:
        from bistochastic.markup import facts, fragment

        records = ("records", f"{self.records:,} ({self.population})")
        return fragment(facts([*self._facts(), records], caption="Conjunction"))


def conjunction(
    matrices: Sequence[Matrix],
    codes: Any,
    events: Sequence[Any],
    *,
    population: Literal["sampled", "fixed"] = "sampled",
) -> Conjunction:
    """How many original records lie in all ``events``, if each column was randomized on its own.

    * ``matrices`` holds one matrix per column.
    * ``codes`` holds one column of reports per matrix, as a sequence or a frame.
    * ``events`` holds one collection per column: the codes that count.
    * ``population`` is ``"sampled"`` if the records are a sample of the people to be described. It
      is ``"fixed"`` if they are all of them; then errors come from randomization alone.

    The count is unbiased. Let ``f`` be 1 on the codes of an event and 0 elsewhere, and ``g = P^-1
    f``. The mean of ``g`` over the reports of a truth is ``f`` of that truth. The count is the sum
    over records of the product of these ``g``. It takes O(records x columns) and no joint table.

    Raises ``ValueError`` for codes out of range, columns of different lengths and no records, and
    :class:`bistochastic.errors.SingularMatrixError` if a matrix cannot be inverted.

    >>> import bistochastic as bs
    >>> m = bs.identity(2)
    >>> bs.conjunction([m, m], [[0, 0, 1, 1], [0, 1, 0, 1]], [[1], [0, 1]]).count
    2.0
    """
    arguments.one_of("population", population, ("sampled", "fixed"))
    with watched("counting"):
        return _conjunction(matrices, codes, events, population)


def _conjunction(matrices: Any, codes: Any, events: Any, population: str) -> Conjunction:
    codes = arguments.columns_of(codes)
    must = "be a sequence with one for each attribute"
    matrices = arguments.items("matrices", must, matrices)
    codes = arguments.items("codes", must, codes)
    events = arguments.items("events", must, events)
    if not len(matrices) == len(codes) == len(events) or not len(matrices):
        got = f"{len(matrices)}, {len(codes)} and {len(events)}"
        must = "`conjunction` must be given as many matrices, columns and events, one at least"
        raise ValueError(f"{must}; got {got}")
    product: Array | None = None
    least = most = 1.0
    for k, (matrix, column, event) in enumerate(zip(matrices, codes, events, strict=True)):
        if not isinstance(matrix, Matrix):
            must = "`matrices` must hold matrices"
            raise TypeError(f"{must}; got {type(matrix).__name__} at {k}")
        indicator = np.zeros(matrix.size)
        indicator[_event(matrix, event, k)] = 1
        with operators.said_of("conjunction", matrix):
            scores = operators.solve_back(matrix, indicator[None, :])[0]
        answers = scores[_codes(matrix, column, k)]
        corners = [end * score for end in (least, most) for score in (scores.min(), scores.max())]
        least, most = float(min(corners)), float(max(corners))
        if product is None:
            product = answers
        elif len(product) != len(answers):
            must = "`codes` must hold columns of one length"
            raise ValueError(f"{must}; got {len(product)} and {len(answers)}")
        else:
            product = product * answers
    if product is None or not len(product):
        raise ValueError("`conjunction` must be given at least one record; got none")
    n, count = len(product), math.fsum(product)
    if population == "fixed":
        # A truth is 0 or 1, and so its own square: E g^2 - f is what randomization adds.
        error = math.sqrt(max(0.0, math.fsum(product**2) - count))
    elif least == most:
        error = 0.0
    else:
        error = float(product.std(ddof=1)) * math.sqrt(n) if n > 1 else math.inf
    return Conjunction(count, error, n, (least, most), population)


def _codes(matrix: Matrix, given: Any, k: int) -> NDArray[Any]:
    column = code_array(given)
    if column.ndim != 1:
        must = "`codes` must hold columns of whole numbers"
        raise TypeError(f"{must}; got {column.ndim} axes at {k}")
    wrong = (column < 0) | (column >= matrix.size)
    if wrong.any():
        must = f"`codes` must hold whole numbers from 0 to {matrix.size - 1} in column {k}"
        raise ValueError(f"{must}; got one outside at position {int(wrong.argmax())}")
    return column


def _event(matrix: Matrix, given: Any, k: int) -> list[int]:
    must = f"hold whole numbers from 0 to {matrix.size - 1} at {k}"
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise TypeError(f"`events` must {must}; got {type(given).__name__}")
    # A set has no order, and a range of many codes no need to be an array.
    if not isinstance(given, set | frozenset | range | list | tuple):
        given = arguments.array("events", must, given).ravel().tolist()
    codes = []
    for at, code in enumerate(given):
        try:
            codes.append(_core.as_code("events", code, matrix.size))
        except IndexError:
            raise ValueError(f"`events` must {must}; got one outside at position {at}") from None
    return codes
