"""Files that commands read: plans, certificates, keys, and protected tables with their plan."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bistochastic import Key
from bistochastic.errors import Refused
from bistochastic_survey.cli.group import say, warn
from bistochastic_survey.files import atomic
from bistochastic_survey.files.atomic import in_file
from bistochastic_survey.files.csv_dialect import Dialect
from bistochastic_survey.wording import shown

if TYPE_CHECKING:
    from bistochastic_survey import Certificate, Plan
    from bistochastic_survey.analysis.design import Design
    from bistochastic_survey.files.tables import Source

PLANS = (".toml", ".json")
# What a certificate begins with, and a plan does not.
_MARK = '"certificate_version"'


def text_of(path: Path, name: str) -> str:
    """Read the text of a small file."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        where = f"other bytes at byte {error.start} of {shown(path)}"
        raise Refused(name, "be UTF-8", where) from None
    except FileNotFoundError:
        raise Refused(name, "be a file to read", f"none at {shown(path)}") from None
    except OSError as error:
        why = "a folder" if isinstance(error, IsADirectoryError) else error.strerror
        raise Refused(name, "be a file to read", f"{why} at {shown(path)}") from None


def read_plan(path: Path, name: str = "plan") -> Plan:
    """Read a plan from a TOML or JSON file."""
    from bistochastic_survey import Plan

    form = path.suffix.lower()
    if form not in PLANS:
        raise Refused(name, f"end in {' or '.join(PLANS)}", shown(path.suffix) or "no ending")
    text = text_of(path, name)
    with in_file(path):
        return Plan.from_toml(text) if form == ".toml" else Plan.from_json(text)


def read_certificate(path: Path, name: str) -> Certificate:
    """Read a certificate from a JSON file."""
    from bistochastic_survey import Certificate

    text = text_of(path, name)
    with in_file(path):
        return Certificate.from_json(text)


def read_law(path: Path, name: str = "plan") -> tuple[Plan, Certificate | None]:
    """Read a plan, or a certificate with its plan."""
    form = path.suffix.lower()
    if form == ".json" and path.is_file() and _MARK in text_of(path, name)[:200]:
        certificate = read_certificate(path, name)
        return certificate.plan, certificate
    return read_plan(path, name), None


def read_own(file: Path, typed: Path | None, name: str = "file") -> tuple[Plan, Certificate | None]:
    """Find the plan of a protected file, by its certificate or as typed, and the certificate."""
    from bistochastic_survey.files.formats import check_file
    from bistochastic_survey.files.open import find_certificate
    from bistochastic_survey.release.release import refuse_other_plan

    if typed is None:
        check_file(file, name)
    certificate = find_certificate(file) if file.name else None
    if typed is None:
        if certificate is None:
            must = "have its certificate next to it or in it, or --plan be given"
            raise Refused(name, must, "neither")
        return certificate.plan, certificate
    plan, certified = read_law(typed)
    if certificate is None:
        say(f"Note: there is no certificate next to the {name}, so it was not checked that this "
            "plan protected it", err=True)  # fmt: skip
        return plan, certified
    refuse_other_plan(plan, certificate.plan)
    return plan, certificate


def names_in(file: Path, dialect: Dialect) -> list[str]:
    """List the columns of a file."""
    from bistochastic_survey.files.formats import open_source

    source = open_source(file, "file", dialect=dialect)
    source.close()
    return list(source.schema.names)


def open_released(file: Path, plan: Plan, design: Design, dialect: Dialect) -> Source:
    """Open a protected file, whose weights are numbers."""
    from bistochastic_survey.files.formats import open_source
    from bistochastic_survey.files.protect import kinds

    types = kinds(plan, released=True)
    for each in (design.weights, *(design.replicates or ()), design.fpc):
        if isinstance(each, str):
            types.setdefault(each, "number")
    return open_source(file, "file", types, dialect=dialect)


def read_key(file: Path | None) -> Key | None:
    """Read the key in a file of hexadecimal digits; warnings about the file go to stderr."""
    if file is None:
        return None
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = Key.from_file(file)
        except OSError as error:
            raise Refused(shown(file), "be a file that can be read", error.strerror) from None
    for warning in said:
        warn(str(warning.message))
    return found


def refuse_old(path: Path, name: str) -> None:
    """Raise an error if there is a file."""
    if path.exists() or path.is_symlink():
        raise Refused(name, "be a new file", f"one that there is: {shown(path)}")


def write_new(path: Path, name: str, text: str) -> None:
    """Write text to a new file."""
    refuse_old(path, name)
    atomic.write(path, name, text)


def refuse_same(written: str, to: Path, others: Sequence[tuple[str, Path | None]]) -> None:
    """Raise an error if a file to write is also another that the command has."""
    for name, path in others:
        if path is not None and os.path.realpath(to) == os.path.realpath(path):
            raise Refused(written, f"be another file than `{name}`", "the same")
