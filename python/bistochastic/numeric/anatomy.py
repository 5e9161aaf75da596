"""Anatomy: quasi-identifiers in one table, sensitive values in another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core
from bistochastic.numeric import columns as by_name
from bistochastic.numeric.classes import of_columns
from bistochastic.progress import watched
from bistochastic.words import Shown, shown, table, up

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from numpy.typing import NDArray

    from bistochastic._core import Key
    from bistochastic.progress import Progress

_MIND = "This guess uses only the class: columns correlated with the value allow surer guesses."
CLASS = "class"
"""The column that both tables share."""


@dataclass(frozen=True, eq=False, repr=False)
class Anatomy(Shown):
    """Two tables that share a class and nothing else.

    >>> import bistochastic as bs
    >>> people = {"age": [30, 61, 31, 60], "illness": ["flu", "flu", "flu", "gout"]}
    >>> print(bs.masking.anatomize(people, quasi_identifiers=["age"], sensitive=["illness"], k=2))
    4 records in 2 classes, k = 2
    sensitive  surest guess  1/k
    ---------  ------------  ---
    illness               1  0.5
    This guess uses only the class: columns correlated with the value allow surer guesses.
    """

    quasi_identifiers: dict[Any, Any]
    """The columns that others may know, each of the kind it came in, and ``class``."""
    sensitive: dict[Any, Any]
    """``class`` and the sensitive columns, in another order of rows."""
    bounds: dict[Hashable, float]
    """For each sensitive column the probability of the surest guess: the largest share that one
    value has in a class. At least ``1/k``."""
    records: int
    classes: int
    """The number of classes."""
    k: int
    l: int | None  # noqa: E741
    """The number of different values in each class, if it was requested."""

    def __str__(self) -> str:
        # Bounds, never a record.
        asked = {"k": self.k} | ({} if self.l is None else {"l": self.l})
        header = ["sensitive", "surest guess", *(f"1/{name}" for name in asked)]
        least = [up(1 / number, 4) for number in asked.values()]
        rows = [[shown(name), up(bound, 4), *least] for name, bound in self.bounds.items()]
        said = ", ".join(f"{name} = {number}" for name, number in asked.items())
        title = f"{self.records} records in {self.classes} classes, {said}"
        return f"{title}\n{table(header, rows)}\n{_MIND}"

    def __repr__(self) -> str:
        guess = up(max(self.bounds.values()), 4)
        return (
            f"<Anatomy: {self.records} records in {self.classes} classes, surest guess {guess},"
            f" 1/k {up(1 / self.k, 4)}>"
        )


def anatomize(
    columns: Mapping[Any, Any],
    *,
    quasi_identifiers: object,
    sensitive: object,
    k: int,
    l: int | None = None,  # noqa: E741
    key: Key | None = None,
    stream: str | None = None,
    progress: Progress = None,
) -> Anatomy:
    """Divide a table in two: people with their classes, and classes with their sensitive values.

    ``columns`` maps names to columns: arrays, lists or series. ``quasi_identifiers`` and
    ``sensitive`` name some of them. The first table has the quasi-identifiers, unchanged, the
    second the sensitive columns. Both have a column ``class``. Other columns are left out. Rows
    are in a random order and classes have random numbers.

    Anyone who finds a person in the first table knows the class, and guesses its most frequent
    value. With ``k`` records in a class the probability of a right guess is not ``1/k``: if all
    have the same value, the guess is certain. So look at :attr:`Anatomy.bounds`, the probability of
    the surest guess over all classes, or print the result, which shows it next to ``1/k``.

    That guess uses only the class. The quasi-identifiers are unprotected. If they are correlated
    with the sensitive value, as an income is with a tax, they order the people of a class and allow
    surer guesses than any bound here.

    With ``l``, classes hold ``l`` or more records of different values, so no guess by the class is
    surer than ``1/l``. This requires one sensitive column, and ``k`` of at most ``l``; a value in
    more than one of ``l`` records is rejected. These classes are random and ignore the
    quasi-identifiers. Without ``l``, :func:`k_anonymous_classes` makes classes of similar records.

    A row of the second table has the values of one person in all sensitive columns. Anyone who
    knows one of them may find the others.

    With a ``key``, ``stream`` names its use, and the same table gives the same result. Anyone with
    the key can join the two tables again. ``progress``: see :func:`microaggregate`.

    >>> import bistochastic as bs
    >>> people = {
    ...     "age": [25, 62, 27, 60, 26, 61],
    ...     "town": ["A", "B", "A", "B", "A", "B"],
    ...     "illness": ["flu", "gout", "cold", "flu", "flu", "cold"],
    ... }
    >>> tables = bs.masking.anatomize(
    ...     people, quasi_identifiers=["age", "town"], sensitive="illness", k=3,
    ...     key=bs.Key.insecure(1), stream="illnesses",
    ... )
    >>> print(tables)
    6 records in 2 classes, k = 3
    sensitive  surest guess     1/k
    ---------  ------------  ------
    illness          0.6667  0.3334
    This guess uses only the class: columns correlated with the value allow surer guesses.
    >>> tables.quasi_identifiers["class"]
    array([0, 0, 0, 1, 1, 1])
    >>> bs.masking.anatomize(
    ...     people, quasi_identifiers=["age", "town"], sensitive="illness", k=2, l=2
    ... ).bounds
    {'illness': 0.5}
    """
    from bistochastic.adapters import door

    with watched("making classes", progress, ends=True):
        k = _core.as_whole("k", k, 2)
        read, records = by_name.read("columns", columns)
        known = by_name.named("quasi_identifiers", quasi_identifiers, read)
        hidden = by_name.named("sensitive", sensitive, read)
        for i, name in enumerate(hidden):
            if name in known:
                must = "`sensitive` must name other columns than `quasi_identifiers`"
                raise ValueError(f"{must}; got one of them at position {i}")
        if CLASS in (*known, *hidden):
            must = f"`columns` must have no {CLASS!r} among those that are named"
            raise ValueError(f"{must}; got one, which the tables have too")
        if records < k:
            raise ValueError(f"`k` must be at most the number of records, {records}; got {k}")
        codes = {name: _codes(name, read[name]) for name in [*known, *hidden]}
        found = None
        if l is not None:
            l = _core.as_whole("l", l, 2)  # noqa: E741
            _refuse_frequent(codes[hidden[-1]], len(hidden), k, l)
        else:
            found = of_columns(read, records, quasi_identifiers, k).classes
        joined = np.concatenate(list(codes.values()))
        classes, rows, others = _core.anatomy(records, joined, found, k, l, key, stream)
        sizes = np.bincount(classes)
        return Anatomy(
            {**{name: door.leaving(read[name], rows) for name in known}, CLASS: classes[rows]},
            {CLASS: classes[others], **{name: door.leaving(read[name], others) for name in hidden}},
            {name: _surest(classes, sizes, codes[name]) for name in hidden},
            records,
            len(sizes),
            k,
            l,
        )


def _codes(name: object, column: object) -> NDArray[np.int64]:
    title = by_name.title("columns", name)
    return by_name.codes(title, by_name.plain(title, column))[0]


def _refuse_frequent(codes: NDArray[np.int64], columns: int, k: int, l: int) -> None:  # noqa: E741
    if columns != 1:
        raise ValueError(f"`sensitive` must be one column where `l` is given; got {columns}")
    if k > l:
        raise ValueError(f"`k` must be at most `l`, {l}; got {k}")
    n, most = len(codes), int(np.bincount(codes).max())
    if most * l > n:
        must = f"`l` must be at most {n // most}, since each class has a value once"
        if n < l:
            raise ValueError(f"`l` must be at most the number of records, {n}; got {l}")
        got = f"{l} with a value in {most} records, {up(most / (n // l), 4)} per class"
        raise ValueError(f"{must}; got {got}")


def _surest(
    classes: NDArray[np.int64], sizes: NDArray[np.int64], codes: NDArray[np.int64]
) -> float:
    """Find the largest proportion that one code has in a class."""
    values = int(codes.max()) + 1
    pairs, counts = np.unique(classes * values + codes, return_counts=True)
    return float((counts / sizes[pairs // values]).max())
