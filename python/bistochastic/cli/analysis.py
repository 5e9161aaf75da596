"""Options and checks of the commands that analyse a protected file."""

from __future__ import annotations

import math
import sys
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bistochastic.cli.columns import columns_named
from bistochastic.cli.group import say, say_json
from bistochastic.cli.numbers import number
from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bistochastic.adapters.csv_dialect import Dialect
    from bistochastic.plan import Certificate, Plan
    from bistochastic.plan.keywords import Survey


def _scale(_context: object, _option: object, typed: str | None) -> float | None:
    return None if typed is None else float(number(typed))


plan_option = click.option("--plan", required=True, type=click.Path(path_type=Path),
                           help="The plan that protected the file, or its certificate."
                           )  # fmt: skip


def format_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--format`` and ``--json`` to a command that prints a table."""
    command = click.option("--json", "format", flag_value="json",
                           help="The same as --format json.")(command)  # fmt: skip
    return click.option("--format", default="table", type=click.Choice(["table", "csv", "json"]),
                        help="How the table is printed.")(command)  # fmt: skip


_SURVEY = (
    click.option("--weights", help="A column of survey weights."),
    click.option("--strata", help="A column of strata of the sample."),
    click.option("--cluster", help="A column of clusters of the sample (primary sampling "
                 "units), or the ids of people with several rows."),
    click.option("--replicates", multiple=True,
                 help="Columns of replicate weights, e.g. r1,r2,r3, in place of strata and "
                 "clusters. Repeatable."),
    click.option("--replicate-scale", metavar="NUMBER", callback=_scale,
                 help="Factor of the squared differences of replicates, e.g. 79/80 for a jackknife "
                 "of 80.  [default: 1 / their number]"),
)  # fmt: skip


def takes_survey(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a sampling design to a command, which gets them as ``survey``."""
    names = ("weights", "strata", "cluster", "replicates", "replicate_scale")

    @wraps(command)
    def with_survey(*args: object, **options: Any) -> None:
        survey = {name: options.pop(name) for name in names}
        command(*args, survey=survey, **options)

    for option in reversed(_SURVEY):
        with_survey = option(with_survey)
    return with_survey


def survey_of(typed: Mapping[str, Any], names: Sequence[str]) -> Survey:
    """Read the design that was typed, for a file with these columns."""
    listed = columns_named("replicates", typed["replicates"], names)
    found: Survey = {**typed, "replicates": listed or None}  # type: ignore[typeddict-item]
    return found


def read_law(path: Path, name: str = "plan") -> tuple[Plan, Certificate | None]:
    """Read a plan, or a certificate with its plan."""
    from bistochastic.cli.plans import is_certificate, read_certificate, read_plan

    if not is_certificate(path, name):
        return read_plan(path, name), None
    certificate = read_certificate(path, name)
    return certificate.plan, certificate


def check_law(file: Path, plan: Plan) -> Certificate | None:
    """Compare the plan with the certificate of the file; print a note without one."""
    from bistochastic.files.opened import find_certificate
    from bistochastic.plan.carried import refuse_other_plan

    certificate = find_certificate(file)
    if certificate is None:
        say("Note: there is no certificate next to the file, so it was not checked that this plan "
            "protected it", err=True)  # fmt: skip
        return None
    refuse_other_plan(plan, certificate)
    return certificate


def columns_in(file: Path, dialect: Dialect) -> list[str]:
    """List the columns of a file."""
    from bistochastic.adapters.table_files import opened

    source = opened(file, "file", dialect=dialect)
    source.close()
    return list(source.schema.names)


def refuse_missing(needed: Mapping[str, object], names: Sequence[str]) -> None:
    """Raise an error for a file without a column."""
    for column in needed:
        if column not in names:
            raise ValueError(
                f"`file` must have the column `{shown(column)}`; got none of that name"
            )


def print_rows(columns: Mapping[str, Any], form: str, facts: Mapping[str, object]) -> None:
    """Print columns as CSV, or as JSON below ``facts``."""
    import csv
    import io

    plain = {k: v if isinstance(v, list) else v.tolist() for k, v in columns.items()}
    rows = [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]
    if form == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(plain), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        # Data for other programs stay as they are; on a screen they are text like all else.
        (say if sys.stdout.isatty() else click.echo)(text.getvalue(), nl=False)
        return
    finite = [{k: None if isinstance(v, float) and not math.isfinite(v) else v
               for k, v in row.items()} for row in rows]  # fmt: skip
    say_json({**facts, "cells": finite})
