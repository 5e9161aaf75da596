"""Earlier draws of the same records, found by the certificates in the folder of a file.

Two runs without a key, or with different keys, draw noise twice for the same people. Anyone with
both files learns more than either certificate says.
"""

from contextlib import suppress
from itertools import islice
from pathlib import Path

from bistochastic_survey.release.certificate import Certificate
from bistochastic_survey.wording import shown, up

ENDING = ".certificate.json"
# How many certificates are looked at, and bytes of one.
_FILES, _BYTES = 1000, 1 << 22


def read_earlier(out: Path) -> dict[Path, str]:
    """Read the certificates next to ``out``, before one is replaced; skip what cannot be read."""
    found: dict[Path, str] = {}
    # On a folder that cannot be listed, there is nothing to say.
    with suppress(OSError):
        for path in sorted(islice(out.parent.glob(f"*{ENDING}"), _FILES)):
            with suppress(OSError, ValueError):
                if path.is_file() and path.stat().st_size <= _BYTES:
                    found[path] = path.read_text(encoding="utf-8")
    return found


def describe_draws(earlier: dict[Path, str], own: Path, certificate: Certificate) -> str | None:
    """Say that epsilon adds if some of these are other draws for as many records; else None."""
    found = []
    for path, text in earlier.items():
        with suppress(ValueError):
            if certificate.plan.digest in text and _is_draw(
                Certificate.from_json(text), certificate
            ):
                found.append(path)
    if not found:
        return None
    # One that was replaced is spoken of last: its file may be gone.
    first = min(found, key=lambda path: path.name == own.name)
    replaced = " (replaced by this run)" * (first.name == own.name)
    more = f" and {len(found) - 1} more" * (len(found) > 1)
    alone, both = certificate.plan.epsilon, certificate.plan.epsilon * (1 + len(found))
    adds = "epsilon adds" if alone == both else f"epsilon adds, from {up(alone)} to {up(both)}"
    return (
        f"{shown(first.name)}{replaced}{more} in the same folder: the same plan and number of "
        "records.\nIf the records are the same, noise was drawn more than once for each of them. "
        f"Publish one of the files only: {adds}.\n"
        "To have one release in several formats, name all files in one run, or write the `data` of "
        "bistochastic.open(FILE)."
    )


def _is_draw(one: Certificate, other: Certificate) -> bool:
    """Whether records of the same plan may have other reported values in both."""
    if one.plan.digest != other.plan.digest or one.records != other.records:
        return False
    if one.key_fingerprint in (None, "insecure") or one.key_fingerprint != other.key_fingerprint:
        return True
    if _addresses(one) != _addresses(other):
        return True
    by_ids = one.ids is not None and not one.ids.row_columns
    # Numbers are permuted again under every name of a release.
    return one.release_name != other.release_name and not (by_ids and not one.plan._numeric)


def _addresses(certificate: Certificate) -> object:
    """What chooses the noise of a row, other than its position and the key."""
    ids, units = certificate.ids, [(unit.column, unit.kind) for unit in certificate.units]
    return ids and (ids.id_column, ids.kind, ids.row_columns, units)
