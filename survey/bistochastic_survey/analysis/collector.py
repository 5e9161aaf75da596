"""``plan.collector``: counts of reported records that arrive one by one or in batches.

A collector holds one array of counts per table, and nothing of a single record. So its memory is
known in advance, two collectors add up, and a string of some kilobytes restarts one.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bistochastic.errors import Refused, RefusedType
from bistochastic.estimate import Estimate
from bistochastic_survey import checks
from bistochastic_survey.analysis import protected_table as sheets
from bistochastic_survey.analysis.counts import MOST, Counts
from bistochastic_survey.analysis.design import Design
from bistochastic_survey.analysis.quantities import Quantity, Ratio
from bistochastic_survey.analysis.request import ask
from bistochastic_survey.analysis.tabulate import beside, counted, known_axes, place
from bistochastic_survey.plan.attributes import named
from bistochastic_survey.plan.labels import spelling
from bistochastic_survey.release.embedded import refuse_other_plan
from bistochastic_survey.release.release import Release
from bistochastic_survey.table.frames import opened
from bistochastic_survey.wording import Shown, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bistochastic_survey.plan.plan import Plan

# Cells of all tables together, and kinds of records that are held before tables are added to.
_CELLS, _HELD = 2**27, 4096
FORMAT = "bistochastic collector"


class _Table:
    """One table: its axes, the index of each category, and the counts so far."""

    def __init__(self, plan: Plan, columns: tuple[str, ...]) -> None:
        self.question = question = ask(plan, columns, None)
        self.columns, known = question.columns, known_axes(question)
        for name in self.columns:
            if name not in known:
                must = "hold columns with declared categories"
                raise Refused("tables", must, f"`{shown(name)}`, which the plan does not protect")
        self.axes = tuple(known[name] for name in dict.fromkeys([*self.columns, *beside(question)]))
        self.shape = tuple(len(axis.categories) for axis in self.axes)
        if math.prod(self.shape) > _CELLS:
            raise Refused("tables", "have at most 2^27 cells together", math.prod(self.shape))
        self.banned = [
            (a.columns, {tuple(map(_spell, cell)) for cell in a.impossible})
            for a in question.coded
            if a.impossible
        ]
        self.keeps = {name for a in question.coded if a.missing == "keep" for name in a.columns}
        # Index of each category along the flat array, however it is spelled.
        self.places: list[tuple[str, dict[object, int]]] = []
        stride = math.prod(self.shape)
        for axis, size in zip(self.axes, self.shape, strict=True):
            stride //= size
            codes = {_spell(value): code * stride for code, value in enumerate(axis.categories)}
            self.places.append((axis.name, codes))
        self.counts = np.zeros(self.shape, np.int64)
        self.unanswered = 0

    def find(self, record: Mapping[str, object]) -> int | None:
        """Find the cell of a reported record; None if a value that the table needs is missing."""
        cell, absent = 0, False
        for name, codes in self.places:
            try:
                value = record[name]
            except KeyError:
                raise Refused("", "be in `record`", "none of that name", column=name) from None
            index = codes.get(_spell(value))
            if index is None:
                if name not in self.keeps or not _is_missing(value):
                    raise Refused("", "hold a declared category", "an undeclared one", column=name)
                absent = True
            else:
                cell += index
        for columns, cells in self.banned:
            if tuple(_spell(record[name]) for name in columns) in cells:
                raise Refused("", "hold no combination declared impossible", "one", column=columns)
        return None if absent else cell

    def total(self) -> Counts:
        """Return all counts so far."""
        digest = self.question.plan.digest
        return Counts(self.columns, self.axes, self.counts.copy(), self.unanswered, digest)


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _spell(value: object) -> object:
    """Return what distinguishes reported categories; None for a missing value."""
    if _is_missing(value):
        return None
    known = spelling(value)
    # An object of its own, which is not a category.
    return object() if known is None else known


class Collector(Shown):
    """Counts of reported records, for the tables that were named in advance.

    :meth:`Plan.collector` makes one. Several threads may use it. It counts reported records: two
    records of one person both count.

    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
    >>> collector = plan.collector()
    >>> collector.add({"sex": "F"})
    >>> collector.update({"sex": ["F"] * 59 + ["M"] * 40})
    >>> collector.estimate("sex").counts
    array([70., 30.])
    >>> other = type(collector).from_json(collector.to_json(), plan)
    >>> (collector + other).records
    200
    """

    def __init__(self, plan: Plan, tables: Sequence[object] = ()) -> None:
        plan._refuse_undecided()
        names = [_columns(given) for given in tables]
        names = names or [attribute.columns for attribute in plan._coded]
        self._plan = plan
        self._lock = Lock()
        self._tables = {each.columns: each for each in (_Table(plan, n) for n in names)}
        cells = sum(math.prod(each.shape) for each in self._tables.values())
        if cells > _CELLS:
            raise Refused("tables", "have at most 2^27 cells together", cells)
        known = plan._protected | {n for a in plan._coded if a.groups for n in [a.groups.column]}
        self._known = None if plan.keep == "*" else known | set(plan.keep)
        self._records = 0
        # How many records have each combination of cells: a cell per table.
        self._held: defaultdict[tuple[int | None, ...], int] = defaultdict(int)
        # Tables of one column of strings are looked up at once, if all tables are.
        places = [each.places[0] for each in self._tables.values() if len(each.places) == 1]
        strings = all(type(x) is not bool for _, codes in places for x in codes)
        quick = strings and len(places) == len(self._tables)
        self._quick: list[Any] = places if quick else [None]

    @property
    def records(self) -> int:
        """The number of reported records so far."""
        return self._records

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table."""
        return tuple(self._tables)

    def __repr__(self) -> str:
        listed = ", ".join(" x ".join(map(shown, columns)) for columns in self._tables)
        return f"<Collector of {self._records:,} records: {listed}>"

    def add(self, record: Mapping[str, object]) -> None:
        """Count one reported record. If a value is not a declared category, nothing is counted."""
        _mapping("record", record)
        if self._known is not None and not self._known.issuperset(record):
            unknown = next(name for name in record if name not in self._known)
            must = "hold columns that the plan protects or keeps"
            raise Refused("record", must, f"`{shown(unknown)}`")
        cells: tuple[int | None, ...] | None
        try:
            # What is no key, such as an integer, is looked at more closely.
            cells = tuple([codes[record[name]] for name, codes in self._quick])
        except (KeyError, TypeError):
            cells = None
        if cells is None:
            try:
                cells = tuple(table.find(record) for table in self._tables.values())
            except ValueError:
                # A table holds values in more ways, for example as numbers inside a class.
                names = {name for table in self._tables.values() for name, _ in table.places}
                try:
                    self.update({name: [record[name]] for name in names})
                except (KeyError, ValueError, TypeError):
                    pass
                else:
                    return
                raise
        with self._lock:
            self._held[cells] += 1
            self._records += 1
            if len(self._held) > _HELD:
                self._settle()

    def _settle(self) -> None:
        """Add the records that are held to the tables, under the lock."""
        for cells, many in self._held.items():
            for table, cell in zip(self._tables.values(), cells, strict=True):
                if cell is None:
                    table.unanswered += many
                else:
                    table.counts.reshape(-1)[cell] += many
        self._held.clear()

    def update(self, frame: object) -> None:
        """Count all records of a protected table, in any container that ``protect`` accepts."""
        table = opened(self._own(frame).data)
        asked = [each.question for each in self._tables.values()]
        read = [sheets.of_table(each, table, Design(), empty=True) for each in asked]
        self._add([place(*each) for each in zip(asked, read, strict=True)], table.rows)

    def _own(self, frame: object) -> Release[Any]:
        """Return a release of the collector's own plan; a release of another raises an error."""
        if not isinstance(frame, Release):
            return Release(frame, self._plan)
        refuse_other_plan(self._plan, frame.plan)
        return frame

    def add_counts(self, rows: object, *, count: str = "count") -> None:
        """Add counts of reported values, e.g. from the group-by of an engine.

        ``rows`` have the columns of all tables by name and, under ``count``, the number of records
        that report this combination. They are a DataFrame of any library, a DuckDB relation or
        result, a dict of columns, or a list of dicts, named tuples or Spark rows. They may be in
        any order, and cells without records may be left out. Rows of the same cell are added up, so
        you can give counts of batches or of finer groups. An unknown category raises an error that
        names its column and row.

        Group by the columns of the tables, by the columns that are protected together with one of
        them, and by the columns of groups that choose its matrix.

        >>> import bistochastic_survey as sv
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
        >>> collector = plan.collector("sex")
        >>> collector.add_counts({"sex": ["M", "F"], "n": [40, 60]}, count="n")
        >>> collector.estimate("sex").counts
        array([70., 30.])
        """
        self._add(*counted(rows, count, [each.question for each in self._tables.values()]))

    def _add(self, tables: Sequence[Counts], records: int) -> None:
        """Add counts of all tables, in their order."""
        with self._lock:
            for each, counts in zip(self._tables.values(), tables, strict=True):
                # The columns beside the requested ones may come in another order.
                places = {axis.name: i for i, axis in enumerate(counts.axes)}
                each.counts += counts.counts.transpose([places[axis.name] for axis in each.axes])
                each.unanswered += counts.unanswered
            self._records += records

    def merge(self, other: Collector) -> None:
        """Add the counts of another collector of the same plan and tables."""
        if not isinstance(other, Collector):
            raise RefusedType("other", "be a Collector", type(other).__name__)
        mine, theirs = self._plan.digest, other._plan.digest
        if mine != theirs:
            raise Refused("other", f"be a collector of plan {mine[:12]}", f"plan {theirs[:12]}")
        if set(other._tables) != set(self._tables):
            must = f"have the tables {', '.join(map(_spoken, self._tables))}"
            raise Refused("other", must, ", ".join(map(_spoken, other._tables)))
        records, tables = other._snapshot()
        self._add([tables[columns] for columns in self._tables], records)

    def __add__(self, other: object) -> Collector:
        if not isinstance(other, Collector):
            return NotImplemented
        both = Collector(self._plan, list(self._tables))
        both.merge(self)
        both.merge(other)
        return both

    def _snapshot(self) -> tuple[int, dict[tuple[str, ...], Counts]]:
        with self._lock:
            self._settle()
            return self._records, {name: table.total() for name, table in self._tables.items()}

    def counts(self, *columns: str) -> Counts:
        """Return the counts of the smallest table that has these columns."""
        for name in columns:
            named("columns", name)
        asked = set(columns)
        fitting = [each for each in self._tables.values() if asked <= set(each.columns)]
        if not fitting:
            must = f"be in one table of {', '.join(map(_spoken, self._tables))}"
            raise Refused("columns", must, _spoken(columns))
        with self._lock:
            self._settle()
            return min(fitting, key=lambda each: math.prod(each.shape)).total()

    def estimate(self, *columns: str, **options: Any) -> Estimate:
        """Estimate the true table of some columns; options as in :meth:`Release.estimate`.

        Raises ``ValueError`` as long as no record with a value of these columns was counted.
        """
        counts = self._require_counts(*columns)
        return Release(counts, self._plan).estimate(*(columns or counts.columns), **options)

    def _require_counts(self, *columns: str) -> Counts:
        """Return the same as :meth:`counts`, unless nothing was counted."""
        counts = self.counts(*columns)
        if not counts.records:
            got = f"{counts.unanswered:,} without a value" if counts.unanswered else "an empty one"
            raise Refused("collector", "hold a reported record with a value", got)
        return counts

    def count(self, where: Mapping[str, object], **options: Any) -> Quantity:
        """Estimate how many records meet all conditions, as :meth:`Release.count` does."""
        _mapping("where", where)
        return Release(self._require_counts(*where), self._plan).count(where, **options)

    def ratio(
        self,
        where: Mapping[str, object],
        given: Mapping[str, object] | None = None,
        **options: Any,
    ) -> Ratio:
        """Estimate the proportion that meets ``where``, as :meth:`Release.ratio` does."""
        _mapping("where", where)
        _mapping("given", {} if given is None else given)
        counts = self._require_counts(*{**where, **(given or {})})
        return Release(counts, self._plan).ratio(where, given, **options)

    def to_json(self) -> str:
        """Write all counts and the digest of the plan."""
        records, tables = self._snapshot()
        written = {
            "format": FORMAT,
            "version": 1,
            "plan": self._plan.digest,
            "records": records,
            "tables": [
                {
                    "columns": list(columns),
                    "counts": counts.counts.reshape(-1).tolist(),
                    "unanswered": counts.unanswered,
                }
                for columns, counts in tables.items()
            ],
        }
        return json.dumps(written, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str, plan: Plan) -> Self:
        """Read what :meth:`to_json` wrote; another plan or a truncated string raises an error."""
        try:
            found = json.loads(text)
            stated = found["format"], found["version"], found["plan"]
            tables = [(tuple(t["columns"]), t["counts"], t["unanswered"]) for t in found["tables"]]
            records = found["records"]
        except (ValueError, TypeError, KeyError, RecursionError):
            must = "be the JSON of a collector"
            raise Refused("text", must, "a string that is cut off or has other fields") from None
        if stated[:2] != (FORMAT, 1):
            must = f"be of format {FORMAT}, version 1"
            raise Refused("text", must, f"version {shown(stated[1])}")
        if stated[2] != plan.digest:
            must = f"be a collector of plan {plan.digest[:12]}"
            raise Refused("text", must, f"plan {shown(stated[2])[:12]}")
        made = cls(plan, [columns for columns, _, _ in tables])
        whole = checks.whole("records", records, 0)
        found = {}
        for columns, counts, unanswered in tables:
            table, array = made._tables[columns], np.array(counts)
            if array.shape != (math.prod(table.shape),):
                must = f"have {math.prod(table.shape)} cells for {_spoken(columns)}"
                raise Refused("counts", must, len(counts))
            # Checked there: integers that are not negative.
            found[columns] = Counts(columns, table.axes, array.reshape(table.shape), unanswered)
            if found[columns].records + found[columns].unanswered != whole or whole >= MOST:
                raise Refused("records", f"be the sum of the counts of {_spoken(columns)}", whole)
        made._add(list(found.values()), whole)
        return made


def _mapping(name: str, given: object) -> None:
    if not isinstance(given, Mapping):
        raise RefusedType(name, "map columns to values", type(given).__name__)


def _columns(given: object) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    must = "hold columns, or lists of columns"
    listed = checks.items("tables", must, given, unordered=True)
    return tuple(named("tables", each) for each in listed)


def _spoken(columns: Sequence[str]) -> str:
    return " x ".join(f"`{shown(name)}`" for name in columns) or "none"
