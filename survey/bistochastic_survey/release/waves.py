"""One release after another: the same people by their ids, and what must not have changed.

With ids a reported value depends on the key, the plan's name, the columns, the matrix, the person
and the code of the value. If one of these changes from wave to wave, the same person is
re-randomized, and each new draw spends epsilon again. So the certificate of the wave before is
compared with the current plan.

Units are records that share one draw, such as the people of a household. A column with ``unit=`` is
drawn once per unit, in the same way as by ids, with a key of its own for the unit's column. All
records of a unit have the same code, so each record can be drawn by itself and has the same
reported value. :class:`Met` checks that records of a unit agree.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from bistochastic import Key, KeySource, backend
from bistochastic.errors import Refused, RefusedType
from bistochastic_survey import checks
from bistochastic_survey.json_fields import Fields
from bistochastic_survey.plan.attributes import Categorical, Joint, named
from bistochastic_survey.plan.labels import spelling
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.release.certificate import Certificate
from bistochastic_survey.release.certificate_json import ByIds
from bistochastic_survey.release.columns import Coded, Encoded
from bistochastic_survey.table.frames import Table, WrongType
from bistochastic_survey.wording import Shown, about, prefix, row, shown

# The types of ids that a plan may name, in the words of certificates.
ID_TYPES = {"string": "texts", "integer": "whole numbers", "bytes": "bytes"}
_AFTER = 'be "first" or the certificate of the wave before'


@dataclass(frozen=True)
class RowIds:
    """The ids of some rows, and their hashes, if any."""

    values: backend.Ids
    hashes: NDArray[np.uint8] | None = None

    def pseudonyms(self) -> list[str]:
        """32 hexadecimal digits for every row."""
        assert self.hashes is not None
        text = self.hashes.tobytes().hex()
        # A view of 32 digits per id avoids a loop in Python.
        found: list[str] = np.frombuffer(text.encode(), dtype="S32").astype("U32").tolist()
        return found


class People:
    """The people seen so far, in all rows of a release: how often, and the types of their ids."""

    def __init__(self, limit: int) -> None:
        self._tally = backend.RowsPerId(limit)
        self._rising: Rising | None = Rising()
        self._before = 0
        self._kinds: set[str] = set()
        self.units: dict[str, str] = {}
        """The types of the ids of units, by their column."""

    def meet(self, ids: RowIds) -> int | None:
        """Count some rows; the position of the first that is one too many, if any."""
        self.see(id_kinds(ids.values))
        if ids.hashes is not None:
            return self._tally.add(ids.hashes)
        # They are counted and never shown, so their hashes need not be secret.
        integers = ids.values.integers
        assert integers is not None
        rows = 0
        if self._rising is not None:
            rows = self._rising.take(integers)
            if rows == len(integers):
                return None
            for values in self._rising.held:
                self._tally.add(_spread(values))
            self._before = int(self._rising.forgotten)
            self._rising = None
        over = self._tally.add(_spread(integers[rows:]))
        return None if over is None else rows + over

    def see(self, kinds: set[str]) -> None:
        """Note the types of ids, without counting them."""
        self._kinds |= kinds

    @property
    def bound(self) -> int:
        """More rows of an id than this would have been found."""
        return int(self._tally.bound) + self._before

    @property
    def kind(self) -> str:
        """The types of the ids."""
        return phrase_of(self._kinds)


class Rising:
    """Integers that each are larger than all before: no id occurred twice.

    Files are often in the order of their ids, and checking that needs no table of ids.
    """

    # As many as a tally counts without forgetting any.
    MOST = 1 << 20

    def __init__(self) -> None:
        self.held: list[np.ndarray] = []
        """The latest of them, to count from once they rise no longer."""
        self.forgotten = False
        """Whether there were more. Each of those had one row."""
        self._rows = 0
        self._last: int | None = None

    def take(self, values: np.ndarray) -> int:
        """Count how many of these go on rising, from the first on."""
        if not len(values) or (self._last is not None and int(values[0]) <= self._last):
            return 0
        falls = values[1:] <= values[:-1]
        rows = 1 + int(np.argmax(falls)) if falls.any() else len(values)
        self._last = int(values[rows - 1])
        # A copy, as the caller's own may change meanwhile.
        self.held.append(values[max(0, rows - self.MOST) : rows].copy())
        self._rows += rows
        more = sum(map(len, self.held)) - self.MOST
        while more > 0:
            first = self.held.pop(0)
            if len(first) > more:
                self.held.insert(0, first[more:])
            more -= len(first)
        self.forgotten = self._rows > self.MOST
        return rows


@dataclass(frozen=True, repr=False)
class Wave(Shown):
    """One release of several about the same people, who have ids: ``ids=`` of :meth:`Plan.protect`.

    ``column`` holds the ids: integers, strings or bytes. The same person with the same value gets
    the same reported value in every wave. ``after`` is ``"first"``, or the certificate of the wave
    before. Changes that would re-randomize people raise an error, unless ``redraw=True``.

    The column of ids is left out unless the plan keeps it; ``pseudonym`` names a column with a
    keyed hash in its place. An id may have ``max_rows`` rows. Numeric columns are permuted again in
    every wave, which needs ``rerandomize_numeric=True`` and a ``release_name``.

    >>> import bistochastic as bs
    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> key, people = bs.Key.generate(), {"person": [7, 8], "sex": ["F", "M"]}
    >>> first = plan.protect(people, key=key, ids=sv.Wave("person", after="first"))
    >>> second = plan.protect(people, key=key, ids=sv.Wave("person", after=first.certificate))
    >>> first.data == second.data
    True
    """

    column: str
    _: KW_ONLY
    after: Certificate | Literal["first"] | None = None
    redraw: bool = False
    pseudonym: str | None = None
    max_rows: int = 1
    rerandomize_numeric: bool = False

    def __post_init__(self) -> None:
        after = self.after
        if after is None:
            raise Refused("after", _AFTER, "none")
        checks.of_type("after", _AFTER, after, Certificate | str)
        if isinstance(after, str) and after != "first":
            raise Refused("after", _AFTER, "a string beyond these")
        vars(self).update(
            column=named("column", self.column),
            redraw=checks.flag("redraw", self.redraw),
            pseudonym=None if self.pseudonym is None else named("pseudonym", self.pseudonym),
            max_rows=checks.whole("max_rows", self.max_rows, 1),
            rerandomize_numeric=checks.flag("rerandomize_numeric", self.rerandomize_numeric),
        )

    def __repr__(self) -> str:
        before = "the first" if self._before is None else f"after {self._before.digest[:12]}"
        hashed = "" if self.pseudonym is None else f", pseudonym `{shown(self.pseudonym)}`"
        again = ", redraw" * self.redraw + ", rerandomize_numeric" * self.rerandomize_numeric
        rows = f", up to {self.max_rows:,} rows" * (self.max_rows > 1)
        return f"<Wave by `{shown(self.column)}`: {before}{hashed}{rows}{again}>"

    @classmethod
    def _of(cls, given: object) -> Wave | None:
        """Read ``ids``; a column of ids alone does not say which wave it is."""
        if given is None or isinstance(given, Wave):
            return given
        if not isinstance(given, str):
            raise RefusedType("ids", "be a Wave or a column of ids", type(given).__name__)
        raise Refused("after", _AFTER, f'none: write ids=Wave("{shown(given)}", after="first")')

    @property
    def _before(self) -> Certificate | None:
        """The certificate of the wave before; None in the first wave."""
        return None if isinstance(self.after, str) else self.after

    def _check_plan(self, plan: Plan, release_name: str | None) -> None:
        """Check what can be checked before the table is read."""
        for attribute in plan._numeric:
            if not self.rerandomize_numeric:
                must = "be True, as every wave permutes numbers again"
                raise Refused("rerandomize_numeric", must, "False", column=attribute.columns)
            if release_name is None:
                must = "name the wave if rerandomize_numeric=True"
                raise Refused("release_name", must, "none", column=attribute.columns)
        for coded in plan._coded:
            if coded._has_numbers:
                # Under one name, rows in the same place would have the same numbers in both waves.
                must = 'name the wave if output="number", and no other wave'
                used = None if self._before is None else self._before.release_name
                if release_name is None or release_name == used:
                    got = "none" if release_name is None else "the name of the wave before"
                    raise Refused("release_name", must, got, column=coded.columns)
        earlier = self._before
        if earlier is not None:
            if earlier.plan.name != plan.name:
                must = f"be a certificate of plan `{shown(plan.name)}`"
                raise Refused("after", must, f"one of `{shown(earlier.plan.name)}`")
            if earlier.ids is None or earlier.ids.row_columns:
                must = "be the certificate of a release by ids"
                raise Refused("after", must, f"one by {'position' if not earlier.ids else 'rows'}")

    def _read(
        self, table: Table, plan: Plan, key: Key, people: People, first: int | None
    ) -> RowIds:
        """Read the ids of rows from ``first`` on: none missing, none with too many rows.

        In a batch of an engine, ``first`` is None, and the rows of an id are not counted.
        """
        values = read_ids(table, self.column, first)
        ids = RowIds(values)
        if plan.id_type is not None and (other := id_kinds(values) - {ID_TYPES[plan.id_type]}):
            must = f"hold {ID_TYPES[plan.id_type]}, as id_type of the plan says"
            raise RefusedType("", must, phrase_of(other), column=self.column)
        counted = first is not None
        if self.pseudonym is not None or (counted and values.integers is None):
            with about([self.column]):
                ids = RowIds(values, backend.pseudonyms(values, key, plan=plan.name))
        if first is None:
            people.see(id_kinds(values))
        elif (over := people.meet(ids)) is not None:
            most = f"{self.max_rows} row{'s' * (self.max_rows > 1)}"
            must = f"hold at most {most} per id, as max_rows says"
            got, at = f"an id with more, seen in row {first + over}", first + over
            raise Refused("", must, got, column=self.column, row=at)
        return ids

    def _refuse_changed(self, plan: Plan, key: Key | KeySource, people: People) -> None:
        """Raise an error for changes that re-randomize people, unless ``redraw``."""
        changed = self._changed(plan, key, people)
        if changed and not self.redraw:
            must = "agree in all that noise depends on"
            cure = "redraw=True re-randomizes, which spends epsilon again"
            raise Refused("after", must, f"{'; '.join(changed)}: {cure}")

    def _changed(self, plan: Plan, key: Key | KeySource, people: People) -> tuple[str, ...]:
        earlier = self._before
        if earlier is None:
            return ()
        found = ["another key"] * (earlier.key_fingerprint != key.fingerprint)
        assert earlier.ids is not None
        kind = people.kind
        if "none" not in (kind, earlier.ids.kind) and earlier.ids.kind != kind:
            found.append(f"ids that are {kind}, where they were {earlier.ids.kind}")
        for unit in earlier.units:
            kind = people.units.get(unit.column, "none")
            if "none" not in (kind, unit.kind) and unit.kind != kind:
                units = f"units by `{shown(unit.column)}` that are {kind}"
                found.append(f"{units}, where they were {unit.kind}")
        before = {a.columns: a for a in _list_known(earlier)}
        columns = {column for names in before for column in names}
        for now in plan._coded:
            then = before.get(now.columns)
            if then is None:
                if columns.intersection(now.columns):
                    found.append(f"{prefix(now.columns)[:-2]} joined with others than before")
                continue
            found += [f"{word} in {prefix(now.columns)[:-2]}" for word in _differences(then, now)]
        return (*found, *_find_renamed(tuple(before.values()), plan))

    def _outcome(self, plan: Plan, key: Key, people: People, counted: bool = True) -> ByIds:
        """Return the certificate's facts; ``counted``: whether the rows of each id were counted."""
        wave = self._before
        before = None if wave is None else wave.ids
        now = {a.columns for a in plan.attributes}
        earlier = () if wave is None else _list_known(wave)
        kind = people.kind
        if kind == "none" and before is not None:
            # A wave without anyone does not forget what ids are.
            kind = before.kind
        return ByIds(
            id_column=self.column,
            kind=kind,
            kept=plan.keep != "*" and self.column in plan.keep,
            pseudonym=self.pseudonym,
            max_rows_per_id=self.max_rows,
            rows_per_id_checked=people.bound if counted else None,
            after="first" if wave is None else wave.digest,
            redrawn=self._changed(plan, key, people),
            carried=tuple(a for a in earlier if a.columns not in now),
            redrawn_before=() if before is None else (*before.redrawn_before, *before.redrawn),
        )


