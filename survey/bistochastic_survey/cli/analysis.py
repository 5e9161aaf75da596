"""``estimate`` and ``regress``: analyses of a protected file."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click import option

from bistochastic.errors import Refused
from bistochastic_survey.cli.group import main, say
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
from bistochastic_survey.cli.plans import read_law
from bistochastic_survey.cli.typed import columns_named, conditions
from bistochastic_survey.plan.labels import plain_integer
from bistochastic_survey.progress import steps
from bistochastic_survey.wording import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bistochastic_survey.analysis.quantities import Quantity
    from bistochastic_survey.files.csv_dialect import Dialect
    from bistochastic_survey.plan import Certificate, Plan

# A decimal number, as it is typed for a column of such.
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def read_own(file: Path, typed: Path | None, name: str = "file") -> tuple[Plan, Certificate | None]:
    """Find the plan of a protected file, by its certificate or as typed, and the certificate."""
    from bistochastic_survey.files.formats import check_file
    from bistochastic_survey.files.open import find_certificate
    from bistochastic_survey.release.embedded import refuse_other_plan

    if typed is None:
        check_file(file, name)
        certificate = find_certificate(file)
        if certificate is None:
            must = "have its certificate next to it or in it, or --plan be given"
            raise Refused(name, must, "neither")
        return certificate.plan, certificate
    plan, certified = read_law(typed)
    certificate = find_certificate(file) if file.name else None
    if certificate is None:
        say(f"Note: there is no certificate next to the {name}, so it was not checked that this "
            "plan protected it", err=True)  # fmt: skip
        return plan, certified
    refuse_other_plan(plan, certificate.plan)
    return plan, certificate


def columns_in(file: Path, dialect: Dialect) -> list[str]:
    """List the columns of a file."""
    from bistochastic_survey.files.formats import opened

    with closing(opened(file, "file", dialect=dialect)) as source:
        return list(source.schema.names)


def refuse_missing(needed: Iterable[str], names: Sequence[str]) -> None:
    """Raise an error for a file without a column."""
    for column in needed:
        if column not in names:
            raise Refused("file", f"have the column `{shown(column)}`", "none of that name")


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
    bistochastic estimate protected.csv --by sex,education
    bistochastic estimate protected.parquet --by sex --where region=N --format csv
    bistochastic estimate protected.csv --mean age --weights w --fpc 12000
    bistochastic estimate protected.csv --ratio smokes=yes --where sex=F
    """
    from bistochastic.estimate import METHODS
    from bistochastic_survey import checks
    from bistochastic_survey.analysis.design import Design
    from bistochastic_survey.analysis.estimates import people, told_in
    from bistochastic_survey.analysis.protected_table import shared_noise
    from bistochastic_survey.analysis.request import Question, ask
    from bistochastic_survey.analysis.running_counts import Running
    from bistochastic_survey.files.formats import held_in, opened
    from bistochastic_survey.files.protect import kinds
    from bistochastic_survey.files.tables import said
    from bistochastic_survey.plan import Release
    from bistochastic_survey.table.record_batches import gathered

    law, certificate = read_own(file, plan)
    how = checks.one_of("method", method, METHODS)
    types = kinds(law, released=True)
    names = columns_in(file, dialect)
    asked_for = [bool(by), mean is not None, count, bool(ratio)]
    if asked_for.count(True) != 1:
        must = "be given one of --by, --mean, --count and --ratio"
        raise Refused("estimate", must, asked_for.count(True) or "none")
    design = Design._of(design_of(survey, fpc, names), law)
    who = people(population, design)
    for each in (design.weights, *(design.replicates or ()), *design._sizes):
        if isinstance(each, str):
            types.setdefault(each, "number")
    source = opened(file, "file", types, dialect=dialect)
    with closing(source), steps() as tell, said("file"):
        asked = columns_named("by", by, [*names, *types])
        typed = [conditions(words, [*names, *types]) for words in (where, ratio)]
        about = dict.fromkeys([*asked, *typed[0], *typed[1], *([mean] if mean else [])])
        tell("reading", None)
        # An unprotected cell is a number if all cells of its column are.
        source.decide([n for n in about if n in names and n not in types])
        held = {**held_in(source), **types}
        met, shared_by = ({column: [_level(held.get(column), level) for level in levels]
                           for column, levels in each.items()} for each in typed)  # fmt: skip
        question = ask(law, asked, met) if by else Question(law, tuple(about))
        needed = dict.fromkeys([*question.columns, *question.where, *question.protected,
                                *question.groups, *design._columns])  # fmt: skip
        if not by:
            needed |= dict.fromkeys(a.within for a in law._numeric if a.within is not None)
        refuse_missing(needed, names)
        needed |= dict.fromkeys(unit for unit in question.units if unit in names)
        if not by:
            release = Release(gathered(list(source.batches(list(needed)))), law)
            drawn: Any = {"design": design, "population": who}
            if mean is not None:
                _show_quantity(format, release.mean(mean, where=met or None, **drawn))
            elif ratio:
                _show_quantity(format, release.ratio(shared_by, met or None, **drawn))
            else:
                _show_quantity(format, release.count(met, **drawn))
            return
        running = Running(question, design)
        for batch in source.batches(list(needed)):
            running.add(batch)
            tell(f"reading, {running.rows:,} rows", None)
        tell("estimating", None)
        cells = running.estimate(how, who)
    shared = shared_noise(certificate, design) if question.coded else ()
    found = told_in(cells, running.unanswered, (*running.notes, *shared))
    facts = {
        "method": found.method, "population": found.population, "records": found.records,
        "total": found.records if found.total is None else found.total, "gap": found.gap,
        "notes": found._remarks(),
    }  # fmt: skip
    show(format, found.to_text, lambda: {**found._levels(), **found._columns()}, facts)


