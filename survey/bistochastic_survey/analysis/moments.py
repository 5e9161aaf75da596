"""``release.count``, ``ratio``, ``mean``, ``covariance`` and ``correlation`` of a protected table.

All are functions of totals of pseudo-responses. A condition, on a protected or unprotected column,
is one more factor that is 1 or 0, so a subgroup has the errors that the whole design gives it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bistochastic.errors import Refused, RefusedType
from bistochastic.estimate import Sample
from bistochastic_survey.analysis.design import Design
from bistochastic_survey.analysis.estimates import SILENT, people, refuse_fixed
from bistochastic_survey.analysis.quantities import Quantity, Ratio
from bistochastic_survey.analysis.request import Request, ask
from bistochastic_survey.analysis.responses import (
    Function,
    Responses,
    can_be_undone,
    numeric,
    reach,
    represented,
    respond,
    slope,
)
from bistochastic_survey.checks import Array
from bistochastic_survey.plan.attributes import named, names
from bistochastic_survey.plan.numeric import Binned, Numeric
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.progress import watched
from bistochastic_survey.release.release import Release
from bistochastic_survey.wording import shown

# Among the totals of 1, x, y, x y, x x and y y: two numbers and their product.
_PAIRS = ((1, 2, 3), (1, 1, 4), (2, 2, 5))


@dataclass(frozen=True, eq=False)
class _Subgroup:
    """Rows, the conditions of a subgroup, and what is estimated from totals over it."""

    name: str
    rows: Responses
    who: str
    domain: Request
    base: Function
    """1 inside of the subgroup, 0 elsewhere."""

    @classmethod
    def of(
        cls,
        name: str,
        release: Release[Any],
        design: Design,
        who: str,
        domain: Request,
        columns: Sequence[str] = (),
        also: Mapping[str, object] | None = None,
        given: str = "where",
    ) -> _Subgroup:
        """Read the rows with these columns and those of the conditions, and of others ``also``."""
        rows = respond(release, design, name, {**(also or {}), **domain.where}, columns)
        return cls(name, rows, who, domain, rows.inside(domain.where, given))

    @property
    def sample(self) -> Sample:
        """The weights and the design of the rows."""
        return self.rows.sample

    def quantity(
        self,
        value: float,
        error: float,
        limits: tuple[float, float] = (-math.inf, math.inf),
        whole: float = math.nan,
    ) -> Quantity:
        """Make a quantity; ``whole`` is the estimated total of the subgroup."""
        silent = error == math.inf and self.sample.replicates is not None
        notes = (*self.notes, *[SILENT] * silent)
        if not self.domain.is_exact:
            notes = (*notes, f"the domain is estimated to hold {whole:,.6g}")
        records = self.sample.records
        return Quantity(
            self.name, value, error, records, self.who, self.degrees, limits, notes=notes
        )

    @property
    def degrees(self) -> float:
        """Degrees of freedom of intervals."""
        return math.inf if self.who == "fixed" else self.sample.degrees

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the rows."""
        n = self.rows.unanswered
        found = (f"{n:,} record{'s' * (n > 1)} without an answer left out",) if n else ()
        return (*found, *self.rows.notes)

    def totals(self, functions: Sequence[Function | Array]) -> tuple[Array, Array, Array]:
        """Compute functions of every row, their totals, and the covariance matrix of these.

        Arrays are numbers that hold no noise.
        """
        rows, sample = self.rows, self.sample
        values = np.stack([rows.of(f) if isinstance(f, Function) else f for f in functions])
        totals = sample.totals(values)
        if self.who == "sampled" and sample.left is None:
            return values, totals, sample.covariance(values)
        refuse_fixed(self.who, sample)
        k = len(functions)
        products = np.empty((k, k, values.shape[1]))
        for i, one in enumerate(functions):
            for j, two in enumerate(functions[: i + 1]):
                if isinstance(one, Function) and isinstance(two, Function):
                    products[i, j] = products[j, i] = rows.of(one * two)
                else:
                    products[i, j] = products[j, i] = values[i] * values[j]
        spread = sample.covariance if self.who == "sampled" else sample.noise
        return values, totals, spread(values, products)

    def ratio(
        self,
        top: Function | Array,
        limits: tuple[float, float] = (-math.inf, math.inf),
        base: Array | None = None,
    ) -> Ratio:
        """Divide a total by that of the subgroup."""
        values, totals, spread = self.totals([top, self.base if base is None else base])
        above, below = (float(x) for x in totals)
        exact = self.domain.is_exact
        if exact and not below > 0:
            self._refuse_empty()
        nn, nd, dd = float(spread[0, 0]), float(spread[0, 1]), float(spread[1, 1])
        value = above / below if below else math.nan
        error = _root((nn - 2 * value * nd + value * value * dd) / below**2) if below else math.inf
        if self.sample.replicates is not None and below:
            error = self.sample.error(value, lambda its: _quotient(its.totals(values)))
        # If the domain is known, the error of the residuals is the whole error.
        variances = ((error * below) ** 2, 0.0, 0.0) if exact else (nn, nd, dd)
        made = vars(self.quantity(value, error, limits, below))
        return Ratio(**made, numerator=above, denominator=below, variances=variances)

    def _refuse_empty(self) -> None:
        raise Refused(self.name, "be used with a subgroup with records", "none in it")

    def centre(self, sample: Sample, values: Array) -> list[float]:
        """Compute, for each of ``_PAIRS``, the mean of the product less that of the means."""
        totals = sample.totals(values)
        whole = float(totals[0])
        if not whole > 0:
            self._refuse_empty()
        found = []
        for i, j, k in _PAIRS[: len(values) - 3]:
            product = float(totals[i] * totals[j]) / whole**2
            if self.domain.is_exact:
                product = self._product(sample, values, (i, j, k), totals)
            found.append(float(totals[k]) / whole - product)
        return found

    def _product(
        self, sample: Sample, values: Array, at: tuple[int, int, int], totals: Array
    ) -> float:
        """Compute the product of two means without bias: remove a record's product with itself.

        In a fixed population the product of its own true values replaces it.
        """
        i, j, k = at
        own = math.fsum(sample.squares * values[i] * values[j])
        whole = float(totals[0])
        if self.who == "fixed":
            truth = math.fsum(sample.squares * values[k])
            return (float(totals[i] * totals[j]) - own + truth) / whole**2
        squares = math.fsum(sample.squares * values[0] * values[0])
        if not whole**2 > squares * (1 + 1e-12):
            raise Refused(self.name, "be given two or more records", "one")
        return (float(totals[i] * totals[j]) - own) / (whole**2 - squares)


