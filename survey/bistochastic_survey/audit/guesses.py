"""The best guess of an attribute from its report, and how often the law says that it hits.

The attacker knows the law and how many records have each value, which is more than any real one
does. From a report ``v`` the best guess is a truth ``u`` with the largest ``n_u p_uv``. The truths
are fixed and only the noise is random, so that the expected number of hits is exactly the sum over
reports of that largest number. If several are largest, the guess is one of them by chance.

Rates have intervals, and say how far from a prediction chance may take them.
"""

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from bistochastic.errors import Refused
from bistochastic_survey.audit.codes import Codes, ReportedColumn
from bistochastic_survey.audit.pairing import Pairs
from bistochastic_survey.audit.results import Guess, Rate
from bistochastic_survey.checks import Array
from bistochastic_survey.plan.attributes import Categorical, Joint

# Products that differ by less than this are the same number, computed in two ways.
TIES = 1e-9
# Reports that fit the plan raise an error once in so many audits of an attribute.
_REFUSED = 1e-9
# How often a release that keeps to its law is said not to agree with it, at most.
FALSE_ALARM = 1e-6


def margin(variance: float, most: float = 1.0, alarm: float = FALSE_ALARM) -> float:
    """How far a sum of independent numbers lies from its mean, but for this probability.

    Bernstein's bound: each number is at most ``most`` from its mean, and ``variance`` is that of
    the sum. It is further away than ``t`` with probability at most
    ``2 exp(-t^2 / (2 variance + 2 most t / 3))``.

    >>> round(margin(2500.0), 1), round(margin(0.0), 1)
    (274.2, 9.7)
    """
    nats = math.log(2 / alarm)
    third = most * nats / 3
    return third + math.sqrt(third * third + 2 * nats * variance)


@lru_cache(maxsize=4096)
def _interval(hits: float, trials: int, confidence: float) -> tuple[float, float]:
    """Bound a probability by Clopper and Pearson's interval."""
    from scipy import special

    half = (1 - confidence) / 2
    low = special.betaincinv(hits, trials - hits + 1, half) if hits > 0 else 0.0
    high = special.betainccinv(hits + 1, trials - hits, half) if hits < trials else 1.0
    return float(low), float(high)


def rate(
    hits: float,
    trials: int,
    confidence: float,
    chance: float,
    predicted: float | None = None,
    variance: float | None = None,
    most: float = 1.0,
) -> Rate:
    """A share of ``trials``, with its interval. ``predicted`` is a share, ``variance`` of hits.

    Hits may be fractions, where equally good guesses share them. A sum of such numbers strays no
    further than that of booleans with the same mean, so that the interval holds for it too.
    """
    low, high = _interval(float(min(hits, trials)), trials, confidence)
    allowed = None if variance is None else margin(variance, most) / trials
    # Rounding may leave a share of all a hair above 1.
    share = min(1.0, float(hits) / trials)
    expected = None if predicted is None else min(1.0, float(predicted))
    return Rate(share, low, high, expected, chance, allowed)


def _by_group(channel: ReportedColumn) -> Iterator[tuple[int, Codes, Codes, Array]]:
    """Give truths and reports of every group, and how many records have each truth."""
    for group in range(len(channel.tables)):
        mine = channel.answered & (channel.groups == group)
        truths = channel.truths[mine]
        counts = np.bincount(truths, minlength=channel.kinds).astype(np.float64)
        if len(truths):
            yield group, truths, channel.reports[mine], counts


def count_hits(channel: ReportedColumn, alike: Codes) -> float:
    """Hits over all records with an answer; infinite if the plan gives one of the reports never.

    ``alike`` says which truths count as one: those of one category, for a column of several.
    Equally good guesses share their hits.
    """
    many = int(alike.max()) + 1
    hits = 0.0
    for group, truths, reports, counts in _by_group(channel):
        seen, number = np.unique(reports * many + alike[truths], return_counts=True)
        best, last = np.zeros(many), -1
        for code, n in zip(seen.tolist(), number.tolist(), strict=True):
            report, truth = divmod(code, many)
            if report != last:
                weights = counts * channel.tables[group, :, report]
                chances = np.bincount(alike, weights, minlength=many)
                best = chances >= chances.max() * (1 - TIES)
                share, last = 1 / int(best.sum()), report
            if not chances[truth] > 0:
                return math.inf
            hits += n * share * bool(best[truth])
    return hits


def guess(channel: ReportedColumn, confidence: float, rows_per_person: int) -> Guess | None:
    """The guess of a whole attribute; None if nobody answered, an error for other reports."""
    n = int(channel.answered.sum())
    if not n:
        return None
    hits, expected, without = count_hits(channel, np.arange(channel.kinds)), 0.0, 0.0
    for group, _, _, counts in _by_group(channel):
        expected += float((counts[:, None] * channel.tables[group]).max(axis=0).sum())
        without += float(counts.max())
    # Independent hits vary most if all are equally likely. Rows of one person may share their
    # noise, so that they stray together.
    share, most = min(1.0, expected / n), float(rows_per_person)
    variance = n * share * (1 - share) * most
    if not abs(hits - expected) <= margin(variance, most, _REFUSED):
        must = "hold reports of `original` under this plan, row by row"
        got = "reports that the plan does not give: other data, another plan or another order"
        raise Refused("", must, f"{got} of rows", column=channel.columns)
    made = rate(hits, n, confidence, without / n, expected / n, variance, most)
    return Guess(channel.columns, n, made)


def refuse_other_counts(pairs: Pairs, attribute: Categorical | Joint) -> None:
    """Raise an error if no draw of the plan reports a category as often as the release does.

    For rows that cannot be paired. A count is a sum of independent draws with at most the variance
    of its mean, and Bernstein's bound holds for it.
    """
    before = attribute._encode(pairs.original)
    after = attribute._encode(pairs.released, released=True)
    if attribute.groups is not None or before.missing is not None or after.missing is not None:
        return
    law, shared = attribute.matrices[0], 1
    if attribute.unit is not None:
        shared = int(np.bincount(pairs.original.levels(attribute.unit)[0]).max())
    elif pairs.memoised and pairs.people is not None:
        shared = int(np.bincount(pairs.people).max())
    true = np.bincount(before.codes, minlength=law.size).astype(np.float64)
    said = np.bincount(after.codes, minlength=law.size)
    expected = np.maximum(law.apply(true), 0.0)
    alarm = _REFUSED / law.size
    for count, mean in zip(said.tolist(), expected.tolist(), strict=True):
        if not abs(count - mean) <= margin(mean * shared, float(shared), alarm):
            must = "be reported as often as `original` and this plan lead to expect"
            got = "counts that the plan does not give: other data or another plan"
            raise Refused("", must, got, column=attribute.columns)
