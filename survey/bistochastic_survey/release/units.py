"""Units: records that share one draw, such as the people of a household.

A column with ``unit=`` is drawn once per unit, in the same way as by ids, with a key of its own for
the unit's column. All records of a unit have the same code, so each record can be drawn by itself
and has the same reported value. This file checks that records of a unit agree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bistochastic import Key, backend
from bistochastic.errors import Refused, RefusedType
from bistochastic_survey.plan.attributes import named
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.release.columns import Encoded
from bistochastic_survey.release.waves import RowIds, id_kinds, phrase_of, read_ids
from bistochastic_survey.table.frames import Table
from bistochastic_survey.wording import row, shown

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
