"""Names of format 1, under which a plan keeps its digest: ``docs/reference/compatibility.md``."""

from __future__ import annotations

import json
from hashlib import sha256

from bistochastic_survey.json_fields import OLDER, Fields

# The version of plans that is written.
VERSION = 1
# Fields of an attribute: the names under which a plan is written, and the names of format 1.
FIELDS = {name: OLDER[name] for name in ("groups", "how", "categories_from_data")}
# Values of such fields, by the field's name in format 1.
VALUES = {"missing": {"raise": "refuse"}}


def format_1(plan: Fields) -> Fields:
    """Translate a plan's plain data to the names and values of format 1."""
    attributes = []
    for data in plan["attributes"]:
        named = {FIELDS.get(name, name): value for name, value in data.items()}
        named |= {n: v.get(named[n], named[n]) for n, v in VALUES.items() if n in named}
        attributes.append(named)
    return {**plan, "version": 1, "attributes": attributes}


def current(field: str, value: object) -> object:
    """Translate a value of format 1 to the value that is written today."""
    older = {old: new for new, old in VALUES.get(field, {}).items()}
    return older.get(value, value) if isinstance(value, str) else value


def to_text(data: Fields) -> str:
    """Write plain data as the text that digests are of."""
    return json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False)


def digest(plan: Fields) -> str:
    """Compute the digest of a plan from its plain data."""
    return digest_of(format_1(plan))


def digest_of(data: Fields) -> str:
    """Compute the SHA-256 of plain data as 64 hexadecimal digits."""
    return sha256(to_text(data).encode()).hexdigest()
