"""Golden values: what a matrix with given parameters, or a plan, gave once, it gives for ever."""

from __future__ import annotations

import json
from typing import Any

import pytest

import bistochastic_survey as sv
import frozen
from bistochastic import _core

MATRICES = frozen.stored("matrices")
PLANS = frozen.stored("plans")
REQUESTS = frozen.stored("requests")
RUNS = [(name, run) for name, entry in PLANS.items() for run in entry["runs"]]


def changes(path: str, there: Any, found: Any) -> list[str]:
    """The places where something is not as it was."""
    if isinstance(there, dict) and isinstance(found, dict):
        inside = ((name, there.get(name), found.get(name)) for name in {**there, **found})
        return [each for name, x, y in inside for each in changes(f"{path} / {name}", x, y)]
    return [] if frozen.same(path, there, found) else [f"{path}: {there} became {found}"]


@pytest.mark.parametrize("name", MATRICES)
def test_a_matrix_gives_what_it_gave(name: str) -> None:
    there = dict(MATRICES[name])
    packed = there.pop("matrix")
    m = frozen.unpacked(packed)
    assert frozen.packed(m) == packed
    without = {"terms", "measures"} - set(there)
    assert not changes(name, there, frozen.facts(m, without))


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_has_the_digest_it_had(name: str) -> None:
    plan = sv.Plan.from_json(json.dumps(PLANS[name]["plan"]))
    assert plan.digest == PLANS[name]["digest"]


@pytest.mark.parametrize(("name", "run"), RUNS)
def test_a_plan_publishes_under_a_key_what_it_published(name: str, run: str) -> None:
    plan = sv.Plan.from_json(json.dumps(PLANS[name]["plan"]))
    there = PLANS[name]["runs"][run]
    found = frozen.released(plan, there["rows"], there["options"])
    assert not changes(f"{name} / {run}", there["data"], found)


def test_a_request_gives_the_matrix_it_gave() -> None:
    found = {n: frozen.digest_of(each["family"], each["asked"]) for n, each in REQUESTS.items()}
    assert found == {n: each["digest"] for n, each in REQUESTS.items()}


def test_every_family_and_kind_of_attribute_is_among_them() -> None:
    assert {each["matrix"]["family"] for each in MATRICES.values()} == set(_core.families())
    text = json.dumps([each["plan"] for each in PLANS.values()])
    assert all(word in text for word in ("impossible", "within", "average", "unit", "groups"))
    assert sum(path.stat().st_size for path in frozen.FOLDER.iterdir()) < 2_000_000
