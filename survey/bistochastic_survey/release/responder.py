"""``plan.responder`` and ``plan.column``: records as they come, and single columns, by ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeVar

import pyarrow as pa

from bistochastic import Key, KeySource, backend
from bistochastic.errors import Refused, RefusedType
from bistochastic_survey import checks
from bistochastic_survey.cached import cached
from bistochastic_survey.plan import file_labels, plan_json
from bistochastic_survey.plan.attributes import Categorical, Joint
from bistochastic_survey.plan.numeric import Attribute
from bistochastic_survey.plan.plan import FrameT, Plan
from bistochastic_survey.release.certificate import Certificate
from bistochastic_survey.release.columns import Coded
from bistochastic_survey.release.run import Options, Run
from bistochastic_survey.release.waves import ID_TYPES, People, RowIds, Wave, id_kinds, phrase_of
from bistochastic_survey.table.array_table import Arrays
from bistochastic_survey.table.frames import library, opened
from bistochastic_survey.wording import Shown, row, shown

Id = int | str | bytes
# A list, an array or a column of any library: the result has the same type.
ValuesT = TypeVar("ValuesT")
# Orders of columns that are remembered.
_LAYOUTS = 64


@dataclass(frozen=True, repr=False)
class Responder(Shown):
    """A plan and the place of its key: what a service holds to randomize records as they come.

    :meth:`Plan.responder` makes one. It is frozen, every thread may use it at any time, and it can
    be pickled: the source of the key is inside, never the key. Its answers are those of
    :meth:`Plan.protect` by ids, so the same person with the same value always gets the same.

    >>> import bistochastic as bs, tempfile
    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> with bs.KeySource.temporary(tempfile.mkdtemp()) as source:
    ...     responder = plan.responder(key=source, after="first")
    ...     one = responder.one({"sex": "F"}, id="ann")
    ...     both = responder.many([{"sex": "F"}, {"sex": "M"}], ids=["ann", "bob"])
    >>> both[0] == one
    True
    >>> responder.digest == plan.digest
    True
    """

    plan: Plan
    key: Key | KeySource
    _kinds: frozenset[str] | None = None
    """The types that ids may have; None for all."""

    @property
    def digest(self) -> str:
        """The digest of the plan: store it, and pass it as ``after`` at the next start."""
        return self.plan.digest

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the key, which is no secret."""
        return self.key.fingerprint

    def check(self) -> dict[str, str]:
        """Read the key and say what is in use, for a health check; an error if it is not there.

        >>> import bistochastic as bs
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")], name="survey")
        >>> sorted(plan.responder(key=bs.Key.generate(), after="first").check())
        ['digest', 'fingerprint', 'plan']
        """
        self._secret()
        return {"plan": self.plan.name, "digest": self.digest, "fingerprint": self.fingerprint}

    def one(self, record: Mapping[str, object], *, id: Id) -> dict[str, Any]:
        """Randomize one record, a mapping of columns to values; None is a missing value.

        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> key = bs.Key.insecure(1)
        >>> responder = plan.responder(key=key, after="first", allow_insecure=True)
        >>> responder.one({"sex": "F"}, id="person 7")
        {'sex': 'F'}
        """
        if not hasattr(record, "keys") or not hasattr(record, "__getitem__"):
            raise RefusedType("record", "map columns to values", type(record).__name__)
        if self._kinds is not None or type(id) not in (int, str, bytes) or not id:
            self._ids("id", [id])
        key = self._secret()
        if type(record) is dict and self._quick is not None:
            found = self._quick.answer(record, key, id)
            if found is not None:
                return found
        table = Arrays({name: [record[name]] for name in record.keys()})  # noqa: SIM118 - any mapping
        drawn = self._run(table, backend.Ids([id]), key, "record")
        return {name: values[0] for name, values in drawn.items()}

    def many(self, records: Iterable[Mapping[str, object]], *, ids: object) -> list[dict[str, Any]]:
        """Randomize records that have the same columns: faster than one by one.

        ``ids`` is a list or an array with the id of each. A column holds values of one type.

        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> responder = plan.responder(key=bs.Key.generate(), after="first")
        >>> records = [{"sex": "F"}, {"sex": "M"}]
        >>> responder.many(records, ids=[7, 8]) == [
        ...     responder.one(record, id=id) for record, id in zip(records, [7, 8])]
        True
        """
        listed = checks.items("records", "be a list of records", records)
        if not listed:
            self._one_for_each(ids, 0)
            return []
        names = list(listed[0]) if hasattr(listed[0], "keys") else []
        columns = []
        with suppress(KeyError, TypeError):
            if set(map(len, listed)) == {len(names)}:
                columns = [list(map(itemgetter(name), listed)) for name in names]
        if not columns:
            raise Refused("records", "map the same columns to values", _misfit(listed, names))
        found = self._drawn(Arrays(dict(zip(names, columns, strict=True))), ids, "records")
        # Much faster than a dict from a pair of each name and value.
        made: list[dict[str, Any]] = [{} for _ in listed]
        for name, values in found.items():
            for each, value in zip(made, values, strict=True):
                each[name] = value
        return made

    def columns(self, columns: FrameT, *, ids: object) -> FrameT:
        """Randomize a dict of lists or arrays, or any table that ``protect`` accepts.

        ``ids`` is a list or an array with the id of each row, or a Series with the same index.

        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")])
        >>> responder = plan.responder(key=bs.Key.generate(), after="first")
        >>> len(responder.columns({"sex": ["F", "M", "M"]}, ids=[7, 8, 9])["sex"])
        3
        """
        _refuse_other_index(columns, ids)
        found: FrameT = self._drawn(opened(columns), ids, "columns")
        return found

    def _drawn(self, table: Any, ids: object, argument: str) -> Any:
        return self._run(table, self._one_for_each(ids, table.rows), self._secret(), argument)

    def _one_for_each(self, ids: object, records: int) -> backend.Ids:
        held = self._ids("ids", ids)
        if len(held) != records:
            raise Refused("ids", f"have one id for each of {records:,} records", f"{len(held):,}")
        return held

    def _run(self, table: Any, ids: backend.Ids, key: Key, argument: str) -> Any:
        run = Run(self.plan, table.names, Options(key, None, None, False), argument=argument)
        return run.drawn(run.read(table, None, ids=RowIds(ids)))

    def _ids(self, name: str, given: object) -> backend.Ids:
        """Read ids; none may be empty, or of another type than those of the waves before."""
        held = backend.Ids(given)
        at = held.first_empty
        if at is not None:
            got = "an empty one" if name == "id" else f"an empty one in {row(at, None)}"
            raise Refused(name, "not be empty", got)
        if self._kinds is not None and not (kinds := id_kinds(held)) <= self._kinds:
            must = f"be {phrase_of(self._kinds)}, as id_type or the wave before says"
            raise RefusedType(name, must, phrase_of(kinds - self._kinds))
        return held

    def _secret(self) -> Key:
        return self.key.read() if isinstance(self.key, KeySource) else self.key

    @cached
    def _quick(self) -> _Quick | None:
        """The quick way to randomize one record; None if a column needs the general way."""
        plain = all(
            type(a) in (Categorical, Joint)
            and not (a.impossible or a.recode or any(m.padding for m in a.matrices))
            for a in self.plan._coded
        )
        return _Quick(self.plan) if plain else None

    def __repr__(self) -> str:
        return f"<Responder of plan `{shown(self.plan.name)}`, key {self.fingerprint}>"

    def __getstate__(self) -> dict[str, Any]:
        return {"plan": self.plan, "key": self.key, "_kinds": self._kinds}


