"""``Profile`` and ``Entry``: each number exact, a bound, or not computed, with the reason."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from bistochastic.formatting import Shown, down, table, up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bistochastic.matrix import Matrix

    Status = Literal["exact", "bound", "not computed"]

# The name of each measure in words, and the direction of rounding: +1 up, -1 down.
WORDS: dict[str, tuple[str, int]] = {
    "entropy_rate": ("entropy rate, bits", -1),
    "beta": ("beta", -1),
    "worst_row": ("beta, least protected category", -1),
    "worst_column": ("beta, most revealing reported value", -1),
    "mutual_information": ("mutual information, uniform prior, bits", +1),
    "capacity": ("channel capacity, any prior, bits", +1),
    "guessing_probability": ("best guess, uniform prior", +1),
    "max_leakage": ("maximal leakage, any prior, bits", +1),
    "guaranteed_max_leakage": ("maximal leakage that beta allows", +1),
    "epsilon": ("epsilon", +1),
    "metric_epsilon": ("epsilon per unit of cost", +1),
    "expected_cost": ("expected cost of a reported value", 0),
    "deniability_1": ("true values deniable at gamma 1", 0),
    "deniability_2": ("true values deniable at gamma 2", 0),
    "deniability_epsilon": ("true values deniable at gamma e^epsilon", 0),
    "truthfulness": ("truthful probability, mean", 0),
    "is_ergodic": ("ergodic", 0),
    "rank": ("rank", 0),
    "condition": ("condition, 2-norm", +1),
    "varah_bound": ("condition by the diagonal only (Varah)", +1),
    "remaining_uncertainty": ("attacker's uncertainty H(X|Y), bits", -1),
    "effective_alternatives": ("effective alternatives 2^H(X|Y)", -1),
    "best_guess": ("best guess under the prior", +1),
}

_HEADER = ["Measure", "Value", "Status", "Note"]
_TO_THE_DIGIT = ("entropy_rate", "beta", "worst_row", "worst_column", "epsilon")


@dataclass(frozen=True)
class Entry(Shown):
    """One measure: its value, whether that is exact or a bound, and a note.

    ``before`` is the measure without a reported value, if it has one: the entropy of the prior, or
    the best guess by the prior.

    >>> import bistochastic as bs
    >>> bs.uniform(4).profile()["max_leakage"]
    Entry(name='max_leakage', value=0.0, status='exact', note='')
    """

    name: str
    value: float | None
    status: Status
    note: str = ""
    before: float | None = field(default=None, repr=False)

    @property
    def words(self) -> str:
        """The name of the measure in words.

        >>> import bistochastic as bs
        >>> bs.uniform(3).profile()["worst_row"].words
        'beta, least protected category'
        """
        return WORDS[self.name][0]

    @property
    def text(self) -> str:
        """The value in six digits, rounded so that privacy is never overstated.

        >>> import bistochastic as bs
        >>> bs.uniform(3).profile()["guessing_probability"].text
        '0.333334'
        """
        x, direction = self.value, WORDS[self.name][1]
        if x is None:
            return "-"
        if isinstance(x, bool):
            return "yes" if x else "no"
        if isinstance(x, int):
            return str(x)
        # A value may have been moved by a unit in the last place, to be safe; that is not shown.
        # Zero was not moved: nothing is below it.
        moved = x != 0 and math.isfinite(x) and self.name not in _TO_THE_DIGIT
        unit = 4 * math.ulp(x) if moved else 0.0
        if direction > 0:
            return up(x - unit)
        return down(x + unit) if direction < 0 else f"{x:.6g}"


@dataclass(frozen=True)
class Profile(Shown):
    """The measures of a matrix: what an attacker can learn, and what an analyst can.

    ``profile.capacity`` is a value. ``profile["capacity"]`` is the :class:`Entry`, which also says
    whether the value is exact, a bound, or not computed, with the reason.

    Deniability at gamma counts the true values that explain a reported value about as well as the
    actual one does: at gamma 2, at least half as well. Maximal leakage is the most bits that a
    reported value can add to the probability of a right guess, for any prior. Capacity is the most
    bits that a reported value reveals on average, for any true proportions.

    >>> import bistochastic as bs
    >>> p = bs.randomized_response(12, epsilon=3).profile()
    >>> p.deniability_epsilon, p["capacity"].status
    (12, 'exact')
    """

    matrix: Matrix
    entries: tuple[Entry, ...]

    def __getitem__(self, name: str) -> Entry:
        return {entry.name: entry for entry in self.entries}[name]

    def __getattr__(self, name: str) -> float | None:
        if not name.startswith("_"):
            for entry in self.entries:
                if entry.name == name:
                    return entry.value
        raise AttributeError(f"a profile has no measure {name!r}")

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return plain values for JSON: a value, status and note for each name.

        >>> import bistochastic as bs
        >>> bs.uniform(4).profile().to_dict()["rank"]
        {'value': 1, 'status': 'exact', 'note': ''}
        """
        return {e.name: {"value": e.value, "status": e.status, "note": e.note} for e in self}

    def rows(self) -> list[list[str]]:
        """Return one row of text per measure.

        >>> import bistochastic as bs
        >>> bs.uniform(4).profile().rows()[1]
        ['beta', '1', 'exact', 'an average over the categories']
        """
        return [[e.words, e.text, e.status, e.note] for e in self]

    def __repr__(self) -> str:
        n = self.matrix.size
        title = f"<Profile of {self.matrix.family} {n} x {n}>"
        return f"{title}\n{table(_HEADER, self.rows(), left=(0, 2, 3))}"


def status_of(exact: bool) -> Status:
    """Say whether a number is exact or a bound."""
    return "exact" if exact else "bound"


def missing(name: str, why: str) -> Entry:
    """Make a measure that was not computed, with the reason."""
    return Entry(name, None, "not computed", why)
