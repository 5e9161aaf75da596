"""The best guess of an attribute from its report, and how often the law says that it hits.

The attacker knows the law and how many records have each value, which is more than any real one
does. From a report ``v`` the best guess is a truth ``u`` with the largest ``n_u p_uv``. The truths
are fixed and only the noise is random, so that the expected number of hits is exactly the sum over
reports of that largest number. If several are largest, the guess is one of them by chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bistochastic.audit.rates import margin, rate
from bistochastic.audit.results import Guess
from bistochastic.plan.attributes import prefix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bistochastic.audit.evidence import Channel, Codes

    Array = NDArray[np.float64]

# Products that differ by less than this are the same number, computed in two ways.
TIES = 1e-9
# Reports that fit the plan raise an error once in so many audits of an attribute.
_REFUSED = 1e-9


@dataclass(frozen=True, eq=False)
class Hits:
    """Of guesses from reports: how many hit, how many were expected to, and without reports."""

    records: int
    hits: float
    expected: float | None
    without: float

    @property
    def variance(self) -> float | None:
        """A bound: independent hits vary most if all are equally likely."""
        if self.expected is None:
            return None
        share = min(1.0, self.expected / self.records)
        return self.records * share * (1 - share)


def count_hits(channel: Channel, alike: Codes | None = None) -> Hits:
    """Hits over all records with an answer.

    ``alike`` says which truths count as one: those of one category, for a column of several.
    """
    place = np.arange(channel.kinds) if alike is None else alike
    many = int(place.max()) + 1
    inside = slice(None) if channel.answered is None else channel.answered
    truths, reports = channel.truths[inside], channel.reports[inside]
    groups = np.zeros(len(truths), np.intp) if channel.groups is None else channel.groups[inside]
    if not len(truths):
        return Hits(0, 0.0, 0.0, 0.0)
    hits = expected = without = 0.0
    for group in range(channel.laws):
        mine = groups == group
        counts = np.bincount(truths[mine], minlength=channel.kinds).astype(np.float64)
        if not counts.any():
            continue
        without += float(_sum_by(counts, place, many).max())
        hits += _hits(channel, group, counts, truths[mine], reports[mine], place, many)
        expected += _expect_hits(channel, group, counts, place, many)
    return Hits(len(truths), hits, expected, without)


def _sum_by(numbers: Array, place: Codes, many: int) -> Array:
    return np.bincount(place, numbers, minlength=many).astype(np.float64)


def _hits(
    channel: Channel, group: int, counts: Array, truths: Codes, reports: Codes, place: Codes,
    many: int,
) -> float:  # fmt: skip
    """Hits of one group; equally good guesses share them."""
    seen, number = np.unique(reports * many + place[truths], return_counts=True)
    hits = 0.0
    best, share, last = np.zeros(many, bool), 0.0, -1
    for code, n in zip(seen.tolist(), number.tolist(), strict=True):
        report, truth = divmod(code, many)
        if report != last:
            chances = _sum_by(counts * channel.column(group, report), place, many)
            best = chances >= chances.max() * (1 - TIES)
            share, last = 1 / int(best.sum()), report
        hits += n * share * bool(best[truth])
    return hits


def _expect_hits(channel: Channel, group: int, counts: Array, place: Codes, many: int) -> float:
    if channel.tables is not None:
        joint = counts[:, None] * channel.tables[group]
        if many < channel.kinds:
            summed = np.zeros((many, channel.size))
            np.add.at(summed, place, joint)
            joint = summed
        return float(joint.max(axis=0).sum())
    on, off = channel.two[group]
    if many < channel.kinds:
        return sum(
            float(_sum_by(counts * channel.column(group, v), place, many).max())
            for v in channel.occurring.tolist()
        ) + (channel.size - channel.kinds) * off * float(_sum_by(counts, place, many).max())
    # Of two numbers: the report itself, or else the commonest of the others.
    order = np.argsort(counts)
    first = counts[order[-1]]
    others = np.full(channel.kinds, first)
    others[order[-1]] = counts[order[-2]] if channel.kinds > 1 else 0.0
    known = np.maximum(on * counts, off * others).sum()
    return float(known + (channel.size - channel.kinds) * off * first)


def guess(channel: Channel, confidence: float, rows_per_person: int) -> Guess | None:
    """The guess of a whole attribute; None if nobody answered."""
    found = count_hits(channel)
    if not found.records:
        return None
    refuse_unlikely(channel, found, rows_per_person)
    n = found.records
    most = float(rows_per_person)
    predicted = None if found.expected is None else found.expected / n
    variance = None if found.variance is None else found.variance * most
    made = rate(found.hits, n, confidence, found.without / n, predicted, variance, most)
    return Guess(channel.columns, n, made)


def refuse_other_counts(channel: Channel) -> None:
    """Raise an error if no draw of the plan reports a category as often as the release does.

    For rows that cannot be paired. A count is a sum of independent draws with at most the variance
    of its mean, and Bernstein's bound holds for it.
    """
    if channel.attribute is None or channel.groups is not None or channel.answered is not None:
        return
    law, shared = channel.attribute.matrices[0], channel.sharing
    true = np.bincount(channel.occurring[channel.truths], minlength=law.size).astype(np.float64)
    said = np.bincount(channel.reports, minlength=law.size)
    expected = np.maximum(law.apply(true), 0.0)
    alarm = _REFUSED / law.size
    for count, mean in zip(said.tolist(), expected.tolist(), strict=True):
        if not abs(count - mean) <= margin(mean * shared, float(shared), alarm):
            must = "must be reported as often as `original` and this plan lead to expect"
            got = "counts that the plan does not give: other data or another plan"
            raise ValueError(f"{prefix(channel.columns)}{must}; got {got}")


def refuse_unlikely(channel: Channel, found: Hits, rows_per_person: int) -> None:
    """Raise an error for reported values that this plan would not have drawn."""
    must = "must hold reports of `original` under this plan, row by row"
    got = "reports that the plan does not give: other data, another plan or another order of rows"
    if not (channel.own() > 0).all():
        raise ValueError(f"{prefix(channel.columns)}{must}; got {got}")
    if found.expected is None or found.variance is None:
        return
    # Rows of one person may share their noise, so that they stray together.
    allowed = margin(found.variance * rows_per_person, float(rows_per_person), _REFUSED)
    if not abs(found.hits - found.expected) <= allowed:
        raise ValueError(f"{prefix(channel.columns)}{must}; got {got}")
