"""``Binned``: a column of numbers or dates in public classes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bistochastic import Matrix
from bistochastic.errors import Refused, RefusedType
from bistochastic_survey import checks
from bistochastic_survey.cached import cached
from bistochastic_survey.plan.bins import Bins, clipped
from bistochastic_survey.plan.labels import Labels
from bistochastic_survey.release.columns import Coded, Missing, Places, read_clipped
from bistochastic_survey.wording import about, row

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from bistochastic.backend import Family
    from bistochastic_survey.plan.bins import Break
    from bistochastic_survey.table.frames import Codes, Mask, Table


from bistochastic_survey.plan.attributes import Categorical, check_fields, named, refuse_padding


@dataclass(frozen=True, kw_only=True, repr=False)
class BinnedFields(Coded):
    """The fields of ``Binned`` that a categorical column does not have."""

    _noun = "classes"
    _bins: Bins
    output: Literal["interval", "midpoint", "number"]
    step: int | float | None
    bottom: Break | None
    top: Break | None
    representatives: tuple[float, ...] | None


@dataclass(frozen=True, init=False, repr=False)
class Binned(Categorical, BinnedFields):
    """A column of numbers or dates in public classes, each reported with its own probabilities.

    Unlike :class:`Numeric`, every record is randomized by itself: epsilon is finite, and a binned
    column can be protected in batches, on engines, by ids and on clients.

    ``breaks`` are the ends of the classes, ``[low, high)``, the last one closed. In their place,
    ``width``, ``low`` and ``high`` make classes of equal width; for dates without a time zone
    ``width`` is ``"month"``, ``"quarter"`` or ``"year"``, and ``high`` is the day after the last
    class. ``open=("low", "high")`` adds classes beyond the breaks; other values outside raise an
    error. ``top`` and ``bottom`` replace larger and smaller values first. Give the matrix as for
    :class:`Categorical`. At a given beta, ordinal families such as ``"geometric"`` prefer classes
    that are near; at a given epsilon and few classes, ``"randomized_response"`` is nearer.

    ``output`` says what is published for a reported class:

    * ``"interval"``: its label, such as ``[18, 65)``;
    * ``"midpoint"``: the middle of the class;
    * ``"number"``: a random multiple of ``step`` in the class, all with the same probability. It
      is drawn for every row of every release, also by ids and by unit, so it reveals only the
      class. Open classes have none, nor has an answer without a row: ``respond``, clients, and
      engines by ids raise an error.

    ``representatives`` are public numbers, one for each class, such as class means. Means,
    covariances and linear regressions use them in place of the middles; dates have none.

    >>> import bistochastic_survey as sv
    >>> age = sv.Binned("age", breaks=[0, 18, 65, 120], family="randomized_response", epsilon=2)
    >>> age
    <Binned `age`, 3 classes: randomized_response, beta 0.60583>
    >>> age.categories
    ('[0, 18)', '[18, 65)', '[65, 120]')
    >>> sv.Binned("age", breaks=[0, 65, 18], family="randomized_response", epsilon=2)
    Traceback (most recent call last):
        ...
    bistochastic.errors.Refused: column `age`: `breaks` must increase; got one that does not at 2
    """

    def __init__(
        self,
        column: str,
        breaks: Iterable[object] | None = None,
        family: Family | None = None,
        *,
        width: object = None,
        low: object = None,
        high: object = None,
        open: Iterable[str] = (),
        output: Literal["interval", "midpoint", "number"] = "interval",
        step: float | None = None,
        top: object = None,
        bottom: object = None,
        representatives: Iterable[float] | None = None,
        matrix: Matrix | None = None,
        missing: Missing = "raise",
        groups: object = None,
        unit: str | None = None,
        **parameters: Any,
    ) -> None:
        name = named("column", column)
        with about([name]):
            bins = Bins.of(breaks, width, low, high, open)
            held = check_fields(
                (name,), (Labels(bins.names, "text"),), family, parameters, matrix=matrix,
                missing=missing, groups=groups, unit=unit,
            )  # fmt: skip
            checks.one_of("output", output, ("interval", "midpoint", "number"))
            if output != "interval" and bins.open:
                must = 'be "interval" with open classes, which have no number'
                raise Refused(
                    "output", must, f"{output}: top and bottom code values beyond a break"
                )
            least, most = clipped(bottom, top, bins)
            BinnedFields.__init__(
                self, *held, _bins=bins, output=output, step=_step(step, output, bins),
                bottom=least, top=most, representatives=_representatives(representatives, bins),
            )  # fmt: skip
            refuse_padding("bins", self.matrices)
            if output == "number":
                _ = self._places

    @property
    def breaks(self) -> tuple[Any, ...]:
        """The ends of the classes; infinite beyond open ones."""
        return self._bins.ends

    @cached
    def _places(self) -> tuple[np.ndarray, NDArray[np.int64], NDArray[np.int64]]:
        """All numbers that may be reported, and the first and the number of them per class."""
        assert self.step is not None
        return self._bins.numbers(self.step)

    def _part(
        self, at: int, table: Table, first: int | None, *, narrowed: bool, released: bool
    ) -> tuple[Codes, Mask | None]:
        if released and self.output == "interval":
            return super()._part(at, table, first, narrowed=narrowed, released=released)
        ends = (None, None) if released else (self.bottom, self.top)
        values, missing = read_clipped(table, self.column, first, ends, dated=self._bins.dated)
        codes, outside = self._bins.codes(values)
        if outside is not None and missing is not None:
            outside &= ~missing
        if outside is not None and outside.any():
            many, there = int(outside.sum()), row(int(outside.argmax()), first)
            got = f"{many} row{'s' * (many > 1)} outside, the first {there}"
            raise Refused("", "lie within the breaks", got, column=self.columns)
        return codes, missing

    def _holds(self, released: bool) -> dict[str, str]:
        if released and self.output == "interval":
            return super()._holds(released)
        return {self.column: "date" if self._bins.dated else "float"}

    @property
    def _has_numbers(self) -> bool:
        return self.output == "number"

    def _is_relabelled(self, name: str) -> bool:
        return self.output == "interval"

    def _made(
        self, table: Table, name: str, codes: Codes, missing: Mask | None, places: Places | None
    ) -> object:
        if self.output == "interval":
            return super()._made(table, name, codes, missing, places)
        found = self._bins.midpoints[codes] if places is None else self._places[0][places]
        return table.numbered(name, found, missing, own=not self._bins.dated)


def _representatives(given: object, bins: Bins) -> tuple[float, ...] | None:
    """Read a number inside each class."""
    if given is None:
        return None
    must = "hold a finite number inside each class, in order"
    listed = checks.items("representatives", must, given)
    found = tuple(checks.real("representatives", must, x) for x in listed)
    inside = len(found) == len(bins.names) and not bins.dated and all(map(math.isfinite, found))
    if inside:
        codes, outside = bins.codes(np.array(found))
        inside = outside is None and codes.tolist() == list(range(len(found)))
    if not inside:
        raise Refused("representatives", must, f"{len(found)} that do not")
    return found


def _step(given: object, output: str, bins: Bins) -> int | float | None:
    """Return the step between numbers inside a class, by default 1 for integers and days."""
    if output != "number":
        if given is not None:
            raise RefusedType("step", 'be given with output="number" only', f'output="{output}"')
        return None
    if given is None:
        if not bins.dated and not all(isinstance(x, int) for x in bins.breaks):
            raise RefusedType("step", "be given, as the breaks are not integers", "none")
        return 1
    step = checks.real("step", "be a positive number", given)
    if not 0 < step < math.inf or (bins.dated and step != int(step)):
        days = ", of whole days" * bins.dated
        raise Refused("step", f"be a positive number{days}", f"{step:g}")
    return int(step) if step == int(step) and step < 2**53 else step
