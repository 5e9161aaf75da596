"""``release.transitions`` and ``release.change``: two protected waves of the same people.

With ids the noise is the same in every wave: a person with the same true value has the same
reported value in both waves, a person with another value an unrelated one. So reported pairs have
*pair probabilities*: given true values u and w, ``P_uv`` at (v, v) if ``u = w``, and ``P_uv P_wx``
at (v, x) otherwise. Two unrelated draws would count people who stay as people who move.

With Q the inverse of P, o entrywise products and O the table of reported pairs, their inverse needs
three steps: ``S = Q^T O Q``; solve ``(Q o Q)^T w = diag S``; and then, with ``P^T t = w``, ``T = S
+ diag t - Q^T diag(w) Q``. It exists if P and ``Q o Q`` have inverses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bistochastic import Matrix, backend
from bistochastic import estimate as estimation
from bistochastic.errors import Refused, RefusedType, SingularMatrixError
from bistochastic.estimate import Estimate
from bistochastic_survey import checks
from bistochastic_survey.analysis import protected_table as sheets
from bistochastic_survey.analysis import request
from bistochastic_survey.analysis.design import Design
from bistochastic_survey.analysis.protected_table import CodedTable
from bistochastic_survey.analysis.quantities import Quantity
from bistochastic_survey.analysis.request import Coded, Request
from bistochastic_survey.analysis.responses import represented, respond
from bistochastic_survey.cached import cached
from bistochastic_survey.checks import Array
from bistochastic_survey.plan.attributes import named
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.progress import watched
from bistochastic_survey.release.release import Release
from bistochastic_survey.release.waves import read_ids
from bistochastic_survey.table.frames import Table, opened
from bistochastic_survey.wording import Shown, about, shown

Places = NDArray[np.intp]
# Pairs of codes: tables of pairs have a dense covariance, which takes 1 GB and 13 s for so many.
_MOST = 4096


@dataclass(frozen=True, eq=False, repr=False)
class Transitions(Shown):
    """The estimated moves of people between categories from one wave to the next.

    ``table`` has a cell for each pair of categories, with errors, their covariance, and intervals
    that hold for few people, too.

    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "identity")], keep=["id"])
    >>> release = sv.Release({"sex": ["F", "M", "M"], "id": [1, 2, 3]}, plan)
    >>> release.transitions(release, "sex", id_column="id", memoised=True).people
    3
    """

    table: Estimate
    """Columns of the first wave, then those of the second."""
    people: int
    """How many ids were in both waves."""
    alone: tuple[int, int]
    """How many ids were in the first wave only, and in the second only."""
    memoised: bool
    """Whether the noise of both waves is the same for people who did not change."""

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of categories of the first and the second wave."""
        half = len(self.table.axes) // 2
        return math.prod(self.table.shape[:half]), math.prod(self.table.shape[half:])

    @property
    def counts(self) -> Array:
        """Estimated numbers of people: a row for each category of the first wave."""
        return np.asarray(self.table.counts.reshape(self.shape))

    @property
    def rates(self) -> Array:
        """Each row of :attr:`counts` divided by its sum; NaN if that is not positive."""
        rows = self.table.frequencies.reshape(self.shape)
        sums = rows.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(rows, sums, out=np.full_like(rows, np.nan), where=sums > 0))

    def __repr__(self) -> str:
        what = "memoised noise" if self.memoised else "noise of its own in each wave"
        return f"<Transitions of {self.people:,} people, {what}>\n{self.table.to_text()}"


