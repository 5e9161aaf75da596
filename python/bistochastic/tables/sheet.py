"""``Sheet``: the columns of a protected table that a question needs, as codes, and counted."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core, arguments
from bistochastic.adapters.arrays import narrow
from bistochastic.adapters.frames import WrongType
from bistochastic.adapters.results import declared, levels, opened
from bistochastic.estimate.linear import Tallies
from bistochastic.estimate.sample import wrong_weight
from bistochastic.labels import key
from bistochastic.plan import columns as coding
from bistochastic.plan.attributes import named, prefix
from bistochastic.plan.attributes import names as column_names
from bistochastic.tables.question import absent, refuse_absent
from bistochastic.words import row, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bistochastic.adapters.frames import Codes, Mask, Table
    from bistochastic.arguments import Array
    from bistochastic.plan.certificate import Certificate
    from bistochastic.tables.question import Question

# Tables have fewer cells than this.
_CELLS = 2**32
SHARED = (
    "rows of one id share their noise: errors and intervals may be too small unless cluster= names "
    "the column of ids"
)


@dataclass(frozen=True, eq=False)
class Design:
    """The names of the columns that say how records were drawn."""

    weights: str | None = None
    strata: str | None = None
    cluster: str | None = None
    replicates: tuple[str, ...] = ()
    scale: float | None = None
    second: str | None = None
    """The clusters of the second stage, inside those of the first."""
    fpc: tuple[str | float, ...] = ()
    """For each stage the sizes of the population, or the sampled fractions."""

    @property
    def is_plain(self) -> bool:
        """Whether all records count alike."""
        return not self.fpc and all(x is None for x in (self.weights, self.strata, self.cluster))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are named."""
        sizes = (each for each in self.fpc if isinstance(each, str))
        single = (self.weights, self.strata, self.cluster, self.second, *sizes)
        return (*(name for name in single if name is not None), *self.replicates)

    @classmethod
    def of(
        cls,
        weights: object = None,
        strata: object = None,
        cluster: object = None,
        replicates: object = None,
        replicate_scale: object = None,
        fpc: object = None,
    ) -> Design:
        """Read the columns that a caller named; replicates need the weights that they vary."""
        stages = _stages("cluster", cluster)
        names = {"weights": weights, "strata": strata, "cluster": stages[0] if stages else None,
                 "second": stages[1] if len(stages) > 1 else None}  # fmt: skip
        found = {k: None if v is None else named(k, v) for k, v in names.items()}
        sizes = _stages("fpc", fpc)
        if len(sizes) > max(1, len(stages)):
            raise TypeError(
                f"`fpc` must have one entry for each stage of cluster; got {len(sizes)}"
            )
        given = tuple(
            named("fpc", x) if isinstance(x, str) else _core.as_real("fpc", "be positive", x)
            for x in sizes
        )
        if replicates is None:
            if replicate_scale is not None:
                raise TypeError("`replicate_scale` must come with replicates; got none")
            return cls(found["weights"], found["strata"], found["cluster"], (), None,
                       found["second"], given)  # fmt: skip
        must = "be a list of two or more columns"
        listed = column_names("replicates", replicates, must)
        if len(listed) < 2:
            raise ValueError(f"`replicates` must {must}; got {len(listed)}")
        if found["weights"] is None:
            raise TypeError("`replicates` must come with weights; got none")
        if found["strata"] is not None or found["cluster"] is not None or given:
            raise TypeError("`replicates` must be given without strata, cluster and fpc; got both")
        factor = 1 / len(listed)
        if replicate_scale is not None:
            factor = arguments.positive("replicate_scale", replicate_scale)
        return cls(found["weights"], None, None, listed, factor)


