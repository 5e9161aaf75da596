"""``estimate``, ``regress`` and ``audit``: analyses of protected files, and attacks on them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import argument, option

import bistochastic_survey as sv
from bistochastic.errors import Refused
from bistochastic_survey import checks
from bistochastic_survey.cli import inputs
from bistochastic_survey.cli.group import main, say, say_json
from bistochastic_survey.files.csv_dialect import Dialect
from bistochastic_survey.progress import steps
from bistochastic_survey.wording import shown

if TYPE_CHECKING:
    import pyarrow as pa

    from bistochastic_survey.files.tables import Source

# A decimal number, as it is typed for a column of such.
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


@main.command(short_help="Estimate tables of the original.")
@inputs.file_argument
@inputs.plan_option
@inputs.columns_option(
    "--by",
    "Columns of the table, e.g. sex,education. Repeatable. Quote a name that has a comma: "
    "'sex,\"a,b\"'.",
)
@option(
    "--where",
    multiple=True,
    help="A condition, e.g. sex=F,M. Repeatable. Quote a category that has a comma.",
)
@option("--mean", metavar="COLUMN", help="The mean of a column, in place of a table.")
@option("--count", is_flag=True, help="How many records meet --where, in place of a table.")
@option(
    "--ratio", multiple=True, metavar="CONDITION",
    help="The proportion that meets a condition among records that meet --where. Repeatable.",
)  # fmt: skip
@option(
    "--fpc", metavar="COLUMN|NUMBER",
    help="Size of the population, or fraction that was sampled, by stratum.",
)  # fmt: skip
@inputs.takes_survey
@option("--method", default="inverse", help="inverse, mle, simplex or shrunk.")
@option("--population", default="sampled", help="sampled, or fixed if the file is everyone.")
@inputs.format_option
@inputs.reads_csv
def estimate(
    file: Path,
    plan: Path | None,
    by: Sequence[str],
    where: Sequence[str],
    mean: str | None,
    count: bool,
    ratio: Sequence[str],
    fpc: str | None,
    survey: dict[str, Any],
    method: Any,
    population: str,
    format: str,
    dialect: Dialect,
) -> None:
    """Estimate a table of the original from FILE, a protected CSV, Parquet or Arrow file.

    The file is read in batches, so it can be larger than memory. With --strata, --cluster or
    --replicates, the columns that are needed must fit in memory. Messages count rows from 0,
    without the header of a CSV file.

    \b
    bistochastic estimate protected.csv --by sex,education
    bistochastic estimate protected.parquet --by sex --where region=N --format csv
    bistochastic estimate protected.csv --mean age --weights w --fpc 12000
    bistochastic estimate protected.csv --ratio smokes=yes --where sex=F
    """
    from bistochastic_survey.files.protect import kinds
    from bistochastic_survey.files.tables import said

    law, certificate = inputs.read_own(file, plan)
    chosen = [bool(by), mean is not None, count, bool(ratio)].count(True)
    if chosen != 1:
        must = "be given one of --by, --mean, --count and --ratio"
        raise Refused("estimate", must, chosen or "none")
    source, design = inputs.open_released(file, law, survey, dialect, fpc)
    with closing(source), steps() as tell, said("file"):
        tell("estimating", None)
        release: sv.Release[Any] = sv.Release(source, certificate or law)
        declared = kinds(law, released=True)
        names = [*source.schema.names, *declared]
        columns = inputs.columns_named("by", by, names)
        typed = inputs.conditions(where, names), inputs.conditions(ratio, names)
        # An unprotected column of a CSV file is numeric if all its cells are numbers.
        about = {*columns, mean, *typed[0], *typed[1]}
        source.decide([name for name in source.schema.names if name in about])
        met, shared = _levels(source, declared, typed)
        drawn: Any = {"design": design, "population": population}
        if by:
            found = release.estimate(*columns, where=met, method=method, **drawn)
            total = found.records if found.total is None else found.total
            facts = {name: getattr(found, name) for name in ("method", "population", "records")}
            facts |= {"total": total, "gap": found.gap, "notes": list(found.notes)}
            inputs.show(format, found.to_text, found.to_columns, facts)
            return
        if mean is not None:
            number = release.mean(mean, where=met or None, **drawn)
        elif ratio:
            number = release.ratio(shared, met or None, **drawn)
        else:
            number = release.count(met, **drawn)
    low, high = number.interval()
    cells = {"name": number.name, "value": number.value,
             "standard_error": number.standard_error, "low": low, "high": high}  # fmt: skip
    facts = {"records": number.records, "notes": list(number.notes)}
    inputs.show(format, number.__str__, lambda: {name: [x] for name, x in cells.items()}, facts)


def _levels(
    source: Source, declared: dict[str, str], typed: Sequence[dict[str, list[str]]]
) -> list[dict[str, list[str | float]]]:
    """Give categories that were typed the types of their columns."""
    from bistochastic_survey.files.formats import held_in

    held = {**held_in(source), **declared}
    return [
        {column: [_level(held.get(column), level) for level in levels]
         for column, levels in each.items()}
        for each in typed
    ]  # fmt: skip


def _level(kind: str | None, typed: str) -> str | float:
    from bistochastic_survey.plan.labels import plain_integer

    whole = None if kind in ("text", "floats") else plain_integer(typed)
    if whole is not None:
        return whole
    if kind in ("boolean", None) and typed.lower() in ("true", "false"):
        return typed.lower() == "true"
    # Any other spelling is not a category of such a column, and raises an error.
    return float(typed) if kind == "floats" and _NUMBER.fullmatch(typed) else typed


@main.command(short_help="Estimate a regression on the original.")
@inputs.file_argument
@inputs.plan_option
@option("--formula", required=True, help="The model, e.g. 'income ~ education + sex'.")
@option("--model", required=True, help="linear, logistic or multinomial.")
@option("--method", help="corrected or likelihood.  [default: corrected, but likelihood if "
        "only the outcome is protected]")  # fmt: skip
@inputs.takes_survey
@inputs.format_option
@inputs.reads_csv
def regress(
    file: Path,
    plan: Path | None,
    formula: str,
    model: Any,
    method: Any,
    survey: dict[str, Any],
    format: str,
    dialect: Dialect,
) -> None:
    """Estimate a regression on the original from FILE, a protected CSV, Parquet or Arrow file.

    The columns of the formula are held in memory. Put names with spaces or
    dots in backticks.

    \b
    bistochastic regress protected.csv --model logistic \\
        --formula 'smokes ~ sex + age'
    """
    from bistochastic_survey.files.tables import said

    law, certificate = inputs.read_own(file, plan)
    source, design = inputs.open_released(file, law, survey, dialect)
    with closing(source), said("file"):
        release: sv.Release[Any] = sv.Release(source, certificate or law)
        found = release.regress(formula, model=model, method=method, design=design)
    said_of_it = ("formula", "model", "method", "outcomes", "records", "notes")
    facts = {name: getattr(found, name) for name in said_of_it}
    inputs.show(format, found.summary, found.to_columns, facts)


# As many findings as an audit shows.
_SHOWN = 15


@main.command(short_help="Attack your own release.")
@argument("original", type=inputs.FILE)
@argument("release", type=inputs.FILE)
@inputs.plan_option
@inputs.columns_option("--knows", "What an intruder knows of a person, e.g. sex,age=2 for an age "
                       "within 2 years. Repeatable: each is an intruder.")  # fmt: skip
@inputs.columns_option("--wants", "Columns that the intruder guesses.  [default: all unknown ones]")
@option("--also", multiple=True, type=inputs.FILE, metavar="FILE",
        help="Another protected file of the same original. Repeatable.")  # fmt: skip
@option("--fail-above", type=float, metavar="RATE",
              help="Exit with code 1 if an attack beats chance by more than RATE.")  # fmt: skip
@option("--id-column", metavar="COLUMN", help="Ids that match the rows of both files.")
@option("--pseudonym", metavar="COLUMN", help="The column with the keyed hash of the id.")
@option("--key-file", type=inputs.FILE, help="The key of the release, to read pseudonyms.")
@option("--confidence", default=0.95, show_default=True, help="Confidence level of all intervals.")
@option("--targets", type=int, help="Number of rows to trace.  [default: all up to "
              "20,000, else 2,000]")  # fmt: skip
@option("--seed", default=0, show_default=True, help="Seed that chooses these rows.")
@option("--out", type=inputs.FILE, metavar="PAGE.html", help="Write an HTML page.")
@inputs.json_option
@inputs.reads_csv
def audit(
    original: Path,
    release: Path,
    plan: Path | None,
    knows: Sequence[str],
    wants: Sequence[str],
    also: Sequence[Path],
    fail_above: float | None,
    key_file: Path | None,
    out: Path | None,
    as_json: bool,
    dialect: Dialect,
    **options: Any,
) -> None:
    """Attack RELEASE, the protected version of ORIGINAL, and compare results with predictions.

    Both are CSV, Parquet or Arrow files. If RELEASE is CSV, it is UTF-8, as `protect` writes it;
    --encoding is for ORIGINAL. The certificate next to RELEASE says whether the rows were
    shuffled. If they were, an id must match the rows.

    The output reveals information about ORIGINAL. Keep it confidential.

    \b
    bistochastic audit survey.csv protected.csv
    bistochastic audit survey.csv protected.csv --id-column person --out audit.html
    bistochastic audit survey.csv protected.csv --knows sex,age=2 --wants income
    """
    from bistochastic_survey.files.formats import check_file, read_table
    from bistochastic_survey.files.protect import kinds

    for name, path in {"original": original, "release": release}.items():
        check_file(path, name)
    made, _ = inputs.read_own(release, plan, "release")
    if out is not None:
        checks.html_path("out", out)
    key = inputs.read_key(key_file)
    with steps() as progress:
        progress("reading", 0.0)
        # Ids are strings, as in `protect`.
        ids = [options[name] for name in ("id_column", "pseudonym") if options[name]]
        # A column of strings in one file is a column of strings in the other, too.
        texts = [*_texts(original, "original"), *_texts(release, "release")]
        typed = {**dict.fromkeys(ids, "text"), **kinds(made, released=True)}
        written = replace(dialect, encoding="utf-8")
        (table, certificate), *more = (
            _read_released(each, typed, written, texts) for each in (release, *also)
        )
        if certificate is not None and certificate.ids is not None and certificate.ids.id_column:
            ids.append(certificate.ids.id_column)
        known = {**dict.fromkeys(ids, "text"), **kinds(made)}
        units = {each.unit for each in made.attributes if each.unit is not None}
        columns = {*table.schema.names, *known, *units}
        before = read_table(original, "original", known, columns, dialect=dialect, texts=texts)
        names = before.schema.names
        after, *others = (sv.Release(data, about or made)
                          for data, about in ((table, certificate), *more))  # fmt: skip
        progress("reading", 1.0)
        wanted = inputs.columns_named("wants", wants, names) if wants else None
        found = sv.audit(
            before, after, key=key, progress=lambda x: progress("attacking", x),
            knows=[_knowledge(each, names) for each in knows] or None, wants=wanted, also=others,
            **options,
        )  # fmt: skip
    if out is not None:
        found.report(out)
    if as_json:
        listed = [asdict(each) for each in found.findings]
        say_json({"risks": found.risks, "findings": listed, **asdict(found)})
    elif out is None:
        say(str(found))
    else:
        what = "contains information about the data: not for release"
        say(f"{shown(out)}: the audit of {found.records:,} records, which {what}")
        worst = list(enumerate(found.findings, 1))[:_SHOWN]
        say("\n".join(["Findings, the worst first:", *(f"  {i}. {each}" for i, each in worst)]))
        for note in found.notes:
            say(f"Not measured: {note}")
    failed = () if fail_above is None else found.above(fail_above)
    if failed:
        many = f"{len(failed)} attack{'s' * (len(failed) > 1)}"
        say(f"Failed: {many} beat chance by more than {fail_above:g}", err=True)
        click.get_current_context().exit(1)


def _knowledge(typed: str, names: Sequence[str]) -> dict[str, float]:
    """Read ``sex,age=2`` as columns with the distance that each may be off."""
    found = {}
    for each in inputs.columns_named("knows", [typed], names) if typed else []:
        column, is_rough, far = each.rpartition("=")
        if each in names or not is_rough:
            column, far = each, "0"
        try:
            found[column] = float(far)
        except ValueError:
            raise Refused("--knows", "be like sex,age=2", shown(each)) from None
    return found


def _texts(path: Path, name: str) -> list[str]:
    """List the columns of strings in a file that has types, which CSV has not."""
    from bistochastic_survey.files.formats import held_in, open_source

    if path.suffix.lower() == ".csv":
        return []
    with closing(open_source(path, name)) as source:
        return [name for name, held in held_in(source).items() if held == "text"]


def _read_released(
    path: Path, types: dict[str, str], dialect: Dialect, texts: list[str]
) -> tuple[pa.Table, sv.Certificate | None]:
    from bistochastic_survey.files.formats import read_table
    from bistochastic_survey.files.open import find_certificate

    certificate = find_certificate(path) if path.name else None
    if certificate is None:
        say("Note: there is no certificate next to the protected file, so its rows are taken to be "
            "in the order of the original", err=True)  # fmt: skip
    known = None if certificate is None else certificate.ids
    named = [] if known is None else [known.id_column, known.pseudonym]
    types = {**{name: "text" for name in named if name}, **types}
    return read_table(path, "release", types, dialect=dialect, texts=texts), certificate
