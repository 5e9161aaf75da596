"""Both tables as codes: true and reported values of attributes, unprotected columns, numbers.

All arrays are in the order of the release.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import structure
from bistochastic.adapters.results import levels
from bistochastic.labels import key
from bistochastic.plan.attributes import Categorical, Joint, Numeric, prefix
from bistochastic.tables.question import digits
from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from bistochastic.adapters.frames import Table
    from bistochastic.audit.pairing import Pairs
    from bistochastic.matrix import Matrix
    from bistochastic.plan.plan import Plan

    Array = NDArray[np.float64]
    Codes = NDArray[np.intp]
    Mask = NDArray[np.bool_]

# Tables of a law, over the truths that occur and all reports, have at most so many entries.
_ENTRIES = 1 << 25
# A guess looks at every pair of a truth and a report that occur.
_PAIRS = 1 << 32
# Permuted numbers are told apart by so many classes of neighbouring ranks.
CLASSES = 64


UNPAIRED = (
    "success on this release: its rows were shuffled, and no columns pair them with the original. "
    "All rates are predicted, from new draws of the same plan that are not stored"
)


@dataclass(frozen=True, eq=False)
class Channel:
    """One attribute: from truths, numbered as they occur, to reports, by the law of a group."""

    columns: tuple[str, ...]
    occurring: Codes
    """The code of each truth that occurs."""
    truths: Codes
    reports: Codes
    answered: Mask | None
    groups: Codes | None
    size: int
    tables: Array | None
    """Per group, truths that occur by reports."""
    two: tuple[tuple[float, float], ...]
    """Per group the entry on the diagonal and elsewhere, if there is no table."""
    attribute: Categorical | Joint | None = None
    draws: Codes | None = None
    """Records with the same number share their noise; None if every record has its own."""

    @property
    def sharing(self) -> int:
        """How many records share one draw of the noise, at most."""
        return 1 if self.draws is None else int(np.bincount(self.draws).max())

    @property
    def kinds(self) -> int:
        """How many truths occur."""
        return len(self.occurring)

    @property
    def laws(self) -> int:
        """How many groups there are."""
        return len(self.two) if self.tables is None else len(self.tables)

    def column(self, group: int, report: int) -> Array:
        """The chance of a report under each truth."""
        if self.tables is not None:
            return np.asarray(self.tables[group, :, report])
        on, off = self.two[group]
        found = np.full(self.kinds, off)
        place = int(np.searchsorted(self.occurring, report))
        if place < self.kinds and self.occurring[place] == report:
            found[place] = on
        return found

    def own(self) -> Array:
        """The chance of each report under the truth of its row, if there is an answer."""
        inside = slice(None) if self.answered is None else self.answered
        truths, reports = self.truths[inside], self.reports[inside]
        groups = 0 if self.groups is None else self.groups[inside]
        if self.tables is not None:
            return np.asarray(self.tables[groups, truths, reports])
        entries = np.array(self.two)[groups]
        return np.where(self.occurring[truths] == reports, entries[..., 0], entries[..., 1])


@dataclass(frozen=True, eq=False)
class Clear:
    """A column that everybody sees: codes, how many there are, and whether they are numbers."""

    name: str
    codes: Codes
    size: int
    numbers: Array | None


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers before and after."""

    attribute: Numeric
    true: Array
    released: Array

    @property
    def name(self) -> str:
        """The column."""
        return self.attribute.column


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that is attacked."""

    rows: int
    channels: tuple[Channel, ...]
    clear: tuple[Clear, ...]
    numbers: tuple[Numbers, ...]
    laws_of: tuple[str, ...]
    """Unprotected columns that choose laws."""
    notes: tuple[str, ...]
    added: tuple[Clear, ...] = ()
    """Columns that the release alone has, so that nobody can be traced by them."""
    unforeseen: tuple[str, ...] = ()
    """A sentence for each column in the release that the plan does not put there."""
    ordered: bool = True
    """Whether the order of the rows is that of the release."""


def gather_evidence(pairs: Pairs, plan: Plan, tell: Callable[[float], None]) -> Evidence:
    """Read both tables. Rows that nothing pairs are read from the original, to be drawn anew."""
    rows = pairs.original.rows
    notes: list[str] = []
    if pairs.how == "nothing":
        notes.append(UNPAIRED)
    channels, numbers = [], []
    _present(pairs, plan)
    for done, attribute in enumerate(plan.attributes):
        tell(done / len(plan.attributes))
        if attribute.whole_column:
            if pairs.how == "nothing":
                notes.append(f"{prefix(attribute.columns)}numbers in an unknown order")
            else:
                numbers.append(_numbers(pairs, attribute))
            continue
        made = _channel(pairs, attribute)
        if made is None:
            notes.append(f"{prefix(attribute.columns)}too many cells to be attacked")
        else:
            channels.append(made)
    protected = plan._protected
    clear, added, unforeseen = [], [], []
    for name in pairs.released.names:
        if name in protected or name == pairs.pseudonym:
            continue
        if name not in pairs.original.names:
            if pairs.how != "nothing":
                added.append(_read_seen(name, *levels(pairs.released, name)))
            unforeseen.append(f"`{shown(name)}` is in the release, but not in the original")
            continue
        clear.append(_clear(pairs, name))
        if name in plan.drop:
            unforeseen.append(f"`{shown(name)}` is in the release, though the plan leaves it out")
        elif plan.keep != "*" and name not in plan.keep:
            unforeseen.append(
                f"`{shown(name)}` is in the release, though the plan does not keep it"
            )
    groups = [e.groups.column for e in plan.attributes if e.groups is not None]
    return Evidence(
        rows, tuple(channels), tuple(clear), tuple(numbers), tuple(dict.fromkeys(groups)),
        tuple(notes), tuple(added), tuple(unforeseen), pairs.how != "nothing",
    )  # fmt: skip


def _present(pairs: Pairs, plan: Plan) -> None:
    """Both tables have the columns of the plan."""
    for table, where in ((pairs.original, "original"), (pairs.released, "released")):
        for attribute in plan.attributes:
            needed = list(attribute.columns)
            if attribute.groups is not None:
                needed.append(attribute.groups.column)
            if attribute.unit is not None and table is pairs.original:
                needed.append(attribute.unit)
            for column in needed:
                if column not in table.names:
                    raise ValueError(
                        f"{prefix([column])}must be in `{where}`; got none of that name"
                    )


@contextmanager
def _meant(where: str) -> Iterator[None]:
    """Say in the sentence of an error which of the two tables is meant."""
    try:
        yield
    except (ValueError, TypeError) as error:
        must, got, fact = str(error).rpartition("; got ")
        if got:
            error.args = (f"{must} in `{where}`{got}{fact}",)
        raise


def _numbers(pairs: Pairs, attribute: Numeric) -> Numbers:
    with _meant("original"):
        true = pairs.moved(attribute._read(pairs.original).values).astype(np.float64)
    with _meant("released"):
        released = attribute._read(pairs.released).values.astype(np.float64)
    if attribute.how == "permute" and not np.array_equal(np.sort(true), np.sort(released)):
        must = "must hold the numbers of `original` in `released`, as they were permuted"
        raise ValueError(f"{prefix(attribute.columns)}{must}; got different ones")
    far = _far(true)
    return Numbers(attribute, np.ldexp(true, far), np.ldexp(released, far))


def _far(values: Array) -> int:
    """The power of two that brings very large or small numbers to where their squares are numbers.

    Nothing that is told of a column depends on its unit.
    """
    exponent = int(np.frexp(np.abs(values).max(initial=0.0))[1])
    return -exponent if abs(exponent) > 400 else 0


def _channel(pairs: Pairs, attribute: Categorical | Joint) -> Channel | None:
    with _meant("original"):
        before = attribute._encode(pairs.original)
    after = before
    if pairs.how != "nothing":
        with _meant("released"):
            after = attribute._encode(pairs.released, released=True)
    truths, missing = pairs.moved(before.codes), pairs.moved(before.missing)
    none = np.zeros(len(truths), bool)
    differ = (none if missing is None else missing) != (
        none if after.missing is None else after.missing
    )
    if differ.any():
        must = "must be missing in the same rows of `original` and `released`"
        raise ValueError(f"{prefix(attribute.columns)}{must}; got {_others(differ)}")
    occurring, codes = np.unique(truths, return_inverse=True)
    groups = None if after.groups is None else after.groups.astype(np.intp)
    tables, two = None, []
    if len(attribute.matrices) * len(occurring) * attribute.size <= _ENTRIES:
        tables = np.stack([_table(matrix, occurring) for matrix in attribute.matrices])
    else:
        found = [structure.two_valued(matrix) for matrix in attribute.matrices]
        pairs_seen = len(occurring) * len(np.unique(after.codes))
        if any(each is None for each in found) or pairs_seen > _PAIRS:
            return None
        two = [each for each in found if each is not None]
    return Channel(
        attribute.columns, occurring.astype(np.intp), codes.astype(np.intp),
        after.codes.astype(np.intp), None if missing is None else ~missing, groups,
        attribute.size, tables, tuple(two), attribute, _draws(pairs, attribute),
    )  # fmt: skip


def _draws(pairs: Pairs, attribute: Categorical | Joint) -> Codes | None:
    if attribute.unit is not None:
        return np.asarray(pairs.moved(levels(pairs.original, attribute.unit)[0]), np.intp)
    return pairs.people if pairs.memoised else None


def _table(matrix: Matrix, occurring: np.ndarray) -> Array:
    if matrix.size <= 4096:
        return np.asarray(matrix.to_dense()[occurring])
    return np.stack([matrix.row(int(u)) for u in occurring])


def _others(differ: Mask) -> str:
    count = int(differ.sum())
    return f"{count} row{'s' * (count > 1)} that differ, the first {int(np.argmax(differ))}"


def _clear(pairs: Pairs, name: str) -> Clear:
    """An unprotected column; it says whether the rows are matched, as nothing changed it."""
    codes, now, values = same_codes(pairs.original, pairs.released, name)
    codes = pairs.moved(codes)
    differ = codes != now
    if differ.any() and pairs.how != "nothing":
        must = "must be the same in `original` and `released`, as it is unprotected"
        cure = "rows in another order are matched by id_column"
        raise ValueError(f"{prefix([name])}{must}; got {_others(differ)}: {cure}")
    return _read_seen(name, codes, values)


def same_codes(one: Table, other: Table, name: str) -> tuple[Codes, Codes, list[object]]:
    """Codes of a column of two tables, and the value of each; -1 for what the first has not."""
    codes, values = levels(one, name)
    now, others = levels(other, name)
    if others != values:
        place = {key(value): i for i, value in enumerate(values)}
        now = np.array([place.get(key(value), -1) for value in others], dtype=np.intp)[now]
    return codes, now, values


def _read_seen(name: str, codes: Codes, values: list[object]) -> Clear:
    """An unprotected column from its codes and the value of each."""
    numbers = None
    kinds = {type(value) for value in values}
    if kinds and (kinds <= {int, float} or kinds == {str}):
        # Numbers are numbers, however a column holds them.
        try:
            table = np.array(values).astype(np.float64)
        except ValueError:
            table = np.array([np.nan])
        if np.isfinite(table).all():
            numbers = np.ldexp(table, _far(table))[codes]
    return Clear(name, codes, max(1, len(values)), numbers)


def columns_of(channel: Channel) -> list[tuple[str, Codes, int]]:
    """List the columns of an attribute: the category of each true value, and the number of them."""
    attribute = channel.attribute
    if attribute is None or len(attribute.columns) == 1:
        return [(channel.columns[0], np.arange(channel.kinds), channel.kinds)]
    places = digits(attribute)
    return [
        (name, place[channel.occurring], size)
        for name, place, size in zip(attribute.columns, places, attribute.shape, strict=True)
    ]


def cut(values: Array, most: int) -> Codes:
    """Classes of neighbouring ranks, at most so many; equal numbers stay together.

    >>> cut(np.array([5.0, 1.0, 1.0, 9.0]), 2)
    array([1, 0, 0, 1])
    """
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(counts) > most:
        before = np.cumsum(counts) - counts
        classes = (before * most) // len(values)
        codes = np.unique(classes, return_inverse=True)[1][codes]
    return np.asarray(codes, dtype=np.intp)


def moved_among_classes(numbers: Numbers) -> Channel | None:
    """A permuted column as a channel between classes of neighbouring ranks; None of others.

    The record of rank ``v`` has the value of rank ``u`` with probability ``p_uv``. So a record of
    class ``c`` has a value of class ``d`` with the mean over ``v`` in ``c`` of ``(P^T 1_d)_v``.
    """
    attribute = numbers.attribute
    if attribute.how != "permute" or attribute.order is None:
        return None
    rows = len(numbers.true)
    law: Any = attribute.for_records(rows).matrix
    truths = cut(numbers.true, CLASSES)
    kinds = int(truths.max()) + 1
    # The largest value of each class says which class a released value is of.
    tops = np.full(kinds, -np.inf)
    np.maximum.at(tops, truths, numbers.true)
    reports = np.minimum(np.searchsorted(tops, numbers.released), kinds - 1)
    places = np.sort(truths)
    counts = np.bincount(places, minlength=kinds)
    table = np.empty((1, kinds, kinds))
    for d in range(kinds):
        reached = law.apply((places == d).astype(np.float64))
        table[0, :, d] = np.bincount(places, reached, minlength=kinds) / counts
    # Sums of differences may end a hair below 0.
    return Channel(
        (attribute.column,), np.arange(kinds), truths, reports, None, None, kinds,
        np.clip(table, 0.0, 1.0), (),
    )  # fmt: skip


def position_classes(rows: int) -> int:
    """How many classes a long list of numbers is cut into: twenty records each, at most 1,000."""
    return max(2, min(1000, rows // 20))
