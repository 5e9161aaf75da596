"""Masking of single records: classes of similar records, Anatomy, and the permutation model.

Arrays go in and come out. Tables with columns of several kinds are mappings of names to columns.

>>> import bistochastic as bs
>>> bs.masking.microaggregate([[1.0], [2.0], [10.0], [11.0]], k=2).sizes.tolist()
[2, 2]
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bistochastic import _core, arguments
from bistochastic._core import Key
from bistochastic.arguments import Array
from bistochastic.errors import Refused, RefusedType
from bistochastic.formatting import Shown, shown, table, up

Wholes = NDArray[np.int64]
Names = Hashable | Iterable[Hashable]

__all__ = [
    "Anatomy", "Classes", "Microaggregation", "PermutationDistance", "ReverseMap", "anatomize",
    "k_anonymous_classes", "microaggregate", "permutation_distance", "reverse_map",
]  # fmt: skip

# A column of numbers for the core; a positive number is the number of a column's codes.
_NUMBER = -1
# The column that both tables of Anatomy share.
_CLASS = "class"
_MIND = "This guess uses only the class: columns correlated with the value allow surer guesses."
# The quantiles of the distances that are printed.
_LEVELS = (0.1, 0.5, 0.9)
_MUST = "be an array of numbers"


@dataclass(frozen=True, eq=False, repr=False)
class Classes(Shown):
    """The class of each record.

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
    overall mean, over the standardized columns that made the classes."""
    combinations: Wholes
    """The number of different records of each class, by the columns that made the classes. This is
    the paper's ``n_l``: ``bs.blocks(combinations)`` is its matrix of k-anonymity, over combinations
    of quasi-identifiers, and ``bs.blocks(sizes)`` the one over records."""

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

    >>> people = {"age": [30, 61, 31, 60], "illness": ["flu", "flu", "flu", "gout"]}
    >>> print(bs.masking.anatomize(people, quasi_identifiers=["age"], sensitive=["illness"], k=2))
    4 records in 2 classes, k = 2
    sensitive  surest guess  1/k
    ---------  ------------  ---
    illness               1  0.5
    This guess uses only the class: columns correlated with the value allow surer guesses.
    """

    quasi_identifiers: dict[Hashable, np.ndarray]
    """The columns that others may know, and ``class``."""
    sensitive: dict[Hashable, np.ndarray]
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

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class ReverseMap(Shown):
    """The original in the order of the masked values, and what is left.

    >>> found = bs.masking.reverse_map([1, 2, 3], [10, 30, 20])
    >>> found
    <ReverseMap of 3 records>
    >>> found.z, found.residual
    (array([1, 3, 2]), array([ 9., 27., 18.]))
    """

    z: np.ndarray
    """The original values with the ranks of the masked ones; as confidential as the original."""
    residual: Array
    """``y - z``: what masking did beyond moving values from one record to another."""

    def __repr__(self) -> str:
        # A repr shows nothing of the original.
        return f"<ReverseMap of {len(self.z)} records>"


@dataclass(frozen=True, eq=False, repr=False)
class PermutationDistance(Shown):
    """The number of ranks that each record was moved by.

    >>> print(bs.masking.permutation_distance([1, 2, 3, 4, 5], [1, 2, 5, 4, 3]))
    5 records, ranks moved
    column  10%  50%  90%  not moved
    ------  ---  ---  ---  ---------
    0         0    0    2        60%
    """

    distances: Array
    """One number for each record, in the shape of the columns."""

    def __str__(self) -> str:
        # Quantiles, never a record.
        columns = self.distances.reshape(len(self.distances), -1)
        rows = []
        for j, column in enumerate(columns.T):
            levels = (f"{level:.6g}" for level in np.quantile(column, _LEVELS))
            rows.append([str(j), *levels, f"{100 * float((column == 0).mean()):.3g}%"])
        header = ["column", *(f"{100 * level:g}%" for level in _LEVELS), "not moved"]
        return f"{len(columns)} records, ranks moved\n{table(header, rows)}"

    __repr__ = __str__