@dataclass(frozen=True, eq=False)
class _WaveTable:
    name: str
    release: Release[Any]
    table: Table
    ids: np.ndarray

    @property
    def plan(self) -> Plan:
        return self.release.plan

    @classmethod
    def of(cls, name: str, release: Release[Any], column: str) -> _WaveTable:
        table = opened(release.data, any_index=True)
        if column not in table.names:
            cure = "protect leaves ids out unless the plan keeps them, or pseudonym= names a column"
            must = f"have the column `{shown(column)}` of ids"
            raise Refused(name, must, f"none of that name: {cure}")
        held = read_ids(table, column, 0)
        ids: np.ndarray | None = held.integers
        if ids is None:
            ids = np.array(held.tolist(), object)
        different = np.unique(ids) if ids.dtype != object else set(ids.tolist())
        if many := len(ids) - len(different):
            got = f"{many:,} more row{'s' * (many > 1)} than ids"
            raise Refused(name, "have one row per id", got)
        return cls(name, release, table, ids)


def _waves(
    release: Release[Any], later: object, id_column: object
) -> tuple[_WaveTable, _WaveTable, str]:
    second = checks.of_type("later", "be a Release", later, Release)
    column = named("id_column", id_column)
    return _WaveTable.of("release", release, column), _WaveTable.of("later", second, column), column


def _matched(one: _WaveTable, other: _WaveTable) -> tuple[Places, Places]:
    codes = _together([one.ids, other.ids])
    first, second = codes[: len(one.ids)], codes[len(one.ids) :]
    left, right = np.intersect1d(first, second, assume_unique=True, return_indices=True)[1:]
    if not len(left):
        got = f"0 that match of {len(one.ids):,} and {len(other.ids):,}"
        raise Refused("later", "have ids of the release", got)
    order = np.argsort(left)
    return left[order], right[order]


@watched("estimating")
def transitions(
    release: Release[Any],
    later: object,
    columns: object,
    id_column: object,
    memoised: object,
    given_design: object,
) -> Transitions:
    """See :meth:`bistochastic_survey.Release.transitions`."""
    one, two, _ = _waves(release, later, id_column)
    given = [columns] if isinstance(columns, str) else columns
    listed = checks.items("columns", "be a list of columns", given, unordered=True)
    questions = request.ask(one.plan, listed, None), request.ask(two.plan, listed, None)
    if not listed or any(question.clear for question in questions):
        got = "none" if not listed else "one that a wave does not protect"
        raise Refused("columns", "name protected columns", got)
    for each in (*questions[0].coded, *questions[1].coded):
        if each.unit is not None:
            got = f"one that is drawn by the unit `{shown(each.unit)}`: use change"
            raise Refused("", "be drawn by person for transitions", got, column=each.columns)
        if each.groups is not None:
            raise Refused("", "have one matrix for transitions", "groups", column=each.columns)
    pairs = math.prod(a.size for question in questions for a in question.coded)
    if pairs > _MOST:
        must = f"make at most {_MOST:,} pairs of categories"
        raise Refused("columns", must, f"{pairs:,}: join categories, or ask for fewer columns")
    design = Design._of(given_design, two.plan)
    left, right = _matched(one, two)
    pair = _Pair(
        (one, two), questions, (left, right),
        (sheets.sheet_of(questions[0], one.table, Design(), "release"),
         sheets.sheet_of(questions[1], two.table, design, "later")),
        _drawn_alike(one, two, memoised),
    )  # fmt: skip
    back, axes = pair.way_back()
    whole = pair.sheet()
    if not whole.records:
        raise Refused("later", "have people who answered in both waves", "none")
    linear = estimation.Linear(back, whole.tallies(), fixed=False, exact=True)
    silent = len(left) - whole.records
    notes = (f"{silent:,} people without an answer left out",) if silent else ()
    limits = estimation.Limits.of("inverse", None, None, None)
    found = estimation.of_linear(linear, "inverse", "sampled", limits, axes=axes, notes=notes)
    alone = len(one.ids) - len(left), len(two.ids) - len(right)
    return Transitions(found, whole.records, alone, pair.memoised)


