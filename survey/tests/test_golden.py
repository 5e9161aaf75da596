"""Golden values: what a plan published once under a key, it publishes for ever."""

from __future__ import annotations

import json

import pytest

import bistochastic_survey as sv
import frozen
from frozen_plans import released

PLANS = frozen.stored("plans")
RUNS = [(name, run) for name, entry in PLANS.items() for run in entry["runs"]]


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_has_the_digest_it_had(name: str) -> None:
    plan = sv.Plan.from_json(json.dumps(PLANS[name]["plan"]))
    assert plan.digest == PLANS[name]["digest"]


@pytest.mark.parametrize(("name", "run"), RUNS)
def test_a_plan_publishes_under_a_key_what_it_published(name: str, run: str) -> None:
    plan = sv.Plan.from_json(json.dumps(PLANS[name]["plan"]))
    there = PLANS[name]["runs"][run]
    found = released(plan, there["rows"], there["options"])
    assert not frozen.changes(f"{name} / {run}", there["data"], found)


def test_every_kind_of_attribute_is_among_them() -> None:
    text = json.dumps([each["plan"] for each in PLANS.values()])
    assert all(word in text for word in ("impossible", "within", "average", "unit", "groups"))
