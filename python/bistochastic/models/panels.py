"""``plan.transitions`` and ``plan.change``: two protected waves of the same people.

Under ids the noise is memoised: a person with the same true value has the same reported value in
both waves, one with another value an unrelated one. So reported pairs follow the *pair law*: given
true values u and w, ``P_uv`` at (v, v) if ``u = w``, and ``P_uv P_wx`` at (v, x) otherwise. Taking
two unrelated draws for granted would count people who stay as people who move.

With Q the inverse of P, o entrywise products and O the table of reported pairs, the inverse of the
pair law takes three steps: ``S = Q^T O Q``; solve ``(Q o Q)^T w = diag S``; and then, with
``P^T t = w``, ``T = S + diag t - Q^T diag(w) Q``. It exists if P and ``Q o Q`` have inverses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core, arguments, operators
from bistochastic.adapters.results import levels, maker, opened
from bistochastic.errors import SingularMatrixError
from bistochastic.estimate.axes import Axis
from bistochastic.estimate.effort import Patience
from bistochastic.estimate.linear import Factor, Linear, Map
from bistochastic.estimate.methods import of_linear
from bistochastic.estimate.quantities import Quantity
from bistochastic.estimate.sample import Sample
from bistochastic.kept import kept
from bistochastic.plan.attributes import about, named
from bistochastic.plan.waves import read_ids
from bistochastic.progress import watched
from bistochastic.tables import sheet as sheets
from bistochastic.tables.estimates import designed
from bistochastic.tables.question import ask, digits, levels_of
from bistochastic.tables.responses import Function, respond
from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bistochastic.estimate.result import Estimate
    from bistochastic.matrix import Matrix
    from bistochastic.plan.certificate import Certificate
    from bistochastic.plan.keywords import Survey
    from bistochastic.plan.plan import Plan
    from bistochastic.tables.question import Coded
    from bistochastic.tables.sheet import Sheet

    Array = NDArray[np.float64]
    Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False, repr=False)
class Transitions:
    """How many people moved between categories from one wave to the next.

    ``table`` has a cell for each pair of categories, with errors and intervals that hold for few
    people, too. ``rates`` are the same as shares of each category of the first wave.
    """

    table: Estimate
    """Columns of the first wave, then those of the second."""
    people: int
    """How many ids were in both waves."""
    alone: tuple[int, int]
    """How many ids were in the first wave only, and in the second only."""
    memoised: bool
    """Whether the noise of both waves is the same for people who did not change."""
    stayers: Quantity | None
    """How many have the same categories in both waves; None if the categories differ."""

    @property
    def shape(self) -> tuple[int, int]:
        """How many categories the first wave has, and the second."""
        half = len(self.table.axes) // 2
        return math.prod(self.table.shape[:half]), math.prod(self.table.shape[half:])

    @property
    def counts(self) -> Array:
        """Estimated numbers of people: a row for each category of the first wave."""
        return np.asarray(self.table.counts.reshape(self.shape))

    @property
    def rates(self) -> Array:
        """Each row of :attr:`counts` as shares of its sum; NaN if that is not positive."""
        rows = self.table.frequencies.reshape(self.shape)
        sums = rows.sum(axis=1, keepdims=True)
        found = np.full_like(rows, np.nan)
        np.divide(rows, sums, out=found, where=sums > 0)
        return found

    @kept
    def rate_errors(self) -> Array:
        """The standard errors of :attr:`rates`, by the delta method."""
        one, other = self.shape
        sums = self.table.frequencies.reshape(self.shape).sum(axis=1)
        spread = self.table.covariance.reshape(one, other, one, other)
        found = np.full(self.shape, np.nan)
        for i, total in enumerate(sums):
            if total > 0:
                own, rate = spread[i, :, i], self.rates[i]
                variance = np.diag(own) - 2 * rate * own.sum(axis=1) + rate**2 * own.sum()
                found[i] = np.sqrt(np.maximum(variance, 0)) / total
        return found

    def to_frame(self, library: str | None = None) -> Any:
        """The table as a data frame, with ``rate`` and ``rate_error`` beside counts and errors."""
        from bistochastic.estimate.result import framed

        return framed(self._columns(), self.table._make, library)

    def _columns(self) -> dict[str, Any]:
        more = {"rate": self.rates.ravel(), "rate_error": self.rate_errors.ravel()}
        return {**self.table._levels(), **self.table._columns(), **more}

    def __repr__(self) -> str:
        what = "memoised noise" if self.memoised else "noise of its own in each wave"
        lines = [f"<Transitions of {self.people:,} people, {what}>", self.table.to_text()]
        if self.stayers is not None:
            lines.append(f"stayers: {self.stayers!r}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


@dataclass(frozen=True, eq=False)
class _Wave:
    """A protected table, its plan and certificate, and the ids of its rows."""

    name: str
    plan: Plan
    frame: Any
    table: Any
    certificate: Certificate | None
    ids: Any

    @classmethod
    def of(cls, name: str, plan: Plan, given: object, column: str) -> _Wave:
        certificate, frame = sheets.certificate_of(given), sheets.table_of(given)
        table = opened(frame)
        if column not in table.names:
            cure = "protect leaves ids out unless the plan keeps them, or pseudonym= names a column"
            must = f"`{name}` must have the column `{shown(column)}` of ids"
            raise ValueError(f"{must}; got none of that name: {cure}")
        ids = read_ids(table, column, 0)
        return cls(name, plan, frame, table, certificate,
                   ids if isinstance(ids, np.ndarray | list) else ids.tolist())  # fmt: skip


def _column(id_column: object, pseudonym: object) -> str:
    given = {"id_column": id_column, "pseudonym": pseudonym}
    said = [name for name, value in given.items() if value is not None]
    if len(said) != 1:
        got = "both" if said else "neither"
        raise TypeError(f"`id_column` or `pseudonym` must name the column of ids; got {got}")
    return named(said[0], given[said[0]])


def _waves(
    plan: Plan, later: object, wave1: object, wave2: object, column: str
) -> tuple[_Wave, _Wave]:
    """Both waves; the plan of the second is what the caller says, or its certificate."""
    from bistochastic.plan.plan import Plan

    second = sheets.certificate_of(wave2)
    if later is not None and not isinstance(later, Plan):
        raise TypeError(f"`plan2` must be a plan; got {type(later).__name__}")
    other = later or (plan if second is None else second.plan)
    return _Wave.of("wave1", plan, wave1, column), _Wave.of("wave2", other, wave2, column)


def _matched(one: _Wave, other: _Wave) -> tuple[Places, Places]:
    """The rows of both waves that have the same id, none of which may have two."""
    for wave in (one, other):
        many = len(wave.ids) - len(np.unique(wave.ids) if _whole(wave) else set(wave.ids))
        if many:
            must = f"`{wave.name}` must have one row per id"
            raise ValueError(f"{must}; got {many:,} more than ids")
    if _whole(one) and _whole(other):
        order = np.argsort(other.ids, kind="stable")
        ids = other.ids[order]
        at = np.minimum(np.searchsorted(ids, one.ids), max(0, len(ids) - 1))
        hit = np.flatnonzero(ids[at] == one.ids) if len(ids) else np.zeros(0, np.intp)
        found = hit, order[at[hit]]
    else:
        where = {each: i for i, each in enumerate(_listed(other))}
        pairs = [(i, where[each]) for i, each in enumerate(_listed(one)) if each in where]
        both = np.array(pairs, np.intp).reshape(-1, 2)
        found = both[:, 0], both[:, 1]
    if not len(found[0]):
        got = f"0 that match of {len(one.ids):,} and {len(other.ids):,}"
        raise ValueError(f"`wave2` must have ids of wave1; got {got}")
    return found


def _whole(wave: _Wave) -> bool:
    return isinstance(wave.ids, np.ndarray) and wave.ids.dtype.kind in "iu"


def _listed(wave: _Wave) -> list[Any]:
    return list(wave.ids.tolist() if isinstance(wave.ids, np.ndarray) else wave.ids)


@watched("estimating")
def transitions(
    plan: Plan,
    wave1: object,
    wave2: object,
    columns: object,
    id_column: object,
    pseudonym: object,
    later: object,
    survey: Survey,
) -> Transitions:
    """See :meth:`bistochastic.Plan.transitions`."""
    column = _column(id_column, pseudonym)
    listed = [columns] if isinstance(columns, str) else arguments.items(
        "columns", "be a list of columns", columns
    )  # fmt: skip
    one, other = _waves(plan, later, wave1, wave2, column)
    questions = ask(one.plan, listed, None), ask(other.plan, listed, None)
    if not questions[0].columns:
        raise ValueError("`columns` must name one or more; got none")
    design = designed(other.plan, survey)
    rows = _matched(one, other)
    first = sheets.of_table(questions[0], one.table, sheets.Design(), "wave1")
    second = sheets.of_table(questions[1], other.table, design, "wave2")
    pair = _Pair(one, other, questions, first, second, *rows)
    back, axes = pair.way_back()
    whole = pair.sheet()
    if not whole.records:
        raise ValueError("`wave2` must have people who answered in both waves; got none")
    linear = Linear(back, whole.tallies(), fixed=False, exact=True)
    left = len(rows[0]) - whole.records
    notes = (f"{left:,} people without an answer left out",) if left else ()
    found = of_linear(linear, "inverse", "sampled", Patience.of("inverse", None, None, None),
                      axes=axes, notes=notes)  # fmt: skip
    found = replace(found, _make=maker(one.frame))
    alone = len(one.ids) - len(rows[0]), len(other.ids) - len(rows[1])
    return Transitions(found, whole.records, alone, pair.memoised, _stayers(found))


def _stayers(table: Estimate) -> Quantity | None:
    """How many people are in the same cell of both waves."""
    half = len(table.axes) // 2
    if [a.categories for a in table.axes[:half]] != [a.categories for a in table.axes[half:]]:
        return None
    size = math.prod(table.shape[:half])
    same = np.arange(size) * (size + 1)
    total = table.records if table.total is None else table.total
    error = math.sqrt(max(0.0, float(table.covariance[np.ix_(same, same)].sum()))) * total
    return Quantity("stayers", float(table.counts[same].sum()), error, table.records, "sampled",
                    table.degrees, (0.0, float(total)))  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two waves side by side: a row for each person, an axis for each pair of codes."""

    one: _Wave
    other: _Wave
    questions: tuple[Any, Any]
    first: Sheet
    second: Sheet
    left: Places
    right: Places

    @kept
    def memoised(self) -> bool:
        """Whether noise is the same for people who did not change, in every attribute."""
        return all(
            self._same(a, b) and list(map(_digest, a.matrices)) == list(map(_digest, b.matrices))
            for a, b in self.attributes
        )

    @kept
    def attributes(self) -> list[tuple[Coded, Coded]]:
        """The protected attributes of both waves, side by side."""
        found = []
        theirs = list(self.questions[1].coded)
        for mine in self.questions[0].coded:
            asked = set(mine.columns) & set(self.questions[0].columns)
            match = [each for each in theirs if set(each.columns) & asked == asked]
            others = {c for each in match for c in each.columns} & set(self.questions[1].columns)
            if len(match) != 1 or others != asked:
                listed = ", ".join(f"`{shown(name)}`" for name in sorted(asked))
                must = f"`columns` must be protected in both waves, {listed} by one attribute"
                raise ValueError(f"{must}; got a wave where it is otherwise")
            found.append((mine, match[0]))
        if len(found) != len(theirs):
            raise ValueError("`columns` must be protected in both waves; got one that is not")
        return found

    def _same(self, mine: Coded, theirs: Coded) -> bool:
        """Whether an attribute is drawn by the same words in both waves."""
        if mine.columns != theirs.columns or mine.axes != theirs.axes:
            return False
        one, other = self.one.certificate, self.other.certificate
        if self.one.plan.name != self.other.plan.name:
            return False
        if one is None or other is None:
            return True
        if one.ids is None or other.ids is None or one.ids.row_columns or other.ids.row_columns:
            return False
        return (one.key_fingerprint, one.ids.kind) == (other.key_fingerprint, other.ids.kind)

    def _codes(self, name: str) -> tuple[sheets.Axis, sheets.Axis, Any, Any]:
        """An axis of both waves, and its codes for every person."""
        a = next(axis for axis in self.first.axes if axis.name == name)
        b = next(axis for axis in self.second.axes if axis.name == name)
        return a, b, a.codes[self.left], b.codes[self.right]

    @kept
    def axes(self) -> list[tuple[str, str, sheets.Axis]]:
        """What each axis of the table is about, and whether it is of groups, one wave or both."""
        found: list[tuple[str, str, sheets.Axis]] = []
        for name in self._grouping:
            a, b, u, v = self._codes(name)
            codes = (u.astype(np.int64) * b.size + v).astype(np.uint32)
            found.append((name, "groups", sheets.Axis(name, None, a.size * b.size, codes)))
        for name in self.questions[0].clear:
            a, b, u, v = self._codes(name)
            for axis, codes, wave in ((a, u, 1), (b, v, 2)):
                found.append((name, f"wave {wave}", replace(axis, codes=codes)))
        for mine, theirs in self.attributes:
            names = ", ".join(mine.columns), ", ".join(theirs.columns)
            u = next(axis for axis in self.first.axes if axis.name == names[0]).codes[self.left]
            v = next(axis for axis in self.second.axes if axis.name == names[1]).codes[self.right]
            _core.require_memory("columns", (mine.size * theirs.size) ** 2, 1, 32)
            codes = (u.astype(np.int64) * theirs.size + v).astype(np.uint32)
            axis = sheets.Axis(names[0], None, mine.size * theirs.size, codes)
            found.append((names[0], "both", axis))
        return found

    @property
    def _grouping(self) -> list[str]:
        """The unprotected columns that choose matrices, in either wave."""
        return list(dict.fromkeys([*self.questions[0].groups, *self.questions[1].groups]))

    def sheet(self) -> Sheet:
        """The codes of all axes with the design of the second wave, a row for each person."""
        inside = np.ones(len(self.left), bool)
        if self.first.inside is not None:
            inside &= self.first.inside[self.left]
        if self.second.inside is not None:
            inside &= self.second.inside[self.right]

        def some(values: Any) -> Any:
            return None if values is None else values[self.right]

        second = self.second
        return sheets.Sheet(
            tuple(axis for _, _, axis in self.axes), len(self.left),
            None if inside.all() else inside, 0, some(second.weights), some(second.strata),
            some(second.clusters), tuple(some(each) for each in second.replicates), second.scale,
        )  # fmt: skip

    def way_back(self) -> tuple[Map, tuple[Axis, ...]]:
        """From the table of reported pairs to that of true ones, and its columns."""
        factors: list[Factor] = []
        columns: list[tuple[str, int, tuple[Any, ...]]] = []
        attributes = {", ".join(mine.columns): (mine, theirs) for mine, theirs in self.attributes}
        where = {name: i for i, (name, kind, _) in enumerate(self.axes) if kind == "groups"}
        for i, (name, kind, axis) in enumerate(self.axes):
            if kind == "groups":
                ones = np.ones((1, axis.size))
                factors.append(Factor(i, (ones,), ones))
                columns.append(("", 0, (None,)))
            elif kind != "both":
                factors.append(Factor(i))
                columns.append((name, int(kind[-1]), axis.values or ()))
            else:
                factors.append(self._factor(i, *attributes[name], where))
                for wave, attribute in enumerate(attributes[name], 1):
                    columns += [
                        (column, wave, levels_of(attribute, column))
                        for column in attribute.columns if column in self.questions[0].columns
                    ]  # fmt: skip
        asked = self.questions[0].columns
        order = [next(i for i, (c, w, _) in enumerate(columns) if (c, w) == (column, wave))
                 for wave in (1, 2) for column in asked]  # fmt: skip
        axes = tuple(Axis(f"{columns[i][0]}, wave {columns[i][1]}", columns[i][2]) for i in order)
        order += [i for i, (name, _, _) in enumerate(columns) if not name]
        shape = tuple(axis.size for _, _, axis in self.axes)
        sizes = tuple(len(each) for _, _, each in columns)
        return Map(shape, tuple(factors), sizes, tuple(order)), axes

    def _factor(self, axis: int, mine: Coded, theirs: Coded, where: dict[str, int]) -> Factor:
        """The pseudo-responses of pairs, for every pair of groups that people may be in."""
        told = _kron(
            _cells(mine, self.questions[0].columns), _cells(theirs, self.questions[1].columns)
        )
        same = self._same(mine, theirs)
        groups = [a.groups for a in (mine, theirs)]
        chosen = next((each.column for each in groups if each is not None), None)
        if any(each is not None and each.column != chosen for each in groups):
            must = "`columns` must have their matrices chosen by one column in both waves"
            raise ValueError(f"{must}; got two")
        laws = [self._laws(attribute, chosen, w) for w, attribute in enumerate((mine, theirs))]
        back = []
        for i, first in enumerate(laws[0]):
            for j, second in enumerate(laws[1]):
                # A person who changed the group is drawn anew.
                memo = same and (chosen is None or i == j) and _digest(first) == _digest(second)
                with about(mine.columns):
                    back.append(told @ pair_responses(first, second, memo))
        return Factor(axis, tuple(back), told, None if chosen is None else where[chosen])

    def _laws(self, attribute: Coded, chosen: str | None, wave: int) -> tuple[Matrix, ...]:
        """A matrix for each value of the column that chooses them."""
        if attribute.groups is not None or chosen is None:
            return attribute.matrices
        sheet = (self.first, self.second)[wave]
        size = next(axis.size for axis in sheet.axes if axis.name == chosen)
        return attribute.matrices * size


