"""Record linkage: whose row is this? By the exact posterior over everybody.

The attacker has a list of everybody's true values. A row was of any of them with the same chance,
so that after a look at it person ``i`` has the probability ``L_i / sum L``, where ``L_i`` is the
product over attributes of the chance of the row's report under the truth of ``i``. Unprotected
columns leave those who agree with them. What a report tells is all in that number: no other order
of people finds the right one more often.

The expected share that is found first is the mean over rows of the largest probability, and that
among the first five the mean of the sum of the five largest.

A product over very many columns may be smaller than any double, so logarithms are added up. They
are looked up: attributes are put together in a few groups of codes, each row makes a small table
for each group, and candidates that share all codes count together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bistochastic_survey.audit.codes import Channel, Codes, combinations
from bistochastic_survey.audit.guesses import TIES, rate
from bistochastic_survey.audit.results import Linkage
from bistochastic_survey.audit.steps import Steps
from bistochastic_survey.checks import Array

# Codes of a group stay in the cache of a processor.
_GROUP = 1 << 14
FEW = 5
# The attack that links the rows of two releases.
OTHER_RELEASE = "another release"


class Group:
    """Some attributes together: the code of everybody's truths, the last running fastest."""

    def __init__(self, channels: Sequence[Channel]) -> None:
        self._channels = channels
        # The chances of all reports, by group; None if they are many, and few may be asked for.
        self._scaled = [
            None if channel.tables is None or channel.tables.size > _GROUP
            else _scaled(np.ascontiguousarray(channel.tables.transpose(0, 2, 1)))
            for channel in channels
        ]  # fmt: skip
        self.codes = np.zeros(len(channels[0].truths), np.intp)
        for channel in channels:
            self.codes = self.codes * channel.kinds + channel.truths

    def table(self, row: int) -> Array:
        """The log of the chance of the reports of a row under each code, the largest being 0."""
        found = np.zeros(1)
        for channel, scaled in zip(self._channels, self._scaled, strict=True):
            group, report = int(channel.groups[row]), int(channel.reports[row])
            if not channel.answered[row]:
                column = np.zeros(channel.kinds)
            elif scaled is not None:
                column = scaled[group, report]
            else:
                column = _scaled(channel.column(group, report))
            found = np.add.outer(found, column).ravel()
        return found


def _scaled(column: Array) -> Array:
    """The logs of the chances of a report, by truth along the last axis, the largest being 0."""
    peak = column.max(axis=-1, keepdims=True)
    # No truth explains numbers of other data, which then leave everybody equal.
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(column / np.where(peak > 0, peak, 1.0)))


def grouped(channels: Sequence[Channel], rows: int) -> list[Group]:
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
        groups.append(Group(together))
    return groups


@dataclass(frozen=True, eq=False)
class List:
    """Everybody, those with the same unprotected columns together.

    People with the same truths are one entry, that counts as often as ``weights`` says.
    """

    codes: list[Codes]
    weights: Array
    starts: Codes
    key_of: Codes
    """The part of the list that each row may be of."""

    @classmethod
    def of(cls, groups: list[Group], keys: Sequence[Codes], rows: int) -> List:
        """Sorted and counted."""
        key = combinations(keys, rows)[1]
        first, _, weights = combinations([key, *(group.codes for group in groups)], rows)
        starts = np.searchsorted(key[first], np.arange(int(key.max()) + 2))
        codes = [group.codes[first] for group in groups]
        return cls(codes, weights.astype(np.float64), starts, key)


def link(
    channels: Sequence[Channel],
    keys: Sequence[Codes],
    targets: Codes,
    rows: int,
    steps: Steps,
    *,
    attack: str,
    columns: tuple[str, ...],
    confidence: float,
    independent: bool,
    causes: tuple[str, ...],
) -> Linkage:
    """Trace the rows in ``targets`` to the people of the whole list."""
    groups = grouped(channels, rows)
    everybody = List.of(groups, keys, rows)
    totals, variances = np.zeros(4), np.zeros(2)
    # Rows that say the same and are of equals are traced once.
    same = [everybody.key_of[targets]]
    same += [each[targets] for c in channels for each in (c.reports, c.truths)]
    chosen, _, times = combinations(same, len(targets))
    every = list(zip(targets[chosen].tolist(), times.tolist(), strict=True))
    for row, often in steps.over(attack, every):
        found = np.array(_trace(groups, everybody, row))
        totals += often * found
        variances += often * found[2:] * (1 - found[2:])
    n = len(targets)
    first, five = (
        rate(totals[i], n, confidence, min(1.0, few / rows), totals[2 + i] / n,
             max(0.0, float(variances[i])) if independent else None)
        for i, few in enumerate((1, FEW))
    )  # fmt: skip
    return Linkage(attack, columns, n, first, five, causes)


