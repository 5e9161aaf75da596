"""``Bins``: classes of numbers and dates, their labels, and the ends that replace values.

Classes are ``[low, high)``; the last class of numbers is closed, ``[low, high]``. The classes of
``open`` ends are beyond the breaks. Breaks are compared exactly, whatever type the column has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bistochastic.errors import Refused, RefusedType
from bistochastic_survey import checks
from bistochastic_survey.cached import cached
from bistochastic_survey.table.arrays import narrow
from bistochastic_survey.table.frames import Codes, Mask

Break = int | float | date
Ends = tuple[Break | None, Break | None]

# Classes, and numbers inside all classes.
_CLASSES, _NUMBERS = 1 << 20, 1 << 24


@dataclass(frozen=True)
class Bins:
    """Classes of numbers or of dates."""

    breaks: tuple[Break, ...]
    open: tuple[str, ...] = ()

    @classmethod
    def of(cls, breaks: object, open: object = ()) -> Bins:
        """Read breaks as a caller gave them."""
        must = "be a list of numbers or dates"
        if breaks is None or isinstance(breaks, str | bytes):
            raise RefusedType("breaks", must, "none" if breaks is None else "str")
        found = [_break("breaks", x) for x in checks.items("breaks", must, breaks)]
        if len({isinstance(x, date) for x in found}) > 1:
            raise RefusedType("breaks", "be all numbers or all dates", "both")
        ends = checks.items("open", "be ends", open, unordered=True)
        texts = {end for end in ends if isinstance(end, str)}
        if isinstance(open, str) or len(texts) < len(ends) or not texts <= {"low", "high"}:
            raise Refused("open", 'hold "low", "high" or both', "none of these")
        if len(found) + len(ends) < 2 or not found:
            raise Refused("breaks", "make one class or more", "none")
        for i, (one, other) in enumerate(pairwise(found)):
            if not one < other:  # type: ignore[operator]
                raise Refused("breaks", "increase", f"one that does not at {i + 1}")
        if len(found) > _CLASSES:
            raise Refused("breaks", "make at most 2^20 classes", len(found))
        return cls(tuple(found), tuple(end for end in ("low", "high") if end in texts))

    @property
    def dated(self) -> bool:
        """Whether the breaks are dates."""
        return isinstance(self.breaks[0], date)

    @cached
    def _ends(self) -> list[tuple[Break | None, Break | None]]:
        """The lower and the upper end of each class, None if it is open there."""
        found: list[tuple[Break | None, Break | None]] = [*pairwise(self.breaks)]
        if "low" in self.open:
            found.insert(0, (None, self.breaks[0]))
        if "high" in self.open:
            found.append((self.breaks[-1], None))
        return found

    @property
    def ends(self) -> tuple[Any, ...]:
        """The ends of all classes in their order, infinite beyond the open ones."""
        low, high = (-math.inf,) * ("low" in self.open), (math.inf,) * ("high" in self.open)
        return (*low, *self.breaks, *high)

    @cached
    def names(self) -> tuple[str, ...]:
        """A label for each class."""
        last = len(self._ends) - 1
        return tuple(
            _label(low, high, closed=i == last and not self.dated)
            for i, (low, high) in enumerate(self._ends)
        )

    @cached
    def widest(self) -> float:
        """The width of the widest class; infinite if one is open. Dates are in days."""
        if self.open:
            return math.inf
        days = [float(x.toordinal()) if isinstance(x, date) else float(x) for x in self.breaks]
        return max(high - low for low, high in pairwise(days))

    @cached
    def midpoints(self) -> np.ndarray:
        """The middle of each class; of an open one its finite end."""
        found: list[date | float] = []
        for low, high in self._ends:
            days = [x.toordinal() for x in (low, high) if isinstance(x, date)]
            ends = [float(x) for x in (low, high) if isinstance(x, int | float)]
            middle = ends[0] + (ends[-1] - ends[0]) / 2 if ends else 0.0
            found.append(date.fromordinal(sum(days) // len(days)) if days else middle)
        return np.array(found, "M8[D]" if self.dated else np.float64)

    @cached
    def _edges(self) -> np.ndarray:
        return np.array(self.breaks, "M8[D]") if self.dated else np.array(self.breaks, np.float64)

    def codes(self, values: np.ndarray) -> tuple[Codes, Mask | None]:
        """Find the class of each value, and the values that are outside of all classes."""
        edges = self._edges
        if values.dtype.kind in "iu":
            # Integers are at or above a break if they are at or above the next integer. Breaks
            # beyond the type are above all of them.
            most = np.iinfo(values.dtype)
            whole = [max(math.ceil(x), int(most.min)) for x in self.breaks]  # type: ignore[arg-type]
            edges = np.array([x for x in whole if x <= most.max], values.dtype)
        at = np.searchsorted(edges, values, "right").astype(narrow(len(edges) + 1))
        shift = 0 if "low" in self.open else 1
        last = len(self._ends) - 1
        outside = np.zeros(0, bool)
        if not ("low" in self.open and "high" in self.open):
            below = at < shift
            above = at > last + shift
            # At the last break as integers, since doubles cannot tell large ones apart.
            closed = not self.dated and "high" not in self.open
            if above.any() and closed and edges[-1].item() == self.breaks[-1]:
                above &= values != edges[-1]
            outside = below | above
        codes = np.clip(at, shift, last + shift)
        codes -= shift
        found = codes.astype(narrow(len(self._ends)), copy=False)
        if not outside.any():
            return found, None
        found[outside] = 0
        return found, outside

    def numbers(self, step: float) -> tuple[np.ndarray, NDArray[np.int64], NDArray[np.int64]]:
        """List all multiples of a step in the classes, and the first and the number per class."""
        unit = Fraction(repr(step))
        firsts, counts = [], []
        for i, (low, high) in enumerate(self._ends):
            assert low is not None
            assert high is not None
            start, end = (_exact(x) / unit for x in (low, high))
            closed = i == len(self._ends) - 1 and not self.dated
            first, stop = math.ceil(start), math.floor(end) + 1 if closed else math.ceil(end)
            if stop <= first:
                raise Refused("step", "have a multiple in every class", f"none in {i}")
            firsts.append(first)
            counts.append(stop - first)
        total = sum(counts)
        if total > _NUMBERS:
            raise Refused("step", "make at most 2^24 numbers", total)
        every = np.concatenate(
            [np.arange(n, n + many) for n, many in zip(firsts, counts, strict=True)]
        )
        found: np.ndarray
        if self.dated:
            found = (every * int(step)).astype("M8[D]")
        elif unit.denominator == 1:
            found = every * int(unit)
        else:
            found = every * unit.numerator / unit.denominator
        starts = np.cumsum([0, *counts[:-1]])
        places, outside = self.codes(found)
        if outside is not None or (places != np.repeat(np.arange(len(counts)), counts)).any():
            raise Refused("step", "make numbers that doubles distinguish", "a finer one")
        return found, starts, np.array(counts)


def clipped(bottom: object, top: object, bins: Bins | None = None) -> Ends:
    """Check the ends that replace values beyond them; with classes, each must be inside one."""
    found = [None if x is None else _break(n, x) for n, x in (("bottom", bottom), ("top", top))]
    for name, x in zip(("bottom", "top"), found, strict=True):
        if x is None:
            continue
        if isinstance(x, date) != (bins is not None and bins.dated):
            kind = "date" if bins is not None and bins.dated else "number"
            raise RefusedType(name, f"be a {kind}", type(x).__name__)
        if bins is not None and bins.codes(np.array([x], bins._edges.dtype))[1] is not None:
            raise Refused(name, "lie in one of the classes", "one outside")
    low, high = found
    if low is not None and high is not None and not low < high:  # type: ignore[operator]
        raise Refused("bottom", "be below top", f"{low} and {high}")
    return low, high


def _break(name: str, given: object) -> Break:
    """Read a number, a date, or a date as ISO 8601 writes it."""
    must = "be finite numbers or dates without a time"
    if isinstance(given, str):
        try:
            return date.fromisoformat(given)
        except ValueError:
            raise Refused(name, f"{must}, as 2026-01-31", "a string") from None
    if isinstance(given, datetime):
        raise RefusedType(name, must, "datetime")
    if isinstance(given, date):
        return given
    number = checks.real(name, must, given)
    if not math.isfinite(number):
        raise Refused(name, must, f"{number:g}")
    whole = int(number)
    if hasattr(given, "__index__"):
        whole = int(given)
        number = float(whole)
        if abs(whole) > 2**53:
            raise Refused(name, "be at most 2^53 in magnitude", whole)
    return whole if whole == number and abs(number) <= 2**53 else number


def _exact(x: Break) -> Fraction:
    """Convert a number as it is written, or a date to days since 1970."""
    if isinstance(x, date):
        return Fraction(x.toordinal() - date(1970, 1, 1).toordinal())
    return Fraction(repr(x))


def _label(low: Break | None, high: Break | None, *, closed: bool) -> str:
    """Write the label of a class: a month, a quarter or a year if it is one, else its ends."""
    if isinstance(low, date) and isinstance(high, date) and low.day == high.day == 1:
        months = 12 * (high.year - low.year) + high.month - low.month
        if months == 1:
            return f"{low.year:04d}-{low.month:02d}"
        if months == 3 and low.month % 3 == 1:
            return f"{low.year:04d}-Q{low.month // 3 + 1}"
        if months == 12 and low.month == 1:
            return f"{low.year:04d}"
    left = "(-inf" if low is None else f"[{_spell(low)}"
    return f"{left}, inf)" if high is None else f"{left}, {_spell(high)}{']' if closed else ')'}"


def _spell(x: Break) -> str:
    return x.isoformat() if isinstance(x, date) else repr(x)
