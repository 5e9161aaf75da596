"""Accuracy of the release: marginals, tables of pairs, correlations."""

from __future__ import annotations

import math
from contextlib import suppress
from itertools import combinations, compress
from typing import TYPE_CHECKING

import numpy as np

from bistochastic.audit.results import Correlation, GroupMeans, Marginal, PairTable
from bistochastic.errors import SingularMatrixError
from bistochastic.tables.question import digits, levels_of

if TYPE_CHECKING:
    from bistochastic.arguments import Array
    from bistochastic.audit.attack import Steps
    from bistochastic.audit.evidence import Codes, Evidence, Protected
    from bistochastic.tables.question import Coded

# Larger tables are left out.
_CELLS = 1 << 16
# Of more pairs than this, so many are drawn: all pairs of 141 attributes.
_PAIRS = 10_000
# Means by more categories than this are left out.
_LEVELS = 100


def distance(one: Array, other: Array) -> float:
    """Total variation."""
    return float(np.abs(one - other).sum() / 2)


def marginal(channel: Protected) -> Marginal | None:
    """One attribute: true, reported and estimated shares; None if there is nothing to show."""
    attribute, inside, size = channel.attribute, channel.answered, channel.size
    n = int(inside.sum())
    if not n or size > _CELLS:
        return None
    true = np.bincount(channel.occurring[channel.truths[inside]], minlength=size) / n
    counts = np.zeros((len(attribute.matrices), size))
    np.add.at(counts, (channel.groups[inside], channel.reports[inside]), 1.0)
    reported = counts.sum(axis=0) / n
    estimated, reason = None, ""
    try:
        solved = [m.solve(row) for m, row in zip(attribute.matrices, counts, strict=True)
                  if row.any()]  # fmt: skip
        estimated = np.sum(solved, axis=0) / n
    except SingularMatrixError:
        reason = "the reports do not tell some levels apart"
    return Marginal(
        channel.columns, _levels(attribute), tuple(true.tolist()), tuple(reported.tolist()),
        None if estimated is None else tuple(estimated.tolist()), distance(true, reported),
        None if estimated is None else distance(true, estimated), reason,
    )  # fmt: skip


def _levels(attribute: Coded) -> tuple[object, ...]:
    """Name each code: a category, or the categories of several columns."""
    names = [levels_of(attribute, column) for column in attribute.columns]
    if len(names) == 1:
        return names[0]
    places = [place.tolist() for place in digits(attribute)]
    return tuple(
        tuple(levels[i] for levels, i in zip(names, cell, strict=True))
        for cell in zip(*places, strict=True)
    )


def pair_tables(
    evidence: Evidence, rng: np.random.Generator, steps: Steps
) -> tuple[list[PairTable], list[str]]:
    """The pairs of attributes whose table is small enough, or some of them, which a note says."""
    many = math.comb(len(evidence.channels), 2)
    every = combinations(evidence.channels, 2)
    if many <= _PAIRS:
        chosen, notes = list(every), []
    else:
        wanted = np.zeros(many, bool)
        wanted[rng.choice(many, _PAIRS, replace=False)] = True
        chosen = list(compress(every, wanted.tolist()))
        notes = [f"{_PAIRS:,} of {many:,} pairs of columns, drawn at random, are compared"]
    made = [_pair(*both) for both in steps.over("use", chosen)]
    return [each for each in made if each is not None], notes


def _pair(one: Protected, other: Protected) -> PairTable | None:
    inside = one.answered & other.answered
    n = int(inside.sum())
    if not n or one.size * other.size > _CELLS:
        return None
    shape = (one.size, other.size)

    def table(first: Codes, second: Codes) -> Array:
        cells = np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1])
        return cells.reshape(shape) / n

    true = table(one.occurring[one.truths[inside]], other.occurring[other.truths[inside]])
    reported = table(one.reports[inside], other.reports[inside])
    estimated = None
    both = one.groups * other.laws + other.groups
    with suppress(SingularMatrixError):
        solved = np.zeros(shape)
        for law in np.unique(both[inside]).tolist():
            mine = inside & (both == law)
            counted = table(one.reports[mine], other.reports[mine])
            first = one.attribute.matrices[law // other.laws]
            second = other.attribute.matrices[law % other.laws]
            solved += second.solve(first.solve(counted).T).T
        estimated = distance(true, solved)
    return PairTable((one.columns, other.columns), distance(true, reported), estimated)


def correlations(evidence: Evidence) -> list[Correlation]:
    """Of permuted or averaged numbers with each other and with unprotected numbers."""
    protected = [(each.name, each.true, each.released) for each in evidence.numbers]
    clear = [(c.name, c.numbers, c.numbers) for c in evidence.clear if c.numbers is not None]
    found = []
    for i, (name, true, released) in enumerate(protected):
        for other, true_too, released_too in [*protected[i + 1 :], *clear]:
            before, after = _correlation(true, true_too), _correlation(released, released_too)
            if before is not None and after is not None:
                found.append(Correlation((name, other), before, after))
    return found


def group_means(evidence: Evidence) -> list[GroupMeans]:
    """Means of every number by every protected column of categories."""
    numbers = [(c.name, c.numbers, c.numbers) for c in evidence.clear if c.numbers is not None]
    numbers += [(each.name, each.true, each.released) for each in evidence.numbers]
    found = []
    for channel in evidence.channels:
        if channel.size > _LEVELS or channel.attribute.groups is not None:
            continue
        inside, law = channel.answered, channel.attribute.matrices[0]
        cells, said = channel.occurring[channel.truths[inside]], channel.reports[inside]
        many = np.bincount(cells, minlength=channel.size).astype(np.float64)
        for name, true, after in numbers:
            x, y = true[inside], after[inside]
            spread = float(x.std())
            if not spread > 0:
                continue
            means = np.bincount(cells, x, channel.size) / np.maximum(many, 1)

            def error(sums: Array, counts: Array, spread: float = spread,
                      means: Array = means, many: Array = many) -> float:  # fmt: skip
                with np.errstate(divide="ignore", invalid="ignore"):
                    gaps = np.abs(np.where(counts > 0, sums / counts, 0.0) - means) / spread
                return float((gaps * many).sum() / many.sum())

            sums = np.bincount(said, y, channel.size).astype(np.float64)
            counts = np.bincount(said, minlength=channel.size).astype(np.float64)
            estimated = None
            if after is true:
                with suppress(SingularMatrixError):
                    estimated = error(law.solve(sums), law.solve(counts))
            by = ", ".join(channel.columns)
            found.append(GroupMeans(name, by, error(sums, counts), estimated))
    return found


def _correlation(x: Array, y: Array) -> float | None:
    u, v = x - x.mean(), y - y.mean()
    size = float(np.sqrt((u @ u) * (v @ v)))
    return float(u @ v) / size if size > 0 else None
