"""Both tables as codes: true and reported values of attributes, unprotected columns, numbers.

All arrays are in the order of the release. The attacker knows the law and how common each value is.
A prediction is the mean of an attack's success over some new draws of the noise, never stored.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bistochastic.errors import Refused, RefusedType
from bistochastic_survey.analysis.request import digits, levels_of
from bistochastic_survey.audit.pairing import Pairs, same_codes
from bistochastic_survey.checks import Array
from bistochastic_survey.plan.attributes import Categorical, Joint
from bistochastic_survey.plan.numeric import Numeric
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.progress import Told
from bistochastic_survey.wording import prefix, shown

Codes = NDArray[np.intp]
Mask = NDArray[np.bool_]
T = TypeVar("T")

# Tables of a law, over the truths that occur and all reports, have at most so many entries.
_ENTRIES = 1 << 25
# So many entries of a matrix are held at once in views and draws.
_HELD = 1 << 22
# So many releases are drawn, or one if the mean over its records needs no second draw.
REDRAWN = 4
_ENOUGH = 100_000
# Permuted numbers are told apart by so many classes of neighbouring ranks.
CLASSES = 64
# How much of the time each step takes, about.
_STEPS = {"read": 0.1, "guess": 0.05, "protected columns": 0.3, "with unprotected columns": 0.15,
          "seen": 0.1, "distance": 0.15, "scenarios": 0.1, "pool": 0.05}  # fmt: skip


@dataclass(frozen=True, eq=False)
class ReportedColumn:
    """From truths, numbered as they occur, to reports, by the law of a group."""

    columns: tuple[str, ...]
    occurring: Codes
    """The code of each truth that occurs."""
    truths: Codes
    reports: Codes
    answered: Mask
    """Which records are not missing."""
    groups: Codes
    size: int
    tables: Array
    """Per group, truths that occur by reports."""

    @property
    def kinds(self) -> int:
        """How many truths occur."""
        return len(self.occurring)


@dataclass(frozen=True, eq=False)
class Protected(ReportedColumn):
    """One attribute; records with the same number in ``draws`` share their noise."""

    attribute: Categorical | Joint
    draws: Codes

    @property
    def sharing(self) -> int:
        """How many records share one draw of the noise, at most."""
        return int(np.bincount(self.draws).max())

    @property
    def places(self) -> dict[str, Codes]:
        """The category of every code, by column."""
        single = len(self.columns) == 1
        places = [np.arange(self.size)] if single else digits(self.attribute)
        return dict(zip(self.columns, places, strict=True))


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
class Attacked:
    """All that is attacked."""

    pairs: Pairs
    channels: tuple[Protected, ...]
    clear: tuple[Clear, ...]
    numbers: tuple[Numbers, ...]
    laws_of: tuple[str, ...]
    """Unprotected columns that choose laws."""
    notes: tuple[str, ...]
    added: tuple[Clear, ...] = ()
    """Columns that the release alone has, so that nobody can be traced by them."""
    unforeseen: tuple[str, ...] = ()
    """A sentence for each column in the release that the plan does not put there."""

    @property
    def rows(self) -> int:
        """How many records there are."""
        return self.pairs.original.rows


class Steps:
    """Tells how much is done of all steps together."""

    def __init__(self, told: Told | None) -> None:
        self._told = told or (lambda share: None)
        self._done = 0.0

    def over(self, name: str, items: Sequence[T]) -> Iterator[T]:
        """Give the items of a step one after the other, and tell how many are done."""
        start, whole = self._done, _STEPS[name]
        self._done += whole
        for done, item in enumerate(items):
            self._told(min(1.0, start + whole * done / len(items)))
            yield item


def gather_evidence(pairs: Pairs, plan: Plan, steps: Steps) -> Attacked:
    """Read both tables."""
    check_columns(pairs, plan)
    channels, numbers, notes = [], [], []
    for attribute in steps.over("read", plan.attributes):
        if attribute.whole_column:
            numbers.append(read_moved(pairs, attribute))
        elif (made := _channel(pairs, attribute)) is not None:
            channels.append(made)
        else:
            notes.append(f"{prefix(attribute.columns)}too many cells to be attacked")
    clear, added, unforeseen = [], [], []
    for name in pairs.published:
        if name in plan._protected or name == pairs.pseudonym:
            continue
        what = ""
        if name not in pairs.original.names:
            what = "but not in the original"
            if name in pairs.released.names:
                added.append(_read_seen(name, *pairs.released.levels(name)))
        elif name in plan.drop:
            what = "though the plan leaves it out"
        elif plan.keep != "*" and name not in plan.keep:
            what = "though the plan does not keep it"
        unforeseen += [f"`{shown(name)}` is in the release, {what}"] * bool(what)
        if name in pairs.original.names and name in pairs.released.names:
            clear.append(_clear(pairs, name))
    groups = [e.groups.column for e in plan.attributes if e.groups is not None]
    return Attacked(
        pairs, tuple(channels), tuple(clear), tuple(numbers), tuple(dict.fromkeys(groups)),
        tuple(notes), tuple(added), tuple(unforeseen),
    )  # fmt: skip


def check_columns(pairs: Pairs, plan: Plan) -> None:
    """Raise an error unless both tables have the columns of the plan."""
    for table, where in ((pairs.original, "original"), (pairs.released, "release")):
        for attribute in plan.attributes:
            chosen = None if attribute.groups is None else attribute.groups.column
            unit = attribute.unit if table is pairs.original else None
            for column in (*attribute.columns, chosen, unit):
                if column is not None and column not in table.names:
                    raise Refused("", f"be in `{where}`", "none of that name", column=column)


@contextmanager
def _meant(where: str) -> Iterator[None]:
    """Say in an error which of the two tables is meant."""
    try:
        yield
    except (Refused, RefusedType) as error:
        error.must += f" in `{where}`"
        raise


def read_moved(pairs: Pairs, attribute: Numeric) -> Numbers:
    """Read a column of numbers before and after; only a permutation may have moved them."""
    with _meant("original"):
        true = pairs.moved(attribute._read(pairs.original).values).astype(np.float64)
    with _meant("release"):
        released = attribute._read(pairs.released).values.astype(np.float64)
    if attribute.how == "permute" and not np.array_equal(np.sort(true), np.sort(released)):
        must = "hold the numbers of `original` in `release`, as they were permuted"
        raise Refused("", must, "different ones", column=attribute.columns)
    return Numbers(attribute, true, released)


def _channel(pairs: Pairs, attribute: Categorical | Joint) -> Protected | None:
    with _meant("original"):
        before = attribute._encode(pairs.original)
    with _meant("release"):
        after = attribute._encode(pairs.released, released=True)
    none = np.zeros(pairs.original.rows, bool)
    missing = none if before.missing is None else pairs.moved(before.missing)
    differ = missing != (none if after.missing is None else after.missing)
    if differ.any():
        must = "be missing in the same rows of `original` and `release`"
        raise Refused("", must, _others(differ), column=attribute.columns)
    occurring, codes = np.unique(pairs.moved(before.codes), return_inverse=True)
    groups = none if after.groups is None else after.groups
    if len(attribute.matrices) * len(occurring) * attribute.size > _ENTRIES:
        return None
    tables = np.stack([
        matrix.to_dense()[occurring] if matrix.size <= 4096
        else np.stack([matrix.row(int(u)) for u in occurring])
        for matrix in attribute.matrices
    ])  # fmt: skip
    draws = np.arange(len(codes))
    if attribute.unit is not None:
        draws = pairs.moved(pairs.original.levels(attribute.unit)[0])
    elif pairs.memoised and pairs.people is not None:
        draws = pairs.people
    return Protected(
        attribute.columns, occurring.astype(np.intp), codes.astype(np.intp),
        after.codes.astype(np.intp), ~missing, groups.astype(np.intp), attribute.size, tables,
        attribute, draws,
    )  # fmt: skip


def _others(differ: Mask) -> str:
    count = int(differ.sum())
    return f"{count} row{'s' * (count > 1)} that differ, the first {int(np.argmax(differ))}"


def _clear(pairs: Pairs, name: str) -> Clear:
    """An unprotected column; it says whether the rows are matched, as nothing changed it."""
    codes, now, values = same_codes(pairs.original, pairs.released, name)
    codes = pairs.moved(codes)
    differ = codes != now
    if differ.any():
        must = "be the same in `original` and `release`, as it is unprotected"
        cure = "rows in another order are matched by id_column"
        raise Refused("", must, f"{_others(differ)}: {cure}", column=name)
    return _read_seen(name, codes, values)


def _read_seen(name: str, codes: Codes, values: list[object]) -> Clear:
    numbers = None
    kinds = {type(value) for value in values}
    if kinds and (kinds <= {int, float} or kinds == {str}):
        # Numbers are numbers, however a column holds them.
        try:
            table = np.array(values).astype(np.float64)
        except ValueError:
            table = np.array([np.nan])
        if np.isfinite(table).all():
            numbers = table[codes]
    return Clear(name, codes, max(1, len(values)), numbers)


def cut(values: Array, most: int) -> Codes:
    """Classes of neighbouring ranks, at most so many; equal numbers stay together."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(counts) > most:
        before = np.cumsum(counts) - counts
        classes = (before * most) // len(values)
        codes = np.unique(classes, return_inverse=True)[1][codes]
    return np.asarray(codes, dtype=np.intp)


