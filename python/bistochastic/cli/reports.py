"""``report``: a plan or a certificate as an HTML report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from bistochastic.cli.group import main, say
from bistochastic.cli.plans import is_certificate, read_certificate, read_plan
from bistochastic.words import shown

_FILE = click.Path(path_type=Path)


@main.command(short_help="Write a report for a board or a lawyer.")
@click.argument("file", type=_FILE)
@click.option(
    "--out", required=True, type=_FILE, metavar="REPORT.html", help="Write the report to this file."
)
@click.option("--title", help="Title of the page; by default the name of the plan.")
@click.option("--publisher", help="Who publishes, printed below the title.")
@click.option("--date", help="Date, printed below the title as given.")
@click.option("--contact", help="Contact, printed below the title.")
@click.option("--records", type=int, help="Number of records, for the report of a plan.")
@click.option(
    "--design-effect",
    type=float,
    default=1.0,
    show_default=True,
    help="Factor by which variances exceed the variances of a simple random sample.",
)
def report(file: Path, out: Path, records: int | None, **options: Any) -> None:
    """Write the report of a release or a plan: one HTML page, for a board or a lawyer.

    FILE is a certificate (JSON) or a plan (TOML or JSON). The page is one file and opens offline.
    An existing page is replaced once the new one is complete.

    \b
    bistochastic report protected.csv.certificate.json --out report.html --title "Survey 2026"
    bistochastic report plan.toml --records 10000 --out report.html

    Errors of estimates are for a simple random sample; --design-effect raises them.
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
    say(f"Written to {shown(out)}")
