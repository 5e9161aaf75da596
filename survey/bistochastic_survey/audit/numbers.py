"""Columns of numbers: how many stay close to the original, and who is found by distance."""

from __future__ import annotations

import numpy as np

from bistochastic_survey.audit.codes import Codes, Evidence, Numbers
from bistochastic_survey.audit.guesses import rate
from bistochastic_survey.audit.linkage import FEW, place_among
from bistochastic_survey.audit.results import Disclosure, Linkage
from bistochastic_survey.audit.steps import Steps
from bistochastic_survey.checks import Array

# Shares of the ranks, and of a standard deviation, to either side of the original.
RANKS = (0.01, 0.05, 0.1)
DEVIATIONS = (0.01, 0.1, 0.5)
_EQUAL = 1e-12
# Rows that are traced at once.
_PART = 1 << 8


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
    from scipy.spatial import KDTree

    used = [(each, scale) for each in evidence.numbers if (scale := float(each.true.std())) > 0]
    if not used:
        return []
    true = np.stack([each.true / scale for each, scale in used], axis=1)
    released = np.stack([each.released / scale for each, scale in used], axis=1)
    people, n = KDTree(true), len(targets)
    names = tuple(each.name for each, _ in used)
    totals = np.zeros((2, 2))
    parts = [targets[start : start + _PART] for start in range(0, n, _PART)]
    for rows in steps.over("distance", parts):
        for total, seen in zip(totals, (true[rows], released[rows]), strict=True):
            far = np.linalg.norm(true[rows] - seen, axis=1)
            slack = _EQUAL * np.maximum(far, np.abs(seen).max(axis=1))
            level = people.query_ball_point(seen, far + slack, return_length=True)
            # Nobody is closer than those who are as close as can be.
            above = people.query_ball_point(seen, np.maximum(far - slack, 0), return_length=True)
            above[far <= slack] = 0
            for i, few in enumerate((1, FEW)):
                total[i] += sum(map(place_among, above, level - above, [few] * len(rows)))
    found = []
    for what, hits in zip(("before", "after"), totals.tolist(), strict=True):
        first, five = (rate(each, n, confidence, min(1.0, few / evidence.rows))
                       for each, few in zip(hits, (1, FEW), strict=True))  # fmt: skip
        found.append(Linkage(f"by distance, {what}", names, n, first, five, names))
    return found
