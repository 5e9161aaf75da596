"""``sv.open`` and ``sv.verify``: a protected file and the certificate that belongs to it.

The certificate is next to the file, under its name or with its SHA-256, or in the schema of a
Parquet or Arrow file.
"""

from os import PathLike
from pathlib import Path
from typing import Any

from bistochastic.errors import Refused
from bistochastic_survey import checks
from bistochastic_survey.analysis.design import Design
from bistochastic_survey.analysis.protected_table import read_sheet
from bistochastic_survey.analysis.request import Request
from bistochastic_survey.files.atomic import in_file
from bistochastic_survey.files.csv_dialect import Dialect
from bistochastic_survey.files.earlier_draws import ENDING, read_earlier
from bistochastic_survey.files.formats import check_file, open_source, read_table
from bistochastic_survey.files.protect import digest, kinds
from bistochastic_survey.files.tables import said
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.release.certificate import Certificate
from bistochastic_survey.release.release import (
    Release,
    noted,
    read_metadata,
    refuse_other_plan,
)
from bistochastic_survey.wording import shown

# Endings of files that have a schema.
_TYPED = (".parquet", ".arrow", ".feather")


def open(
    path: str | PathLike[str], *, separator: str | None = None, decimal: str = "."
) -> Release[Any]:
    """Open a protected file with its certificate and its plan.

    ``path`` is a file that was protected: CSV, Parquet, Arrow, SPSS or Stata. Its certificate is
    searched for

    1. next to the file, as ``protect`` writes it: ``FILE.certificate.json``;
    2. in the same folder under any other name, with the file's SHA-256 in it;
    3. in the file: Parquet files and Arrow tables that were protected have it in their schema.

    ``data`` of the result is a pyarrow Table, with the types of the plan. ``separator`` and
    ``decimal`` are the CSV options that the file was protected with. A file without a certificate,
    or one that was changed since, raises ``ValueError``.

    >>> import bistochastic_survey as sv, pathlib, pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "protected.parquet"
    >>> pq.write_table(plan.protect(pa.table({"sex": ["F", "M", "M"]})).data, file)
    >>> release = sv.open(file)
    >>> release
    <Release of 3 records, 1 column: plan `plan`, beta 0.6, epsilon 1.766>
    >>> release.estimate("sex").records
    3
    """
    file = Path(checks.path("path", path))
    certificate = certified(file, "path")
    dialect = Dialect.of(separator, decimal=decimal)
    table = read_table(file, "path", types_of(certificate), dialect=dialect)
    return Release(noted(table, certificate), certificate)


def verify(
    path: str | PathLike[str],
    *,
    certificate: Certificate | None = None,
    plan: Plan | None = None,
    separator: str | None = None,
    decimal: str = ".",
) -> Certificate:
    """Check that a protected file is the one that its certificate describes, and return it.

    The certificate is found as :func:`open` finds it, unless you pass it. Compared are

    1. the SHA-256 of the file, if the certificate lists files;
    2. the columns;
    3. the categories of protected columns;
    4. the number of records.

    If ``plan`` is given, it must have the matrices that protected the file. What differs raises
    ``ValueError``. ``certificate.files`` is empty if nothing says which bytes the file had: then it
    was not checked that cells are unchanged. The file is read in batches, so it can be larger than
    memory. ``separator`` and ``decimal`` are the CSV options that the file was protected with.

    >>> import bistochastic_survey as sv, pathlib, pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "protected.parquet"
    >>> table = plan.protect(pa.table({"sex": ["F", "M", "M"]})).data
    >>> pq.write_table(table, file)
    >>> sv.verify(file, plan=plan)
    <Certificate of 3 records, 1 column: plan `plan`, beta 0.6, epsilon 1.766>
    >>> pq.write_table(table.slice(1), file)
    >>> sv.verify(file)
    Traceback (most recent call last):
        ...
    bistochastic.errors.Refused: `path` must have the 3 records of its certificate; got 2
    """
    file = Path(checks.path("path", path))
    checks.of_type("certificate", "be a Certificate", certificate, Certificate | None)
    checks.of_type("plan", "be a Plan", plan, Plan | None)
    dialect = Dialect.of(separator, decimal=decimal)
    if certificate is None:
        certificate = certified(file, "path")
    else:
        check_file(file, "path")
        refuse_changed(file, certificate, "path")
    _check_contents(file, certificate, dialect)
    if plan is not None:
        refuse_other_plan(plan, certificate.plan)
    return certificate


