"""Columns of numbers: how many stay close to the original, and who is found by distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bistochastic.audit.linkage import FEW, numbered
from bistochastic.audit.rates import rate
from bistochastic.audit.results import Disclosure, Linkage

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from bistochastic.audit.evidence import Codes, Evidence, Numbers

    Array = NDArray[np.float64]
    Tell = Callable[[float], None]

# Shares of the ranks, and of a standard deviation, to either side of the original.
RANKS = (0.01, 0.05, 0.1)
DEVIATIONS = (0.01, 0.1, 0.5)
_PIECE = 1 << 16
_EQUAL = 1e-12


def measure_disclosure(numbers: Numbers, confidence: float) -> list[Disclosure]:
    """How many released values are within each interval of their original."""
    true, released = numbers.true, numbers.released
    n = len(true)
    found = []
    ordered = np.sort(true)
    # Ranks from 0 to 1; equal values share the middle of theirs.
    place, other = _middle(ordered, true), _middle(ordered, released)
    for share in RANKS:
        hits = int(np.count_nonzero(np.abs(place - other) <= share))
        by_chance = _near(np.sort(place), np.sort(other), share)
        made = rate(hits, n, confidence, by_chance)
        found.append(Disclosure(numbers.name, f"{100 * share:g}% of the ranks", made))
    deviation = float(true.std())
    for share in DEVIATIONS if deviation > 0 else ():
        wide = share * deviation
        hits = int(np.count_nonzero(np.abs(true - released) <= wide))
        made = rate(hits, n, confidence, _near(ordered, np.sort(released), wide))
        found.append(Disclosure(numbers.name, f"{share:g} standard deviations", made))
    return found


def _middle(ordered: Array, values: Array) -> Array:
    left, right = np.searchsorted(ordered, values), np.searchsorted(ordered, values, "right")
    return np.asarray((left + right) / (2 * len(ordered)))


def _near(ordered: Array, others: Array, wide: float) -> float:
    """The share of all pairs that are so close, which is what a shuffled column would give."""
    within = np.searchsorted(ordered, others + wide, "right") - np.searchsorted(
        ordered, others - wide
    )
    return float(within.sum()) / len(ordered) / len(others)


def by_distance(evidence: Evidence, targets: Codes, confidence: float, tell: Tell) -> list[Linkage]:
    """Rows traced to the people with the closest numbers, before the release and after it.

    Columns are put on one scale by their standard deviations.
    """
    scales = [(each, float(each.true.std())) for each in evidence.numbers]
    used = [(each, scale) for each, scale in scales if scale > 0]
    if not used:
        return []
    true = np.stack([each.true / scale for each, scale in used], axis=1)
    released = np.stack([each.released / scale for each, scale in used], axis=1)
    names = tuple(each.name for each, _ in used)
    n, rows = len(targets), evidence.rows
    order, begins = numbered(list(true.T), rows)
    weights = np.diff(np.r_[begins, rows])
    people = np.ascontiguousarray(true[order[begins]].T)
    alike = np.empty(rows)
    alike[order] = np.repeat(weights, weights)
    alike = alike[targets]
    before = [np.minimum(1.0, few / alike).sum() for few in (1, FEW)]
    after = np.zeros(2)
    finder = _line if len(people) == 1 else _space
    cumulated = np.r_[0, np.cumsum(weights)]
    for done, row in enumerate(targets.tolist()):
        above, level = finder(people, weights, cumulated, released[row], true[row])
        after += [min(1.0, max(0.0, (few - above) / level)) for few in (1, FEW)]
        if done % 64 == 0:
            tell(done / n)
    chances = (1 / rows, min(1.0, FEW / rows))
    made = [
        [
            rate(float(hits), n, confidence, chance)
            for hits, chance in zip(both, chances, strict=True)
        ]
        for both in (before, after)
    ]
    what = ("by distance, before", "by distance, after")
    return [Linkage(each, names, n, rates[0], rates[1], names)
            for each, rates in zip(what, made, strict=True)]  # fmt: skip


def _line(
    people: Array, weights: Codes, cumulated: Codes, report: Array, truth: Array
) -> tuple[float, float]:
    """Of one column: who is closer is an interval of sorted values."""
    line = people[0]
    middle, far = float(report[0]), abs(float(truth[0] - report[0]))

    def within(distance: float, ends: bool) -> float:
        """How many are so close; with those at the ends of the interval, or without."""
        low, high = middle - distance, middle + distance
        start = np.searchsorted(line, low, "left" if ends else "right")
        stop = np.searchsorted(line, high, "right" if ends else "left")
        return float(cumulated[max(start, stop)] - cumulated[start])

    slack = _EQUAL * max(far, abs(middle))
    above = within(far - slack, ends=False) if far > slack else 0.0
    return above, max(1.0, within(far + slack, ends=True) - above)


def _space(
    people: Array, weights: Codes, cumulated: Codes, report: Array, truth: Array
) -> tuple[float, float]:
    """Of several columns: the distance of all who are no further by the first one, in pieces."""
    far = float(((truth - report) ** 2).sum())
    reach = float(np.sqrt(far)) * (1 + _EQUAL) + _EQUAL * abs(float(report[0]))
    start = int(np.searchsorted(people[0], report[0] - reach))
    stop = int(np.searchsorted(people[0], report[0] + reach, "right"))
    above = level = 0.0
    for begin in range(start, stop, _PIECE):
        piece = slice(begin, min(begin + _PIECE, stop))
        many = weights[piece]
        distance = np.zeros(len(many))
        for column, value in zip(people, report, strict=True):
            gap = column[piece] - value
            gap *= gap
            distance += gap
        closer = distance < far * (1 - _EQUAL)
        above += float(many[closer].sum())
        level += float(many[(distance <= far * (1 + _EQUAL)) & ~closer].sum())
    return above, max(1.0, level)
