"""``plan.column``: a function that protects one column, for tools that ask for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from bistochastic import Key, KeySource
from bistochastic.errors import Refused
from bistochastic_survey import checks
from bistochastic_survey.plan.numeric import Attribute
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.release.responder import Responder, responder
from bistochastic_survey.table.frames import library
from bistochastic_survey.wording import Shown, shown

# A list, an array or a column of any library: the result has the same type.
ValuesT = TypeVar("ValuesT")


@dataclass(frozen=True, repr=False)
class PlannedColumn(Shown):
    """One column of a plan: see :meth:`Plan.column`.

    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")])
    >>> plan.column("sex").name
    'sex'
    """

    plan: Plan
    name: str

    @property
    def attribute(self) -> Attribute:
        """What happens to the column, maybe together with others.

        >>> import bistochastic_survey as sv
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")])
        >>> plan.column("sex").attribute
        <Categorical `sex`, 2 categories: uniform, beta 1>
        """
        return next(each for each in self.plan.attributes if self.name in each.columns)

    def function(
        self, *, key: Key | KeySource, ids: bool = True, allow_insecure: bool = False
    ) -> ColumnFunction:
        """Make the function of values and ids that gives what ``protect`` by ids gives.

        ``key`` is a :class:`Key`, or a :class:`KeySource`, which the function can be pickled with.
        ``ids`` must be True: a function sees batches, in which rows have no position. A column that
        is drawn together with others, or whose matrix another column chooses, raises an error.

        >>> import bistochastic as bs
        >>> import bistochastic_survey as sv
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
            (set(attribute.columns) - {self.name}, "is drawn together"),
            ({attribute.groups.column} if attribute.groups else set(), "chooses its matrix"),
        ):
            if others:
                got = f"`{shown(min(others))}`, which {why}: use batch_function"
                raise Refused("", "need no other column", got, column=self.name)
        alone = Plan([attribute], name=plan.name, id_type=plan.id_type)
        given = {"after": "first", "redraw": False, "allow_insecure": allow_insecure}
        return ColumnFunction(responder(alone, key=key, **given), self.name)

    def __repr__(self) -> str:
        return f"<PlannedColumn `{shown(self.name)}` of plan `{shown(self.plan.name)}`>"


@dataclass(frozen=True, repr=False)
class ColumnFunction(Shown):
    """A function of the values of one column and of ids: see :meth:`PlannedColumn.function`.

    >>> import bistochastic as bs, bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")])
    >>> len(plan.column("sex").function(key=bs.Key.generate())(["F", "M"], ids=[7, 8]))
    2
    """

    responder: Responder
    name: str

    def __call__(self, values: ValuesT, ids: object) -> ValuesT:
        """Protect a list, an array or a column of pandas, polars or pyarrow.

        >>> import bistochastic as bs, numpy as np
        >>> import bistochastic_survey as sv
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
        >>> protect_sex = plan.column("sex").function(key=bs.Key.generate())
        >>> protect_sex(np.array(["F", "M", "M"]), ids=np.arange(3)).shape
        (3,)
        """
        column: Any = values
        made: Any
        kind, name = library(values), self.name
        if kind in ("pandas", "polars"):
            frame = column.to_frame(name)
            made = self.responder.columns(frame, ids=ids)[name].rename(column.name)
            if kind == "pandas":
                # The column goes back into the caller's own frame.
                made.index = column.index
        elif kind == "pyarrow":
            import pyarrow as pa

            made = self.responder.columns(pa.table({name: column}), ids=ids)[name]
            made = made.combine_chunks() if isinstance(column, pa.Array) else made
        else:
            made = self.responder.columns({name: column}, ids=ids)[name]
        found: ValuesT = made
        return found

    def __repr__(self) -> str:
        return f"<ColumnFunction of `{shown(self.name)}`, key {self.responder.fingerprint}>"