def _drawn_alike(one: _WaveTable, two: _WaveTable, said: object) -> bool:
    """Whether both waves were drawn by ids with one key: by their certificates, or as said."""
    if said is not None and not isinstance(said, bool | np.bool_):
        raise RefusedType("memoised", "be True or False", type(said).__name__)
    if one.release._certificate is None or two.release._certificate is None:
        if said is None:
            bare = one.name if one.release._certificate is None else two.name
            must = "say whether both waves were drawn by ids with one key"
            raise Refused("memoised", f"{must}, as {bare} has no certificate", "none")
        return bool(said)
    certificates = (one.release._certificate, two.release._certificate)
    by_ids = [each.ids for each in certificates if each.ids and not each.ids.row_columns]
    keys = len({each.key_fingerprint for each in certificates}) == 1
    found = keys and len(by_ids) == 2 and by_ids[0].kind == by_ids[1].kind
    if said is not None and said != found:
        must = "agree with the certificates, or be left out"
        raise Refused("memoised", must, f"{said}, and they say {found}")
    return found


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two waves side by side: a row for each person, and an axis for each pair of codes."""

    waves: tuple[_WaveTable, _WaveTable]
    questions: tuple[Request, Request]
    rows: tuple[Places, Places]
    tables: tuple[CodedTable, CodedTable]
    alike: bool
    """Whether both waves were drawn by ids with one key."""

    @cached
    def attributes(self) -> list[tuple[Coded, Coded]]:
        """The protected attributes of both waves, side by side."""
        asked = set(self.questions[0].columns)
        both = [
            {tuple(sorted(asked & set(each.columns))): each for each in question.coded}
            for question in self.questions
        ]
        if both[0].keys() != both[1].keys():
            must = "be protected together, or each by itself, in both waves"
            raise Refused("columns", must, "waves that differ")
        return [(each, both[1][name]) for name, each in both[0].items()]

    def same_noise(self, mine: Coded, theirs: Coded) -> bool:
        """Whether an attribute is drawn by the same words and the same matrix in both waves."""
        laws = [each.matrices[0].digest for each in (mine, theirs)]
        alike = (mine.columns, mine.axes, laws[0]) == (theirs.columns, theirs.axes, laws[1])
        return self.alike and alike and self.waves[0].plan.name == self.waves[1].plan.name

    @property
    def memoised(self) -> bool:
        """Whether noise is the same for people who did not change, in every attribute."""
        return all(self.same_noise(mine, theirs) for mine, theirs in self.attributes)

    def _axis(self, both: tuple[Coded, Coded]) -> sheets.CodedAxis:
        """Pair the codes of an attribute."""
        parts = []
        names = [", ".join(each.columns) for each in both]
        for sheet, rows, name in zip(self.tables, self.rows, names, strict=True):
            axis = next(axis for axis in sheet.axes if axis.name == name)
            parts.append((axis.size, axis.codes[rows].astype(np.int64)))
        (one, first), (two, second) = parts
        return sheets.CodedAxis(names[0], None, one * two, (first * two + second).astype(np.uint32))

    def sheet(self) -> CodedTable:
        """Make the codes of all axes with the second wave's design, a row for each person."""
        inside = np.ones(len(self.rows[0]), bool)
        for sheet, rows in zip(self.tables, self.rows, strict=True):
            inside &= True if sheet.inside is None else sheet.inside[rows]
        axes = tuple(self._axis(both) for both in self.attributes)
        second, rows = self.tables[1], self.rows[1]

        def some(values: Any) -> Any:
            return None if values is None else values[rows]

        return replace(
            second, axes=axes, rows=len(rows), inside=None if inside.all() else inside,
            weights=some(second.weights), strata=some(second.strata),
            clusters=some(second.clusters), replicates=tuple(map(some, second.replicates)),
            fraction=some(second.fraction),
        )  # fmt: skip

    def way_back(self) -> tuple[estimation.Map, tuple[estimation.Axis, ...]]:
        """Make the map from the table of reported pairs to the table of true ones."""
        factors, shape = [], []
        columns: list[tuple[str, int, tuple[object, ...]]] = []
        for i, both in enumerate(self.attributes):
            factors.append(self._factor(i, *both))
            shape.append(both[0].size * both[1].size)
            for wave, each in enumerate(both, 1):
                asked = [name for name in each.columns if name in self.questions[0].columns]
                columns += [(name, wave, request.levels_of(each, name)) for name in asked]
        places = {(name, wave): i for i, (name, wave, _) in enumerate(columns)}
        order = [places[name, wave] for wave in (1, 2) for name in self.questions[0].columns]
        axes = tuple(
            estimation.Axis(f"{columns[i][0]}, wave {columns[i][1]}", columns[i][2]) for i in order
        )
        sizes = tuple(len(each) for _, _, each in columns)
        return estimation.Map(tuple(shape), tuple(factors), sizes, tuple(order)), axes

    def _factor(self, axis: int, mine: Coded, theirs: Coded) -> estimation.Factor:
        """Return the pseudo-responses of pairs."""
        backend.require_memory("columns", (mine.size * theirs.size) ** 2, 1, 32)
        asked = self.questions[0].columns
        cells = _cells(mine, asked), _cells(theirs, asked)
        told, whole = _kron(*cells), all(np.array_equal(c, np.eye(len(c))) for c in cells)
        with about(mine.columns):
            laws = mine.matrices[0], theirs.matrices[0]
            found = pair_responses(*laws, self.same_noise(mine, theirs))
        return estimation.Factor(axis, (found if whole else told @ found,), told)


