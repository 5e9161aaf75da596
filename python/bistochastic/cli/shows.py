"""``demo`` and ``paper``: what the package shows of itself."""

from __future__ import annotations

import click

from bistochastic import paper
from bistochastic.cli import demo
from bistochastic.cli.group import main


@main.command(name="demo")
@click.option("--beta", default=0.6, show_default=True, help="Beta that every family reaches.")
def _demo(beta: float) -> None:
    """Try every family on the 2,201 people of the Titanic, then release and estimate them."""
    click.echo(demo.report(beta))


@main.command(name="paper")
@click.option("--markdown", is_flag=True, help="Print the page docs/paper.md.")
def _paper(markdown: bool) -> None:
    """The paper's statements recomputed: what is printed, what holds, and why they differ."""
    click.echo(paper.markdown() if markdown else paper.report())