def responder(
    plan: Plan,
    *,
    key: Key | KeySource,
    after: object,
    redraw: object,
    allow_insecure: object,
    whole: Plan | None = None,
) -> Responder:
    """Make the responder of :meth:`Plan.responder`; ``whole`` is the plan of a single column."""
    file_labels.refuse_others(plan, "for one record")
    plan._meet_requirement()
    again = checks.flag("redraw", redraw)
    insecure = checks.flag("allow_insecure", allow_insecure)
    checks.of_type("key", "be a Key or a KeySource", key, Key | KeySource)
    if not insecure and key.fingerprint == "insecure":
        must = "be a secret, or allow_insecure=True be said"
        raise Refused("key", must, "one that anyone can guess")
    kinds = None if plan.id_type is None else frozenset((ID_TYPES[plan.id_type],))
    if isinstance(after, Certificate):
        wave, people = Wave("id", after=after, redraw=again), People(1)
        wave._check_plan(plan, None)
        people.see(set(kinds or ()))
        wave._refuse_changed(plan, key, people)
        assert after.ids is not None
        if kinds is None and after.ids.kind != "none" and not again:
            kinds = frozenset(after.ids.kind.split(" and "))
    else:
        must = 'be "first", the digest of the plan before, or the certificate of the wave before'
        if not isinstance(after, str):
            raise RefusedType("after", must, "none" if after is None else type(after).__name__)
        if after != "first":
            if len(after) != 64 or not set(after) <= set("0123456789abcdef"):
                raise Refused("after", must, "a string beyond these")
            # Naming the type of ids, or leaving it to them, changes nothing that is drawn.
            known = plan_json.digests(whole or plan)
            before = known.get(after)
            same = after in known and (before == plan.id_type or None in (before, plan.id_type))
            if not same and not again:
                cure = "pass the certificate, which compares what is drawn, or redraw=True"
                raise Refused("after", "be the digest of this plan", f"one that differs: {cure}")
            if kinds is None and before is not None and not again:
                kinds = frozenset((ID_TYPES[before],))
    return Responder(plan, key, kinds)


