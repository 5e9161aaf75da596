"""What everybody sees beside the reports: unprotected columns, permuted numbers, the order of rows.

A value is count_hits as the commonest one among the other records with the same entry. The record
itself is left out, so that entries that nobody shares tell nothing, as they should: for them the
guess is the commonest value of all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bistochastic.audit.evidence import columns_of, cut, position_classes
from bistochastic.audit.guesses import count_hits
from bistochastic.audit.rates import rate
from bistochastic.audit.results import Giveaway, Neighbours, Repeats

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from bistochastic.audit.evidence import Codes, Evidence
    from bistochastic.audit.pairing import Pairs

    Array = NDArray[np.float64]
    Tell = Callable[[float], None]

ORDER = "the order of the rows"
ALL = "all unprotected columns together"


def left_out_hits(seen: Codes, truths: Codes) -> tuple[float, float]:
    """How many values are count_hits from the others with the same entry, and from all others.

    >>> left_out_hits(np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 0, 1, 1, 0]))
    (6.0, 4.0)
    """
    kinds = int(truths.max()) + 1
    cells, number = np.unique(seen.astype(np.int64) * kinds + truths, return_counts=True)
    entry, truth = cells // kinds, cells % kinds
    whole = np.bincount(truths, minlength=kinds)
    alone = _one_out(np.zeros(kinds, np.int64), whole)
    by_entry = _one_out(entry, number)
    starts = np.flatnonzero(np.r_[True, entry[1:] != entry[:-1]])
    sizes = np.add.reduceat(number, starts)
    lonely = np.repeat(sizes, np.diff(np.r_[starts, len(entry)])) == 1
    shares = np.where(lonely, alone[truth], by_entry)
    return float(number @ shares), float(whole @ alone)


def _one_out(entry: NDArray[np.int64], number: NDArray[np.int64]) -> Array:
    """For each cell: how often the commonest of its entry is right, with one record left out.

    Cells of an entry stand together.
    """
    starts = np.flatnonzero(np.r_[True, entry[1:] != entry[:-1]])
    lengths = np.diff(np.r_[starts, len(entry)])
    top = np.maximum.reduceat(number, starts)
    is_top = number == np.repeat(top, lengths)
    tops = np.add.reduceat(is_top.astype(np.int64), starts)
    second = np.maximum.reduceat(np.where(is_top, -1, number), starts)
    seconds = np.add.reduceat((number == np.repeat(second, lengths)).astype(np.int64), starts)
    unique_top = is_top & np.repeat(tops == 1, lengths)
    # The largest of the others, and how many others have it.
    rival = np.where(unique_top, np.repeat(second, lengths), np.repeat(top, lengths))
    rivals = np.where(unique_top, np.repeat(seconds, lengths), np.repeat(tops, lengths) - is_top)
    own = number - 1
    shared = np.where(own == rival, 1 / (rivals + 1.0), 0.0)
    return np.where((own > rival) & (own > 0), 1.0, np.where(own > 0, shared, 0.0))


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
    order = np.argsort(values, kind="stable")
    number = np.cumsum(np.r_[0, values[order][1:] != values[order][:-1]])
    hits, step = 0.0, max(1, (1 << 22) // kinds)
    for start in range(0, int(number[-1]) + 1, step):
        inside = order[slice(*np.searchsorted(number, [start, start + step]))]
        place = number[np.searchsorted(number, start) :][: len(inside)] - start
        own = np.zeros((int(place[-1]) + 1, kinds))
        np.add.at(own, (place, truths[inside]), 1.0)
        first = np.flatnonzero(np.r_[True, place[1:] != place[:-1]])
        others = classes[seen[inside[first]]] - own
        others = np.where(others.sum(axis=1, keepdims=True) > 0, others, whole - own)
        best = (others == others.max(axis=1, keepdims=True)) & (others > 0)
        hits += float((own * best / np.maximum(1, best.sum(axis=1, keepdims=True))).sum())
    return hits


@dataclass(frozen=True, eq=False)
class Seen:
    """Something that everyone sees, as codes; ``values`` if these are classes of values."""

    name: str
    codes: Codes
    values: Codes | None = None


def visible(evidence: Evidence) -> list[Seen]:
    """List what everyone sees; columns with few records for each value are pooled elsewhere."""
    most = position_classes(evidence.rows)
    found, short = [], []
    for column in (*evidence.clear, *evidence.added):
        if column.size <= most:
            short.append(Seen(column.name, column.codes))
        elif column.numbers is not None:
            found.append(Seen(column.name, cut(column.numbers, most), column.codes))
    if len(short) > 1:
        together = np.zeros(evidence.rows, np.int64)
        for each in short:
            joined = together * (int(each.codes.max()) + 1) + each.codes
            together = np.unique(joined, return_inverse=True)[1]
        found.append(Seen(ALL, together))
    found += short
    found += [Seen(each.name, cut(each.released, most)) for each in evidence.numbers]
    if evidence.ordered:
        found.append(Seen(ORDER, cut(np.arange(evidence.rows, dtype=np.float64), most)))
    return found


def given_away(evidence: Evidence, confidence: float, tell: Tell) -> list[Giveaway]:
    """Everything that is seen against every protected column of categories, the worst first."""
    found = []
    seen = visible(evidence)
    for done, channel in enumerate(evidence.channels):
        inside = slice(None) if channel.answered is None else channel.answered
        truths = channel.truths[inside]
        if len(truths) < 2:
            continue
        for column, level, _size in columns_of(channel):
            hits = count_hits(channel, level)
            report = hits.hits / hits.records
            for each in seen:
                right, alone = left_out_hits(each.codes[inside], level[truths])
                if each.values is not None:
                    right = left_out_values(each.codes[inside], level[truths], each.values[inside])
                made = rate(right, len(truths), confidence, alone / len(truths))
                found.append(Giveaway(each.name, column, made, report))
        tell(done / len(evidence.channels))
    return sorted(found, key=lambda each: -each.rate.gain)


def agreement(truths: Codes) -> tuple[float, float, float]:
    """Neighbours that agree, what a random order gives, and the distance in deviations.

    The number of agreements is the number of rows less the number of runs, whose mean and variance
    under all orders are known (Mood, 1940).

    >>> agreement(np.array([0, 0, 0, 0, 1, 1, 1, 1]))
    (0.857..., 0.428..., 2.29...)
    """
    n = len(truths)
    counts = np.bincount(truths).astype(np.float64)
    squares, cubes = float((counts**2).sum()), float((counts**3).sum())
    same = int(np.count_nonzero(truths[1:] == truths[:-1]))
    expected = squares / n - 1
    variance = (squares * (squares + n * (n + 1)) - 2 * n * cubes - n**3) / (n * n * (n - 1))
    far = (same - expected) / math.sqrt(variance) if variance > 1e-12 else 0.0
    return same / (n - 1), expected / (n - 1), far


def _ranks(values: Array) -> Array:
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[codes])


def neighbours(evidence: Evidence) -> list[Neighbours]:
    """The order of the rows, as a reader of the release sees it."""
    if evidence.rows < 3 or not evidence.ordered:
        return []
    found = []
    for channel in evidence.channels:
        truths = channel.truths
        if channel.answered is not None:
            truths = truths[channel.answered]
        if len(truths) > 2:
            found.append(Neighbours(channel.columns, *agreement(truths)))
    for each in evidence.numbers:
        ranks = _ranks(each.true)
        ranks -= ranks.mean()
        whole = float(ranks @ ranks)
        if whole > 0:
            n = evidence.rows
            along = float(ranks[1:] @ ranks[:-1]) / whole
            # A random order has the mean -1/n and about the variance 1/n.
            found.append(Neighbours((each.name,), along, -1 / n, (along + 1 / n) * math.sqrt(n)))
    return found


def repeats(pairs: Pairs, evidence: Evidence) -> Repeats | None:
    """People with several rows; None if no ids are known."""
    if pairs.people is None or pairs.id_column is None:
        return None
    people = pairs.people
    counts = np.bincount(people)
    redrawn = np.zeros(len(counts), bool)
    for channel in evidence.channels:
        # The same person with the same value and two reports: the noise was drawn again.
        truths = channel.truths * channel.laws
        truths = truths + (0 if channel.groups is None else channel.groups)
        order = np.lexsort((channel.reports, truths, people))
        if channel.answered is not None:
            order = order[channel.answered[order]]
        who, what, said = people[order], truths[order], channel.reports[order]
        again = (who[1:] == who[:-1]) & (what[1:] == what[:-1]) & (said[1:] != said[:-1])
        redrawn[who[1:][again]] = True
    return Repeats(
        pairs.id_column, len(counts), int(np.count_nonzero(counts > 1)), int(counts.max()),
        int(redrawn.sum()), pairs.shows_people,
    )  # fmt: skip
