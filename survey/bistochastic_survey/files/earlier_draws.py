"""Earlier draws of the same records, found by the certificates in the folder of a file.

Two runs without a key, or with different keys, draw noise twice for the same people. Anyone with
both files learns more than either certificate says.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from bistochastic_survey.release.certificate import Certificate
from bistochastic_survey.wording import shown, up

ENDING = ".certificate.json"
# How much of a folder is looked at: names, and bytes of one certificate and of all.
_NAMES = 10_000
_BYTES = 1 << 24
_TOTAL = 1 << 26


def read_earlier(out: Path) -> dict[Path, str]:
    """Read the certificates next to ``out``, before one of them is replaced.

    Files that cannot be read are skipped.
    """
    found: dict[Path, str] = {}
    try:
        with os.scandir(out.parent) as entries:
            names = sorted(entry.name for entry in itertools.islice(entries, _NAMES))
    except OSError:
        return found
    left = _TOTAL
    for path in (out.with_name(name) for name in names if name.endswith(ENDING)):
        try:
            size = path.stat().st_size
            if size <= min(_BYTES, left) and path.is_file():
                left -= size
                found[path] = path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            continue
    return found


def find_draws(earlier: dict[Path, str], certificate: Certificate) -> list[Path]:
    """Find the certificates of other draws by the same plan for as many records.

    Files that are not certificates are skipped.
    """
    found = []
    for path, text in earlier.items():
        if certificate.plan.digest not in text:
            continue
        try:
            other = Certificate.from_json(text)
        except ValueError:
            continue
        same = other.plan.digest == certificate.plan.digest and other.records == certificate.records
        if same and not _has_same_noise(other, certificate):
            found.append(path)
    return found


def _has_same_noise(one: Certificate, other: Certificate) -> bool:
    """Whether the same record with the same value has the same reported value in both."""
    if one.key_fingerprint in (None, "insecure") or one.key_fingerprint != other.key_fingerprint:
        return False
    if _addresses(one) != _addresses(other):
        return False
    by_ids = one.ids is not None and not one.ids.row_columns
    numeric = one.plan._numeric
    # Numbers are permuted again under every name of a release.
    return one.release_name == other.release_name or (by_ids and not numeric)


def _addresses(certificate: Certificate) -> object:
    """What chooses the noise of a row, other than its position and the key."""
    ids, units = certificate.ids, [(unit.column, unit.kind) for unit in certificate.units]
    return ids and (ids.id_column, ids.kind, ids.row_columns, units)


def describe_draws(found: list[Path], own: Path, certificate: Certificate) -> str:
    """Say that epsilon adds, and how a release is had in several formats instead."""
    more = f" and {len(found) - 1} more" * (len(found) > 1)
    # One that was replaced is spoken of last: its file may be gone.
    found = sorted(found, key=lambda path: path.name == own.name)
    first = found[0]
    alone, both = certificate.plan.epsilon, certificate.plan.epsilon * (1 + len(found))
    replaced = " (replaced by this run)" * (first.name == own.name)
    return (
        f"{shown(first.name)}{replaced}{more} in the same folder: the same plan and number of "
        "records.\nIf the records are the same, noise was drawn more than once for each of them. "
        f"Publish one of the files only: epsilon adds, from {up(alone)} to {up(both)}.\n"
        "To have one release in several formats, name all files in one run, or write the `data` of "
        "bistochastic.open(FILE)."
    )
