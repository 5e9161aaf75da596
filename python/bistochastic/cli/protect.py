"""``protect``: a file in, a protected file and its certificate out."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bistochastic.cli.dialects import reads_csv
from bistochastic.cli.group import main, say, warn
from bistochastic.cli.keys import read_key
from bistochastic.cli.plans import read_certificate, read_plan
from bistochastic.progress import steps
from bistochastic.words import shown

if TYPE_CHECKING:
    from bistochastic.adapters.csv_dialect import Dialect
    from bistochastic.plan import Certificate

_FILE = click.Path(path_type=Path)


@main.command(short_help="Protect a file by a plan.")
@click.argument("source", metavar="IN", type=_FILE)
@click.argument("outs", metavar="OUT...", nargs=-1, required=True, type=_FILE)
@click.option("--plan", required=True, type=_FILE, help="The plan, TOML or JSON.")
@click.option("--key-file", type=_FILE, help="A stored key, to reproduce the noise.")
@click.option("--release-name", help="Name of this release, e.g. 2026-spring.")
@click.option("--id-column", metavar="COLUMN", help="Ids of people who are in several waves.")
@click.option("--after", metavar="first|FILE", help="Certificate of the wave before, or first.")
@click.option(
    "--redraw", is_flag=True, help="Continue even if changes since --after give people new noise."
)
@click.option(
    "--pseudonym", metavar="COLUMN", help="Write a keyed hash of the id to this new column."
)
@click.option(
    "--rerandomize-numeric", is_flag=True, help="Re-randomize numeric columns in this wave."
)
@click.option("--max-rows-per-id", default=1, show_default=True, help="Rows that an id may have.")
@click.option(
    "--unit-pseudonym", multiple=True, metavar="COLUMN=NAME",
    help="Replace the column of a unit, e.g. a household's, by a keyed hash.",
)  # fmt: skip
@click.option("--count-units", is_flag=True, help="State the number of units in the certificate.")
@click.option("--shuffle", is_flag=True, help="Put the rows in a random order.")
@click.option(
    "--certificate",
    type=_FILE,
    help="Write the certificate here.  [default: OUT.certificate.json]",
)
@click.option("--ledger", type=_FILE, help="Enter the release in this file before the draw.")
@click.option("--dataset", help="Name of the data set in the ledger: one name, the same people.")
@click.option("--budget", type=float, help="Largest sum of epsilon per column in the ledger.")
@reads_csv
def protect(
    source: Path,
    outs: tuple[Path, ...],
    plan: Path,
    key_file: Path | None,
    after: str | None,
    certificate: Path | None,
    ledger: Path | None,
    budget: float | None,
    dialect: Dialect,
    unit_pseudonym: tuple[str, ...],
    **options: object,
) -> None:
    """Protect the file IN by a plan and write it to OUT, with a certificate next to it.

    IN is a CSV, Parquet or Arrow file, or one of SPSS, Stata or SAS (.sav, .zsav, .dta, .sas7bdat,
    .xpt), by its ending. OUT is a .csv, .parquet, .sav or .dta file. An existing OUT is replaced
    once the new one is complete. Without --key-file, a key is generated and discarded, which is
    right for a single release.

    Several OUT files hold the same noise in several formats. One certificate, next to the first,
    lists all of them.

    \b
    bistochastic protect survey.csv protected.csv --plan plan.toml --shuffle
    bistochastic protect survey.sav protected.csv protected.sav --plan plan.toml --shuffle
    bistochastic protect wave2.parquet out.parquet --plan plan.toml --key-file survey.key \\
        --id-column person --after wave1.parquet.certificate.json

    CSV files have a header. An empty field is a missing value; "" is an empty string. Ids are
    strings. OUT is UTF-8, with the separator and the decimal mark of IN. Unprotected columns are
    copied unchanged; booleans are written as true and false. From CSV to Parquet, an unprotected
    column becomes numeric if each of its fields is a number that can be stored without rounding.

    A quote that does not end is an error, and so is a line end inside a field: either may have
    swallowed rows. --max-line-ends allows some. Messages count rows from 0, without the header.
    Memory use does not grow with the file, except for numeric columns: about 32 bytes per row.
    Files of SPSS, Stata and SAS are read and written whole. Their labels come from the plan.

    Each run draws new noise, unless it has the same key and release name. To publish a release in
    two formats, name both files in one run.
    """
    from bistochastic.files.earlier import describe_draws, find_draws, read_earlier
    from bistochastic.files.release import protect_file
    from bistochastic.models.ledger import Ledger
    from bistochastic.plan.options import Options

    if not all(out.name for out in outs):
        raise ValueError("`out` must be a file; got a folder")
    out = outs[0]
    target = certificate or out.with_name(f"{out.name}.certificate.json")
    wave: Certificate | str | None = after
    if after is not None and after != "first":
        wave = read_certificate(Path(after), "after")
    inputs = {"in": source, "plan": plan, "key-file": key_file}
    for name, path in inputs.items():
        for written, to in (*(("out", each) for each in outs), ("certificate", target)):
            if path is not None and _same(path, to):
                raise ValueError(f"`{written}` must be another file than `{name}`; got the same")
    if any(_same(each, target) for each in outs):
        raise ValueError("`certificate` must be another file than `out`; got the same")
    made = read_plan(plan, "plan")
    key = None if key_file is None else read_key(key_file)
    if ledger is None and budget is not None:
        raise ValueError("`--budget` must be given with --ledger; got none")
    entries = None if ledger is None else Ledger(ledger, budget)
    settings = Options.of(
        made, key=key, after=wave, ledger=entries, unit_pseudonym=_named(unit_pseudonym), **options
    )
    earlier = read_earlier(out)
    try:
        with steps() as progress:
            found = protect_file(
                made, source, outs, target, settings, dialect=dialect, progress=progress
            )
    except MemoryError as error:
        raise ValueError(str(error) or "`in` must fit in memory; got a larger one") from None
    say(f"{shown(out)}: {found._line.removeprefix('of ')}")
    for each in outs[1:]:
        say(f"{shown(each)}: the same records")
    say(f"{shown(target)}: the certificate")
    say("\nPublished unchanged:")
    say("\n".join(f"  {each}" for each in found.published_unchanged or ("nothing",)))
    order = "the rows are in the order of the original, which can reveal values: use --shuffle"
    warnings = [*found.warnings, *[order] * (not found.shuffled)]
    if warnings:
        say("\nWarnings:\n" + "\n".join(f"  {each}" for each in warnings))
    say(f"\nNext:\n{_next(source, out, plan, target, found)}")
    draws = find_draws(earlier, found)
    if draws:
        warn(describe_draws(draws, out, target, found, dialect))


def _next(source: Path, out: Path, plan: Path, target: Path, found: Certificate) -> str:
    """Write the commands to run before the release is published."""
    files = [shlex.quote(shown(path)) for path in (source, out, plan, target)]
    commands = [f"bistochastic report {files[3]} --out report.html"]
    if not found.shuffled:
        commands.insert(0, f"bistochastic audit {files[0]} {files[1]} --plan {files[2]}")
    return "\n".join(f"  {command}" for command in commands)


def _named(pairs: tuple[str, ...]) -> dict[str, str]:
    """Read ``COLUMN=NAME`` as a column and a name, each column once."""
    found = {}
    for pair in pairs:
        column, mark, name = pair.rpartition("=")
        if not mark or column in found:
            got = f"`{shown(column)}` twice" if mark else f"`{shown(pair)}`"
            raise ValueError(f"`--unit-pseudonym` must be COLUMN=NAME, each once; got {got}")
        found[column] = name
    return found


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
