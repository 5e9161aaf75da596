"""Files and their certificates: digests, two runs at the same time, two draws of one file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.files.earlier_draws import ENDING, describe_draws
from bistochastic_survey.wording import up
from cli.test_cli_protect import KEY, Folder, people, plan_of, write_csv


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_a_certificate_holds_the_digest_of_its_file(tmp_path: Path, out: str) -> None:
    folder = Folder(tmp_path, plan_of(), people(300))
    folder.run("in.csv", out, *folder.keyed())
    certificate = folder.certificate(out)
    assert certificate.files == {out: sha(tmp_path / out)}
    assert list(certificate.to_dict())[-1] == "files"
    assert sha(tmp_path / "in.csv") not in certificate.to_json()
    # It is the certificate of the same table in memory, which has no file.
    table = plan_of().protect(people(300), key=bs.Key.from_bytes(KEY), release_name="2026")
    assert table.certificate.files is None
    assert table.certificate == certificate
    assert table.certificate.digest == certificate.digest
    assert f"File {out}: SHA-256 {sha(tmp_path / out)}" in str(certificate)


def test_a_file_of_any_name_has_a_certificate(tmp_path: Path) -> None:
    folder = Folder(tmp_path, plan_of(), people(300))
    name = os.fsdecode(b"\xff \xc3\xa4.csv")
    folder.run("in.csv", name)
    assert folder.certificate(name).files == {"\\udcff ä.csv": sha(tmp_path / name)}


# The first run waits between its two renames until it may go on.
PAUSED = """
import sys, time
from pathlib import Path
from bistochastic_survey import cli
from bistochastic_survey.files.atomic import Whole
folder, own, rename = Path(sys.argv[1]), sys.argv[2], Whole.rename
def slow(self, part):
    rename(self, part)
    if own == "first" and self.target.name == "out.csv":
        (folder / "paused").touch()
        while not (folder / "go").exists():
            time.sleep(0.005)
