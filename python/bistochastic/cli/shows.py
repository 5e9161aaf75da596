"""``demo`` and ``paper``: an example from start to end, and the paper recomputed."""

from __future__ import annotations

from pathlib import Path

import click

from bistochastic import paper
from bistochastic.cli import demo
from bistochastic.cli.group import main, say
from bistochastic.words import shown


@main.command(name="demo", short_help="Plan, protect and estimate sample data.")
@click.option("--beta", default=0.6, show_default=True, help="Beta that every column reaches.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="Write the data to this new file, and a codebook next to it, instead.",
)
def _demo(beta: float, data: Path | None) -> None:
    """Plan, protect and estimate the 2,201 people of the Titanic.

    \b
    bistochastic demo
    bistochastic demo --data titanic.csv
    """
    if data is None:
        say(demo.report(beta))
        return
    for path in demo.write(data):
        say(f"Written to {shown(path)}")


@main.command(name="paper", short_help="Recompute the statements of the paper.")
@click.option("--markdown", is_flag=True, help="Print the page as Markdown.")
def _paper(markdown: bool) -> None:
    """Recompute the paper's statements: what is printed, what holds, and why they differ."""
    say(paper.markdown() if markdown else paper.report())
