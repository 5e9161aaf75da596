"""``plan``, ``protect``, ``report``, ``verify`` and ``key``: plans, releases and their files."""

import shlex
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import click
from click import argument, option

from bistochastic import Key
from bistochastic.errors import OutOfMemoryError, Refused
from bistochastic_survey.cli import inputs
from bistochastic_survey.cli.group import in_shell, main, say, say_json, warn
from bistochastic_survey.cli.inputs import FILE
from bistochastic_survey.files.csv_dialect import Dialect
from bistochastic_survey.progress import steps, watched
from bistochastic_survey.wording import shown

# Standard input and output.
_PIPE = Path("-")
_ORDER = "the rows are in the order of the original, which can reveal values"


@main.command(name="plan", short_help="Write a first plan for a file, or check one.")
@argument("file", required=False, type=FILE)
@option(
    "--codebook",
    type=FILE,
    metavar="FILE",
    help="Categories of the columns: CSV with column and category, TOML, or .sav.",
)
@option("--beta", type=float, help="Beta that every column reaches.")
@option(
    "--epsilon",
    type=float,
    help="Largest epsilon of a column of categories; --beta is then for --numeric.",
)
@option("--truthfulness", type=float, help="Truthful probability, instead of beta.")
@option("--min-beta", type=float, help="With --check, the least beta of each column.")
@option(
    "--categories-from-data",
    is_flag=True,
    help="Read the categories of text columns from the data. Plan and certificate then say so.",
)
@inputs.columns_option("--ordinal", "Columns of declared categories whose order matters.")
@inputs.columns_option(
    "--numeric",
    "Columns of numbers to permute between records of similar rank; * for all undecided ones.",
)
@inputs.columns_option("--keep", "Columns to publish unchanged; * for all undecided ones.")
@inputs.columns_option("--drop", "Columns to leave out.")
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
@inputs.reads_csv
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
    min_beta: float | None,
    check: bool,
    as_json: bool,
    dialect: Dialect,
    **options: Any,
) -> None:
    """Write a first plan for FILE as TOML: what happens to each column.

    FILE is a CSV, Parquet or Arrow file, or a file of SPSS, Stata or SAS.
    Only names and types of columns are read. A column of a CSV file is numeric if all its fields
    are numbers. From SPSS and Stata, value labels become categories, and missing codes are recoded
    as missing. The labels are written into the plan, and leave only from there. A codebook is
    enough, too. Say how much is hidden: --epsilon, --beta or --truthfulness. Review the plan and
    edit it before you protect the file. To change the matrix of a column, write for example: matrix
    = {family = "randomized_response", requested = {beta = 0.7}}

    Every text column needs a list of categories: from a codebook, from an Enum type, or read from
    the data with --categories-from-data. Other non-numeric columns are dropped, with a warning.

    Numeric columns without categories may be ids, weights or codes. They are undecided: `protect`
    raises an error until each of them is named in --numeric, --keep or --drop, or has categories.
    Separate several columns by commas, or repeat the option.

    With --check, FILE is a plan. It is printed, and the exit code is 1 if a column is undecided or
    the plan does not reach --beta, --min-beta or --epsilon.

    \b
    bistochastic plan survey.csv --codebook codebook.csv --epsilon 1 --out plan.toml
    bistochastic plan survey.parquet --categories-from-data --epsilon 1 --keep region
    bistochastic plan survey.sav --epsilon 1 --keep weight --drop name --out plan.toml
    bistochastic plan survey.csv --epsilon 1 --numeric age,income --beta 0.6 --drop household
    bistochastic plan --check plan.toml --min-beta 0.6
    """
    from bistochastic_survey.files.formats import columns_in, open_source
    from bistochastic_survey.plan import draft

    if check and file is not None:
        plan = inputs.read_plan(file, "file")
        say_json(plan.preview().to_dict()) if as_json else say(plan.preview())
        plan._refuse_undecided()
        if (beta, epsilon, min_beta) != (None, None, None):
            plan.require(beta=beta, epsilon=epsilon, min_beta=min_beta)
        return
    if min_beta is not None:
        raise click.UsageError("Option '--min-beta' needs '--check'.")
    if file is None and codebook is None:
        raise click.UsageError("Missing argument 'FILE', or option '--codebook'.")
    if out is not None and out.suffix.lower() != ".toml":
        raise Refused("out", "end in .toml", shown(out.suffix) or "no ending")
    if out is not None:
        inputs.refuse_old(out, "out")
    columns = None
    if file is not None:
        with closing(open_source(file, "file", dialect=dialect)) as source, watched("reading"):
            columns = columns_in(source, look=categories_from_data)
    book = None if codebook is None else draft.columns(codebook, look=False)
    listed = columns if columns is not None else book or []
    known = [column.name for column in listed]
    plan, left_out = draft.draft(
        listed or {},
        codebook=None if columns is None else book,
        categories_from_data=categories_from_data,
        beta=beta,
        epsilon=epsilon,
        ordinal=tuple(inputs.columns_named("ordinal", ordinal, known)),
        numeric=_star_or_columns("numeric", numeric, known),
        keep=_star_or_columns("keep", keep, known),
        drop=tuple(inputs.columns_named("drop", drop, known)),
        **options,
    )
    if out is None:
        say(plan.to_toml(), nl=False)
    else:
        inputs.write_new(out, "out", plan.to_toml())
        say(f"{plan.preview()}\n\nWritten to {shown(out)}")
    # Last, where they are noticed; to stderr if the plan itself goes to stdout.
    for sentence in left_out:
        say(in_shell(sentence), err=out is None)


