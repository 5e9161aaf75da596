"""``estimate``: a table of the original from a protected file, read in batches."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bistochastic.cli.columns import columns_named, condition
from bistochastic.cli.dialects import reads_csv
from bistochastic.cli.group import main, say, say_json
from bistochastic.cli.numbers import number
from bistochastic.labels import plain_integer
from bistochastic.progress import steps
from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bistochastic.adapters.csv_dialect import Dialect
    from bistochastic.adapters.table_files import Source
    from bistochastic.estimate import Estimate
    from bistochastic.plan import Certificate, Plan
    from bistochastic.plan.attributes import Attribute


def _scale(_context: object, _option: object, typed: str | None) -> float | None:
    return None if typed is None else float(number(typed))


# A decimal number, as it is typed for a column of such.
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


@main.command(short_help="Estimate tables of the original.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--plan", required=True, type=click.Path(path_type=Path),
              help="The plan that protected the file, or the certificate.")  # fmt: skip
@click.option(
    "--by",
    required=True,
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
@click.option("--weights", help="A column of survey weights.")
@click.option("--strata", help="A column of strata of the sample.")
@click.option("--cluster", help="A column of clusters of the sample (primary sampling units), or "
              "the ids of people with several rows.")  # fmt: skip
@click.option("--replicates", multiple=True,
              help="Columns of replicate weights, e.g. r1,r2,r3, in place of strata and "
              "clusters. Repeatable.")  # fmt: skip
@click.option("--replicate-scale", metavar="NUMBER", callback=_scale,
              help="Factor of the squared differences of replicates, e.g. 79/80 for a jackknife "
              "of 80.  [default: 1 / their number]")  # fmt: skip
@click.option("--method", default="inverse", help="inverse, mle, simplex or shrunk.")
@click.option("--population", default="sampled", help="sampled, or fixed if the file is everyone.")
@click.option("--format", default="table", type=click.Choice(["table", "csv", "json"]),
              help="How the table is printed.")  # fmt: skip
@click.option("--json", "format", flag_value="json", help="The same as --format json.")
@reads_csv
def estimate(
    file: Path,
    plan: Path,
    by: Sequence[str],
    where: Sequence[str],
    weights: str | None,
    strata: str | None,
    cluster: str | None,
    replicates: Sequence[str],
    replicate_scale: float | None,
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
    """
    from bistochastic import arguments
    from bistochastic.adapters.table_files import opened, said
    from bistochastic.estimate.methods import METHODS
    from bistochastic.files.release import kinds
    from bistochastic.tables.estimates import designed, people, told_in
    from bistochastic.tables.question import ask
    from bistochastic.tables.running import Running
    from bistochastic.tables.sheet import shared_noise

    law, certified = _plan(plan)
    certificate = _check(file, law) or certified
    how = arguments.one_of("method", method, METHODS)
    types = kinds(law, released=True)
    names = _names(file, dialect)
    listed = columns_named("replicates", replicates, names)
    design = designed(law, {
        "weights": weights, "strata": strata, "cluster": cluster, "replicates": listed or None,
        "replicate_scale": replicate_scale,
    })  # fmt: skip
    who = people(population, design)
    for each in (design.weights, *design.replicates):
        if each is not None:
            types.setdefault(each, "number")
    source = opened(file, "file", types, dialect=dialect)
    try:
        with steps() as tell, said("file"):
            asked = columns_named("by", by, [*names, *types])
            typed = _typed(where, [*names, *types])
            # What is not protected is a number if all of the column are.
            clear = [n for n in dict.fromkeys([*asked, *typed]) if n in names and n not in types]
            tell("reading", None)
            source.decide(clear)
            question = ask(law, asked, _conditions(typed, source, types))
            needed = dict.fromkeys([*question.columns, *question.where, *question.protected,
                                    *question.groups, *design.columns])  # fmt: skip
            _refuse_missing(needed, names)
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


def _plan(path: Path) -> tuple[Plan, Certificate | None]:
    """A plan, or that of a certificate, with it."""
    from bistochastic.cli.plans import is_certificate, read_certificate, read_plan

    if not is_certificate(path, "plan"):
        return read_plan(path, "plan"), None
    certificate = read_certificate(path, "plan")
    return certificate.plan, certificate


def _check(file: Path, plan: Plan) -> Certificate | None:
    """Hold the plan against the certificate beside the file; without one, say so."""
    from bistochastic.cli.plans import certificate_beside

    certificate = certificate_beside(file)
    if certificate is None:
        say("Note: there is no certificate next to the file, so it was not checked that this plan "
            "protected it", err=True)  # fmt: skip
        return None

    def laws(given: Plan) -> dict[tuple[str, ...], Attribute]:
        return {each.columns: each for each in given._coded}

    then, now = laws(certificate.plan), laws(plan)
    if then != now:
        must = "`plan` must be the one that protected the file, as its certificate says"
        other = next(c for c in (*then, *now) if then.get(c) != now.get(c))
        listed = ", ".join(f"`{shown(column)}`" for column in other)
        raise ValueError(f"{must}; got one whose matrix of {listed} differs")
    return certificate


def _names(file: Path, dialect: Dialect) -> list[str]:
    """The columns of a file."""
    from bistochastic.adapters.table_files import opened

    source = opened(file, "file", dialect=dialect)
    source.close()
    return list(source.schema.names)


def _refuse_missing(needed: Mapping[str, object], names: Sequence[str]) -> None:
    for column in needed:
        if column not in names:
            raise ValueError(
                f"`file` must have the column `{shown(column)}`; got none of that name"
            )


def _typed(where: Sequence[str], known: Sequence[str]) -> dict[str, list[str]]:
    """``sex=F,M`` as a column and its levels, as they were typed."""
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
    """What was typed as levels of the kind that the column holds."""
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
    # What is spelled otherwise is no level of such a column, and is refused.
    return typed


def _print(found: Estimate, form: str) -> None:
    if form == "table":
        say(found.to_text())
        return
    import csv
    import io

    columns: dict[str, Any] = {**found._levels(), **found._columns()}
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
    say_json({
        "method": found.method, "population": found.population, "records": found.records,
        "total": found.records if found.total is None else found.total, "gap": found.gap,
        "notes": found._remarks(), "cells": finite,
    })  # fmt: skip
