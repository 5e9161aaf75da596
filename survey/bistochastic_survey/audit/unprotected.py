"""What everybody sees beside the reports: unprotected columns, permuted numbers, the order of rows.

A value is guessed as the commonest one among the other records with the same entry. The record
itself is left out, so that entries that nobody shares tell nothing, as they should: for them the
guess is the commonest value of all.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bistochastic_survey.audit.codes import Codes, Evidence, cut, together
from bistochastic_survey.audit.guesses import count_hits, rate
from bistochastic_survey.audit.results import Giveaway, Neighbours, Repeats
from bistochastic_survey.audit.steps import Steps
from bistochastic_survey.checks import Array

ORDER = "the order of the rows"
ALL = "all unprotected columns together"


def left_out_hits(seen: Codes, truths: Codes) -> tuple[float, float]:
    """How many values are guessed from the others with the same entry, and from all others."""
    kinds = int(truths.max()) + 1
    cells, number = np.unique(seen.astype(np.int64) * kinds + truths, return_counts=True)
    entry, truth = np.divmod(cells, kinds)
    whole = np.bincount(truths, minlength=kinds)
    alone = _one_out(np.zeros(kinds, np.int64), whole)
    lonely = np.bincount(seen)[entry] == 1
    shares = np.where(lonely, alone[truth], _one_out(entry, number))
    return float(number @ shares), float(whole @ alone)


def _one_out(entry: NDArray[np.int64], number: NDArray[np.int64]) -> Array:
    """For each cell: how often the commonest of its entry is right, with one record left out.

    Only the commonest is ever guessed right: without its record, it is still the commonest, or
    shares that place with those that have one record less.
    """
    top = np.zeros(int(entry.max()) + 1, np.int64)
    np.maximum.at(top, entry, number)
    is_top = number == top[entry]
    tops, rivals = (np.bincount(entry, each)[entry] for each in (is_top, number + 1 == top[entry]))
    return np.where(is_top & (tops == 1) & (number > 1), 1 / (rivals + 1), 0.0)


def left_out_values(seen: Codes, truths: Codes, values: Codes) -> float:
    """How many are guessed from records of the same class with another value.

    Records with the same value, as a household has the same id, are pooled elsewhere.

    >>> left_out_values(np.array([0, 0, 0, 0]), np.array([1, 1, 1, 0]), np.array([0, 0, 1, 2]))
    2.0
    """
    kinds = int(truths.max()) + 1
    whole = np.bincount(truths, minlength=kinds)
    classes = np.zeros((int(seen.max()) + 1, kinds))
    np.add.at(classes, (seen, truths), 1.0)
    different, number = np.unique(values, return_inverse=True)
    order = np.argsort(number, kind="stable")
    hits, step = 0.0, max(1, (1 << 22) // kinds)
    for start in range(0, len(different), step):
        inside = order[slice(*np.searchsorted(number[order], [start, start + step]))]
        _, first, place = np.unique(number[inside], return_index=True, return_inverse=True)
        own = np.zeros((len(first), kinds))
        np.add.at(own, (place, truths[inside]), 1.0)
        others = classes[seen[inside[first]]] - own
        others = np.where(others.sum(axis=1, keepdims=True) > 0, others, whole - own)
        best = (others == others.max(axis=1, keepdims=True)) & (others > 0)
        hits += float((own * best / np.maximum(1, best.sum(axis=1, keepdims=True))).sum())
    return hits


def visible(evidence: Evidence) -> list[tuple[str, Codes, Codes | None]]:
    """List what everyone sees as codes, with the values themselves if these are classes of values.

    Columns with few records for each value are pooled elsewhere.
    """
    # Long lists of numbers are cut into classes of twenty records each, at most 1,000.
    most = max(2, min(1000, evidence.rows // 20))
    found: list[tuple[str, Codes, Codes | None]] = []
    short: list[tuple[str, Codes, None]] = []
    for column in (*evidence.clear, *evidence.added):
        if column.size <= most:
            short.append((column.name, column.codes, None))
        elif column.numbers is not None:
            found.append((column.name, cut(column.numbers, most), column.codes))
    if len(short) > 1:
        found.append((ALL, together([codes for _, codes, _ in short]), None))
    found += short
    found += [(each.name, cut(each.released, most), None) for each in evidence.numbers]
    if evidence.paired:
        found.append((ORDER, cut(np.arange(evidence.rows, dtype=np.float64), most), None))
    return found


def given_away(evidence: Evidence, confidence: float, steps: Steps) -> list[Giveaway]:
    """Everything that is seen against every protected column of categories, the worst first."""
    found = []
    seen = visible(evidence)
    for channel in steps.over("seen", evidence.channels):
        inside = channel.answered
        n = int(inside.sum())
        if n < 2:
            continue
        for column, place in channel.places.items():
            level = np.unique(place[channel.occurring], return_inverse=True)[1]
            report, truths = count_hits(channel, level) / n, level[channel.truths[inside]]
            for name, codes, values in seen:
                right, alone = left_out_hits(codes[inside], truths)
                if values is not None:
                    right = left_out_values(codes[inside], truths, values[inside])
                made = rate(right, n, confidence, alone / n)
                found.append(Giveaway(name, column, made, report))
    return sorted(found, key=lambda each: -each.rate.gain)


def agreement(truths: Codes) -> tuple[float, float, float]:
    """Neighbours that agree, what a random order gives, and the distance in deviations.

    The number of agreements is the number of rows less the number of runs, whose mean and variance
    under all orders are known (Mood, 1940).
    """
    n = len(truths)
    counts = np.bincount(truths).astype(np.float64)
    squares, cubes = float((counts**2).sum()), float((counts**3).sum())
    same = int(np.count_nonzero(truths[1:] == truths[:-1]))
    expected = squares / n - 1
    variance = (squares * (squares + n * (n + 1)) - 2 * n * cubes - n**3) / (n * n * (n - 1))
    far = (same - expected) / math.sqrt(variance) if variance > 1e-12 else 0.0
    return same / (n - 1), expected / (n - 1), far


def rank_correlation(values: Array) -> float:
    """The correlation of the ranks of neighbours; NaN if all values are equal."""
    from scipy.stats import rankdata

    ranks = rankdata(values)
    ranks -= ranks.mean()
    whole = float(ranks @ ranks)
    return float(ranks[1:] @ ranks[:-1]) / whole if whole > 0 else math.nan


def neighbours(evidence: Evidence) -> list[Neighbours]:
    """The order of the rows, as a reader of the release sees it."""
    n, found = evidence.rows, []
    if n < 3 or not evidence.paired:
        return []
    for channel in evidence.channels:
        truths = channel.truths[channel.answered]
        if len(truths) > 2:
            found.append(Neighbours(channel.columns, *agreement(truths)))
    for each in evidence.numbers:
        along = rank_correlation(each.true)
        if not math.isnan(along):
            # A random order has the mean -1/n and about the variance 1/n.
            found.append(Neighbours((each.name,), along, -1 / n, (along + 1 / n) * math.sqrt(n)))
    return found


def repeats(evidence: Evidence) -> Repeats | None:
    """People with several rows; None if no ids are known."""
    pairs = evidence.pairs
    people = pairs.people
    if people is None or pairs.id_column is None:
        return None
    counts = np.bincount(people)
    redrawn = np.zeros(len(counts), bool)
    for channel in evidence.channels:
        # The same person with the same value and two reports: the noise was drawn again.
        truths = channel.truths * channel.laws + channel.groups
        order = np.lexsort((channel.reports, truths, people))
        order = order[channel.answered[order]]
        who, what, said = people[order], truths[order], channel.reports[order]
        again = (who[1:] == who[:-1]) & (what[1:] == what[:-1]) & (said[1:] != said[:-1])
        redrawn[who[1:][again]] = True
    return Repeats(
        pairs.id_column, len(counts), int(np.count_nonzero(counts > 1)), int(counts.max()),
        int(redrawn.sum()), pairs.shows_people,
    )  # fmt: skip
