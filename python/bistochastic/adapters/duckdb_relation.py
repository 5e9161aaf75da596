"""DuckDB relations, through Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bistochastic.adapters.arrow_table import ArrowTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from bistochastic.adapters.frames import Codes, Mask
    from bistochastic.labels import Labels


class Relation(ArrowTable):
    """A relation: computed once when it is read, and one of the same connection given back."""

    def __init__(self, native: Any) -> None:
        self._relation = native
        self._types = dict(zip(native.columns, map(str, native.types), strict=True))
        table = native.to_arrow_table() if hasattr(native, "to_arrow_table") else native.arrow()
        super().__init__(table)

    def labelled(self, name: str, labels: Labels, codes: Codes, missing: Mask | None) -> Any:
        if self._types[name].startswith("ENUM"):
            entries = ", ".join(_quoted(str(value), "'") for value in labels.values)
            self._types[name] = f"ENUM({entries})"
        return super().labelled(name, labels, codes, missing)

    def relabelled(self, name: str, labels: Labels, codes: Codes, missing: Mask | None) -> Any:
        self._types.pop(name)
        return super().relabelled(name, labels, codes, missing)

    def numbered(
        self, name: str, values: np.ndarray, missing: Mask | None = None, *, own: bool = False
    ) -> Any:
        if own:
            self._types.pop(name)
        return super().numbered(name, values, missing, own=own)

    def is_declared(self, name: str) -> bool:
        """Whether a column like that one lists its categories: an ENUM does, also inside of it."""
        return "ENUM(" in self._types[name]

    def made(self, columns: Mapping[str, Any], order: np.ndarray | None) -> Any:
        """Return a relation over the protected table, with the types of the other."""
        protected = super().made(columns, order)
        # Read back, an Arrow dictionary is text: the type has to be given.
        terms = [
            f"CAST({_quoted(name)} AS {self._types[name]}) AS {_quoted(name)}"
            if name in self._types
            else _quoted(name)
            for name in columns
        ]
        # DuckDB finds the table by the name of the variable.
        assert protected is not None
        query = f"SELECT {', '.join(terms)} FROM protected"
        return self._relation.query("bistochastic_original", query)


def _quoted(text: str, mark: str = '"') -> str:
    return mark + text.replace(mark, 2 * mark) + mark
