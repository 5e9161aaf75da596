"""``plan.respond``: one record on a client, as ``protect`` by ids would report it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic.backend import Ids as RecordIds
from bistochastic.backend import read_key
from bistochastic.backend import respond as respond_one
from bistochastic.errors import Refused, RefusedType
from bistochastic_survey.plan import file_labels
from bistochastic_survey.plan.attributes import Categorical, Joint
from bistochastic_survey.plan.labels import like
from bistochastic_survey.release.options import Options
from bistochastic_survey.release.run import Run
from bistochastic_survey.release.waves import RowIds
from bistochastic_survey.table.array_table import Arrays
from bistochastic_survey.wording import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bistochastic import Key
    from bistochastic_survey.plan.labels import Labels
    from bistochastic_survey.plan.plan import Plan
    from bistochastic_survey.release.columns import Coded
    from bistochastic_survey.table.frames import Codes, Mask

    Id = int | str | bytes

# Orders of columns that are remembered.
_LAYOUTS = 64


def respond(
    plan: Plan, record: Mapping[str, object], *, key: object, id: Id, allow_insecure: bool = False
) -> dict[str, Any]:
    """Randomize one record."""
    plan._refuse_undecided()
    if not hasattr(record, "keys") or not hasattr(record, "__getitem__"):
        raise RefusedType("record", "map columns to values", type(record).__name__)
    plan._meet_requirement()
    secret = read_key(key, allow_insecure=allow_insecure)
    if type(record) is dict and plan._quick is not None:
        found = plan._quick.answer(record, secret, id)
        if found is not None:
            return found
    options = Options(secret, None, None, False)
    file_labels.refuse_numbers(plan, "for one record")
    for coded in plan._coded:
        if coded.unit is not None:
            must = "not be drawn by unit for one record, as a client holds no other record"
            raise Refused("", must, f"unit `{shown(coded.unit)}`", column=coded.columns)
    table = Record({name: [record[name]] for name in record.keys()})  # noqa: SIM118 - any mapping
    run = Run(plan, table.names, options, argument="record", narrowed=False)
    for attribute in run.numeric:
        must = "not be numeric for one record, as numbers are permuted among records"
        raise Refused("", must, "a numeric one", column=attribute.columns)
    drawn: dict[str, Any] = run.drawn(run.read(table, None, ids=RowIds(RecordIds([id]))))
    return drawn


class Quick:
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
            v = respond_one(part.names, matrix, code, key, self._plan.name, id)
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


def prepare(plan: Plan) -> Quick | None:
    """Make the quick way to answer; None if a column of the plan needs the general way."""
    plain = all(
        type(a) in (Categorical, Joint)
        and not (a.impossible or a.unit or a.recode or any(m.padding for m in a.matrices))
        for a in plan._coded
    )
    return Quick(plan) if plain and not plan._numeric else None


class Record(Arrays):
    """The values of one record as a table of one row."""

    def codes(self, name: str, labels: Labels) -> tuple[Codes, Mask | None]:
        """Return the code of the value, 0 if it is missing, and whether it is missing."""
        (value,) = self._columns[name]
        if value is None or (isinstance(value, float) and value != value):
            return np.zeros(1, np.int64), np.array([True])
        code = labels.code(value)
        if code is None:
            raise Refused("", "hold a declared category", "an undeclared one", column=name)
        if like(labels, value) is None:
            must = "hold a string, as its categories are"
            raise RefusedType("", must, type(value).__name__, column=name)
        return np.array([code]), None

    def made(self, columns: Mapping[str, Any], order: np.ndarray | None) -> dict[str, Any]:
        """Return the record with these columns, None for one that stays."""
        return {n: (self._columns[n] if new is None else new)[0] for n, new in columns.items()}
