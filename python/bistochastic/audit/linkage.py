"""Record linkage: whose row is this? By the exact posterior over everybody.

The attacker has a list of everybody's true values. A row was of any of them with the same chance,
so that after a look at it person ``i`` has the probability ``L_i / sum L``, where ``L_i`` is the
product over attributes of the chance of the row's report under the truth of ``i``. Unprotected
columns leave those who agree with them. What a report tells is all in that number: no other order
of people finds the right one more often.

The expected share that is found first is the mean over rows of the largest probability, and that
among the first five the mean of the sum of the five largest.

The product over all attributes is looked up: attributes are put together in a few groups of codes,
each row makes a small table for each group, and candidates that share all codes count together.
If a product over very many columns could be smaller than any double, logarithms are added up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bistochastic.audit.guesses import TIES
from bistochastic.audit.rates import rate
from bistochastic.audit.results import Linkage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from bistochastic.audit.evidence import Channel, Codes

    Array = NDArray[np.float64]
    Tell = Callable[[float], None]

# Codes of a group stay in the cache of a processor, and so do pieces of the list of people.
_GROUP = 1 << 14
# Products of doubles end at exp(-745).
_SMALL = -600.0
_PIECE = 1 << 16
FEW = 5


class Group:
    """Some attributes together: the code of everybody's truths, the last running fastest."""

    def __init__(self, channels: Sequence[Channel], logs: bool) -> None:
        self._channels = channels
        self._logs = logs
        self._scaled = [_scale_all(channel, logs) for channel in channels]
        self.codes = np.zeros(len(channels[0].truths), np.intp)
        for channel in channels:
            self.codes = self.codes * channel.kinds + channel.truths

    def table(self, row: int) -> Array:
        """The chance of the reports of a row under each code, the largest being 1, or its log."""
        found = np.zeros(1) if self._logs else np.ones(1)
        join = np.add if self._logs else np.multiply
        for channel, scaled in zip(self._channels, self._scaled, strict=True):
            group = 0 if channel.groups is None else int(channel.groups[row])
            report = int(channel.reports[row])
            if channel.answered is not None and not channel.answered[row]:
                column = np.full(channel.kinds, 0.0 if self._logs else 1.0)
            elif scaled is not None:
                column = scaled[group, report]
            else:
                column = _scaled(channel.column(group, report), self._logs)
            found = join.outer(found, column).ravel()
        return found


def _scaled(column: Array, logs: bool) -> Array:
    """The chances of a report, by truth along the last axis, the largest being 1, or their logs."""
    peak = column.max(axis=-1, keepdims=True)
    # No truth explains numbers of other data, which then leave everybody equal.
    found = column / np.where(peak > 0, peak, 1.0)
    if not logs:
        return np.asarray(found)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(found))


def _scale_all(channel: Channel, logs: bool) -> Array | None:
    """Those of all reports, by group; None if they are many, and few may be asked for."""
    if channel.tables is None or channel.tables.size > _GROUP:
        return None
    return _scaled(np.ascontiguousarray(channel.tables.transpose(0, 2, 1)), logs)


def _least(channel: Channel) -> float:
    """A bound from below of the log of what a channel multiplies a chance by, unless it is 0."""
    entries = np.array(channel.two) if channel.tables is None else channel.tables
    inside = entries[entries > 0]
    return math.log(inside.min() / inside.max()) if len(inside) else 0.0


def grouped(channels: Sequence[Channel], rows: int, logs: bool) -> list[Group]:
    """As few groups as fit; a table that is longer than the list of people would be no gain."""
    most = min(_GROUP, max(64, rows))
    groups: list[Group] = []
    waiting = sorted(channels, key=lambda each: each.kinds)
    while waiting:
        together = [waiting.pop(0)]
        size = together[0].kinds
        while waiting and size * waiting[0].kinds <= most:
            size *= waiting[0].kinds
            together.append(waiting.pop(0))
        groups.append(Group(together, logs))
    return groups


def numbered(columns: Sequence[np.ndarray], rows: int) -> tuple[Codes, Codes]:
    """An order that puts equal rows together, and which of them begin something new."""
    order = np.lexsort(tuple(reversed(columns))) if columns else np.arange(rows)
    new = np.zeros(rows, bool)
    new[:1] = True
    for column in columns:
        sorted_ = column[order]
        new[1:] |= sorted_[1:] != sorted_[:-1]
    return order, np.flatnonzero(new)


@dataclass(frozen=True, eq=False)
class List:
    """Everybody, those with the same unprotected columns together.

    With ``weights``, people with the same truths are one entry that counts so often.
    """

    codes: list[Codes]
    weights: Array | None
    starts: Codes
    key_of: Codes
    """The part of the list that each row may be of."""

    @classmethod
    def of(cls, groups: list[Group], keys: Sequence[Codes], rows: int) -> List:
        """Sorted and counted."""
        order, begins = numbered(keys, rows)
        key = np.zeros(rows, np.intp)
        key[order] = np.repeat(np.arange(len(begins)), np.diff([*begins, rows]))
        order, begins = numbered([key, *(group.codes for group in groups)], rows)
        weights = None
        if 2 * len(begins) < rows:
            # Only if it pays: with one person each, counting is quicker.
            weights = np.diff([*begins, rows]).astype(np.float64)
            order = order[begins]
        parts = np.searchsorted(key[order], np.arange(int(key.max()) + 2))
        return cls([group.codes[order] for group in groups], weights, parts, key)