def microaggregate(X: ArrayLike, *, k: int) -> Microaggregation:  # noqa: N803
    """Group ``k`` or more similar records into classes, and compute the mean of each class.

    ``X`` is an array of numbers with one record per row. Columns are standardized first, so each
    counts the same; a constant column counts nothing. One column is divided in the best possible
    way (Hansen and Mukherjee). Several are divided by MDAV: the record farthest from the mean and
    its ``k - 1`` nearest become a class, then the record farthest from that one, and so on. Classes
    hold ``k`` to ``2k - 1`` records. If distances are equal, the earlier record is chosen, so the
    same table always gives the same classes, on any number of threads.

    The classes reveal which values are similar: publish them only with what they protect.
    ``bs.blocks(found.sizes)`` is the matrix that shuffles or averages inside the classes;
    ``found.order`` lists the records in the order of its rows. Many records take minutes.

    >>> incomes = [20.0, 21.0, 50.0, 22.0, 52.0, 51.0, 90.0]
    >>> found = bs.masking.microaggregate(incomes, k=3)
    >>> found
    <Microaggregation: 7 records in 2 classes of 3 to 4, information loss 29.71%>
    >>> found.values
    array([21.  , 21.  , 60.75, 21.  , 60.75, 60.75, 60.75])
    """
    k, given = _core.as_whole("k", k, 2), _vector_or_table("X", X)
    columns = given.reshape(len(given), -1)
    if not columns.shape[1]:
        raise Refused("X", "have at least one column", "none")
    _core.require_memory("X", *columns.shape, 8)
    rows = columns.astype(np.float64)
    found = _group(rows, [_NUMBER] * rows.shape[1], k)
    means = _core.class_means(rows, found.classes, found.sizes)
    return Microaggregation(**vars(found), centroids=means[:, 0] if given.ndim == 1 else means)


def k_anonymous_classes(columns: Mapping[Any, Any], *, quasi_identifiers: Names, k: int) -> Classes:
    """Group ``k`` or more records that are similar in columns of any kind into classes.

    ``columns`` maps names to columns: arrays or lists. ``quasi_identifiers`` names those that
    others may know of a person. Numbers and dates differ by their difference in standard
    deviations; strings, booleans and anything else by 0 if they are equal, else 1. So write numbers
    as strings if only equality counts, and an ordered scale as ranks. The squares of the
    differences are added up. Classes are found as in :func:`microaggregate`, and hold ``k`` to ``2k
    - 1`` records.

    Classes do not protect anything themselves. Hide values inside them, as :func:`anatomize` does,
    or as the matrix ``bs.blocks(found.sizes)`` does for the records in the order ``found.order``.

    >>> people = {
    ...     "age": [25, 62, 27, 60, 26, 61],
    ...     "town": ["A", "B", "A", "B", "A", "A"],
    ... }
    >>> found = bs.masking.k_anonymous_classes(people, quasi_identifiers=["age", "town"], k=3)
    >>> found.classes
    array([0, 1, 0, 1, 0, 1])
    """
    k, read = _core.as_whole("k", k, 2), _columns(columns)
    names = _named("quasi_identifiers", quasi_identifiers, read)
    _core.require_memory("columns", len(read[names[0]]), len(names), 8)
    axes, kinds = [], []
    for name in names:
        plain = _values(_title(name), read[name])
        if plain.dtype.kind in "iufmM":
            numbers = plain.astype(np.int64) if plain.dtype.kind in "mM" else plain
            axes.append(arguments.finite(_title(name), _MUST, numbers).astype(np.float64))
            kinds.append(_NUMBER)
        else:
            codes = _coded(_title(name), plain)
            axes.append(codes.astype(np.float64))
            kinds.append(int(codes.max(initial=0)) + 1)
    return _group(np.stack(axes, axis=1), kinds, k)


