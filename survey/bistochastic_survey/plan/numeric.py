"""``Binned`` and ``Numeric``: columns of numbers or dates in classes, and permuted or averaged."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

import bistochastic as bs
from bistochastic import Matrix, structure
from bistochastic.backend import Family
from bistochastic.errors import Refused, RefusedType
from bistochastic.measures import Displacement
from bistochastic_survey import checks
from bistochastic_survey.cached import cached
from bistochastic_survey.plan import attributes
from bistochastic_survey.plan.attributes import Categorical, Joint, Parameters
from bistochastic_survey.plan.bins import Bins, Break, clipped
from bistochastic_survey.plan.labels import Labels
from bistochastic_survey.release.columns import (
    Missing,
    NumericValues,
    Places,
    read_clipped,
    refuse_missing,
)
from bistochastic_survey.table.frames import Codes, Mask, Table
from bistochastic_survey.wording import Shown, about, row, shown


@dataclass(frozen=True, init=False, kw_only=True, repr=False)
class Binned(Categorical):
    """A column of numbers or dates in public classes, each reported with its own probabilities.

    Unlike :class:`Numeric`, every record is randomized by itself: epsilon is finite, and a binned
    column can be protected in batches, on engines, by ids and on clients.

    ``breaks`` are the ends of the classes, ``[low, high)``: numbers, of which the last class is
    closed, or dates without a time zone. ``range(0, 101, 5)`` makes classes of equal width.
    ``open=("low", "high")`` adds classes beyond the breaks; other values outside raise an error.
    ``top`` and ``bottom`` replace larger and smaller values first. Give the matrix as for
    :class:`Categorical`. At a given beta, ordinal families such as ``"geometric"`` prefer classes
    that are near; at a given epsilon and few classes, ``"randomized_response"`` is nearer.

    ``output`` says what is published for a reported class:

    * ``"interval"``: its label, such as ``[18, 65)``;
    * ``"midpoint"``: the middle of the class;
    * ``"number"``: a random multiple of ``step`` in the class, all with the same probability. It
      is drawn for every row of every release, also by ids and by unit, so it reveals only the
      class. Open classes have none, nor has an answer without a row: ``responder``, clients, and
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

    _noun = "classes"
    _bins: Bins
    output: Literal["interval", "midpoint", "number"]
    step: int | float | None
    bottom: Break | None
    top: Break | None
    representatives: tuple[float, ...] | None

    def __init__(
        self,
        column: str,
        breaks: Iterable[object],
        family: Family | None = None,
        *,
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
        **parameters: Unpack[Parameters],
    ) -> None:
        name = attributes.named("column", column)
        with about([name]):
            attributes.refuse_unknown(Binned, family, parameters)
            bins = Bins.of(breaks, open)
            held = attributes.check_fields(
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
            vars(self).update(
                held, _bins=bins, output=output, step=_step(step, output, bins), bottom=least,
                top=most, representatives=_representatives(representatives, bins),
            )  # fmt: skip
            attributes.refuse_padding("bins", self.matrices)
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
        self, at: int, table: Table, first: int | None, *, released: bool
    ) -> tuple[Codes, Mask | None]:
        if released and self.output == "interval":
            return super()._part(at, table, first, released=released)
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


