"""``plan.protect``: a table in, a protected table and its certificate out.

By position, the noise of a block of 65,536 rows depends on the key, the labels and on all that the
block holds, so that two files share nothing: ``src/draw/randomize/block.rs`` has it. By ids it
depends on the person and the value, so that every wave says the same of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic

import numpy as np

from bistochastic import _core, families
from bistochastic.adapters.arrays import words
from bistochastic.adapters.frames import opened
from bistochastic.plan import columns as coding
from bistochastic.plan import waves
from bistochastic.plan.attributes import Categorical, Joint, Numeric, about
from bistochastic.plan.certificate import Certificate
from bistochastic.plan.keywords import FrameT
from bistochastic.progress import watched

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from numpy.typing import NDArray

    from bistochastic.adapters.frames import Codes
    from bistochastic.matrix import Matrix
    from bistochastic.plan.columns import Encoded
    from bistochastic.plan.options import Options
    from bistochastic.plan.plan import Plan
    from bistochastic.plan.waves import Ids, People
    from bistochastic.progress import Progress


@dataclass(frozen=True)
class Release(Generic[FrameT]):
    """A protected table, and what can be said of it.

    >>> import bistochastic as bs
    >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> plan.protect({"sex": ["F", "M", "M"]})
    <Release of 3 records, 1 column: plan `plan`, beta 0.6>
    """

    data: FrameT
    certificate: Certificate

    def report(self, path: str | PathLike[str], *, design_effect: float = 1) -> None:
        """Write what was done and what it hides as a page to be handed over.

        ``path`` ends in ``.html``. The page is one file that needs nothing else. It is made from
        the certificate alone, without looking at any answer. A file that is there is replaced once
        the new one is whole.

        Errors of estimates are those of a simple random sample. ``design_effect`` is by how much
        larger variances are by your design: of households of four, say, up to 4.

        >>> import bistochastic as bs, pathlib, tempfile
        >>> plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> plan.protect({"sex": ["F", "M", "M"]}).report(page)
        >>> "someone" in page.read_text(encoding="utf-8").lower()
        True
        """
        self.certificate.report(path, design_effect=design_effect)

    def __repr__(self) -> str:
        return f"<Release {self.certificate._line}>"

    def _repr_html_(self) -> str:
        from bistochastic import markup

        # The certificate alone: rows are shown where they are asked for.
        where = markup.element("p", "The protected table is in ", markup.element("code", "data"))
        return markup.fragment(where, *self.certificate._shown())


def protect(
    plan: Plan, frame: FrameT, options: Options, progress: Progress = None
) -> Release[FrameT]:
    """What :meth:`Plan.protect` does."""
    with watched("protecting", progress) as tell:
        # A column is read, drawn and written; a numeric one drawn and written at once.
        done = _Done(tell, sum(2 if isinstance(a, Numeric) else 3 for a in plan.attributes))
        found = _protected(plan, frame, options, done)
        done(done.parts)
        return found


class _Done:
    """Counts the parts of the work that are done, and tells their share."""

    def __init__(self, tell: Callable[[float], object] | None, parts: int) -> None:
        self._tell, self.parts, self._now = tell, parts, 0

    def __call__(self, more: int = 1) -> None:
        self._now = min(self._now + more, self.parts)
        if self._tell is not None:
            self._tell(self._now / self.parts)


def _protected(plan: Plan, frame: FrameT, options: Options, done: _Done) -> Release[FrameT]:
    key, release, wave = options.key, options.release, options.wave
    table = opened(frame)
    layout = options.layout(plan, table.names)
    rows = table.rows
    options.check_rows(plan, rows)
    numeric = [a for a in plan.attributes if isinstance(a, Numeric)]
    bound = plan.for_records(rows) if numeric else plan
    coded = [a for a in bound.attributes if isinstance(a, Categorical | Joint)]
    encoded = []
    for attribute in coded:
        encoded.append(coding.encode(table, attribute, narrowed=wave is None))
        done()
    values = {}
    for number in numeric:
        values[number.column] = coding.numbers(table, number)
        done()
    people = ids = None
    if wave is not None and key is not None:
        people = waves.People(wave.max_rows_per_id)
        ids = wave.read(table, plan, key, people, 0)
    # All has been looked at: from here on nothing is refused for what the table holds.
    draws = Draws(bound, key, release)
    drawn = draws.by_blocks(coded, encoded) if ids is None else draws.by_ids(coded, encoded, ids)
    done(len(coded))
    new: dict[str, Any] = {}
    for attribute, codes, source in zip(coded, drawn, encoded, strict=True):
        new.update(coding.decode(table, attribute, codes, source.missing))
        done()
    for each in bound.attributes:
        if isinstance(each, Numeric):
            found = draws.numbers(each, values[each.column])
            new[each.column] = table.numbered(each.column, found)
            done()
    if wave is not None and wave.pseudonym is not None and ids is not None:
        new[wave.pseudonym] = table.texts(ids.pseudonyms())
    order = families.uniform(rows).sample_permutation() if options.shuffle and rows else None
    data = table.made({name: new.get(name) for name in layout}, order)
    clear = tuple(name for name in layout if name not in new)
    declared = tuple(name for name in clear if table.is_declared(name))
    return Release(data, certified(bound, options, rows, clear, people, declared))


def certified(
    bound: Plan,
    options: Options,
    rows: int,
    clear: tuple[str, ...],
    people: People | None,
    declared: tuple[str, ...] = (),
) -> Certificate:
    """The certificate of a release by a plan that is bound to its records."""
    key, wave = options.key, options.wave
    by_ids = None
    if wave is not None and key is not None and people is not None:
        by_ids = wave.outcome(bound, key, people)
    return Certificate(
        plan=bound,
        records=rows,
        release=options.release,
        key_kept=key is not None,
        key_fingerprint=None if key is None else key.fingerprint,
        columns_in_clear=clear,
        shuffled=options.shuffle,
        ids=by_ids,
        package=_version(),
        declared_categories=declared,
    )


@cache
def _version() -> str:
    from importlib.metadata import version

    return version("bistochastic")


class Draws:
    """What a plan draws under a key; under one that is forgotten with it, where none is given."""

    def __init__(self, plan: Plan, key: _core.Key | None, release: str | None) -> None:
        self._plan = plan
        self._given = key
        self._key = _core.Key.generate() if key is None else key
        self._release = release or ""

    def by_blocks(
        self,
        attributes: list[Categorical | Joint],
        encoded: list[Encoded],
        first: int = 0,
        last: bool = True,
    ) -> list[Codes]:
        """Reports by position, from block number ``first`` on, up to the end where ``last``."""
        if not attributes:
            return []
        given = [
            (list(a.columns), e.codes, e.missing, e.strata, list(a.matrices))
            for a, e in zip(attributes, encoded, strict=True)
        ]
        return _core.plan_blocks(self._key, self._plan.name, self._release, given, first, last)

    def by_ids(
        self,
        attributes: list[Categorical | Joint],
        encoded: list[Encoded],
        ids: Ids,
        *,
        together: bool = False,
    ) -> list[Codes]:
        """Reports by ids; ``together``: in one array, where all codes are of one type."""
        room: Any = [None] * len(encoded)
        types = {each.codes.dtype for each in encoded}
        if together and len(types) == 1:
            room = np.empty((len(encoded), len(encoded[0].codes)), types.pop())
        every = zip(attributes, encoded, room, strict=True)
        return [
            self._one_by_ids(attribute, each, ids.values, out) for attribute, each, out in every
        ]

    def _one_by_ids(
        self, attribute: Categorical | Joint, encoded: Encoded, ids: Any, room: Any
    ) -> Codes:
        """Those of one attribute, each stratum by its own law."""
        columns = list(attribute.columns)

        def draw(matrix: Matrix, codes: Codes, some: Any, room: Any = None) -> Codes:
            name = self._plan.name
            with about(columns):
                return _core.plan_ids(self._key, name, columns, matrix, codes, some, out=room)

        if encoded.strata is None:
            return draw(attribute.matrices[0], encoded.codes, ids, room)
        out = np.empty_like(encoded.codes) if room is None else room
        for stratum, matrix in enumerate(attribute.matrices):
            rows = np.flatnonzero(encoded.strata == stratum)
            out[rows] = draw(matrix, encoded.codes[rows], _some(ids, rows))
        return out

    def numbers(self, attribute: Numeric, values: NDArray[Any]) -> NDArray[Any]:
        """A numeric column, permuted or averaged under a key that depends on all of it."""
        matrix: Any = attribute.matrix
        options: dict[str, Any] = {"order": attribute.order}
        if self._given is not None:
            kind, all_words = words(values)
            name, column = self._plan.name, attribute.column
            own = _core.plan_column_key(self._key, name, self._release, column, kind, all_words)
            options |= {"key": own, "stream": "plan"}
        with about([attribute.column]):
            move = matrix.average if attribute.release == "average" else matrix.permute
            return np.asarray(move(values, **options))


def _some(ids: Any, rows: NDArray[Any]) -> Any:
    """The ids of some rows."""
    if isinstance(ids, _core.SpelledIds):
        return ids.take(rows)
    return ids[rows] if isinstance(ids, np.ndarray) else [ids[i] for i in rows.tolist()]
