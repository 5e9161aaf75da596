"""``decompose``: a matrix as a sum of permutations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from bistochastic.cli.group import main, say
from bistochastic.cli.matrices import from_words
from bistochastic.permutations import decomposition
from bistochastic.words import down, shown, table


@main.command(short_help="Write a matrix as a sum of permutations.")
@click.argument("matrix")
@click.option(
    "--policy", default="bottleneck", show_default=True, help="bottleneck (few terms) or any."
)
@click.option("--bits", type=int, help="First round to multiples of 2^-bits, for fewer terms.")
@click.option("--mass", default=1.0, show_default=True, help="Stop at this share of the matrix.")
@click.option("--max-terms", type=int, help="Stop after this many terms.")
@click.option("--restarts", default=1, show_default=True, help="Orders to try; the best is kept.")
@click.option("--top", default=10, show_default=True, help="Number of terms to show.")
@click.option("--out", help="Write all terms to this NPZ or CSV file.")
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
        what = "the matrix" if found.matrix == law else "the matrix on its coarser grid"
        say(f"The weights sum to 1 and the terms to {what}, exactly.")
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