@dataclass(frozen=True)
class Found:
    """Of one row: the chance that its person comes first, and among the first few; and both as the
    attacker expects it."""

    first: float
    few: float
    expected_first: float
    expected_few: float


def link(
    channels: Sequence[Channel],
    keys: Sequence[Codes],
    targets: Codes,
    rows: int,
    *,
    attack: str,
    columns: tuple[str, ...],
    confidence: float,
    independent: bool,
    tell: Tell,
    causes: tuple[str, ...] = (),
) -> Linkage:
    """Trace the rows in ``targets`` to the people of the whole list."""
    logs = sum(map(_least, channels)) < _SMALL
    groups = grouped(channels, rows, logs)
    everybody = List.of(groups, keys, rows)
    totals = np.zeros(4)
    variances = np.zeros(2)
    # Rows that say the same and are of equals are traced once.
    same = [everybody.key_of[targets]]
    same += [each[targets] for c in channels for each in (c.reports, c.truths)]
    order, begins = numbered(same, len(targets))
    times = np.diff([*begins, len(targets)])
    for done, (row, often) in enumerate(zip(targets[order[begins]], times, strict=True)):
        found = _trace(groups, everybody, int(row), logs)
        numbers = (found.first, found.few, found.expected_first, found.expected_few)
        totals += often * np.array(numbers)
        variances += often * np.array([p * (1 - p) for p in numbers[2:]])
        if done % 16 == 0:
            tell(done / len(times))
    n = len(targets)
    by_chance = [1 / rows, min(1.0, FEW / rows)]
    rates = [
        rate(float(totals[i]), n, confidence, by_chance[i], float(totals[2 + i]) / n,
             max(0.0, float(variances[i])) if independent else None)
        for i in range(2)
    ]  # fmt: skip
    return Linkage(attack, columns, n, rates[0], rates[1], causes)


def _trace(groups: list[Group], everybody: List, row: int, logs: bool) -> Found:
    tables = [group.table(row) for group in groups]
    part = int(everybody.key_of[row])
    start, stop = int(everybody.starts[part]), int(everybody.starts[part + 1])
    each = [float(table[group.codes[row]]) for table, group in zip(tables, groups, strict=True)]
    if logs:
        own = sum(each)
        high, low = own + TIES, own - TIES
    else:
        own = math.prod(each)
        high, low = own * (1 + TIES), own * (1 - TIES)
    join = np.add if logs else np.multiply
    # All logs at once, as the largest of them has to be known.
    step = stop - start if logs else _PIECE
    above = level = total = 0.0
    best = _Best()
    for begin in range(start, stop, step):
        piece = slice(begin, min(begin + step, stop))
        scores = np.ones(0 if tables else piece.stop - begin)
        for i, (table, codes) in enumerate(zip(tables, everybody.codes, strict=True)):
            chances = table.take(codes[piece], mode="clip")
            scores = chances if i == 0 else join(scores, chances, out=scores)
        weights = None if everybody.weights is None else everybody.weights[piece]
        over = _number(scores > high, weights)
        above += over
        level += _number(scores >= low, weights) - over
        if logs:
            peak = float(scores.max())
            scores = np.exp(scores - (peak if math.isfinite(peak) else 0.0))
        total += _total(scores, weights)
        best.add(scores, weights)
    places = (place_among(above, level, few) for few in (1, FEW))
    return Found(*places, *(best.share(few, total) for few in (1, FEW)))


def _total(scores: Array, weights: Array | None) -> float:
    # Not by BLAS: its threads wait for each other longer than such a sum takes.
    return float(scores.sum() if weights is None else np.einsum("i,i", scores, weights))


def _number(inside: NDArray[np.bool_], weights: Array | None) -> float:
    """How many people are inside; mostly few, so that these alone are looked up."""
    if weights is None:
        return float(np.count_nonzero(inside))
    return float(weights[np.flatnonzero(inside)].sum())


def place_among(above: float, level: float, few: int) -> float:
    """The chance to be among the first few, where equals are put in a random order."""
    return min(1.0, max(0.0, (few - above) / level))


class _Best:
    """The largest scores so far, as many as are needed."""

    def __init__(self) -> None:
        self._scores, self._weights = np.zeros(0), np.zeros(0)
        self._least = -1.0

    def add(self, scores: Array, weights: Array | None) -> None:
        """Some more; those not above the least of the few would add nothing."""
        least = self._least
        if least < 0 and len(scores) > 64 * FEW:
            # A sixteenth of them has its own few, and all that belong are not below these.
            some = scores[::16]
            least = float(np.partition(some, len(some) - FEW)[len(some) - FEW])
        chosen = np.flatnonzero(scores > least)
        if least > self._least:
            chosen = np.r_[chosen, np.flatnonzero(scores == least)[:FEW]]
        if not len(chosen):
            return
        many = np.ones(len(chosen)) if weights is None else weights[chosen]
        joined = np.concatenate([self._scores, scores[chosen]])
        order = np.argsort(-joined, kind="stable")[:FEW]
        self._weights = np.concatenate([self._weights, many])[order]
        self._scores = joined[order]
        if len(order) == FEW:
            self._least = float(self._scores[-1])

    def share(self, few: int, total: float) -> float:
        """The probability of the likeliest ``few`` people together."""
        taken, left = 0.0, float(few)
        for score, weight in zip(self._scores.tolist(), self._weights.tolist(), strict=True):
            people = min(left, weight)
            taken += people * score
            left -= people
        return min(1.0, taken / total) if total > 0 else 0.0
