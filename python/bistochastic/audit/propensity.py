"""A logistic regression that tries to tell original from release, by Newton's method.

Every protected column of categories enters by its categories, and numbers by their values. Columns
in clear are the same in both tables, so that they tell nothing. There are no interactions: what it
sees are shifted shares and means. Of the guesses ``p``, ``pmse`` is the mean of ``(p - 1/2)^2``.
Two samples of one population with ``n`` records each give ``(k - 1) / (16 n)`` on average, with
``k`` coefficients (Snoke, Raab, Nowok, Dibben and Slavkovic, 2018).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bistochastic.audit.giveaways import mean_ranks
from bistochastic.audit.results import Propensity

if TYPE_CHECKING:
    from bistochastic.arguments import Array
    from bistochastic.audit.evidence import Codes, Evidence, Protected

# So many records of each table are enough, and so many categories of a column; rarer ones are one.
RECORDS = 10_000
LEVELS = 50
_STEPS = 30
# Categories that occur on one side alone would have infinite coefficients.
_RIDGE = 0.1


def propensity(evidence: Evidence, rng: np.random.Generator) -> Propensity | None:
    """From a random sample of the rows, the same rows of both; None without columns."""
    rows = np.arange(evidence.rows)
    if evidence.rows > RECORDS:
        rows = np.sort(rng.choice(evidence.rows, RECORDS, replace=False))
    blocks = [_levels(channel, rows) for channel in evidence.channels]
    for each in evidence.numbers:
        both = np.r_[each.true[rows], each.released[rows]]
        spread = float(both.std())
        if spread > 0:
            blocks.append(((both - both.mean()) / spread)[:, None])
    columns = np.concatenate([np.ones((2 * len(rows), 1)), *blocks], axis=1)
    if columns.shape[1] == 1:
        return None
    released = np.repeat([0.0, 1.0], len(rows))
    guesses = _fit(columns, released)
    k, n = columns.shape[1], len(rows)
    pmse = float(((guesses - 0.5) ** 2).mean())
    return Propensity(pmse, (k - 1) / (16 * n), _auc(guesses, released), k, n)


def _levels(channel: Protected, rows: Codes) -> Array:
    """One column of zeros and ones per category, of each column but for the commonest category."""
    codes = np.r_[channel.occurring[channel.truths[rows]], channel.reports[rows]]
    absent = np.tile(~channel.answered[rows], 2)
    found = []
    for place in channel.places.values():
        level = np.where(absent, -1, place[codes])
        values, counts = np.unique(level, return_counts=True)
        common = values[np.argsort(-counts, kind="stable")]
        # The commonest is what the others are held against, and rare ones are one category.
        found += [level == value for value in common[1:LEVELS]]
        if len(common) > LEVELS:
            found.append(np.isin(level, common[LEVELS:]))
    return np.stack(found, axis=1).astype(float) if found else np.zeros((2 * len(rows), 0))


def _fit(columns: Array, released: Array) -> Array:
    """The guesses of the regression, with a ridge that holds infinite coefficients."""
    if columns.shape[1] > len(columns) + 1:
        columns = np.c_[columns[:, :1], _turn(columns[:, 1:])]
    n, k = columns.shape
    ridge = np.full(k, _RIDGE)
    ridge[0] = 0.0
    found = np.zeros(k)
    guesses = np.full(n, 0.5)
    for _ in range(_STEPS):
        slope = columns.T @ (released - guesses) - ridge * found
        weights = guesses * (1 - guesses)
        bend = columns.T @ (columns * weights[:, None]) + np.diag(ridge)
        # Not singular: the ridge holds all coefficients but the first, which has positive weights.
        step = np.linalg.solve(bend, slope)
        found = found + step
        guesses = 1 / (1 + np.exp(-np.clip(columns @ found, -30, 30)))
        if float(np.abs(step).max()) < 1e-7:
            break
    return guesses


def _turn(columns: Array) -> Array:
    """As few columns as there are rows that give the same guesses.

    With ``X = U S V'``, coefficients ``b`` and ``V' b`` give the same products ``X b = U S (V' b)``
    and, as V turns without stretching, have the same ridge if they matter.
    """
    squares, turn = np.linalg.eigh(columns @ columns.T)
    return np.asarray(turn * np.sqrt(np.maximum(squares, 0.0)))


def _auc(guesses: Array, released: Array) -> float:
    """The chance that a released row has the higher guess, equal ones counting half.

    >>> _auc(np.array([0.1, 0.5, 0.5, 0.9]), np.array([0.0, 0.0, 1.0, 1.0]))
    0.875
    """
    ranks = mean_ranks(guesses.round(12))
    many = float(released.sum())
    others = len(released) - many
    return float((ranks[released > 0].sum() - many * (many + 1) / 2) / (many * others))
