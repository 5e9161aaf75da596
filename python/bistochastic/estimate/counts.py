"""``Counts``: how many records report each combination of levels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bistochastic.words import shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bistochastic.estimate.axes import Axis


@dataclass(frozen=True, eq=False)
class Counts:
    """How many records report each combination of levels, every cell in its declared place.

    Tables are equal where columns, axes, all counts and ``unanswered`` are, in whatever order their
    rows came. They have no hash, as the array may be written to.

    >>> import bistochastic as bs
    >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
    >>> table = plan.tabulate([{"sex": "M", "count": 40}, {"sex": "F", "count": 60}], "sex")
    >>> table.counts, table.records
    (array([60, 40]), 100)
    >>> table.axes
    (Axis(name='sex', levels=('F', 'M')),)
    >>> table == plan.tabulate({"sex": ["F", "M"], "count": [60, 40]}, "sex")
    True
    """

    columns: tuple[str, ...]
    """The columns that were asked for."""
    axes: tuple[Axis, ...]
    """These columns, and after them those that an estimate of them needs, with their levels."""
    counts: NDArray[np.int64]
    """How many records report each combination, an axis of the array for each of ``axes``."""
    unanswered: int = 0
    """Records without an answer, which are in no cell: those of ``missing="keep"``."""

    @property
    def records(self) -> int:
        """How many records there are in all cells."""
        return int(self.counts.sum())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return (
            self.columns == other.columns
            and self.axes == other.axes
            and self.unanswered == other.unanswered
            # Levels that are true and false are equal to 1 and 0.
            and all(map(_same_kinds, self.axes, other.axes))
            and bool((self.counts == other.counts).all())
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        sizes = " x ".join(f"{shown(axis.name)} {len(axis.levels)}" for axis in self.axes)
        return f"<Counts of {self.records} records: {sizes}>"

    def _repr_html_(self) -> str:
        from bistochastic.markup import facts, fragment

        pairs = [(axis.name, f"{len(axis.levels)} levels") for axis in self.axes]
        pairs += [("records", f"{self.records:,}"), ("without an answer", f"{self.unanswered:,}")]
        return fragment(facts(pairs, caption="Counts"))


def _same_kinds(one: Axis, other: Axis) -> bool:
    return [type(level) for level in one.levels] == [type(level) for level in other.levels]
