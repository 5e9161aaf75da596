"""``Patience``: how long a search for the likeliest shares may go on, and who hears of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from bistochastic import _core


@dataclass(frozen=True)
class Patience:
    """A gap that is small enough, a time that is long enough, and whom to tell about the gap."""

    gap: float | None = None
    seconds: float = math.inf
    progress: Callable[[float], object] | None = None
    _start: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, method: str, progress: Any, gap: Any, seconds: Any) -> Self:
        """What a caller asked for; only a search takes time.

        >>> Patience.of("inverse", None, 1e-3, None)
        Traceback (most recent call last):
            ...
        ValueError: `gap` must go with the method mle or shrunk; got inverse
        """
        given = {"progress": progress, "gap": gap, "seconds": seconds}
        for name, value in given.items():
            if value is not None and method not in ("mle", "shrunk"):
                raise ValueError(f"`{name}` must go with the method mle or shrunk; got {method}")
        if progress is not None and not callable(progress):
            must = "`progress` must be a function of the gap"
            raise TypeError(f"{must}; got {type(progress).__name__}")
        wanted = None if gap is None else _positive("gap", gap)
        limit = math.inf if seconds is None else _positive("seconds", seconds)
        return cls(wanted, limit, progress)

    @property
    def left(self) -> float:
        """Seconds until it is over."""
        return self.seconds - (time.perf_counter() - self._start)

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.left <= 0

    def tell(self, gap: float) -> None:
        """Pass on how far the search has come."""
        if self.progress is not None:
            self.progress(gap)


def _positive(name: str, given: Any) -> float:
    number = _core.as_real(name, "be a positive number", given)
    if not number > 0:
        raise ValueError(f"`{name}` must be a positive number; got {number:g}")
    return number
