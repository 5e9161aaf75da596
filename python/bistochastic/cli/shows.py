"""``demo`` and ``paper``: what the package shows of itself."""

from __future__ import annotations

import click

from bistochastic import paper
from bistochastic.cli import demo
from bistochastic.cli.group import main


@main.command(name="demo")
@click.option("--beta", default=0.6, show_default=True, help="Share of perfect secrecy to buy.")
def _demo(beta: float) -> None:
    """What each family costs on the 2,201 people of the Titanic, and a release of them."""
    click.echo(demo.report(beta))


@main.command(name="paper")
@click.option("--markdown", is_flag=True, help="As the page docs/paper.md.")
def _paper(markdown: bool) -> None:
    """What the paper states, recomputed: as printed, as it holds, and why they differ."""
    click.echo(paper.markdown() if markdown else paper.report())