def _misfit(records: list[Any], names: list[str]) -> str:
    """Describe the first record that does not have the columns of the first one."""
    for i, record in enumerate(records):
        if not hasattr(record, "keys"):
            return f"{type(record).__name__} in {row(i)}"
        if odd := sorted(set(names).symmetric_difference(record.keys()), key=str):
            return f"{'no ' * (odd[0] in names)}`{shown(odd[0])}` in {row(i)}"
    return "no column"


def _refuse_other_index(values: Any, ids: Any) -> None:
    """Raise an error for values and ids of pandas that only look as if they were row by row."""
    indices = [x.index for x in (values, ids) if library(x) == "pandas"]
    if len(indices) == 2 and len(values) == len(ids) and not indices[0].equals(indices[1]):
        got = "one that differs: ids.to_numpy() pairs them by position"
        raise Refused("ids", "have the index of the values", got)


class _Quick:
    """Answers without tables of one row, for records whose values are spelled as declared.

    Everything else is left to the general way, which also makes the sentences about what is wrong.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._options = Options(None, None, None, False)
        self._layouts: dict[tuple[str, ...], list[str]] = {}
        self._parts = [_Part(attribute) for attribute in plan._coded]

    def answer(self, record: dict[str, Any], key: Key, id: Id) -> dict[str, Any] | None:
        """Randomize the record; None if a value is missing or spelled in another way."""
        names = tuple(record)
        layout = self._layouts.get(names)
        if layout is None:
            layout = self._options.layout(self._plan, list(names), "record")
            if len(self._layouts) < _LAYOUTS:
                self._layouts[names] = layout
        found = {name: record[name] for name in layout}
        drawn = []
        for part in self._parts:
            code = 0
            for name, size, codes in part.columns:
                value = record[name]
                same = codes.get(type(value))
                digit = None if same is None else same.get(value)
                if digit is None:
                    return None
                code = code * size + digit
            group = None if part.by is None else record[part.by]
            matrix = part.matrices.get(group) if type(group) is part.kind else None
            if matrix is None:
                return None
            drawn.append((part, matrix, code))
        for part, matrix, code in drawn:
            v = backend.respond(part.names, matrix, code, key, self._plan.name, id)
            for name, size, values in part.values:
                v, digit = divmod(v, size)
                found[name] = values[digit]
        return found


class _Part:
    """The parts of one attribute that a quick draw needs."""

    def __init__(self, attribute: Coded) -> None:
        self.names = list(attribute.columns)
        every = list(zip(attribute.columns, attribute.shape, attribute.axes, strict=True))
        self.columns = [
            (name, size, {type(axis.values[0]): {v: i for i, v in enumerate(axis.values)}})
            for name, size, axis in every
        ]
        self.values = [(name, size, (*axis.values, None)) for name, size, axis in reversed(every)]
        groups = attribute.groups
        self.by = None if groups is None else groups.column
        chosen = (None,) if groups is None else groups.labels.values
        self.kind = type(chosen[0])
        self.matrices = dict(zip(chosen, attribute.matrices, strict=True))


@dataclass(frozen=True, repr=False)
class PlannedColumn(Shown):
    """One column of a plan: see :meth:`Plan.column`.

    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")])
    >>> plan.column("sex").column
    'sex'
    """

    plan: Plan
    column: str

    @property
    def attribute(self) -> Attribute:
        """What happens to the column, maybe together with others.

        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")])
        >>> plan.column("sex").attribute
        <Categorical `sex`, 2 categories: uniform, beta 1>
        """
        return next(each for each in self.plan.attributes if self.column in each.columns)

    def function(
        self,
        *,
        key: Key | KeySource,
        ids: bool = True,
        after: Certificate | str = "first",
        redraw: bool = False,
        allow_insecure: bool = False,
    ) -> ColumnFunction:
        """Make the function of values and ids that gives what ``protect`` by ids gives.

        ``key`` is a :class:`Key`, or a :class:`KeySource`, which the function can be pickled with.
        ``ids`` must be True: a function sees batches, in which rows have no position. ``after`` and
        ``redraw`` are those of :meth:`Plan.responder`, with the digest of the whole plan. A column
        that is drawn together with others, or whose matrix another column chooses, raises an error.

        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> key, wave = bs.Key.generate(), sv.Wave("id", after="first")
        >>> protect_sex = plan.column("sex").function(key=key)
        >>> release = plan.protect({"sex": ["F", "M"], "id": [7, 8]}, key=key, ids=wave)
        >>> protect_sex(["F", "M"], [7, 8]) == release.data["sex"]
        True
        """
        if not checks.flag("ids", ids):
            raise Refused("ids", "be True, as rows of a batch have no position", "False")
        plan, attribute = self.plan, self.attribute
        plan._refuse_undecided()
        plan._meet_requirement()
        for others, why in (
            (set(attribute.columns) - {self.column}, "is drawn together"),
            ({attribute.groups.column} if attribute.groups else set(), "chooses its matrix"),
        ):
            if others:
                got = f"`{shown(min(others))}`, which {why}: use batch_function"
                raise Refused("", "need no other column", got, column=self.column)
        alone = Plan([attribute], name=plan.name, id_type=plan.id_type)
        given = {"after": after, "redraw": redraw, "allow_insecure": allow_insecure}
        return ColumnFunction(responder(alone, key=key, whole=plan, **given), self.column)

    def __repr__(self) -> str:
        return f"<PlannedColumn `{shown(self.column)}` of plan `{shown(self.plan.name)}`>"


@dataclass(frozen=True, repr=False)
class ColumnFunction(Shown):
    """A function of the values of one column and of ids: see :meth:`PlannedColumn.function`.

    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")])
    >>> len(plan.column("sex").function(key=bs.Key.generate())(["F", "M"], ids=[7, 8]))
    2
    """

    responder: Responder
    column: str

    def __call__(self, values: ValuesT, ids: object) -> ValuesT:
        """Protect a list, an array or a column of pandas, polars or pyarrow.

        >>> import bistochastic as bs, numpy as np
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> protect_sex = plan.column("sex").function(key=bs.Key.generate())
        >>> protect_sex(np.array(["F", "M", "M"]), ids=np.arange(3)).shape
        (3,)
        """
        given: Any = values
        kind, name = library(values), self.column
        frame: Any = {name: given}
        if kind == "pandas":
            _refuse_other_index(given, ids)
            frame = given.reset_index(drop=True).to_frame(name)
        elif kind == "polars":
            frame = given.to_frame(name)
        elif kind == "pyarrow":
            frame = pa.table(frame)
        made: Any = self.responder._drawn(opened(frame), ids, "columns")[name]
        if kind in ("pandas", "polars"):
            made = made.rename(given.name)
        if kind == "pandas":
            # The column goes back into the caller's own frame.
            made.index = given.index
        if kind == "pyarrow" and isinstance(given, pa.Array):
            made = made.combine_chunks()
        found: ValuesT = made
        return found

    def __repr__(self) -> str:
        return f"<ColumnFunction of `{shown(self.column)}`, key {self.responder.fingerprint}>"
