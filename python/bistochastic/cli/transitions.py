"""``transitions``: moves between two protected waves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bistochastic.cli.analysis import (
    check_law,
    columns_in,
    format_option,
    plan_option,
    print_rows,
    read_law,
    survey_of,
    takes_survey,
)
from bistochastic.cli.columns import columns_named
from bistochastic.cli.dialects import reads_csv
from bistochastic.cli.group import main, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bistochastic.adapters.csv_dialect import Dialect

_FILE = click.Path(path_type=Path)


@main.command(short_help="Estimate moves between two waves.")
@click.argument("wave1", type=_FILE)
@click.argument("wave2", type=_FILE)
@plan_option
@click.option("--plan2", type=_FILE, help="The plan of WAVE2, if it is another one.")
@click.option("--by", required=True, multiple=True, metavar="COLUMNS",
              help="Columns of the table, e.g. job,town. Repeatable.")  # fmt: skip
@click.option("--id-column", metavar="COLUMN", help="Ids that both files hold.")
@click.option("--pseudonym", metavar="COLUMN", help="Keyed hashes of ids that both files hold.")
@takes_survey
@format_option
@reads_csv
def transitions(
    wave1: Path,
    wave2: Path,
    plan: Path,
    plan2: Path | None,
    by: Sequence[str],
    id_column: str | None,
    pseudonym: str | None,
    survey: dict[str, Any],
    format: str,
    dialect: Dialect,
) -> None:
    """Estimate how many people moved between categories from WAVE1 to WAVE2.

    Both are protected files with ids of the same people. With ids, people who did not move have the
    same reported value in both files, and the estimate corrects for that.

    \b
    bistochastic transitions wave1.csv wave2.csv --plan plan.toml --by job --pseudonym person
    """
    from bistochastic.adapters.table_files import whole
    from bistochastic.files.release import kinds
    from bistochastic.plan.protect import Release

    waves: list[Any] = []
    listed: list[str] = []
    law = read_law(plan)[0]
    other = law if plan2 is None else read_law(plan2, "plan2")[0]
    for file, each in ((wave1, law), (wave2, other)):
        certificate = check_law(file, each)
        names = columns_in(file, dialect)
        listed = columns_named("by", by, names)
        types = kinds(each)
        for column in (id_column, pseudonym):
            if column is not None:
                types.setdefault(column, "text")
        table = whole(file, "file", types, dialect=dialect)
        waves.append(table if certificate is None else Release(table, certificate))
    found = law.transitions(
        *waves, columns=listed, id_column=id_column, pseudonym=pseudonym, plan2=other,
        **survey_of(survey, names),
    )  # fmt: skip
    if format == "table":
        say(repr(found))
        return
    facts = {"people": found.people, "alone": found.alone, "memoised": found.memoised}
    print_rows(found._columns(), format, facts)
