"""Record linkage: whose row is this? By the exact posterior over everybody.

The attacker has a list of everybody's true values. A row was of any of them with the same chance,
so that after a look at it person ``i`` has the probability ``L_i / sum L``, where ``L_i`` is the
product over attributes of the chance of the row's report under the truth of ``i``. Columns in clear
leave those who agree with them. What a report tells is all in that number: no other order of people
finds the right one more often.

The expected share that is found first is the mean over rows of the largest probability, and that
among the first five the mean of the sum of the five largest.

The product over all attributes is looked up: attributes are put together in a few groups of codes,
each row makes a small table for each group, and candidates that share all codes count together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
_PIECE = 1 << 16
FEW = 5


@dataclass(frozen=True, eq=False)
class Group:
    """Some attributes together: the code of everybody's truths, the last running fastest."""

    channels: tuple[Channel, ...]
    codes: Codes

    def table(self, row: int) -> Array:
        """The chance of the reports of a row under each code, the largest being 1."""
        found = np.ones(1)
        for channel in self.channels:
            if channel.answered is not None and not channel.answered[row]:
                column = np.ones(channel.kinds)
            else:
                stratum = 0 if channel.strata is None else int(channel.strata[row])
                column = channel.column(stratum, int(channel.reports[row]))
            # No truth explains numbers of other data, which then leave everybody equal.
            peak = float(column.max()) or 1.0
            found = np.multiply.outer(found, column / peak).ravel()
        return found


def grouped(channels: Sequence[Channel]) -> list[Group]:
    """As few groups as fit."""
    groups: list[Group] = []
    waiting = sorted(channels, key=lambda each: each.kinds)
    while waiting:
        together = [waiting.pop(0)]
        while waiting and math.prod(c.kinds for c in [*together, waiting[0]]) <= _GROUP:
            together.append(waiting.pop(0))
        codes = np.zeros(len(together[0].truths), np.intp)
        for channel in together:
            codes = codes * channel.kinds + channel.truths
        groups.append(Group(tuple(together), codes))
    return groups


def numbered(columns: Sequence[NDArray[Any]], rows: int) -> tuple[Codes, Codes]:
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
    """Everybody, those with the same columns in clear together.

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
            # Only where it pays: with one person each, counting is quicker.
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


def linked(
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
) -> Linkage:
    """Trace the rows in ``targets`` to the people of the whole list."""
    groups = grouped(channels)
    everybody = List.of(groups, keys, rows)
    totals = np.zeros(4)
    variances = np.zeros(2)
    # Rows that say the same and are of equals are traced once.
    same = [everybody.key_of[targets]]
    same += [each[targets] for c in channels for each in (c.reports, c.truths)]
    order, begins = numbered(same, len(targets))
    times = np.diff([*begins, len(targets)])
    for done, (row, often) in enumerate(zip(targets[order[begins]], times, strict=True)):
        found = _trace(groups, everybody, int(row))
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
    return Linkage(attack, columns, n, *rates)


def _trace(groups: list[Group], everybody: List, row: int) -> Found:
    tables = [group.table(row) for group in groups]
    own = 1.0
    for table, group in zip(tables, groups, strict=True):
        own = own * float(table[group.codes[row]])
    part = int(everybody.key_of[row])
    start, stop = int(everybody.starts[part]), int(everybody.starts[part + 1])
    above = level = total = 0.0
    best = _Best()
    for begin in range(start, stop, _PIECE):
        piece = slice(begin, min(begin + _PIECE, stop))
        scores = np.ones(0 if tables else piece.stop - begin)
        for i, (table, codes) in enumerate(zip(tables, everybody.codes, strict=True)):
            chances = table.take(codes[piece], mode="clip")
            scores = chances if i == 0 else np.multiply(scores, chances, out=scores)
        weights = None if everybody.weights is None else everybody.weights[piece]
        total += _total(scores, weights)
        over = _number(scores > own * (1 + TIES), weights)
        above += over
        level += _number(scores >= own * (1 - TIES), weights) - over
        best.add(scores, weights)
    places = (_place(above, level, few) for few in (1, FEW))
    return Found(*places, *(best.share(few, total) for few in (1, FEW)))


def _total(scores: Array, weights: Array | None) -> float:
    # Not by BLAS: its threads wait for each other longer than such a sum takes.
    return float(scores.sum() if weights is None else np.einsum("i,i", scores, weights))


def _number(inside: NDArray[np.bool_], weights: Array | None) -> float:
    """How many people are inside; mostly few, so that these alone are looked up."""
    if weights is None:
        return float(np.count_nonzero(inside))
    return float(weights[np.flatnonzero(inside)].sum())


def _place(above: float, level: float, few: int) -> float:
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
