"""``Release.test_independence``: whether two columns of the original depend on each other.

Columns that were randomized separately keep independence exactly: if the true values are
independent, so are the reported ones. So Pearson's test on the *protected* table holds its level,
and nothing is corrected. What the noise costs is power: the noncentrality shrinks by a factor.

Two columns of one ``Joint`` went through one matrix, which mixes them. There the best product of
two margins is fitted through the matrix, and the reported table is compared with what it predicts.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bistochastic import Channel, structure
from bistochastic.errors import Refused, RefusedType
from bistochastic_survey.analysis import protected_table
from bistochastic_survey.analysis.calibration import calibrate
from bistochastic_survey.analysis.collector import read_data
from bistochastic_survey.analysis.design import Design
from bistochastic_survey.analysis.protected_table import CodedTable
from bistochastic_survey.analysis.request import Coded, Request, ask_table
from bistochastic_survey.checks import Array
from bistochastic_survey.table.frames import opened
from bistochastic_survey.wording import Shown, shown

# The fit of a product law ends when the likelihood of a record moves by less, in nats.
_STILL = 1e-12
_STEPS = 100_000
# Cells up to which a matrix over both columns is written down.
_CELLS = 4096
# Rare categories are taken together until so many records are expected in every cell.
_EXPECTED = 5


@dataclass(frozen=True, repr=False)
class Independence(Shown):
    """The result of :meth:`Release.test_independence`.

    ``statistic`` has ``degrees`` degrees of freedom if the columns are independent, and ``p_value``
    is the probability that it is as large as this. ``power_factor`` is the part of the
    noncentrality that the noise leaves, by the estimated table: at 0.2 it takes five times the
    records to find the same dependence. None if there is nothing to estimate it from, and under a
    design: what clusters and weights would cost without the noise, a protected table does not say.

    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("a", [0, 1], "randomized_response", keep=0.75)], keep=["b"])
    >>> sv.Release({"a": [0, 1] * 50, "b": [0, 0, 1, 1] * 25}, plan).test_independence("a", "b")
    <Independence of `a` and `b`: statistic 0, 1 degree of freedom, p-value 1; 100 records>
    """

    columns: tuple[str, str]
    statistic: float
    degrees: float
    p_value: float
    records: int
    power_factor: float | None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        one, other = (f"`{shown(name)}`" for name in self.columns)
        many = f"{self.degrees:.6g} degree{'s' * (self.degrees != 1)} of freedom"
        found = f"statistic {self.statistic:.6g}, {many}, p-value {self.p_value:.3g}"
        notes = "".join(f"\n{note}" for note in self.notes)
        return f"<Independence of {one} and {other}: {found}; {self.records:,} records>{notes}"


def independence_of(
    release: Any, one: str, other: str, where: Any, design: Design | None, memoised: object
) -> Independence:
    """See :meth:`bistochastic_survey.Release.test_independence`."""
    question = ask_table(release.plan, (one, other), where)
    if not question.is_exact:
        must = "be about unprotected columns: a protected one mixes dependence into the subgroup"
        raise Refused("where", must, "a protected column")
    _refuse_waves(release, question, memoised)
    asked = Design._of(design, release.plan)
    if asked.replicates or asked.fpc is not None:
        must = "have weights, strata or cluster alone"
        raise Refused("design", must, "replicates" if asked.replicates else "fpc")
    sheet = read_data(release.data, question, asked)
    if sheet.lost:
        raise Refused(sheet.lost)
    joint = next((each for each in question.coded if {one, other} <= set(each.columns)), None)
    groups = [axis for axis in sheet.axes if axis.name in question.groups]
    inside = np.ones(sheet.rows, bool) if sheet.inside is None else sheet.inside
    place = np.zeros(sheet.rows, np.int64)
    for axis in groups:
        place = place * axis.size + axis.codes
    used: list[int] = np.unique(place[inside]).tolist()
    parts = [replace(sheet, inside=inside & (place == group)) for group in used]
    if joint is not None:
        if not sheet.is_plain or sheet.weights is not None:
            must = "be left out for two columns of one `Joint`"
            raise Refused("design", must, "weights, strata or clusters")
        found = [
            _fitted(part, question, joint, group) for part, group in zip(parts, used, strict=True)
        ]
    elif sheet.is_plain:
        found = [_pearson(_pooled(_table(part, question))) for part in parts]
    else:
        if len(parts) > 1:
            must = "be left out for columns with a matrix per group"
            raise Refused("design", must, "weights, strata or clusters")
        _refuse_calibrated(release, sheet, asked.weights)
        return _weighted(sheet, question)
    statistic = math.fsum(chi for chi, _ in found)
    degrees = sum(degrees for _, degrees in found)
    factor = _power(release, one, other, where) if len(parts) == 1 and not joint else None
    from scipy import special

    p = float(special.chdtrc(degrees, statistic)) if degrees else 1.0
    notes = (*sheet.notes, *protected_table.shared_noise(release._certificate, asked))
    return Independence((one, other), statistic, float(degrees), p, sheet.records, factor, notes)


def _codes(sheet: CodedTable, question: Request) -> list[tuple[np.ndarray, int]]:
    """Find the reported category of each row in both columns, in their order, and how many."""
    found = {}
    for axis in sheet.axes:
        attribute = next((a for a in question.coded if ", ".join(a.columns) == axis.name), None)
        if attribute is None:
            found[axis.name] = axis.codes.astype(np.int64), axis.size
            continue
        column = next(c for c in question.columns if c in attribute.columns)
        if len(attribute.columns) > 1:
            # A column of a `Joint` is reported by its own true value if all other cells are alike.
            if attribute.impossible or structure.two_valued(attribute.matrices[0]) is None:
                must = "be tested with the other columns of its `Joint` alone"
                raise Refused("columns", must, "a matrix that mixes them", column=column)
            at = attribute.columns.index(column)
            places = np.unravel_index(np.arange(attribute.size), attribute.shape)[at]
            found[column] = places[axis.codes], attribute.shape[at]
        else:
            found[column] = axis.codes.astype(np.int64), attribute.size
    return [found[column] for column in question.columns]


def _refuse_waves(release: Any, question: Request, memoised: object) -> None:
    """Two waves of one set of ids in one table share noise: people who did not change look alike.

    Both waves have the categories and the matrix of one column; other columns share no noise.
    """
    if memoised is not None and not isinstance(memoised, bool | np.bool_):
        raise RefusedType("memoised", "be True or False", type(memoised).__name__)
    why = "two waves that were drawn by the same ids share noise, which looks like dependence"
    if memoised:
        raise Refused("memoised", f"be False: {why}", "True")
    # A certificate is about one release, whose columns have noise of their own.
    if memoised is not None or release._certificate is not None or len(question.coded) < 2:
        return
    one, other = question.coded
    if isinstance(one.matrix, Channel) or one.axes != other.axes:
        return
    if {m.digest for m in one.matrices} & {m.digest for m in other.matrices}:
        must = "be False if both columns come from one release, which no certificate says here"
        raise Refused("memoised", f"{must}: {why}", "none")


def _refuse_calibrated(release: Any, sheet: CodedTable, weights: str | None) -> None:
    """Weights made of the reported values depend on the noise, so no level of theirs is known.

    They start from 1 for each record, or from another unprotected column.
    """
    given, plan, data = sheet.weights, release.plan, release.data
    if given is None:
        return
    table = opened(data, any_index=True)
    most = math.prod(a.size * len(a.matrices) + 1 for a in plan._coded)
    for start in (None, *sorted({*table.names} - plan._protected - {weights})):
        try:
            first = np.ones(sheet.rows)
            if start is not None:
                first = protected_table.weight_column(table, "weights", start)
            held = first > 0
            # Records that are reported alike have the same factor.
            factors = (given[held] / first[held]) / (given.sum() / first.sum())
            if not 1 < len(np.unique(factors.round(9))) <= most:
                continue
            own = np.asarray(calibrate(plan, data, start), np.float64)
        except (TypeError, ValueError):
            continue
        if np.allclose(own / own.sum(), given / given.sum(), rtol=1e-6, atol=0):
            must = "have weights of the sample, which know nothing of the noise"
            raise Refused("design", must, "those of calibration_weights")


def _table(sheet: CodedTable, question: Request) -> Array:
    (a, rows), (b, columns) = _codes(sheet, question)
    counts = np.bincount(a * columns + b, sheet.weighed(), rows * columns)
    return np.asarray(counts.reshape(rows, columns), np.float64)


def _pooled(table: Array) -> Array:
    """Take rare rows and columns together, so that no expected count of a cell is below 5."""
    for _ in range(2):
        counts, least = table.sum(axis=1), math.sqrt(_EXPECTED * table.sum())
        order, rare = np.argsort(counts, kind="stable"), int((counts < least).sum())
        while 0 < rare < len(counts) and counts[order[:rare]].sum() < least:
            rare += 1
        rows = table[order[:rare]].sum(axis=0, keepdims=True)
        table = (np.vstack([rows, table[order[rare:]]]) if rare else table).T
    return table


def _pearson(table: Array) -> tuple[float, int]:
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    degrees = (table.shape[0] - 1) * (table.shape[1] - 1)
    return float(((table - expected) ** 2 / expected).sum()), degrees


def _fitted(sheet: CodedTable, question: Request, joint: Coded, group: int) -> tuple[float, int]:
    """Compare a table that went through one matrix with the best product law through it."""
    if joint.impossible:
        must = "be independent only if all combinations are possible"
        raise Refused("columns", must, "a `Joint` with impossible ones")
    counts = np.asarray(np.bincount(sheet.axes[-1].codes, sheet.weighed(), joint.size), np.float64)
    matrix = joint.matrices[group if len(joint.matrices) > 1 else 0]
    if len(joint.columns) > 2:
        raise Refused("columns", "be tested in a `Joint` of two columns", len(joint.columns))
    if matrix.size > _CELLS:
        raise Refused("columns", f"have at most {_CELLS} combinations", matrix.size)
    shape, rows = joint.shape, matrix.to_dense()
    counts = counts.reshape(shape)
    if tuple(question.columns) != tuple(c for c in joint.columns if c in question.columns):
        order = np.arange(counts.size).reshape(shape).T.reshape(-1)
        shape, counts, rows = shape[::-1], counts.T, rows[np.ix_(order, order)]
    seen, n = counts.reshape(-1), counts.sum()
    pi, before = np.full(seen.size, 1 / seen.size), -math.inf
    for _ in range(_STEPS):
        law = pi @ rows
        held = seen > 0
        likelihood = float(seen[held] @ np.log(law[held])) / n
        if likelihood - before < _STILL:
            break
        before = likelihood
        ratio = np.divide(seen / n, law, out=np.zeros_like(law), where=held)
        moved = (pi * (rows @ ratio)).reshape(shape)
        pi = np.outer(moved.sum(axis=1), moved.sum(axis=0)).reshape(-1)
        pi /= pi.sum()
    law = pi @ rows
    statistic = float(((seen - n * law) ** 2 / (n * law)).sum())
    return statistic, (shape[0] - 1) * (shape[1] - 1)


def _weighted(sheet: CodedTable, question: Request) -> Independence:
    """Test with weights, strata or clusters: Rao and Scott's second-order correction."""
    from scipy import special

    (a, rows), (b, columns) = _codes(sheet, question)
    weights = sheet.weighed()
    whole, n = float(weights.sum()), sheet.records
    p = np.bincount(a * columns + b, weights, rows * columns).reshape(rows, columns) / whole
    rows_kept, columns_kept = p.sum(axis=1) > 0, p.sum(axis=0) > 0
    p = p[rows_kept][:, columns_kept]
    a, b = np.cumsum(rows_kept)[a] - 1, np.cumsum(columns_kept)[b] - 1
    left, right = p.sum(axis=1), p.sum(axis=0)
    away = p - np.outer(left, right)
    statistic = n * float((away**2 / np.outer(left, right)).sum())
    r, c = len(left) - 1, len(right) - 1
    names = (question.columns[0], question.columns[1])
    if not r * c:
        return Independence(names, 0.0, 0.0, 1.0, n, None, sheet.notes)
    # What each record adds to the difference from independence, but for the last categories.
    one = np.eye(r + 1)[:, :r][a] - left[:r]
    other = np.eye(c + 1)[:, :c][b] - right[:c]
    added = one[:, :, None] * other[:, None, :] - away[:r, :c]
    sample = sheet.sample()
    units = sample.stages[0].many
    protected_table.refuse_lonely(units, "records" if sheet.clusters is None else "clusters")
    spread = sample.covariance(added.reshape(len(a), r * c).T) / whole**2
    base = np.kron(_simple(left[:r]), _simple(right[:c])) / n
    effects = np.linalg.solve(base, spread)
    trace = float(np.trace(effects))
    degrees = trace**2 / float(np.trace(effects @ effects))
    free = degrees * (int(units.sum()) - len(units))
    value = statistic / trace
    p_value = float(special.fdtrc(degrees, free, value)) if free > 0 else 1.0
    notes = (*sheet.notes, "statistic, degrees and p-value by Rao and Scott, for the design")
    return Independence(names, value * degrees, degrees, p_value, n, None, notes)


