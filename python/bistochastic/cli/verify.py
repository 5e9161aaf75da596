"""``verify``: whether a protected file is the one that its certificate describes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bistochastic.cli.analysis import read_law
from bistochastic.cli.dialects import reads_csv
from bistochastic.cli.group import main, say, warn
from bistochastic.cli.plans import read_certificate
from bistochastic.words import shown

if TYPE_CHECKING:
    from bistochastic.adapters.csv_dialect import Dialect

_FILE = click.Path(path_type=Path)


@main.command(short_help="Check a protected file and certificate.")
@click.argument("file", type=_FILE)
@click.option("--certificate", type=_FILE, help="The certificate, if it is stored elsewhere.")
@click.option("--plan", type=_FILE, help="A plan that must be the one that protected the file.")
@reads_csv
def verify(file: Path, certificate: Path | None, plan: Path | None, dialect: Dialect) -> None:
    """Check that FILE, a protected file, is the one that its certificate describes.

    The certificate is next to the file, under its name or with its SHA-256, or in its schema
    (Parquet and Arrow). Four things are compared: the SHA-256 of the file, the columns, the
    categories of protected columns, and the number of records. The exit code is 1 if one differs.

    \b
    bistochastic verify protected.csv
    bistochastic verify protected.parquet --plan plan.toml
    """
    from bistochastic.files.opened import certified, check_contents, refuse_changed
    from bistochastic.plan.carried import refuse_other_plan

    if certificate is None:
        found = certified(file, "file")
    else:
        found = read_certificate(certificate, "certificate")
        refuse_changed(file, found, "file")
    check_contents(file, found, dialect)
    if plan is not None:
        refuse_other_plan(read_law(plan)[0], found)
    say(f"{shown(file)}: {found._line.removeprefix('of ')}")
    say("The columns, categories and number of records are as certified.")
    if found.files:
        say("The SHA-256 is in the certificate: the file is unchanged.")
    else:
        warn("The certificate lists no files, so it was not checked that cells are unchanged.")
