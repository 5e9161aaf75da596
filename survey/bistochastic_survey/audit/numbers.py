"""Columns of numbers: how many stay close to the original, and who is found by distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bistochastic_survey.audit.guesses import rate
from bistochastic_survey.audit.linkage import FEW, numbered, place_among
from bistochastic_survey.audit.results import Disclosure, Linkage

if TYPE_CHECKING:
    from bistochastic_survey.audit.attack import Steps
    from bistochastic_survey.audit.codes import Codes, Evidence, Numbers
    from bistochastic_survey.checks import Array

# Shares of the ranks, and of a standard deviation, to either side of the original.
RANKS = (0.01, 0.05, 0.1)
DEVIATIONS = (0.01, 0.1, 0.5)
_EQUAL = 1e-12


def measure_disclosure(numbers: Numbers, confidence: float) -> list[Disclosure]:
    """How many released values are within each interval of their original."""
    true, released = numbers.true, numbers.released
    ordered, deviation = np.sort(true), float(true.std())
    # Ranks from 0 to 1; equal values share the middle of theirs.
    ranks = _middle(ordered, true), _middle(ordered, released)
    every = [(*ranks, share, f"{100 * share:g}% of the ranks") for share in RANKS]
    every += [(true, released, share * deviation, f"{share:g} standard deviations")
              for share in DEVIATIONS if deviation > 0]  # fmt: skip
    found = []
    for one, other, wide, what in every:
        hits = int(np.count_nonzero(np.abs(one - other) <= wide))
        made = rate(hits, len(true), confidence, _near(np.sort(one), np.sort(other), wide))
        found.append(Disclosure(numbers.name, what, made))
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


def by_distance(
    evidence: Evidence, targets: Codes, confidence: float, steps: Steps
) -> list[Linkage]:
    """Rows traced to the people with the closest numbers, before the release and after it.

    Columns are put on one scale by their standard deviations.
    """
    used = [(each, scale) for each in evidence.numbers if (scale := float(each.true.std())) > 0]
    if not used:
        return []
    true = np.stack([each.true / scale for each, scale in used], axis=1)
    released = np.stack([each.released / scale for each, scale in used], axis=1)
    n, rows = len(targets), evidence.rows
    order, begins = numbered(list(true.T), rows)
    weights = np.diff(np.r_[begins, rows])
    people = np.ascontiguousarray(true[order[begins]].T)
    alike = np.empty(rows)
    alike[order] = np.repeat(weights, weights)
    before = [np.minimum(1.0, few / alike[targets]).sum() for few in (1, FEW)]
    after = np.zeros(2)
    finder = _line if len(people) == 1 else _space
    cumulated = np.r_[0, np.cumsum(weights)]
    for row in steps.over("distance", targets.tolist()):
        above, level = finder(people, weights, cumulated, released[row], true[row])
        after += [place_among(above, level, few) for few in (1, FEW)]
    names = tuple(each.name for each, _ in used)
    found = []
    for what, both in (("by distance, before", before), ("by distance, after", after)):
        first, five = (rate(hits, n, confidence, min(1.0, few / rows))
                       for hits, few in zip(both, (1, FEW), strict=True))  # fmt: skip
        found.append(Linkage(what, names, n, first, five, names))
    return found


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
    """Of several columns: the distance of all who are no further by the first one."""
    far = float(((truth - report) ** 2).sum())
    reach = float(np.sqrt(far)) * (1 + _EQUAL) + _EQUAL * abs(float(report[0]))
    start = int(np.searchsorted(people[0], report[0] - reach))
    stop = int(np.searchsorted(people[0], report[0] + reach, "right"))
    many, distance = weights[start:stop], np.zeros(stop - start)
    for column, value in zip(people, report, strict=True):
        gap = column[start:stop] - value
        gap *= gap
        distance += gap
    above = float(many[distance < far * (1 - _EQUAL)].sum())
    return above, max(1.0, float(many[distance <= far * (1 + _EQUAL)].sum()) - above)