def _spread(values: np.ndarray) -> NDArray[np.uint8]:
    """16 bytes for each integer, different for different ones, with all bits in use."""
    words = np.empty((len(values), 2), np.uint64)
    # An odd factor maps no two numbers to the same one.
    words[:, 0] = values.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    words[:, 1] = words[:, 0] >> np.uint64(32)
    return words.view(np.uint8)


def read_ids(table: Table, column: str, first: int | None, *, empty: bool = False) -> backend.Ids:
    """Read the ids of rows from ``first`` on, of a batch if that is None.

    None may be missing, nor be an empty string, which is another word for that, unless ``empty``.
    """
    try:
        with about([column]):
            values, missing = table.ids(column)
            if missing is None or not missing.any():
                found = backend.Ids(values)
                if empty or (at := found.first_empty) is None:
                    return found
                got = f"one in {row(at, first)}"
                raise Refused("", "hold no empty ids", got, row=(first or 0) + at)
    except WrongType as error:
        kind = error.kind
    else:
        got = f"{int(missing.sum())}, the first in {row(int(np.argmax(missing)), first)}"
        raise Refused("", "hold no missing ids", got, column=column)
    raise RefusedType("", "hold integers, strings or bytes, as ids do", shown(kind), column=column)


def _list_known(certificate: Certificate) -> tuple[Categorical | Joint, ...]:
    """List the attributes that people were drawn by, in that wave or before it."""
    carried = () if certificate.ids is None else certificate.ids.carried
    return (*carried, *certificate.plan._coded)