def _star_or_columns(
    option: str, given: Sequence[str], known: Sequence[str]
) -> tuple[str, ...] | Literal["*"]:
    found = inputs.columns_named(option, given, known)
    return "*" if found == ["*"] and "*" not in known else tuple(found)


@main.command(short_help="Protect a file by a plan.")
@argument("source", metavar="IN", type=FILE)
@argument("outs", metavar="OUT...", nargs=-1, required=True, type=FILE)
@option("--plan", required=True, type=FILE, help="The plan, TOML or JSON.")
@option("--key-file", type=FILE, help="A stored key, to reproduce the noise.")
@option("--release-name", help="Name of this release, e.g. 2026-spring.")
@option("--id-column", metavar="COLUMN", help="Ids of people who are in several waves.")
@option("--after", metavar="first|FILE", help="Certificate of the wave before, or first.")
@option(
    "--redraw", is_flag=True, help="Continue even if changes since --after give people new noise."
)
@option("--pseudonym", metavar="COLUMN", help="Write a keyed hash of the id to this new column.")
@option("--rerandomize-numeric", is_flag=True, help="Re-randomize numeric columns in this wave.")
@option("--max-rows-per-id", default=1, show_default=True, help="Rows that an id may have.")
@option(
    "--unit-pseudonym", multiple=True, metavar="COLUMN=NAME",
    help="Replace the column of a unit, e.g. a household's, by a keyed hash.",
)  # fmt: skip
@option("--count-units", is_flag=True, help="State the number of units in the certificate.")
@option("--shuffle", is_flag=True, help="Put the rows in a random order.")
@option(
    "--certificate", type=FILE, help="Write the certificate here.  [default: OUT.certificate.json]"
)
@option("--format", type=click.Choice(["csv", "ndjson"]), help="Of a pipe, `protect - -`.")
@inputs.reads_csv
def protect(
    source: Path,
    outs: tuple[Path, ...],
    plan: Path,
    key_file: Path | None,
    id_column: str | None,
    after: str | None,
    redraw: bool,
    pseudonym: str | None,
    rerandomize_numeric: bool,
    max_rows_per_id: int,
    certificate: Path | None,
    format: Literal["csv", "ndjson"] | None,
    dialect: Dialect,
    unit_pseudonym: tuple[str, ...],
    **options: object,
) -> None:
    """Protect the file IN by a plan and write it to OUT, with a certificate next to it.

    IN is a CSV, Parquet or Arrow file, or one of SPSS, Stata or SAS (.sav, .zsav, .dta, .sas7bdat,
    .xpt), by its ending. OUT is a .csv or .parquet file. An existing OUT is replaced once the new
    one is complete. Without --key-file, a key is generated and discarded, which is
    right for a single release.

    `protect - -` reads rows from standard input and writes to standard output as they come, as CSV
    or, with --format ndjson, as lines of JSON. It needs --certificate, and leaves out --shuffle and
    numeric columns. If the exit code is not 0, discard what was written.

    Several OUT files hold the same noise in several formats. One certificate, next to the first,
    lists all of them.

    \b
    bistochastic protect survey.csv protected.csv --plan plan.toml --shuffle
    bistochastic protect survey.sav protected.csv protected.parquet --plan plan.toml --shuffle
    bistochastic protect wave2.parquet out.parquet --plan plan.toml --key-file survey.key \\
        --id-column person --after wave1.parquet.certificate.json
    bistochastic protect - - --format ndjson --plan plan.toml --key-file survey.key \\
        --id-column person --after first --certificate out.certificate.json

    CSV files have a header. An empty field is a missing value; "" is an empty string. Ids are
    strings. OUT is UTF-8, with the separator and the decimal mark of IN. Unprotected columns are
    copied unchanged; booleans are written as true and false. From CSV to Parquet, an unprotected
    column becomes numeric if each of its fields is a number that can be stored without rounding.

    A quote that does not end in its line is an error, as it may have swallowed rows: fields with
    line ends need a Parquet file. Messages count rows from 0, without the header.
    Memory use does not grow with the file, except for numeric columns: about 32 bytes per row.
    Files of SPSS, Stata and SAS are read whole. Labels stay in the plan.

    Each run draws new noise, unless it has the same key and release name. To publish a release in
    two formats, name both files in one run.
    """
    from bistochastic_survey import Wave
    from bistochastic_survey.files.earlier_draws import describe_draws, read_earlier
    from bistochastic_survey.files.pipe import protect_pipe
    from bistochastic_survey.files.protect import protect_file
    from bistochastic_survey.release.run import Options

    if not all(out.name for out in outs):
        raise Refused("out", "be a file", "a folder")
    out = outs[0]
    is_pipe = _PIPE in (source, *outs)
    if is_pipe and (source, *outs) != (_PIPE, _PIPE):
        raise Refused("out", "be - if `in` is, and only then", "only one of them")
    if is_pipe and None in (sys.stdin, sys.stdout):
        raise Refused("out", "be - with both standard streams open", "a closed one")
    if is_pipe and certificate is None:
        raise Refused("certificate", "be given with -", "none")
    if format is not None and not is_pipe:
        raise Refused("format", "go with -, as files have endings", "files")
    target = certificate or out.with_name(f"{out.name}.certificate.json")
    wave: Any = after
    if after is not None and after != "first":
        wave = inputs.read_certificate(Path(after), "after")
    given: Any = {
        "after": wave, "redraw": redraw, "pseudonym": pseudonym, "max_rows": max_rows_per_id,
        "rerandomize_numeric": rerandomize_numeric,
    }  # fmt: skip
    for name, value in given.items():
        if id_column is None and value not in (None, False) and (name, value) != ("max_rows", 1):
            raise Refused(name, "go with id_column", "no id_column")
    read = [("plan", plan), ("key-file", key_file)]
    if not is_pipe:
        read += [("in", source)]
        for each in outs:
            inputs.refuse_same("out", each, read)
    inputs.refuse_same("certificate", target, [*read, *(("out", each) for each in outs)])
    made = inputs.read_plan(plan)
    settings = Options.of(
        made,
        key=inputs.read_key(key_file),
        ids=None if id_column is None else Wave(id_column, **given),
        unit_pseudonym=_named(unit_pseudonym),
        **options,
    )
    if is_pipe:
        pipe = sys.stdin.buffer, sys.stdout.buffer
        found = protect_pipe(made, *pipe, target, settings, form=format or "csv", dialect=dialect)
        for sentence in (*found.warnings, _ORDER):
            warn(sentence)
        return
    earlier = read_earlier(out)
    try:
        with steps() as progress:
            found = protect_file(
                made, source, outs, target, settings, dialect=dialect, progress=progress
            )
    except OutOfMemoryError:
        raise
    except MemoryError:
        raise Refused("in", "fit in memory", "a larger one") from None
    say(f"{shown(out)}: {found._line.removeprefix('of ')}")
    for each in outs[1:]:
        say(f"{shown(each)}: the same records")
    say(f"{shown(target)}: the certificate")
    say("\nPublished unchanged:")
    say("\n".join(f"  {each}" for each in found.published_unchanged or ("nothing",)))
    warned = [*found.warnings, *[f"{_ORDER}: use --shuffle"] * (not found.shuffled)]
    if warned:
        say("\nWarnings:\n" + "\n".join(f"  {each}" for each in warned))
    files = [shlex.quote(shown(path)) for path in (source, out, target)]
    audit = f"  bistochastic audit {files[0]} {files[1]}\n"
    page = f"  bistochastic report {files[2]} --out report.html"
    say(f"\nNext:\n{audit * (not found.shuffled)}{page}")
    draws = describe_draws(earlier, target, found)
    if draws is not None:
        warn(draws)