def certified(file: Path, name: str) -> Certificate:
    """Find the certificate of a protected file; raise if it is missing or of another file."""
    check_file(file, name)
    found = find_certificate(file)
    if found is None:
        raise Refused(name, "have its certificate next to it or in it", "none")
    refuse_changed(file, found, name)
    return found


def find_certificate(file: Path) -> Certificate | None:
    """Find the certificate of a protected file; None if it is missing."""
    if not file.is_file():
        return None
    beside, inside = _beside(file), _inside(file)
    if beside is not None and inside is not None and beside.digest != inside.digest:
        must = "have one certificate"
        raise Refused(
            shown(file.name), must, "one next to it that differs from the one in its schema"
        )
    return inside if beside is None else beside


def _beside(file: Path) -> Certificate | None:
    own = file.with_name(f"{file.name}{ENDING}")
    try:
        found = {own: own.read_text(encoding="utf-8")}
    except (OSError, UnicodeDecodeError):
        # Only a certificate that lists files can be of this one under another name.
        listed = {path: text for path, text in read_earlier(file).items() if '"files"' in text}
        name = digest(file) if listed else None
        found = {path: text for path, text in listed.items() if name and name in text}
    for path, text in found.items():
        with in_file(path):
            return Certificate.from_json(text)
    return None


def _inside(file: Path) -> Certificate | None:
    if file.suffix.lower() not in _TYPED:
        return None
    source = open_source(file, "file")
    source.close()
    return read_metadata(source.schema.metadata)


def refuse_changed(file: Path, certificate: Certificate, name: str) -> None:
    """Raise an error if a file is not among those that its certificate lists."""
    if certificate.files and digest(file) not in certificate.files.values():
        raise Refused(name, "be a file of its certificate", "one that was changed")


def types_of(certificate: Certificate) -> dict[str, str]:
    """List what the columns of a protected CSV file hold, as far as the certificate says it."""
    ids, units = certificate.ids, certificate.units
    named = [] if ids is None else [ids.id_column, ids.pseudonym]
    named += [name for unit in units for name in (unit.column, unit.pseudonym)]
    return {**{name: "text" for name in named if name}, **kinds(certificate.plan, released=True)}


def _check_contents(file: Path, certificate: Certificate, dialect: Dialect) -> None:
    plan, ids = certificate.plan, certificate.ids
    source = open_source(file, "path", types_of(certificate), dialect=dialect)
    try:
        found = set(source.schema.names)
        wanted = {column for attribute in plan.attributes for column in attribute.columns}
        wanted |= {*certificate.unprotected_columns}
        wanted |= {unit.pseudonym for unit in certificate.units if unit.pseudonym}
        wanted |= {ids.pseudonym} if ids is not None and ids.pseudonym else set()
        for column in sorted(found ^ wanted):
            got = "one more" if column in found else "none of that name"
            must = "have the columns of its certificate"
            raise Refused("path", must, f"{got}: `{shown(column)}`")
        questions = [Request(plan, tuple(attribute.columns)) for attribute in plan._coded]
        rows = 0
        with said("path"):
            for batch in source.batches():
                for question in questions:
                    read_sheet(question, batch, Design(), first=rows, empty=True)
                rows += batch.num_rows
        if rows != certificate.records:
            must = f"have the {certificate.records} records of its certificate"
            raise Refused("path", must, rows)
    finally:
        source.close()
