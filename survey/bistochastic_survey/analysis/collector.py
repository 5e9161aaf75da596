"""``plan.collector``: counts of reported records that arrive one by one or in batches.

A collector holds one array of counts per table, and nothing of a single record. So its memory is
known in advance, collectors add up, and a file of some kilobytes restarts one where it stopped.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from bistochastic.errors import Refused, RefusedType
from bistochastic.estimate import Estimate
from bistochastic_survey import checks
from bistochastic_survey.analysis.counts import CELLS, MOST, WHOLE, Counts, read_rows
from bistochastic_survey.analysis.quantities import Quantity, Ratio
from bistochastic_survey.files import atomic
from bistochastic_survey.json_fields import Here, parsed
from bistochastic_survey.plan.attributes import named
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.release.embedded import refuse_other_plan
from bistochastic_survey.release.release import Release
from bistochastic_survey.table.frames import opened
from bistochastic_survey.wording import Shown, shown

if TYPE_CHECKING:
    from os import PathLike

    from bistochastic_survey.progress import Progress

# How many kinds of records are held before tables are added to.
_HELD = 4096
FORMAT, VERSION = "bistochastic collector", 1
Population = Literal["sampled", "fixed"]


class Collector(Shown):
    """Counts of reported records, for the tables that were named in advance.

    :meth:`Plan.collector` makes one. Several threads may use it. It counts reported records: two
    records of one person both count.

    ``a + b`` and ``sum(collectors)`` add up counts. Collectors can be pickled. A ``mark`` says how
    far the source of the records was read. Each call that counts may set it, and both change
    together, so a collector that is read from a file goes on exactly behind its last record.

    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
    >>> collector = plan.collector()
    >>> collector.add({"sex": "F"})
    >>> collector.update({"sex": ["F"] * 59 + ["M"] * 40})
    >>> collector.estimate("sex").counts
    array([70., 30.])
    >>> collector.update({"sex": ["F", "M"]}, mark="2026-03-01")
    >>> other = sv.Collector.from_json(collector.to_json(), plan)
    >>> other.mark, sum([collector, other]).records
    ('2026-03-01', 204)
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
        self._mark: str | int | None = None
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
    def mark(self) -> str | int | None:
        """How far the source was read, as the latest call that counted said; a sum has none."""
        return self._mark

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each table."""
        return tuple(self._tables)

    def __repr__(self) -> str:
        listed = ", ".join(" x ".join(map(shown, columns)) for columns in self._tables)
        return f"<Collector of {self._records:,} records: {listed}>"

    def add(self, record: Mapping[str, object], *, mark: str | int | None = None) -> None:
        """Count one reported record. If a value is not a declared category, nothing is counted."""
        _mapping("record", record)
        _check_mark(mark)
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
                    self.update({name: [record[name]] for name in names}, mark=mark)
                except (KeyError, ValueError, TypeError):
                    pass
                else:
                    return
                raise
        with self._lock:
            self._held[cells] += 1
            self._records += 1
            self._mark = self._mark if mark is None else mark
            if len(self._held) > _HELD:
                self._settle()

    def _settle(self) -> None:
        """Add the records that are held to the tables, under the lock."""
        for i, table in enumerate(self._tables.values()):
            for cells, many in self._held.items():
                cell = cells[i]
                table._add([] if cell is None else [cell], many, many if cell is None else 0)
        self._held.clear()

    def update(self, frame: object, *, mark: str | int | None = None) -> None:
        """Count all records of a protected table, in any container that ``protect`` accepts."""
        table = opened(self._own(frame).data)
        self._count(table.rows, [each._read(table) for each in self._tables.values()], mark)

    def _own(self, frame: object) -> Release[Any]:
        """Return a release of the collector's own plan; a release of another raises an error."""
        if not isinstance(frame, Release):
            return Release(frame, self._plan)
        refuse_other_plan(self._plan, frame.plan)
        return frame

    def add_counts(
        self, rows: object, *, count: str = "count", mark: str | int | None = None
    ) -> None:
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
        found = [each._read(table, "rows", times) for each in tables]
        self._count(int(times.sum()), found, mark)

    def _count(
        self, records: int, found: Sequence[tuple[Any, Any, int]], mark: str | int | None
    ) -> None:
        """Add records to all tables at once, where each of them has them."""
        _check_mark(mark)
        with self._lock:
            self._require_room(records)
            for table, cells in zip(self._tables.values(), found, strict=True):
                table._add(*cells)
            self._records += records
            self._mark = self._mark if mark is None else mark

    def _require_room(self, records: int) -> None:
        if self._records + records >= MOST:
            got = f"a sum of {self._records + records:g}"
            raise Refused("counts", f"{WHOLE}, less than 2^53 in all", got)

    def merge(self, other: Collector) -> None:
        """Add the counts of another collector of the same plan and tables; the mark stays."""
        if not isinstance(other, Collector):
            raise RefusedType("other", "be a Collector", type(other).__name__)
        mine, theirs = self._plan.digest, other._plan.digest
        if mine != theirs:
            raise Refused("other", f"be a collector of plan {mine[:12]}", f"plan {theirs[:12]}")
        if set(other._tables) != set(self._tables):
            must = f"have the tables {', '.join(map(_spoken, self._tables))}"
            raise Refused("other", must, ", ".join(map(_spoken, other._tables)))
        records, tables, _ = other._snapshot()
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

    def __radd__(self, other: object) -> Collector:
        # The start of a sum.
        if type(other) is not int or other:
            return NotImplemented
        return self + Collector(self._plan, list(self._tables))

    def __reduce__(self) -> tuple[Callable[[str, Plan], Collector], tuple[str, Plan]]:
        return type(self).from_json, (self.to_json(), self._plan)

    def _snapshot(self) -> tuple[int, dict[tuple[str, ...], Counts], str | int | None]:
        with self._lock:
            self._settle()
            tables = {name: table._copy() for name, table in self._tables.items()}
            return self._records, tables, self._mark

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

    def estimate(
        self,
        *columns: str,
        method: Literal["inverse", "mle", "simplex", "shrunk"] = "inverse",
        where: Mapping[str, object] | None = None,
        population: Population = "sampled",
        progress: Progress = None,
        gap: float | None = None,
        seconds: float | None = None,
        always_valid: bool = False,
    ) -> Estimate:
        """Estimate the true table of some columns; options as in :meth:`Release.estimate`.

        With ``always_valid`` the intervals hold at every look: use it for counts that you watch
        while they grow. See :meth:`Estimate.interval`.

        Raises ``ValueError`` as long as no record with a value of these columns was counted.
        """
        watched = checks.flag("always_valid", always_valid)
        counts = self._require_counts(*columns)
        found = Release(counts, self._plan).estimate(
            *(columns or counts.columns), method=method, where=where, population=population,
            progress=progress, gap=gap, seconds=seconds,
        )  # fmt: skip
        if watched:
            found = replace(found, always_valid=True)
            # What has no such intervals says so at once.
            found.interval()
        return found

    def _require_counts(self, *columns: str) -> Counts:
        """Return the same as :meth:`counts`, unless nothing was counted."""
        counts = self.counts(*columns)
        if not counts.records:
            got = f"{counts.unanswered:,} without a value" if counts.unanswered else "an empty one"
            raise Refused("collector", "hold a reported record with a value", got)
        return counts

    def count(self, where: Mapping[str, object], *, population: Population = "sampled") -> Quantity:
        """Estimate how many records meet all conditions, as :meth:`Release.count` does."""
        _mapping("where", where)
        counts = self._require_counts(*where)
        return Release(counts, self._plan).count(where, population=population)

    def ratio(
        self,
        where: Mapping[str, object],
        given: Mapping[str, object] | None = None,
        *,
        population: Population = "sampled",
    ) -> Ratio:
        """Estimate the proportion that meets ``where``, as :meth:`Release.ratio` does."""
        _mapping("where", where)
        _mapping("given", {} if given is None else given)
        counts = self._require_counts(*{**where, **(given or {})})
        return Release(counts, self._plan).ratio(where, given, population=population)

    def to_json(self) -> str:
        """Write all counts, the mark and the digest of the plan: a format that lasts.

        ``schemas/collector.json`` describes it.
        """
        records, tables, mark = self._snapshot()
        written = {
            "format": FORMAT,
            "version": VERSION,
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
            **({} if mark is None else {"mark": mark}),
        }
        return json.dumps(written, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str, plan: Plan) -> Self:
        """Read what :meth:`to_json` wrote; another plan or a truncated string raises an error."""
        here = Here(parsed(text))
        if (here["format"].text(), here["version"].value) != (FORMAT, VERSION):
            must = f"be of format {FORMAT}, version {VERSION}"
            raise Refused("text", must, f"version {shown(here['version'].value)}")
        here.keys(("format", "version", "plan", "records", "tables"), ("mark",))
        if here["plan"].text() != plan.digest:
            must = f"be a collector of plan {plan.digest[:12]}"
            raise Refused("text", must, f"plan {shown(here['plan'].text())[:12]}")
        tables = here["tables"].items()
        for each in tables:
            each.keys(("columns", "counts", "unanswered"))
        made = cls(plan, [each["columns"].texts() for each in tables])
        if len(made._tables) < len(tables):
            raise Refused("tables", "be different", "one twice")
        made._records = here["records"].whole(0, MOST - 1)
        for each, table in zip(tables, made._tables.values(), strict=True):
            counts = each["counts"]
            listed = counts.items()
            if len(listed) != table.counts.size:
                must = f"have {table.counts.size} cells for {_spoken(table.columns)}"
                raise Refused(counts.path, must, len(listed))
            cells = np.array([x.whole(0, MOST - 1) for x in listed], np.int64)
            table._add(range(len(cells)), cells, each["unanswered"].whole(0, MOST - 1))
            if sum(cells.tolist()) + table.unanswered != made._records:
                must = f"be the sum of the counts of {_spoken(table.columns)}"
                raise Refused("records", must, made._records)
        if "mark" in here:
            made._mark = here["mark"].value
            _check_mark(made._mark, needed=True)
        return made

    def to_file(self, path: str | PathLike[str]) -> None:
        """Write :meth:`to_json` to a file, which is replaced once the new one is complete."""
        atomic.write(checks.path("path", path), "path", self.to_json())

    @classmethod
    def from_file(cls, path: str | PathLike[str], plan: Plan) -> Self:
        """Read what :meth:`to_file` wrote; ``FileNotFoundError`` if there is no such file.

        >>> import bistochastic_survey as sv, pathlib, tempfile
        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
        >>> file, collector = pathlib.Path(tempfile.mkdtemp()) / "counts.json", plan.collector()
        >>> collector.add({"sex": "F"}, mark=1)
        >>> collector.to_file(file)
        >>> sv.Collector.from_file(file, plan).mark
        1
        """
        file = Path(checks.path("path", path))
        try:
            text = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise
        except (OSError, UnicodeDecodeError) as error:
            got = getattr(error, "strerror", None) or "one that is not UTF-8"
            raise Refused("path", "be a file to read", got) from None
        with atomic.in_file(file):
            return cls.from_json(text, plan)


def _check_mark(given: object, *, needed: bool = False) -> None:
    if (given is None and not needed) or isinstance(given, str) or type(given) is int:
        return
    raise RefusedType("mark", "be a string or an integer", type(given).__name__)


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
