"""``estimate``: a table of the original from a protected file, read in batches."""

from __future__ import annotations

import re
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
from bistochastic.cli.columns import columns_named, condition
from bistochastic.cli.dialects import reads_csv
from bistochastic.cli.group import main, say
from bistochastic.cli.numbers import number
from bistochastic.labels import plain_integer
from bistochastic.progress import steps
from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bistochastic.adapters.csv_dialect import Dialect
    from bistochastic.adapters.table_files import Source
    from bistochastic.estimate import Estimate
    from bistochastic.estimate.quantities import Quantity
    from bistochastic.plan.keywords import Survey
    from bistochastic.plan.plan import Plan


# A decimal number, as it is typed for a column of such.
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


@main.command(short_help="Estimate tables of the original.")
@click.argument("file", type=click.Path(path_type=Path))
@plan_option
@click.option(
    "--by",
    multiple=True,
    metavar="COLUMNS",
    help="Columns of the table, e.g. sex,education. Repeatable. Quote a name that has a comma: "
    "'sex,\"a,b\"'.",
)
@click.option(
    "--where",
    multiple=True,
    help="A condition, e.g. sex=F,M. Repeatable. Quote a category that has a comma.",
)
@click.option("--mean", metavar="COLUMN", help="The mean of a column, in place of a table.")
@click.option("--count", is_flag=True, help="How many records meet --where, in place of a table.")
@click.option(
    "--ratio", multiple=True, metavar="CONDITION",
    help="The proportion that meets a condition among records that meet --where. Repeatable.",
)  # fmt: skip
@click.option(
    "--fpc", metavar="COLUMN|NUMBER",
    help="Size of the population, or fraction that was sampled, by stratum; two for two stages, "
    "with --cluster first,second.",
)  # fmt: skip
@takes_survey
@click.option("--method", default="inverse", help="inverse, mle, simplex or shrunk.")
@click.option("--population", default="sampled", help="sampled, or fixed if the file is everyone.")
@format_option
@reads_csv
def estimate(
    file: Path,
    plan: Path,
    by: Sequence[str],
    where: Sequence[str],
    mean: str | None,
    count: bool,
    ratio: Sequence[str],
    fpc: str | None,
    survey: dict[str, Any],
    method: str,
    population: str,
    format: str,
    dialect: Dialect,
) -> None:
    """Estimate a table of the original from FILE, a protected CSV, Parquet or Arrow file.

    The file is read in batches, so it can be larger than memory. With --strata, --cluster or
    --replicates, the columns that are needed must fit in memory. Messages count rows from 0,
    without the header of a CSV file.

    \b
    bistochastic estimate protected.csv --plan plan.toml --by sex,education
    bistochastic estimate protected.parquet --plan plan.toml --by sex --where region=N --format csv
    bistochastic estimate protected.csv --plan plan.toml --mean age --weights w --fpc 12000
    bistochastic estimate protected.csv --plan plan.toml --ratio smokes=yes --where sex=F
    """
    from bistochastic import arguments
    from bistochastic.adapters.table_files import opened, said
    from bistochastic.estimate.methods import METHODS
    from bistochastic.files.release import kinds
    from bistochastic.tables.estimates import people, read_design, told_in
    from bistochastic.tables.question import ask
    from bistochastic.tables.running import Running
    from bistochastic.tables.sheet import shared_noise

    law, certified = read_law(plan)
    certificate = check_law(file, law) or certified
    how = arguments.one_of("method", method, METHODS)
    types = kinds(law, released=True)
    names = columns_in(file, dialect)
    asked_for = [bool(by), mean is not None, count, bool(ratio)]
    if asked_for.count(True) != 1:
        must = "`estimate` must be given one of --by, --mean, --count and --ratio"
        raise ValueError(f"{must}; got {asked_for.count(True) or 'none'}")
    options = _staged(survey_of(survey, names), fpc, names)
    design = read_design(law, options)
    who = people(population, design)
    for each in (design.weights, *design.replicates, *design.fpc):
        if isinstance(each, str):
            types.setdefault(each, "number")
    source = opened(file, "file", types, dialect=dialect)
    try:
        with steps() as tell, said("file"):
            asked = columns_named("by", by, [*names, *types])
            typed, shared_by = (
                _parse_conditions(words, [*names, *types]) for words in (where, ratio)
            )
            # An unprotected cell is a number if all cells of its column are.
            wanted = dict.fromkeys([*asked, *typed, *shared_by, *([mean] if mean else [])])
            clear = [n for n in wanted if n in names and n not in types]
            tell("reading", None)
            source.decide(clear)
            if not by:
                met = _conditions(typed, source, types), _conditions(shared_by, source, types)
                quantity = _quantity(law, source, names, mean, *met, {**options, "population": who})
                _print_quantity(quantity, format)
                return
            question = ask(law, asked, _conditions(typed, source, types))
            needed = dict.fromkeys([*question.columns, *question.where, *question.protected,
                                    *question.groups, *design.columns])  # fmt: skip
            refuse_missing(needed, names)
            needed |= dict.fromkeys(unit for unit in question.units if unit in names)
            running = Running(question, design)
            for batch in source.batches(list(needed)):
                running.add(batch)
                tell(f"reading, {running.rows:,} rows", None)
            tell("estimating", None)
            found = running.estimate(how, who)
    finally:
        source.close()
    shared = shared_noise(certificate, design) if question.coded else ()
    _print(told_in(found, None, running.unanswered, (*running.notes, *shared)), format)


