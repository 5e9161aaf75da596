"""``bistochastic plan`` and ``inspect`` of plans and certificates."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey import cli

DATA = Path(os.environ.get("BISTOCHASTIC_DATA", "data"))


def invoke(*words: str | Path) -> Any:
    return CliRunner().invoke(cli.main, [str(word) for word in words])


def run(*words: str | Path) -> str:
    done = invoke(*words)
    assert done.exit_code == 0, done.output
    return str(done.stdout)


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    rows = [f"{i},{'FM'[i % 2]},{20 + i},{i / 2},secret {i}" for i in range(40)]
    (tmp_path / "survey.csv").write_text("\n".join(["id,sex,age,income,name", *rows]) + "\n")
    (tmp_path / "codebook.csv").write_text("column,category\nsex,M\nsex,F\nsex,X\n")
    return tmp_path


def test_a_codebook_and_a_header_make_a_plan(survey: Path) -> None:
    words = ("plan", survey / "survey.csv", "--codebook", survey / "codebook.csv", "--beta", "0.5")
    done = invoke(*words, "--drop", "id", "--keep", "age", "--numeric", "income", "--name", "wave")
    assert done.exit_code == 0, done.output
    plan = sv.Plan.from_toml(done.stdout)
    sex, income = plan.attributes
    assert isinstance(sex, sv.Categorical)
    assert sex.categories == ("M", "F", "X")
    assert isinstance(income, sv.Numeric)
    assert (plan.name, plan.keep, plan.drop) == ("wave", ("age",), ("id", "name"))
    assert done.stderr.startswith(
        "column `name`: left out: no categories are declared; a codebook can"
    )
    assert "--categories-from-data reads them from the data" in done.stderr
    assert "secret" not in done.output


def test_types_of_a_parquet_file_declare_levels(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = pl.DataFrame({"a": ["x", "é"], "b": [True, False], "c": ["x", "y"]},
                         schema_overrides={"a": pl.Enum(["é", "x", "z"])})  # fmt: skip
    frame.write_parquet(path)
    plan = sv.Plan.from_toml(run("plan", path, "--beta", "0.6"))
    assert [a.columns[0] for a in plan.attributes] == ["a", "b"]
    first = plan.attributes[0]
    assert isinstance(first, sv.Categorical)
    assert (first.categories, first.categories_from_data) == (("é", "x", "z"), False)
    pq.write_table(pa.table({"d": pa.array(["v", "u", "v"]).dictionary_encode()}), path)
    assert (
        "`schema` must have a column that can be protected"
        in invoke("plan", path, "--beta", "0.6").stderr
    )
    [read] = sv.Plan.from_toml(
        run("plan", path, "--categories-from-data", "--beta", "0.6")
    ).attributes
    assert isinstance(read, sv.Categorical)
    assert read.categories == ("u", "v")


def test_a_plan_is_written_once_and_shown(survey: Path) -> None:
    out = survey / "plan.toml"
    words = ("plan", "--codebook", survey / "codebook.csv", "--beta", "0.6")
    none = invoke(*words[:3]).stderr
    assert "`beta` must be given, or epsilon or truthfulness; got none" in none
    text = run(*words, "--out", out)
    assert "beta 0.6" in text
    assert "Written to" in text
    plan = sv.Plan.from_toml(out.read_text())
    assert run("inspect", out) == f"{plan.preview()}\n"
    again = invoke(*words, "--out", out)
    assert again.exit_code == 1
    assert "`--out` must be a new file" in again.stderr
    nowhere = invoke(*words, "--out", survey / "no/p.toml")
    assert nowhere.exit_code == 1
    assert f"`--out` must be in a folder that there is; got none at {survey / 'no'}" in (
        nowhere.stderr
    )


@pytest.mark.parametrize("beta", ["1.5", "nan", "-3"])
def test_a_beta_that_there_is_not_is_refused_for_numbers_alone(tmp_path: Path, beta: str) -> None:
    (tmp_path / "in.csv").write_text("age\n1\n2\n")
    done = invoke("plan", tmp_path / "in.csv", "--beta", beta, "--out", tmp_path / "p.toml")
    assert done.exit_code == 1
    assert "`beta` must be from 0 to 1; got" in done.stderr
    assert not (tmp_path / "p.toml").exists()


def test_inspect_shows_plans_and_certificates(tmp_path: Path) -> None:
    plan = sv.Plan([sv.Numeric("income", "k_anonymous", k=5)])
    (tmp_path / "plan.json").write_text(plan.to_json())
    shown = run("inspect", tmp_path / "plan.json", "--records", "1000")
    assert shown == f"{plan.preview(1000)}\n"
    certificate = plan.protect({"income": list(range(20))}).certificate
    (tmp_path / "c.json").write_text(certificate.to_json())
    assert run("inspect", tmp_path / "c.json") == f"{certificate}\n"


def test_a_plan_with_a_channel_protects_nobody(tmp_path: Path) -> None:
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
    held = json.loads(plan.to_json())
    for channel in (bs.Channel(warner=0.75), bs.Channel(bs.randomized_response(2, keep=0.75))):
        held["attributes"][0]["matrix"] = json.loads(channel.to_json())
        (tmp_path / "plan.json").write_text(json.dumps(held))
        (tmp_path / "in.csv").write_text("sex\nF\nM\n")
        said = (
            'column `sex`: `attributes[0].matrix.format` must be "bistochastic.matrix"; '
            "got 'bistochastic.channel'"
        )
        with pytest.raises(ValueError, match=re.escape(said)):
            sv.Plan.from_json(json.dumps(held))
        out = tmp_path / "out.csv"
        for arguments in (["protect", tmp_path / "in.csv", out], ["inspect"]):
            given = ["--plan"] if len(arguments) > 1 else []
            done = invoke(*arguments, *given, tmp_path / "plan.json")
            assert done.exit_code == 1
            assert said in " ".join(done.stderr.split())
            assert not out.exists()


def test_a_broken_certificate_is_named_by_its_path(tmp_path: Path) -> None:
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)])
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    (tmp_path / "in.csv").write_text("sex\nF\nM\n")
    path = tmp_path / "in.csv.certificate.json"
    path.write_text("{}")
    done = invoke("estimate", tmp_path / "in.csv", "--plan", tmp_path / "plan.toml", "--by", "sex")
    assert done.exit_code == 1
    assert done.stderr.startswith(f"Error: `{path}` must be a certificate that this package wrote")
    path.write_bytes(b"\xff")
    done = invoke("inspect", path)
    assert f"must be UTF-8; got other bytes at byte 0 of {path}\n" in done.stderr


# Numbers without declared levels are undecided.


def test_household_ids_weights_and_region_codes_are_not_permuted(tmp_path: Path) -> None:
    """Household 1 became 21, and region 0113 became 118."""
    people = DATA / "sdcmicro_testdata.csv"
    if not people.is_file():
        pytest.skip("the file is not here")
    frame = pl.read_csv(people).head(400)
    codes = [f"0{1 + i % 7}1{i % 5}" for i in range(frame.height)]
    frame.with_columns(pl.Series("region", codes)).write_csv(tmp_path / "in.csv")
    (tmp_path / "book.csv").write_text("column,category\nsex,1\nsex,2\n")
    words = ("plan", tmp_path / "in.csv", "--codebook", tmp_path / "book.csv", "--beta", "0.6")
    plan = sv.Plan.from_toml(run(*words))
    assert [a.columns for a in plan.attributes] == [("sex",)]
    ids = {"ori_hid", "sampling_weight", "household_weights"}
    assert ids | {"age", "income"} < set(plan.undecided)
    assert "region" in (*plan.undecided, *plan.drop)
    out = tmp_path / "plan.toml"
    shown = run(*words, "--out", out)
    assert "Undecided, so nothing can be protected yet:\n  columns `urbrur`, " in shown
    done = invoke("protect", tmp_path / "in.csv", tmp_path / "out.csv", "--plan", out)
    assert done.exit_code == 1
    assert "`ori_hid`" in done.stderr
    assert "must be decided first; got numbers without declared categories" in done.stderr
    assert not (tmp_path / "out.csv").exists()
    assert "Undecided" in run("inspect", out)
    assert "must be decided" in invoke("report", out, "--out", tmp_path / "r.html").stderr


def test_commas_and_repeated_options_name_columns(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text('sex,a,b,"a,b",c,d\nF,1,1,1,1,1\nM,2,2,2,2,2\n')
    book = tmp_path / "book.toml"
    book.write_text('sex = ["F", "M"]')
    words = ("plan", path, "--codebook", book, "--beta", "0.6")

    def of(*more: str) -> sv.Plan:
        return sv.Plan.from_toml(run(*words, *more))

    assert of().undecided == ("a", "b", "a,b", "c", "d")
    plan = of("--numeric", "a, b", "--keep", "c", "--keep", "a,b", "--drop", "d")
    # What is the name of a column is that column.
    assert plan.undecided == ()
    assert [each.columns for each in plan.attributes] == [("sex",), ("a",), ("b",)]
    assert (plan.keep, plan.drop) == (("c", "a,b"), ("d",))
    assert of("--numeric", "*", "--drop", "d").undecided == ()
    assert of("--keep", "*").keep == "*"
    assert "column `e`: must be in `schema`" in invoke(*words, "--keep", "a,e").stderr


def test_epsilon_in_the_place_of_beta(tmp_path: Path) -> None:
    (tmp_path / "book.toml").write_text('sex = ["F", "M"]\ntown = ["a", "b", "c"]')
    words = ("plan", "--codebook", tmp_path / "book.toml")
    plan = sv.Plan.from_toml(run(*words, "--epsilon", "1.5"))
    assert all(0 <= 1.5 - each.epsilon < 1e-9 for each in plan.by_attribute.values())
    done = invoke(*words, "--epsilon", "1", "--beta", "0.5")
    assert "`numeric` must name columns for beta if epsilon is given, too; got none" in done.stderr
    plan = sv.Plan.from_toml(run(*words, "--epsilon", "1", "--ordinal", "town"))
    assert [a.matrix.family for a in plan._coded if a.matrix] == [
        "randomized_response", "geometric",
    ]  # fmt: skip
