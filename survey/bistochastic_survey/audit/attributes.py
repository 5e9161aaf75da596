"""Protected columns one by one, as an attacker sees them, and the releases that could have been.

The attacker knows the law and how common each value is. A prediction is the mean of an attack's
success over some new draws of the noise, which are never stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bistochastic_survey.analysis.request import levels_of
from bistochastic_survey.audit.codes import Codes, Protected
from bistochastic_survey.checks import Array

# So many entries of a matrix are held at once.
_ENTRIES = 1 << 22
# So many releases are drawn, or one if the mean over its records needs no second draw.
REDRAWN = 4
_ENOUGH = 100_000


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


def predict(
    channels: Sequence[Protected],
    rng: np.random.Generator,
    attack: Callable[[list[Protected]], Array],
) -> Array:
    """Compute the mean success of an attack over releases that could have been."""
    draws = [_draws(channel) for channel in channels]
    times = 1 if max(len(number) for _, number in draws) >= _ENOUGH else REDRAWN
    found = [
        attack([_redraw(c, *each, rng) for c, each in zip(channels, draws, strict=True)])
        for _ in range(times)
    ]
    return np.asarray(np.mean(found, axis=0))


def _draws(channel: Protected) -> tuple[Codes, Codes]:
    """One record for each draw of the noise, and the draw that each record has."""
    # A changed value is drawn anew.
    key = (channel.draws * channel.kinds + channel.truths) * len(channel.tables) + channel.groups
    key = np.where(channel.answered, key, -1)
    _, rows, number = np.unique(key, return_index=True, return_inverse=True)
    return rows, number


def _redraw(channel: Protected, rows: Codes, number: Codes, rng: np.random.Generator) -> Protected:
    made = np.empty(len(rows), np.intp)
    step = max(1, _ENTRIES // channel.size)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        law = np.cumsum(channel.tables[channel.groups[part], channel.truths[part]], axis=1)
        # Sums of doubles may end a hair below 1.
        law /= law[:, -1:]
        made[start : start + step] = (law <= rng.random(len(law))[:, None]).sum(axis=1)
    return replace(channel, reports=made[number])
