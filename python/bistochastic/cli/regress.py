"""``regress``: coefficients of the original from a protected file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bistochastic.cli.analysis import (
    check_law,
    columns_in,
    format_option,
    plan_option,
    print_rows,
    read_law,
    refuse_missing,
    survey_of,
    takes_survey,
)
from bistochastic.cli.dialects import reads_csv
from bistochastic.cli.group import main, say

if TYPE_CHECKING:
    from bistochastic.adapters.csv_dialect import Dialect


@main.command(short_help="Estimate a regression on the original.")
@click.argument("file", type=click.Path(path_type=Path))
@plan_option
@click.option("--formula", required=True, help="The model, e.g. 'income ~ education + sex'.")
@click.option("--model", required=True, help="linear, logistic, multinomial or poisson.")
@click.option("--method", help="corrected or likelihood.  [default: corrected, but likelihood if "
              "only the outcome is protected]")  # fmt: skip
@takes_survey
@format_option
@reads_csv
def regress(
    file: Path,
    plan: Path,
    formula: str,
    model: str,
    method: str | None,
    survey: dict[str, Any],
    format: str,
    dialect: Dialect,
) -> None:
    """Estimate a regression on the original from FILE, a protected CSV, Parquet or Arrow file.

    The columns of the formula are held in memory. Put names with spaces or
    dots in backticks.

    \b
    bistochastic regress protected.csv --plan plan.toml --model logistic \\
        --formula 'smokes ~ sex + age'
    """
    from bistochastic.adapters.table_files import whole
    from bistochastic.files.release import kinds
    from bistochastic.models.formula import parse
    from bistochastic.models.regression import regress
    from bistochastic.tables.sheet import Design, shared_noise

    law, certified = read_law(plan)
    certificate = check_law(file, law) or certified
    sides = parse(formula)
    names = columns_in(file, dialect)
    design = survey_of(survey, names)
    named = Design.of(**design)
    asked = sides.outcome | sides.covariates
    coded = [each for each in law._coded if asked & set(each.columns)]
    beside = {column for each in coded for column in each.columns}
    beside |= {each.groups.column for each in coded if each.groups is not None}
    needed = dict.fromkeys([*sorted(asked | beside), *named.columns])
    refuse_missing(needed, names)
    types = kinds(law, released=True)
    for each in (named.weights, *named.replicates):
        if each is not None:
            types.setdefault(each, "number")
    table = whole(file, "file", types, needed, dialect=dialect)
    found = regress(law, table, formula, model, method, design)
    found = replace(found, notes=(*found.notes, *shared_noise(certificate, named)))
    if format == "table":
        say(found.summary())
        return
    facts = {
        "formula": found.formula, "model": found.model, "method": found.method,
        "outcomes": found.outcomes, "records": found.records, "notes": found.notes,
    }  # fmt: skip
    print_rows(found._columns(), format, facts)