def _cells(attribute: Coded, columns: tuple[str, ...]) -> Array:
    """Find the codes of an attribute that each combination of the requested columns adds up."""
    code, size = np.zeros(attribute.size - attribute.matrices[0].padding, np.intp), 1
    for column, place in zip(attribute.columns, request.digits(attribute), strict=True):
        if column in columns:
            categories = len(request.levels_of(attribute, column))
            code, size = code * categories + place, size * categories
    # A code that is reported but never true adds to no combination.
    code = np.pad(code, (0, attribute.size - len(code)), constant_values=-1)
    return np.asarray(code == np.arange(size)[:, None], dtype=np.float64)


def _kron(one: Array, other: Array) -> Array:
    return np.asarray(np.kron(one, other), dtype=np.float64)


def pair_responses(first: Matrix, second: Matrix, memoised: bool) -> Array:
    """Compute what each reported pair adds to each true pair: the inverse of the pair map."""
    one, other = _inverse(first), _inverse(second)
    if not memoised:
        return _kron(one, other)
    r = len(one)
    squares = one * one
    values = np.linalg.svd(squares, compute_uv=False)
    if not values[-1] > 1e-12 * values[0]:
        must = "be used with a matrix that distinguishes moves from stays"
        got = "one whose inverse has squares that are singular"
        raise SingularMatrixError("transitions", must, got)
    weights = np.linalg.solve(squares, (one[:, :, None] * one[:, None, :]).reshape(r, r * r))
    found = _kron(one, one)
    found -= (one[:, None, :] * one[None, :, :]).reshape(r * r, r) @ weights
    found[np.arange(r) * (r + 1)] += first.solve(weights)
    return found


def _inverse(matrix: Matrix) -> Array:
    """Return the pseudo-response of each category, a row, to every reported one."""
    with request.invertible("transitions"):
        return matrix.solve(np.eye(matrix.size), back=True).T