def _stages(name: str, given: object) -> tuple[Any, ...]:
    """Read one value, or two for the two stages of a design."""
    if not isinstance(given, tuple | list):
        return () if given is None else (given,)
    if not 1 <= len(given) <= 2:
        raise ValueError(f"`{name}` must be one or a pair, for two stages; got {len(given)}")
    return tuple(given)


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of the reported table: its name, the values of its codes, and the codes."""

    name: str
    values: tuple[Any, ...] | None
    size: int
    codes: Codes


@dataclass(frozen=True, eq=False)
class Sheet:
    """Codes of all axes, the rows inside the domain, and the design."""

    axes: tuple[Axis, ...]
    rows: int
    inside: Mask | None
    unanswered: int
    weights: Array | None
    strata: NDArray[np.intp] | None
    clusters: NDArray[np.intp] | None
    replicates: tuple[Array, ...]
    scale: float
    times: Array | None = None
    """The number of records of each row, if rows are counts."""
    known: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """The categories of unprotected columns: those that occur, and those that are declared."""
    notes: tuple[str, ...] = ()
    """Notes on the clusters."""
    lost: str = ""
    """The reason why standard errors are unknown, if they are."""
    second: NDArray[np.intp] | None = None
    """The cluster of the second stage of every row."""
    fractions: tuple[Array, ...] = ()
    """The sampled fraction of each stage, for every row."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return tuple(axis.size for axis in self.axes)

    @property
    def records(self) -> int:
        """How many records are inside the domain."""
        if self.times is not None:
            return int(_inside(self.times, self.inside).sum())
        return self.rows if self.inside is None else int(np.count_nonzero(self.inside))

    def tallies(self) -> Tallies:
        """Tables of all combinations, for each stratum of the design."""
        cells = math.prod(self.shape)
        if cells >= _CELLS:
            raise ValueError(f"`columns` must make less than 2^32 cells; got {cells}")
        sizes = list(self.shape)
        # The core wants one column at least.
        codes = [np.ascontiguousarray(axis.codes) for axis in self.axes]
        if not codes:
            codes, sizes = [np.zeros(self.rows, np.uint8)], [1]
        if self.times is not None:
            _, counted, _ = _core.cross(codes, sizes, _inside(self.times, self.inside))
            number, counted = self.records, counted[None]
            return Tallies(number, counted, counted, np.array([number]), lost=self.lost)
        if self.is_plain:
            if self.inside is not None:
                codes = [each[self.inside] for each in codes]
            records, _, _ = _core.cross(codes, sizes, None)
            counted = records.astype(float)[None]
            number = self.records
            return Tallies(number, counted, counted, np.array([number]), lost=self.lost)
        weights = self.weighed()
        if self.strata is None:
            units = np.array([self.rows])
        else:
            codes = [self.strata.astype(np.uint32), *codes]
            units = np.bincount(self.strata)
            sizes = [len(units), *sizes]
        _, sums, squares = _core.cross(codes, sizes, weights)
        found = Tallies(
            self.records, sums.reshape(-1, cells), squares.reshape(-1, cells), units,
            weighted=self.weights is not None, scale=self.scale, lost=self.lost,
        )  # fmt: skip
        if self.replicates:
            every = [_core.cross(codes, sizes, each)[1] for each in self._inner()]
            return replace(found, replicates=np.stack(every))
        if self.clusters is None:
            _refuse_lonely(units, "records")
            return self._corrected(found, codes[-len(self.axes) or None :], weights)
        found = self._clustered(found, weights)
        return self._corrected(found, codes[-len(self.axes) or None :], weights)

    @property
    def is_plain(self) -> bool:
        """Whether all records count alike."""
        groups = (self.weights, self.strata, self.clusters)
        return not self.fractions and all(each is None for each in groups)

    def stages(self) -> list[Stage]:
        """Stages of the design behind the first, and what is left of the first: see ``Stage``."""
        if not self.fractions:
            return []
        strata = np.zeros(self.rows, np.intp) if self.strata is None else self.strata
        which, first = np.arange(self.rows), self.fractions[0]
        if self.clusters is not None:
            _, which, _ = self.nested()
        found = [Stage(which, strata, 1 - first)]
        if self.second is not None:
            most = int(self.second.max(initial=0)) + 1
            units = np.unique(which * most + self.second, return_inverse=True)[1]
            rest = self.fractions[1] if len(self.fractions) > 1 else np.zeros(self.rows)
            found.append(Stage(units, which, first * (1 - rest)))
        return found

    def left(self) -> Array:
        """Return the part of each row's noise that no stage of the design has."""
        every = [*self.fractions, *[np.zeros(self.rows)] * self._lacks]
        return np.asarray(np.prod(every, axis=0))

    @property
    def _lacks(self) -> int:
        """How many stages have no fraction."""
        return 1 + (self.second is not None) - len(self.fractions)

    def _corrected(self, found: Tallies, codes: list[Any], weights: Array) -> Tallies:
        """Compute the same for a finite population."""
        stages = self.stages()
        if not stages:
            return found
        sizes = list(self.shape) or [1]
        noise = _core.cross(codes, sizes, weights * np.sqrt(self.left()))[2]
        outer = replace(found, factors=stages[0].factors(), noise=noise.reshape(1, -1))
        if len(stages) == 1:
            return outer
        place = np.zeros(self.rows, np.int64)
        for axis in self.axes:
            place = place * axis.size + axis.codes
        return replace(outer, inner=stages[1].tallies(found, place, weights, math.prod(sizes)))

    def weighed(self) -> Array:
        """Return the weight of every row, 0 outside of the subgroup."""
        whole = np.ones(self.rows) if self.weights is None else self.weights
        return _inside(whole, self.inside)

    def _inner(self) -> list[Array]:
        return [_inside(each, self.inside) for each in self.replicates]

    def _clustered(self, found: Tallies, weights: Array) -> Tallies:
        strata, clusters, count = self.nested()
        units = np.bincount(strata)
        _refuse_lonely(units, "clusters")
        cells = math.prod(self.shape)
        place = np.zeros(self.rows, np.int64)
        for axis in self.axes:
            place = place * axis.size + axis.codes
        keys, which = np.unique(clusters.astype(np.int64) * cells + place, return_inverse=True)
        summed = np.bincount(which, weights, minlength=len(keys)).astype(float)
        assert count == len(strata)
        pieces = (keys // cells, keys % cells, summed, strata)
        return replace(found, units=units, pieces=pieces)

    def nested(self) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
        """Return the stratum of each cluster, the cluster of every row, and how many there are.

        Clusters of different strata are different, whatever they are called.
        """
        assert self.clusters is not None
        strata = np.zeros(self.rows, np.intp) if self.strata is None else self.strata
        most = int(self.clusters.max(initial=0)) + 1
        keys, which = np.unique(strata * most + self.clusters, return_inverse=True)
        return keys // most, which, len(keys)


@dataclass(frozen=True, eq=False)
class Stage:
    """A stage of a design: the unit of every row, the group of units, and a factor.

    With the fraction f of a stage sampled, ``1 - f`` of the variance between its units is left. The
    other part f is replaced by the variance of the next stage: the variance within units, and at
    last the noise, which no sampling removes.
    """

    units: NDArray[np.intp]
    groups: NDArray[np.intp]
    factor: Array

    def group_of_units(self) -> NDArray[np.intp]:
        """Return the group of every unit."""
        found = np.zeros(int(self.units.max(initial=-1)) + 1, np.intp)
        found[self.units] = self.groups
        return found

    def factors(self) -> Array:
        """Return the factor of every group."""
        found = np.zeros(int(self.groups.max(initial=-1)) + 1)
        found[self.groups] = self.factor
        return found

    def tallies(self, found: Tallies, place: Any, weights: Array, cells: int) -> Tallies:
        """Tables of the units of this stage."""
        groups = self.group_of_units()
        keys, which = np.unique(self.units * cells + place, return_inverse=True)
        summed = np.bincount(which, weights, minlength=len(keys)).astype(float)
        count, factors = np.bincount(groups), self.factors()
        _core.require_memory("cluster", len(count), cells, 24)
        at = self.groups * cells + place
        sums = np.bincount(at, weights, minlength=len(count) * cells).astype(np.float64)
        if bool(((count < 2) & (factors > 0)).any()):
            raise ValueError(
                "`cluster` must have two or more units of the second stage each; got one"
            )
        pieces = (keys // cells, keys % cells, summed, groups)
        table = sums.reshape(len(count), cells)
        return replace(found, sums=table, units=count, pieces=pieces, factors=factors)


def _inside(values: Array, inside: Mask | None) -> Array:
    """Return the numbers of all rows, 0 outside of the subgroup."""
    return values if inside is None else np.where(inside, values, 0.0)


def _refuse_lonely(units: NDArray[np.int64], what: str) -> None:
    alone = int(np.count_nonzero(units < 2))
    if alone and len(units) > 1:
        must = f"`strata` must have two or more {what} each"
        raise ValueError(f"{must}; got {alone} with one")


def table_of(frame: object) -> Any:
    """Return the table of a release, and anything else as it is.

    >>> table_of({"sex": ["F"]})
    {'sex': ['F']}
    """
    from bistochastic.plan.protect import Release

    return frame.data if isinstance(frame, Release) else frame


def shared_noise(certificate: Certificate | None, design: Design) -> tuple[str, ...]:
    """Write a note if rows of one id share noise, by the certificate, and the errors ignore it.

    Rows of an id with the same value have the same reported value, so their noise does not average
    out as the noise of different records does. Clusters and replicates of ids account for it.
    """
    ids = None if certificate is None else certificate.ids
    if ids is None or ids.row_columns or ids.rows_per_id_checked == 1:
        return ()
    return () if design.cluster is not None or design.replicates else (SHARED,)


def read(
    question: Question, frame: Any, design: Design, *, first: int = 0, empty: bool = False
) -> Sheet:
    """Read the columns that a question needs from a caller's table; a batch may be ``empty``, and
    ``first`` is the number of its first row."""
    return of_table(question, opened(frame), design, first=first, empty=empty)


def of_table(
    question: Question,
    table: Table,
    design: Design,
    what: str = "frame",
    *,
    times: Array | None = None,
    first: int = 0,
    empty: bool = False,
    others: Mapping[str, tuple[object, ...]] | None = None,
) -> Sheet:
    """Read the same from an open table, which a caller knows as ``what``.

    ``times`` is the number of records of each row, ``others`` lists further categories of a column
    that no row may hold.
    """
    needed = [*question.columns, *question.where, *question.groups]
    needed += [column for each in question.coded for column in each.columns]
    for column in needed:
        require(table, what, column)
    rows = table.rows
    inside: Mask | None = None
    axes: list[Axis] = []
    for name, labels in question.groups.items():
        codes, missing = coding.read(table, name, labels, first)
        if missing is not None:
            raise ValueError(
                f"{prefix([name])}must not be missing, as it chooses the matrix; got one in "
                f"{row(int(np.argmax(missing)), first)}"
            )
        axes.append(Axis(name, labels.values, len(labels), codes))
    conditions = question.clear_where
    known: dict[str, tuple[Any, ...]] = {}
    for name in dict.fromkeys([*question.clear, *conditions]):
        if name in question.groups and name not in conditions:
            continue
        found, values = levels(table, name)
        if name in question.all_groups:
            known[name] = question.all_groups[name].values
        else:
            known[name] = (*values, *declared(table, name), *(others or {}).get(name, ()))
        if name in conditions:
            keys = {key(level) for level in conditions[name]}
            wanted = [i for i, value in enumerate(values) if key(value) in keys]
            met = np.isin(found, wanted)
            inside = met if inside is None else inside & met
            if name in question.clear and name not in question.groups:
                # Only the requested categories are shown.
                place = np.zeros(len(values) + 1, np.intp)
                place[wanted] = np.arange(len(wanted))
                found, values = place[found], [values[i] for i in wanted]
        if name in question.clear and name not in question.groups:
            size = max(1, len(values))
            axes.append(Axis(name, tuple(values), size, found.astype(narrow(size))))
    unanswered: Mask | None = None
    for attribute in question.coded:
        encoded = attribute._encode(table, first, released=True)
        if encoded.missing is not None:
            none = encoded.missing
            unanswered = none if unanswered is None else unanswered | none
        name = ", ".join(attribute.columns)
        axes.append(Axis(name, None, attribute.size, encoded.codes))
    left_out = 0
    if unanswered is not None:
        answered = ~unanswered
        asked = unanswered if inside is None else unanswered & inside
        left_out = int(np.count_nonzero(asked) if times is None else times[asked].sum())
        inside = answered if inside is None else inside & answered
    weights: Array | None = None
    if design.weights is not None:
        weights = weight_column(table, "weights", design.weights, first)
    replicates = tuple(
        weight_column(table, "replicates", each, first) for each in design.replicates
    )
    strata = None if design.strata is None else _groups(table, "strata", design.strata, first)
    clusters = None if design.cluster is None else _groups(table, "cluster", design.cluster, first)
    notes: tuple[str, ...] = ()
    lost = ""
    if question.units and not design.replicates:
        there = {u: _groups(table, "unit", u, first) for u in question.units
                 if u in table.names and times is None}  # fmt: skip
        if clusters is not None:
            _refuse_split(there, design.cluster or "", clusters)
        elif len(there) == len(question.units):
            # The coarsest of them holds whole units of all others.
            coarsest = min(there, key=lambda u: int(there[u].max(initial=0)))
            clusters = there[coarsest]
            _refuse_split(there, coarsest, clusters)
            notes = (f"records of one `{shown(coarsest)}` share noise: they are taken as clusters",)
        else:
            gone = next(u for u in question.units if u not in there)
            columns = [c for each in question.coded if each.unit == gone for c in each.columns]
            lost = (
                f"{prefix(columns)}`cluster` must be given for standard errors, as the unit "
                f"`{shown(gone)}` is not in the {what}; got none"
            )
        if strata is not None and clusters is not None:
            _refuse_split({"": clusters}, design.strata or "", strata)
    second = None if design.second is None else _groups(table, "cluster", design.second, first)
    fpc = design.fpc
    if fpc and question.units:
        fpc = ()
        notes = (
            *notes,
            "fpc is left out, as records of a unit share noise: errors are not too small",
        )
    sheet = Sheet(
        tuple(axes), rows, inside, left_out, weights, strata, clusters, replicates,
        1.0 if design.scale is None else design.scale, times, known, notes, lost, second,
    )  # fmt: skip
    if fpc:
        sheet = replace(sheet, fractions=_fractions(table, sheet, fpc, first))
    if not empty:
        _refuse_empty(question, sheet)
    return sheet


def _fractions(
    table: Table, sheet: Sheet, fpc: tuple[str | float, ...], first: int
) -> tuple[Array, ...]:
    """Read the sampled fraction of each stage for every row: up to 1, or from sizes above 1."""
    zeros = np.ones(sheet.rows)
    whole = replace(sheet, fractions=(zeros,) * len(fpc))
    found = []
    for given, stage in zip(fpc, whole.stages(), strict=False):
        values = (
            zeros * given if isinstance(given, float) else weight_column(table, "fpc", given, first)
        )
        counts = np.bincount(stage.group_of_units())[stage.groups]
        shares = np.where(values <= 1, values, counts / np.maximum(values, 1))
        name = "`fpc`" if isinstance(given, float) else f"{prefix([given])}`fpc`"
        if not ((shares > 0) & (shares <= 1)).all():
            must = "must hold sampled fractions, or at least as many units as were sampled"
            at = row(int(np.argmin((shares > 0) & (shares <= 1))), first)
            raise ValueError(f"{name} must {must.removeprefix('must ')}; got less in {at}")
        same = np.zeros(int(stage.groups.max(initial=-1)) + 1)
        same[stage.groups] = shares
        if (same[stage.groups] != shares).any():
            at = row(int(np.argmax(same[stage.groups] != shares)), first)
            raise ValueError(f"{name} must be the same in a stratum or cluster; got two, by {at}")
        found.append(shares)
    return tuple(found)


def _refuse_split(
    units: Mapping[str, NDArray[np.intp]], name: str, clusters: NDArray[np.intp]
) -> None:
    """Raise an error for clusters or strata of this name that hold parts of units."""
    many = int(clusters.max(initial=0)) + 1
    for unit, codes in units.items():
        pairs = np.unique(codes.astype(np.int64) * many + clusters)
        split = len(pairs) - len(np.unique(codes))
        if split:
            whole = f"units of `{shown(unit)}`" if unit else "clusters"
            raise ValueError(f"{prefix([name])}must hold whole {whole}; got {split} that are split")


def _refuse_empty(question: Question, sheet: Sheet) -> None:
    if sheet.rows:
        for name, asked in question.clear_where.items():
            refuse_absent("where", name, absent(asked, sheet.known[name]))
    if not sheet.records:
        what = "`where` must leave" if question.where else "`frame` must have"
        raise ValueError(f"{what} at least one record; got none")
    if sheet.weights is not None and not float(sheet.weighed().sum()) > 0:
        raise ValueError("`weights` must have a positive one inside the domain; got none")


def require(table: Table, name: str, column: str) -> None:
    """Raise an error for a table without a column."""
    if column not in table.names:
        raise ValueError(f"`{name}` must have the column `{shown(column)}`; got none of that name")


def weight_column(table: Table, name: str, column: str, first: int = 0) -> Array:
    """Weights from a column, none negative or missing, of rows from ``first`` on."""
    require(table, name, column)
    must = f"{prefix([column])}`{name}` must hold non-negative numbers"
    try:
        values, missing = table.numbers(column)
    except WrongType as error:
        kind = error.kind
        raise TypeError(f"{must}; got {shown(kind)}") from None
    if missing is not None:
        got = f"{int(missing.sum())} missing, the first in {row(int(np.argmax(missing)), first)}"
        raise ValueError(f"{must}; got {got}")
    found = np.ascontiguousarray(values, dtype=np.float64)
    wrong = wrong_weight(found)
    if wrong is not None:
        at, wants, got = wrong
        raise ValueError(f"{prefix([column])}`{name}` must {wants}; got {got} in {row(at, first)}")
    return found


def _groups(table: Table, name: str, column: str, first: int) -> NDArray[np.intp]:
    """Read the codes of an unprotected column that groups records, none missing."""
    require(table, name, column)
    codes, values = levels(table, column)
    if None in values:
        at = row(int(np.argmax(codes == len(values) - 1)), first)
        raise ValueError(f"{prefix([column])}`{name}` must not be missing; got one in {at}")
    return codes