@dataclass(frozen=True, init=False, repr=False)
class Numeric(Shown):
    """A column of numbers, permuted among the records or averaged in classes.

    The matrix has one row per record, so it is made when their number is known: by
    :meth:`Plan.for_records`, or with the data. With ``order="rank"`` neighbours are records of
    neighbouring values, so a family of small steps exchanges similar values.

    ``within="region"`` permutes inside the groups of an unprotected column: the mean of each group
    is published, and stays exact. ``missing="keep"`` publishes missing numbers as missing. In both
    cases a group with fewer than ``min_group`` numbers raises an error, and the stated bits are the
    least for a group of this size or larger. Request ``k``, ``keep`` or ``epsilon`` then, not
    ``beta``. ``top`` and ``bottom`` replace larger and smaller numbers first.

    ``how="permute"`` moves values between records: the set of values is published unchanged, so
    epsilon is infinite. ``how="average"`` gives class means; it is not random, so it hides no bits.

    >>> income = sv.Numeric("income", "k_anonymous", k=5)
    >>> income
    <Numeric `income`, permute by rank: k_anonymous, k=5>
    >>> income.for_records(1000).matrix
    <Matrix k_anonymous 1000 x 1000: beta ...>
    """

    whole_column: ClassVar[Literal[True]] = True
    """Whether rows can be drawn only all together."""
    steps: ClassVar[int] = 2
    axes: ClassVar[tuple[()]] = ()
    groups: ClassVar[None] = None
    unit: ClassVar[None] = None
    column: str
    family: Family | None
    given: tuple[tuple[str, Any], ...]
    matrix: Matrix | None
    order: Literal["rank"] | None
    how: Literal["permute", "average"]
    within: str | None = None
    min_group: int = 10
    missing: Literal["raise", "keep"] = "raise"
    bottom: Break | None = None
    top: Break | None = None

    def __init__(
        self,
        column: str,
        family: Family | None = None,
        *,
        matrix: Matrix | None = None,
        order: Literal["rank"] | None = "rank",
        how: Literal["permute", "average"] = "permute",
        within: str | None = None,
        min_group: int = 10,
        missing: Literal["raise", "keep"] = "raise",
        bottom: float | None = None,
        top: float | None = None,
        **parameters: Unpack[Parameters],
    ) -> None:
        name = attributes.named("column", column)
        with about([name]):
            attributes.refuse_unknown(Numeric, family, parameters)
            if (family is None) == (matrix is None):
                got = "none" if family is None else "both"
                raise Refused("matrix", "be given by one of family and matrix", got)
            if matrix is not None:
                checks.of_type("matrix", "be a matrix", matrix, Matrix)
                attributes.refuse_padding("numbers", [matrix])
                if parameters:
                    raise RefusedType(shown(next(iter(parameters))), "come with a family", "none")
            elif not isinstance(family, str) or family not in attributes.FAMILIES:
                attributes.make(family, 1, {})  # type: ignore[arg-type] # says what is known
            else:
                attributes.refuse_at_once(family, parameters)
            if order is not None:
                checks.one_of("order", order, ("rank",))
            checks.one_of("how", how, ("permute", "average"))
            checks.one_of("missing", missing, ("raise", "keep"))
            by = None if within is None else attributes.named("within", within)
            least = checks.whole("min_group", min_group, 2)
            low, high = clipped(bottom, top)
            if by == name:
                raise Refused("within", "be an unprotected column", "the column itself")
            if by is not None or missing == "keep":
                _check_grouped(family, parameters, least)
        given = tuple((key, _frozen(value)) for key, value in sorted(parameters.items()))
        vars(self).update(
            column=name, family=family, given=given, matrix=matrix, order=order, how=how, within=by,
            min_group=least, missing=missing, bottom=low, top=high,
        )  # fmt: skip

    @property
    def grouped(self) -> bool:
        """Whether numbers are permuted among some of the records, of which the data say how many:
        those of a group, or those that are not missing."""
        return self.within is not None or self.missing == "keep"

    def _holds(self, released: bool) -> dict[str, str]:
        return {self.column: "float" if self.how == "average" else "number"}

    def _read(self, table: Table, by: Table | None = None) -> NumericValues:
        name = self.column
        values, missing = read_clipped(table, name, 0, (self.bottom, self.top))
        if missing is not None and self.missing == "raise":
            at = int(np.argmax(missing))
            cure = 'leave such rows out, fill them in, or keep them: missing="keep"'
            got = f"{int(missing.sum())}, the first in row {at}: {cure}"
            raise Refused("", "hold no missing values", got, column=name, row=at)
        if self.how == "average" and values.dtype.kind != "f":
            must = "hold floats where class means are released, as means are"
            raise RefusedType("", must, "integers", column=name)
        codes = None
        if self.within is not None:
            # The code of each row's group, in the order of the values.
            codes, groups = (table if by is None else by).levels(self.within)
            if None in groups:
                why = "as numbers are permuted within its groups"
                refuse_missing(self.within, codes == groups.index(None), why, 0)
        found = NumericValues(values, missing, codes)
        if self.grouped:
            few = [n for n in map(len, found.parts()) if 0 < n < self.min_group]
            if few:
                by_ = "" if self.within is None else f" in each group of `{shown(self.within)}`"
                must = f"hold {self.min_group} or more numbers{by_}, as min_group says"
                raise Refused("", must, min(few), column=name)
        return found

    @property
    def columns(self) -> tuple[str, ...]:
        """The column, as a tuple of one name."""
        return (self.column,)

    @property
    def kind(self) -> str:
        """The name of the class in a plan's file."""
        return "numeric"

    def for_records(self, n: int) -> Numeric:
        """Return the same attribute with its matrix over ``n`` records."""
        with about([self.column]):
            if self.matrix is not None and self.matrix.size == n:
                return self
            if self.family is None and self.matrix is not None:
                raise Refused("matrix", f"have a row for each of {n} records", self.matrix.size)
            return bound_to(self, self._matrix_for(n))

    def _matrix_for(self, n: int) -> Matrix:
        given = {key: list(value) if isinstance(value, tuple) else value
                 for key, value in self.given}  # fmt: skip
        matrix = attributes.make(self.family or "", n, given)
        attributes.refuse_padding("numbers", [matrix])
        return matrix

    @property
    def _displacement(self) -> Displacement | None:
        """How far the matrix moves values; None without one, or if it is too large."""
        with suppress(ValueError):
            return self.matrix and self.matrix.displacement()
        return None

    @property
    def _example(self) -> Matrix:
        """A matrix of the family, over its own records or a few."""
        return self.matrix or self._matrix_for(max(self.min_group, 100))

    @property
    def least_bits(self) -> float:
        """The bits of the smallest group, or of any larger one: see :func:`_check_grouped`."""
        k = dict(self.given).get("k")
        if k is not None:
            return bs.uniform(int(k)).entropy_rate
        return self._matrix_for(self.min_group).entropy_rate

    @property
    def _drawn(self) -> str:
        law = self.family or ("" if self.matrix is None else self.matrix.family)
        return ", ".join([law, *(f"{key}={value}" for key, value in self.given)])

    def __repr__(self) -> str:
        order = "" if self.order is None else f" by {self.order}"
        order += "" if self.within is None else f" within `{shown(self.within)}`"
        many = "" if self.matrix is None else f" of {self.matrix.size} records"
        return f"<Numeric `{shown(self.column)}`, {self.how}{order}: {self._drawn}{many}>"


