"""``inspect``: a plan, a certificate or a matrix in tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import Any, get_args

import click
from click import argument, option

import bistochastic as bs
from bistochastic.errors import Refused
from bistochastic_survey.cli.group import main, say, say_json
from bistochastic_survey.cli.inputs import PLANS, read_law
from bistochastic_survey.cli.options import json_option
from bistochastic_survey.cli.typed import from_words, is_file, read_table, value


class _Grouped(click.Command):
    """List the options of matrices under a heading of their own."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        general = {"--records", "--full", "--json", "--help"}
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        for heading, own in (("Options", False), ("Options of a matrix", True)):
            listed = [each for each in options if general.isdisjoint(each.opts) is own]
            with formatter.section(heading):
                formatter.write_dl([each.get_help_record(ctx) or ("", "") for each in listed])


@main.command(cls=_Grouped, short_help="Show a plan, a certificate or a matrix.")
@argument("family", metavar="TARGET")
@option("--size", help="Number of categories.")
@option("--beta", help="Beta to reach: 0 hides nothing, 1 hides everything.")
@option("--epsilon", help="Largest epsilon of local differential privacy (inf is allowed).")
@option(
    "--truthfulness", "keep", help="Probability of reporting the true category, e.g. 0.65 or 2/3."
)
@option("--temperature", help="Temperature of a geometric or Gibbs matrix.")
@option("--k", help="Least number of codes per class.")
@option("--i", help="First of the two codes that a T-transform swaps.")
@option("--j", help="Second of the two codes that a T-transform swaps.")
@option("--sizes", help="Class sizes, e.g. 3,3,4.")
@option("--targets", help="Reported code of each code, e.g. 1,2,0.")
@option("--first-row", help="First row of a circulant, e.g. 0.6,0.3,0.1 or 3,1,1.")
@option("--alphas", help="One alpha with --size, or one per pair of neighbours, e.g. 0.1,0.2.")
@option("--kernel", help="Kernel of a reflected matrix, e.g. 0.5,0.25,0.")
@option(
    "--cost",
    help='Cost of each reported value: "ordinal" for abs(u - v), or a CSV, NPY or NPZ file. '
    "Adds the expected cost, and epsilon per unit of cost. A Gibbs matrix is made from it.",
)
@option("--array", help="Numbers to balance: a CSV, NPY or NPZ file.")
@option("--matrix", "matrices", multiple=True, help="A component of kron, mix or product.")
@option("--weights", help="Mixing weights, e.g. 0.9,0.1 or 2/3,1/3.")
@option("--prior", help="What an attacker believes first, e.g. 0.5,0.3,0.2.")
@option("--records", type=int, help="Number of records, for a plan with numeric columns.")
@option("--full", is_flag=True, help="Compute every measure, however long that takes.")
@json_option
def inspect(
    family: str,
    matrices: Sequence[str],
    cost: str | None,
    prior: str | None,
    records: int | None,
    full: bool,
    as_json: bool,
    **given: str | None,
) -> None:
    """Show TARGET: a plan, a certificate, or all measures of one matrix.

    TARGET is a plan (TOML or JSON), a certificate (JSON), the name of a family with its
    parameters, or a CSV, NPY or NPZ file with a matrix.

    \b
    bistochastic inspect plan.toml --records 1000
    bistochastic inspect randomized_response --size 12 --beta 0.6
    bistochastic inspect tridiagonal --alphas 0.1,0.2,0.3
    bistochastic inspect mine.csv
    bistochastic inspect kron --matrix "uniform size=3" --matrix "k_anonymous size=12 k=3"
    bistochastic inspect geometric --size 12 --beta 0.6 --cost ordinal
    """
    if is_file(family, PLANS):
        plan, certificate = read_law(Path(family), "target")
        target = certificate or plan.preview(records)
        say_json(target.to_dict()) if as_json else say(target)
        return
    if records is not None:
        raise Refused("records", "go with a plan", "a matrix")
    costs = None if cost is None else value("cost", cost)
    if is_file(family):
        matrix = bs.dense(read_table(family))
    else:
        values = {name: value(name, text) for name, text in given.items() if text is not None}
        maker = getattr(bs, family, bs.build) if family in get_args(bs.backend.Family) else bs.build
        if costs is not None and "cost" in signature(maker).parameters:
            values["cost"] = costs
        if matrices:
            values["matrices"] = [from_words(words) for words in matrices]
        matrix = bs.build(family, **values)
    belief = None if prior is None else value("weights", prior)
    profile = matrix.profile(cost=costs, prior=belief, full=full)
    if as_json:
        say_json({"matrix": json.loads(matrix.to_json()), "profile": profile.to_dict()})
        return
    listed = {
        "family": matrix.family, "size": matrix.size,
        "status": "exact" if matrix.is_exact else "bound",
        "parameters": _short(matrix.parameters), "requested": _short(matrix.requested),
    }  # fmt: skip
    say("\n".join(f"{name:<12}{text}" for name, text in listed.items()))
    _, *rows = repr(profile).split("\n")
    say("\n" + "\n".join(rows))


def _short(parameters: dict[str, Any]) -> str:
    """Write parameters in a line: of long ones the ends and the number."""

    def value(x: Any) -> str:
        if isinstance(x, list) and x and isinstance(x[0], list):
            return f"{len(x)} x {len(x[0])} counts"
        if isinstance(x, list) and len(x) > 4 and not isinstance(x[0], bs.Matrix):
            return f"[{x[0]}, {x[1]}, ..., {x[-1]}] ({len(x)} numbers)"
        return str(x)

    return ", ".join(f"{name}={value(x)}" for name, x in parameters.items()) or "nothing"