def _find_renamed(before: tuple[Categorical | Joint, ...], plan: Plan) -> list[str]:
    """Find new columns with the categories of a column that is gone, one phrase per column.

    Such a column may be the old one under another name, which enters the noise.
    """
    was, now = _columns(before), _columns(plan._coded)
    found = []
    for column, labels in now.items():
        if column in was:
            continue
        gone = [old for old, values in was.items() if old not in now and values & labels]
        if gone:
            missed = f"{prefix(gone)[:-2]}, which {'is' if len(gone) == 1 else 'are'} gone"
            found.append(f"{prefix([column])[:-2]} with categories of {missed}")
    return found


def _columns(attributes: tuple[Coded, ...]) -> dict[str, set[str]]:
    return {
        column: {str(value) for value in labels.values}
        for attribute in attributes
        for column, labels in zip(attribute.columns, attribute.axes, strict=True)
    }


def _differences(then: Coded, now: Coded) -> list[str]:
    """List the changes of an attribute that change codes or matrices."""
    before, after = noise_of(then), noise_of(now)
    changed = {name for name, fact in before.items() if fact != after[name]}
    found = ["other impossible combinations"] * ("impossible" in changed)
    if "categories" in changed:
        axes, others = before["categories"], after["categories"]
        same = [set(a) for a in axes] == [set(a) for a in others]
        sizes = [len(a) for a in axes] != [len(a) for a in others]
        other = "another number of categories" if sizes else "other categories"
        found.append("another order of the categories" if same else other)
    if "missing" in changed:
        found.append("another treatment of missing values")
    elif not found and "matrix" in changed:
        found.append("another matrix")
    if then.unit != now.unit:
        found.append("another unit")
    for was, becomes in zip(before["recode"], after["recode"], strict=True) if not found else ():
        # A value that only one of the plans accepts was never drawn under the other.
        if any(becomes.get(value, place) != place for value, place in was.items()):
            found.append("another recode")
            break
    return [*found, *["another top or bottom"] * ("ends" in changed)]