@watched("estimating")
def change(
    release: Release[Any],
    later: object,
    *,
    column: object,
    scores: object,
    where: object,
    given: object,
    id_column: object,
    design: object,
) -> Quantity:
    """See :meth:`bistochastic_survey.Release.change`."""
    drawn = Design._of(design)
    if drawn.replicates is not None:
        raise RefusedType("replicates", "not be given to change", "some")
    if (where is None) == (column is None):
        got = "neither" if where is None else "both"
        raise RefusedType("change", "be used with where or column", got)
    one, two, ids = _waves(release, later, id_column)
    same = len(_matched(one, two)[0])
    (before, first, mine, note), (after, second, theirs, other) = (
        _residuals(wave, where, given, column, scores, ids, drawn) for wave in (one, two)
    )
    # The contributions of a person, a unit or a cluster in both waves count as one: all repeat.
    labels = _labels((one, two), drawn.cluster)
    if labels is None:
        labels = _together([one.ids, two.ids])
        for unit in dict.fromkeys([*mine, *theirs]):
            labels = _joined(labels, _labels((one, two), unit))
    strata = _labels((one, two), drawn.strata)
    strata = np.zeros(len(labels), np.intp) if strata is None else strata
    which = np.unique(strata * (labels.max() + 1) + labels, return_inverse=True)[1]
    ones = np.ones(len(labels))
    sample = estimation.Sample(len(ones), ones, ones, (estimation.Stage.of(strata, which),))
    variance = float(sample.covariance(np.concatenate([-first, second])[None])[0, 0])
    notes = (
        f"from {before:.6g} to {after:.6g}",
        f"{same:,} of {len(one.ids):,} and {len(two.ids):,} records are of the same ids",
        *dict.fromkeys((*note, *other)),
    )
    return Quantity("change", after - before, math.sqrt(max(0.0, variance)), len(ones), "sampled",
                    sample.degrees, notes=notes)  # fmt: skip


def _residuals(
    wave: _WaveTable, where: object, given: object, column: object, scores: object, ids: str,
    drawn: Design,
) -> tuple[float, Array, tuple[str, ...], tuple[str, ...]]:  # fmt: skip
    """Compute a ratio of totals in one wave, what each row adds to its error, units and notes."""
    conditions = request.ask(wave.plan, (), where).where
    domain = request.ask(wave.plan, (), given, "given").where
    columns = () if column is None else (named("column", column),)
    units = Request(wave.plan, tuple({**conditions, **domain, **dict.fromkeys(columns)})).units
    # Clusters keep the rows apart. Units become clusters by themselves, or raise an error.
    cluster = drawn.cluster or (None if units else ids)
    design = Design._of(Design(weights=drawn.weights, cluster=cluster), wave.plan)
    rows = respond(wave.release, design, "change", {**conditions, **domain}, columns)
    base = rows.inside(domain, "given")
    what = rows.column(columns[0], scores) if columns else rows.inside(conditions)
    weights = rows.sample.sums
    top, below = weights * rows.of(base * what), weights * rows.of(base)
    total = float(below.sum())
    if not total > 0:
        raise Refused("change", f"be used with a subgroup with records in {wave.name}", "none")
    value = float(top.sum()) / total
    notes = represented(rows.attribute(columns[0]), scores) if columns else ()
    return value, (top - value * below) / total, units, notes


def _labels(waves: tuple[_WaveTable, ...], column: object) -> Places | None:
    """Return the codes of an unprotected column, of every row of all waves; None without one."""
    if column is None:
        return None
    parts = []
    for wave in waves:
        sheets.require(wave.table, wave.name, named("cluster", column))
        codes, values = wave.table.levels(named("cluster", column))
        parts.append(np.array(values, object)[codes])
    return _together(parts)


def _joined(one: Places, other: Places | None) -> Places:
    """Number the groups of rows that either code connects, directly or through other rows."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    assert other is not None
    first = int(one.max()) + 1
    size = first + int(other.max()) + 1
    edges = coo_array((np.ones(len(one)), (one, first + other)), (size, size))
    return np.asarray(connected_components(edges, directed=False)[1][one], dtype=np.intp)


def _together(parts: Sequence[np.ndarray]) -> Places:
    """Give one code to each different value, over all waves."""
    if all(part.dtype != object for part in parts):
        return np.unique(np.concatenate(parts), return_inverse=True)[1]
    known: dict[object, int] = {}
    listed = [each for part in parts for each in part.tolist()]
    return np.array([known.setdefault(each, len(known)) for each in listed])