def _check_grouped(family: str | None, parameters: attributes.Given, least: int) -> None:
    """Raise an error for a family whose least bits over all sizes of groups are not known.

    Classes of at least k records hide log2 k bits or more in a group of any size. For randomized
    response the bits grow with the size n of the group: they are ``h(p) + (1 - p) log2(n - 1)`` for
    a fixed truthful probability p, and ``log2(e + n - 1) - p epsilon log2(exp 1)`` for a fixed
    epsilon, with e its exponential and p = e / (e + n - 1), which falls. So the smallest group has
    the least.
    """
    for name in ("beta", "share"):
        if parameters.get(name) is not None:
            must = "not be given if the sizes of groups come from the data"
            cure = "use k, keep or epsilon"
            raise RefusedType(name, f'{must}, as with within and missing="keep"', f"it: {cure}")
    if family is None:
        raise RefusedType("matrix", "be given by a family for groups of any size", "a matrix")
    k = parameters.get("k")
    if k is not None and not least >= checks.whole("k", k, 1):
        raise Refused("min_group", "be at least k", least)
    if k is None and structure.two_valued(attributes.make(family, least, parameters)) is None:
        must = "have k, or be randomized_response or uniform, for groups of any size"
        raise Refused("family", must, shown(family))


def bound_to(attribute: Numeric, matrix: Matrix) -> Numeric:
    """Return the same attribute with this matrix over the records."""
    bound = object.__new__(Numeric)
    vars(bound).update(vars(attribute), matrix=matrix)
    return bound


def _frozen(value: object) -> object:
    listed = value.tolist() if hasattr(value, "tolist") else value
    return tuple(listed) if isinstance(listed, list | tuple) else listed


Attribute = Categorical | Joint | Numeric
"""What a plan does to one column, or to several."""
