"""Classes of records that are close to each other, k or more in each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core, arguments
from bistochastic.numeric import columns as by_name
from bistochastic.progress import watched
from bistochastic.words import Shown

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from bistochastic.arguments import Array
    from bistochastic.progress import Progress

    Wholes = NDArray[np.int64]

# The kind of a column for the core; a positive number is the number of its codes.
_NUMBER, _SCALED = -1, 0


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
        return (
            f"<{type(self).__name__}: {len(self.classes)} records in {len(self.sizes)} class"
            f"{'es' * (len(self.sizes) > 1)} of {sizes}, information loss"
            f" {self.information_loss:.4g}%>"
        )


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

    Many records take minutes. After two seconds a terminal or a notebook shows that the work goes
    on; ``progress=True`` shows it at once, ``False`` never. A ``progress`` function is called only
    at the end, with 1, because the progress in between is not known.

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
        given = _numbers(X)
        if given.ndim not in (1, 2):
            raise ValueError(f"`X` must have one or two axes; got {given.ndim}")
        table = given if given.ndim == 2 else given[:, None]
        if not table.shape[1]:
            raise ValueError("`X` must have at least one column; got none")
        rows = _rows("X", table.shape)
        rows[:] = table
        found = _group(rows, [_NUMBER] * rows.shape[1], k)
        means = _core.class_means(rows, found.classes, found.sizes)
    centroids = means if given.ndim == 2 else means[:, 0]
    centroids.setflags(write=False)
    return Microaggregation(**vars(found), centroids=centroids)


def _numbers(given: object) -> np.ndarray:
    """Read a table of numbers."""
    if not isinstance(given, Mapping):
        return by_name.finite("X", given)
    columns, _ = by_name.read("X", given)
    return np.stack([by_name.numbers("X", *each) for each in columns.items()], axis=1)


def k_anonymous_classes(
    columns: Mapping[Any, Any], *, quasi_identifiers: object, k: int, progress: Progress = None
) -> Classes:
    """Group ``k`` or more records that are similar in columns of any kind into classes.

    ``columns`` maps names to columns: arrays, lists or series. ``quasi_identifiers`` names those
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
        read, records = by_name.read("columns", columns)
        return of_columns(read, records, quasi_identifiers, k)


def of_columns(
    columns: Mapping[Hashable, Any], records: int, quasi_identifiers: object, k: int
) -> Classes:
    """Do the same for columns that were read already."""
    names = by_name.named("quasi_identifiers", quasi_identifiers, columns)
    rows = _rows("columns", (records, len(names)))
    kinds = []
    for j, name in enumerate(names):
        how = quasi_identifiers[name] if isinstance(quasi_identifiers, Mapping) else None
        rows[:, j], kind = _axis(by_name.title("columns", name), columns[name], how)
        kinds.append(kind)
    return _group(rows, kinds, k)


def _rows(what: str, shape: tuple[int, ...]) -> Array:
    _core.require_memory(what, shape[0], shape[1], 8)
    return np.empty(shape)


def _group(rows: Array, kinds: list[int], k: int) -> Classes:
    if len(rows) < k:
        raise ValueError(f"`k` must be at most the number of records, {len(rows)}; got {k}")
    classes, sizes, loss = _core.group(rows, kinds, k)
    different = _combinations(rows, classes)
    for array in (classes, sizes, different):
        array.setflags(write=False)
    return Classes(classes, sizes, k, loss, different)


def _combinations(rows: Array, classes: Wholes) -> Wholes:
    """Count the different rows of each class."""
    seen = classes
    for column in rows.T:
        codes = np.unique(column, return_inverse=True)[1]
        seen = np.unique(seen * (codes.max() + 1) + codes, return_inverse=True)[1]
    return np.bincount(classes[np.unique(seen, return_index=True)[1]]).astype(np.int64)


def _axis(name: str, column: Any, how: object) -> tuple[np.ndarray, int]:
    """Convert a column to numbers, and say what kind they are."""
    plain = by_name.plain(name, column)
    if how is not None and not isinstance(how, str):
        levels = arguments.items("quasi_identifiers", "list categories", how)
        return _on_scale(name, plain, levels), _SCALED
    if how is not None:
        arguments.one_of("quasi_identifiers", how, ("number", "nominal"))
    if plain.dtype.kind in "mM":
        plain = plain.astype(np.int64)
    if how == "number" or (how is None and plain.dtype.kind in "iuf"):
        return by_name.finite(name, plain).astype(np.float64), _NUMBER
    codes, many = by_name.codes(name, plain)
    return codes, max(many, 1)


def _on_scale(name: str, plain: np.ndarray, levels: list[object]) -> Array:
    """Compute ranks from 0 to 1 among ordered categories."""
    must = f"`{name}` must hold the categories that are listed for it"
    try:
        ranks = {level: i for i, level in enumerate(levels)}
    except TypeError:
        raise TypeError(f"{must}; got a list of categories that cannot be compared") from None
    if len(ranks) != len(levels) or not levels:
        got = "a category twice" if levels else "no categories"
        raise ValueError(f"{must}, each once; got {got}")
    found = np.empty(len(plain))
    for i, value in enumerate(plain.tolist()):
        try:
            found[i] = ranks[value]
        except (KeyError, TypeError):
            raise ValueError(f"{must}; got an undeclared one at position {i}") from None
    return found / max(len(levels) - 1, 1)