def _named(pairs: tuple[str, ...]) -> dict[str, str]:
    """Read ``COLUMN=NAME`` as a column and a name, each column once."""
    found = {}
    for pair in pairs:
        column, mark, name = pair.rpartition("=")
        if not mark or column in found:
            got = f"`{shown(column)}` twice" if mark else f"`{shown(pair)}`"
            raise Refused("--unit-pseudonym", "be COLUMN=NAME, each once", got)
        found[column] = name
    return found


@main.command(short_help="Write a report for a board or a lawyer.")
@inputs.file_argument
@option(
    "--out", required=True, type=FILE, metavar="REPORT.html", help="Write the report to this file."
)
@option("--title", help="Title of the page; by default the name of the plan.")
@option("--publisher", help="Who publishes, printed below the title.")
@option("--date", help="Date, printed below the title as given.")
@option("--contact", help="Contact, printed below the title.")
@option("--records", type=int, help="Number of records, for the report of a plan.")
@option(
    "--design-effect",
    type=float,
    default=1.0,
    show_default=True,
    help="Factor by which variances exceed the variances of a simple random sample.",
)
def report(file: Path, out: Path, records: int | None, **options: Any) -> None:
    """Write the report of a release or a plan: one HTML page, for a board or a lawyer.

    FILE is a certificate (JSON) or a plan (TOML or JSON). The page is one file and opens offline.
    An existing page is replaced once the new one is complete.

    \b
    bistochastic report protected.csv.certificate.json --out report.html --title "Survey 2026"
    bistochastic report plan.toml --records 10000 --out report.html

    Errors of estimates are for a simple random sample; --design-effect raises them.
    """
    inputs.refuse_same("out", out, [("file", file)])
    plan, certificate = inputs.read_law(file, "file")
    if certificate is None:
        plan.report(out, records, **options)
    elif records is None:
        certificate.report(out, **options)
    else:
        raise Refused("records", "go with a plan", "a certificate")
    say(f"Written to {shown(out)}")


