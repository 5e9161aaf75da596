"""``Columns``: named columns as formulas need them, handed to formulaic as a pandas frame."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class Codes(NamedTuple):
    """A column of text: a code for each row, and all categories that may occur."""

    codes: NDArray[np.intp]
    categories: list[str]


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of one length, each an array or :class:`Codes`."""

    values: dict[str, np.ndarray | Codes]
    rows: int

    def take(self, rows: NDArray[np.intp]) -> Columns:
        """Return some rows of all columns."""
        found = {
            name: each._replace(codes=each.codes[rows]) if isinstance(each, Codes) else each[rows]
            for name, each in self.values.items()
        }
        return Columns(found, len(rows))

    @classmethod
    def beside(cls, parts: Sequence[Columns]) -> Columns:
        """Join columns of the same length side by side."""
        values = {name: each for part in parts for name, each in part.values.items()}
        return cls(values, max((part.rows for part in parts), default=1))

    @classmethod
    def crossed(cls, parts: Sequence[Columns]) -> Columns:
        """Return all combinations of rows, the last part running fastest."""
        sizes = [part.rows for part in parts]
        places = np.unravel_index(np.arange(math.prod(sizes)), sizes) if sizes else ()
        return cls.beside([part.take(at) for part, at in zip(parts, places, strict=True)])

    def matrix(self, formula: Any) -> Any:
        """Make the model matrix of a formula, or of its specification, by formulaic."""
        import pandas as pd

        columns = {
            name: pd.Categorical.from_codes(each.codes, each.categories)
            if isinstance(each, Codes)
            else each
            for name, each in self.values.items()
        }
        frame = pd.DataFrame(columns, index=range(self.rows))
        return formula.get_model_matrix(frame, context={}, na_action="ignore")
