"""``plan``: a first plan for a file; and plans and certificates from files."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from bistochastic.cli.columns import columns_named
from bistochastic.cli.dialects import reads_csv
from bistochastic.cli.group import in_shell, main, say, say_json
from bistochastic.files.whole import new
from bistochastic.progress import watched
from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bistochastic.adapters.csv_dialect import Dialect
    from bistochastic.adapters.schemas import Column
    from bistochastic.plan import Certificate, Plan

_FILES = (".toml", ".json")
_BETA = 0.6


def is_plan(words: str) -> bool:
    """Say whether what was typed names a plan or a certificate rather than a family."""
    return words.lower().endswith(_FILES) and "=" not in words


def text_of(path: Path, name: str) -> str:
    """Read the text of a small file."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        where = f"other bytes at byte {error.start} of {shown(path)}"
        raise ValueError(f"`{name}` must be UTF-8; got {where}") from None
    except FileNotFoundError:
        raise ValueError(f"`{name}` must be a file to read; got none at {shown(path)}") from None
    except OSError as error:
        why = f"{error.strerror} at {shown(path)}"
        raise ValueError(f"`{name}` must be a file to read; got {why}") from None


@contextmanager
def in_file(path: Path) -> Iterator[None]:
    """Name the file in errors about its text.

    >>> with in_file(Path("plan.toml")):
    ...     raise ValueError("`text` must be TOML; got something else in line 1, column 3")
    Traceback (most recent call last):
        ...
    ValueError: `plan.toml` must be TOML; got something else in line 1, column 3
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        said, file = str(error), f"`{shown(path)}`"
        about = said.removeprefix("`text`")
        raise ValueError(f"{file}{about}" if about != said else f"{file}: {said}") from None


def read_plan(path: Path, name: str) -> Plan:
    """Read a plan from a TOML or JSON file."""
    from bistochastic.plan import Plan

    form = path.suffix.lower()
    if form not in _FILES:
        got = shown(path.suffix) or "no ending"
        raise ValueError(f"`{name}` must end in {' or '.join(_FILES)}; got {got}")
    text = text_of(path, name)
    with in_file(path):
        return Plan.from_toml(text) if form == ".toml" else Plan.from_json(text)


def read_certificate(path: Path, name: str) -> Certificate:
    """Read a certificate from a JSON file."""
    from bistochastic.plan import Certificate

    text = text_of(path, name)
    with in_file(path):
        return Certificate.from_json(text)


def is_certificate(path: Path, name: str) -> bool:
    """Whether a JSON file holds a certificate rather than a plan."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    return '"certificate_version"' in text_of(path, name)[:200]


@main.command(name="plan", short_help="Write a first plan for a file, or check one.")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--codebook",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Categories of the columns: CSV with column and category, TOML, a Table Schema, or .sav.",
)
@click.option("--beta", type=float, help="Beta that every column reaches.  [default: 0.6]")
@click.option("--epsilon", type=float, help="Largest epsilon of a column, instead of beta.")
@click.option("--truthfulness", type=float, help="Truthful probability, instead of beta.")
@click.option(
    "--min-beta", type=float, help="Least beta of each column, if that is larger than --beta."
)
@click.option(
    "--categories-from-data",
    is_flag=True,
    help="Read the categories of text columns from the data. Plan and certificate then say so.",
)
@click.option(
    "--numeric",
    multiple=True,
    metavar="COLUMNS",
    help="Columns of numbers to permute between records of similar rank; * for all undecided ones.",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="COLUMNS",
    help="Columns to publish unchanged; * for all undecided ones.",
)
@click.option("--drop", multiple=True, metavar="COLUMNS", help="Columns to leave out.")
@click.option(
    "--missing",
    type=click.Choice(["raise", "keep", "category"]),
    default="raise",
    show_default=True,
    help="What to do with missing values: category also hides who is missing.",
)
@click.option("--name", default="plan", show_default=True, help="Name of the plan, in all waves.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="PLAN.toml",
    help="Write the plan to this new file, and show it.",
)
@click.option("--check", is_flag=True, help="Check the plan in FILE instead of writing one.")
@click.option("--json", "as_json", is_flag=True, help="Print the check as JSON.")
@reads_csv
def _plan(
    file: Path | None,
    codebook: Path | None,
    out: Path | None,
    categories_from_data: bool,
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
    from bistochastic.plan import draft

    if check and file is not None:
        _check(file, as_json, beta=beta, epsilon=epsilon, min_beta=options["min_beta"])
        return
    if file is None and codebook is None:
        raise click.UsageError("Missing argument 'FILE', or option '--codebook'.")
    if out is not None and out.suffix.lower() != ".toml":
        raise ValueError(f"`out` must end in .toml; got {shown(out.suffix) or 'no ending'}")
    if out is not None and out.exists():
        raise ValueError(f"`out` must be a new file; got one that there is: {shown(out)}")
    columns = _columns(file, categories_from_data, dialect) if file is not None else None
    book = None if codebook is None else draft.columns(codebook, look=False)
    listed = columns if columns is not None else book or []
    known = [column.name for column in listed]
    made = draft.of_columns(
        listed,
        book=book or () if columns is not None else (),
        look=categories_from_data,
        beta=_BETA if beta is epsilon is options["truthfulness"] is None else beta,
        epsilon=epsilon,
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
            must = "`out` must be in a folder that there is"
            raise ValueError(f"{must}; got none at {shown(out.parent)}") from None
        except OSError as error:
            raise ValueError(f"`out` must be a file to write; got {error.strerror}") from None
        say(f"{made.plan.preview()}\n\nWritten to {shown(out)}")
    # Last, where they are noticed; to stderr if the plan itself goes to stdout.
    for sentence in (*made.blanks, *made.left_out):
        say(in_shell(sentence), err=out is None)


def _check(file: Path, as_json: bool, **asked: Any) -> None:
    """Print the plan in a file, and raise what is wrong with it."""
    plan = read_plan(file, "file")
    say_json(plan.preview().to_dict()) if as_json else say(plan.preview())
    plan._refuse_undecided()
    wanted = {name: value for name, value in asked.items() if value is not None}
    if wanted:
        plan.require(**wanted)


def _star_or_columns(
    option: str, given: Sequence[str], known: Sequence[str]
) -> tuple[str, ...] | Literal["*"]:
    """Read the columns that an option names, or a star for all."""
    found = columns_named(option, given, known)
    return "*" if found == ["*"] and "*" not in known else tuple(found)


def _columns(file: Path, look: bool, dialect: Dialect) -> list[Column]:
    from bistochastic.adapters.table_files import opened
    from bistochastic.plan import draft

    if file.suffix.lower() == ".json":
        return draft.columns(file, look=False)
    source = opened(file, "file", dialect=dialect)
    try:
        from bistochastic.adapters.table_files import columns_in

        with watched("reading"):
            return columns_in(source, look=look)
    finally:
        source.close()