def noise_of(attribute: Coded) -> Fields:
    """Return what the noise of an attribute depends on, in any spelling of its categories.

    ``recode`` has the category of every value of each column before it is drawn. Noise follows the
    category, so another category of an unchanged value is new noise about it.
    """
    mapped = []
    for i, axis in enumerate(attribute.axes):
        given = dict(attribute.recode[i]) if attribute.recode else {}
        every = {**{value: value for value in axis.values}, **given}
        mapped.append({repr(spelling(k)): repr(spelling(v)) for k, v in every.items()})
    law: Any = attribute.matrices[0].digest
    if attribute.groups is not None:
        digests = [matrix.digest for matrix in attribute.groups.matrices]
        pairs = zip(map(spelling, attribute.groups.labels.values), digests, strict=True)
        # Their order does not matter: a row is drawn by the matrix of its own group.
        law = attribute.groups.column, sorted(pairs, key=str)
    return {
        "categories": [[spelling(value) for value in axis.values] for axis in attribute.axes],
        "impossible": [[spelling(value) for value in cell] for cell in attribute.impossible],
        "missing": attribute.missing == "category",
        "matrix": law,
        "recode": mapped,
        "ends": [str(getattr(attribute, name, None)) for name in ("bottom", "top")],
    }


def id_kinds(values: backend.Ids) -> set[str]:
    """Return the types of ids: integers, strings, bytes, or several of these."""
    return {{str: "texts", bytes: "bytes", int: "whole numbers"}[kind] for kind in values.kinds}


