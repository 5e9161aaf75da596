"""``plan.responder``: records of a service or a device, as ``protect`` by ids would report them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from bistochastic import Key, KeySource, backend
from bistochastic.errors import Refused, RefusedType
from bistochastic_survey import checks
from bistochastic_survey.cached import cached
from bistochastic_survey.plan import file_labels, formats, plan_json
from bistochastic_survey.plan.attributes import Categorical, Joint
from bistochastic_survey.plan.labels import Labels, like
from bistochastic_survey.plan.plan import FrameT, Plan
from bistochastic_survey.release.certificate import Certificate
from bistochastic_survey.release.columns import Coded
from bistochastic_survey.release.options import Options
from bistochastic_survey.release.run import Run
from bistochastic_survey.release.waves import ID_TYPES, People, RowIds, Wave, id_kinds, phrase_of
from bistochastic_survey.table.array_table import Arrays
from bistochastic_survey.table.arrays import narrow
from bistochastic_survey.table.frames import Codes, Mask, opened
from bistochastic_survey.wording import Shown, row, shown

Id = int | str | bytes
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
        >>> import bistochastic_survey as sv
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")], name="survey")
        >>> sorted(plan.responder(key=bs.Key.generate(), after="first").check())
        ['digest', 'fingerprint', 'plan']
        """
        self._secret()
        return {"plan": self.plan.name, "digest": self.digest, "fingerprint": self.fingerprint}

    def one(self, record: Mapping[str, object], *, id: Id) -> dict[str, Any]:
        """Randomize one record, a mapping of columns to values; None is a missing value.

        >>> import bistochastic as bs
        >>> import bistochastic_survey as sv
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> key = bs.Key.insecure(1)
        >>> responder = plan.responder(key=key, after="first", allow_insecure=True)
        >>> responder.one({"sex": "F"}, id="person 7")
        {'sex': 'F'}
        """
        if not hasattr(record, "keys") or not hasattr(record, "__getitem__"):
            raise RefusedType("record", "map columns to values", type(record).__name__)
        if self._kinds is not None or not id:
            self._ids("id", [id])
        key = self._secret()
        if type(record) is dict and self._quick is not None:
            found = self._quick.answer(record, key, id)
            if found is not None:
                return found
        table = Record({name: [record[name]] for name in record.keys()})  # noqa: SIM118 - any mapping
        options = Options(key, None, None, False)
        run = Run(self.plan, table.names, options, argument="record")
        ids = RowIds(backend.Ids([id]))
        drawn: dict[str, Any] = run.drawn(run.read(table, None, ids=ids))
        return drawn

    def many(self, records: Iterable[Mapping[str, object]], *, ids: object) -> list[dict[str, Any]]:
        """Randomize records that have the same columns: faster than one by one.

        ``ids`` is a list or an array with the id of each. A column holds values of one type.

        >>> import bistochastic as bs
        >>> import bistochastic_survey as sv
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> responder = plan.responder(key=bs.Key.generate(), after="first")
        >>> records = [{"sex": "F"}, {"sex": "M"}]
        >>> responder.many(records, ids=[7, 8]) == [
        ...     responder.one(record, id=id) for record, id in zip(records, [7, 8])]
        True
        """
        listed = checks.items("records", "be a list of records", records)
        if not listed:
            return []
        names = list(listed[0]) if hasattr(listed[0], "keys") else []
        columns = []
        with suppress(KeyError, TypeError):
            if set(map(len, listed)) == {len(names)}:
                columns = [list(map(itemgetter(name), listed)) for name in names]
        if not columns:
            raise Refused("records", "map the same columns to values", "one that does not")
        found = self._drawn(Arrays(dict(zip(names, columns, strict=True))), ids, "records")
        # Much faster than a dict from a pair of each name and value.
        made: list[dict[str, Any]] = [{} for _ in listed]
        for name, values in found.items():
            for each, value in zip(made, values, strict=True):
                each[name] = value
        return made

    def columns(self, columns: FrameT, *, ids: object) -> FrameT:
        """Randomize a dict of lists or arrays, or any table that ``protect`` accepts.

        ``ids`` is a list or an array with the id of each row.

        >>> import bistochastic as bs
        >>> import bistochastic_survey as sv
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")])
        >>> responder = plan.responder(key=bs.Key.generate(), after="first")
        >>> len(responder.columns({"sex": ["F", "M", "M"]}, ids=[7, 8, 9])["sex"])
        3
        """
        found: FrameT = self._drawn(opened(columns), ids, "columns")
        return found

    def _drawn(self, table: Any, ids: object, argument: str) -> Any:
        held = self._ids("ids", ids)
        if len(held) != table.rows:
            must = f"have one id for each of {table.rows:,} records"
            raise Refused("ids", must, f"{len(held):,}")
        options = Options(self._secret(), None, None, False)
        run = Run(self.plan, table.names, options, argument=argument)
        return run.drawn(run.read(table, None, ids=RowIds(held)))

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
    plan: Plan, *, key: object, after: object, redraw: object, allow_insecure: object
) -> Responder:
    """Make the responder of :meth:`Plan.responder`."""
    plan._refuse_undecided()
    plan._meet_requirement()
    again = checks.flag("redraw", redraw)
    insecure = checks.flag("allow_insecure", allow_insecure)
    if not isinstance(key, Key | KeySource):
        raise RefusedType("key", "be a Key or a KeySource", type(key).__name__)
    if not insecure and key.fingerprint == "insecure":
        must = "be a secret, or allow_insecure=True be said"
        raise Refused("key", must, "one that anyone can guess")
    file_labels.refuse_numbers(plan, "for one record")
    for coded in plan._coded:
        if coded.unit is not None:
            must = "not be drawn by unit for one record, as a client holds no other record"
            raise Refused("", must, f"unit `{shown(coded.unit)}`", column=coded.columns)
    for attribute in plan._numeric:
        must = "not be numeric for one record, as numbers are permuted among records"
        raise Refused("", must, "a numeric one", column=attribute.columns)
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
            if after not in _digests(plan) and not again:
                cure = "redraw=True re-randomizes, which spends epsilon again"
                got = f"that of a plan that draws otherwise: {cure}"
                raise Refused("after", "be the digest of this plan", got)
    return Responder(plan, key, kinds)


def _digests(plan: Plan) -> set[str]:
    """Return the digest of a plan, and its digest without ``id_type``, which changes no draw."""
    plain = {name: each for name, each in plan_json.plain(plan).items() if name != "id_type"}
    return {plan.digest, formats.digest(plain)}


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


class Record(Arrays):
    """The values of one record as a table of one row."""

    def codes(self, name: str, labels: Labels) -> tuple[Codes, Mask | None]:
        """Return the code of the value, 0 if it is missing, and whether it is missing."""
        (value,) = self._columns[name]
        if value is None or (isinstance(value, float) and value != value):
            return np.zeros(1, narrow(len(labels))), np.array([True])
        code = labels.code(value)
        if code is None:
            raise Refused("", "hold a declared category", "an undeclared one", column=name)
        if like(labels, value) is None:
            must = "hold a string, as its categories are"
            raise RefusedType("", must, type(value).__name__, column=name)
        return np.array([code], narrow(len(labels))), None

    def made(self, columns: Mapping[str, Any], order: np.ndarray | None) -> dict[str, Any]:
        """Return the record with these columns, None for one that stays."""
        return {n: (self._columns[n] if new is None else new)[0] for n, new in columns.items()}
