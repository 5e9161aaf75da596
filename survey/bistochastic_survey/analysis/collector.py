"""``plan.collector``: counts of reported records that arrive one by one, in tables, or counted.

A collector holds one array of counts per table, and nothing of a single record. So its memory is
known in advance, collectors add up, and a file of some kilobytes restarts one where it stopped.
``Counts`` is one of these tables, which an estimate can use like the protected table itself.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from bistochastic.errors import Refused, RefusedType
from bistochastic.estimate import Axis, Estimate
from bistochastic_survey import checks
from bistochastic_survey.analysis import protected_table
from bistochastic_survey.analysis.design import Design
from bistochastic_survey.analysis.protected_table import CodedTable
from bistochastic_survey.analysis.request import Request, ask, digits, reports_of
from bistochastic_survey.files import atomic
from bistochastic_survey.json_fields import Here, parsed
from bistochastic_survey.plan import plan_json
from bistochastic_survey.plan.attributes import named
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.progress import Progress
from bistochastic_survey.release.release import Release, refuse_other_plan
from bistochastic_survey.table.frames import Table, opened, opened_rows
from bistochastic_survey.wording import Shown, meant, shown

# Integers below this are exact as floats, in which tables are solved.
MOST = 2**53
CELLS = 2**27
WHOLE = "hold integers that are not negative"
FORMAT, VERSION = "bistochastic collector", 1
# The cells that records are in, how many in each, and records without an answer.
Found = tuple[NDArray[np.int64] | int, NDArray[np.int64] | int, int]


class Counts(Shown):
    """The number of records that report each combination of categories, in the declared order.

    :meth:`Collector.counts` returns it, and ``Release(counts, plan)`` analyses it: only under the
    plan that it was made for.

    >>> import bistochastic_survey as sv
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
    >>> collector = plan.collector("sex")
    >>> collector.update({"sex": ["F"] * 60 + ["M"] * 40})
    >>> table = collector.counts("sex")
    >>> table, table.counts
    (<Counts of 100 records: sex 2>, array([60, 40]))
    >>> sv.Release(table, plan).count({"sex": "F"}).value
    70.0
    """

    columns: tuple[str, ...]
    """The requested columns."""
    axes: tuple[Axis, ...]
    """These columns, and after them those that an estimate of them needs, with their categories."""
    unanswered: int
    """Records without an answer, which are in no cell: those of ``missing="keep"``."""

    def __init__(self, plan: Plan, columns: Iterable[str]) -> None:
        self._question = question = ask(plan, columns, None)
        self.columns = question.columns
        coded = [(name, reports_of(each, name)) for each in question.coded for name in each.columns]
        groups = [(name, labels.values) for name, labels in question.groups.items()]
        known = dict((*groups, *coded))
        for name in self.columns:
            if name not in known:
                must = "hold columns with declared categories"
                got = f"`{shown(name)}`, which the plan does not protect"
                raise Refused("tables", must, f"{got}{meant(name, plan._protected)}")
        # Beside the requested columns those protected with them, and those that choose a matrix.
        beside = [n for each in question.coded for n in (
            *each.columns, *([each.groups.column] if each.groups is not None else []))]  # fmt: skip
        names = tuple(dict.fromkeys([*self.columns, *beside]))
        self.axes = tuple(Axis(name, known[name]) for name in names)
        shape = [len(axis.categories) for axis in self.axes]
        if math.prod(shape) > CELLS:
            raise Refused("tables", "have at most 2^27 cells together", math.prod(shape))
        self._cells = np.zeros(shape, np.int64)
        self.unanswered = 0
        # How far each category along its axis is; none if some combinations are impossible.
        steps = (stride // self._cells.itemsize for stride in self._cells.strides)
        self._places: list[tuple[str, dict[object, int]]] = [
            (axis.name, {(type(v), v): i * step for i, v in enumerate(axis.categories)})
            for axis, step in zip(self.axes, steps, strict=True)
            if not any(each.impossible for each in question.coded)
        ]

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many records report each combination, an axis of the array for each of ``axes``."""
        found = self._cells.view()
        found.setflags(write=False)
        return found

    @property
    def records(self) -> int:
        """The number of records in all cells."""
        return int(self._cells.sum())

    def __repr__(self) -> str:
        sizes = " x ".join(f"{shown(axis.name)} {len(axis.categories)}" for axis in self.axes)
        return f"<Counts of {self.records} records: {sizes}>"

    def _copy(self) -> Counts:
        """Return the same counts, which stay as they are now."""
        found = copy.copy(self)
        found._cells = self._cells.copy()
        return found

    def _find(self, record: Mapping[str, object]) -> int:
        """Find the cell of a record of declared categories; ``KeyError`` for any other."""
        if not self._places:
            raise KeyError
        return sum(places[type(record[name]), record[name]] for name, places in self._places)

    def _read(self, table: Table, what: str, times: NDArray[np.float64] | None = None) -> Found:
        """Find the cells of the rows of a table, the records of each, and those unanswered."""
        question = self._question
        sheet = protected_table.sheet_of(question, table, Design(), what, times=times, empty=True)
        places: dict[str, np.ndarray] = {axis.name: axis.codes for axis in sheet.axes}
        for each in question.coded:
            # Of a single column, codes that are only reported are behind all others, as here.
            if len(each.columns) > 1:
                codes = places.pop(", ".join(each.columns))
                places |= {n: at[codes] for n, at in zip(each.columns, digits(each), strict=True)}
        at = [places[axis.name] for axis in self.axes]
        cells = np.ravel_multi_index(at, self._cells.shape)
        inside = slice(None) if sheet.inside is None else sheet.inside
        many_ = 1 if times is None else times[inside].astype(np.int64)
        return cells[inside], many_, sheet.unanswered

    def _add(self, found: Found) -> None:
        np.add.at(self._cells.reshape(-1), found[0], found[1])
        self.unanswered += found[2]

    def _sheet(self, question: Request, design: Design) -> CodedTable:
        """Return the same as rows, one for each cell that has records."""
        if not design._is_plain:
            must = "be a table if weights, strata or cluster are given"
            raise RefusedType("data", must, "Counts")
        plan, mine = question.plan, self._question.plan.digest
        if mine not in plan_json.digests(plan):
            must = f"be those of plan `{shown(plan.name)}`, digest {plan.digest[:12]}"
            raise Refused("counts", must, f"digest {mine[:12]}")
        if not self.records:
            raise Refused("counts", "hold at least one record", "none")
        for name in question.columns:
            if name not in [axis.name for axis in self.axes]:
                must = "be columns of the table"
                raise Refused("columns", must, f"`{shown(name)}`, which it lacks")
        filled = np.nonzero(self._cells)
        rows = {
            axis.name: [axis.categories[i] for i in place.tolist()]
            for axis, place in zip(self.axes, filled, strict=True)
        }
        times = self._cells[filled].astype(np.float64)
        return protected_table.sheet_of(question, opened(rows), design, "counts", times=times)


