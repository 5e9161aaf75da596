"""Risk of the original: who stands out by key variables, before anything is protected."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core, arguments
from bistochastic.adapters.results import levels
from bistochastic.audit.evidence import together
from bistochastic.audit.pairing import open_table
from bistochastic.audit.results import NOT_FOR_RELEASE
from bistochastic.plan.attributes import named, prefix
from bistochastic.tables.sheet import weight_column
from bistochastic.words import Shown, shown, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bistochastic.adapters.frames import Table
    from bistochastic.arguments import Array
    from bistochastic.audit.evidence import Codes

# Sample uniques are searched in combinations of at most so many keys.
_DEEP = 3


@dataclass(frozen=True, eq=False, repr=False)
class Risk(Shown):
    """How exposed the records of an original are. Not for release.

    Arrays have one entry per record, in the order of the rows. No value of a record is shown.

    >>> import bistochastic as bs
    >>> people = {"sex": ["F", "F", "M"], "age": [30, 30, 40]}
    >>> bs.risk(people, keys=["sex", "age"])
    <Risk of 3 records by sex, age: 1 unique: contains information about the data: not for release>
    """

    keys: tuple[str, ...]
    k: NDArray[np.intp]
    """The number of records with the same keys."""
    population: Array | None
    """The sum of the weights of these records; None without weights."""
    individual: Array
    """The probability that a record is re-identified by its keys."""
    suda: Array
    """SUDA scores: the sum over minimal sample uniques of at most three keys."""
    contributions: tuple[float, ...]
    """For each key, the proportion of all scores from minimal uniques with this key."""
    diversity: dict[str, NDArray[np.intp]]
    """For each sensitive column, the number of its values among records with the same keys."""
    household: Array | None
    """The probability that someone of the record's household is re-identified."""

    @property
    def records(self) -> int:
        """The number of records."""
        return len(self.k)

    @property
    def uniques(self) -> int:
        """The number of records whose keys no other record has."""
        return self.below(2)

    @property
    def expected(self) -> float:
        """The expected number of re-identified records."""
        return float(self.individual.sum())

    @property
    def sizes(self) -> dict[int, int]:
        """The number of records for each k."""
        found, counts = np.unique(self.k, return_counts=True)
        return dict(zip(found.tolist(), counts.tolist(), strict=True))

    def below(self, k: int) -> int:
        """Count the records whose keys fewer than ``k`` records have."""
        return int(np.count_nonzero(self.k < _core.as_whole("k", k, 1)))

    def facts(self) -> dict[str, float]:
        """Sum all of it up in numbers by name.

        >>> import bistochastic as bs
        >>> bs.risk({"sex": ["F", "F", "M"]}, keys=["sex"]).facts()["records with k below 2"]
        1
        """
        found = {
            "records": self.records,
            **{f"records with k below {k}": self.below(k) for k in (2, 3, 5)},
            "expected re-identifications": round(self.expected, 4),
            "largest individual risk": round(float(self.individual.max()), 6),
            "records with a minimal unique of at most three keys": int((self.suda > 0).sum()),
        }
        if self.household is not None:
            home = round(float(self.household.sum()), 4)
            found["expected re-identifications by household"] = home
        for name, share in zip(self.keys, self.contributions, strict=True):
            found[f"contribution of {name} to uniques"] = round(share, 4)
        for name, many in self.diversity.items():
            found[f"least l of {name}"] = int(many.min())
            found[f"records with one possible {name}"] = int((many == 1).sum())
        return found

    def __str__(self) -> str:
        rows = [[shown(name), f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"]
                for name, value in self.facts().items()]  # fmt: skip
        by = ", ".join(map(shown, self.keys))
        return f"Risk: {NOT_FOR_RELEASE}\nKeys: {by}\n\n{table(('Measure', 'Value'), rows)}"

    def __repr__(self) -> str:
        by = ", ".join(map(shown, self.keys))
        counts = f"{self.records:,} records by {by}: {self.uniques:,} unique"
        return f"<Risk of {counts}: {NOT_FOR_RELEASE}>"


def risk(
    original: Any,
    *,
    keys: Sequence[str],
    weights: str | None = None,
    sensitive: Sequence[str] = (),
    household: str | None = None,
) -> Risk:
    """Measure how exposed the records of ``original`` are to someone who knows their ``keys``.

    Use it to decide what to protect. Missing values count as a value of their own. Parameters are
    columns of the table.

    - ``k`` is the number of records with the same keys. Without weights, such a record is
      re-identified with probability 1/k.
    - ``weights`` says how many people of the population a record stands for. The risk is then the
      mean of 1/F given k, where F people have these keys (Benedetti and Franconi, 1998). With
      ``p = k / (sum of weights)`` it is ``p log(1/p) / (1 - p)`` for k = 1,
      ``p / (1 - p) - (p / (1 - p))^2 log(1/p)`` for k = 2, and about ``p / (k - 1 + p)`` above.
    - A set of keys in which a record is unique, but in no part of it, is a minimal sample unique.
      One of s keys adds ``(m - s) (m - s - 1) ...`` to the SUDA score, down to ``m - 3``, where m
      is the number of keys (Elliot, Manning, Mayes, Gurd and Bane, 2005).
    - ``sensitive`` columns get the number of their values among equal records (l-diversity).
    - ``household`` gives ``1 - product of (1 - risk)`` over the records of one household.

    Unknown columns, or weights that stand for fewer people than there are records, raise an error.

    >>> import bistochastic as bs
    >>> risk = bs.risk(bs.titanic(), keys=["class", "sex", "age"], sensitive=["survived"])
    >>> risk.uniques, risk.below(5), round(risk.expected, 6)
    (1, 1, 14.0)
    >>> int((risk.diversity["survived"] == 1).sum())
    30
    """
    rows = open_table("original", original)
    if not rows.rows:
        raise ValueError("`original` must have at least one row; got none")
    names = tuple(_names("keys", keys))
    known = [_codes(rows, "keys", name) for name in names]
    if not known:
        raise ValueError("`keys` must name at least one column; got none")
    classes = together(known)
    k = np.bincount(classes)[classes]
    population = None
    single = 1 / k
    if weights is not None:
        given = weight_column(rows, "weights", named("weights", weights))
        if not float(given.sum()) >= rows.rows:
            must = "`weights` must sum to at least the number of records"
            raise ValueError(f"{must}; got a sum below it: weights count people of the population")
        population = np.bincount(classes, given).astype(np.float64)[classes]
        single = _individual(k.astype(np.float64), population)
    scores, contributions = _minimal_uniques(known)
    shared = None
    if household is not None:
        home = _codes(rows, "household", named("household", household))
        with np.errstate(divide="ignore"):
            shared = -np.expm1(np.bincount(home, np.log1p(-single))[home])
    diversity = {}
    for name in _names("sensitive", sensitive):
        pairs = np.unique(np.stack([classes, _codes(rows, "sensitive", name)]), axis=1)
        diversity[name] = np.bincount(pairs[0])[classes]
    return Risk(names, k, population, single, scores, contributions, diversity, shared)


def _names(name: str, given: object) -> list[str]:
    if isinstance(given, str):
        raise TypeError(f"`{name}` must be a list of columns; got str")
    found = [named(name, each) for each in arguments.items(name, "be a list of columns", given)]
    if len(set(found)) < len(found):
        twice = next(each for each in found if found.count(each) > 1)
        raise ValueError(f"`{name}` must be distinct; got `{shown(twice)}` twice")
    return found


def _codes(rows: Table, name: str, column: str) -> Codes:
    if column not in rows.names:
        raise ValueError(f"{prefix([column])}`{name}` must be in `original`; got none of that name")
    return levels(rows, column)[0].astype(np.intp)


def _individual(k: Array, population: Array) -> Array:
    """The mean of 1/F; weights below one person each give the risk without weights.

    >>> _individual(np.array([1.0, 2.0, 3.0, 1.0]), np.array([45.5, 100.0, 108.0, 1.0])).round(8)
    array([0.08579129, 0.01877883, 0.01369863, 1.        ])
    """
    p = np.minimum(1.0, k / population)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = p / (1 - p)
        one, two = -odds * np.log(p), odds + odds * odds * np.log(p)
    # Close to p = 1 both formulas are differences of nearly equal numbers.
    near = (1 - p) < 1e-4
    one = np.where(near, 1 - (1 - p) / 2, one)
    two = np.where(near, 0.5 - (1 - p) / 3, two)
    return np.where(k == 1, one, np.where(k == 2, two, p / (k - 1 + p)))


def _minimal_uniques(keys: list[Codes]) -> tuple[Array, tuple[float, ...]]:
    """SUDA scores of all records, and the proportion that each key takes part in.

    >>> scores, parts = _minimal_uniques([np.array([2, 1, 1]), np.array([0, 3, 0]),
    ...                                   np.array([0, 6, 0])])
    >>> scores, parts
    (array([2., 4., 2.]), (0.5, 0.375, 0.375))
    """
    many = len(keys)
    scores, parts = np.zeros(len(keys[0])), np.zeros(many)
    found: dict[tuple[int, ...], NDArray[np.bool_]] = {}
    for size in range(1, min(_DEEP, many) + 1):
        # The product is empty if the set is that of all keys: such a unique counts once.
        worth = float(prod(many - i for i in range(size, min(_DEEP, many - 1) + 1)))
        for chosen in combinations(range(many), size):
            classes = together([keys[i] for i in chosen])
            unique = np.bincount(classes)[classes] == 1
            if size < _DEEP:
                found[chosen] = unique
            for i in range(size if size > 1 else 0):
                unique = unique & ~found[(*chosen[:i], *chosen[i + 1 :])]
            scores += worth * unique
            parts[list(chosen)] += worth * int(unique.sum())
    whole = float(scores.sum())
    return scores, tuple((parts / whole).tolist()) if whole else (0.0,) * many
