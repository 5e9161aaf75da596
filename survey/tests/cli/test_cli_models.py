"""``bistochastic regress`` and ``transitions``: the same numbers as from Python."""

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
import bistochastic_survey as sv
from bistochastic_survey.cli import main

PLAN = sv.Plan(
    [
        sv.Categorical("job", ["no", "yes"], "randomized_response", keep=0.8),
        sv.Categorical("years of school", [8, 12, 16], "randomized_response", keep=0.8),
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
    found = sv.Release(frame, PLAN).regress(
        formula, model="logistic", design=sv.Design(weights="w", cluster="house")
    )
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
