"""``bistochastic estimate``: the same numbers as from Python, from files in pieces."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey import cli
from bistochastic_survey.analysis.design import Design
from bistochastic_survey.analysis.protected_table import shared_noise
from bistochastic_survey.cli import main
from folded import designed, waved

PLAN = sv.Plan(
    [
        sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75),
        sv.Categorical("job", [1, 2, 3], groups=("region", {"S": bs.uniform(3),
                                                            "N": bs.tridiagonal(0.2, size=3)})),
        sv.Categorical("edu", ["lo", "hi"], "randomized_response", keep=0.8, missing="keep"),
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
        plan = sv.Plan(
            [sv.Categorical("job", [1, 2, 3], groups=("region", {
                "S": bs.tridiagonal(0.1, size=3), "N": bs.tridiagonal(0.2, size=3)}))],
            keep="*",
        )  # fmt: skip
        (folder / "plan.toml").write_text(plan.to_toml())
    else:
        plan = PLAN
    want = sv.Release(frame, plan).estimate(*columns, **designed(options))
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


def test_a_broken_file_is_refused_without_its_values(folder: Path) -> None:
    (folder / "file.csv").write_text("sex,job,region\n" + "F,1,N\nM,secret,N\n" * 3)
    done = run(folder, "file.csv", "--plan", "plan.json", "--by", "sex", "--where", "job=1")
    assert done.exit_code == 1
    must = "column `job`: must hold integers, as the plan says"
    assert f"{must}; got 3 other values, the first in row 1\n" in done.output
    assert "secret" not in done.output
    (folder / "file.parquet").write_bytes(b"PAR1 secret")
    done = run(folder, "file.parquet", "--plan", "plan.json", "--by", "sex")
    assert "`file` must be a file of its kind; got a broken one" in done.output
    assert "secret" not in done.output


@pytest.mark.parametrize("words", [["--by", "sex"], ["--by", "sex", "--cluster", "age"],
                                   ["--count", "--where", "sex=F"]])  # fmt: skip
def test_a_file_without_records_is_named_as_it_was_typed(folder: Path, words: list[str]) -> None:
    (folder / "file.csv").write_text("sex,age,w\n")
    done = run(folder, "file.csv", "--plan", "plan.json", *words)
    assert done.exit_code == 1
    assert "Error: `file` must have at least one record; got none\n" in done.output


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
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
    release = plan.protect({"sex": ["F", "M"] * 200})
    pd.DataFrame(release.data).to_csv(tmp_path / "file.csv", index=False)
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    other = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.9)])
    (tmp_path / "plan.other.toml").write_text(other.to_toml())
    words = ("file.csv", "--plan", "plan.toml", "--by", "sex")
    alone = run(tmp_path, *words)
    assert alone.exit_code == 0
    assert "there is no certificate next to the file" in alone.stderr
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
        "must be the one that protected the table, as its certificate says; "
        "got one whose matrix of `sex` differs" in wrong.stderr
    )
    assert "\n" not in wrong.stderr.strip()


# The design of the sample.


@pytest.fixture(name="sampled")
def _sampled(folder: Path, frame: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    frame["psu"] = rng.integers(0, 30, 900)
    frame["stratum"] = np.where(frame["psu"] < 12, "u", "v")
    for k in range(4):
        frame[f"r{k}"] = frame["w"] * rng.poisson(1, 900)
    frame.to_csv(folder / "file.csv", index=False)
    frame.to_parquet(folder / "file.parquet", row_group_size=100)
    frame.to_feather(folder / "file.arrow", compression="uncompressed")
    return frame


DESIGNS: list[tuple[list[str], dict[str, Any]]] = [
    (["--cluster", "psu"], {"cluster": "psu"}),
    (["--strata", "stratum"], {"strata": "stratum"}),
    (["--cluster", "psu", "--strata", "stratum", "--weights", "w"],
     {"cluster": "psu", "strata": "stratum", "weights": "w"}),
    (["--replicates", "r0,r1, r2", "--replicates", "r3", "--weights", "w"],
     {"replicates": ["r0", "r1", "r2", "r3"], "weights": "w"}),
    (["--replicates", "r0,r1,r2,r3", "--weights", "w", "--replicate-scale", "3/4"],
     {"replicates": ["r0", "r1", "r2", "r3"], "weights": "w", "replicate_scale": 0.75}),
]  # fmt: skip


@pytest.mark.parametrize("file", ["file.csv", "file.parquet", "file.arrow"])
@pytest.mark.parametrize(("words", "options"), DESIGNS)
def test_a_design_gives_what_it_gives_in_python(
    folder: Path, sampled: pd.DataFrame, file: str, words: list[str], options: dict[str, Any]
) -> None:
    for asked, where in (("sex", None), ("edu", {"age": [20, 22]}), ("edu", {"sex": ["F"]})):
        want = sv.Release(sampled, PLAN).estimate(asked, where=where, **designed(options))
        extra = [f"{k}={','.join(map(str, v))}" for k, v in (where or {}).items()]
        given = [word for each in extra for word in ("--where", each)]
        done = run(folder, file, "--plan", "plan.toml", "--by", asked, *words, *given)
        assert done.exit_code == 0, done.output
        assert done.stdout == repr(want) + "\n"
        assert "degrees of freedom" in done.stdout


BY = ["file.parquet", "--plan", "plan.toml", "--by", "sex"]
ABSENT = (
    "`where` must hold categories that occur in column `age`, or that its type declares; got 99"
)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([*BY[:3], "--by", "tail"], "must have the column `tail`; got none"),
        ([*BY, "--where", "sex=X"], "`where` must hold declared categories of `sex`; got 'X'"),
        ([*BY, "--where", "age=99"], ABSENT),
        ([*BY[:3], "--by", "job"], "must be used with an invertible matrix"),
        # The design: Python checks it, and the terminal names its columns.
        ([*BY, "--cluster", "tail"], "must have the column `tail`; got none"),
        ([*BY, "--cluster", "sex"], "`cluster` must name unprotected columns; got `sex`, which"),
        ([*BY, "--weights", "w", "--replicates", "r0,r1", "--cluster", "psu"],
         "`replicates` must be given without strata, cluster and fpc; got both"),
        ([*BY, "--cluster", "psu", "--population", "fixed"], "must be sampled if strata, cluster"),
        ([*BY, "--weights", "other", "--cluster", "psu"], "column `other`: `weights` must hold"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("sampled")
def test_what_is_wrong_is_one_sentence(folder: Path, words: list[str], sentence: str) -> None:
    done = run(folder, *words)
    assert done.exit_code == 1
    assert sentence in done.output
    assert len([line for line in done.output.splitlines() if not line.startswith("Note: ")]) == 1


# Noise that rows share.

SHARED = (
    "rows of one id share their noise: errors and intervals may be too small unless cluster= names "
    "the column of ids"
)


def released(rows: int, **options: Any) -> Any:
    plan = sv.Plan(
        [sv.Categorical("sex", ["F", "M"], "randomized_response", keep=0.75)], keep=["house", "w"]
    )
    people = {
        "sex": ["F", "F", "M", "M"] * 50, "house": np.arange(200) // rows,
        "w": np.linspace(1, 2, 200),
    }  # fmt: skip
    return plan, plan.protect(
        people,
        key=bs.Key.insecure(1),
        allow_insecure=True,
        **waved(options, id_column="house", after="first"),
    )


def test_an_estimate_from_rows_that_share_noise_says_so(tmp_path: Path) -> None:
    plan, release = released(2, max_rows_per_id=2)
    scores = {"sex": [0, 1]}
    calls: list[Any] = [
        lambda given, **more: given.estimate("sex", **designed(more)),
        lambda given, **more: given.count({"sex": "F"}, **designed(more)),
        lambda given, **more: given.ratio({"sex": "F"}, {"w": [1.0, 2.0]}, **designed(more)),
        lambda given, **more: given.mean("sex", [0, 1], **designed(more)),
        lambda given, **more: given.covariance(["sex", "w"], scores, **designed(more)),
    ]
    for call in calls:
        assert call(release).notes == (SHARED,)
        assert SHARED in repr(call(release))
        assert call(release, weights="w", population="fixed").notes == (SHARED,)
        assert call(release, cluster="house").notes == ()
        # A frame alone does not say how it was drawn.
        assert call(sv.Release(release.data, plan)).notes == ()
    # Nothing about a column in clear was drawn.
    assert release.estimate("house").notes == ()
    _, single = released(1)
    assert single.certificate.ids.rows_per_id_checked == 1
    assert single.estimate("sex").notes == ()
    # From the shell the certificate lies beside the file, or is given for the plan.
    pd.DataFrame(release.data).to_csv(tmp_path / "file.csv", index=False)
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    (tmp_path / "plan.certificate.json").write_text(release.certificate.to_json())
    words = ("--by", "sex")
    assert SHARED not in run(tmp_path, "file.csv", "--plan", "plan.toml", *words).output
    given = run(tmp_path, "file.csv", "--plan", "plan.certificate.json", *words)
    assert f"Notes:\n  {SHARED}" in given.stdout
    (tmp_path / "file.csv.certificate.json").write_text(release.certificate.to_json())
    beside = run(tmp_path, "file.csv", "--plan", "plan.toml", *words)
    assert f"Notes:\n  {SHARED}" in beside.stdout
    whole = run(tmp_path, "file.csv", "--plan", "plan.toml", *words, "--cluster", "house")
    assert whole.exit_code == 0
    assert SHARED not in whole.output
    assert run(
        tmp_path, "file.csv", "--plan", "plan.toml", *words, "--format", "json"
    ).stdout.count(SHARED) == 1  # fmt: skip


def test_rows_that_were_not_counted_may_share_noise() -> None:
    _, release = released(1)
    ids = replace(release.certificate.ids, rows_per_id_checked=None)
    unknown = replace(release.certificate, ids=ids)
    assert shared_noise(unknown, Design()) == (SHARED,)
    assert shared_noise(unknown, Design(cluster="house")) == ()
    by_rows = replace(release.certificate, ids=replace(ids, row_columns=("file", "row")))
    assert shared_noise(by_rows, Design()) == ()
    assert shared_noise(None, Design()) == ()


@pytest.mark.parametrize("typed", ["01", "+1", "1_0", "\uff11", "1.0", "1e1"])
def test_numbers_in_conditions_are_spelled_one_way(tmp_path: Path, typed: str) -> None:
    plan = sv.Plan([sv.Categorical("i", [1, 2, 10], "identity")], keep=["k"])
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    (tmp_path / "data.csv").write_text("i,k\n1,1\n2,10\n10,11\n")
    words = ["estimate", str(tmp_path / "data.csv"), "--plan", str(tmp_path / "plan.toml")]
    for column in ("i", "k"):
        done = CliRunner().invoke(main, [*words, "--by", "i", "--where", f"{column}={typed}"])
        assert done.exit_code == 1, done.output
        done = CliRunner().invoke(main, [*words, "--by", "i", "--where", f"{column}=1"])
        assert done.exit_code == 0, done.output


def test_a_file_that_was_changed_is_not_estimated(tmp_path: Path) -> None:
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", epsilon=1)])
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    (tmp_path / "in.csv").write_text("sex\n" + "F\nM\n" * 50)
    out = tmp_path / "out.csv"
    words = ["protect", str(tmp_path / "in.csv"), str(out), "--plan", str(tmp_path / "plan.toml")]
    assert CliRunner().invoke(cli.main, words).exit_code == 0
    assert CliRunner().invoke(cli.main, ["estimate", str(out), "--by", "sex"]).exit_code == 0
    out.write_text(out.read_text() + "F\n")
    done = CliRunner().invoke(cli.main, ["estimate", str(out), "--by", "sex"])
    assert done.exit_code == 1
    assert "must be a file of its certificate; got one that was changed" in done.stderr
