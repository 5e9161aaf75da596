"""What the plans of ``tests/golden`` publish of one table under one key."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np

import bistochastic_survey as sv
from folded import waved
from frozen import KEY, marked


def _day(i: int) -> date:
    return date(2019, 12, 20) + timedelta(days=i * 37 % 700)


def table(rows: int) -> dict[str, Any]:
    """A table with every kind of column."""
    at = range(rows)
    return {
        "person": list(at),
        "name": [f"é{i}" for i in at],
        "home": [i // 3 for i in at],
        "region": ["ns"[i // 3 % 2] for i in at],
        "sex": ["FM"[i * i % 7 % 2] for i in at],
        "age": [15 + i * 11 % 3 * 10 for i in at],
        "smokes": [[True, False, None][i * 5 % 3] for i in at],
        "a": [["x", "y", "y"][i % 3] for i in at],
        "b": [["1", "1", "2"][i % 3] for i in at],
        "job": [f"job {i * 13 % 20}" for i in at],
        "town": [i * 101 % 300 for i in at],
        "roof": [["tin", "clay", None][i // 3 % 3] for i in at],
        "rent": [float(i // 3 * 70 % 1000) for i in at],
        "height": [None if i % 9 == 0 else i * 7 % 23 / 10 for i in at],
        "moved": [_day(i) for i in at],
        "income": [float(i * 7 % 1000) for i in at],
        "wage": [None if i % 50 == 5 else float(i * 37 % 211) for i in at],
        "wealth": [i * i % 977 for i in at],
        "debt": [i * 3 % 101 / 4 for i in at],
    }


def released(plan: sv.Plan, rows: int, options: dict[str, Any]) -> dict[str, str]:
    """What a plan publishes of the table, column by column."""
    given = dict(options)
    used = {name for each in plan.attributes for name in columns_of(each)}
    used |= {*plan.keep, *plan.drop, given.get("id_column", "person"), "home"}
    frame = {name: column for name, column in table(rows).items() if name in used}
    if "id_column" in given:
        kind = given.pop("kind", "integer")
        given["after"] = "first"
        frame["person"] = [_id(kind, i) for i in frame["person"]]
    data = plan.protect(frame, key=KEY, **waved(given)).data
    if given.get("shuffle"):
        # The order of the rows is of no key.
        rows_of = sorted(zip(*(map(_cell, column) for column in data.values()), strict=True))
        return {"rows in order": marked(map(" ".join, rows_of), 2)}
    return {name: marked(map(_cell, column), 6) for name, column in data.items()}


def columns_of(attribute: Any) -> tuple[str, ...]:
    """The columns that an attribute reads."""
    names = getattr(attribute, "columns", None) or (attribute.column,)
    more = [getattr(attribute, "within", None), getattr(attribute, "unit", None)]
    groups = getattr(attribute, "groups", None)
    return (*names, *(name for name in more if name), *([groups.column] if groups else []))


def _id(kind: str, i: int) -> Any:
    return {"integer": i * 977 - 5, "text": f"person é{i}", "bytes": b"%d" % i}[kind]


def _cell(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    return repr(value.item() if isinstance(value, np.generic) else value)
