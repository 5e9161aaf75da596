"""A caller's options for a release, checked before any row is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Required, TypedDict

from bistochastic import Key, KeySource, backend
from bistochastic.errors import Refused
from bistochastic_survey import checks
from bistochastic_survey.plan.attributes import named
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.release import waves
from bistochastic_survey.release.certificate_json import drawn_by
from bistochastic_survey.wording import meant, shown

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
        given = {"shuffle": shuffle, "allow_insecure": allow_insecure, "count_units": count_units}
        flags = {name: checks.flag(name, value) for name, value in given.items()}
        label = None if release_name is None else named("release_name", release_name)
        held = (
            None if key is None else backend.read_key(key, allow_insecure=flags["allow_insecure"])
        )
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
        return cls(held, label, wave, flags["shuffle"], replaced, flags["count_units"])

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
            listed = ", ".join(f"`{shown(name)}`" for name in unknown)
            raise Refused(argument, "hold columns that the plan protects, keeps or drops", listed)
        if len(set(layout)) < len(layout):
            raise Refused("pseudonym", "be the name of a new column", "one that there is")
        return layout
