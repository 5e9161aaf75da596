"""Protected columns one by one, as an attacker sees them, and the releases that could have been.

The attacker knows the law and how common each value is. A prediction is the mean of an attack's
success over all releases that the plan could have given: over each of them if they are few, else
over some new draws of the noise, which are never stored.

Also what is still right: shares as they were, as reported, and as estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from bistochastic.errors import SingularMatrixError
from bistochastic_survey.analysis.request import digits, levels_of
from bistochastic_survey.audit.codes import Codes, Protected
from bistochastic_survey.audit.results import Marginal
from bistochastic_survey.checks import Array
from bistochastic_survey.plan.attributes import Categorical, Joint

# So many entries of a matrix are held at once.
_ENTRIES = 1 << 22
# Up to so many possible releases each is looked at, beyond it so many are drawn.
_EVERY = 1 << 12
REDRAWN = 4
_ENOUGH = 100_000
# Shares of larger tables are left out.
_CELLS = 1 << 16


@dataclass(frozen=True, eq=False)
class View:
    """One column: the true value of each record, and what is seen of it."""

    column: str
    categories: tuple[object, ...]
    truths: Codes
    """The category of each record; one more stands for missing."""
    seen: Codes
    """The reported value and the group of each record; one more stands for missing."""
    law: Array
    """The probability of what is seen, by category."""
    shares: Array
    """How common each category is."""
    draws: Codes
    """Records with the same number share their noise."""

    @property
    def kinds(self) -> int:
        """How many categories there are."""
        return len(self.shares)

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which records are not missing."""
        return self.truths < self.kinds

    @property
    def overall(self) -> Array:
        """The probability of what is seen, of anyone."""
        return np.asarray(self.shares @ self.law)

    @property
    def ratio(self) -> Array:
        """How much likelier each category makes what is seen."""
        overall = self.overall
        return np.asarray(self.law / np.where(overall > 0, overall, 1.0))

    @property
    def chance(self) -> float:
        """How often the commonest category is right."""
        return float(self.shares.max())


def cells_of(channel: Protected) -> View | None:
    """The view of an attribute by its cells; None if its matrix is too large."""
    matrices, size = channel.attribute.matrices, channel.size
    if len(matrices) * size**2 > _ENTRIES:
        return None
    law = np.concatenate([matrix.to_dense() for matrix in matrices], axis=1)
    truths = np.where(channel.answered, channel.occurring[channel.truths], size)
    seen = np.where(channel.answered, channel.groups * size + channel.reports, law.shape[1])
    counts = np.bincount(truths, minlength=size)[:size]
    shares = counts / max(1, int(counts.sum()))
    return View("", (), truths, seen, law, shares, channel.draws)


def views(channel: Protected) -> list[View]:
    """Make the views of all columns of an attribute; none if its matrix is too large."""
    cells = cells_of(channel)
    if cells is None:
        return []
    found = []
    for column, place in channel.places.items():
        categories = levels_of(channel.attribute, column)
        kinds = max(len(categories), int(place.max()) + 1)
        shares = np.bincount(place, cells.shares, minlength=kinds).astype(np.float64)
        law = cells.law
        if len(channel.columns) > 1:
            # Cells of a category count by how common they are; of one that is never true, alike.
            alike = 1 / np.bincount(place, minlength=kinds)[place]
            weights = np.where(shares[place] > 0,
                               cells.shares / np.maximum(shares[place], 1e-300), alike)  # fmt: skip
            law = np.zeros((kinds, cells.law.shape[1]))
            np.add.at(law, place, weights[:, None] * cells.law)
        truths = np.append(place, kinds)[cells.truths]
        found.append(replace(cells, column=column, categories=categories, truths=truths, law=law,
                             shares=shares))  # fmt: skip
    return found


def releases(
    channels: Sequence[Protected], rng: np.random.Generator
) -> Iterator[tuple[float, list[Protected]]]:
    """Give the releases that could have been, each with its probability, or some of them."""
    draws = [_draws(channel) for channel in channels]
    many = prod(channel.size ** min(len(rows), 64)
                for channel, (rows, _) in zip(channels, draws, strict=True))  # fmt: skip
    if many > _EVERY:
        # The mean over very many records needs no second draw.
        times = 1 if max(len(number) for _, number in draws) >= _ENOUGH else REDRAWN
        for _ in range(times):
            yield 1 / times, [_redraw(c, *each, rng)
                                for c, each in zip(channels, draws, strict=True)]  # fmt: skip
        return
    each = [list(_every(c, *rows)) for c, rows in zip(channels, draws, strict=True)]
    for chosen in product(*each):
        yield prod(weight for weight, _ in chosen), [channel for _, channel in chosen]


def predict(
    channels: Sequence[Protected],
    rng: np.random.Generator,
    attack: Callable[[list[Protected]], Array],
) -> Array:
    """The mean success of an attack over releases."""
    return np.asarray(sum(weight * attack(made) for weight, made in releases(channels, rng)))


def _draws(channel: Protected) -> tuple[Codes, Codes]:
    """One record for each draw of the noise, and the draw that each record has."""
    # A changed value is drawn anew.
    key = (channel.draws * channel.kinds + channel.truths) * channel.laws + channel.groups
    key = np.where(channel.answered, key, -1)
    _, rows, number = np.unique(key, return_index=True, return_inverse=True)
    return rows, number


def _redraw(channel: Protected, rows: Codes, number: Codes, rng: np.random.Generator) -> Protected:
    made = np.empty(len(rows), np.intp)
    step = max(1, _ENTRIES // channel.size)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        law = np.cumsum(channel.rows(rows[part]), axis=1)
        # Sums of doubles may end a hair below 1.
        law /= law[:, -1:]
        made[part] = (law <= rng.random(len(law))[:, None]).sum(axis=1)
    return replace(channel, reports=made[number])


def _every(channel: Protected, rows: Codes, number: Codes) -> Iterator[tuple[float, Protected]]:
    law = channel.rows(rows)
    for chosen in product(range(channel.size), repeat=len(rows)):
        weight = prod(law[i, v] for i, v in enumerate(chosen))
        if weight > 0:
            yield float(weight), replace(channel, reports=np.array(chosen, np.intp)[number])


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
