"""``choose``: the strongest protection for a tolerance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bistochastic.choose.strongest import strongest
from bistochastic.cli.group import main, say
from bistochastic.cli.plans import read_plan


@main.command(name="choose", short_help="Find the strongest beta for a tolerance.")
@click.option("--size", type=int, help="Number of categories.")
@click.option("--plan", type=click.Path(path_type=Path), help="A plan: all its columns at once.")
@click.option("--records", type=int, required=True, help="Number of records.")
@click.option("--within", "tolerance", type=float, required=True, help="Largest error, e.g. 0.03.")
@click.option("--share", type=float, help="True proportion for which it must hold, instead of any.")
@click.option("--confidence", default=0.95, show_default=True, help="Probability of keeping it.")
@click.option(
    "--design-effect", default=1.0, show_default=True, help="Factor of variances by the design."
)
def _choose(size: int | None, plan: Path | None, **options: Any) -> None:
    """Find the largest beta that keeps estimated proportions within a tolerance.

    Give a number of categories for a table of all families, or a plan for those of its columns.

    \b
    bistochastic choose --size 5 --records 4580 --within 0.03
    bistochastic choose --plan plan.toml --records 4580 --within 0.03
    """
    if (size is None) == (plan is None):
        raise click.UsageError("Give one of '--size' and '--plan'.")
    if plan is not None:
        say(read_plan(plan, "plan").strongest(**options))
    elif size is not None:
        say(strongest(size, **options))