@watched("estimating")
def count(release: Release[Any], where: object, population: object, design: object) -> Quantity:
    """See :meth:`bistochastic_survey.Release.count`."""
    plan = release.plan
    drawn, who = _read_design(plan, population, design)
    conditions = _required(plan, where)
    group = _Subgroup.of("count", release, drawn, who, ask(plan, (), None), also=conditions)
    inside = group.rows.inside(conditions)
    _, totals, spread = group.totals([inside])
    ends = group.rows.ends(inside) if drawn._is_plain else None
    limits = (0.0, float(group.sample.records) if drawn._is_plain else math.inf)
    made = group.quantity(float(totals[0]), _root(float(spread[0, 0])), limits)
    return replace(made, ends=ends)


@watched("estimating")
def ratio(
    release: Release[Any], where: object, given: object, population: object, design: object
) -> Ratio:
    """See :meth:`bistochastic_survey.Release.ratio`."""
    plan = release.plan
    drawn, who = _read_design(plan, population, design)
    below = ask(plan, (), given, "given")
    above = _required(plan, where)
    group = _Subgroup.of("ratio", release, drawn, who, below, also=above, given="given")
    return group.ratio(group.base * group.rows.inside(above), (0.0, 1.0))


@watched("estimating")
def mean(
    release: Release[Any],
    column: object,
    scores: object,
    where: object,
    population: object,
    design: object,
) -> Quantity:
    """See :meth:`bistochastic_survey.Release.mean`."""
    plan = release.plan
    drawn, who = _read_design(plan, population, design)
    name = named("column", column)
    domain = ask(plan, (), where)
    moved = numeric(plan, name)
    whole = drawn._is_plain and not domain.where
    if moved is not None and whole and not moved.grouped:
        return _check_kept(release, drawn, moved, who, "mean")
    group = _Subgroup.of("mean", release, drawn, who, domain, (name,))
    if moved is not None and domain.is_exact and (moved.grouped or not can_be_undone(moved)):
        kept = drawn.weights is None and set(domain.where) <= {moved.within}
        return _bound(group, moved, kept)
    found = group.ratio(group.base * group.rows.column(name, scores))
    if scores is None and isinstance(binned := group.rows.attribute(name), Binned):
        if binned.representatives is not None:
            return replace(found, notes=(*found.notes, *represented(binned)))
        half = binned._bins.widest / 2
        unit = " days since 1970-01-01" if binned._bins.dated else ""
        said = f"of the middles of classes{unit}: that of the original is at most {half:g} away"
        if math.isinf(half):
            said = (
                "of the middles of classes, and of the finite end of an open class: the original "
                "has no bound"
            )
        return replace(found, shift=(half, half), notes=(*found.notes, said))
    return found


