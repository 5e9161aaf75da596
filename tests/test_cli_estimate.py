"""``bistochastic estimate``: the same numbers as from Python, from files in pieces."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

import bistochastic as bs
from bistochastic.adapters.results import opened
from bistochastic.cli import main
from bistochastic.tables.question import ask
from bistochastic.tables.running import Running
from bistochastic.tables.sheet import Design

PLAN = bs.Plan(
    [
        bs.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75),
        bs.Categorical("job", [1, 2, 3], strata=("region", {"S": bs.uniform(3),
                                                            "N": bs.tridiagonal(0.2, size=3)})),
        bs.Categorical("edu", ["lo", "hi"], "randomized_response", keep=0.8, missing="keep"),
    ],
    keep=["region", "age", "w"],
)  # fmt: skip


@pytest.fixture(name="frame")
def _frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], 900), "job": rng.choice([1, 2, 3], 900),
            "edu": rng.choice(np.array(["lo", "hi", None]), 900), "region": "N",
            "age": np.sort(rng.integers(20, 24, 900))[::-1].copy(), "w": rng.uniform(1, 2, 900),
            "other": "secret",
        }
    )  # fmt: skip


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, frame: pd.DataFrame) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN.to_toml())
    (tmp_path / "plan.json").write_text(PLAN.to_json())
    frame.to_csv(tmp_path / "file.csv", index=False)
    frame.to_parquet(tmp_path / "file.parquet", row_group_size=100)
    frame.to_feather(tmp_path / "file.arrow", compression="uncompressed")
    return tmp_path


def run(folder: Path, *words: str) -> Any:
    given = [str(folder / word) if word.startswith(("file.", "plan.")) else word for word in words]
    return CliRunner().invoke(main, ["estimate", *given])


@pytest.mark.parametrize("file", ["file.csv", "file.parquet", "file.arrow"])
@pytest.mark.parametrize(
    ("words", "columns", "options"),
    [
        (["--by", "sex,age"], ("sex", "age"), {}),
        (["--by", "age,sex", "--where", "age=20,22"], ("age", "sex"), {"where": {"age": [20, 22]}}),
        (["--by", "edu", "--where", "sex=F", "--weights", "w"], ("edu",),
         {"where": {"sex": "F"}, "weights": "w"}),
        (["--by", "job", "--method", "mle", "--where", "region=N"], ("job",),
         {"method": "mle", "where": {"region": "N"}}),
    ],
)  # fmt: skip
def test_a_file_gives_what_python_gives(
    folder: Path, frame: pd.DataFrame, file: str, words: list[str], columns: Any, options: Any
) -> None:
    if "job" in columns:
        plan = bs.Plan(
            [bs.Categorical("job", [1, 2, 3], strata=("region", {
                "S": bs.tridiagonal(0.1, size=3), "N": bs.tridiagonal(0.2, size=3)}))],
            keep="*",
        )  # fmt: skip
        (folder / "plan.toml").write_text(plan.to_toml())
    else:
        plan = PLAN
    want = plan.estimate(frame, *columns, **options)
    done = run(folder, file, "--plan", "plan.toml", *words)
    assert done.exit_code == 0, done.output
    # A table of a file has no frame, and the same words.
    assert done.stdout == repr(want) + "\n"
    done = run(folder, file, "--plan", "plan.toml", *words, "--format", "json")
    facts = json.loads(done.stdout)
    assert [cell["frequency"] for cell in facts["cells"]] == pytest.approx(want.frequencies)
    assert [cell["high"] for cell in facts["cells"]] == pytest.approx(want.interval()[:, 1])
    assert facts["records"] == want.records
    done = run(folder, file, "--plan", "plan.toml", *words, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [float(row["count"]) for row in rows] == pytest.approx(want.counts)
    assert list(rows[0])[: len(columns)] == list(columns)


def test_batches_of_any_length_add_up(frame: pd.DataFrame) -> None:
    table = pa.Table.from_pandas(frame)
    question = ask(PLAN, ["age", "sex"], {"age": [21, 22]})
    for step in (1, 7, 450, 900):
        running = Running(question, Design(weights="w"))
        for start in range(0, 900, step):
            running.add(table.slice(start, step))
        found = running.estimate("inverse", "sampled")
        want = PLAN.estimate(frame, "age", "sex", where={"age": [21, 22]}, weights="w")
        assert found.axes == want.axes
        assert np.allclose(found.frequencies, want.frequencies, rtol=1e-12)
        assert np.allclose(found.standard_errors, want.standard_errors, rtol=1e-9)
    assert opened(table).rows == 900


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["file.csv", "--plan", "plan.toml", "--by", "tail"],
         "must have one column `tail`; got none"),
        (["file.csv", "--plan", "plan.toml", "--by", "sex", "--where", "sex=X"],
         "`where` must hold declared categories of `sex`; got 'X'"),
        (["file.csv", "--plan", "plan.toml", "--by", "sex", "--where", "sex"],
         "must be like column="),
        (["file.csv", "--plan", "plan.toml", "--by", "sex", "--where", "age=99"],
         "`where` must hold levels that occur in column `age`, or that its type declares; got 99"),
        (["file.csv", "--plan", "plan.xml", "--by", "sex"], "`plan` must end in .toml or .json"),
        (["file.csv", "--plan", "plan.none.json", "--by", "sex"],
         "`plan` must be a file to read"),
        (["file.txt", "--plan", "plan.json", "--by", "sex"], "must end in .csv, .parquet, .arrow"),
        (["file.none.csv", "--plan", "plan.json", "--by", "sex"], "must be a file; got none there"),
        (["file.csv", "--plan", "plan.json", "--by", "job"],
         "must be asked of an invertible matrix"),
        (["file.csv", "--plan", "plan.json", "--by", "sex", "--method", "magic"],
         "`method` must be"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence(folder: Path, words: list[str], sentence: str) -> None:
    done = run(folder, *words)
    assert done.exit_code == 1
    assert sentence in done.output
    note = "note: there is no certificate beside the file"
    said = [line for line in done.output.strip().splitlines() if not line.startswith(note)]
    assert len(said) == 1


def test_a_broken_file_is_refused_without_its_values(folder: Path) -> None:
    (folder / "file.csv").write_text("sex,job,region\n" + "F,1,N\nM,secret,N\n" * 3)
    done = run(folder, "file.csv", "--plan", "plan.json", "--by", "sex", "--where", "job=1")
    assert done.exit_code == 1
    must = "column `job`: must hold whole numbers, as its categories are"
    assert f"{must}; got 3 other values, the first in row 1\n" in done.output
    assert "secret" not in done.output
    (folder / "file.parquet").write_bytes(b"PAR1 secret")
    done = run(folder, "file.parquet", "--plan", "plan.json", "--by", "sex")
    assert "must be a whole .parquet file" in done.output
    assert "secret" not in done.output


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("secret,1", "column `sex`: must hold declared categories only; got 1 other value, the "
                     "first in row 200001"),
        ("F,-7.125", "column `w`: `weights` must hold non-negative numbers; got a negative one "
                     "in row 200001"),
        ("F,secret", "column `w`: must hold numbers; got 1 other value, the first in row 200001"),
        ("secret", "must have 2 fields in every row; got 1 in row 200001"),
    ],
)  # fmt: skip
def test_rows_are_counted_over_the_whole_file(folder: Path, wrong: str, said: str) -> None:
    rows = ["F,1.5"] * 200_001
    (folder / "file.csv").write_text("\n".join(["sex,w", *rows, wrong, *rows[:5], ""]))
    words = ["--plan", "plan.json", "--by", "sex", "--weights", "w"]
    done = run(folder, "file.csv", *words)
    assert done.exit_code == 1
    assert f"{said}\n" in done.output
    assert "secret" not in done.output
    assert "7.125" not in done.output


def test_the_plan_is_held_against_the_certificate_beside_the_file(tmp_path: Path) -> None:
    plan = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    release = plan.protect({"sex": ["F", "M"] * 200})
    pd.DataFrame(release.data).to_csv(tmp_path / "file.csv", index=False)
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    other = bs.Plan([bs.Categorical("sex", ["F", "M"], "randomized_response", beta=0.9)])
    (tmp_path / "plan.other.toml").write_text(other.to_toml())
    words = ("file.csv", "--plan", "plan.toml", "--by", "sex")
    alone = run(tmp_path, *words)
    assert alone.exit_code == 0
    assert "there is no certificate beside the file" in alone.stderr
    certificate = tmp_path / "file.csv.certificate.json"
    certificate.write_text(release.certificate.to_json())
    checked = run(tmp_path, *words)
    assert checked.exit_code == 0
    assert checked.stderr == ""
    assert checked.stdout == alone.stdout
    assert run(tmp_path, "file.csv", "--plan", certificate.name, "--by", "sex").stdout
    wrong = run(tmp_path, "file.csv", "--plan", "plan.other.toml", "--by", "sex")
    assert wrong.exit_code != 0
    assert (
        "must be the one that protected the file, as its certificate says; "
        "got one whose law of `sex` differs" in wrong.stderr
    )
    assert "\n" not in wrong.stderr.strip()
