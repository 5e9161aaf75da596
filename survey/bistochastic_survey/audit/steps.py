"""How much of an audit is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from bistochastic_survey.progress import Told

T = TypeVar("T")

# How much of the time each step takes, about.
_STEPS = {"read": 0.1, "guess": 0.05, "protected columns": 0.3, "with unprotected columns": 0.15,
          "seen": 0.1, "distance": 0.15, "scenarios": 0.1, "pool": 0.05}  # fmt: skip


class Steps:
    """Tells how much is done of all steps together."""

    def __init__(self, told: Told | None) -> None:
        self._told = told or (lambda share: None)
        self._done = 0.0

    def over(self, name: str, items: Sequence[T]) -> Iterator[T]:
        """Give the items of a step one after the other, and tell how many are done."""
        start, whole = self._done, _STEPS[name]
        self._done += whole
        for done, item in enumerate(items):
            self._told(min(1.0, start + whole * done / len(items)))
            yield item
