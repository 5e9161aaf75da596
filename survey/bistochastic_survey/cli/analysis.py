"""``estimate`` and ``regress``: analyses of a protected file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click import option

from bistochastic.errors import Refused
from bistochastic_survey.cli.group import main
from bistochastic_survey.cli.inputs import names_in, open_released, read_own
from bistochastic_survey.cli.options import (
    columns_option,
    design_of,
    file_argument,
    format_option,
    plan_option,
    reads_csv,
    show,
    takes_survey,
)
from bistochastic_survey.cli.typed import columns_named, conditions
from bistochastic_survey.files.csv_dialect import Dialect
from bistochastic_survey.progress import steps

if TYPE_CHECKING:
    from bistochastic_survey.files.tables import Source

# A decimal number, as it is typed for a column of such.
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


@main.command(short_help="Estimate tables of the original.")
@file_argument
@plan_option
@columns_option(
    "--by",
    "Columns of the table, e.g. sex,education. Repeatable. Quote a name that has a comma: "
    "'sex,\"a,b\"'.",
)
@option(
    "--where",
    multiple=True,
    help="A condition, e.g. sex=F,M. Repeatable. Quote a category that has a comma.",
)
@option("--mean", metavar="COLUMN", help="The mean of a column, in place of a table.")
@option("--count", is_flag=True, help="How many records meet --where, in place of a table.")
@option(
    "--ratio", multiple=True, metavar="CONDITION",
    help="The proportion that meets a condition among records that meet --where. Repeatable.",
)  # fmt: skip
@option(
    "--fpc", metavar="COLUMN|NUMBER",
    help="Size of the population, or fraction that was sampled, by stratum; two for two stages, "
    "with --cluster first,second.",
)  # fmt: skip
@takes_survey
@option("--method", default="inverse", help="inverse, mle, simplex or shrunk.")
@option("--population", default="sampled", help="sampled, or fixed if the file is everyone.")
@format_option
@reads_csv
def estimate(
    file: Path,
    plan: Path | None,
    by: Sequence[str],
    where: Sequence[str],
    mean: str | None,
    count: bool,
    ratio: Sequence[str],
    fpc: str | None,
    survey: dict[str, Any],
    method: Any,
    population: str,
    format: str,
    dialect: Dialect,
) -> None:
    """Estimate a table of the original from FILE, a protected CSV, Parquet or Arrow file.

    The file is read in batches, so it can be larger than memory. With --strata, --cluster or
    --replicates, the columns that are needed must fit in memory. Messages count rows from 0,
    without the header of a CSV file.

    \b
    bistochastic estimate protected.csv --by sex,education
    bistochastic estimate protected.parquet --by sex --where region=N --format csv
    bistochastic estimate protected.csv --mean age --weights w --fpc 12000
    bistochastic estimate protected.csv --ratio smokes=yes --where sex=F
    """
    from bistochastic_survey.files.protect import kinds
    from bistochastic_survey.files.tables import said
    from bistochastic_survey.plan import Release

    law, certificate = read_own(file, plan)
    chosen = [bool(by), mean is not None, count, bool(ratio)].count(True)
    if chosen != 1:
        must = "be given one of --by, --mean, --count and --ratio"
        raise Refused("estimate", must, chosen or "none")
    design = design_of(survey, fpc, names_in(file, dialect))
    source = open_released(file, law, design, dialect)
    with closing(source), steps() as tell, said("file"):
        tell("estimating", None)
        release: Release[Any] = Release(source, certificate or law)
        declared = kinds(law, released=True)
        names = [*source.schema.names, *declared]
        columns = columns_named("by", by, names)
        typed = conditions(where, names), conditions(ratio, names)
        met, shared = _levels(source, declared, [*columns, *([mean] if mean else [])], typed)
        drawn: Any = {"design": design, "population": population}
        if by:
            found = release.estimate(*columns, where=met, method=method, **drawn)
            total = found.records if found.total is None else found.total
            facts = {name: getattr(found, name) for name in ("method", "population", "records")}
            facts |= {"total": total, "gap": found.gap, "notes": list(found.notes)}
            show(format, found.to_text, found.to_columns, facts)
            return
        if mean is not None:
            number = release.mean(mean, where=met or None, **drawn)
        elif ratio:
            number = release.ratio(shared, met or None, **drawn)
        else:
            number = release.count(met, **drawn)
    low, high = number.interval()
    cells = {"name": number.name, "value": number.value,
             "standard_error": number.standard_error, "low": low, "high": high}  # fmt: skip
    facts = {"records": number.records, "notes": list(number.notes)}
    show(format, number.__str__, lambda: {name: [x] for name, x in cells.items()}, facts)


def _levels(
    source: Source,
    declared: dict[str, str],
    columns: Sequence[str],
    typed: tuple[dict[str, list[str]], ...],
) -> list[dict[str, list[str | float]]]:
    """Give categories that were typed the types of their columns.

    An unprotected cell of a CSV file is a number if all cells of its column are.
    """
    from bistochastic_survey.files.formats import held_in

    about = [*columns, *(column for each in typed for column in each)]
    source.decide([n for n in dict.fromkeys(about) if n in source.schema.names])
    held = {**held_in(source), **declared}
    return [
        {column: [_level(held.get(column), level) for level in levels]
         for column, levels in each.items()}
        for each in typed
    ]  # fmt: skip


def _level(kind: str | None, typed: str) -> str | float:
    """Convert a category that was typed to the type of its column."""
    from bistochastic_survey.plan.labels import plain_integer

    if kind == "text":
        return typed
    truths = {"true": True, "false": False}
    if kind in ("boolean", None) and typed.lower() in truths:
        return truths[typed.lower()]
    whole = None if kind == "floats" else plain_integer(typed)
    if whole is not None:
        return whole
    # Any other spelling is not a category of such a column, and raises an error.
    return float(typed) if kind == "floats" and _NUMBER.fullmatch(typed) else typed


@main.command(short_help="Estimate a regression on the original.")
@file_argument
@plan_option
@option("--formula", required=True, help="The model, e.g. 'income ~ education + sex'.")
@option("--model", required=True, help="linear, logistic or multinomial.")
@option("--method", help="corrected or likelihood.  [default: corrected, but likelihood if "
        "only the outcome is protected]")  # fmt: skip
@takes_survey
@format_option
@reads_csv
def regress(
    file: Path,
    plan: Path | None,
    formula: str,
    model: Any,
    method: Any,
    survey: dict[str, Any],
    format: str,
    dialect: Dialect,
) -> None:
    """Estimate a regression on the original from FILE, a protected CSV, Parquet or Arrow file.

    The columns of the formula are held in memory. Put names with spaces or
    dots in backticks.

    \b
    bistochastic regress protected.csv --model logistic \\
        --formula 'smokes ~ sex + age'
    """
    from bistochastic_survey.files.tables import said
    from bistochastic_survey.plan import Release

    law, certificate = read_own(file, plan)
    design = design_of(survey, None, names_in(file, dialect))
    source = open_released(file, law, design, dialect)
    with closing(source), said("file"):
        release: Release[Any] = Release(source, certificate or law)
        found = release.regress(formula, model=model, method=method, design=design)
    said_of_it = ("formula", "model", "method", "outcomes", "records", "notes")
    facts = {name: getattr(found, name) for name in said_of_it}
    show(format, found.summary, found._columns, facts)
