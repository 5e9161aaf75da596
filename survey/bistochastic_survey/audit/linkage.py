"""Record linkage: whose row is this? By the exact posterior over everybody.

The attacker has a list of everybody's true values. A row was of any of them with the same chance,
so that after a look at it person ``i`` has the probability ``L_i / sum L``, where ``L_i`` is the
product over attributes of the chance of the row's report under the truth of ``i``. Unprotected
columns leave those who agree with them. What a report tells is all in that number: no other order
of people finds the right one more often.

The expected share that is found first is the mean over rows of the largest probability, and that
among the first five the mean of the sum of the five largest.

A product over very many columns may be smaller than any double, so logarithms are added up, and
candidates with the same truths count together. Numbers are also traced by their distance alone.
"""

import math
from collections.abc import Sequence

import numpy as np

from bistochastic_survey.audit.codes import Attacked, Codes, ReportedColumn, Steps
from bistochastic_survey.audit.guesses import TIES, rate
from bistochastic_survey.audit.results import Linkage
from bistochastic_survey.checks import Array
from bistochastic_survey.table.arrays import combinations

FEW = 5
# Numbers at distances that differ by less, relatively, are equally far.
_EQUAL = 1e-12
# Rows that are traced by distance at once.
_PART = 1 << 8
# The attack that links the rows of two releases.
OTHER_RELEASE = "another release"


class LinkedPeople:
    """Everybody, those with the same unprotected columns together.

    People with the same truths are one entry, which counts as often as ``weights`` says.
    """

    def __init__(
        self, channels: Sequence[ReportedColumn], keys: Sequence[Codes], rows: int
    ) -> None:
        self._channels = channels
        self.key_of = combinations(keys, rows)[1]
        truths = [channel.truths for channel in channels]
        first, _, weights = combinations([self.key_of, *truths], rows)
        self._starts = np.searchsorted(self.key_of[first], np.arange(int(self.key_of.max()) + 2))
        self._weights = weights.astype(np.float64)
        self._truths = [each[first] for each in truths]

    def scores(self, row: int) -> tuple[float, Array, Array]:
        """Compute the log-likelihood of a row under its own person and under all candidates."""
        candidates = slice(*self._starts[self.key_of[row] :][:2].tolist())
        weights = self._weights[candidates]
        own, scores = 0.0, np.zeros(len(weights))
        for channel, truths in zip(self._channels, self._truths, strict=True):
            if channel.answered[row]:
                chances = channel.tables[channel.groups[row], :, channel.reports[row]]
                # No truth explains numbers of other data, which then leave everybody equal.
                peak = chances.max()
                with np.errstate(divide="ignore"):
                    logs = np.log(chances / (peak if peak > 0 else 1.0))
                own += float(logs[channel.truths[row]])
                scores += logs[truths[candidates]]
        return own, scores, weights


def link(
    channels: Sequence[ReportedColumn],
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
    everybody = LinkedPeople(channels, keys, rows)
    totals, variances = np.zeros(4), np.zeros(2)
    # Rows that say the same and are of equals are traced once.
    same = [everybody.key_of[targets]]
    same += [each[targets] for c in channels for each in (c.reports, c.truths)]
    chosen, _, times = combinations(same, len(targets))
    every = list(zip(targets[chosen].tolist(), times.tolist(), strict=True))
    for row, often in steps.over(attack, every):
        found = np.array(_trace(*everybody.scores(row)))
        totals += often * found
        variances += often * found[2:] * (1 - found[2:])
    n = len(targets)
    first, five = (
        rate(totals[i], n, confidence, min(1.0, few / rows), totals[2 + i] / n,
             max(0.0, float(variances[i])) if independent else None)
        for i, few in enumerate((1, FEW))
    )  # fmt: skip
    return Linkage(attack, columns, n, first, five, causes)


def _trace(own: float, scores: Array, weights: Array) -> list[float]:
    """How likely the person of a row comes first, and among the first few; and both as expected."""
    near = np.flatnonzero(scores >= own - TIES)
    above = float(weights[near[scores[near] > own + TIES]].sum())
    level = float(weights[near].sum()) - above
    peak = float(scores.max())
    chances = np.exp(scores - (peak if math.isfinite(peak) else 0.0))
    # Not by BLAS: its threads wait for each other longer than such a sum takes.
    total = float(np.einsum("i,i", chances, weights))
    best = np.argpartition(-chances, FEW - 1)[:FEW] if len(chances) > FEW else slice(None)
    best = np.arange(len(chances))[best]
    best = best[np.argsort(-chances[best])]
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


def by_distance(
    attacked: Attacked, targets: Codes, confidence: float, steps: Steps
) -> list[Linkage]:
    """Rows traced to the people with the closest numbers, by the numbers as they are released.

    Columns are put on one scale by their standard deviations.
    """
    from scipy.spatial import KDTree

    used = [(each, scale) for each in attacked.numbers if (scale := float(each.true.std())) > 0]
    if not used:
        return []
    true = np.stack([each.true / scale for each, scale in used], axis=1)
    released = np.stack([each.released / scale for each, scale in used], axis=1)
    people, n, hits = KDTree(true), len(targets), [0.0, 0.0]
    parts = [targets[start : start + _PART] for start in range(0, n, _PART)]
    for rows in steps.over("distance", parts):
        seen = released[rows]
        far = np.linalg.norm(true[rows] - seen, axis=1)
        slack = _EQUAL * np.maximum(far, np.abs(seen).max(axis=1))
        level = people.query_ball_point(seen, far + slack, return_length=True)
        # Nobody is closer than those who are as close as can be.
        above = people.query_ball_point(seen, np.maximum(far - slack, 0), return_length=True)
        above[far <= slack] = 0
        for i, few in enumerate((1, FEW)):
            hits[i] += sum(map(place_among, above, level - above, [few] * len(rows)))
    first, five = (rate(each, n, confidence, min(1.0, few / attacked.rows))
                   for each, few in zip(hits, (1, FEW), strict=True))  # fmt: skip
    names = tuple(each.name for each, _ in used)
    return [Linkage("by distance", names, n, first, five, names)]


def place_among(above: float, level: float, few: int) -> float:
    """The chance to be among the first few, where equals are put in a random order."""
    return min(1.0, max(0.0, (few - above) / level))
