"""The JSON Schema of plans, as a validator needs it."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import bistochastic as bs
import bistochastic_survey as sv


def schema() -> Any:
    """The schema, with the one of a matrix inside it."""
    found = json.loads((resources.files(sv) / "schemas" / "plan.json").read_text("utf-8"))
    matrix = resources.files(bs) / "schemas" / "matrix.json"
    found["$defs"]["matrix_file"] = json.loads(matrix.read_text("utf-8"))
    return found
