"""Codebooks: the declared categories of columns in a file.

A CSV file has a header with ``column`` and ``category`` and a line for each category, in order. A
TOML file has a line such as ``sex = ["F", "M"]`` for each column. A JSON file is a Table Schema
(Frictionless): fields with a type, and categories as ``constraints.enum`` or ``categories``. A file
of SPSS, Stata or SAS has value labels.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

from bistochastic.adapters.schemas import Column, Holds
from bistochastic.adapters.table_files import STATISTICAL
from bistochastic.plan.attributes import named
from bistochastic.words import shown

if TYPE_CHECKING:
    import os

ENDINGS = (".csv", ".toml", ".json", *STATISTICAL)
_TYPES: dict[str, Holds] = {
    "integer": "integers", "year": "integers", "number": "numbers", "string": "strings",
}  # fmt: skip


def is_codebook(given: object) -> bool:
    """Whether this names a file rather than being a frame."""
    return isinstance(given, str | Path)


def read(path: str | os.PathLike[str]) -> list[Column]:
    """Read the columns that a codebook declares, in its order."""
    file = Path(path)
    if file.suffix.lower() not in ENDINGS:
        got = shown(file.suffix) or "no ending"
        raise ValueError(f"`codebook` must end in {', '.join(ENDINGS)}; got {got}")
    if file.suffix.lower() in STATISTICAL:
        from bistochastic.adapters.statistical import described_in

        return described_in(file, "codebook")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"`codebook` must be UTF-8; got none at byte {error.start}") from None
    except OSError as error:
        raise ValueError(f"`codebook` must be a file to read; got {error.strerror}") from None
    read_as = {".csv": _from_csv, ".toml": _from_toml, ".json": _from_table_schema}
    columns = read_as[file.suffix.lower()](text)
    if not columns:
        raise ValueError("`codebook` must declare at least one column; got none")
    return columns


def declared(name: str, levels: object) -> Column:
    """Make a column with these categories, each given once."""
    column = named("codebook", name)
    if not isinstance(levels, list | tuple) or not levels:
        got = "none" if isinstance(levels, list | tuple) else type(levels).__name__
        raise ValueError(f"column `{shown(column)}`: must have a list of categories; got {got}")
    kinds = {type(level) for level in levels}
    if len(kinds) > 1 or not kinds <= {str, int, bool}:
        got = " and ".join(sorted(kind.__name__ for kind in kinds))
        must = "must have categories that are strings, integers or booleans, of one kind"
        raise TypeError(f"column `{shown(column)}`: {must}; got {got}")
    if len(set(levels)) < len(levels):
        # Never which: a table handed in by mistake holds answers.
        twice = len(levels) - len(set(levels))
        must = "must have each category once: categories are declared, data are not a schema"
        raise ValueError(f"column `{shown(column)}`: {must}; got {twice} of {len(levels)} again")
    return Column(column, "levels", "codebook", tuple(levels), declared=True)


def _from_csv(text: str) -> list[Column]:
    rows = list(csv.reader(text.splitlines(keepends=True)))
    header = [cell.strip().lower() for cell in rows[0]] if rows else []
    # Codebooks once had the header `level`.
    header = ["category" if name == "level" else name for name in header]
    if "column" not in header or "category" not in header:
        raise ValueError(
            "`codebook` must have the columns `column` and `category` in its header; "
            f"got {len(header)} columns without them"
        )
    at, category = header.index("column"), header.index("category")
    found: dict[str, list[str]] = {}
    for i, row in enumerate(rows[1:], 2):
        if not row:
            continue
        if len(row) != len(header):
            must = f"`codebook` must have {len(header)} fields in every line"
            raise ValueError(f"{must}; got {len(row)} in line {i}")
        found.setdefault(row[at], []).append(row[category])
    return [declared(name, levels) for name, levels in found.items()]


def _from_toml(text: str) -> list[Column]:
    import tomllib

    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise ValueError("`codebook` must be TOML; got something else") from None
    return [declared(name, levels) for name, levels in data.items()]


def _from_table_schema(text: str) -> list[Column]:
    try:
        data = json.loads(text)
        fields = [(field["name"], field) for field in data["fields"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        must = "`codebook` must be a Table Schema, with fields that have names"
        raise ValueError(f"{must}; got something else") from None
    found = []
    for name, field in fields:
        levels = (field.get("constraints") or {}).get("enum", field.get("categories"))
        if levels is not None:
            found.append(declared(name, levels))
        elif field.get("type") == "boolean":
            found.append(declared(name, [False, True]))
        else:
            kind = str(field.get("type", "any"))
            holds = _TYPES.get(kind, "something else")
            found.append(Column(named("codebook", name), holds, shown(kind)))
    return found
