"""``ledger``: what was released about the same people."""

from __future__ import annotations

from pathlib import Path

import click

from bistochastic.cli.group import main, say
from bistochastic.cli.plans import read_certificate
from bistochastic.words import shown

_FILE = click.Path(path_type=Path)


@main.command(name="ledger", short_help="Show what was released about people.")
@click.argument("ledger", type=_FILE)
@click.option("--add", type=_FILE, metavar="CERTIFICATE",
              help="Enter a release that was made elsewhere, e.g. on an engine.")  # fmt: skip
@click.option("--dataset", help="Name of the data set of that release.")
def show_ledger(ledger: Path, add: Path | None, dataset: str | None) -> None:
    """Show the sum of epsilon and the best guess for every column in the file LEDGER.

    `protect --ledger` enters a release before anything is drawn.

    \b
    bistochastic protect survey.csv out.csv --plan plan.toml --ledger releases.jsonl \\
        --dataset 'survey 2026'
    bistochastic ledger releases.jsonl
    """
    from bistochastic.models.ledger import Ledger

    if (add is None) != (dataset is None):
        raise ValueError("`--dataset` must be given with --add; got one of both")
    found = Ledger(ledger)
    if add is None and not found.entries:
        raise ValueError(f"`ledger` must be a file with releases; got none at {shown(ledger)}")
    if add is not None and dataset is not None:
        found.add(read_certificate(add, "add"), dataset=dataset)
    say(found.to_text())
