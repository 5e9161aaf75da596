"""Accuracy of the release: marginals, tables of pairs, correlations."""

from __future__ import annotations

import math
from itertools import combinations, compress
from typing import TYPE_CHECKING

import numpy as np

from bistochastic.audit.results import Correlation, GroupMeans, Marginal, PairTable
from bistochastic.errors import SingularMatrixError
from bistochastic.tables.question import digits, levels_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from bistochastic.audit.evidence import Channel, Codes, Evidence
    from bistochastic.plan.attributes import Categorical, Joint

    Array = NDArray[np.float64]
    Tell = Callable[[float], None]

# Larger tables are left out.
_CELLS = 1 << 16
# Of more pairs than this, so many are drawn: all pairs of 141 attributes.
_PAIRS = 10_000
# Means by more categories than this are left out.
_LEVELS = 100


def distance(one: Array, other: Array) -> float:
    """Total variation.

    >>> distance(np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    0.25
    """
    return float(np.abs(one - other).sum() / 2)


def _groups(channel: Channel) -> Codes:
    return np.zeros(len(channel.truths), np.intp) if channel.groups is None else channel.groups


def marginal(channel: Channel) -> Marginal | None:
    """One attribute: true, reported and estimated shares; None if there is nothing to show."""
    attribute = channel.attribute
    inside = np.ones(len(channel.truths), bool) if channel.answered is None else channel.answered
    n = int(inside.sum())
    if attribute is None or not n or channel.size > _CELLS:
        return None
    size = channel.size
    true = np.bincount(channel.occurring[channel.truths[inside]], minlength=size) / n
    groups = _groups(channel)[inside]
    counts = np.zeros((len(attribute.matrices), size))
    np.add.at(counts, (groups, channel.reports[inside]), 1.0)
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


def _levels(attribute: Categorical | Joint) -> tuple[object, ...]:
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
    evidence: Evidence, rng: np.random.Generator, tell: Tell
) -> tuple[list[PairTable], list[str]]:
    """The pairs of attributes whose table is small enough, or some of them, which a note says."""
    many = math.comb(len(evidence.channels), 2)
    every: Iterator[tuple[Channel, Channel]] = combinations(evidence.channels, 2)
    notes = []
    if many > _PAIRS:
        chosen = np.sort(rng.choice(many, _PAIRS, replace=False))
        wanted = np.zeros(many, bool)
        wanted[chosen] = True
        every = compress(every, wanted.tolist())
        notes = [f"{_PAIRS:,} of {many:,} pairs of columns, drawn at random, are compared"]
    found = []
    for done, (one, other) in enumerate(every):
        if one.size * other.size <= _CELLS:
            made = _pair(one, other)
            if made is not None:
                found.append(made)
        tell(done / min(many, _PAIRS))
    return found, notes


def _pair(one: Channel, other: Channel) -> PairTable | None:
    inside = np.ones(len(one.truths), bool)
    for channel in (one, other):
        if channel.answered is not None:
            inside &= channel.answered
    n = int(inside.sum())
    if not n or one.attribute is None or other.attribute is None:
        return None
    shape = (one.size, other.size)

    def table(first: Codes, second: Codes) -> Array:
        cells = np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1])
        return cells.reshape(shape) / n

    true = table(one.occurring[one.truths[inside]], other.occurring[other.truths[inside]])
    reported = table(one.reports[inside], other.reports[inside])
    estimated: float | None = None
    both = _groups(one) * other.laws + _groups(other)
    try:
        solved = np.zeros(shape)
        for law in np.unique(both[inside]).tolist():
            mine = inside & (both == law)
            counted = table(one.reports[mine], other.reports[mine])
            first = one.attribute.matrices[law // other.laws]
            second = other.attribute.matrices[law % other.laws]
            solved += second.solve(first.solve(counted).T).T
        estimated = distance(true, solved)
    except SingularMatrixError:
        pass
    return PairTable((one.columns, other.columns), distance(true, reported), estimated)


def correlations(evidence: Evidence) -> list[Correlation]:
    """Of permuted or averaged numbers with each other and with unprotected numbers."""
    protected = [(each.name, each.true, each.released) for each in evidence.numbers]
    clear = [(c.name, c.numbers, c.numbers) for c in evidence.clear if c.numbers is not None]
    found = []
    for one, other in combinations([*protected, *clear], 2):
        if one[0] not in {each.name for each in evidence.numbers}:
            continue
        before, after = _correlation(one[1], other[1]), _correlation(one[2], other[2])
        if before is not None and after is not None:
            found.append(Correlation((one[0], other[0]), before, after))
    return found


def group_means(evidence: Evidence) -> list[GroupMeans]:
    """Means of every number by every protected column of categories."""
    numbers = [(c.name, c.numbers, c.numbers) for c in evidence.clear if c.numbers is not None]
    numbers += [(each.name, each.true, each.released) for each in evidence.numbers]
    found = []
    for channel in evidence.channels:
        attribute = channel.attribute
        if attribute is None or channel.size > _LEVELS or channel.groups is not None:
            continue
        inside = slice(None) if channel.answered is None else channel.answered
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
                try:
                    law = attribute.matrices[0]
                    estimated = error(law.solve(sums), law.solve(counts))
                except SingularMatrixError:
                    pass
            by = ", ".join(channel.columns)
            found.append(GroupMeans(name, by, error(sums, counts), estimated))
    return found


def _correlation(x: Array, y: Array) -> float | None:
    u, v = x - x.mean(), y - y.mean()
    size = float(np.sqrt((u @ u) * (v @ v)))
    return float(u @ v) / size if size > 0 else None