def _simple(shares: Array) -> Array:
    """The covariance matrix of a multinomial record, without its last category."""
    return np.asarray(np.diag(shares) - np.outer(shares, shares))


def _power(release: Any, one: str, other: str, where: Any) -> float | None:
    """Estimate which part of the noncentrality is left of the reported table."""
    try:
        found = release.estimate(one, other, method="simplex", where=where)
    except ValueError:
        # A singular matrix: the true table is not known.
        return None
    table = found.frequencies.reshape(found.shape)
    law = table
    for axis, column in enumerate((one, other)):
        attribute = next((a for a in release.plan._coded if column in a.columns), None)
        if attribute is None:
            continue
        if len(attribute.columns) > 1 or attribute.matrix is None:
            return None
        moved = np.moveaxis(law, axis, 0)
        padded = np.zeros((attribute.matrix.size, moved.shape[1]))
        padded[: len(moved)] = moved
        law = np.moveaxis(attribute.matrix.apply(padded), 0, axis)
    before, after = phi_squared(table), phi_squared(law)
    return min(1.0, after / before) if before > 0 else None


def phi_squared(law: Array) -> float:
    """Compute phi squared: Pearson's statistic per record."""
    expected = np.outer(law.sum(axis=1), law.sum(axis=0))
    held = expected > 1e-300
    return float(((law - expected)[held] ** 2 / expected[held]).sum())
