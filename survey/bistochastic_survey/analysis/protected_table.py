"""``CodedTable``: the columns of a protected table that a question needs, as codes, and counted."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bistochastic import Channel, backend
from bistochastic.errors import Refused, RefusedType
from bistochastic.estimate import Sample, Stage, Tallies, wrong_weight
from bistochastic_survey.analysis.design import Design
from bistochastic_survey.analysis.request import Request, absent, refuse_absent
from bistochastic_survey.checks import Array
from bistochastic_survey.files.tables import Source
from bistochastic_survey.plan.labels import key
from bistochastic_survey.release import columns as coding
from bistochastic_survey.release.certificate import Certificate
from bistochastic_survey.table.arrays import combinations, narrow
from bistochastic_survey.table.frames import Codes, Mask, Table, WrongType, opened
from bistochastic_survey.wording import meant, prefix, shown

Places = NDArray[np.intp]
# The categories of each axis, as they are sorted, and tables of weights and of their squares.
_Counted = tuple[list[Sequence[Any]], Array]
# Tables have fewer cells than this.
_CELLS = 2**32
SHARED = (
    "rows of one id share their noise: errors and intervals may be too small unless cluster= names "
    "the column of ids"
)
KNOWN = "errors assume that the probabilities of the channel are known, not estimated"


@dataclass(frozen=True, eq=False)
class CodedAxis:
    """One axis of the reported table: its name, the values of its codes, and the codes."""

    name: str
    values: tuple[object, ...] | None
    size: int
    codes: Codes


# A counted table: its axes, its counts, records without an answer, and notes.
Reported = tuple[Sequence[CodedAxis], Tallies, int, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class CodedTable:
    """Codes of all axes, the rows inside the domain, and the design."""

    axes: tuple[CodedAxis, ...]
    rows: int
    inside: Mask | None
    unanswered: int
    weights: Array | None
    strata: Places | None
    clusters: Places | None
    replicates: tuple[Array, ...]
    scale: float
    times: Array | None = None
    """The number of records of each row, if rows are counts."""
    known: dict[str, tuple[object, ...]] = field(default_factory=dict)
    """The categories of unprotected columns: those that occur, and those that are declared."""
    notes: tuple[str, ...] = ()
    lost: str = ""
    """The reason why standard errors are unknown, if they are."""
    fraction: Array | None = None

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

    @property
    def is_plain(self) -> bool:
        """Whether all records count alike."""
        return self.weights is None and self.strata is None and self.is_counted

    @property
    def is_counted(self) -> bool:
        """Whether cells of each stratum are all that errors need."""
        return self.clusters is None and not self.replicates and self.fraction is None

    def weighed(self) -> Array:
        """Return the weight of every row, 0 outside of the subgroup."""
        given = self.weights if self.times is None else self.times
        return _inside(np.ones(self.rows) if given is None else given, self.inside)

    def tallies(self) -> Tallies:
        """Make the table of all combinations, with the design."""
        cells = math.prod(self.shape)
        strata = 1
        if self.strata is not None and self.is_counted:
            strata += int(self.strata.max(initial=0))
        if cells * strata >= _CELLS:
            raise Refused("columns", "make less than 2^32 cells", cells * strata)
        if self.is_counted:
            backend.require_memory("columns", cells * strata, 3, 8)
            return self._count()
        sample = self.sample()
        if not self.replicates:
            units = "records" if self.clusters is None else "clusters"
            refuse_lonely(sample.stages[0].many, units)
        return Tallies(sample, cells, self._places().astype(np.uint32))

    def _places(self) -> NDArray[np.integer]:
        """Return the cell of every row."""
        if len(self.axes) == 1:
            return self.axes[0].codes
        place = np.zeros(self.rows, np.int64)
        for axis in self.axes:
            place = place * axis.size + axis.codes
        return place

    def _count(self) -> Tallies:
        """Count the records of all cells, for each stratum of the design."""
        cells, place = math.prod(self.shape), self._places()
        if self.is_plain:
            if self.times is None:
                inside = slice(None) if self.inside is None else self.inside
                counted = backend.count(place[inside], cells).astype(float)
            else:
                counted = np.bincount(place, self.weighed(), cells).astype(float)
            return Tallies.counted(self.records, counted, counted, self.records, lost=self.lost)
        units = np.array([self.rows])
        if self.strata is not None:
            units = np.bincount(self.strata)
            place = place + self.strata.astype(np.int64) * cells
            cells *= len(units)
            refuse_lonely(units, "records")
        weights = self.weighed()
        sums = np.bincount(place, weights, cells).astype(float)
        squares = np.bincount(place, weights**2, cells).astype(float)
        weighted = self.weights is not None
        return Tallies.counted(
            self.records, sums, squares, units, weighted=weighted, lost=self.lost
        )

    def sample(self) -> Sample:
        """Return the rows as they are, with the design."""
        weights = self.weighed()
        replicates = [_inside(each, self.inside) for each in self.replicates]
        return Sample(
            self.records, weights, weights**2 if self.times is None else weights, (self.stage(),),
            self.weights is not None, np.stack(replicates) if replicates else None, self.scale,
            self.fraction, self.lost,
        )  # fmt: skip

    def stage(self) -> Stage:
        """Return the one stage of the design."""
        if self.is_plain:
            # Records outside of a known domain are none of the sample.
            return Stage(np.array([self.records]), np.ones(1))
        strata = np.zeros(self.rows, np.intp) if self.strata is None else self.strata
        left = 1 - (np.zeros(self.rows) if self.fraction is None else self.fraction)
        # Clusters of different strata are different, whatever they are called.
        clusters = self.clusters
        if clusters is not None:
            clusters = combinations([strata, clusters], self.rows)[1]
        return Stage.of(strata, clusters, left)


def _inside(values: Array, inside: Mask | None) -> Array:
    return values if inside is None else np.where(inside, values, 0.0)


def refuse_lonely(units: NDArray[np.int64], what: str) -> None:
    """Raise an error for strata with one unit, unless there is one stratum."""
    alone = int(np.count_nonzero(units < 2))
    if alone and len(units) > 1:
        raise Refused("strata", f"have two or more {what} each", f"{alone} with one")


def shared_noise(certificate: Certificate | None, design: Design) -> tuple[str, ...]:
    """Write a note if rows of one id share noise, by the certificate, and the errors ignore it.

    Rows of an id with the same value have the same reported value, so their noise does not average
    out as the noise of different records does. Clusters and replicates of ids account for it.
    """
    ids = None if certificate is None else certificate.ids
    if ids is None or ids.row_columns or ids.rows_per_id_checked == 1:
        return ()
    return () if design.cluster is not None or design.replicates else (SHARED,)


def noise_notes(release: Any, question: Request, design: Design) -> tuple[str, ...]:
    """Write what errors take for granted of the noise of these columns."""
    known = any(isinstance(each.matrix, Channel) for each in question.coded)
    notes = shared_noise(release._certificate, design) if question.coded else ()
    return (*notes, *([KNOWN] if known else ()))


def read_sheet(
    question: Request, frame: object, design: Design, *, first: int = 0, empty: bool = False
) -> CodedTable:
    """Read the columns that a question needs from a caller's table; a batch may be ``empty``, and
    ``first`` is the number of its first row."""
    return sheet_of(question, opened(frame, any_index=True), design, first=first, empty=empty)


def sheet_of(
    question: Request,
    table: Table,
    design: Design,
    what: str = "frame",
    *,
    times: Array | None = None,
    first: int = 0,
    empty: bool = False,
) -> CodedTable:
    """Read the same from an open table, which a caller knows as ``what``.

    ``times`` is the number of records of each row.
    """
    parts = [column for each in question.coded for column in each.columns]
    for column in [*question.columns, *question.where, *question.groups, *parts]:
        require(table, what, column)
    axes: list[CodedAxis] = []
    for name, labels in question.groups.items():
        codes = coding.read_groups(table, name, labels, first)
        axes.append(CodedAxis(name, labels.values, len(labels), codes))
    conditions, asked = question.clear_where, set(question.clear) - set(question.groups)
    known: dict[str, tuple[object, ...]] = {}
    inside: Mask | None = None
    for name in dict.fromkeys([*question.clear, *conditions]):
        if name not in asked and name not in conditions:
            continue
        found, values = table.levels(name)
        if name in question.all_groups:
            known[name] = question.all_groups[name].values
        else:
            known[name] = (*values, *table.declared(name))
        if name in conditions:
            keys = {key(level) for level in conditions[name]}
            wanted = [i for i, value in enumerate(values) if key(value) in keys]
            inside = _both(inside, np.isin(found, wanted))
            # Only the requested categories are shown.
            place = np.zeros(len(values) + 1, np.intp)
            place[wanted] = np.arange(len(wanted))
            found, values = place[found], [values[i] for i in wanted]
        if name in asked:
            size = max(1, len(values))
            axes.append(CodedAxis(name, tuple(values), size, found.astype(narrow(size))))
    unanswered: Mask | None = None
    for attribute in question.coded:
        encoded = attribute._encode(table, first, released=True)
        if encoded.missing is not None:
            none = encoded.missing
            unanswered = none if unanswered is None else unanswered | none
        axes.append(CodedAxis(", ".join(attribute.columns), None, attribute.size, encoded.codes))
    left_out = 0
    if unanswered is not None:
        gone = _both(inside, unanswered)
        left_out = int(np.count_nonzero(gone) if times is None else times[gone].sum())
        inside = _both(inside, ~unanswered)

    def groups(name: str, column: str | None) -> Places | None:
        return None if column is None else _groups(table, name, column, first)

    weights = None
    if design.weights is not None:
        weights = weight_column(table, "weights", design.weights, first)
    sheet = CodedTable(
        tuple(axes), table.rows, inside, left_out, weights, groups("strata", design.strata),
        groups("cluster", design.cluster),
        tuple(weight_column(table, "replicates", each, first) for each in design.replicates or ()),
        design._scale, times, known,
    )  # fmt: skip
    fpc = design.fpc
    if question.units:
        if not design.replicates:
            sheet = _by_unit(question, table, design, sheet, what, first)
        if fpc is not None:
            note = "fpc is left out, as records of a unit share noise: errors are not too small"
            fpc, sheet = None, replace(sheet, notes=(*sheet.notes, note))
    if fpc is not None:
        sheet = replace(sheet, fraction=_fraction(table, sheet, fpc, first))
    if not empty:
        _refuse_empty(question, sheet)
    return sheet


def _both(one: Mask | None, other: Mask) -> Mask:
    return other if one is None else one & other


def _by_unit(
    question: Request, table: Table, design: Design, sheet: CodedTable, what: str, first: int
) -> CodedTable:
    """Take the units that share noise as clusters; given clusters and strata must hold them."""
    there = {
        unit: _groups(table, "unit", unit, first)
        for unit in question.units
        if unit in table.names and sheet.times is None
    }
    if sheet.clusters is not None:
        _refuse_split(there, design.cluster or "", sheet.clusters)
    elif len(there) == len(question.units):
        # The coarsest of them holds whole units of all others.
        coarsest = min(there, key=lambda u: int(there[u].max(initial=0)))
        _refuse_split(there, coarsest, there[coarsest])
        note = f"records of one `{shown(coarsest)}` share noise: they are taken as clusters"
        sheet = replace(sheet, clusters=there[coarsest], notes=(note,))
    else:
        gone = next(u for u in question.units if u not in there)
        columns = [c for each in question.coded if each.unit == gone for c in each.columns]
        return replace(sheet, lost=(
            f"{prefix(columns)}`cluster` must be given for standard errors, as the unit "
            f"`{shown(gone)}` is not in the {what}; got none"
        ))  # fmt: skip
    if sheet.strata is not None and sheet.clusters is not None:
        _refuse_split({"": sheet.clusters}, design.strata or "", sheet.strata)
    return sheet


def _fraction(table: Table, sheet: CodedTable, fpc: str | float, first: int) -> Array:
    """Read the sampled fraction for every row: up to 1, or from sizes above 1."""
    by = (fpc,) if isinstance(fpc, str) else ()
    if isinstance(fpc, str):
        values = weight_column(table, "fpc", fpc, first)
    else:
        values = np.full(sheet.rows, float(fpc))
    stage = replace(sheet, fraction=np.zeros(sheet.rows)).stage()
    assert stage.groups is not None
    shares = np.where(values <= 1, values, stage.many[stage.groups] / np.maximum(values, 1))
    wrong = ~((shares > 0) & (shares <= 1))
    if wrong.any():
        must = "hold sampled fractions, or at least as many units as were sampled"
        at = first + int(np.argmax(wrong))
        raise Refused("fpc", must, f"less in row {at}", column=by, row=at)
    same = np.zeros(len(stage.many))
    same[stage.groups] = shares
    differ = same[stage.groups] != shares
    if differ.any():
        must, at = "be the same in a stratum", first + int(np.argmax(differ))
        raise Refused("fpc", must, f"two, by row {at}", column=by, row=at)
    return shares


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
            raise Refused("", f"hold whole {whole}", f"{split} that are split", column=name)


def _refuse_empty(question: Request, sheet: CodedTable) -> None:
    if sheet.rows:
        for name, asked in question.clear_where.items():
            refuse_absent("where", name, absent(asked, sheet.known[name]))
    if not sheet.records:
        name, must = ("where", "leave") if question.where else ("frame", "have")
        raise Refused(name, f"{must} at least one record", "none")
    if sheet.weights is not None and not float(sheet.weighed().sum()) > 0:
        raise Refused("weights", "have a positive one inside the domain", "none")


def require(table: Table, name: str, column: str) -> None:
    """Raise an error for a table without a column."""
    if column not in table.names:
        got = f"none of that name{meant(column, table.names)}"
        raise Refused(name, f"have the column `{shown(column)}`", got)


def read_numbers(table: Table, name: str, must: str, column: str) -> tuple[np.ndarray, Mask | None]:
    """Read a column that ``must`` hold numbers, and which of them are missing."""
    try:
        return table.numbers(column)
    except WrongType as error:
        raise RefusedType(name, must, shown(error.kind), column=column) from None


def weight_column(table: Table, name: str, column: str, first: int = 0) -> Array:
    """Weights from a column, none negative or missing, of rows from ``first`` on."""
    require(table, name, column)
    must = "hold non-negative numbers"
    values, missing = read_numbers(table, name, must, column)
    if missing is not None:
        at = first + int(np.argmax(missing))
        got = f"{int(missing.sum())} missing, the first in row {at}"
        raise Refused(name, must, got, column=column, row=at)
    found = np.ascontiguousarray(values, dtype=np.float64)
    wrong = wrong_weight(found)
    if wrong is not None:
        at, wants, got = first + wrong[0], *wrong[1:]
        raise Refused(name, wants, f"{got} in row {at}", column=column, row=at)
    return found


def _groups(table: Table, name: str, column: str, first: int) -> NDArray[np.intp]:
    """Read the codes of an unprotected column that groups records, none missing."""
    require(table, name, column)
    codes, values = table.levels(column)
    if None in values:
        at = first + int(np.argmax(codes == len(values) - 1))
        raise Refused(name, "not be missing", f"one in row {at}", column=column, row=at)
    return codes


def gathered(frame: Any, question: Request, more: Iterable[str]) -> Any:
    """Read the columns of a question, and ``more``, of an open file; other tables are whole."""
    return frame.table(_needed(question, more, frame)) if isinstance(frame, Source) else frame


def _needed(question: Request, more: Iterable[str], source: Source) -> list[str]:
    """List what has to be read; columns of units may be missing."""
    names = source.schema.names
    needed = dict.fromkeys([*question.needed, *more])
    for column in needed:
        if column not in names:
            raise Refused("file", f"have the column `{shown(column)}`", "none of that name")
    return [*needed, *(unit for unit in question.units if unit in names and unit not in needed)]


def tally(question: Request, source: Source, design: Design) -> Reported:
    """Count an open file: the same as all of it at once, but rows are not held."""
    rows = records = unanswered = 0
    axes: tuple[CodedAxis, ...] = ()
    counted: list[_Counted] = []
    # Categories of conditions that no batch has had yet.
    unmet = question.clear_where
    for batch in source.batches(_needed(question, design._columns, source)):
        sheet = read_sheet(question, batch, design, first=rows, empty=True)
        unmet = {name: absent(levels, sheet.known[name]) for name, levels in unmet.items()}
        rows, records = rows + sheet.rows, records + sheet.records
        unanswered, axes = unanswered + sheet.unanswered, sheet.axes
        sample = sheet.tallies().sample
        known: list[Sequence[Any]] = [
            # Declared categories stay in their order; the others are found batch by batch, and are
            # sorted as in a table that is read at once: missing comes last, and true is not 1.
            range(axis.size)
            if axis.values is None or axis.name in question.groups
            else [(value is None, type(value).__name__, value) for value in axis.values]
            for axis in axes
        ]
        table = np.stack([sample.sums, sample.squares]).reshape(2, *sheet.shape)
        # An axis without a category has one empty cell.
        counted.append((known, table[(slice(None), *(slice(len(each)) for each in known))]))
        counted = [_merged(counted)]
    for name, levels in unmet.items() if rows else ():
        refuse_absent("where", name, levels)
    if not records:
        name, must = ("where", "leave") if question.where else ("file", "have")
        raise Refused(name, f"{must} at least one record", "none")
    [(known, (sums, squares))] = counted
    weighted = design.weights is not None
    if weighted and not float(sums.sum()) > 0:
        raise Refused("weights", "have a positive one inside the domain", "none")
    whole = [
        CodedAxis(
            axis.name,
            axis.values if isinstance(each, range) else tuple(value for *_, value in each),
            len(each),
            np.zeros(0, narrow(max(1, len(each)))),
        )
        for axis, each in zip(axes, known, strict=True)
    ]
    units = rows if weighted else records
    return whole, Tallies.counted(records, sums, squares, units, weighted=weighted), unanswered, ()


def _merged(counted: list[_Counted]) -> _Counted:
    """Add up counts of batches, over the categories of all of them."""
    if len(counted) == 1:
        return counted[0]
    (one, first), (other, second) = counted
    if one == other:
        return one, first + second
    known = [a if a == b else sorted({*a, *b}) for a, b in zip(one, other, strict=True)]
    total = np.zeros((2, *map(len, known)))
    orders = [{level: i for i, level in enumerate(each)} for each in known]
    for own, table in counted:
        places = [[order[level] for level in mine] for order, mine in zip(orders, own, strict=True)]
        total[np.ix_([0, 1], *places)] += table
    return known, total
