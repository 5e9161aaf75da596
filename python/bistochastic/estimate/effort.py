"""``Patience``: how long a search for the likeliest shares may go on, and who hears of it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Self

from bistochastic.arguments import positive
from bistochastic.progress import Progress, asked, watched


@dataclass(frozen=True)
class Patience:
    """A gap that is small enough, a time that is long enough, and whom to tell about the gap."""

    gap: float | None = None
    seconds: float = math.inf
    progress: Progress = None
    _start: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, method: str, progress: object, gap: object, seconds: object) -> Self:
        """What a caller asked for; only a search takes time."""
        heard = asked(progress)
        # A bar goes with every method, but only a search has a gap to tell a function of.
        told = heard if callable(heard) else None
        for name, value in {"progress": told, "gap": gap, "seconds": seconds}.items():
            if value is not None and method not in ("mle", "shrunk"):
                raise ValueError(f"`{name}` must go with the method mle or shrunk; got {method}")
        wanted = None if gap is None else positive("gap", gap, math.inf)
        limit = math.inf if seconds is None else positive("seconds", seconds, math.inf)
        return cls(wanted, limit, heard)

    @property
    def left(self) -> float:
        """Seconds until it is over."""
        return self.seconds - (time.perf_counter() - self._start)

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.left <= 0

    @contextmanager
    def watched(self) -> Iterator[Self]:
        """The same, with a bar if no function follows the gap."""
        with watched("estimating", self.progress, words=_words) as tell:
            yield replace(self, progress=tell)

    def tell(self, gap: float) -> None:
        """Pass on how far the search has come."""
        if callable(self.progress):
            self.progress(gap)


def _words(gap: float) -> str:
    return f"gap {gap:.1e} nats per record"