def moved_among_classes(numbers: Numbers) -> ReportedColumn | None:
    """A permuted column as a channel between classes of neighbouring ranks; None of others.

    The record of rank ``v`` has the value of rank ``u`` with probability ``p_uv``. So a record of
    class ``c`` has a value of class ``d`` with the mean over ``v`` in ``c`` of ``(P^T 1_d)_v``.
    """
    attribute = numbers.attribute
    if attribute.how != "permute" or attribute.order is None:
        return None
    rows = len(numbers.true)
    law = attribute.for_records(rows).matrix
    assert law is not None
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
    return ReportedColumn(
        (attribute.column,), np.arange(kinds), truths, reports, np.ones(rows, bool),
        np.zeros(rows, np.intp), kinds, np.clip(table, 0.0, 1.0),
    )  # fmt: skip


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
    if len(matrices) * size**2 > _HELD:
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
    times = 1 if max((len(number) for _, number in draws), default=_ENOUGH) >= _ENOUGH else REDRAWN
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
    step = max(1, _HELD // channel.size)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        law = np.cumsum(channel.tables[channel.groups[part], channel.truths[part]], axis=1)
        # Sums of doubles may end a hair below 1.
        law /= law[:, -1:]
        made[start : start + step] = (law <= rng.random(len(law))[:, None]).sum(axis=1)
    return replace(channel, reports=made[number])
