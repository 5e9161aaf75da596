"""What commands read and print: options, the files that they name, and tables of results."""

from __future__ import annotations

import csv
import io
import math
import os
import sys
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from click import option

import bistochastic_survey as sv
from bistochastic import Key
from bistochastic.errors import Refused
from bistochastic_survey import checks
from bistochastic_survey.cli.group import say, say_json, warn
from bistochastic_survey.files import atomic
from bistochastic_survey.files.atomic import in_file
from bistochastic_survey.files.csv_dialect import Dialect
from bistochastic_survey.wording import shown

if TYPE_CHECKING:
    from bistochastic_survey.files.tables import Source

_Command = Callable[..., None]
_Option = Callable[[_Command], _Command]


class _File(click.Path):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(checks.path(param.name or "" if param else "", value), param, ctx)


FILE = _File(path_type=Path)
file_argument = click.argument("file", type=FILE)
json_option = option("--json", "as_json", is_flag=True, help="Print JSON.")
plan_option = option("--plan", type=FILE,
                     help="The plan of a file that has no certificate beside it.")  # fmt: skip


def number(text: str) -> float:
    """Read a number as it is written: 3, 0.65 or 2/3."""
    try:
        return float(Fraction(text) if "/" in text else text)
    except (ValueError, OverflowError, ZeroDivisionError):
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


def columns_option(name: str, help: str) -> _Option:
    """Make an option that names columns, with commas between them or by repeating it."""
    return option(name, multiple=True, metavar="COLUMNS", help=help)


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
                           callback=lambda _, __, x: None if x is None else number(x),
                           help="Factor of the squared differences of replicates, e.g. 79/80 for a "
                           "jackknife of 80.  [default: 1 / their number]"),
)  # fmt: skip


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


# Files.

PLANS = (".toml", ".json")
# What a certificate begins with, and a plan does not.
_MARK = '"certificate_version"'


def text_of(path: Path, name: str) -> str:
    """Read the text of a small file."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        where = f"other bytes at byte {error.start} of {shown(path)}"
        raise Refused(name, "be UTF-8", where) from None
    except OSError as error:
        known = {FileNotFoundError: "none", IsADirectoryError: "a folder"}
        why = known.get(type(error), error.strerror)
        raise Refused(name, "be a file to read", f"{why} at {shown(path)}") from None


def read_plan(path: Path, name: str = "plan") -> sv.Plan:
    """Read a plan from a TOML or JSON file."""
    form = path.suffix.lower()
    if form not in PLANS:
        raise Refused(name, f"end in {' or '.join(PLANS)}", shown(path.suffix) or "no ending")
    text = text_of(path, name)
    with in_file(path):
        return sv.Plan.from_toml(text) if form == ".toml" else sv.Plan.from_json(text)


def read_certificate(path: Path, name: str) -> sv.Certificate:
    """Read a certificate from a JSON file."""
    text = text_of(path, name)
    with in_file(path):
        return sv.Certificate.from_json(text)


def read_law(path: Path, name: str = "plan") -> tuple[sv.Plan, sv.Certificate | None]:
    """Read a plan, or a certificate with its plan."""
    form = path.suffix.lower()
    if form == ".json" and path.is_file() and _MARK in text_of(path, name)[:200]:
        certificate = read_certificate(path, name)
        return certificate.plan, certificate
    return read_plan(path, name), None


def read_own(
    file: Path, typed: Path | None, name: str = "file"
) -> tuple[sv.Plan, sv.Certificate | None]:
    """Find the plan of a protected file, by its certificate or as typed, and the certificate."""
    from bistochastic_survey.files.formats import check_file
    from bistochastic_survey.files.open import find_certificate, refuse_changed
    from bistochastic_survey.release.release import refuse_other_plan

    if typed is None:
        check_file(file, name)
    certificate = find_certificate(file) if file.name else None
    if typed is None:
        if certificate is None:
            must = "have its certificate next to it or in it, or --plan be given"
            raise Refused(name, must, "neither")
        refuse_changed(file, certificate, name)
        return certificate.plan, certificate
    plan, certified = read_law(typed)
    if certificate is None:
        say(f"Note: there is no certificate next to the {name}, so it was not checked that this "
            "plan protected it", err=True)  # fmt: skip
        return plan, certified
    refuse_other_plan(plan, certificate.plan)
    return plan, certificate


def open_released(
    file: Path, plan: sv.Plan, survey: dict[str, Any], dialect: Dialect, fpc: str | None = None
) -> tuple[Source, sv.Design]:
    """Open a protected file, whose weights are numbers, and read the design that was typed."""
    from bistochastic_survey.files.formats import open_source
    from bistochastic_survey.files.protect import kinds

    with closing(open_source(file, "file", dialect=dialect)) as source:
        names = source.schema.names
    survey["replicates"] = columns_named("replicates", survey["replicates"], names) or None
    if fpc is not None:
        survey["fpc"] = fpc if fpc in names else number(fpc)
    design = sv.Design(**survey)
    types = kinds(plan, released=True)
    for each in (design.weights, *(design.replicates or ()), design.fpc):
        if isinstance(each, str):
            types.setdefault(each, "number")
    return open_source(file, "file", types, dialect=dialect), design


def read_key(file: Path | None) -> Key | None:
    """Read the key in a file of hexadecimal digits; warnings about the file go to stderr."""
    if file is None:
        return None
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = Key.from_file(file)
        except OSError as error:
            raise Refused(shown(file), "be a file that can be read", error.strerror) from None
    for warning in said:
        warn(str(warning.message))
    return found


def refuse_old(path: Path, name: str) -> None:
    """Raise an error if there is a file."""
    if path.exists() or path.is_symlink():
        raise Refused(name, "be a new file", f"the existing `{shown(path)}`")


def write_new(path: Path, name: str, text: str) -> None:
    """Write text to a new file."""
    refuse_old(path, name)
    atomic.write(path, name, text)


def refuse_same(written: str, to: Path, others: Sequence[tuple[str, Path | None]]) -> None:
    """Raise an error if a file to write is also another that the command has."""
    for name, path in others:
        if path is not None and os.path.realpath(to) == os.path.realpath(path):
            raise Refused(written, f"be another file than `{name}`", "the same")
