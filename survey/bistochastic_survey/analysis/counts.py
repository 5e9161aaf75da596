"""``Counts``: how many records report each combination of categories."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from bistochastic.errors import Refused, RefusedType
from bistochastic.estimate import Axis
from bistochastic_survey import checks
from bistochastic_survey.wording import Shown, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")
# Integers below this are exact as floats, in which tables are solved.
MOST = 2**53


@dataclass(frozen=True, eq=False)
class _Cells(Shown):
    """The fields of ``Counts``."""

    columns: tuple[str, ...]
    """The requested columns."""
    axes: tuple[Axis, ...]
    """These columns, and after them those that an estimate of them needs, with their categories."""
    counts: NDArray[np.int64]
    """How many records report each combination, an axis of the array for each of ``axes``."""
    unanswered: int = 0
    """Records without an answer, which are in no cell: those of ``missing="keep"``."""
    digest: str | None = None
    """The digest of the plan that protected the records; other plans reject it. Any plan with these
    categories accepts counts without a digest."""


@dataclass(frozen=True, eq=False, init=False)
class Counts(_Cells):
    """The number of records that report each combination of categories, in the declared order.

    Tools that collect reports return them. You can also make them by hand, e.g. to add up the
    counts of several workers. They are checked in the same way: one non-negative integer per
    combination.

    Tables are equal if columns, axes, all counts, ``unanswered`` and ``digest`` are, in any order
    of rows. They have no hash, because the array can be written to.

    >>> import numpy as np
    >>> from bistochastic.estimate import Axis
    >>> from bistochastic_survey.analysis.counts import Counts
    >>> table = Counts(("sex",), (Axis("sex", ("F", "M")),), np.array([60, 40]))
    >>> table.counts, table.records
    (array([60, 40]), 100)
    >>> Counts(table.columns, table.axes, 2 * table.counts).records
    200
    >>> Counts(table.columns, table.axes, table.counts[:1])
    Traceback (most recent call last):
        ...
    bistochastic.errors.Refused: `counts` must have a cell for each category of sex 2, of shape
        (2,); got (1,)
    """

    def __init__(
        self,
        columns: tuple[str, ...],
        axes: tuple[Axis, ...],
        counts: NDArray[np.int64],
        unanswered: int = 0,
        digest: str | None = None,
    ) -> None:
        names = tuple(_listed("columns", "be a tuple of names", columns, str))
        known = _check_axes(axes, names)
        cells, none = _cells(counts, known), checks.whole("unanswered", unanswered, 0)
        if digest is not None:
            must = "be the 64 hexadecimal digits of a plan's digest"
            if not isinstance(digest, str):
                raise RefusedType("digest", must, type(digest).__name__)
            if not re.fullmatch("[0-9a-f]{64}", digest):
                raise Refused("digest", must, f"{len(digest)} characters")
        super().__init__(names, known, cells, none, digest)

    @property
    def records(self) -> int:
        """The number of records in all cells."""
        return int(self.counts.sum())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return (
            self.columns == other.columns
            and self.axes == other.axes
            and self.unanswered == other.unanswered
            and self.digest == other.digest
            # Categories that are true and false are equal to 1 and 0.
            and all(map(_same_kinds, self.axes, other.axes))
            and bool((self.counts == other.counts).all())
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Counts of {self.records} records: {_sizes(self.axes)}>"


def _sizes(axes: tuple[Axis, ...]) -> str:
    return " x ".join(f"{shown(axis.name)} {len(axis.categories)}" for axis in axes)


def _listed(name: str, must: str, given: object, kind: type[T]) -> list[T]:
    if not isinstance(given, tuple | list):
        raise RefusedType(name, must, type(given).__name__)
    for each in given:
        if not isinstance(each, kind):
            raise RefusedType(name, must, type(each).__name__)
    return list(given)


def _check_axes(given: object, columns: tuple[str, ...]) -> tuple[Axis, ...]:
    """Check the axes: first one for each column, each with different categories."""
    must = "be a tuple of Axis, those of `columns` first"
    axes = _listed("axes", must, given, Axis)
    for axis in axes:
        if not isinstance(axis.name, str) or not isinstance(axis.categories, tuple):
            kinds = f"{type(axis.name).__name__} and {type(axis.categories).__name__}"
            wants = f"{must}, with a name and a tuple of categories each"
            raise RefusedType("axes", wants, kinds)
        for level in axis.categories:
            if type(level).__hash__ is None:
                got = f"{type(level).__name__} in `{shown(axis.name)}`"
                raise RefusedType("axes", f"{must}, of strings or numbers", got)
        # True and 1 are different categories.
        if len({(type(level), level) for level in axis.categories}) < len(axis.categories):
            got = f"one twice in `{shown(axis.name)}`"
            raise Refused("axes", f"{must}, of different categories", got)
    names = [axis.name for axis in axes]
    if not columns or names[: len(columns)] != list(columns):
        listed = ", ".join(f"`{shown(name)}`" for name in names) or "none"
        raise Refused("axes", must, listed)
    for i, name in enumerate(names):
        if name in names[:i]:
            raise Refused("axes", f"{must}, of different names", f"`{shown(name)}` twice")
    return tuple(axes)


def _cells(given: object, axes: tuple[Axis, ...]) -> NDArray[np.int64]:
    """Convert the counts to integers; raise an error if they are not."""
    shape = tuple(len(axis.categories) for axis in axes)
    must = f"have a cell for each category of {_sizes(axes)}, of shape {shape}"
    if not isinstance(given, np.ndarray) or isinstance(given, np.ma.MaskedArray):
        raise RefusedType("counts", f"{must}, as a NumPy array", type(given).__name__)
    if given.shape != shape:
        raise Refused("counts", must, given.shape)
    must = "hold integers that are not negative, less than 2^53 in all"
    if given.dtype.kind not in "iuf":
        raise RefusedType("counts", must, f"dtype {given.dtype}")
    wrong = ~((given >= 0) & (given == np.floor(given)) & (given < MOST))
    if wrong.any():
        number = int(np.count_nonzero(wrong))
        at = ", ".join(map(str, np.argwhere(wrong)[0].tolist()))
        are = "one that is not" if number == 1 else f"{number} that are not"
        raise Refused("counts", must, f"{are}, the first in cell [{at}]")
    total = math.fsum(given.reshape(-1).astype(float))
    if not total < MOST:
        raise Refused("counts", must, f"a sum of {total:g}")
    return given if given.dtype == np.int64 else given.astype(np.int64)


def _same_kinds(one: Axis, other: Axis) -> bool:
    return [type(level) for level in one.categories] == [type(level) for level in other.categories]
