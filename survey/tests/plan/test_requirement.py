"""The publisher's own requirement: stored in the plan, and checked before anything is drawn."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic.errors import GuaranteeError
from bistochastic_survey.cli import main
from folded import waved
from plan_schema import schema

PEOPLE: dict[str, Any] = {"person": [1, 2, 3], "sex": ["F", "M", "M"]}
WEAK = r"column `sex`: `beta` must be at least 0.7; got 0.6"


def plan(*more: Any, **requirement: float) -> sv.Plan:
    sex = sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)
    return sv.Plan([sex, *more], requirement=requirement or None)


def test_a_requirement_is_stored_and_read_again() -> None:
    made = plan(epsilon=2, min_beta=0.6)
    # In the order of the arguments of `require`.
    assert made.requirement == {"min_beta": 0.6, "epsilon": 2.0}
    for again in (
        sv.Plan.from_json(made.to_json()),
        sv.Plan.from_toml(made.to_toml()),
        pickle.loads(pickle.dumps(made)),
    ):
        assert again == made
        assert again.requirement == made.requirement
        assert again.digest == made.digest
    assert list(json.loads(made.to_json()))[-1] == "requirement"
    assert made.for_records(10).requirement == made.requirement
    assert hash(made) != hash(plan())


def test_a_plan_without_one_is_written_as_before() -> None:
    assert plan().requirement == {}
    assert "requirement" not in plan().to_json()
    assert plan(min_beta=0.5).digest != plan().digest


def test_the_schema_knows_it() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    check = jsonschema.Draft202012Validator(schema())
    check.validate(json.loads(plan(min_beta=0.6, beta=0.5, epsilon=3).to_json()))
    data = {**json.loads(plan().to_json()), "requirement": {"low_beta": 0.6}}
    assert not check.is_valid(data)
    with pytest.raises(ValueError, match="`requirement` must map some of beta, min_beta"):
        sv.Plan.from_json(json.dumps(data))


def test_require_without_arguments_checks_it() -> None:
    plan(min_beta=0.6).require()
    with pytest.raises(GuaranteeError, match=WEAK):
        plan(min_beta=0.7).require()
    with pytest.raises(GuaranteeError, match=r"`epsilon` must be at most 1 for a record; got 1.7"):
        plan(epsilon=1).require()
    # What is asked for in the call counts, and nothing else.
    plan(min_beta=0.7).require(min_beta=0.5)
    with pytest.raises(ValueError, match=r"`require` must be given .* or the plan a requirement"):
        plan().require()


def protected_somehow(made: sv.Plan, way: str, folder: Path) -> None:
    key: Any = bs.Key.from_bytes(bytes(range(32)))
    if way == "memory":
        made.protect({"sex": PEOPLE["sex"]})
    elif way == "ids":
        made.protect(PEOPLE, key=key, ids=sv.Wave("person", after="first"))
    elif way == "batches":
        made.protect_batches(pa.table({"sex": PEOPLE["sex"]}).to_reader())
    elif way == "respond":
        made.responder(key=key, after="first").one({"sex": "F"}, id=1)
    elif way == "engine":
        with bs.KeySource.temporary(folder) as source:
            made.batch_function(key=source, ids=sv.Wave("person", after="first"))
    else:
        (folder / "plan.toml").write_text(made.to_toml(), encoding="utf-8")
        (folder / "in.csv").write_text("sex\nF\nM\n", encoding="utf-8")
        words = ["protect", "in.csv", "out.csv", "--plan", "plan.toml"]
        found = CliRunner().invoke(
            main, [str(folder / w) if "." in w else w for w in words], standalone_mode=False
        )
        if found.exit_code or found.exception:
            assert not (folder / "out.csv").exists()
            raise GuaranteeError(found.output or str(found.exception))


@pytest.mark.parametrize("way", ["memory", "ids", "batches", "respond", "engine", "files"])
def test_nothing_is_drawn_by_a_plan_that_does_not_meet_it(way: str, tmp_path: Path) -> None:
    protected_somehow(plan(min_beta=0.6), way, tmp_path)
    (tmp_path / "out.csv").unlink(missing_ok=True)
    with pytest.raises(GuaranteeError, match=WEAK):
        protected_somehow(plan(min_beta=0.7), way, tmp_path)


def test_numbers_are_checked_for_the_records_that_come(tmp_path: Path) -> None:
    ages = sv.Numeric("age", "k_anonymous", k=5)
    rows: dict[str, Any] = {"sex": ["F", "M"] * 50, "age": [float(i) for i in range(100)]}
    made = plan(ages, min_beta=0.3)
    with pytest.raises(GuaranteeError, match="column `age`: `records` must be known"):
        made.require()
    # log2(5) / log2(100) is 0.349, and log2(5) / log2(1000) 0.233.
    assert made.protect(rows).certificate.plan.requirement == {"min_beta": 0.3}
    many = {name: column * 10 for name, column in rows.items()}
    with pytest.raises(GuaranteeError, match=r"column `age`: `beta` must be at least 0.3; got 0.2"):
        made.protect(many)
    (tmp_path / "plan.toml").write_text(made.to_toml(), encoding="utf-8")
    text = "sex,age\n" + "".join(f"{s},{a}\n" for s, a in zip(*many.values(), strict=True))
    (tmp_path / "in.csv").write_text(text, encoding="utf-8")
    out = tmp_path / "out.csv"
    found = CliRunner().invoke(
        main,
        ["protect", str(tmp_path / "in.csv"), str(out), "--plan", str(tmp_path / "plan.toml")],
    )
    assert found.exit_code
    assert "`beta` must be at least 0.3" in found.output
    assert not out.exists()


def test_it_changes_no_noise() -> None:
    key = bs.Key.from_bytes(bytes(range(32)))
    ids: Any = {"key": key, "id_column": "person"}
    first = plan().protect(PEOPLE, **waved(ids, after="first"))
    again = plan(min_beta=0.6).protect(PEOPLE, **waved(ids, after=first.certificate))
    assert list(again.data["sex"]) == list(first.data["sex"])


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({"least": 0.6}, ValueError, "`requirement` must map some of .* to numbers; got `least`"),
        ({"epsilon": math.inf}, ValueError, "`epsilon` must be a finite number; got inf"),
        ({"beta": math.nan}, ValueError, "`beta` must be a finite number; got nan"),
        (pd.Series([3]), TypeError, "`requirement` must map some of .* to numbers; got Series"),
    ],
)
def test_a_wrong_requirement_is_one_sentence(wrong: Any, error: type, said: str) -> None:
    with pytest.raises(error, match=said):
        sv.Plan(plan().attributes, requirement=wrong)


def test_a_beta_is_required_of_categories_and_of_numbers_each() -> None:
    sex = sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.2)
    mixed = sv.Plan([sex, sv.Numeric("income", "uniform")]).for_records(1000)
    assert mixed.beta > 0.9
    with pytest.raises(bs.errors.GuaranteeError, match=r"over all categories; got 0\.2"):
        mixed.require(beta=0.9)
    mixed.require(beta=0.2)
