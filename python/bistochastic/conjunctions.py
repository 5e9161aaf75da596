"""Counts of records in several events at once, without a joint table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core, operators, quantiles
from bistochastic.intervals import confidence_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bistochastic._core import Matrix

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class Conjunction:
    """An unbiased count, and its error.

    >>> low, high = Conjunction(count=120.0, standard_error=10.0, records=1000).interval(0.95)
    >>> round(low, 2), round(high, 2)
    (100.4, 139.6)
    """

    count: float
    standard_error: float
    records: int

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """A normal interval of the count, cut to what a count can be.

        >>> Conjunction(count=5.0, standard_error=10.0, records=1000).interval()[0]
        0.0
        """
        half = quantiles.normal((1 + confidence_of(confidence)) / 2) * self.standard_error
        low, high = self.count - half, self.count + half
        return max(0.0, low), min(float(self.records), high)


def conjunction(
    matrices: Sequence[Matrix], codes: Sequence[Any], events: Sequence[Any]
) -> Conjunction:
    """How many original records lie in all ``events``; attributes were randomized one by one.

    ``codes`` holds a column of reports for each matrix, ``events`` the codes that count, one
    collection an attribute. With ``f`` the indicator of an event and ``g = P^-1 f``, the mean of
    ``g`` over the reports of a truth is ``f`` of that truth, so the product over attributes is
    unbiased for a record in all events. Takes O(records x attributes) and no table.

    >>> import bistochastic as bs
    >>> m = bs.identity(2)
    >>> bs.conjunction([m, m], [[0, 0, 1, 1], [0, 1, 0, 1]], [[1], [0, 1]]).count
    2.0
    """
    if not len(matrices) == len(codes) == len(events) or not len(matrices):
        got = f"{len(matrices)}, {len(codes)} and {len(events)}"
        must = "`conjunction` must be given as many matrices, columns and events, one at least"
        raise ValueError(f"{must}; got {got}")
    product: Array | None = None
    for k, (matrix, column, event) in enumerate(zip(matrices, codes, events, strict=True)):
        if not isinstance(matrix, _core.Matrix):
            must = "`matrices` must hold matrices"
            raise TypeError(f"{must}; got {type(matrix).__name__} at {k}")
        indicator = np.zeros(matrix.size)
        indicator[_event(matrix, event, k)] = 1
        scores = operators.solve_back(matrix, indicator)
        answers = scores[_codes(matrix, column, k)]
        if product is None:
            product = answers
        elif len(product) != len(answers):
            must = "`codes` must hold columns of one length"
            raise ValueError(f"{must}; got {len(product)} and {len(answers)}")
        else:
            product = product * answers
    if product is None or not len(product):
        raise ValueError("`conjunction` must be given at least one record; got none")
    n = len(product)
    spread = float(product.std(ddof=1)) if n > 1 else math.inf
    return Conjunction(math.fsum(product), spread * math.sqrt(n), n)


def _codes(matrix: Matrix, given: Any, k: int) -> NDArray[Any]:
    column = np.asarray(given)
    if column.dtype.kind not in "iub" or column.ndim != 1:
        must = "`codes` must hold columns of whole numbers"
        raise TypeError(f"{must}; got dtype {column.dtype} with {column.ndim} axes at {k}")
    column = column.astype(np.int64) if column.dtype.kind == "b" else column
    wrong = (column < 0) | (column >= matrix.size)
    if wrong.any():
        must = f"`codes` must be from 0 to {matrix.size - 1} in column {k}"
        raise ValueError(f"{must}; got another at position {int(wrong.argmax())}")
    return column


def _event(matrix: Matrix, given: Any, k: int) -> list[int]:
    must = f"`events` must hold codes from 0 to {matrix.size - 1} at {k}"
    try:
        codes = [code.__index__() for code in given]
    except (TypeError, AttributeError):
        raise TypeError(f"{must}; got others") from None
    if not all(0 <= code < matrix.size for code in codes):
        raise ValueError(f"{must}; got another")
    return codes
