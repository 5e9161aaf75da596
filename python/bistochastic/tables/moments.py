"""``plan.count``, ``ratio``, ``mean``, ``covariance`` and ``correlation`` of a protected table.

All are functions of totals of pseudo-responses. A condition, on a protected or unprotected column,
is one more factor that is 1 or 0, so a subgroup has the errors that the whole design gives it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic.adapters.frames import opened
from bistochastic.estimate.intervals import between
from bistochastic.estimate.quantities import Quantile, Quantity, Ratio
from bistochastic.plan.attributes import Binned, named, names
from bistochastic.progress import watched
from bistochastic.tables.estimates import SILENT, estimate, people, read_design, refuse_fixed
from bistochastic.tables.question import Question, ask
from bistochastic.tables.responses import (
    Function,
    Responses,
    can_be_undone,
    numeric,
    reach,
    respond,
    slope,
)
from bistochastic.tables.sheet import table_of
from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bistochastic.arguments import Array
    from bistochastic.estimate.sample import Sample
    from bistochastic.plan.attributes import Numeric
    from bistochastic.plan.keywords import Survey
    from bistochastic.plan.plan import Plan
    from bistochastic.tables.sheet import Design

_ESTIMATED = "the domain is estimated to hold {:,.6g}"


@watched("estimating")
def count(plan: Plan, frame: object, where: object, population: object, survey: Survey) -> Quantity:
    """See :meth:`bistochastic.Plan.count`."""
    design, who = _read_design(plan, population, survey)
    conditions = ask(plan, (), where).where
    if not conditions:
        raise ValueError("`where` must hold one or more conditions; got none")
    rows = respond(plan, frame, design, "count", conditions)
    inside = rows.inside(conditions)
    _, totals, spread = _totals(rows, [inside], who)
    n = rows.sample.records
    ends = rows.ends(inside) if design.is_plain else None
    limits = (0.0, float(n)) if design.is_plain else (0.0, math.inf)
    return Quantity(
        "count", float(totals[0]), _root(float(spread[0, 0])), n, who, _degrees(rows, who),
        limits, ends, _notes(rows),
    )  # fmt: skip


@watched("estimating")
def ratio(
    plan: Plan, frame: object, where: object, given: object, population: object, survey: Survey
) -> Ratio:
    """See :meth:`bistochastic.Plan.ratio`."""
    design, who = _read_design(plan, population, survey)
    above, below = ask(plan, (), where), ask(plan, (), given, "given")
    if not above.where:
        raise ValueError("`where` must hold one or more conditions; got none")
    rows = respond(plan, frame, design, "ratio", {**above.where, **below.where})
    base = rows.inside(below.where, "given")
    top = base * rows.inside(above.where)
    return _ratio("ratio", rows, top, base, who, below, (0.0, 1.0))


@watched("estimating")
def mean(
    plan: Plan,
    frame: object,
    column: object,
    scores: object,
    where: object,
    population: object,
    survey: Survey,
) -> Quantity:
    """See :meth:`bistochastic.Plan.mean`."""
    design, who = _read_design(plan, population, survey)
    name = named("column", column)
    domain = ask(plan, (), where)
    moved = numeric(plan, name)
    whole = design.is_plain and not domain.where
    if moved is not None and whole and not moved.grouped:
        return _check_kept(plan, frame, design, moved, who, "mean")
    rows = respond(plan, frame, design, "mean", domain.where, (name,))
    base = rows.inside(domain.where)
    if moved is not None and domain.is_exact and (moved.grouped or not can_be_undone(moved)):
        kept = design.weights is None and set(domain.where) <= {moved.within}
        return _bound(rows, frame, moved, base, who, domain, kept)
    found = _ratio("mean", rows, base * rows.column(name, scores), base, who, domain)
    if scores is None and (binned := rows.binned(name)) is not None:
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


def _bound(
    rows: Responses,
    frame: object,
    attribute: Numeric,
    base: Function,
    who: str,
    domain: Question,
    kept: bool,
) -> Quantity:
    """Bound the mean of permuted numbers in a subgroup or under weights.

    Each number of the original is between the least and the largest number that it may have been
    exchanged with. All of these are published.
    """
    numbers = attribute._read(opened(table_of(frame)))
    low, high = reach(attribute, numbers)
    here = rows.of(base)
    if numbers.missing is not None:
        here = np.where(numbers.missing, 0.0, here)
    values = rows.numbers[attribute.column]
    found = _ratio("mean", rows, here * values, here, who, domain)
    weights = here * rows.sample.sums
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
def quantile(
    plan: Plan,
    frame: object,
    column: object,
    q: object,
    where: object,
    population: object,
    survey: Survey,
) -> Quantile:
    """See :meth:`bistochastic.Plan.quantile`."""
    design, who = _read_design(plan, population, survey)
    name, level = named("column", column), between("q", q)
    domain = ask(plan, (), where)
    binned = next((a for a in plan._coded if isinstance(a, Binned) and a.column == name), None)
    if binned is None or binned.missing == "category":
        got = "no binned column" if binned is None else "missing values as a category"
        raise ValueError(
            f"`column` must be binned, without a category of missing values; got {got}"
        )
    rows = respond(plan, frame, design, "quantile", domain.where, (name,))
    base = rows.inside(domain.where)
    places = np.arange(binned.size)
    parts = [
        _ratio("quantile", rows, base * Function({name: (places <= i).astype(float)}), base, who,
               domain)
        for i in places[:-1].tolist()
    ]  # fmt: skip
    shares = (*(part.value for part in parts), 1.0)
    errors = (*(part.standard_error for part in parts), 0.0)
    likely = estimate(plan, frame, (name,), method="mle", where=where, survey=survey)
    place = min(int(np.searchsorted(np.cumsum(likely.frequencies), level - 1e-12)), binned.size - 1)
    labels = tuple(map(str, binned.categories))
    return Quantile(
        name, level, labels[place], labels, binned._bins.ends, shares, errors, rows.sample.records,
        who, _degrees(rows, who), _notes(rows),
    )  # fmt: skip


@watched("estimating")
def covariance(
    plan: Plan,
    frame: object,
    columns: object,
    scores: object,
    where: object,
    population: object,
    survey: Survey,
    what: str = "covariance",
) -> Quantity:
    """See :meth:`bistochastic.Plan.covariance` and :meth:`bistochastic.Plan.correlation`."""
    design, who = _read_design(plan, population, survey)
    one, two = _pair(columns)
    given = _scores(scores, (one, two))
    domain = ask(plan, (), where)
    moved = numeric(plan, one)
    plain = design.is_plain and not domain.where
    if moved is not None and one == two and plain and what == "covariance":
        return _check_kept(plan, frame, design, moved, who, what)
    rows = respond(plan, frame, design, what, domain.where, (one, two))
    base = rows.inside(domain.where)
    x, y = rows.column(one, given.get(one)), rows.column(two, given.get(two))
    return _second(rows, base, (x, y), who, domain, what, same=one == two)


def _read_design(plan: Plan, population: object, survey: Survey) -> tuple[Design, str]:
    design = read_design(plan, survey)
    return design, people(population, design)


def _totals(
    rows: Responses, functions: Sequence[Function | Array], who: str
) -> tuple[Array, Array, Array]:
    """Functions of every row, their totals, and the covariance matrix of these.

    Arrays are numbers that hold no noise.
    """
    values = np.stack([rows.of(f) if isinstance(f, Function) else f for f in functions])
    totals = rows.sample.totals(values)
    if who == "sampled" and rows.sample.left is None:
        return values, totals, rows.sample.covariance(values)
    if who == "fixed":
        refuse_fixed(who, rows.sample)
    k = len(functions)
    products = np.empty((k, k, values.shape[1]))
    for i in range(k):
        for j in range(i, k):
            one, two = functions[i], functions[j]
            if isinstance(one, Function) and isinstance(two, Function):
                products[i, j] = products[j, i] = rows.of(one * two)
            else:
                products[i, j] = products[j, i] = values[i] * values[j]
    if who == "sampled":
        return values, totals, rows.sample.covariance(values, products)
    return values, totals, rows.sample.noise(values, products)


def _ratio(
    name: str,
    rows: Responses,
    top: Function | Array,
    base: Function | Array,
    who: str,
    domain: Question,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Ratio:
    values, totals, spread = _totals(rows, [top, base], who)
    above, below = (float(x) for x in totals)
    if domain.is_exact and not below > 0:
        raise ValueError(f"`{name}` must be used with a subgroup with records; got none in it")
    nn, nd, dd = float(spread[0, 0]), float(spread[0, 1]), float(spread[1, 1])
    value = above / below if below else math.nan
    error = _root((nn - 2 * value * nd + value * value * dd) / below**2) if below else math.inf
    if rows.sample.replicates is not None and below:
        error = rows.sample.error(value, lambda its: _quotient(its.totals(values)))
    variances = (nn, nd, dd)
    if domain.is_exact:
        # The domain is known: the error of the residuals is the whole error.
        variances = ((error * below) ** 2, 0.0, 0.0)
    notes = _notes(rows, error)
    if not domain.is_exact:
        notes = (*notes, _ESTIMATED.format(below))
    return Ratio(
        name, value, error, rows.sample.records, who, _degrees(rows, who), limits, None, notes,
        numerator=above, denominator=below, _variances=variances,
    )  # fmt: skip


def _quotient(totals: Array) -> float:
    """Divide a total by another; NaN if the denominator is not positive."""
    return float(totals[0] / totals[1]) if totals[1] > 0 else math.nan


def _second(
    rows: Responses,
    base: Function,
    both: tuple[Function, Function],
    who: str,
    domain: Question,
    what: str,
    *,
    same: bool,
) -> Quantity:
    """Covariance or correlation: of totals of 1, x, y, x y, and x x and y y for the latter."""
    x, y = both
    functions = [base, base * x, base * y, base * x * y]
    if what == "correlation":
        functions += [base * x * x, base * y * y]
    values, totals, spread = _totals(rows, functions, who)
    pairs = [(1, 2, 3)] if what == "covariance" else [(1, 2, 3), (1, 1, 4), (2, 2, 5)]

    def statistic(sample: Sample) -> tuple[float, list[float]]:
        found = _centre(sample, values, pairs, who, domain, what)
        return (found[0] if what == "covariance" else _correlate(found)), found

    value, found = statistic(rows.sample)
    whole = float(totals[0])
    m = totals / whole
    slopes = []
    for i, j, k in pairs:
        slope_ = np.zeros(len(m))
        slope_[k] += 1 / whole
        slope_[i] -= m[j] / whole
        slope_[j] -= m[i] / whole
        slope_[0] -= (m[k] - 2 * m[i] * m[j]) / whole
        slopes.append(slope_)
    gradient, limits = slopes[0], (0.0 if same else -math.inf, math.inf)
    if what == "correlation":
        _, first, second = found
        limits = (-1.0, 1.0)
        gradient = (
            slopes[0] / math.sqrt(first * second)
            - value / 2 * (slopes[1] / first + slopes[2] / second)
        )  # fmt: skip
    error = _root(float(gradient @ spread @ gradient)) if np.isfinite(spread).all() else math.inf
    if rows.sample.replicates is not None:
        error = rows.sample.error(value, lambda its: statistic(its)[0])
    notes = _notes(rows, error)
    if not domain.is_exact:
        notes = (*notes, _ESTIMATED.format(whole))
    if what == "correlation" and abs(value) > 1:
        notes = (*notes, "the noise leaves a value beyond 1: the bounds are cut to -1 and 1")
    return Quantity(
        what, float(value), error, rows.sample.records, who, _degrees(rows, who), limits, None,
        notes,
    )  # fmt: skip


def _centre(
    sample: Sample,
    values: Array,
    pairs: Sequence[tuple[int, int, int]],
    who: str,
    domain: Question,
    what: str,
) -> list[float]:
    """Compute, for each pair of values, the mean of their product less that of their means."""
    totals = sample.totals(values)
    whole = float(totals[0])
    if not whole > 0:
        raise ValueError(f"`{what}` must be used with a subgroup with records; got none in it")
    found = []
    for i, j, k in pairs:
        product = float(totals[i] * totals[j]) / whole**2
        if domain.is_exact:
            product = _product(sample, values, (i, j, k), totals, who, what)
        found.append(float(totals[k]) / whole - product)
    return found


def _correlate(found: Sequence[float]) -> float:
    cross, first, second = found
    if not (first > 0 and second > 0):
        must = "`correlation` must be used with columns that vary"
        raise ValueError(f"{must}; got an estimated variance that is not positive")
    return cross / math.sqrt(first * second)


def _product(
    sample: Sample,
    values: Array,
    at: tuple[int, int, int],
    totals: Array,
    who: str,
    what: str,
) -> float:
    """Compute the product of two means without bias: remove a record's product with itself.

    In a fixed population the product of its own true values replaces it.
    """
    i, j, k = at
    own = math.fsum(sample.squares * values[i] * values[j])
    whole = float(totals[0])
    if who == "fixed":
        truth = math.fsum(sample.squares * values[k])
        return (float(totals[i] * totals[j]) - own + truth) / whole**2
    squares = math.fsum(sample.squares * values[0] * values[0])
    if not whole**2 > squares * (1 + 1e-12):
        raise ValueError(f"`{what}` must be given two or more records; got one")
    return (float(totals[i] * totals[j]) - own) / (whole**2 - squares)


def _check_kept(
    plan: Plan, frame: object, design: Design, attribute: Numeric, who: str, what: str
) -> Quantity:
    """Compute the mean or variance of a permuted column, which permuting does not change."""
    rows = respond(plan, frame, design, what, {}, (attribute.column,))
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
            raise ValueError(f"`{what}` must be given two or more records; got one")
        value = spread / (n - 1 if who == "sampled" else n)
        error = math.sqrt(math.fsum((away * away - spread / n) ** 2) / n / (n - 1))
    # Nothing that was drawn changed it.
    fixed = who == "fixed"
    note = f"a permutation keeps the {'mean' if what == 'mean' else 'variance'} of the column"
    return Quantity(
        what, value, 0.0 if fixed else error, n, who, math.inf if fixed else float(n - 1),
        (0.0, math.inf) if what != "mean" else (-math.inf, math.inf), None, (note,),
    )  # fmt: skip


def _pair(columns: object) -> tuple[str, str]:
    listed = names("columns", columns, "be two names")
    if len(listed) != 2:
        raise ValueError(f"`columns` must be two names; got {len(listed)}")
    return listed[0], listed[1]


def _scores(scores: Any, columns: tuple[str, str]) -> dict[str, Any]:
    if scores is None:
        return {}
    if not hasattr(scores, "items"):
        must = "`scores` must be a dict from columns to their scores"
        raise TypeError(f"{must}; got {type(scores).__name__}")
    for name in scores:
        if name not in columns:
            raise ValueError(
                f"`scores` must be of the requested columns; got some for `{shown(name)}`"
            )
    return dict(scores)


def _root(variance: float) -> float:
    return math.sqrt(max(0.0, variance)) if variance == variance else math.inf


def _degrees(rows: Responses, who: str) -> float:
    return math.inf if who == "fixed" else rows.sample.degrees


def _notes(rows: Responses, error: float = 0.0) -> tuple[str, ...]:
    n = rows.unanswered
    found = (f"{n:,} record{'s' * (n > 1)} without an answer left out",) if n else ()
    silent = error == math.inf and rows.sample.replicates is not None
    return (*found, *rows.notes, *([SILENT] if silent else []))