def _staged(survey: Survey, fpc: str | None, names: Sequence[str]) -> Survey:
    """Add clusters of one or two stages to the design, and the sizes of the population."""
    found: dict[str, Any] = dict(survey)
    if survey.get("cluster"):
        found["cluster"] = tuple(columns_named("cluster", [str(survey["cluster"])], names))
    if fpc is not None:
        parts = [fpc] if fpc in names else fpc.split(",")
        found["fpc"] = tuple(x if x in names else float(number(x)) for x in parts)
    return found  # type: ignore[return-value]


def _quantity(
    law: Plan,
    source: Source,
    names: Sequence[str],
    mean: str | None,
    where: dict[str, Any],
    ratio: dict[str, Any],
    options: Any,
) -> Quantity:
    """Estimate one number; the columns that it needs are read whole."""
    from bistochastic.adapters.record_batches import gathered
    from bistochastic.tables.question import Question
    from bistochastic.tables.sheet import Design

    survey = {name: value for name, value in options.items() if name != "population"}
    about = tuple(dict.fromkeys([*where, *ratio, *([mean] if mean else [])]))
    question = Question(law, about)
    needed = dict.fromkeys([*about, *question.protected, *question.groups,
                            *Design.of(**survey).columns])  # fmt: skip
    needed |= dict.fromkeys(a.within for a in law._numeric if a.within is not None)
    refuse_missing(needed, names)
    needed |= dict.fromkeys(unit for unit in question.units if unit in names)
    table = gathered(list(source.batches(list(needed))))
    if mean is not None:
        return law.mean(table, mean, where=where or None, **options)
    if ratio:
        return law.ratio(table, ratio, where or None, **options)
    return law.count(table, where, **options)


def _print_quantity(found: Quantity, form: str) -> None:
    """Print a number with its error and interval."""
    low, high = found.interval()
    facts = {"name": found.name, "value": found.value, "standard_error": found.standard_error,
             "low": low, "high": high}  # fmt: skip
    if form == "table":
        say(str(found))
        return
    columns = {name: [value] for name, value in facts.items()}
    print_rows(columns, form, {"records": found.records, "notes": list(found.notes)})


def _parse_conditions(where: Sequence[str], known: Sequence[str]) -> dict[str, list[str]]:
    """Read ``sex=F,M`` as a column and its categories, as they were typed."""
    found: dict[str, list[str]] = {}
    for words in where:
        column, levels = condition(words, known)
        if column in found:
            raise ValueError(f"`--where` must name a column once; got `{shown(column)}` twice")
        found[column] = levels
    return found


def _conditions(
    typed: Mapping[str, list[str]], source: Source, types: Mapping[str, str]
) -> dict[str, list[str | float]]:
    """Convert what was typed to the type of the column."""
    from bistochastic.adapters.table_files import held_in

    held = {**held_in(source), **types}
    return {
        column: [_level(held.get(column), level) for level in levels]
        for column, levels in typed.items()
    }


def _level(kind: str | None, typed: str) -> str | float:
    if kind == "text":
        return typed
    truths = {"true": True, "false": False}
    if kind in ("boolean", None) and typed.lower() in truths:
        return truths[typed.lower()]
    whole = None if kind == "floats" else plain_integer(typed)
    if whole is not None:
        return whole
    if kind == "floats" and _NUMBER.fullmatch(typed):
        return float(typed)
    # Any other spelling is not a category of such a column, and raises an error.
    return typed


def _print(found: Estimate, form: str) -> None:
    if form == "table":
        say(found.to_text())
        return
    facts = {
        "method": found.method, "population": found.population, "records": found.records,
        "total": found.records if found.total is None else found.total, "gap": found.gap,
        "notes": found._remarks(),
    }  # fmt: skip
    print_rows({**found._levels(), **found._columns()}, form, facts)
