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

    >>> import bistochastic as bs
    >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
    >>> table = plan.tabulate([{"sex": "M", "count": 40}, {"sex": "F", "count": 60}], "sex")
    >>> table.counts, table.records
    (array([60, 40]), 100)
    >>> table.axes
    (Axis(name='sex', levels=('F', 'M')),)
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

    def __repr__(self) -> str:
        sizes = " x ".join(f"{shown(axis.name)} {len(axis.levels)}" for axis in self.axes)
        return f"<Counts of {self.records} records: {sizes}>"

    def _repr_html_(self) -> str:
        from bistochastic.markup import facts, fragment

        pairs = [(axis.name, f"{len(axis.levels)} levels") for axis in self.axes]
        pairs += [("records", f"{self.records:,}"), ("without an answer", f"{self.unanswered:,}")]
        return fragment(facts(pairs, caption="Counts"))
