"""``audit``: attacks on a protected file, for whoever holds the original."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bistochastic.cli.dialects import reads_csv
from bistochastic.cli.group import main, say
from bistochastic.cli.keys import read_key
from bistochastic.cli.plans import certificate_beside, is_certificate, read_certificate, read_plan
from bistochastic.progress import steps
from bistochastic.words import shown

if TYPE_CHECKING:
    import pyarrow as pa

    from bistochastic.adapters.csv_dialect import Dialect
    from bistochastic.plan import Plan, Release

_FILE = click.Path(path_type=Path)


@main.command()
@click.argument("original", type=_FILE)
@click.argument("released", type=_FILE)
@click.option("--plan", required=True, type=_FILE,
              help="The plan that protected the file, or the certificate.")  # fmt: skip
@click.option("--id-column", metavar="COLUMN", help="Ids that say which row is whose.")
@click.option("--pseudonym", metavar="COLUMN", help="The column with the keyed hash of the id.")
@click.option("--key-file", type=_FILE, help="The key of the release, to read pseudonyms.")
@click.option("--confidence", default=0.95, show_default=True, help="Of all intervals.")
@click.option("--targets", type=int, help="Rows that are traced.  [default: all up to 20,000, "
              "else 2,000]")  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="Chooses these rows.")
@click.option("--out", type=_FILE, metavar="PAGE.html", help="Write a page instead of tables.")
@reads_csv
def audit(
    original: Path,
    released: Path,
    plan: Path,
    key_file: Path | None,
    out: Path | None,
    dialect: Dialect,
    **options: Any,
) -> None:
    """Attack RELEASED, the protected form of ORIGINAL: what happened beside what was predicted.

    Both are CSV, Parquet or Arrow files. If RELEASED is CSV, it is UTF-8, as `protect` writes it;
    --encoding is that of ORIGINAL. The certificate beside RELEASED says whether the rows were
    shuffled; then an id must say which row is whose. What is printed is about the data: keep it as
    confidential as ORIGINAL.

    \b
    bistochastic audit survey.csv protected.csv --plan plan.toml
    bistochastic audit survey.csv protected.csv --plan plan.toml --id-column person --out audit.html
    """
    from bistochastic.audit import audit as attack
    from bistochastic.audit.results import NOT_FOR_RELEASE
    from bistochastic.files.release import kinds

    made = (
        read_certificate(plan, "plan").plan
        if is_certificate(plan, "plan")
        else read_plan(plan, "plan")
    )
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"`out` must end in .html; got {shown(out.suffix) or 'no ending'}")
    key = None if key_file is None else read_key(key_file)
    with steps() as progress:
        progress("reading", 0.0)
        types, typed = kinds(made), kinds(made, released=True)
        # Ids are texts, as `protect` takes them.
        ids = [options[name] for name in ("id_column", "pseudonym") if options[name]]
        _refuse_swapped(original, released, made)
        # What one file says to be texts is texts in the other, too.
        texts = [name for path, what in ((original, "original"), (released, "released"))
                 for name in _texts(path, what)]  # fmt: skip
        written = replace(dialect, encoding="utf-8")
        after = _released(released, {**dict.fromkeys(ids, "text"), **typed}, written, texts)
        known = {**dict.fromkeys(_ids(after, ids), "text"), **types}
        before = _original(original, after, known, dialect, texts)
        progress("reading", 1.0)
        found = attack(
            before, after, made, key=key, progress=lambda x: progress("attacking", x), **options
        )
    if out is None:
        say(str(found))
        return
    found.report(out)
    say(f"{shown(out)}: the audit of {found.records:,} records, which {NOT_FOR_RELEASE}")
    for sentence in found.findings:
        say(f"  {sentence}")


def _refuse_swapped(original: Path, released: Path, plan: Plan) -> None:
    """A certificate of this plan stands beside the protected file, not beside the original."""
    from bistochastic.audit.pairing import refuse_other_plan

    if not original.name or not released.name or certificate_beside(released) is not None:
        return
    try:
        found = certificate_beside(original)
        if found is None:
            return
        refuse_other_plan(found, plan)
    except ValueError:
        # It is of something else.
        return
    must = "`original` must be the file before it was protected"
    got = "one with a certificate of this plan beside it, where `released` has none"
    raise ValueError(f"{must}; got {got}: are the two swapped?")


def _texts(path: Path, name: str) -> list[str]:
    """The columns of texts in a file that says so, which CSV does not."""
    from bistochastic.adapters.table_files import held_in, opened

    if path.suffix.lower() == ".csv":
        return []
    source = opened(path, name)
    try:
        return [name for name, held in held_in(source).items() if held == "text"]
    finally:
        source.close()


def _released(
    path: Path, types: dict[str, str], dialect: Dialect, texts: list[str]
) -> Release[pa.Table] | pa.Table:
    """The protected table, with its certificate where there is one."""
    from bistochastic.adapters.table_files import whole
    from bistochastic.plan import Release

    certificate = certificate_beside(path) if path.name else None
    if certificate is None:
        say("note: there is no certificate beside the protected file, so that its rows are "
                   "taken to be in the order of the original", err=True)  # fmt: skip
        return whole(path, "released", types, dialect=dialect, texts=texts)
    known = certificate.ids
    named = [] if known is None else [known.id_column, known.pseudonym]
    types = {**{name: "text" for name in named if name}, **types}
    return Release(whole(path, "released", types, dialect=dialect, texts=texts), certificate)


def _ids(after: Release[pa.Table] | pa.Table, given: list[str]) -> list[str]:
    known = None if not hasattr(after, "certificate") else after.certificate.ids
    return [*given, *([known.id_column] if known is not None and known.id_column else [])]


def _original(
    path: Path,
    after: Release[pa.Table] | pa.Table,
    types: dict[str, str],
    dialect: Dialect,
    texts: list[str],
) -> pa.Table:
    """The columns of the original that the release has, and ids."""
    from bistochastic.adapters.table_files import whole

    released: pa.Table = after.data if hasattr(after, "certificate") else after
    columns = {*released.schema.names, *types}
    return whole(path, "original", types, columns, dialect=dialect, texts=texts)
