"""What everybody sees beside the reports: unprotected columns, numbers, the order of rows.

A value is guessed as the commonest one among the other records with the same entry. The record
itself is left out, so that entries that nobody shares tell nothing, as they should: for them the
guess is the commonest value of all.
"""

import math

import numpy as np
from numpy.typing import NDArray

from bistochastic_survey.audit.codes import Attacked, Codes, Numbers, Steps, cut
from bistochastic_survey.audit.guesses import count_hits, rate
from bistochastic_survey.audit.results import Disclosure, Giveaway, Neighbours
from bistochastic_survey.checks import Array
from bistochastic_survey.table.arrays import together

ALL = "all unprotected columns together"
# Released numbers are looked for within these shares of the ranks to either side of the original.
RANKS = (0.01, 0.05, 0.1)
# Neighbouring rows have numbers of the same class, of so many.
_CLASSES = 10


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


def visible(attacked: Attacked) -> list[tuple[str, Codes, Codes | None]]:
    """List what everyone sees as codes; of classes of values, also the values themselves."""
    # Long lists of numbers are cut into classes of twenty records each, at most 1,000.
    most = max(2, min(1000, attacked.rows // 20))
    found: list[tuple[str, Codes, Codes | None]] = []
    short: list[tuple[str, Codes, None]] = []
    for column in (*attacked.clear, *attacked.added):
        if column.size <= most:
            short.append((column.name, column.codes, None))
        elif column.numbers is not None:
            found.append((column.name, cut(column.numbers, most), column.codes))
    if len(short) > 1:
        found.append((ALL, together([codes for _, codes, _ in short]), None))
    found += short
    found += [(each.name, cut(each.released, most), None) for each in attacked.numbers]
    return found


def given_away(attacked: Attacked, confidence: float, steps: Steps) -> list[Giveaway]:
    """Everything that is seen against every protected column of categories, the worst first.

    Of records with the same number one is guessed from the others in its class: the same household
    has the same number, and its records are pooled elsewhere.
    """
    found = []
    seen = visible(attacked)
    for channel in steps.over("seen", attacked.channels):
        inside = channel.answered
        n = int(inside.sum())
        if n < 2:
            continue
        for column, place in channel.places.items():
            level = np.unique(place[channel.occurring], return_inverse=True)[1]
            report, truths = count_hits(channel, level) / n, level[channel.truths[inside]]
            for name, codes, values in seen:
                rows = np.arange(n)
                if values is not None:
                    rows = np.unique(values[inside], return_index=True)[1]
                right, alone = left_out_hits(codes[inside][rows], truths[rows])
                made = rate(right, len(rows), confidence, alone / len(rows))
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


def neighbours(attacked: Attacked) -> list[Neighbours]:
    """The order of the rows, as a reader of the release sees it."""
    if attacked.rows < 3 or attacked.pairs.how == "nothing":
        return []
    codes = {channel.columns: channel.truths[channel.answered] for channel in attacked.channels}
    codes |= {(each.name,): cut(each.true, _CLASSES) for each in attacked.numbers}
    return [Neighbours(name, *agreement(truths)) for name, truths in codes.items()
            if len(truths) > 2]  # fmt: skip


def measure_disclosure(numbers: Numbers, confidence: float) -> list[Disclosure]:
    """How many released numbers are near their original in rank."""
    ordered = np.sort(numbers.true)
    # Twice the ranks; equal values share the middle of theirs.
    one, other = (
        np.searchsorted(ordered, values) + np.searchsorted(ordered, values, "right")
        for values in (numbers.true, numbers.released)
    )
    ranks, n, found = np.sort(one), len(one), []
    for share in RANKS:
        far = int(2 * n * share + 1e-9)
        hits = int(np.count_nonzero(np.abs(one - other) <= far))
        # The share of all pairs that are so close, which is what a shuffled column would give.
        near = np.searchsorted(ranks, other + far, "right") - np.searchsorted(ranks, other - far)
        made = rate(hits, n, confidence, float(near.mean()) / n)
        found.append(Disclosure(numbers.name, f"{100 * share:g}% of the ranks", made))
    return found
