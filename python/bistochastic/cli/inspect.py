"""``inspect``: what one matrix tells."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bistochastic import families
from bistochastic.cli.files import is_file, read_table
from bistochastic.cli.group import main, say
from bistochastic.cli.matrices import from_words, parameters_of, value
from bistochastic.cli.plans import is_certificate, is_plan, read_certificate, read_plan
from bistochastic.report import facts

if TYPE_CHECKING:
    from collections.abc import Sequence


@main.command()
@click.argument("family")
@click.option("--size", help="Number of categories.")
@click.option("--beta", help="Beta to reach: 0 hides nothing, 1 hides everything.")
@click.option("--epsilon", help="Largest epsilon of local differential privacy (inf is allowed).")
@click.option(
    "--truthfulness", "keep", help="Probability of reporting the true category, e.g. 0.65 or 2/3."
)
@click.option("--temperature", help="Temperature of a geometric or Gibbs matrix.")
@click.option("--k", help="Least number of codes per class.")
@click.option("--i", help="First of the two codes that a T-transform swaps.")
@click.option("--j", help="Second of the two codes that a T-transform swaps.")
@click.option("--sizes", help="Class sizes, as 3,3,4.")
@click.option("--targets", help="Reported code of each code, as 1,2,0.")
@click.option("--first-row", help="First row of a circulant, as 0.6,0.3,0.1 or 3,1,1.")
@click.option("--alphas", help="One alpha with --size, or one per pair of neighbours, as 0.1,0.2.")
@click.option("--kernel", help="Kernel of a reflected matrix, as 0.5,0.25,0.")
@click.option(
    "--cost",
    help='Cost of each reported value: "ordinal" for abs(u - v), or a CSV, NPY or NPZ file. '
    "Adds the expected cost, and epsilon per unit of cost. A Gibbs matrix is made from it.",
)
@click.option("--array", help="Numbers to balance: a CSV, NPY or NPZ file.")
@click.option("--matrix", "matrices", multiple=True, help="A part of kron, mix or product.")
@click.option("--weights", help="Weights of a mix, as 0.9,0.1 or 2/3,1/3.")
@click.option("--prior", help="What an attacker believes beforehand, as 0.5,0.3,0.2.")
@click.option("--records", type=int, help="Number of records that a plan is for.")
@click.option("--full", is_flag=True, help="Compute every measure, however long that takes.")
def inspect(
    family: str,
    matrices: Sequence[str],
    cost: str | None,
    prior: str | None,
    records: int | None,
    full: bool,
    **given: str | None,
) -> None:
    """All measures of one matrix: FAMILY with its parameters, or a CSV, NPY or NPZ file.

    A plan (TOML or JSON) or a certificate (JSON) is shown as a table.

    \b
    bistochastic inspect plan.toml --records 1000
    bistochastic inspect randomized_response --size 12 --beta 0.6
    bistochastic inspect tridiagonal --alphas 0.1,0.2,0.3
    bistochastic inspect mine.csv
    bistochastic inspect kron --matrix "uniform size=3" --matrix "k_anonymous size=12 k=3"
    bistochastic inspect geometric --size 12 --beta 0.6 --cost ordinal
    """
    if is_plan(family):
        path = Path(family)
        is_one = is_certificate(path, "family")
        shown_whole = read_certificate(path, "family") if is_one else (
            read_plan(path, "family").preview(records))  # fmt: skip
        say(str(shown_whole))
        return
    if records is not None:
        raise ValueError("`records` must go with a plan; got a matrix")
    costs = None if cost is None else value("cost", cost)
    if is_file(family):
        matrix = families.dense(read_table(family))
    else:
        values = {name: value(name, text) for name, text in given.items() if text is not None}
        if costs is not None and "cost" in parameters_of(family):
            values["cost"] = costs
        if matrices:
            values["matrices"] = [from_words(words) for words in matrices]
        matrix = families.build(family, **values)
    measured = ("entropy_rate", "beta", "epsilon", "truthfulness", "is_ergodic")
    shown = [fact for fact in facts(matrix) if fact[0] not in measured]
    width = max(len(name) for name, _ in shown)
    for name, text in shown:
        say(f"{name.ljust(width)}  {text}")
    belief = None if prior is None else value("weights", prior)
    _, *rows = repr(matrix.profile(cost=costs, prior=belief, full=full)).split("\n")
    say("\n" + "\n".join(rows))