def _show_quantity(form: str, found: Quantity) -> None:
    """Print a number with its error and interval."""
    low, high = found.interval()
    cells = {"name": found.name, "value": found.value, "standard_error": found.standard_error,
             "low": low, "high": high}  # fmt: skip
    facts = {"records": found.records, "notes": list(found.notes)}
    show(form, found.__str__, lambda: {name: [x] for name, x in cells.items()}, facts)


def _level(kind: str | None, typed: str) -> str | float:
    """Convert a category that was typed to the type of its column."""
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
    bistochastic regress protected.csv --model logistic \\
        --formula 'smokes ~ sex + age'
    """
    from bistochastic_survey.analysis.protected_table import shared_noise
    from bistochastic_survey.analysis.request import Question
    from bistochastic_survey.files.formats import whole
    from bistochastic_survey.files.protect import kinds
    from bistochastic_survey.models.formula import parse
    from bistochastic_survey.plan import Release

    law, certificate = read_own(file, plan)
    sides = parse(formula)
    names = columns_in(file, dialect)
    design = design_of(survey, None, names)
    question = Question(law, tuple(sides.outcome | sides.covariates))
    columns = {*question.columns, *question.protected, *question.groups}
    needed = dict.fromkeys([*sorted(columns), *design._columns])
    refuse_missing(needed, names)
    needed |= dict.fromkeys(unit for unit in question.units if unit in names)
    types = kinds(law, released=True)
    for each in (design.weights, *(design.replicates or ())):
        if each is not None:
            types.setdefault(each, "number")
    table = whole(file, "file", types, needed, dialect=dialect)
    given: Any = {"model": model, "method": method, "design": design}
    found = Release(table, law).regress(formula, **given)
    found = replace(found, notes=(*found.notes, *shared_noise(certificate, design)))
    facts = {
        "formula": found.formula, "model": found.model, "method": found.method,
        "outcomes": found.outcomes, "records": found.records, "notes": found.notes,
    }  # fmt: skip
    show(format, found.summary, found._columns, facts)