Whole.rename = slow
cli.main(sys.argv[3:])
"""


@pytest.mark.parametrize(
    ("beside", "more"),
    [("out.csv.certificate.json", []), ("notes/certificate.json", ["out.parquet", "notes/b.csv"])],
)
def test_a_pause_between_renames_does_not_mix_two_runs(
    tmp_path: Path, beside: str, more: list[str]
) -> None:
    folder = Folder(tmp_path, plan_of(drop=["town"], keep=[]), people(300))
    write_csv(tmp_path / "other.csv", people(400))
    (tmp_path / "notes").mkdir()

    def start(own: str, source: str) -> subprocess.Popen[bytes]:
        options = ["--plan", folder.path / "plan.toml", "--certificate", tmp_path / beside]
        outs = [tmp_path / out for out in ("out.csv", *more)]
        words = [tmp_path, own, "protect", tmp_path / source, *outs, *options]
        command = [sys.executable, "-c", PAUSED, *map(str, words)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL)

    first = start("first", "in.csv")
    while first.poll() is None and not (tmp_path / "paused").exists():
        time.sleep(0.005)
    second = start("second", "other.csv")
    # It should wait for the first. If it does not, it has time to end.
    with contextlib.suppress(subprocess.TimeoutExpired):
        second.wait(3)
    (tmp_path / "go").touch()
    assert (first.wait(), second.wait()) == (0, 0)
    certificate = sv.Certificate.from_json((tmp_path / beside).read_text())
    assert certificate.records == len((tmp_path / "out.csv").read_text().splitlines()) - 1
    assert certificate.files == {Path(o).name: sha(tmp_path / o) for o in ("out.csv", *more)}


# Two draws of one file.


def warned(folder: Folder, source: str, out: str, *more: str) -> str:
    done = folder.invoke(source, out, *more)
    assert done.exit_code == 0, done.output
    return str(done.stderr)


def test_a_second_draw_says_what_epsilon_becomes() -> None:
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", epsilon=1)])
    certificate = plan.protect({"sex": ["F"] * 20}).certificate
    earlier = {Path(f"one.csv{ENDING}"): certificate.to_json()}
    said = describe_draws(earlier, Path(f"two.csv{ENDING}"), certificate)
    assert said is not None
    one = plan.epsilon
    assert f"epsilon adds, from {up(one)} to {up(2 * one)}." in said


def test_a_second_draw_of_the_same_file_is_a_warning(tmp_path: Path) -> None:
    folder = Folder(tmp_path, plan_of(), people(300))
    keyed = folder.keyed()
    assert warned(folder, "in.csv", "one.csv") == ""
    said = warned(folder, "in.csv", "two.parquet")
    one = plan_of().epsilon
    assert said.startswith(f"Warning: one.csv{ENDING} in the same folder: ")
    assert one == math.inf
    assert "Publish one of the files only: epsilon adds.\n" in said
    # Written again in its place: the first draw may have been published before.
    (tmp_path / f"two.parquet{ENDING}").unlink()
    said = warned(folder, "in.csv", "one.csv")
    assert said.startswith(f"Warning: one.csv{ENDING} (replaced by this run) in the same folder: ")
    assert "name all files in one run" in said
    # A run with a key is another draw, and the same run again is none.
    assert f"one.csv{ENDING}" in warned(folder, "in.csv", "key.csv", *keyed)
    (tmp_path / f"one.csv{ENDING}").unlink()
    assert warned(folder, "in.parquet", "key.parquet", *keyed) == ""
    said = warned(folder, "in.csv", "three.csv", *keyed[:-1], "2027")
    assert said.startswith(f"Warning: key.csv{ENDING} and 1 more in the same folder: ")
    assert "epsilon adds." in said
    # Another number of records, another folder, another plan.
    write_csv(tmp_path / "longer.csv", people(301))
    assert warned(folder, "longer.csv", "301.csv") == ""
    (tmp_path / "below").mkdir()
    assert warned(folder, "in.csv", "below/one.csv") == ""
    (tmp_path / "plan.toml").write_text(plan_of(name="other").to_toml())
    assert warned(folder, "in.csv", "other.csv") == ""


def test_a_name_that_cannot_be_printed_gets_no_command(tmp_path: Path) -> None:
    folder = Folder(tmp_path, plan_of(), people(300))
    folder.run("in.csv", "one\x1b[2J.csv")
    said = warned(folder, "in.csv", "two.parquet")
    assert "epsilon adds" in said
    assert "python -c" not in said
    assert said.replace("\n", "").isprintable()


def test_waves_by_ids_are_no_second_draw(tmp_path: Path) -> None:
    ids = ["--id-column", "person", "--after"]
    folder = Folder(tmp_path, plan_of(), people(300).append_column("person", [list(range(300))]))
    key = ["--key-file", str(tmp_path / "key")]
    assert warned(folder, "in.csv", "one.csv", *key, *ids, "first") == ""
    before = str(tmp_path / f"one.csv{ENDING}")
    assert warned(folder, "in.csv", "two.csv", *key, *ids, before, "--release-name", "two") == ""
    bs.Key.generate().to_file(tmp_path / "new")
    key = ["--key-file", str(tmp_path / "new")]
    assert "epsilon adds" in warned(folder, "in.csv", "three.csv", *key, *ids, "first")


def test_numbers_are_permuted_anew_under_every_name(tmp_path: Path) -> None:
    ids = ["--id-column", "person", "--rerandomize-numeric", "--after", "first"]
    table = people(300).append_column("person", [list(range(300))])
    folder = Folder(tmp_path, plan_of(numeric=True), table)
    assert warned(folder, "in.csv", "one.csv", *folder.keyed(*ids)) == ""
    assert warned(folder, "in.csv", "two.csv", *folder.keyed(*ids)) == ""
    other = ["--key-file", str(tmp_path / "key"), "--release-name", "2027"]
    assert "epsilon adds" in warned(folder, "in.csv", "three.csv", *other, *ids)


def test_what_is_no_certificate_is_passed_over(tmp_path: Path) -> None:
    folder = Folder(tmp_path, plan_of(), people(300))
    folder.run("in.csv", "one.csv")
    beside = tmp_path / f"one.csv{ENDING}"
    text = beside.read_text()
    beside.unlink()
    for name, changed in {
        "broken": text[:-40],
        "changed": text.replace('"records": 300', '"records": "300"'),
        "foreign": json.dumps({"plan_digest": json.loads(text)["plan_digest"]}),
        "long": text + " " * 2**24,
        "empty": "",
    }.items():
        (tmp_path / f"{name}{ENDING}").write_text(changed)
    (tmp_path / f"bytes{ENDING}").write_bytes(b"\xff" + text.encode())
    (tmp_path / f"folder{ENDING}").mkdir()
    os.mkfifo(tmp_path / f"pipe{ENDING}")
    (tmp_path / f"link{ENDING}").symlink_to(tmp_path / "nowhere")
    assert warned(folder, "in.csv", "two.csv") == ""


def _cells(path: Path, plan: sv.Plan) -> pa.Table:
    """The cells of a CSV file, as the package reads them."""
    from bistochastic_survey.files.formats import open_source
    from bistochastic_survey.files.protect import kinds

    source = open_source(path, "in", {**kinds(plan), "income": "number"})
    try:
        table = pa.Table.from_batches(list(source.batches()))
    finally:
        source.close()
    income = table.column_names.index("income")
    return table.set_column(income, "income", table["income"].cast(pa.float64()))


def test_two_files_with_one_certificate_are_two_draws(tmp_path: Path) -> None:
    folder = Folder(tmp_path, plan_of(), people(300))
    own = ["--certificate", str(tmp_path / f"c{ENDING}")]
    assert warned(folder, "in.csv", "one.csv", *own) == ""
    assert "(replaced by this run)" in warned(folder, "in.csv", "two.parquet", *own)
