"""How the rows of a release are addressed: the facts of a certificate about ids and units."""

from __future__ import annotations

from dataclasses import dataclass

from bistochastic_survey.plan.attributes import Categorical, Joint
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.wording import Shown, shown, visible


@dataclass(frozen=True, repr=False)
class ByIds(Shown):
    """The facts of a certificate about ids.

    >>> import bistochastic as bs
    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> release = plan.protect({"sex": ["F", "M"], "person": [7, 8]},
    ...                        ids=sv.Wave("person", after="first"), key=bs.Key.generate())
    >>> release.certificate.ids.kind, release.certificate.ids.rows_per_id_checked
    ('whole numbers', 1)
    """

    id_column: str
    kind: str
    kept: bool
    pseudonym: str | None
    max_rows_per_id: int
    rows_per_id_checked: int | None
    """More rows of an id would have been found; None if this was not checked."""
    after: str
    redrawn: tuple[str, ...]
    carried: tuple[Categorical | Joint, ...]
    """Attributes of earlier waves that this one lacks: a later one may bring them back."""
    row_columns: tuple[str, ...] = ()
    """The columns that identify rows, if the release has no id column."""
    redrawn_before: tuple[str, ...] = ()
    """The reasons why people were re-randomized in all waves before this one, the oldest first."""

    @property
    def _line(self) -> str:
        """How rows are addressed, in one line."""
        if self.row_columns:
            listed = ", ".join(f"`{shown(column)}`" for column in self.row_columns)
            return f"by {listed}, {self.kind}"
        wave = "the first wave" if self.after == "first" else f"after {self.after[:16]}"
        return f"by id `{shown(self.id_column)}`, {self.kind}, {wave}"

    def __repr__(self) -> str:
        redrawn = map(visible, (*self.redrawn_before, *self.redrawn))
        return f"<ByIds: rows {self._line}{''.join(f'; re-randomized: {x}' for x in redrawn)}>"


@dataclass(frozen=True, repr=False)
class Unit(Shown):
    """The facts of a certificate about the units of one column.

    >>> import bistochastic_survey as sv
    >>> roof = sv.Categorical("roof", ["tin", "clay"], "randomized_response", beta=0.6, unit="home")
    >>> plan = sv.Plan([roof], drop=["home"])
    >>> release = plan.protect({"roof": ["tin", "tin"], "home": [7, 7]}, count_units=True)
    >>> release.certificate.units
    (<Unit `home`: whole numbers, 1 unit>,)
    """

    column: str
    kind: str
    """The types of the ids of the units."""
    checked: bool
    """Whether all records of every unit were compared; an engine compares those of a batch."""
    pseudonym: str | None = None
    """The column that holds a keyed hash of the unit."""
    count: int | None = None
    """The number of units, if it was requested."""

    @property
    def _line(self) -> str:
        many = "" if self.count is None else f", {self.count:,} unit{'s' * (self.count != 1)}"
        hashed = "" if self.pseudonym is None else f", replaced by `{shown(self.pseudonym)}`"
        return f"{self.kind}{many}{hashed}{', compared in batches' * (not self.checked)}"

    def __repr__(self) -> str:
        return f"<Unit `{shown(self.column)}`: {self._line}>"


def drawn_by(plan: Plan) -> tuple[str, ...]:
    """List the columns that attributes are drawn by, each once."""
    return tuple(dict.fromkeys(a.unit for a in plan._coded if a.unit is not None))
