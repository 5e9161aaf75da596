"""What a terminal shows: help in the order of work, tables by rich, JSON for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey import cli

PLAN = sv.Plan(
    [sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)],
    name="survey",
    keep=["age"],
)


def run(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(cli.main, [str(each) for each in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN.to_toml())
    (tmp_path / "in.csv").write_text("sex,age\n" + "F,1\nM,2\n" * 200)
    return tmp_path


def test_programs_get_json(folder: Path) -> None:
    plan = folder / "plan.toml"
    run("protect", folder / "in.csv", folder / "out.csv", "--plan", plan)
    shown = json.loads(run("inspect", plan, "--json").output)
    assert shown["beta"] == PLAN.beta
    assert shown["attributes"][0]["columns"] == ["sex"]
    certificate = folder / "out.csv.certificate.json"
    assert json.loads(run("inspect", certificate, "--json").output)["records"] == 400
    (folder / "m.json").write_text(bs.identity(3).to_json())
    matrix = json.loads(run("inspect", folder / "m.json", "--json").output)
    wrong = run("inspect", folder / "m.json", "--records", 3, code=1)
    assert "`records` must go with a plan; got a matrix" in wrong.output
    assert matrix["profile"]["epsilon"]["value"] == "inf"
    assert bs.Matrix.from_json(json.dumps(matrix["matrix"])) == bs.identity(3)
    words = ["estimate", folder / "out.csv", "--plan", plan, "--by", "sex"]
    assert json.loads(run(*words, "--json").stdout) == json.loads(
        run(*words, "--format", "json").stdout
    )
    audit = json.loads(
        run("audit", folder / "in.csv", folder / "out.csv", "--plan", plan, "--json").stdout
    )
    assert audit["records"] == 400
    assert audit["guesses"][0]["columns"] == ["sex"]


def test_a_plan_can_be_checked(folder: Path) -> None:
    plan = folder / "plan.toml"
    assert run("plan", "--check", plan).output == f"{PLAN.preview()}\n"
    run("plan", "--check", plan, "--min-beta", 0.6)
    low = run("plan", "--check", plan, "--min-beta", 0.7, code=1)
    assert "column `sex`: `beta` must be at least 0.7; got 0.6" in low.stderr
    draft = folder / "draft.toml"
    draft.write_text(sv.Plan(PLAN.attributes, undecided=["weight"]).to_toml())
    open_ = run("plan", "--check", draft, "--json", code=1)
    assert json.loads(open_.stdout)["undecided"] == ["weight"]
    assert "`weight`" in open_.stderr


def test_pipes_get_plain_text(folder: Path) -> None:
    text = run("inspect", folder / "plan.toml").output
    assert "\x1b" not in text
    assert text == f"{PLAN.preview()}\n"
