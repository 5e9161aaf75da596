"""Options that several commands have, what is typed for them, and the tables that they print."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import option

from bistochastic.errors import Refused
from bistochastic_survey.cli.group import say, say_json
from bistochastic_survey.files.csv_dialect import Dialect
from bistochastic_survey.wording import shown

if TYPE_CHECKING:
    import numpy as np

    from bistochastic_survey.analysis.design import Design

_Command = Callable[..., None]
_Option = Callable[[_Command], _Command]

FILE = click.Path(path_type=Path)
file_argument = click.argument("file", type=FILE)
json_option = option("--json", "as_json", is_flag=True, help="Print JSON.")
plan_option = option("--plan", type=FILE,
                     help="The plan of a file that has no certificate beside it.")  # fmt: skip


def number(text: str) -> int | float | Fraction:
    """Read a number as it is written: 3, 0.65 or 2/3."""
    try:
        if "/" in text:
            return Fraction(text)
        try:
            return int(text)
        except ValueError:
            return float(text)
    except (ValueError, ZeroDivisionError):
        raise click.BadParameter(f"{text!r} is not a number") from None


def split(option: str, typed: str) -> list[str]:
    """Split at commas; quotes keep a comma, as in CSV."""
    try:
        [found] = csv.reader([typed], strict=True, skipinitialspace=True)
    except (csv.Error, ValueError):
        must = "be names with commas between them"
        raise Refused(f"--{option}", must, "a quote that does not end, or a line end") from None
    return found


def columns_named(option: str, given: Sequence[str], known: Collection[str]) -> list[str]:
    """List the columns that an option names, which may be given several times.

    The name of a column is that column; anything else is split at commas.
    """
    found: list[str] = []
    for typed in given:
        parts = [typed] if typed in known else split(option, typed)
        found += [each if each in known else each.strip() for each in parts]
    return found


def conditions(where: Sequence[str], known: Collection[str]) -> dict[str, list[str]]:
    """Read ``sex=F,M`` as a column and categories; if names have an =, the longest that fits."""
    found: dict[str, list[str]] = {}
    for typed in where:
        fits = [name for name in known if typed.startswith(f"{name}=")]
        column = max(fits, key=len, default=typed.partition("=")[0])
        levels = typed[len(column) + 1 :]
        if "=" not in typed or not column or not levels:
            raise Refused("--where", "be like column=category,category", shown(typed))
        if column in found:
            raise Refused("--where", "name a column once", f"`{shown(column)}` twice")
        found[column] = split("where", levels)
    return found


def columns_option(name: str, help: str, *, required: bool = False) -> _Option:
    """Make an option that names columns, with commas between them or by repeating it."""
    return option(name, multiple=True, metavar="COLUMNS", required=required, help=help)


def format_option(command: _Command) -> _Command:
    """Add ``--format`` and ``--json`` to a command that prints a table."""
    command = option("--json", "format", flag_value="json",
                     help="The same as --format json.")(command)  # fmt: skip
    return option("--format", default="table", type=click.Choice(["table", "csv", "json"]),
                  help="How the table is printed.")(command)  # fmt: skip


def _collected(name: str, read: Callable[..., object], **options: _Option) -> _Option:
    """Add options to a command, which gets what ``read`` makes of them as one argument."""

    def add(command: _Command) -> _Command:
        @wraps(command)
        def collecting(*args: object, **given: object) -> None:
            own = {each: given.pop(each) for each in options}
            command(*args, **{name: read(**own)}, **given)

        made: _Command = collecting
        for each in reversed(options.values()):
            made = each(made)
        return made

    return add


SEPARATOR = option(
    "--separator",
    metavar="CHAR",
    help="Separator of the columns of CSV files: a mark, or tab.  [default: ,]",
)
DECIMAL = option("--decimal", default=".", show_default=True, metavar="CHAR",
                 help="Decimal mark of numbers in CSV files: . or a comma.")  # fmt: skip
reads_csv = _collected(
    "dialect",
    Dialect.of,
    separator=SEPARATOR,
    encoding=option("--encoding", default="utf-8", show_default=True,
                    help="Encoding of a CSV file that is read, as latin-1, cp1252 or utf-16."),
    decimal=DECIMAL,
)  # fmt: skip
takes_survey = _collected(
    "survey",
    dict,
    weights=option("--weights", help="A column of survey weights."),
    strata=option("--strata", help="A column of strata of the sample."),
    cluster=option("--cluster", help="A column of clusters of the sample (primary sampling "
                   "units), or the ids of people with several rows."),
    replicates=option("--replicates", multiple=True,
                      help="Columns of replicate weights, e.g. r1,r2,r3, in place of strata and "
                      "clusters. Repeatable."),
    replicate_scale=option("--replicate-scale", metavar="NUMBER",
                           callback=lambda _, __, x: None if x is None else float(number(x)),
                           help="Factor of the squared differences of replicates, e.g. 79/80 for a "
                           "jackknife of 80.  [default: 1 / their number]"),
)  # fmt: skip


def design_of(typed: dict[str, Any], fpc: str | None, names: Sequence[str]) -> Design:
    """Read the design that was typed, for a file with these columns."""
    from bistochastic_survey.analysis.design import Design

    found = {**typed, "replicates": columns_named("replicates", typed["replicates"], names) or None}
    if typed["cluster"]:
        found["cluster"] = tuple(columns_named("cluster", [typed["cluster"]], names))
    if fpc is not None:
        parts = [fpc] if fpc in names else fpc.split(",")
        found["fpc"] = tuple(x if x in names else float(number(x)) for x in parts)
    return Design(**found)


def show(
    form: str,
    text: Callable[[], object],
    columns: Callable[[], Mapping[str, Sequence[object] | np.ndarray]],
    facts: Mapping[str, object],
) -> None:
    """Print a result as its text, its columns as CSV, or both columns and facts as JSON."""
    if form == "table":
        say(text())
        return
    plain = {k: v.tolist() if hasattr(v, "tolist") else v for k, v in columns().items()}
    rows = [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]
    if form == "csv":
        file = io.StringIO()
        writer = csv.DictWriter(file, list(plain), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        # Data for other programs stay as they are; on a screen they are text like all else.
        (say if sys.stdout.isatty() else click.echo)(file.getvalue(), nl=False)
    else:
        finite = [{k: None if isinstance(v, float) and not math.isfinite(v) else v
                   for k, v in row.items()} for row in rows]  # fmt: skip
        say_json({**facts, "cells": finite})