def _trace(groups: list[Group], everybody: List, row: int) -> list[float]:
    """How likely the person of a row comes first, and among the first few; and both as expected."""
    tables = [group.table(row) for group in groups]
    own = sum(float(table[group.codes[row]]) for table, group in zip(tables, groups, strict=True))
    candidates = slice(*everybody.starts[everybody.key_of[row] :][:2].tolist())
    weights = everybody.weights[candidates]
    scores = np.zeros(len(weights))
    for table, codes in zip(tables, everybody.codes, strict=True):
        scores += table.take(codes[candidates], mode="clip")
    # Mostly few, so that these alone are looked up.
    near = np.flatnonzero(scores >= own - TIES)
    above = float(weights[near[scores[near] > own + TIES]].sum())
    level = float(weights[near].sum()) - above
    peak = float(scores.max())
    chances = np.exp(scores - (peak if math.isfinite(peak) else 0.0), out=scores)
    # Not by BLAS: its threads wait for each other longer than such a sum takes.
    total = float(np.einsum("i,i", chances, weights))
    best = _best(chances)
    reached = np.r_[0, np.cumsum(weights[best])]
    found = [place_among(above, level, few) for few in (1, FEW)]
    for few in (1, FEW):
        taken = float(np.diff(np.minimum(reached, few)) @ chances[best])
        found.append(min(1.0, taken / total) if total > 0 else 0.0)
    return found


def between(
    codes: Sequence[tuple[Codes, Codes]],
    people: tuple[Codes, Codes],
    targets: Codes,
    columns: tuple[str, ...],
    confidence: float,
) -> Linkage | None:
    """Link rows of one release to rows of another; None if no target is in both.

    ``codes`` has a pair of arrays per column: what the one and the other publish. Rows of the other
    are ranked by the columns in which they agree, each weighing as much as its value is rare there.
    """
    mine, theirs = people
    targets = targets[np.isin(mine[targets], theirs)]
    if not len(targets):
        return None
    totals = np.zeros(2)
    for row in targets.tolist():
        scores = np.zeros(len(theirs))
        for one, other in codes:
            agree = other == one[row]
            share = agree.mean()
            scores -= agree * math.log(share) if share else 0.0
        own = float(scores[theirs == mine[row]].max())
        slack = TIES * max(1.0, own)
        level = np.abs(scores - own) <= slack
        right = int((level & (theirs == mine[row])).sum())
        above = float((scores > own + slack).sum())
        totals += [place_among(above, float(level.sum()) / right, few) for few in (1, FEW)]
    n = len(targets)
    first, five = (rate(hits, n, confidence, min(1.0, few / len(theirs)))
                   for hits, few in zip(totals.tolist(), (1, FEW), strict=True))  # fmt: skip
    return Linkage(OTHER_RELEASE, columns, n, first, five)


def _best(chances: Array) -> Codes:
    """The largest of them, the first few."""
    least = -1.0
    if len(chances) > 64 * FEW:
        # A sixteenth of them has its own few, and all that belong are not below these.
        least = float(np.partition(chances[::16], -FEW)[-FEW])
    chosen = np.flatnonzero(chances > least)
    # Of equals, which may be very many, a few are enough.
    chosen = np.r_[chosen, np.flatnonzero(chances == least)[:FEW]]
    return np.asarray(chosen[np.argsort(-chances[chosen])[:FEW]])


def place_among(above: float, level: float, few: int) -> float:
    """The chance to be among the first few, where equals are put in a random order."""
    return min(1.0, max(0.0, (few - above) / level))