def _bound(group: _Subgroup, attribute: Numeric, kept: bool) -> Quantity:
    """Bound the mean of permuted numbers in a subgroup or under weights.

    Each number of the original is between the least and the largest number that it may have been
    exchanged with. All of these are published.
    """
    assert group.rows.table is not None
    numbers = attribute._read(group.rows.table)
    low, high = reach(attribute, numbers)
    here = group.rows.of(group.base)
    if numbers.missing is not None:
        here = np.where(numbers.missing, 0.0, here)
    found = group.ratio(here * group.rows.numbers[attribute.column], base=here)
    weights = here * group.sample.sums
    some = weights > 0
    ends = [math.fsum(weights[some] * x[some]) / math.fsum(weights) for x in (low, high)]
    notes = found.notes
    if numbers.missing is not None:
        notes = (*notes, f"{int(numbers.missing.sum()):,} missing numbers left out")
    if kept and attribute.how == "permute":
        return replace(found, notes=(*notes, "permuting within groups keeps their means"))
    ends_ = f"from {ends[0]:.6g} to {ends[1]:.6g}"
    notes = (*notes, f"of permuted numbers: that of the original is {ends_}")
    shift = (max(0.0, found.value - ends[0]), max(0.0, ends[1] - found.value))
    return replace(found, shift=shift, notes=notes)


