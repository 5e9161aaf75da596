"""The certificate travels with the data: in the schema, next to the file, and found again."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import bistochastic_survey as sv
from bistochastic_survey import cli
from bistochastic_survey.release.release import read_metadata

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

SEX = ["F", "M"]
ROWS = 300


def plan_of(epsilon: float = 1.0, name: str = "survey") -> sv.Plan:
    return sv.Plan(
        [
            sv.Categorical("sex", SEX, "randomized_response", epsilon=epsilon),
            sv.Binned("age", breaks=[0, 18, 65, 120], family="geometric", epsilon=2),
        ],
        name=name, keep=["town"],
    )  # fmt: skip


def people() -> pa.Table:
    return pa.table({
        "sex": [SEX[i % 2] for i in range(ROWS)], "age": [i % 90 for i in range(ROWS)],
        "town": [f"0{i % 7}" for i in range(ROWS)],
    })  # fmt: skip


def run(*words: object) -> Result:
    return CliRunner().invoke(cli.main, [str(word) for word in words])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(people(), tmp_path / "in.parquet")
    (tmp_path / "plan.toml").write_text(plan_of().to_toml(), "utf-8")
    for form in ("csv", "parquet"):
        (tmp_path / form).mkdir()
        words = ("protect", tmp_path / "in.parquet", tmp_path / form / f"out.{form}")
        done = run(*words, "--plan", tmp_path / "plan.toml", "--shuffle")
        assert done.exit_code == 0, done.output
    return tmp_path


def certificate_of(path: Path) -> sv.Certificate:
    return sv.Certificate.from_json(
        path.with_name(f"{path.name}.certificate.json").read_text("utf-8")
    )


def test_a_schema_has_the_digest_and_the_certificate_without_files(folder: Path) -> None:
    path = folder / "parquet" / "out.parquet"
    beside = certificate_of(path)
    for metadata in (pq.read_schema(path).metadata, sv.open(path).data.schema.metadata):
        assert metadata[b"bistochastic.plan_digest"].decode() == plan_of().digest
        inside = json.loads(metadata[b"bistochastic.certificate"])
        assert inside == {k: v for k, v in beside.to_dict().items() if k != "files"}
        assert sv.Certificate.from_json(json.dumps(inside)).digest == beside.digest
    release = plan_of().protect(people())
    assert read_metadata(release.data.schema.metadata) == release.certificate
    # Other containers have no room for notes.
    assert plan_of().protect(people().to_pandas()).data.attrs == {}


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_file_is_opened_with_its_plan(folder: Path, form: str) -> None:
    path = folder / form / f"out.{form}"
    release = sv.open(path)
    assert release.plan == plan_of()
    assert release.certificate == certificate_of(path)
    assert release.certificate.files == certificate_of(path).files
    # What looks like a number stays a string if the plan says so; other columns are as they are.
    assert release.data["sex"].type == pa.string()
    found = release.estimate("sex")
    assert found.records == ROWS
    shell = run("estimate", path, "--plan", folder / "plan.toml", "--by", "sex", "--json")
    cells = json.loads(shell.stdout)["cells"]
    assert [c["frequency"] for c in cells] == pytest.approx(found.frequencies.tolist())


def test_a_renamed_file_is_found_by_its_digest(folder: Path) -> None:
    for form in ("csv", "parquet"):
        path = folder / form / f"out.{form}"
        assert sv.open(path.rename(path.with_name(f"other.{form}"))).certificate.records == ROWS
    (folder / "csv" / "out.csv.certificate.json").unlink()
    with pytest.raises(ValueError, match="must have its certificate next to it or in it; got none"):
        sv.open(folder / "csv" / "other.csv")
    # A Parquet file needs none beside it; neither does what was made of it.
    (folder / "parquet" / "out.parquet.certificate.json").unlink()
    alone = sv.open(folder / "parquet" / "other.parquet")
    assert alone.certificate.files is None
    feather.write_feather(alone.data.filter(pa.compute.field("sex") == "F"), folder / "f.arrow")
    assert sv.open(folder / "f.arrow").plan == plan_of()


def test_a_changed_file_is_refused(folder: Path) -> None:
    path = folder / "csv" / "out.csv"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join([lines[0], *reversed(lines[1:])]), "utf-8")
    with pytest.raises(ValueError, match="must be a file of its certificate; got one that was"):
        sv.open(path)
    done = run("verify", path)
    assert done.exit_code == 1
    assert "`file` must be a file of its certificate; got one that was changed" in done.stderr


def test_a_certificate_of_another_release_is_refused(folder: Path) -> None:
    path = folder / "parquet" / "out.parquet"
    other = plan_of(2.0).protect(people()).certificate.to_json()
    (folder / "parquet" / "out.parquet.certificate.json").write_text(other, "utf-8")
    with pytest.raises(ValueError, match="differs from the one in its schema"):
        sv.open(path)
    assert "differs from the one in its schema" in run("verify", path).stderr


QUESTIONS: dict[str, Any] = {
    "estimate": lambda plan, frame: sv.Release(frame, plan).estimate("sex"),
    "count": lambda plan, frame: sv.Release(frame, plan).count({"sex": "F"}),
    "ratio": lambda plan, frame: sv.Release(frame, plan).ratio({"sex": "F"}),
    "mean": lambda plan, frame: sv.Release(frame, plan).mean("sex", [0, 1]),
    "calibration_weights": lambda plan, frame: sv.Release(frame, plan).calibration_weights(),
    "collector": lambda plan, frame: plan.collector().update(frame),
    "audit": lambda plan, frame: sv.audit(people(), sv.Release(frame, plan)),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_table_of_another_plan_is_refused(question: str) -> None:
    ask = QUESTIONS[question]
    release = plan_of().protect(people())
    match = "`plan` must be the one that protected the table, .*; got one whose matrix of `sex`"
    for frame in (release.data, release.data.slice(3, 40)):
        with pytest.raises(ValueError, match=match):
            ask(plan_of(2.0), frame)
    # The same matrices under another name are no other plan.
    ask(plan_of(name="other"), release.data)
    if question != "audit":
        # An audit sees by itself that the values are unlikely.
        ask(plan_of(2.0), release.data.replace_schema_metadata(None))


def test_a_certificate_that_was_changed_is_refused() -> None:
    table = plan_of().protect(people()).data
    notes = {k.decode(): v.decode() for k, v in table.schema.metadata.items()}
    text = notes["bistochastic.certificate"]
    for changed in (text.replace('"records": 300', '"records": 30"'), text[:50], ""):
        bad = table.replace_schema_metadata({**notes, "bistochastic.certificate": changed})
        with pytest.raises(ValueError, match="the certificate in the schema: "):
            sv.Release(bad, plan_of()).estimate("sex")


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_verify_says_what_is_right(folder: Path, form: str) -> None:
    path = folder / form / f"out.{form}"
    done = run("verify", path, "--plan", folder / "plan.toml")
    assert done.exit_code == 0, done.output
    assert "columns, categories and number of records are as certified" in done.stdout
    assert "the file is unchanged" in done.stdout
    (folder / "other.toml").write_text(plan_of(2.0).to_toml(), "utf-8")
    done = run("verify", path, "--plan", folder / "other.toml")
    assert done.exit_code == 1
    assert "got one whose matrix of `sex` differs" in done.stderr
    done = run("verify", folder / "none.csv", "--certificate", folder / "other.toml")
    assert "`file` must be a file; got none at " in done.stderr
    # Elsewhere, the certificate is named.
    (folder / "away").mkdir()
    own = path.with_name(f"{path.name}.certificate.json").rename(folder / "away" / "c.json")
    assert run("verify", path, "--certificate", own).exit_code == 0


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_verify_returns_the_certificate(folder: Path, form: str) -> None:
    path = folder / form / f"out.{form}"
    found = sv.verify(path, plan=plan_of())
    assert found == sv.open(path).certificate
    assert found.files
    with pytest.raises(ValueError, match="got one whose matrix of `sex` differs"):
        sv.verify(path, plan=plan_of(2.0))
    # Elsewhere, the certificate is given.
    path.with_name(f"{path.name}.certificate.json").unlink()
    assert sv.verify(str(path), certificate=found) == found
    with path.open("ab") as file:
        file.write(b"F")
    with pytest.raises(ValueError, match="`path` must be a file of its certificate; got one that"):
        sv.verify(path, certificate=found)


def test_verify_refuses_what_it_cannot_read(folder: Path) -> None:
    path: Any = folder / "csv" / "out.csv"
    bad: Any = {"records": 300}
    with pytest.raises(ValueError, match="`path` must be a file; got none at "):
        sv.verify(folder / "none.csv")
    with pytest.raises(TypeError, match="`certificate` must be a Certificate; got dict"):
        sv.verify(path, certificate=bad)
    with pytest.raises(TypeError, match="`plan` must be a Plan; got dict"):
        sv.verify(path, plan=bad)
    with pytest.raises(ValueError, match=r"`decimal` must be \. or ,; got x"):
        sv.verify(path, decimal="x")
    with pytest.raises(TypeError, match="`path` must be"):
        sv.verify(3)  # type: ignore[arg-type]


def altered(change: str) -> pa.Table:
    table = plan_of().protect(people()).data
    if change == "rows":
        return table.slice(1)
    if change == "column":
        return table.append_column("more", pa.array(range(ROWS)))
    if change == "missing column":
        return table.drop_columns(["town"])
    column = pa.array(["Secret", *table["sex"].to_pylist()[1:]])
    return table.set_column(0, "sex", column)


@pytest.mark.parametrize(
    ("change", "got"),
    [
        ("rows", "must have the 300 records of its certificate; got 299"),
        ("column", "must have the columns of its certificate; got one more: `more`"),
        ("missing column", "of its certificate; got none of that name: `town`"),
        ("category", "column `sex`: must hold declared categories only; got 1 other value"),
    ],
)
def test_verify_reads_the_contents(tmp_path: Path, change: str, got: str) -> None:
    """Also if nothing beside the file says which bytes it had."""
    pq.write_table(altered(change), tmp_path / "out.parquet")
    done = run("verify", tmp_path / "out.parquet")
    assert done.exit_code == 1
    assert got in done.stderr
    assert "Secret" not in done.output
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the sentence is compared
        sv.verify(tmp_path / "out.parquet")
    assert str(error.value).replace("`path`", "`file`") in done.stderr


def test_verify_warns_if_bytes_were_not_compared(folder: Path) -> None:
    pq.write_table(sv.open(folder / "csv" / "out.csv").data, folder / "again.parquet")
    done = run("verify", folder / "again.parquet")
    assert done.exit_code == 0, done.output
    assert "lists no files" in done.stderr
    shutil.copy(folder / "csv" / "out.csv", folder / "lost.csv")
    assert (
        "must have its certificate next to it or in it; got none"
        in run("verify", folder / "lost.csv").stderr
    )