def anatomize(
    columns: Mapping[Any, Any],
    *,
    quasi_identifiers: Names,
    sensitive: Names,
    k: int,
    l: int | None = None,  # noqa: E741
    key: Key | None = None,
    stream: str | None = None,
) -> Anatomy:
    """Divide a table in two: people with their classes, and classes with their sensitive values.

    ``columns`` maps names to columns: arrays or lists. The first table has the
    ``quasi_identifiers``, unchanged, the second the ``sensitive`` columns. Both have a column
    ``class``. Rows are in a random order and classes have random numbers.

    Anyone who finds a person in the first table knows the class, and guesses its most frequent
    value. With ``k`` records in a class the probability of a right guess is not ``1/k``: if all
    have the same value, the guess is certain. So look at :attr:`Anatomy.bounds`, the probability of
    the surest guess over all classes, or print the result, which shows it next to ``1/k``.

    The quasi-identifiers are unprotected. If they are correlated with the sensitive value, as an
    income is with a tax, they allow surer guesses than any bound here.

    With ``l``, classes hold ``l`` or more records of different values, so no guess by the class is
    surer than ``1/l``. This requires one sensitive column, and ``k`` of at most ``l``; a value in
    more than one of ``l`` records is rejected. These classes are random and ignore the
    quasi-identifiers. Without ``l``, :func:`k_anonymous_classes` makes classes of similar records.

    With a ``key``, ``stream`` names its use, and the same table gives the same result. Anyone with
    the key can join the two tables again.

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
    """
    k = _core.as_whole("k", k, 2)
    read = _columns(columns)
    records = len(next(iter(read.values())))
    known = _named("quasi_identifiers", quasi_identifiers, read)
    hidden = _named("sensitive", sensitive, read)
    if both := [i for i, name in enumerate(hidden) if name in known]:
        must = "name other columns than `quasi_identifiers`"
        raise Refused("sensitive", must, f"one of them at position {both[0]}")
    if _CLASS in (*known, *hidden):
        must = f"have no {_CLASS!r} among those that are named"
        raise Refused("columns", must, "one, which the tables have too")
    if records < k:
        raise Refused("k", f"be at most the number of records, {records}", k)
    plain = {name: _values(_title(name), read[name]) for name in [*known, *hidden]}
    codes = {name: _coded(_title(name), each) for name, each in plain.items()}
    found = None
    if l is not None:
        l = _core.as_whole("l", l, 2)  # noqa: E741
        if len(hidden) != 1:
            raise Refused("sensitive", "be one column where `l` is given", len(hidden))
        if k > l:
            raise Refused("k", f"be at most `l`, {l}", k)
        if records < l:
            raise Refused("l", f"be at most the number of records, {records}", l)
        most = int(np.bincount(codes[hidden[0]]).max())
        if most * l > records:
            got = f"{l} with a value in {most} records, {up(most / (records // l), 4)} per class"
            must = f"be at most {records // most}, since each class has a value once"
            raise Refused("l", must, got)
    else:
        found = k_anonymous_classes(read, quasi_identifiers=known, k=k).classes
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


def reverse_map(x: ArrayLike, y: ArrayLike) -> ReverseMap:
    """Compute ``z``, the original in the order of the masked values, and the residual ``y - z``.

    ``x`` is the original and ``y`` the masked version, record by record: vectors, or tables, which
    are treated column by column. ``z[i]`` is the value of ``x`` with the same rank as ``y[i]``
    (Appendix A.2 of the paper). So any masking is a permutation, ``x`` to ``z``, followed by a
    residual that does not change any rank. If the residual is small, only the permutation protects.

    Records with equal ``y`` are ordered by ``x``, so ties never look like protection. A release
    that has the values of the original in another order is its own ``z``.

    >>> incomes = [20_000, 31_000, 54_000, 90_000]
    >>> masked = [20_500, 90_100, 31_000, 53_900]
    >>> found = bs.masking.reverse_map(incomes, masked)
    >>> found.z, found.residual
    (array([20000, 90000, 31000, 54000]), array([ 500.,  100.,    0., -100.]))
    """
    original, masked = _same_shape(x, y)
    z = _reverse(original, masked)
    return ReverseMap(z, masked.astype(np.float64) - z)


