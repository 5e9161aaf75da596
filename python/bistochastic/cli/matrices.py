"""``inspect``, ``compare`` and ``decompose``: matrices in tables, and plans and certificates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import argument, option

from bistochastic import families
from bistochastic.cli.group import main, say, say_json
from bistochastic.cli.options import json_option
from bistochastic.cli.plans import is_plan, read_law
from bistochastic.cli.typed import from_words, is_file, read_table, value
from bistochastic.permutations import decomposition
from bistochastic.report import compare, facts
from bistochastic.words import down, shown, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bistochastic.matrix import Matrix


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
    if is_plan(family):
        plan, certificate = read_law(Path(family), "target")
        target = certificate or plan.preview(records)
        say_json(target.to_dict()) if as_json else say(target)
        return
    if records is not None:
        raise ValueError("`records` must go with a plan; got a matrix")
    costs = None if cost is None else value("cost", cost)
    if is_file(family):
        matrix = families.dense(read_table(family))
    else:
        values = {name: value(name, text) for name, text in given.items() if text is not None}
        if costs is not None and "cost" in families.TAKEN.get(family, ()):
            values["cost"] = costs
        if matrices:
            values["matrices"] = [from_words(words) for words in matrices]
        matrix = families.build(family, **values)
    belief = None if prior is None else value("weights", prior)
    profile = matrix.profile(cost=costs, prior=belief, full=full)
    if as_json:
        say_json({"matrix": json.loads(matrix.to_json()), "profile": profile.to_dict()})
        return
    measured = ("entropy_rate", "beta", "epsilon", "truthfulness", "is_ergodic")
    listed = [fact for fact in facts(matrix) if fact[0] not in measured]
    width = max(len(name) for name, _ in listed)
    for name, text in listed:
        say(f"{name.ljust(width)}  {text}")
    _, *rows = repr(profile).split("\n")
    say("\n" + "\n".join(rows))


@main.command(name="compare", short_help="Compare matrices side by side.")
@argument("matrices", nargs=-1)
@option("--size", default=12, show_default=True, help="Number of categories.")
@option("--beta", default=0.6, show_default=True, help="Beta that the families reach.")
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


@main.command(short_help="Write a matrix as a sum of permutations.")
@argument("matrix")
@option("--mass", default=1.0, show_default=True, help="Stop at this share of the matrix.")
@option("--max-terms", type=int, help="Stop after this many terms.")
@option("--restarts", default=1, show_default=True, help="Orders to try; the best is kept.")
@option("--top", default=10, show_default=True, help="Number of terms to show.")
@option("--out", help="Write all terms to this NPZ or CSV file.")
def decompose(matrix: str, top: int, out: str | None, **options: Any) -> None:
    """Decompose a matrix into a weighted sum of permutations, exactly (Theorem 1).

    MATRIX is a CSV, NPY, NPZ or Matrix Market (.mtx) file, or a family with its parameters.

    \b
    bistochastic decompose mine.csv --out terms.npz
    bistochastic decompose counts.mtx --restarts 32
    bistochastic decompose "tridiagonal alphas=0.3 size=12"
    """
    if out is not None and not out.lower().endswith((".npz", ".csv")):
        got = shown(Path(out).suffix or "no ending")
        raise ValueError(f"`out` must end in .npz, .csv; got {got}")
    law = from_words(matrix)
    found = law.decompose(**options)
    n, many = law.size, f"{found.terms:,} term{'s' * (found.terms != 1)}"
    say(f"Decomposition of {law.family}, {n} x {n}: {many}")
    if top > 0:
        header = ["Term", "Weight", "Sum", "Where 0, 1, 2, ... go"]
        say(table(header, decomposition.largest(found, top)))
    if found.residual_weight:
        say(f"Left out: {float(found.residual_weight):.6g} of the whole")
    else:
        say("The weights sum to 1 and the terms to the matrix, exactly.")
    say(
        f"One permutation for a whole column hides {down(found.joint_entropy)} bits in all.\n"
        f"Records that are randomized one by one hide {down(law.entropy_rate)} bits each."
    )
    if out is not None:
        try:
            if out.lower().endswith(".npz"):
                found.to_npz(out)
            else:
                decomposition.to_csv(found, out)
        except OSError as error:
            raise ValueError(f"`out` must be a file to write; got {error.strerror}") from None
        say(f"Written to {shown(out)}")
