"""``plan.collector``: counts of reported records that arrive one by one or in batches.

A collector holds one array of counts per table, and nothing of a single record. So its memory is
known in advance, two collectors add up, and a string of some kilobytes restarts one.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, Self

import numpy as np

from bistochastic.errors import Refused, RefusedType
from bistochastic.estimate import Estimate
from bistochastic_survey import checks
from bistochastic_survey.analysis.counts import CELLS, MOST, WHOLE, Counts, read_rows
from bistochastic_survey.analysis.quantities import Quantity, Ratio
from bistochastic_survey.plan.attributes import named
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.release.embedded import refuse_other_plan
from bistochastic_survey.release.release import Release
from bistochastic_survey.table.frames import opened
from bistochastic_survey.wording import Shown, shown

# How many kinds of records are held before tables are added to.
_HELD = 4096
FORMAT = "bistochastic collector"


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
        self._tables = {each.columns: each for each in (Counts(plan, n) for n in names)}
        cells = sum(each.counts.size for each in self._tables.values())
        if cells > CELLS:
            raise Refused("tables", "have at most 2^27 cells together", cells)
        known = plan._protected | {n for a in plan._coded if a.groups for n in [a.groups.column]}
        self._known = None if plan.keep == "*" else known | set(plan.keep)
        self._records = 0
        # How many records have each combination of cells: a cell per table.
        self._held: defaultdict[tuple[int | None, ...], int] = defaultdict(int)
        # Tables of one column of strings are looked up at once, if all tables are.
        places = [each._places[0] for each in self._tables.values() if len(each._places) == 1]
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
                cells = tuple(table._find(record) for table in self._tables.values())
            except ValueError:
                # A table holds values in more ways, for example as numbers inside a class.
                names = {name for table in self._tables.values() for name, _ in table._places}
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
        for i, table in enumerate(self._tables.values()):
            for cells, many in self._held.items():
                cell = cells[i]
                table._add([] if cell is None else [cell], many, many if cell is None else 0)
        self._held.clear()

    def update(self, frame: object) -> None:
        """Count all records of a protected table, in any container that ``protect`` accepts."""
        table = opened(self._own(frame).data)
        self._count(table.rows, [each._read(table) for each in self._tables.values()])

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
        tables = self._tables.values()
        table, times = read_rows(rows, count, tables)
        self._count(int(times.sum()), [each._read(table, "rows", times) for each in tables])

    def _count(self, records: int, found: Sequence[tuple[Any, Any, int]]) -> None:
        """Add records to all tables at once, where each of them has them."""
        with self._lock:
            self._require_room(records)
            for table, cells in zip(self._tables.values(), found, strict=True):
                table._add(*cells)
            self._records += records

    def _require_room(self, records: int) -> None:
        if self._records + records >= MOST:
            got = f"a sum of {self._records + records:g}"
            raise Refused("counts", f"{WHOLE}, less than 2^53 in all", got)

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
        with self._lock:
            self._require_room(records)
            for columns, table in self._tables.items():
                table._merge(tables[columns])
            self._records += records

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
            return self._records, {name: table._copy() for name, table in self._tables.items()}

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
            return min(fitting, key=lambda each: each.counts.size)._copy()

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
        made._records = checks.whole("records", records, 0)
        for columns, counts, unanswered in tables:
            table = made._tables[columns]
            if not isinstance(counts, list) or len(counts) != table.counts.size:
                got = len(counts) if isinstance(counts, list) else type(counts).__name__
                must = f"have {table.counts.size} cells for {_spoken(columns)}"
                raise Refused("counts", must, got)
            if any(type(each) is not int or not 0 <= each < MOST for each in counts):
                raise Refused("counts", WHOLE, "one that is not")
            table._add(
                range(len(counts)), np.array(counts), checks.whole("unanswered", unanswered, 0)
            )
            if table.records + table.unanswered != made._records or made._records >= MOST:
                must = f"be the sum of the counts of {_spoken(columns)}"
                raise Refused("records", must, made._records)
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
