"""``risk``: how exposed the records of an original are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bistochastic.cli.analysis import columns_in, refuse_missing
from bistochastic.cli.columns import columns_named
from bistochastic.cli.dialects import reads_csv
from bistochastic.cli.group import main, say, say_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bistochastic.adapters.csv_dialect import Dialect


@main.command(short_help="Measure the risk of the original.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--keys", required=True, multiple=True, metavar="COLUMNS",
              help="Columns that an attacker knows, e.g. sex,age. Repeatable.")  # fmt: skip
@click.option("--weights", metavar="COLUMN", help="Survey weights.")
@click.option("--sensitive", multiple=True, metavar="COLUMNS",
              help="Columns whose values must stay unknown. Repeatable.")  # fmt: skip
@click.option("--household", metavar="COLUMN", help="Records that belong together.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reads_csv
def risk(
    file: Path,
    keys: Sequence[str],
    weights: str | None,
    sensitive: Sequence[str],
    household: str | None,
    as_json: bool,
    dialect: Dialect,
) -> None:
    """Measure how exposed the records of FILE are to someone who knows their keys.

    FILE is the original, before anything is protected. The output reveals information about it.
    Keep it confidential.

    \b
    bistochastic risk survey.csv --keys sex,age,region --weights weight --household home
    """
    from bistochastic.adapters.table_files import whole
    from bistochastic.audit.risk import risk as measure

    names = columns_in(file, dialect)
    known = columns_named("keys", keys, names)
    secret = columns_named("sensitive", sensitive, names)
    needed = dict.fromkeys([*known, *secret, *(c for c in (weights, household) if c)])
    refuse_missing(needed, names)
    kinds = {} if weights is None else {weights: "number"}
    table = whole(file, "file", kinds, needed, dialect=dialect)
    found = measure(table, keys=known, weights=weights, sensitive=secret, household=household)
    if as_json:
        say_json(found.facts())
    else:
        say(str(found))
