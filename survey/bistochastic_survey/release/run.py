"""One path for every release: attributes turn a table into codes, the run chooses the noise of each
record, the core draws, attributes turn codes back, and the facts make the certificate.

By position, the noise of a block of 65,536 rows depends on the key, the labels and all contents of
the block, so two files share no noise: see ``src/draw/randomize/block.rs``. By ids it depends on
the person and the value, so every wave reports the same for both. Only the number inside a
reported class is drawn for every row of every release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol, Required, TypedDict

import numpy as np
from numpy.typing import NDArray

from bistochastic import Key, KeySource, Matrix, backend, uniform
from bistochastic.errors import Refused
from bistochastic_survey import checks
from bistochastic_survey.plan.attributes import named
from bistochastic_survey.plan.numeric import Numeric
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.release import waves
from bistochastic_survey.release.certificate import BLOCK, Certificate
from bistochastic_survey.release.certificate_json import ByIds, Unit, drawn_by
from bistochastic_survey.release.columns import Coded, Encoded, NumericValues
from bistochastic_survey.release.waves import Met, RowIds
from bistochastic_survey.table.arrays import narrow, words
from bistochastic_survey.table.frames import Codes, Table
from bistochastic_survey.wording import about, meant, quoted, shown

# In a file of one row, the reported value would be a fixed function of the value and the key.
LEAST_ROWS = 256


class EngineOptions(TypedDict, total=False):
    """The options of ``Plan.on`` and ``Plan.batch_function``."""

    key: Required[KeySource]
    release_name: str | None
    ids: waves.Wave | None
    row_columns: Sequence[str] | None
    unit_pseudonym: Mapping[str, str] | None
    allow_insecure: bool


class Scannable(Protocol):
    """A pyarrow dataset or scanner."""

    def count_rows(self) -> int:
        """Count the rows."""

    def head(self, num_rows: int) -> object:
        """Read the first rows."""


@dataclass(frozen=True)
class Options:
    """The key, the label, the ids, and whether rows are shuffled.

    ``shuffle`` is carried out by the function that holds all rows:
    :func:`bistochastic_survey.release.protect.protect`, or what writes the file that a
    :class:`bistochastic_survey.release.protect.Stream` makes.
    """

    key: Key | None
    release_name: str | None
    wave: waves.Wave | None
    shuffle: bool
    unit_pseudonym: dict[str, str] = field(default_factory=dict)
    count_units: bool = False

    @classmethod
    def of(
        cls,
        plan: Plan,
        *,
        key: object = None,
        release_name: object = None,
        ids: object = None,
        shuffle: object = False,
        unit_pseudonym: object = None,
        count_units: object = False,
        allow_insecure: object = False,
    ) -> Options:
        """Read the options of ``protect``, under their names there."""
        plan._refuse_undecided()
        shuffle = checks.flag("shuffle", shuffle)
        insecure = checks.flag("allow_insecure", allow_insecure)
        counted = checks.flag("count_units", count_units)
        label = None if release_name is None else named("release_name", release_name)
        held = None if key is None else backend.read_key(key, allow_insecure=insecure)
        wave = waves.Wave._of(ids)
        if held is None and wave is not None:
            raise Refused("key", "be given with ids", "none")
        if held is not None and wave is None and label is None:
            raise Refused("release_name", "name what a key is used for", "none")
        replaced = waves.replaced(plan, unit_pseudonym)
        if wave is not None:
            wave._check_plan(plan, label)
        else:
            by = [*drawn_by(plan), *replaced]
            if held is not None and by:
                got = "none, and a unit may lie in two blocks of rows: use ids, or key=None"
                raise Refused("ids", f"be given with a key to draw by unit, `{shown(by[0])}`", got)
        return cls(held, label, wave, shuffle, replaced, counted)

    def units(self, plan: Plan) -> tuple[str, ...]:
        """List the columns of units that are read: for draws and pseudonyms, or all if counted."""
        more = (plan.units or ()) if self.count_units else ()
        return tuple(dict.fromkeys([*drawn_by(plan), *self.unit_pseudonym, *more]))

    def check_rows(self, plan: Plan, rows: int) -> None:
        """Raise an error for a table that is too short for what the plan does with it."""
        numeric = plan._numeric
        by_position = self.wave is None or bool(numeric)
        if self.key is not None and by_position and rows < LEAST_ROWS:
            must = f"have at least {LEAST_ROWS} rows by position under a key that is kept"
            raise Refused("frame", must, f"{rows}: use ids, or key=None")
        if numeric and not rows:
            must = "hold at least one record to be permuted among"
            raise Refused("", must, "none", column=numeric[0].columns)

    def layout(self, plan: Plan, names: list[str], argument: str = "frame") -> list[str]:
        """List the columns of the protected table, in order. The plan has to name every column."""
        wave = self.wave
        protected = plan._protected
        own = None if wave is None else wave.column
        # The columns that the table must have; one record may lack dropped columns.
        needed = [column for attribute in plan.attributes for column in attribute.columns]
        needed += plan.keep if plan.keep != "*" else []
        needed += plan.drop if argument == "frame" else ()
        needed += [a.groups.column for a in plan.attributes if a.groups is not None]
        needed += [a.within for a in plan._numeric if a.within is not None]
        needed += [] if own is None else [own]
        for column in [*needed, *self.units(plan)]:
            if column not in names:
                got = f"none of that name{meant(column, names)}"
                raise Refused("", f"be in `{argument}`", got, column=column)
        if own in protected:
            raise Refused("", "not be protected and an id", "both", column=own or "")
        layout: list[str] = []
        unknown: list[str] = []
        for name in names:
            if name == own:
                if plan.keep != "*" and name in plan.keep:
                    layout.append(name)
                if wave is not None and wave.pseudonym is not None:
                    layout.append(wave.pseudonym)
            if name in self.unit_pseudonym:
                layout.append(self.unit_pseudonym[name])
            elif name != own and name not in plan.drop:
                known = plan.keep == "*" or name in plan.keep or name in protected
                (layout if known else unknown).append(name)
        if unknown:
            near = meant(unknown[0], {*protected, *plan.keep, *plan.drop} - set(names))
            must = "hold columns that the plan protects, keeps or drops"
            raise Refused(argument, must, f"{quoted(unknown)}{near}")
        if len(set(layout)) < len(layout):
            raise Refused("pseudonym", "be the name of a new column", "one that there is")
        return layout


@dataclass(frozen=True)
class Piece:
    """Some rows of a table, looked at and not drawn yet."""

    table: Table
    first: int | None
    """The number of the first row; None in a batch of an engine, which does not say it."""
    last: bool
    encoded: list[Encoded]
    values: dict[str, NumericValues]
    ids: RowIds | None
    units: dict[str, RowIds]


class Run:
    """One release of tables with these columns: the source of noise, and facts about the rows.

    * ``rows``: the total number of rows, if it is known before the first.
    * ``numbers``: numeric columns that are drawn already, all rows of them.
    * ``row_columns``: the columns that identify rows without ids and positions.
    * ``argument``: the caller's name for the table.
    * ``done``: called with the number of further parts of the work that are done.
    """

    def __init__(
        self,
        plan: Plan,
        names: list[str],
        options: Options,
        *,
        rows: int | None = None,
        numbers: Mapping[str, NumericValues] | None = None,
        row_columns: tuple[str, ...] = (),
        argument: str = "frame",
        done: Callable[[int], object] = lambda _parts: None,
    ) -> None:
        self._options, self._done, self._row_columns = options, done, row_columns
        self._layout = options.layout(plan, names, argument)
        for column in row_columns:
            if column not in names:
                raise Refused("", "be in the table", "none of that name", column=column)
        if rows is not None:
            options.check_rows(plan, rows)
            plan = plan.for_records(rows) if plan._numeric else plan
        plan._meet_requirement()
        self.plan, self.numeric, self._coded = plan, plan._numeric, plan._coded
        self._numbers = dict(numbers or {})
        # If no key is given, one that is discarded with the run.
        self._key = Key.generate() if options.key is None else options.key
        if row_columns:
            self._key = backend.derive(self._key, "rows", plan.name, options.release_name or "")
        self._met = {
            column: Met(plan, backend.derive(self._key, "units", plan.name, column), column)
            for column in options.units(plan)
        }
        self._people = waves.People(1 if options.wave is None else options.wave.max_rows)
        self.clear: tuple[str, ...] = ()
        """The columns that came out as they were."""
        self._declared: tuple[str, ...] = ()

    @property
    def units(self) -> dict[str, str]:
        """List the types of the ids of units, by their column."""
        return self._people.units

    def read(
        self, table: Table, first: int | None = 0, last: bool = True, ids: RowIds | None = None
    ) -> Piece:
        """Look at all of some rows; by position these are whole blocks, unless they are the last.

        From here on nothing raises an error for what they hold.
        """
        encoded = []
        for attribute in self._coded:
            encoded.append(attribute._encode(table, first))
            self._done(1)
        values = {}
        for number in self.numeric:
            if number.column not in self._numbers:
                values[number.column] = number._read(table)
                self._done(1)
        units = {}
        for column, met in self._met.items():
            units[column] = met.read(table, first, hashed=column in self._options.unit_pseudonym)
            met.check(units[column], encoded, first)
            self.units[column] = met.kind
        return Piece(table, first, last, encoded, values, ids or self._ids(table, first), units)

    def _ids(self, table: Table, first: int | None) -> RowIds | None:
        """List what identifies each row, if its position does not."""
        if self._row_columns:
            # Each part is its type, length and bytes, so no two rows have the same byte string.
            parts = [
                waves.read_ids(table, column, first, empty=True) for column in self._row_columns
            ]
            return waves.RowIds(backend.Ids.joined(parts))
        wave, key = self._options.wave, self._options.key
        if wave is None:
            return None
        ids = wave._read(table, self.plan, self._key, self._people, first)
        if key is not None:
            wave._refuse_changed(self.plan, key, self._people)
        return ids

    def drawn(self, piece: Piece, order: np.ndarray | None = None) -> Any:
        """Protect the rows, in the type of the table's library; in ``order``, if it is given."""
        table, start = piece.table, piece.first or 0
        drawn = self._codes(piece, start)
        self._done(len(drawn))
        new: dict[str, object] = {}
        for attribute, codes, source in zip(self._coded, drawn, piece.encoded, strict=True):
            places = self._places(attribute, codes, piece) if attribute._has_numbers else None
            new.update(attribute._decode(table, codes, source.missing, places))
            self._done(1)
        for each in self.numeric:
            found = self._numbers.get(each.column)
            if found is None:
                found = moved(self.plan, self._options, each, piece.values[each.column])
                self._done(1)
            here = slice(start, start + table.rows) if each.column in self._numbers else slice(None)
            none = None if found.missing is None else found.missing[here]
            new[each.column] = table.numbered(each.column, found.values[here], none)
        wave = self._options.wave
        if wave is not None and wave.pseudonym is not None and piece.ids is not None:
            new[wave.pseudonym] = table.texts(piece.ids.pseudonyms())
        for column, name in self._options.unit_pseudonym.items():
            new[name] = table.texts(piece.units[column].pseudonyms())
        self.clear = tuple(name for name in self._layout if name not in new)
        self._declared = tuple(name for name in self.clear if table.is_declared(name))
        return table.made({name: new.get(name) for name in self._layout}, order)

    def piece(self, table: Table, first: int | None = 0) -> Any:
        """Protect some rows."""
        return self.drawn(self.read(table, first))

    def _codes(self, piece: Piece, start: int) -> list[Codes]:
        """Draw all attributes: by unit if they have one, the others by ids or by position."""
        every = list(zip(self._coded, piece.encoded, strict=True))
        own = [(a, each) for a, each in every if a.unit is None]
        if piece.ids is not None:
            ids = piece.ids.values
            drawn = iter([self._by_ids(a, each, ids, self._key) for a, each in own])
        else:
            # From this block on, up to the end if the rows are the last.
            given = [
                backend.Column(a.columns, e.codes, a.matrices, e.groups, e.missing) for a, e in own
            ]
            drawn = iter(
                backend.draw(
                    given,
                    self._key,
                    plan=self.plan.name,
                    release=self._options.release_name or "",
                    address=backend.Blocks(start // BLOCK, piece.last),
                )
            )
        return [
            next(drawn) if a.unit is None
            else self._by_ids(a, each, piece.units[a.unit].values, self._met[a.unit].key)
            for a, each in every
        ]  # fmt: skip

    def _by_ids(self, attribute: Coded, encoded: Encoded, ids: backend.Ids, key: Key) -> Codes:
        column = backend.Column(
            attribute.columns, encoded.codes, attribute.matrices, encoded.groups
        )
        return backend.draw([column], key, plan=self.plan.name, address=ids)[0]

    def _places(self, attribute: Any, codes: Codes, piece: Piece) -> NDArray[np.int64]:
        """Draw the place of each row's number among all numbers of the classes.

        It is uniform in the reported class, and depends on this class, the release, the row and the
        column, never on an id or a unit: a number that stays the same would name the person.
        """
        name, columns = self.plan.name, list(attribute.columns)
        if self._row_columns:
            # The key is of the release already, and these columns address its rows.
            assert piece.ids is not None
            key, ids = self._key, piece.ids.values
        else:
            # By position: another file under the same label shares them.
            key, ids = self._key, backend.Ids(np.arange(piece.table.rows) + (piece.first or 0))
            if piece.ids is not None:
                key = backend.derive(key, "rows", name, "ids")
            key = backend.derive(key, "rows", name, self._options.release_name or "")
        _, starts, counts = attribute._places
        found = np.zeros(len(codes), np.int64)
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(len(counts) + 1))
        for place, many in enumerate(counts.tolist()):
            rows = order[ends[place] : ends[place + 1]]
            found[rows] = starts[place]
            if many > 1 and len(rows):
                own = backend.derive(key, "numbers", name, columns, place)
                column = backend.Column(columns, np.zeros(len(rows), narrow(many)), uniform(many))
                [inside] = backend.draw([column], own, plan=name, address=ids.take(rows))
                found[rows] += inside
        return found

    def certificate(
        self, records: int, *, ids: ByIds | None = None, engine: str | None = None
    ) -> Certificate:
        """Write the certificate; ``ids``: facts about ids that an engine has seen."""
        options = self._options
        key, wave = options.key, options.wave
        if ids is None and wave is not None and key is not None:
            ids = wave._outcome(self.plan, key, self._people)
        return Certificate(
            plan=self.plan,
            records=records,
            release_name=options.release_name,
            key_stored=key is not None,
            key_fingerprint=None if key is None else key.fingerprint,
            unprotected_columns=self.clear,
            shuffled=options.shuffle,
            ids=ids,
            package=package(),
            engine=engine,
            declared_categories=self._declared,
            units=self._certified(ids, checked=engine is None),
        )

    def _certified(self, ids: ByIds | None, *, checked: bool) -> tuple[Unit, ...]:
        """Return facts about units that were read, and about those of carried attributes."""
        options = self._options
        after = None if options.wave is None else options.wave._before
        before = {} if after is None else {u.column: u for u in after.units}
        found = []
        for column, met in self._met.items():
            kind = self.units.get(column, "none")
            if kind == "none" and column in before:
                # A wave without anyone does not forget what ids are.
                kind = before[column].kind
            count = met.count if options.count_units else None
            found.append(Unit(column, kind, checked, options.unit_pseudonym.get(column), count))
        carried = () if ids is None else ids.carried
        gone = {a.unit for a in carried} - set(self._met)
        return (
            *found,
            *(Unit(u.column, u.kind, True) for u in before.values() if u.column in gone),
        )


