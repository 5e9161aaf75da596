"""``plan``: a first plan for a file; and plans and certificates from files."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from bistochastic.cli.columns import columns_named
from bistochastic.cli.dialects import reads_csv
from bistochastic.cli.group import in_shell, main, say
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
    """Whether what was typed names a plan or a certificate rather than a family."""
    return words.lower().endswith(_FILES) and "=" not in words


def text_of(path: Path, name: str) -> str:
    """The text of a small file."""
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
    """What is said of a text, said of the file that holds it.

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
    """A plan from a TOML or JSON file."""
    from bistochastic.plan import Plan

    form = path.suffix.lower()
    if form not in _FILES:
        got = shown(path.suffix) or "no ending"
        raise ValueError(f"`{name}` must end in {' or '.join(_FILES)}; got {got}")
    text = text_of(path, name)
    with in_file(path):
        return Plan.from_toml(text) if form == ".toml" else Plan.from_json(text)


def read_certificate(path: Path, name: str) -> Certificate:
    """A certificate from a JSON file."""
    from bistochastic.plan import Certificate

    text = text_of(path, name)
    with in_file(path):
        return Certificate.from_json(text)


def certificate_beside(file: Path) -> Certificate | None:
    """The certificate beside a file; None where there is none."""
    from bistochastic.plan import Certificate

    beside = file.with_name(f"{file.name}.certificate.json")
    try:
        text = beside.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    with in_file(beside):
        return Certificate.from_json(text)


def is_certificate(path: Path, name: str) -> bool:
    """Whether a JSON file holds a certificate rather than a plan."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    return '"certificate_version"' in text_of(path, name)[:200]


@main.command(name="plan")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--codebook",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Categories of the columns: CSV with column and category, TOML, or a Table Schema.",
)
@click.option(
    "--beta", type=float, help="Beta that every column reaches; 0.6 if none is asked for."
)
@click.option("--epsilon", type=float, help="Largest epsilon of a column, in the place of beta.")
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
    help="What happens to missing values of categories: category protects who is missing.",
)
@click.option("--name", default="plan", show_default=True, help="Name of the plan, in all waves.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="PLAN.toml",
    help="Write the plan to this new file, and show it.",
)
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
    dialect: Dialect,
    **options: Any,
) -> None:
    """Write a first plan for FILE as TOML: what happens to each column.

    FILE is a CSV, Parquet or Arrow file, of which the names and types of columns are read, or a
    Table Schema (JSON). A column of a CSV file holds numbers if all of it are spelled as such. A
    codebook alone is enough, too. Look at the plan, and edit it. To change the law of a column,
    write what you ask for alone: matrix = {family = "randomized_response", requested = {beta =
    0.7}}.

    Levels have to be declared: by a codebook, by a type that lists them (an Enum), or by saying
    --categories-from-data. Columns without levels that are no numbers are left out.

    Columns of numbers without levels may be ids, weights or codes. They are undecided, and the plan
    protects nothing until each of them is named in --numeric, --keep or --drop, or has levels.
    These options take several columns with commas between them, and can be repeated.

    \b
    bistochastic plan survey.csv --codebook codebook.csv --beta 0.6 --out plan.toml
    bistochastic plan survey.parquet --categories-from-data --keep region --out plan.toml
    bistochastic plan survey.csv --numeric age,income --keep weight --drop household
    """
    from bistochastic.plan import draft

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
        beta=_BETA if beta is None and epsilon is None else beta,
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
        say(f"{made.plan.preview()}\n\nwritten to {shown(out)}")
    # After all else, so that they are seen; beside a plan on the screen they are no part of it.
    for sentence in (*made.blanks, *made.left_out):
        say(in_shell(sentence), err=out is None)


def _star_or_columns(
    option: str, given: Sequence[str], known: Sequence[str]
) -> tuple[str, ...] | Literal["*"]:
    """The columns that an option names, or a star alone for all."""
    found = columns_named(option, given, known)
    return "*" if found == ["*"] and "*" not in known else tuple(found)


def _columns(file: Path, look: bool, dialect: Dialect) -> list[Column]:
    from bistochastic.adapters.table_files import opened
    from bistochastic.plan import draft

    if file.suffix.lower() == ".json":
        return draft.columns(file, look=False)
    source = opened(file, "file", dialect=dialect)
    try:
        from bistochastic.adapters.file_columns import columns_in

        with watched("reading"):
            return columns_in(source, look=look)
    finally:
        source.close()