def _digest(matrix: Matrix) -> str:
    return str(_core.digest_of(matrix))


def _cells(attribute: Coded, columns: tuple[str, ...]) -> Array:
    """Which codes of an attribute each combination of the columns asked for adds up."""
    places = [(np.asarray(place), len(levels_of(attribute, column)))
              for column, place in zip(attribute.columns, digits(attribute), strict=True)
              if column in columns]  # fmt: skip
    code = np.zeros(attribute.size, np.intp)
    for place, size in places:
        code = code * size + place
    every = np.arange(math.prod(size for _, size in places))
    return np.asarray(code == every[:, None], dtype=np.float64)


def _kron(one: Array, other: Array) -> Array:
    return np.asarray(np.kron(one, other), dtype=np.float64)


def pair_responses(first: Matrix, second: Matrix, memoised: bool) -> Array:
    """What each reported pair adds to each true pair: the inverse of the law of pairs, transposed.

    >>> import bistochastic as bs
    >>> m = bs.randomized_response(2, keep=0.75)
    >>> pair_responses(m, m, True).round(3)
    array([[ 1.2, -0.3, -0.3, -0.3],
           [-0.1,  0.9,  0.4, -0.1],
           [-0.1,  0.4,  0.9, -0.1],
           [-0.3, -0.3, -0.3,  1.2]])
    """
    one, other = _inverse(first), _inverse(second)
    if not memoised:
        return _kron(one, other)
    r = len(one)
    squares = one * one
    values = np.linalg.svd(squares, compute_uv=False)
    if not values[-1] > 1e-12 * values[0]:
        must = "`transitions` must be asked of a matrix under which moves can be told from stays"
        got = "one whose inverse has squares that are singular"
        raise SingularMatrixError(f"{must}; got {got}")
    diagonal = (one[:, :, None] * one[:, None, :]).reshape(r, r * r)
    weights = np.linalg.solve(squares, diagonal)
    found = _kron(one, one)
    found -= (one[:, None, :] * one[None, :, :]).reshape(r * r, r) @ weights
    found[np.arange(r) * (r + 1)] += operators.solve(first, weights)
    return found


