"""``Patience``: how long a search for the likeliest shares may go on, and its progress."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Self

from bistochastic.arguments import positive
from bistochastic.errors import Refused
from bistochastic.progress import Progress, asked, watched


@dataclass(frozen=True)
class Patience:
    """A gap that is small enough, a time limit, and the function that receives the gap.

    >>> Patience.of("mle", None, 1e-6, 10).gap
    1e-06
    """

    gap: float | None = None
    seconds: float = math.inf
    progress: Progress = None
    _start: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, method: str, progress: object, gap: object, seconds: object) -> Self:
        """Read a caller's limits; only a search takes time."""
        heard = asked(progress)
        # Only a search has a gap to pass to a function.
        told = heard if callable(heard) else None
        for name, value in {"progress": told, "gap": gap, "seconds": seconds}.items():
            if value is not None and method not in ("mle", "shrunk"):
                raise Refused(name, "go with the method mle or shrunk", method)
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
        """Return the same, with a line if no function receives the gap."""
        with watched("estimating", self.progress, words=_words) as tell:
            yield replace(self, progress=tell)

    def tell(self, gap: float) -> None:
        """Pass on how far the search has come."""
        if callable(self.progress):
            self.progress(gap)


def _words(gap: float) -> str:
    return f"gap {gap:.1e} nats per record"
