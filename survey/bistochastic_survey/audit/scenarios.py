"""Intruders who know some columns of one person, and who search the release for that person.

The intruder knows columns ``K`` of a target exactly or roughly, that the target is in the release,
the laws, and how common each value is. Row ``j`` is the target's with a probability proportional to

    prod over protected columns of  p(y_j | what is known) / q(y_j)

times whether it agrees in the unprotected columns: the exact posterior if the columns of the other
people are independent. ``q`` is the probability of what is seen, of anyone. A wanted column has the
value ``w`` in proportion to ``pi_w`` times the sum over rows of this number times
``p(y_j | w) / q(y_j)``; if it is unprotected, to the sum over the rows that show ``w``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from bistochastic.errors import Refused
from bistochastic_survey import checks
from bistochastic_survey.audit.codes import (
    Attacked,
    Clear,
    Codes,
    Protected,
    View,
    cells_of,
    predict,
    views,
)
from bistochastic_survey.audit.guesses import TIES, rate
from bistochastic_survey.audit.linkage import FEW, place_among
from bistochastic_survey.audit.pairing import list_names
from bistochastic_survey.audit.results import Scenario
from bistochastic_survey.checks import Array
from bistochastic_survey.table.arrays import combinations

# Targets are fewer than this many numbers for all of them allow.
_WORK = 1 << 28
_LEAST = 50


@dataclass(frozen=True)
class Asked:
    """One scenario: known columns with how far off each may be, and wanted ones."""

    knows: Mapping[str, float]
    wants: tuple[str, ...]


def read(attacked: Attacked, knows: object, wants: object) -> list[Asked]:
    """Read what a caller wrote; several scenarios are a list of lists or mappings."""
    if knows is None and wants is None:
        return []
    seen = _columns(attacked)
    given: Sequence[object] = [knows]
    if isinstance(knows, list | tuple) and any(not isinstance(each, str) for each in knows):
        given = knows
    wanted = [] if wants is None else _known("wants", wants, attacked)
    found = []
    for each in given:
        names = _known("knows", () if each is None else each, attacked)
        known = dict.fromkeys(names, 0.0)
        if isinstance(each, dict):
            must = "hold tolerances of at least 0"
            known = {
                name: checks.number("knows", must, off, lambda x: 0 <= x < np.inf)
                for name, off in zip(names, each.values(), strict=True)
            }
        for column, off in known.items():
            if off and getattr(seen[column], "numbers", None) is None:
                must = "be exact but for unprotected numbers"
                raise Refused("knows", must, "a tolerance", column=column)
        secret = [c for c in seen if isinstance(seen[c], View)]
        left = tuple(c for c in (secret if wants is None else wanted) if c not in known)
        if wanted and not left:
            must = "name a column that the intruder does not know"
            raise Refused("wants", must, "only columns of `knows`")
        found.append(Asked(known, left))
    return found


def _known(name: str, given: object, attacked: Attacked) -> list[str]:
    found = list_names(name, given)
    for column in found:
        if column not in _columns(attacked):
            must = "name columns of the release with categories, or unprotected ones"
            numbers = any(column == each.name for each in attacked.numbers)
            got = "a column of permuted or averaged numbers" if numbers else "none of that name"
            raise Refused(name, must, got, column=column)
    return found


def _columns(attacked: Attacked) -> dict[str, View | Clear]:
    found: dict[str, View | Clear] = {v.column: v for c in attacked.channels for v in views(c)}
    return {**found, **{c.name: c for c in attacked.clear}}


class Search:
    """One release, and how likely each row is the target's."""

    def __init__(self, attacked: Attacked, channels: Sequence[Protected], asked: Asked) -> None:
        self._evidence, self._asked = attacked, asked
        every = [(cells_of(channel), channel.places) for channel in channels]
        self._sights = [(view, places) for view, places in every if view is not None]
        self._at = {c: i for i, (_, places) in enumerate(self._sights) for c in places}
        self._clear = {c.name: c for c in attacked.clear}
        codes = [view.seen for view, _ in self._sights]
        codes += [self._clear[c].codes for c in (*asked.knows, *asked.wants) if c in self._clear]
        self.rows, self._pattern, often = combinations(codes, attacked.rows)
        """One row for each pattern."""
        self._often = often.astype(np.float64)
        self._weights: dict[tuple[int, int], Array] = {}

    def success(self, targets: Codes) -> Array:
        """Sum the success over targets: the row first, among five, and each wanted column."""
        parts = {self._at.get(column, column) for column in self._asked.knows}
        totals = np.zeros(2 + len(self._asked.wants))
        for target in targets.tolist():
            factors = {part: self._factor(part, target) for part in parts}
            whole = self._product(factors)
            totals[0] += self._place(whole, target, 1)
            totals[1] += self._place(whole, target, FEW)
            for i, column in enumerate(self._asked.wants):
                part = self._at.get(column, column)
                others = self._product({p: f for p, f in factors.items() if p != part})
                totals[2 + i] += self._wanted(others, column, target)
        return totals

    def _product(self, factors: dict[int | str, Array]) -> Array:
        return reduce(np.multiply, factors.values(), np.ones(len(self.rows)))

    def _factor(self, part: int | str, target: int) -> Array:
        """How much likelier each row is by one attribute or unprotected column."""
        if isinstance(part, str):
            clear, far = self._clear[part], self._asked.knows[part]
            if far and clear.numbers is not None:
                gaps = np.abs(clear.numbers[self.rows] - clear.numbers[target])
                return np.asarray(gaps <= far * (1 + TIES), float)
            return np.asarray(clear.codes[self.rows] == clear.codes[target], float)
        view = self._sights[part][0]
        seen = view.seen[self.rows]
        if view.truths[target] == view.kinds:
            return np.asarray(seen == view.law.shape[1], float)
        weights = self._cells(part, target)
        ratio = np.append((weights / weights.sum()) @ view.ratio, 0.0)
        return np.asarray(ratio[seen])

    def _cells(self, part: int, target: int) -> Array:
        """How common each cell is, of those that the target may be in."""
        view, places = self._sights[part]
        key = part, int(view.truths[target])
        if key not in self._weights:
            found = view.shares
            for column in self._asked.knows:
                if column in places:
                    found = found * (places[column] == places[column][view.truths[target]])
            self._weights[key] = found
        return self._weights[key]

    def _place(self, scores: Array, target: int, few: int) -> float:
        own = scores[self._pattern[target]]
        above = float(self._often[scores > own * (1 + TIES)].sum())
        return place_among(above, float(self._often[scores >= own * (1 - TIES)].sum()) - above, few)

    def _wanted(self, scores: Array, column: str, target: int) -> float:
        weights = scores * self._often
        if column in self._at:
            part = self._at[column]
            view, places = self._sights[part]
            if view.truths[target] == view.kinds:
                return 0.0
            wide = view.law.shape[1]
            seen = np.bincount(view.seen[self.rows], weights, minlength=wide)[:wide]
            cells = self._cells(part, target) * (view.ratio @ seen)
            odds = np.bincount(places[column], cells)
            truth = places[column][view.truths[target]]
        else:
            clear = self._clear[column]
            odds = np.bincount(clear.codes[self.rows], weights, minlength=clear.size)
            truth = clear.codes[target]
        best = odds >= odds.max() * (1 - TIES)
        return float(best[truth]) / float(best.sum())


