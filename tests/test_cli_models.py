"""``bistochastic regress``, ``transitions`` and ``ledger``: the same numbers as from Python."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import bistochastic as bs
from bistochastic.cli import main

PLAN = bs.Plan(
    [
        bs.Categorical("job", ["no", "yes"], "randomized_response", keep=0.8),
        bs.Categorical("years of school", [8, 12, 16], "randomized_response", keep=0.8),
    ],
    name="panel",
    keep=["age", "w", "house"],
)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    n = 2000
    one = pd.DataFrame({
        "person": [f"p{i}" for i in range(n)], "job": rng.choice(["no", "yes"], n),
        "years of school": rng.choice([8, 12, 16], n), "age": rng.integers(20, 60, n),
        "w": rng.uniform(1, 2, n), "house": rng.integers(0, 200, n),
    })  # fmt: skip
    two = one.copy()
    two.loc[rng.random(n) < 0.2, "job"] = "yes"
    two = two[:1800]
    (tmp_path / "plan.toml").write_text(PLAN.to_toml())
    bs.Key.generate().to_file(tmp_path / "key")
    after = "first"
    for name, wave in (("one.csv", one), ("two.parquet", two)):
        (wave.to_csv if name.endswith("csv") else wave.to_parquet)(
            tmp_path / f"raw.{name}", index=False
        )
        ids = ("--id-column", "person", "--pseudonym", "who", "--after", after)
        given = ("--plan", "plan.toml", "--key-file", "key", *ids)
        done = run(tmp_path, "protect", f"raw.{name}", name, *given)
        assert done.exit_code == 0, done.output
        after = f"{name}.certificate.json"
    return tmp_path


def run(folder: Path, command: str, *words: str) -> Any:
    files = (".csv", ".parquet", ".toml", ".json", ".jsonl")
    given = [
        str(folder / word) if word.endswith(files) or word == "key" else word for word in words
    ]
    return CliRunner().invoke(main, [command, *given])


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("file", ["one.csv", "two.parquet"])
def test_regress_gives_what_python_gives(folder: Path, file: str) -> None:
    read: Any = pd.read_csv if file.endswith("csv") else pd.read_parquet
    frame = read(folder / file)
    formula = "job ~ `years of school` + age"
    words = ("--plan", "plan.toml", "--formula", formula, "--model", "logistic", "--weights", "w",
             "--cluster", "house")  # fmt: skip
    found = PLAN.regress(frame, formula, model="logistic", weights="w", cluster="house")
    done = run(folder, "regress", file, *words, "--format", "csv")
    assert done.exit_code == 0, done.output
    printed = rows(done.stdout)
    assert [row["term"] for row in printed] == ["Intercept", "years of school", "age"]
    np.testing.assert_allclose(
        [float(row["coefficient"]) for row in printed], found.coefficients, rtol=1e-9
    )
    np.testing.assert_allclose(
        [float(row["standard_error"]) for row in printed], found.standard_errors, rtol=1e-9
    )
    done = run(folder, "regress", file, *words, "--format", "json")
    facts = json.loads(done.stdout)
    assert (facts["model"], facts["records"]) == ("logistic", len(frame))
    done = run(folder, "regress", file, *words)
    assert "yes rather than no" in done.stdout
    assert "years of school" in done.stdout


def test_transitions_give_what_python_gives(folder: Path) -> None:
    one, two = pd.read_csv(folder / "one.csv"), pd.read_parquet(folder / "two.parquet")
    found = PLAN.transitions(one, two, columns=["job"], pseudonym="who", memoised=True)
    words = ("one.csv", "two.parquet", "--plan", "plan.toml", "--by", "job", "--pseudonym", "who")
    done = run(folder, "transitions", *words, "--format", "csv")
    assert done.exit_code == 0, done.output
    counts = [float(row["count"]) for row in rows(done.stdout)]
    np.testing.assert_allclose(counts, found.counts.ravel(), rtol=1e-9)
    assert (
        json.loads(run(folder, "transitions", *words, "--format", "json").stdout)["people"] == 1800
    )
    assert "stayers" in run(folder, "transitions", *words).stdout
    # Without a certificate the caller says how the files were drawn.
    (folder / "one.csv.certificate.json").unlink()
    done = run(folder, "transitions", *words)
    assert done.exit_code == 1
    assert "must say whether both waves were drawn by ids with one key" in done.output
    done = run(folder, "transitions", *words, "--memoised", "--format", "csv")
    assert [float(row["count"]) for row in rows(done.stdout)] == pytest.approx(counts)


def test_protect_enters_the_ledger_before_the_draw(folder: Path) -> None:
    words = (
        "raw.one.csv",
        "out.csv",
        "--plan",
        "drop.toml",
        "--ledger",
        "l.jsonl",
        "--dataset",
        "s",
    )
    drop = bs.Plan(PLAN.attributes, name="panel", keep=["age", "w", "house"], drop=["person"])
    (folder / "drop.toml").write_text(drop.to_toml())
    assert run(folder, "ledger", "l.jsonl").exit_code == 1
    assert run(folder, "protect", *words).exit_code == 0
    done = run(folder, "ledger", "l.jsonl")
    assert done.exit_code == 0
    assert "years of school" in done.stdout
    before = (folder / "out.csv").read_bytes()
    done = run(folder, "protect", *words, "--budget", "2")
    assert done.exit_code == 1
    assert "`budget` must not be exceeded" in done.output
    # Nothing was written: neither a line nor a file.
    assert (folder / "out.csv").read_bytes() == before
    assert len((folder / "l.jsonl").read_text().splitlines()) == 1
    done = run(folder, "ledger", "l.jsonl", "--add", "one.csv.certificate.json", "--dataset", "s")
    assert done.exit_code == 0, done.output
    (job, _), entries = bs.Ledger(folder / "l.jsonl").spent, (folder / "l.jsonl").read_text()
    assert job.releases == 2
    assert entries.count("\n") == 2
    assert "p17" not in entries


def test_bad_input_is_one_sentence(folder: Path) -> None:
    plan = ("--plan", "plan.toml")
    for command, words, wrong in (
        ("regress", ("one.csv", *plan, "--formula", "job ~ x", "--model", "logistic"),
         "`file` must have the column `x`; got none of that name"),
        ("regress", ("one.csv", *plan, "--formula", "job ~", "--model", "y"),
         "`model` must be one of linear"),
        ("regress", ("one.csv", *plan, "--formula", "job ~ {open('x')}", "--model", "logistic"),
         "`formula` must hold only names of columns"),
        ("transitions", ("one.csv", "two.parquet", *plan, "--by", "job", "--id-column", "person"),
         "`wave1` must have the column `person` of ids; got none"),
        ("transitions", ("one.csv", "two.parquet", *plan, "--by", "job"),
         "`id_column` must name the column of ids, or pseudonym; got neither"),
        ("ledger", ("x.jsonl", "--add", "one.csv.certificate.json"),
         "`--dataset` must be given with --add"),
        ("protect", ("raw.one.csv", "o.csv", *plan, "--budget", "1"), "`--budget` must be given"),
    ):  # fmt: skip
        done = run(folder, command, *words)
        assert done.exit_code == 1
        assert f"Error: {wrong}".replace("`id_column`", "--id-column") in done.output.replace(
            "`--id-column`", "--id-column"
        )