@main.command(short_help="Check a protected file and certificate.")
@inputs.file_argument
@option("--certificate", type=FILE, help="The certificate, if it is stored elsewhere.")
@option("--plan", type=FILE, help="A plan that must be the one that protected the file.")
@inputs.SEPARATOR
@inputs.DECIMAL
def verify(file: Path, certificate: Path | None, plan: Path | None, **dialect: Any) -> None:
    """Check that FILE, a protected file, is the one that its certificate describes.

    The certificate is next to the file, under its name or with its SHA-256, or in its schema
    (Parquet and Arrow). Four things are compared: the SHA-256 of the file, the columns, the
    categories of protected columns, and the number of records. The exit code is 1 if one differs.

    \b
    bistochastic verify protected.csv
    bistochastic verify protected.parquet --plan plan.toml
    """
    from bistochastic_survey.files import open as files
    from bistochastic_survey.files.formats import check_file

    check_file(file, "file")
    stored = None if certificate is None else inputs.read_certificate(certificate, "certificate")
    wanted = None if plan is None else inputs.read_law(plan)[0]
    try:
        found = files.verify(file, certificate=stored, plan=wanted, **dialect)
    except Refused as error:
        error.name = "file" if error.name == "path" else error.name
        raise
    say(f"{shown(file)}: {found._line.removeprefix('of ')}")
    say("The columns, categories and number of records are as certified.")
    if found.files:
        say("The SHA-256 is in the certificate: the file is unchanged.")
    else:
        warn("The certificate lists no files, so it was not checked that cells are unchanged.")


@main.group(short_help="Make and identify keys.")
def key() -> None:
    """Make and identify keys. Anyone with a key can undo the releases made with it."""


@key.command(name="new", short_help="Write a new key to a file.")
@inputs.file_argument
def _key_new(file: Path) -> None:
    """Write a new key to FILE and print its fingerprint. FILE must not exist yet.

    \b
    bistochastic key new survey.key
    """
    made = Key.generate()
    try:
        made.to_file(file)
    except FileExistsError:
        raise
    except OSError as error:
        raise Refused(shown(file), "be a new file that can be written", error.strerror) from None
    say(f"{shown(file)}: key {made.fingerprint}, which only you can read")
    say("Store it as securely as the original data. Destroy it when no further wave is due.")


@key.command(name="fingerprint", short_help="Print the fingerprint of a key.")
@inputs.file_argument
def _key_fingerprint(file: Path) -> None:
    """Print the fingerprint of the key in FILE, which holds 64 hexadecimal digits.

    \b
    bistochastic key fingerprint survey.key
    """
    found = inputs.read_key(file)
    assert found is not None
    say(found.fingerprint)
