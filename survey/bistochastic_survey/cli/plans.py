"""``plan``: a first plan for a file, or the check of one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from click import argument, option

from bistochastic.errors import Refused
from bistochastic_survey.cli.group import in_shell, main, say, say_json
from bistochastic_survey.cli.inputs import read_plan
from bistochastic_survey.cli.options import FILE, columns_option, reads_csv
from bistochastic_survey.cli.typed import columns_named
from bistochastic_survey.files.atomic import new
from bistochastic_survey.files.csv_dialect import Dialect
from bistochastic_survey.progress import watched
from bistochastic_survey.wording import shown

if TYPE_CHECKING:
    from bistochastic_survey.table.schemas import Column

_BETA = 0.6


@main.command(name="plan", short_help="Write a first plan for a file, or check one.")
@argument("file", required=False, type=FILE)
@option(
    "--codebook",
    type=FILE,
    metavar="FILE",
    help="Categories of the columns: CSV with column and category, TOML, a Table Schema, or .sav.",
)
@option("--beta", type=float, help="Beta that every column reaches.  [default: 0.6]")
@option(
    "--epsilon",
    type=float,
    help="Largest epsilon of a column of categories; --beta is then for --numeric.",
)
@option("--truthfulness", type=float, help="Truthful probability, instead of beta.")
@option("--min-beta", type=float, help="Least beta of each column, if that is larger than --beta.")
@option(
    "--categories-from-data",
    is_flag=True,
    help="Read the categories of text columns from the data. Plan and certificate then say so.",
)
@columns_option("--ordinal", "Columns of declared categories whose order matters.")
@columns_option(
    "--numeric",
    "Columns of numbers to permute between records of similar rank; * for all undecided ones.",
)
@columns_option("--keep", "Columns to publish unchanged; * for all undecided ones.")
@columns_option("--drop", "Columns to leave out.")
@option(
    "--missing",
    type=click.Choice(["raise", "keep", "category"]),
    default="raise",
    show_default=True,
    help="What to do with missing values: category also hides who is missing.",
)
@option("--name", default="plan", show_default=True, help="Name of the plan, in all waves.")
@option(
    "--out", type=FILE, metavar="PLAN.toml", help="Write the plan to this new file, and show it."
)
@option("--check", is_flag=True, help="Check the plan in FILE instead of writing one.")
@option("--json", "as_json", is_flag=True, help="Print the check as JSON.")
@reads_csv
def _plan(
    file: Path | None,
    codebook: Path | None,
    out: Path | None,
    categories_from_data: bool,
    ordinal: Sequence[str],
    numeric: Sequence[str],
    keep: Sequence[str],
    drop: Sequence[str],
    beta: float | None,
    epsilon: float | None,
    check: bool,
    as_json: bool,
    dialect: Dialect,
    **options: Any,
) -> None:
    """Write a first plan for FILE as TOML: what happens to each column.

    FILE is a CSV, Parquet or Arrow file, a Table Schema (JSON), or a file of SPSS, Stata or SAS.
    Only names and types of columns are read. A column of a CSV file is numeric if all its fields
    are numbers. From SPSS and Stata, value labels become categories, and missing codes are recoded
    as missing. The labels are written into the plan, and leave only from there. A codebook is
    enough, too. Review the plan and edit it before you protect the file. To change the matrix of a
    column, write for example: matrix = {family = "randomized_response", requested = {beta = 0.7}}

    Every text column needs a list of categories: from a codebook, from an Enum type, or read from
    the data with --categories-from-data. Other non-numeric columns are dropped, with a warning.

    Numeric columns without categories may be ids, weights or codes. They are undecided: `protect`
    raises an error until each of them is named in --numeric, --keep or --drop, or has categories.
    Separate several columns by commas, or repeat the option.

    With --check, FILE is a plan. It is printed, and the exit code is 1 if a column is undecided or
    the plan does not reach --beta, --min-beta or --epsilon.

    \b
    bistochastic plan survey.csv --codebook codebook.csv --beta 0.6 --out plan.toml
    bistochastic plan survey.parquet --categories-from-data --keep region --out plan.toml
    bistochastic plan survey.sav --keep weight --drop name --out plan.toml
    bistochastic plan survey.csv --numeric age,income --keep weight --drop household
    bistochastic plan --check plan.toml --min-beta 0.6
    """
    from bistochastic_survey.files.formats import columns_in, open_source
    from bistochastic_survey.plan import draft

    if check and file is not None:
        plan = read_plan(file, "file")
        say_json(plan.preview().to_dict()) if as_json else say(plan.preview())
        plan._refuse_undecided()
        if (beta, epsilon, options["min_beta"]) != (None, None, None):
            plan.require(beta=beta, epsilon=epsilon, min_beta=options["min_beta"])
        return
    if file is None and codebook is None:
        raise click.UsageError("Missing argument 'FILE', or option '--codebook'.")
    if out is not None and out.suffix.lower() != ".toml":
        raise Refused("out", "end in .toml", shown(out.suffix) or "no ending")
    if out is not None and out.exists():
        raise Refused("out", "be a new file", f"one that there is: {shown(out)}")
    columns: list[Column] | None = None
    if file is not None and file.suffix.lower() == ".json":
        columns = draft.columns(file, look=False)
    elif file is not None:
        with closing(open_source(file, "file", dialect=dialect)) as source, watched("reading"):
            columns = columns_in(source, look=categories_from_data)
    book = None if codebook is None else draft.columns(codebook, look=False)
    listed = columns if columns is not None else book or []
    known = [column.name for column in listed]
    made = draft.of_columns(
        listed,
        book=book or () if columns is not None else (),
        look=categories_from_data,
        beta=_BETA if beta is epsilon is options["truthfulness"] is None else beta,
        epsilon=epsilon,
        ordinal=tuple(columns_named("ordinal", ordinal, known)),
        numeric=_star_or_columns("numeric", numeric, known),
        keep=_star_or_columns("keep", keep, known),
        drop=tuple(columns_named("drop", drop, known)),
        **options,
    )
    if out is None:
        say(made.plan.to_toml(), nl=False)
    else:
        try:
            with new(out, "out") as part:
                part.write_text(made.plan.to_toml(), encoding="utf-8")
        except FileNotFoundError:
            must = "be in a folder that there is"
            raise Refused("out", must, f"none at {shown(out.parent)}") from None
        except OSError as error:
            raise Refused("out", "be a file to write", error.strerror) from None
        say(f"{made.plan.preview()}\n\nWritten to {shown(out)}")
    # Last, where they are noticed; to stderr if the plan itself goes to stdout.
    for sentence in (*made.blanks, *made.left_out):
        say(in_shell(sentence), err=out is None)


def _star_or_columns(
    option: str, given: Sequence[str], known: Sequence[str]
) -> tuple[str, ...] | Literal["*"]:
    """Read the columns that an option names, or a star for all."""
    found = columns_named(option, given, known)
    return "*" if found == ["*"] and "*" not in known else tuple(found)