def _inverse(matrix: Matrix) -> Array:
    """The pseudo-response of each category, a row, to every reported one."""
    with operators.said_of("transitions", matrix):
        return operators.solve_back(matrix, np.eye(matrix.size))


@watched("estimating")
def change(
    plan: Plan,
    wave1: object,
    wave2: object,
    *,
    where: object,
    given: object,
    column: object,
    scores: object,
    id_column: object,
    pseudonym: object,
    later: object,
    survey: Survey,
) -> Quantity:
    """See :meth:`bistochastic.Plan.change`."""
    name = _column(id_column, pseudonym)
    if survey.get("replicates") is not None:
        raise TypeError("`replicates` must not be given to change; got some")
    one, other = _waves(plan, later, wave1, wave2, name)
    if (where is None) == (column is None):
        got = "neither" if where is None else "both"
        raise TypeError(f"`change` must be asked of where or of column; got {got}")
    rows = _matched(one, other)
    parts = [_residuals(wave, where, given, column, scores, name, survey) for wave in (one, other)]
    clusters = survey.get("cluster")
    labels = (
        _together([one.ids, other.ids])
        if clusters is None
        else _together([_labels(wave, clusters) for wave in (one, other)])
    )
    strata = np.zeros(len(labels), np.intp)
    if survey.get("strata") is not None:
        strata = _together([_labels(wave, survey.get("strata")) for wave in (one, other)])
    keys, which = np.unique(strata * (labels.max() + 1) + labels, return_inverse=True)
    stratum = keys // (labels.max() + 1)
    values = np.concatenate([-parts[0][1], parts[1][1]])[None]
    ones = np.ones(values.shape[1])
    sample = Sample(len(ones), ones, ones, np.bincount(stratum), clusters=(which, stratum))
    error = math.sqrt(max(0.0, float(sample.covariance(values)[0, 0])))
    before, after = parts[0][0], parts[1][0]
    notes = (
        f"from {before:.6g} to {after:.6g}",
        f"{len(rows[0]):,} of {len(one.ids):,} and {len(other.ids):,} records are of the same ids",
    )
    return Quantity("change", after - before, error, len(ones), "sampled", sample.degrees,
                    notes=notes)  # fmt: skip


