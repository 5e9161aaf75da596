"""``report``: a plan or a certificate as a page to be handed over."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from bistochastic.cli.group import main, say
from bistochastic.cli.plans import is_certificate, read_certificate, read_plan
from bistochastic.words import shown

_FILE = click.Path(path_type=Path)


@main.command()
@click.argument("file", type=_FILE)
@click.option("--out", required=True, type=_FILE, metavar="REPORT.html", help="The page to write.")
@click.option("--title", help="Title of the page; by default the name of the plan.")
@click.option("--publisher", help="Who publishes, printed below the title.")
@click.option("--date", help="Date, printed below the title as given.")
@click.option("--contact", help="Contact, printed below the title.")
@click.option("--records", type=int, help="Number of records that a plan is for.")
@click.option(
    "--design-effect",
    type=float,
    default=1.0,
    show_default=True,
    help="By how much variances exceed those of a simple random sample.",
)
def report(file: Path, out: Path, records: int | None, **options: Any) -> None:
    """Write what a release or a plan hides as a page, in words for a board or a lawyer.

    FILE is a certificate (JSON) or a plan (TOML or JSON). The page is one file that needs nothing
    else, and opens offline. It appears when it is whole; until then an old one stays as it is.

    \b
    bistochastic report protected.csv.certificate.json --out report.html --title "Survey 2026"
    bistochastic report plan.toml --records 10000 --out report.html

    Errors of estimates are those of a simple random sample, unless --design-effect says more.
    """
    if os.path.realpath(file) == os.path.realpath(out):
        raise ValueError("`out` must be another file than `file`; got the same")
    if out.suffix.lower() not in (".html", ".htm"):
        got = shown(out.suffix) if out.suffix else "no ending"
        raise ValueError(f"`out` must end in .html; got {got}")
    if is_certificate(file, "file"):
        if records is not None:
            raise ValueError("`records` must go with a plan; got a certificate")
        read_certificate(file, "file").report(out, **options)
    else:
        read_plan(file, "file").report(out, records, **options)
    say(f"written to {shown(out)}")