def run(
    attacked: Attacked, asked: Asked, targets: Codes, confidence: float, rng: np.random.Generator
) -> Scenario:
    """Attack as one intruder, and predict it."""
    used = {*asked.knows, *asked.wants}
    channels = [c for c in attacked.channels if used & set(c.columns)]
    search = Search(attacked, channels, asked)
    work = max(1, len(search.rows) * (len(asked.knows) + 1))
    n = min(len(targets), max(_LEAST, _WORK // work))
    chosen = targets if n == len(targets) else np.sort(rng.choice(targets, n, replace=False))
    observed = search.success(chosen)
    predicted = predict(channels, rng, lambda now: Search(attacked, now, asked).success(chosen))
    first, five = (
        rate(observed[i], n, confidence, min(1.0, few / attacked.rows), predicted[i] / n)
        for i, few in enumerate((1, FEW))
    )
    seen = _columns(attacked)
    wanted, rates = [], []
    for i, column in enumerate(asked.wants):
        at = seen[column]
        if isinstance(at, View):
            trials, chance = int(at.answered[chosen].sum()), at.chance
        else:
            trials, chance = n, float(np.bincount(at.codes).max()) / attacked.rows
        if trials:
            hits, mean = observed[2 + i], predicted[2 + i]
            wanted.append(column)
            rates.append(rate(hits, trials, confidence, chance, mean / trials))
    words = tuple(f"{c} within {x:g}" if x else c for c, x in asked.knows.items())
    return Scenario(tuple(asked.knows), words, tuple(wanted), n, first, five, tuple(rates))