def _residuals(
    wave: _Wave, where: object, given: object, column: object, scores: object, ids: str,
    survey: Survey,
) -> tuple[float, Array]:  # fmt: skip
    """A ratio of totals in one wave, and what each row adds to its error."""
    conditions = ask(wave.plan, (), where).where
    domain = ask(wave.plan, (), given, "given").where
    columns = () if column is None else (named("column", column),)
    own: Survey = {"weights": survey.get("weights"), "cluster": ids}
    design = designed(wave.plan, own)
    rows = respond(wave.plan, wave.frame, design, "change", {**conditions, **domain}, columns)
    base = rows.inside(domain, "given") if domain else Function()
    what = rows.column(columns[0], scores) if columns else rows.inside(conditions)
    weights = rows.sample.sums
    top, below = weights * rows.of(base * what), weights * rows.of(base)
    total = float(below.sum())
    if not total > 0:
        must = f"`change` must be asked of a subgroup with records in {wave.name}"
        raise ValueError(f"{must}; got none")
    value = float(top.sum()) / total
    return value, (top - value * below) / total


def _labels(wave: _Wave, column: object) -> list[Any]:
    """The values of an unprotected column, of every row."""
    name = str(column)
    sheets.require(wave.table, wave.name, name)
    codes, values = levels(wave.table, name)
    return [values[i] for i in codes.tolist()]


def _together(parts: Sequence[Any]) -> Places:
    """One code for each different value, of all waves one after the other."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.unique(np.concatenate(parts), return_inverse=True)[1]
    known: dict[Any, int] = {}
    return np.array([known.setdefault(each, len(known)) for part in parts for each in part])