def phrase_of(kinds: Set[str]) -> str:
    """Return the same in one phrase."""
    return " and ".join(sorted(kinds)) or "none"


# Units.

Values = list[np.ndarray]


def replaced(plan: Plan, given: object) -> dict[str, str]:
    """Read the names of the columns with hashes in place of units, as a caller gave them."""
    if given is None:
        return {}
    must = "be a dict from columns of units to new names"
    if not hasattr(given, "items"):
        raise RefusedType("unit_pseudonym", must, type(given).__name__)
    found = {named("unit_pseudonym", k): named("unit_pseudonym", v) for k, v in given.items()}
    for column in found:
        named_in = column in (plan.units or ())
        if not named_in or (plan.keep != "*" and column in plan.keep):
            why = "keeps: name it in drop" if named_in else "does not name in units"
            raise Refused("unit_pseudonym", must, f"`{shown(column)}`, which the plan {why}")
    return found


class Met:
    """The units of one column that were met so far, and what their records hold.

    Memory grows with the number of units: eight bytes and the codes of each.
    """

    def __init__(self, plan: Plan, key: Key, column: str) -> None:
        self._column, self._plan, self.key = column, plan.name, key
        self._attributes = [(i, a) for i, a in enumerate(plan._coded) if a.unit == column]
        self._kinds: set[str] = set()
        # Sorted, each at most half as long as the one before.
        self._held: list[tuple[NDArray[np.uint64], Values]] = []

    @property
    def kind(self) -> str:
        """The types of the ids."""
        return phrase_of(self._kinds)

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(len(keys) for keys, _ in self._held)

    def read(self, table: Table, first: int | None, *, hashed: bool) -> RowIds:
        """Read the units of some rows, none missing; with their pseudonyms, if requested."""
        ids = RowIds(read_ids(table, self._column, first))
        self._kinds |= id_kinds(ids.values)
        if hashed or ids.values.integers is None:
            return RowIds(ids.values, backend.pseudonyms(ids.values, self.key, plan=self._plan))
        return ids

    def check(self, ids: RowIds, encoded: list[Encoded], first: int | None) -> None:
        """Raise an error for rows that differ from an earlier record of their unit."""
        if not len(ids.values):
            return
        names, every = [], []
        for i, attribute in self._attributes:
            each = encoded[i]
            none = np.zeros(len(each.codes), bool) if each.missing is None else each.missing
            names += [attribute.columns] * 2
            every += [each.codes, none]
            if each.groups is not None and attribute.groups is not None:
                names.append((attribute.groups.column,))
                every.append(each.groups)
        # Eight bytes for each row: an integer itself, a keyed hash of others.
        if ids.values.integers is not None:
            words = ids.values.integers.view(np.uint64)
        else:
            assert ids.hashes is not None
            words = np.ascontiguousarray(ids.hashes[:, :8]).view(np.uint64)[:, 0]
        keys, at, which = np.unique(words, return_index=True, return_inverse=True)
        known = [values[at] for values in every]
        new = np.ones(len(keys), bool)
        for before, values in self._held:
            place = np.minimum(np.searchsorted(before, keys), len(before) - 1)
            seen = before[place] == keys
            new &= ~seen
            for mine, theirs in zip(known, values, strict=True):
                mine[seen] = theirs[place[seen]]
        wrong = [values != mine[which] for values, mine in zip(every, known, strict=True)]
        firsts = [int(np.argmax(bad)) if bad.any() else len(which) for bad in wrong]
        worst = min(range(len(firsts)), key=firsts.__getitem__, default=0)
        if firsts and firsts[worst] < len(which):
            must = f"be the same in all records of a unit, by `{shown(self._column)}`"
            many = int(wrong[worst].sum())
            got = f"{many} row{'s' * (many > 1)} unlike an earlier record of the unit"
            at_row = row(firsts[worst], first)
            raise Refused("", must, f"{got}, the first in {at_row}", column=names[worst])
        self._hold(keys[new], [mine[new] for mine in known])

    def _hold(self, keys: NDArray[np.uint64], values: Values) -> None:
        while self._held and len(self._held[-1][0]) < 2 * len(keys):
            others, theirs = self._held.pop()
            keys = np.concatenate([others, keys])
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
            values = [np.concatenate(two)[order] for two in zip(theirs, values, strict=True)]
        if len(keys):
            self._held.append((keys, values))