@watched("estimating")
def covariance(
    release: Release[Any],
    columns: object,
    scores: object,
    where: object,
    population: object,
    design: object,
    what: str = "covariance",
) -> Quantity:
    """See ``Release.covariance`` and ``Release.correlation``."""
    plan = release.plan
    drawn, who = _read_design(plan, population, design)
    listed = names("columns", columns, "be two names")
    if len(listed) != 2:
        raise Refused("columns", "be two names", len(listed))
    one, two = listed
    given = _scores(scores, listed)
    domain = ask(plan, (), where)
    moved = numeric(plan, one)
    plain = drawn._is_plain and not domain.where
    if moved is not None and one == two and plain and what == "covariance":
        return _check_kept(release, drawn, moved, who, what)
    group = _Subgroup.of(what, release, drawn, who, domain, listed)
    x, y = (group.rows.column(name, given.get(name)) for name in listed)
    base, limits = group.base, (0.0 if one == two else -math.inf, math.inf)
    functions = [base, base * x, base * y, base * x * y]
    if what == "correlation":
        functions += [base * x * x, base * y * y]
        limits = (-1.0, 1.0)
    values, totals, spread = group.totals(functions)

    def statistic(sample: Sample) -> tuple[float, list[float]]:
        found = group.centre(sample, values)
        return (found[0] if what == "covariance" else _correlate(found)), found

    value, found = statistic(group.sample)
    whole = float(totals[0])
    m = totals / whole
    slopes = []
    for i, j, k in _PAIRS[: len(found)]:
        slope_ = np.zeros(len(m))
        slope_[k] += 1 / whole
        slope_[i] -= m[j] / whole
        slope_[j] -= m[i] / whole
        slope_[0] -= (m[k] - 2 * m[i] * m[j]) / whole
        slopes.append(slope_)
    gradient = slopes[0]
    if what == "correlation":
        _, first, second = found
        gradient = (
            slopes[0] / math.sqrt(first * second)
            - value / 2 * (slopes[1] / first + slopes[2] / second)
        )  # fmt: skip
    error = _root(float(gradient @ spread @ gradient)) if np.isfinite(spread).all() else math.inf
    if group.sample.replicates is not None:
        error = group.sample.error(value, lambda its: statistic(its)[0])
    made = group.quantity(float(value), error, limits, whole)
    classes = [
        represented(group.rows.attribute(name), given.get(name)) for name in {one: 0, two: 0}
    ]
    made = replace(made, notes=(*made.notes, *(note for each in classes for note in each)))
    if what == "correlation" and abs(value) > 1:
        note = "the noise leaves a value beyond 1: the bounds are cut to -1 and 1"
        return replace(made, notes=(*made.notes, note))
    return made


def _read_design(plan: Plan, population: object, given: object) -> tuple[Design, str]:
    design = Design._of(given, plan)
    return design, people(population, design)


def _required(plan: Plan, where: object) -> dict[str, tuple[object, ...]]:
    found = ask(plan, (), where).where
    if not found:
        raise Refused("where", "hold one or more conditions", "none")
    return found


def _quotient(totals: Array) -> float:
    return float(totals[0] / totals[1]) if totals[1] > 0 else math.nan


def _correlate(found: Sequence[float]) -> float:
    cross, first, second = found
    if not (first > 0 and second > 0):
        must = "be used with columns that vary"
        raise Refused("correlation", must, "an estimated variance that is not positive")
    return cross / math.sqrt(first * second)


def _check_kept(
    release: Release[Any], design: Design, attribute: Numeric, who: str, what: str
) -> Quantity:
    """Compute the mean or variance of a permuted column, which permuting does not change."""
    rows = respond(release, design, what, {}, (attribute.column,))
    values = rows.numbers[attribute.column]
    n = len(values)
    if attribute.how != "permute" and what != "mean":
        slope(attribute, n, what)
    centre = math.fsum(values) / n
    away = values - centre
    spread = math.fsum(away * away)
    if what == "mean":
        value = centre
        error = math.sqrt(spread / n / (n - 1)) if n > 1 else math.inf
    else:
        if n < 2:
            raise Refused(what, "be given two or more records", "one")
        value = spread / (n - 1 if who == "sampled" else n)
        error = math.sqrt(math.fsum((away * away - spread / n) ** 2) / n / (n - 1))
    # Nothing that was drawn changed it.
    fixed = who == "fixed"
    note = f"a permutation keeps the {'mean' if what == 'mean' else 'variance'} of the column"
    return Quantity(
        what, value, 0.0 if fixed else error, n, who, math.inf if fixed else float(n - 1),
        (0.0, math.inf) if what != "mean" else (-math.inf, math.inf), None, (note,),
    )  # fmt: skip


def _scores(scores: Any, columns: Sequence[str]) -> dict[str, object]:
    if scores is None:
        return {}
    if not hasattr(scores, "items"):
        raise RefusedType("scores", "be a dict from columns to their scores", type(scores).__name__)
    for name in scores:
        if name not in columns:
            raise Refused("scores", "be of the requested columns", f"some for `{shown(name)}`")
    return dict(scores)


def _root(variance: float) -> float:
    return math.sqrt(max(0.0, variance)) if variance == variance else math.inf
