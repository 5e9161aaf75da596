"""The certificate inside the table: in the schema of an Arrow table and of a Parquet file.

Two fields of the metadata: the digest of the plan, and the certificate without ``files``. A table
that is filtered, sliced or written again by pyarrow keeps both.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from bistochastic.errors import Refused
from bistochastic_survey.plan import formats
from bistochastic_survey.plan.plan import Plan
from bistochastic_survey.release.certificate import Certificate
from bistochastic_survey.table.frames import library
from bistochastic_survey.wording import shown

PLAN, CERTIFICATE = "bistochastic.plan_digest", "bistochastic.certificate"


def notes(certificate: Certificate) -> dict[str, str]:
    """Write the metadata of a protected table."""
    return {PLAN: certificate.plan.digest, CERTIFICATE: formats.to_text(certificate._data())}


def noted(data: Any, certificate: Certificate) -> Any:
    """Add the metadata to a table, if it is an Arrow table; other tables have no metadata."""
    if library(data) != "pyarrow":
        return data
    return data.replace_schema_metadata(notes(certificate))


def read(metadata: Mapping[bytes, bytes] | None) -> Certificate | None:
    """Read the certificate in the metadata of a schema; None if it has no certificate."""
    found = (metadata or {}).get(CERTIFICATE.encode())
    return None if found is None else _certificate(found)


@lru_cache(16)
def _certificate(written: bytes) -> Certificate:
    try:
        return Certificate.from_json(written.decode("utf-8"))
    except ValueError as error:
        raise ValueError(f"the certificate in the schema: {error}") from None


def certificate_of(frame: object, plan: Plan) -> Certificate | None:
    """Find the certificate of an Arrow table; raise if ``plan`` is another."""
    schema = getattr(frame, "schema", None) if library(frame) == "pyarrow" else None
    found = read(getattr(schema, "metadata", None))
    if found is not None:
        refuse_other_plan(plan, found.plan)
    return found


def refuse_other_plan(plan: Plan, certified: Plan) -> None:
    """Raise an error if the matrices of a certificate's plan are not those of the plan."""
    if plan.digest == certified.digest:
        return
    then, now = ({each.columns: each for each in p._coded} for p in (certified, plan))
    if then != now:
        must = "be the one that protected the table, as its certificate says"
        other = next(c for c in (*then, *now) if then.get(c) != now.get(c))
        listed = ", ".join(f"`{shown(column)}`" for column in other)
        raise Refused("plan", must, f"one whose matrix of {listed} differs")
