"""``protect``: a file in, a protected file and its certificate out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bistochastic.cli.dialects import reads_csv
from bistochastic.cli.group import main, say
from bistochastic.cli.keys import read_key
from bistochastic.cli.plans import read_certificate, read_plan
from bistochastic.progress import steps
from bistochastic.words import shown

if TYPE_CHECKING:
    from bistochastic.adapters.csv_dialect import Dialect
    from bistochastic.plan import Certificate

_FILE = click.Path(path_type=Path)


@main.command()
@click.argument("source", metavar="IN", type=_FILE)
@click.argument("out", type=_FILE)
@click.option("--plan", required=True, type=_FILE, help="The plan, TOML or JSON.")
@click.option("--key-file", type=_FILE, help="A key that is kept, to draw the same again.")
@click.option("--release-name", help="Name of this release, e.g. 2026-spring.")
@click.option("--id-column", metavar="COLUMN", help="Ids of people, who are in several waves.")
@click.option("--after", metavar="first|FILE", help="Certificate of the wave before, or first.")
@click.option(
    "--redraw", is_flag=True, help="Continue even if changes since --after give people new noise."
)
@click.option("--pseudonym", metavar="COLUMN", help="Write a keyed hash of the id, so named.")
@click.option(
    "--rerandomize-numeric", is_flag=True, help="Re-randomize numeric columns in this wave."
)
@click.option("--max-rows-per-id", default=1, show_default=True, help="Rows that an id may have.")
@click.option("--shuffle", is_flag=True, help="Put the rows in a random order.")
@click.option(
    "--certificate",
    type=_FILE,
    help="Where the certificate goes.  [default: OUT.certificate.json]",
)
@click.option("--ledger", type=_FILE, help="Enter the release in this file before the draw.")
@click.option("--dataset", help="Name of the data set in the ledger: one name, the same people.")
@click.option("--budget", type=float, help="Most that epsilon of a column may sum up to there.")
@reads_csv
def protect(
    source: Path,
    out: Path,
    plan: Path,
    key_file: Path | None,
    after: str | None,
    certificate: Path | None,
    ledger: Path | None,
    budget: float | None,
    dialect: Dialect,
    **options: object,
) -> None:
    """Protect the file IN by a plan and write it to OUT, with a certificate beside it.

    IN is a CSV, Parquet or Arrow file and OUT a CSV or Parquet file, by their ending. OUT appears
    when it is whole; until then an old one stays as it is. Without a key the noise is forgotten,
    which is right for a single release.

    \b
    bistochastic protect survey.csv protected.csv --plan plan.toml
    bistochastic protect wave2.parquet out.parquet --plan plan.toml --key-file survey.key \\
        --id-column person --after wave1.parquet.certificate.json

    CSV files have a header. An empty field is a missing value, and is written like that; "" is an
    empty text. Ids are texts. OUT is written in UTF-8, with the separator and the decimal mark of
    IN. Unprotected columns pass as they are, quoted only if they must be; truth values are
    written as true and false. From CSV to Parquet, an unprotected column becomes one of numbers if
    all of it are spelled as numbers that can be kept digit for digit, and one of texts if not.

    A quote that does not end is an error, and so is a line end inside a field: either may have
    swallowed rows. --max-line-ends admits some. Rows in messages are counted from 0, without the
    header. Memory does not grow with the file, but for a numeric column, which takes about 32
    bytes per row.

    Each run draws new noise, unless it has the same key and release name. To publish a release in
    two formats, protect once and convert the protected file: a second run warns, and says how.
    """
    from bistochastic.files.earlier import describe_draws, find_draws, read_earlier
    from bistochastic.files.release import protect_file
    from bistochastic.models.ledger import Ledger
    from bistochastic.plan.options import Options

    if not out.name:
        raise ValueError("`out` must be a file; got a folder")
    target = certificate or out.with_name(f"{out.name}.certificate.json")
    wave: Certificate | str | None = after
    if after is not None and after != "first":
        wave = read_certificate(Path(after), "after")
    inputs = {"in": source, "plan": plan, "key-file": key_file}
    for name, path in inputs.items():
        for written, to in (("out", out), ("certificate", target)):
            if path is not None and _same(path, to):
                raise ValueError(f"`{written}` must be another file than `{name}`; got the same")
    if _same(out, target):
        raise ValueError("`certificate` must be another file than `out`; got the same")
    made = read_plan(plan, "plan")
    key = None if key_file is None else read_key(key_file)
    if ledger is None and budget is not None:
        raise ValueError("`--budget` must be given with --ledger; got none")
    entries = None if ledger is None else Ledger(ledger, budget)
    settings = Options.of(made, key=key, after=wave, ledger=entries, **options)
    earlier = read_earlier(out)
    try:
        with steps() as progress:
            found = protect_file(
                made, source, out, target, settings, dialect=dialect, progress=progress
            )
    except MemoryError as error:
        raise ValueError(str(error) or "`in` must fit in memory; got a larger one") from None
    say(f"{shown(out)}: {found._line.removeprefix('of ')}")
    say(f"Published unchanged: {'; '.join(found.published_unchanged) or 'nothing'}")
    several = len(found.warnings)
    mind = f", with {several} thing{'s' * (several > 1)} to mind" if several else ""
    say(f"{shown(target)}: the certificate{mind}; `bistochastic inspect` shows it")
    draws = find_draws(earlier, found)
    if draws:
        say(f"Warning: {describe_draws(draws, out, target, found, dialect)}", err=True)


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
