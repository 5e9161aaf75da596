"""Masking of single records: classes of similar records, Anatomy, and the permutation model.

Columns are arrays, or a mapping of names to arrays; whatever comes back is an array, too.

>>> import bistochastic as bs
>>> bs.masking.microaggregate([[1.0], [2.0], [10.0], [11.0]], k=2).sizes.tolist()
[2, 2]
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bistochastic import _core, arguments
from bistochastic._core import Key
from bistochastic.arguments import Array
from bistochastic.errors import Refused, RefusedType
from bistochastic.formatting import Shown, shown, table, up
from bistochastic.permutation_model import (
    PermutationDistance,
    ReverseMap,
    finite,
    numbers_by_name,
    permutation_distance,
    read_columns,
    refuse,
    reverse_map,
    single,
    title,
)
from bistochastic.progress import Progress, watched

Wholes = NDArray[np.int64]

__all__ = [
    "Anatomy", "Classes", "Microaggregation", "PermutationDistance", "ReverseMap", "anatomize",
    "k_anonymous_classes", "microaggregate", "permutation_distance", "reverse_map",
]  # fmt: skip

# The kind of a column for the core; a positive number is the number of its codes.
_NUMBER, _SCALED = -1, 0
# The column that both tables of Anatomy share.
_CLASS = "class"
_MIND = "This guess uses only the class: columns correlated with the value allow surer guesses."


@dataclass(frozen=True, eq=False, repr=False)
class Classes(Shown):
    """The class of each record.

    >>> import bistochastic as bs
    >>> people = {"age": [30, 61, 31, 60], "sex": ["f", "m", "f", "m"]}
    >>> found = bs.masking.k_anonymous_classes(people, quasi_identifiers=["age", "sex"], k=2)
    >>> found
    <Classes: 4 records in 2 classes of 2, information loss 0.08324%>
    >>> found.classes, found.sizes, found.order
    (array([0, 1, 0, 1]), array([2, 2]), array([0, 2, 1, 3]))
    """

    classes: Wholes
    """The class of each record. Classes are numbered as they first occur in the file."""
    sizes: Wholes
    """The number of records of each class."""
    k: int
    """The requested smallest number of records per class."""
    information_loss: float
    """100 SSE/SST: squared distances to the class means, in percent of the squared distances to the
    overall mean, over the standardized columns that made the classes. 0 if every class holds equal
    records, 100 for one class."""
    combinations: Wholes
    """The number of different records of each class, by the columns that made the classes. This is
    the paper's ``n_l``: ``bs.blocks(combinations)`` is its matrix of k-anonymity, over combinations
    of quasi-identifiers, and ``bs.blocks(sizes)`` the one over records, which hides at least ``log2
    k`` bits. In a class of equal records nothing is exchanged but equal values."""

    @property
    def order(self) -> Wholes:
        """The records class by class: position ``i`` of ``bs.blocks(sizes)`` is record
        ``order[i]``."""
        return np.argsort(self.classes, kind="stable").astype(np.int64)

    def __repr__(self) -> str:
        sizes = " to ".join(map(str, sorted({int(self.sizes.min()), int(self.sizes.max())})))
        made = f"{len(self.sizes)} class{'es' * (len(self.sizes) > 1)} of {sizes}"
        loss = f"information loss {self.information_loss:.4g}%"
        return f"<{type(self).__name__}: {len(self.classes)} records in {made}, {loss}>"


@dataclass(frozen=True, eq=False, repr=False)
class Microaggregation(Classes):
    """Classes and their means.

    >>> import bistochastic as bs
    >>> found = bs.masking.microaggregate([1.0, 9.0, 2.0, 8.0], k=2)
    >>> found.centroids, found.values
    (array([1.5, 8.5]), array([1.5, 8.5, 1.5, 8.5]))
    """

    centroids: Array
    """The mean of each class, a row for each, in the units of the original."""

    @property
    def values(self) -> Array:
        """The table to release, an array: every record replaced by the mean of its class."""
        return self.centroids[self.classes]


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

    quasi_identifiers: dict[Any, np.ndarray]
    """The columns that others may know, and ``class``."""
    sensitive: dict[Any, np.ndarray]
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
        guess = f"surest guess {up(max(self.bounds.values()), 4)}, 1/k {up(1 / self.k, 4)}"
        return f"<Anatomy: {self.records} records in {self.classes} classes, {guess}>"


def microaggregate(X: object, *, k: int, progress: Progress = None) -> Microaggregation:  # noqa: N803
    """Group ``k`` or more similar records into classes, and compute the mean of each class.

    ``X`` holds one record per row: an array of numbers, or a mapping of names to columns. Columns
    are standardized first, so each counts the same; a constant column counts nothing. One column is
    divided in the best possible way (Hansen and Mukherjee). Several are divided by MDAV: the record
    farthest from the mean and its ``k - 1`` nearest become a class, then the record farthest from
    that one, and so on. Classes hold ``k`` to ``2k - 1`` records. If distances are equal, the
    earlier record is chosen, so the same table always gives the same classes, on any number of
    threads.

    The classes reveal which values are similar, so they depend on the data: publish them only with
    what they protect. ``bs.blocks(found.sizes)`` is the matrix that shuffles or averages inside the
    classes; ``found.order`` lists the records in the order of its rows.

    NaN, fewer than ``k`` records and ``k`` below 2 raise ``ValueError``.

    Many records take minutes. A ``progress`` function is called only at the end, with 1, because
    the progress in between is not known.

    >>> import bistochastic as bs
    >>> incomes = [20.0, 21.0, 50.0, 22.0, 52.0, 51.0, 90.0]
    >>> found = bs.masking.microaggregate(incomes, k=3)
    >>> found
    <Microaggregation: 7 records in 2 classes of 3 to 4, information loss 29.71%>
    >>> found.values
    array([21.  , 21.  , 60.75, 21.  , 60.75, 60.75, 60.75])
    >>> m = bs.blocks(found.sizes)
    >>> bool((m.average(np.array(incomes), order=found.order) == found.values).all())
    True
    """
    k = _core.as_whole("k", k, 2)
    with watched("making classes", progress, ends=True):
        columns, shape = numbers_by_name("X", X)
        if not columns:
            raise Refused("X", "have at least one column", "none")
        _core.require_memory("X", shape[0], len(columns), 8)
        rows = np.stack([column.astype(np.float64) for column in columns.values()], axis=1)
        found = _group(rows, [_NUMBER] * len(columns), k)
        means = _core.class_means(rows, found.classes, found.sizes)
    centroids = means[:, 0] if len(shape) == 1 else means
    centroids.setflags(write=False)
    return Microaggregation(**vars(found), centroids=centroids)


def k_anonymous_classes(
    columns: Mapping[Any, Any], *, quasi_identifiers: object, k: int, progress: Progress = None
) -> Classes:
    """Group ``k`` or more records that are similar in columns of any kind into classes.

    ``columns`` maps names to columns: arrays or lists. ``quasi_identifiers`` names those
    that others may know of a person. The type of a column decides how it counts:

    ===========  ====================================  =========================================
    a column of  is                                    two records differ by
    ===========  ====================================  =========================================
    numbers      numbers, dates                        the difference, in standard deviations
    nominal      strings, booleans, anything else      0 if they are equal, else 1
    ordinal      values whose categories you list      the difference of ranks, from 0 to 1
    ===========  ====================================  =========================================

    To override this, give a dictionary: ``{"zip": "nominal", "school": ["none", "primary",
    "degree"]}`` treats numbers as names, and strings as an ordered scale. The squares of the
    differences are added up. Classes are found as in :func:`microaggregate`, and hold ``k`` to ``2k
    - 1`` records. ``progress``: see :func:`microaggregate`.

    Classes do not protect anything themselves. Hide values inside them, as :func:`anatomize` does,
    or as the matrix ``bs.blocks(found.sizes)`` does for the records in the order ``found.order``.

    >>> import bistochastic as bs
    >>> people = {
    ...     "age": [25, 62, 27, 60, 26, 61],
    ...     "school": ["degree", "none", "degree", "primary", "primary", "none"],
    ... }
    >>> scale = ["none", "primary", "degree"]
    >>> found = bs.masking.k_anonymous_classes(
    ...     people, quasi_identifiers={"age": "number", "school": scale}, k=3
    ... )
    >>> found.classes
    array([0, 1, 0, 1, 0, 1])
    """
    k = _core.as_whole("k", k, 2)
    with watched("making classes", progress, ends=True):
        return _of_columns(read_columns("columns", columns), quasi_identifiers, k)


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

    ``columns`` maps names to columns: arrays or lists. ``quasi_identifiers`` and
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
    with watched("making classes", progress, ends=True):
        k = _core.as_whole("k", k, 2)
        read = read_columns("columns", columns)
        records = len(next(iter(read.values())))
        known = _named("quasi_identifiers", quasi_identifiers, read)
        hidden = _named("sensitive", sensitive, read)
        for i, name in enumerate(hidden):
            if name in known:
                must = "name other columns than `quasi_identifiers`"
                raise Refused("sensitive", must, f"one of them at position {i}")
        if _CLASS in (*known, *hidden):
            must = f"have no {_CLASS!r} among those that are named"
            raise Refused("columns", must, "one, which the tables have too")
        if records < k:
            raise Refused("k", f"be at most the number of records, {records}", k)
        plain = {name: _values(title("columns", name), read[name]) for name in [*known, *hidden]}
        codes = {name: _coded(title("columns", name), each) for name, each in plain.items()}
        found = None
        if l is not None:
            l = _core.as_whole("l", l, 2)  # noqa: E741
            _refuse_frequent(codes[hidden[-1]], len(hidden), k, l)
        else:
            found = _of_columns(read, quasi_identifiers, k).classes
        joined = np.concatenate(list(codes.values()))
        classes, rows, others = _core.anatomy(records, joined, found, k, l, key, stream)
        sizes = np.bincount(classes)
        one = {**{name: plain[name][rows] for name in known}, _CLASS: classes[rows]}
        other = {_CLASS: classes[others], **{name: plain[name][others] for name in hidden}}
        bounds = {}
        for name in hidden:
            values = int(codes[name].max()) + 1
            pairs, counts = np.unique(classes * values + codes[name], return_counts=True)
            bounds[name] = float((counts / sizes[pairs // values]).max())
        return Anatomy(one, other, bounds, records, len(sizes), k, l)


def _group(rows: Array, kinds: list[int], k: int) -> Classes:
    if len(rows) < k:
        raise Refused("k", f"be at most the number of records, {len(rows)}", k)
    classes, sizes, loss = _core.group(rows, kinds, k)
    seen = classes
    for column in rows.T:
        codes = np.unique(column, return_inverse=True)[1]
        seen = np.unique(seen * (codes.max() + 1) + codes, return_inverse=True)[1]
    different = np.bincount(classes[np.unique(seen, return_index=True)[1]]).astype(np.int64)
    for array in (classes, sizes, different):
        array.setflags(write=False)
    return Classes(classes, sizes, k, loss, different)


def _of_columns(columns: Mapping[Hashable, Any], quasi_identifiers: object, k: int) -> Classes:
    names = _named("quasi_identifiers", quasi_identifiers, columns)
    _core.require_memory("columns", len(columns[names[0]]), len(names), 8)
    ways = quasi_identifiers if isinstance(quasi_identifiers, Mapping) else {}
    axes = [_scaled(title("columns", name), columns[name], ways.get(name)) for name in names]
    rows = np.stack([axis.astype(np.float64) for axis, _ in axes], axis=1)
    return _group(rows, [kind for _, kind in axes], k)


def _scaled(name: str, column: Any, how: object) -> tuple[np.ndarray, int]:
    plain = _values(name, column)
    if how is not None and not isinstance(how, str):
        levels = arguments.items("quasi_identifiers", "list categories", how)
        return _on_scale(name, plain, levels), _SCALED
    if how is not None:
        arguments.one_of("quasi_identifiers", how, ("number", "nominal"))
    if plain.dtype.kind in "mM":
        plain = plain.astype(np.int64)
    if how == "number" or (how is None and plain.dtype.kind in "iuf"):
        return finite(name, plain).astype(np.float64), _NUMBER
    codes = _coded(name, plain)
    return codes, int(codes.max(initial=0)) + 1


def _on_scale(name: str, plain: np.ndarray, levels: list[object]) -> Array:
    must = "hold the categories that are listed for it"
    try:
        ranks = {level: i for i, level in enumerate(levels)}
    except TypeError:
        raise RefusedType(name, must, "a list of categories that cannot be compared") from None
    if len(ranks) != len(levels) or not levels:
        got = "a category twice" if levels else "no categories"
        raise Refused(name, f"{must}, each once", got)
    given = (x if isinstance(x, Hashable) else None for x in plain.tolist())
    found = np.array([ranks.get(value, -1) for value in given])
    if (found < 0).any():
        raise Refused(name, must, f"an undeclared one at position {int((found < 0).argmax())}")
    return found / max(len(levels) - 1, 1)


def _refuse_frequent(codes: Wholes, columns: int, k: int, l: int) -> None:  # noqa: E741
    if columns != 1:
        raise Refused("sensitive", "be one column where `l` is given", columns)
    if k > l:
        raise Refused("k", f"be at most `l`, {l}", k)
    n, most = len(codes), int(np.bincount(codes).max())
    if most * l > n:
        if n < l:
            raise Refused("l", f"be at most the number of records, {n}", l)
        got = f"{l} with a value in {most} records, {up(most / (n // l), 4)} per class"
        raise Refused("l", f"be at most {n // most}, since each class has a value once", got)


def _values(name: str, column: Any) -> np.ndarray:
    """Read a column as an array with one axis and nothing missing."""
    if isinstance(column, list | tuple) and not {int, float}.issuperset(map(type, column)):
        # NumPy would convert numbers that are next to strings to strings.
        found = np.fromiter(column, dtype=object, count=len(column))
    else:
        found = single(name, arguments.array(name, "be a column of values", column))
    if found.dtype.kind == "O":
        items = (item is None or (isinstance(item, float) and item != item) for item in found)
        refuse(name, "missing values", np.fromiter(items, dtype=bool, count=len(found)))
    elif found.dtype.kind in "fmM":
        refuse(name, "missing values", np.isnan(found))
    # Another type is all that a dtype may say of a column.
    return found if found.dtype.metadata is None else found.astype(found.dtype.str)


def _coded(name: str, column: np.ndarray) -> Wholes:
    if column.dtype.kind in "biufmM":
        return np.unique(column, return_inverse=True)[1].astype(np.int64)
    known: dict[object, int] = {}
    found = np.empty(len(column), dtype=np.int64)
    for i, value in enumerate(column.tolist()):
        try:
            found[i] = known.setdefault(value, len(known))
        except TypeError:
            must = "hold values that can be compared"
            raise RefusedType(name, must, f"{type(value).__name__} at position {i}") from None
    return found


def _named(argument: str, given: object, columns: Mapping[Hashable, object]) -> list[Hashable]:
    must, single = "name columns", isinstance(given, str | int)
    names = [given] if single else arguments.items(argument, must, given, unordered=True)
    if not names:
        raise Refused(argument, must, "none")
    for i, name in enumerate(names):
        try:
            known, again = name in columns, name in names[:i]
        except (TypeError, ValueError):
            known = again = False
        if not known:
            got = shown(repr(name)) if type(name) is str else type(name).__name__
            raise Refused(argument, must, f"{got} at position {i}")
        if again:
            raise Refused(argument, f"{must}, each once", f"one again at position {i}")
    return names