def permutation_distance(x: ArrayLike, y: ArrayLike) -> PermutationDistance:
    """Compute by how many ranks masking moved each record: ``|rank(x[i]) - rank(z[i])|``.

    :func:`reverse_map` explains ``x``, ``y`` and ``z``. Equal values have the mean of their ranks,
    in ``x`` and in ``z``: a record whose value did not change was not moved, and the order of the
    file does not matter. Print the result for quantiles.

    >>> bs.masking.permutation_distance([10, 20, 20, 30], [10, 30, 20, 20]).distances
    array([0. , 1.5, 0. , 1.5])
    """
    original, masked = _same_shape(x, y)
    both = np.stack([original, _reverse(original, masked)]).reshape(2, len(original), -1)
    distances = np.empty(both.shape[1:])
    for j, ordered in enumerate(np.sort(both[0], axis=0).T):
        # Twice the mean rank of equal values, less 1.
        left, right = (np.searchsorted(ordered, both[:, :, j], side) for side in ("left", "right"))
        distances[:, j] = np.abs(np.diff(left + right, axis=0)[0]) / 2
    return PermutationDistance(distances.reshape(original.shape))


def _reverse(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    z = np.empty_like(x)
    # The last key is the first to count; the sort is stable.
    np.put_along_axis(z, np.lexsort((x, y), axis=0), np.sort(x, axis=0), axis=0)
    return z


def _same_shape(x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    original, masked = _vector_or_table("x", x), _vector_or_table("y", y)
    if original.shape != masked.shape:
        raise Refused("y", f"have the shape of `x`, {original.shape}", masked.shape)
    if not original.size:
        raise Refused("x", "hold at least one number", "none")
    return original, masked


def _vector_or_table(name: str, given: object) -> np.ndarray:
    plain = arguments.finite(name, _MUST, given)
    if plain.ndim not in (1, 2):
        raise Refused(name, "have one or two axes", plain.ndim)
    return plain


def _group(rows: Array, kinds: list[int], k: int) -> Classes:
    if len(rows) < k:
        raise Refused("k", f"be at most the number of records, {len(rows)}", k)
    classes, sizes, loss = _core.group(rows, kinds, k)
    seen = classes
    for column in rows.T:
        codes = np.unique(column, return_inverse=True)[1]
        seen = np.unique(seen * (codes.max() + 1) + codes, return_inverse=True)[1]
    different = np.bincount(classes[np.unique(seen, return_index=True)[1]]).astype(np.int64)
    return Classes(classes, sizes, k, loss, different)


def _columns(given: object) -> Mapping[Hashable, Any]:
    must = "map names to columns"
    if not isinstance(given, Mapping):
        raise RefusedType("columns", must, type(given).__name__)
    try:
        lengths = {len(column) for column in given.values()}
    except TypeError:
        raise RefusedType("columns", must, "a column without a length") from None
    if len(lengths) != 1:
        got = f"{min(lengths)} and {max(lengths)}" if lengths else "none"
        raise Refused("columns", f"{must} of one length", got)
    return given


def _title(name: object) -> str:
    """Name a column in a sentence, if its name is a string or a number."""
    return f"columns[{shown(repr(name)) if type(name) in (str, int) else '...'}]"


def _values(name: str, column: Any) -> np.ndarray:
    """Read a column as an array with one axis and nothing missing."""
    if isinstance(column, list | tuple) and not {int, float}.issuperset(map(type, column)):
        # NumPy would convert numbers that are next to strings to strings.
        found = np.fromiter(column, dtype=object, count=len(column))
    else:
        found = arguments.array(name, "be a column of values", column)
    if found.ndim != 1:
        raise Refused(name, "hold one value for each record", f"{found.ndim} axes")
    arguments.refuse(name, "missing values", arguments.lost(found))
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
    must, alone = "name columns", isinstance(given, str | int)
    names = [given] if alone else arguments.items(argument, must, given, unordered=True)
    if not names:
        raise Refused(argument, must, "none")
    for i, name in enumerate(names):
        if not isinstance(name, Hashable) or name not in columns:
            got = shown(repr(name)) if type(name) is str else type(name).__name__
            raise Refused(argument, must, f"{got} at position {i}")
        if name in names[:i]:
            raise Refused(argument, f"{must}, each once", f"one again at position {i}")
    return names