def read_data(data: Any, question: Request, design: Design) -> CodedTable:
    """Read what a question needs from a table, an open file, or counts."""
    if isinstance(data, Counts):
        return data._sheet(question, design)
    return protected_table.read_sheet(
        question, protected_table.gathered(data, question, design._columns), design
    )


class Collector(Shown):
    """Counts of reported records, for the tables that were named in advance.

    :meth:`Plan.collector` makes one. Several threads may use it. It counts reported records: two
    records of one person both count.

    ``a + b`` and ``sum(collectors)`` add up counts. Collectors can be pickled. A ``mark`` says how
    far the source of the records was read. Each call that counts may set it, and both change
    together, so a collector that is read from a file goes on exactly behind its last record.

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
        checks.of_type("record", "map columns to values", record, Mapping)
        if self._known is not None and not self._known.issuperset(record):
            unknown = next(name for name in record if name not in self._known)
            must = "hold columns that the plan protects or keeps"
            raise Refused("record", must, f"`{shown(unknown)}`{meant(unknown, self._known)}")
        try:
            cells = [table._find(record) for table in self._tables.values()]
        except (KeyError, TypeError):
            # Whatever is not a category as it was declared, is read as a table of one row is.
            names = {axis.name for each in self._tables.values() for axis in each.axes}
            table = opened({name: [record[name]] for name in names if name in record})
            read = [each._read(table, "record") for each in self._tables.values()]
        else:
            read = [(cell, 1, 0) for cell in cells]
        self._count(1, read, mark)

    def update(self, frame: object, *, mark: str | int | None = None) -> None:
        """Count all records of a protected table, in any container that ``protect`` accepts.

        ``mark`` says how far you have read; without one the old mark stays.
        """
        if isinstance(frame, Release):
            refuse_other_plan(self._plan, frame.plan)
        else:
            frame = Release(frame, self._plan)
        table = opened(frame.data)
        self._count(table.rows, [t._read(table, "frame") for t in self._tables.values()], mark)

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

        >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
        >>> collector = plan.collector("sex")
        >>> collector.add_counts({"sex": ["M", "F"], "n": [40, 60]}, count="n")
        >>> collector.estimate("sex").counts
        array([70., 30.])
        """
        column, table = named("count", count), opened_rows(rows)
        for name in {axis.name: 0 for each in self._tables.values() for axis in each.axes}:
            if column == name:
                got = f"`{shown(column)}`, which the table is made of"
                raise Refused("count", "name the column of counts", got)
            protected_table.require(table, "rows", name)
        protected_table.require(table, "rows", column)
        values, missing = protected_table.read_numbers(table, "count", WHOLE, column)
        times = values.astype(np.float64)
        wrong = ~((times >= 0) & (times == np.floor(times)) & (times < MOST))
        wrong = wrong if missing is None else missing
        if wrong.any():
            at = int(np.argmax(wrong))
            raise Refused("count", WHOLE, f"one that is not, in row {at}", column=column, row=at)
        total = math.fsum(times.tolist())
        if not total < MOST:
            raise Refused("count", f"{WHOLE}, less than 2^53 in all", f"{total:g}", column=column)
        read = [each._read(table, "rows", times) for each in self._tables.values()]
        self._count(int(total), read, mark)

    def _count(self, records: int, read: Sequence[Found], mark: str | int | None) -> None:
        _check_mark(mark)
        with self._lock:
            self._require_room(records)
            for table, found in zip(self._tables.values(), read, strict=True):
                table._add(found)
            self._records += records
            self._mark = self._mark if mark is None else mark

    def _require_room(self, records: int) -> None:
        if self._records + records >= MOST:
            got = f"a sum of {self._records + records:g}"
            raise Refused("counts", f"{WHOLE}, less than 2^53 in all", got)

    def merge(self, other: Collector) -> None:
        """Add the counts of another collector of the same plan and tables; the mark stays."""
        checks.of_type("other", "be a Collector", other, Collector)
        mine, theirs = self._plan.digest, other._plan.digest
        if theirs not in plan_json.digests(self._plan):
            raise Refused("other", f"be a collector of plan {mine[:12]}", f"plan {theirs[:12]}")
        if set(other._tables) != set(self._tables):
            must = f"have the tables {', '.join(map(_spoken, self._tables))}"
            raise Refused("other", must, ", ".join(map(_spoken, other._tables)))
        records, tables, _ = other._snapshot()
        with self._lock:
            self._require_room(records)
            for columns, table in self._tables.items():
                table._cells += tables[columns]._cells
                table.unanswered += tables[columns].unanswered
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
            tables = {name: table._copy() for name, table in self._tables.items()}
            return self._records, tables, self._mark

    def counts(self, *columns: str) -> Counts:
        """Return the counts of the smallest table that has these columns.

        ``Release(collector.counts("a", "b"), plan)`` has all analyses of them.
        """
        return self._smallest(columns, set())

    def _smallest(self, columns: Sequence[str], where: Set[str]) -> Counts:
        """Find the smallest table with these columns, and if there is one, those of ``where``."""
        asked = {named("columns", name) for name in columns}
        fitting = [each for each in self._snapshot()[1].values() if asked <= set(each.columns)]
        if not fitting:
            must = f"be in one table of {', '.join(map(_spoken, self._tables))}"
            known = {name for table in self._tables for name in table}
            near = next((meant(name, known) for name in columns if name not in known), "")
            raise Refused("columns", must, f"{_spoken(columns)}{near}")
        fitting = [t for t in fitting if where <= {axis.name for axis in t.axes}] or fitting
        return min(fitting, key=lambda each: each.counts.size)

    def estimate(
        self,
        *columns: str,
        method: Literal["inverse", "mle", "simplex", "shrunk"] = "inverse",
        where: Mapping[str, object] | None = None,
        population: Literal["sampled", "fixed"] = "sampled",
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
        counts = self._smallest(columns, set(where) if isinstance(where, Mapping) else set())
        found = Release(counts, self._plan).estimate(
            *(columns or counts.columns), method=method, where=where, population=population,
            progress=progress, gap=gap, seconds=seconds,
        )  # fmt: skip
        if watched:
            found = replace(found, always_valid=True)
            # What has no such intervals says so at once.
            found.interval()
        return found

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
        checks.of_type("plan", "be a Plan", plan, Plan)
        here = Here(parsed(text))
        if (here["format"].text(), here["version"].value) != (FORMAT, VERSION):
            must = f"be of format {FORMAT}, version {VERSION}"
            raise Refused("text", must, f"version {shown(here['version'].value)}")
        here.keys(("format", "version", "plan", "records", "tables"), ("mark",))
        if here["plan"].text() not in plan_json.digests(plan):
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
            table._add((np.arange(len(cells)), cells, each["unanswered"].whole(0, MOST - 1)))
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
        checks.of_type("plan", "be a Plan", plan, Plan)
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


def _columns(given: object) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    listed = checks.items("tables", "hold columns, or lists of columns", given, unordered=True)
    return tuple(named("tables", each) for each in listed)


def _spoken(columns: Sequence[str]) -> str:
    return " x ".join(f"`{shown(name)}`" for name in columns) or "none"
