"""One way through: a table comes in, attributes turn it into codes, the run knows where the noise
of each record comes from, the core draws, attributes turn codes back, and the facts make the
certificate.

By position, the noise of a block of 65,536 rows depends on the key, the labels and on all that the
block holds, so that two files share nothing: ``src/draw/randomize/block.rs`` has it. By ids it
depends on the person and the value, so that every wave says the same of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core
from bistochastic.adapters.arrays import words
from bistochastic.kept import kept
from bistochastic.plan import waves
from bistochastic.plan.attributes import Categorical, Joint, Numeric, about, prefix
from bistochastic.plan.certificate import BLOCK, Certificate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from bistochastic.adapters.frames import Codes, Table
    from bistochastic.plan.columns import Encoded
    from bistochastic.plan.options import Options
    from bistochastic.plan.plan import Plan
    from bistochastic.plan.waves import ByIds, Ids


@dataclass(frozen=True)
class Piece:
    """Some rows of a table, looked at and not drawn yet."""

    table: Table
    first: int | None
    """The number of the first row; None in a batch of an engine, which does not say it."""
    last: bool
    encoded: list[Encoded]
    values: dict[str, NDArray[Any]]
    ids: Ids | None


class Run:
    """One release of tables with these columns: what is drawn where, and what was seen of it.

    * ``rows``: how many there are in all, where that is known before the first.
    * ``numbers``: numeric columns that are drawn already, all rows of them.
    * ``row_columns``: what rows are addressed by, where they have neither ids nor positions.
    * ``argument``: what the caller knows the table as.
    * ``done``: told how many more parts of the work are done.
    """

    def __init__(
        self,
        plan: Plan,
        names: list[str],
        options: Options,
        *,
        rows: int | None = None,
        numbers: Mapping[str, NDArray[Any]] | None = None,
        row_columns: tuple[str, ...] = (),
        narrowed: bool | None = None,
        argument: str = "frame",
        done: Callable[[int], object] = lambda _parts: None,
    ) -> None:
        self._options, self._done, self._row_columns = options, done, row_columns
        self._layout = options.layout(plan, names, argument)
        for column in row_columns:
            if column not in names:
                raise ValueError(f"{prefix([column])}must be in the table; got none of that name")
        self.numeric = plan._numeric
        if rows is not None:
            options.check_rows(plan, rows)
            plan = plan.for_records(rows) if self.numeric else plan
            self.numeric = plan._numeric
        plan._meet_requirement()
        self.plan = plan
        self._coded = plan._coded
        self._numbers = dict(numbers or {})
        by_position = options.wave is None and not row_columns
        self._narrowed = by_position if narrowed is None else narrowed
        # One that is forgotten with the run, where none is given.
        self._key = _core.Key.generate() if options.key is None else options.key
        if row_columns:
            self._key = _core.plan_row_key(self._key, plan.name, options.release_name or "")
        self.clear: tuple[str, ...] = ()
        """The columns that came out as they were."""
        self._declared: tuple[str, ...] = ()

    @kept
    def _people(self) -> waves.People:
        """Who was met so far."""
        return waves.People(1 if self._options.wave is None else self._options.wave.max_rows_per_id)

    def read(
        self, table: Table, first: int | None = 0, last: bool = True, ids: Ids | None = None
    ) -> Piece:
        """Look at all of some rows; by position these are whole blocks, unless they are the last.

        From here on nothing is refused for what they hold.
        """
        encoded = []
        for attribute in self._coded:
            encoded.append(attribute._encode(table, first, narrowed=self._narrowed))
            self._done(1)
        values = {}
        for number in self.numeric:
            if number.column not in self._numbers:
                values[number.column] = number._read(table)
                self._done(1)
        return Piece(table, first, last, encoded, values, ids or self._ids(table, first))

    def _ids(self, table: Table, first: int | None) -> Ids | None:
        """What stands for each row, if its position does not."""
        if self._row_columns:
            parts = [waves.read_ids(table, column, first) for column in self._row_columns]
            return waves.Ids(waves.joined(parts))
        wave, key = self._options.wave, self._options.key
        if wave is None:
            return None
        ids = wave.read(table, self.plan, self._key, self._people, first)
        if key is not None:
            wave.refuse_changed(self.plan, key, self._people)
        return ids

    def drawn(self, piece: Piece, order: NDArray[Any] | None = None) -> Any:
        """The rows protected, as the library of the table has them; in order, if there is one."""
        table, start = piece.table, piece.first or 0
        if piece.ids is not None:
            drawn = self._by_ids(piece.encoded, piece.ids, piece.first is None and table.together)
        else:
            drawn = self._by_blocks(piece.encoded, start // BLOCK, piece.last)
        self._done(len(drawn))
        new: dict[str, Any] = {}
        for attribute, codes, source in zip(self._coded, drawn, piece.encoded, strict=True):
            new.update(attribute._decode(table, codes, source.missing))
            self._done(1)
        for each in self.numeric:
            found = self._numbers.get(each.column)
            if found is None:
                found = moved(self.plan, self._options, each, piece.values[each.column])
                self._done(1)
            else:
                found = found[start : start + table.rows]
            new[each.column] = table.numbered(each.column, found)
        wave = self._options.wave
        if wave is not None and wave.pseudonym is not None and piece.ids is not None:
            new[wave.pseudonym] = table.texts(piece.ids.pseudonyms())
        self.clear = tuple(name for name in self._layout if name not in new)
        self._declared = tuple(name for name in self.clear if table.is_declared(name))
        return table.made({name: new.get(name) for name in self._layout}, order)

    def piece(self, table: Table, first: int | None = 0, last: bool = True) -> Any:
        """Some rows protected."""
        return self.drawn(self.read(table, first, last))

    def _by_blocks(self, encoded: list[Encoded], first: int, last: bool) -> list[Codes]:
        """Reports by position, from block number ``first`` on, up to the end where ``last``."""
        if not encoded:
            return []
        given = [
            (list(a.columns), e.codes, e.missing, e.groups, list(a.matrices))
            for a, e in zip(self._coded, encoded, strict=True)
        ]
        release = self._options.release_name or ""
        return _core.plan_blocks(self._key, self.plan.name, release, given, first, last)

    def _by_ids(self, encoded: list[Encoded], ids: Ids, together: bool) -> list[Codes]:
        """Reports by ids; ``together``: in one array, where all codes are of one type."""
        room: Any = [None] * len(encoded)
        types = {each.codes.dtype for each in encoded}
        if together and len(types) == 1:
            room = np.empty((len(encoded), len(encoded[0].codes)), types.pop())
        every = zip(self._coded, encoded, room, strict=True)
        return [
            self._one_by_ids(attribute, each, ids.values, out) for attribute, each, out in every
        ]

    def _one_by_ids(
        self, attribute: Categorical | Joint, encoded: Encoded, ids: Any, room: Any
    ) -> Codes:
        """Those of one attribute, each group by its own law."""
        columns, key, name = list(attribute.columns), self._key, self.plan.name
        with about(columns):
            if encoded.groups is None:
                [law] = attribute.matrices
                return _core.plan_ids(key, name, columns, law, encoded.codes, ids, out=room)
            out = np.empty_like(encoded.codes) if room is None else room
            for group, law in enumerate(attribute.matrices):
                rows = np.flatnonzero(encoded.groups == group)
                codes, some = encoded.codes[rows], _some(ids, rows)
                out[rows] = _core.plan_ids(key, name, columns, law, codes, some)
            return out

    def certificate(
        self, records: int, *, ids: ByIds | None = None, engine: str | None = None
    ) -> Certificate:
        """What can be said of the release; ``ids``: of ids, where an engine has seen them."""
        options = self._options
        key, wave = options.key, options.wave
        if ids is None and wave is not None and key is not None:
            ids = wave.outcome(self.plan, key, self._people)
        return Certificate(
            plan=self.plan,
            records=records,
            release_name=options.release_name,
            key_stored=key is not None,
            key_fingerprint=None if key is None else key.fingerprint,
            unprotected_columns=self.clear,
            shuffled=options.shuffle,
            ids=ids,
            package=_version(),
            engine=engine,
            declared_categories=self._declared,
        )


def moved(plan: Plan, options: Options, attribute: Numeric, values: NDArray[Any]) -> NDArray[Any]:
    """A numeric column, permuted or averaged under a key that depends on all of it."""
    matrix: Any = attribute.matrix
    given: dict[str, Any] = {"order": attribute.order}
    if options.key is not None:
        kind, all_words = words(values)
        labels = plan.name, options.release_name or "", attribute.column
        own = _core.plan_column_key(options.key, *labels, kind, all_words)
        given |= {"key": own, "stream": "plan"}
    with about([attribute.column]):
        move = matrix.average if attribute.how == "average" else matrix.permute
        return np.asarray(move(values, **given))


@cache
def _version() -> str:
    from importlib.metadata import version

    return version("bistochastic")


def _some(ids: Any, rows: NDArray[Any]) -> Any:
    """The ids of some rows."""
    if isinstance(ids, _core.SpelledIds):
        return ids.take(rows)
    return ids[rows] if isinstance(ids, np.ndarray) else [ids[i] for i in rows.tolist()]