def moved(
    plan: Plan, options: Options, attribute: Numeric, numbers: NumericValues
) -> NumericValues:
    """Permute or average a numeric column, under a key that depends on all of it."""
    values = numbers.values
    given: dict[str, Any] = {"order": attribute.order}
    if options.key is not None:
        kind, all_words = words(values)
        if attribute.grouped:
            # The key also depends on missing rows and groups: no two draws share noise.
            none = np.zeros(len(values), bool) if numbers.missing is None else numbers.missing
            groups = np.zeros(len(values), np.intp) if numbers.groups is None else numbers.groups
            more = [part.astype(np.uint64) for part in (none, groups)]
            kind, all_words = f"{kind} in groups", np.concatenate([all_words, *more])
        labels = plan.name, options.release_name or "", attribute.column
        own = backend.derive(options.key, "column", *labels, kind, all_words)
        given |= {"key": own, "stream": "plan"}
    with about([attribute.column]):
        if not attribute.grouped:
            return NumericValues(_move(attribute, attribute.matrix, values, given))
        found = values.copy()
        for group, rows in enumerate(numbers.parts()):
            if len(rows):
                stream = {"stream": f"plan group {group}"} if "key" in given else {}
                law = attribute._matrix_for(len(rows))
                found[rows] = _move(attribute, law, values[rows], given | stream)
        return NumericValues(found, numbers.missing)


def _move(
    attribute: Numeric, law: Matrix | None, values: np.ndarray, given: dict[str, Any]
) -> np.ndarray:
    assert law is not None
    move = law.average if attribute.how == "average" else law.permute
    return np.asarray(move(values, **given))


@cache
def package() -> str:
    """Return the version of this package."""
    from importlib.metadata import version

    return version("bistochastic")
