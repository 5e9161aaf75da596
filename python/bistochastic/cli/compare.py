"""``compare``: matrices side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bistochastic import families
from bistochastic.cli.group import main, say
from bistochastic.cli.matrices import from_words
from bistochastic.report import compare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bistochastic.matrix import Matrix


@main.command(name="compare", short_help="Compare matrices side by side.")
@click.argument("matrices", nargs=-1)
@click.option("--size", default=12, show_default=True, help="Number of categories.")
@click.option("--beta", default=0.6, show_default=True, help="Beta that the families reach.")
def _compare(matrices: Sequence[str], size: int, beta: float) -> None:
    """Compare all measures of several matrices side by side.

    Without MATRICES it compares the families that can reach a beta.

    \b
    bistochastic compare --size 12 --beta 0.6
    bistochastic compare "k_anonymous size=12 k=3" "tridiagonal alphas=0.3 size=12" mine.npy
    """
    if matrices:
        say(compare(*(from_words(words) for words in matrices)))
        return
    reached: list[Matrix] = []
    failed: dict[str, ValueError] = {}
    for name in families.BY_BETA:
        try:
            reached.append(families.build(name, size=size, beta=beta))
        except ValueError as error:
            failed[name] = error
    if not reached:
        raise next(iter(failed.values()))
    say(compare(families.identity(size), *reached, families.uniform(size)))
    for name, why in failed.items():
        say(f"{name}: {why}")
