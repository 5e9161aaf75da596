"""``bistochastic protect``: a file in, a protected file and its certificate out."""

from __future__ import annotations

import functools
import json
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey import cli
from bistochastic_survey.files import parquet_file
from bistochastic_survey.files import protect as scatter

SEX = ["F", "M"]
DEGREES = ["none", "school", "higher, or so"]
KEY = bytes(range(1, 33))


def plan_of(**options: Any) -> sv.Plan:
    attributes: list[Any] = [
        sv.Categorical("sex", SEX, "randomized_response", beta=0.6),
        sv.Joint(("degree", "grade"), [DEGREES, [1, 2, 3]], "randomized_response", beta=0.5),
        sv.Categorical("smokes", [False, True], "randomized_response", beta=0.8, missing="keep"),
    ]
    if options.pop("numeric", False):
        attributes.append(sv.Numeric("income", "k_anonymous", k=5))
    else:
        options["drop"] = [*options.get("drop", []), "income"]
    return sv.Plan(attributes, **{"name": "survey", "keep": ["town"], **options})


@functools.cache
def people(rows: int, seed: int = 1) -> pa.Table:
    draw = np.random.default_rng(seed)
    smokes = draw.integers(0, 2, rows).astype(bool)
    return pa.table(
        {
            "sex": pa.array(np.array(SEX)[draw.integers(0, 2, rows)]).dictionary_encode(),
            "degree": np.array(DEGREES)[draw.integers(0, 3, rows)],
            "grade": draw.integers(1, 4, rows),
            "smokes": pa.array(smokes, mask=draw.random(rows) < 0.1),
            "income": np.round(draw.normal(3000, 500, rows), 2),
            "town": np.array(["", 'a "b"', "x,y", " 007", "zwei Zeilen"])[
                draw.integers(0, 5, rows)
            ],
        }
    )


def write_csv(path: Path, table: pa.Table) -> None:
    """With Python's own writer; an empty text is quoted, a missing value is not."""

    def field(value: Any) -> str:
        if value is None:
            return ""
        text = str(value).lower() if isinstance(value, bool) else str(value)
        quoted = text == "" or any(mark in text for mark in ',"\n')
        return '"' + text.replace('"', '""') + '"' if quoted else text

    columns = []
    for column in table.columns:
        values = column.to_pylist()
        # Most columns have few different values.
        words = {value: field(value) for value in set(values)}
        columns.append([words[value] for value in values])
    rows = map(",".join, zip(*columns, strict=True))
    path.write_text("\n".join([",".join(table.column_names), *rows]) + "\n", newline="")


class Folder:
    """A folder with a plan, a key and data, and the command run in it."""

    def __init__(self, path: Path, plan: sv.Plan, table: pa.Table) -> None:
        self.path = path
        (path / "plan.toml").write_text(plan.to_toml())
        bs.Key.from_bytes(KEY).to_file(path / "key")
        pq.write_table(table, path / "in.parquet", row_group_size=7000)
        write_csv(path / "in.csv", table)

    def invoke(self, source: str, out: str, *more: str) -> Any:
        words = ["protect", str(self.path / source), str(self.path / out)]
        return CliRunner().invoke(cli.main, [*words, "--plan", str(self.path / "plan.toml"), *more])

    def run(self, source: str, out: str, *more: str) -> str:
        done = self.invoke(source, out, *more)
        assert done.exit_code == 0, done.output
        return str(done.output)

    def refused(self, source: str, out: str, *more: str) -> str:
        before = self.files()
        done = self.invoke(source, out, *more)
        assert done.exit_code == 1, done.output
        assert done.stderr.count("\n") == 1, done.stderr
        assert self.files() == before
        return str(done.stderr)

    def keyed(self, *more: str) -> list[str]:
        return ["--key-file", str(self.path / "key"), "--release-name", "2026", *more]

    def certificate(self, out: str) -> sv.Certificate:
        return sv.Certificate.from_json((self.path / f"{out}.certificate.json").read_text())

    def files(self) -> set[str]:
        return {path.name for path in self.path.iterdir()}


def plain(table: pa.Table) -> dict[str, list[Any]]:
    return {name: table[name].to_pylist() for name in table.column_names}


@pytest.mark.parametrize("rows", [300, 70_000])
@pytest.mark.parametrize("numeric", [False, True])
def test_a_file_is_protected_as_the_table_in_it(tmp_path: Path, rows: int, numeric: bool) -> None:
    plan, table = plan_of(numeric=numeric), people(rows)
    folder = Folder(tmp_path, plan, table)
    folder.run("in.parquet", "out.parquet", *folder.keyed())
    folder.run("in.csv", "out.csv", *folder.keyed())
    release = plan.protect(table, key=bs.Key.from_bytes(KEY), release_name="2026")
    found = pq.read_table(tmp_path / "out.parquet")
    # A file holds cells: no dictionary is in it.
    expected = release.data.set_column(0, "sex", release.data["sex"].cast(pa.string()))
    assert found.schema.equals(expected.schema)
    assert found.equals(expected)
    write_csv(tmp_path / "expected.csv", release.data)
    assert (tmp_path / "out.csv").read_text() == (tmp_path / "expected.csv").read_text()
    assert folder.certificate("out.parquet") == folder.certificate("out.csv") == release.certificate
    assert all("part" not in name for name in folder.files())


def test_whole_numbers_stay_whole(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a,b\n1,1\n2,2.50\n3,3\n")
    plan = sv.Plan([sv.Numeric(name, "k_anonymous", k=3) for name in "ab"])
    (tmp_path / "plan.json").write_text(plan.to_json())
    words = ["protect", *(str(tmp_path / name) for name in ("in.csv", "out.csv"))]
    done = CliRunner().invoke(cli.main, [*words, "--plan", str(tmp_path / "plan.json")])
    assert done.exit_code == 0, done.output
    header, *rows = (tmp_path / "out.csv").read_text().splitlines()
    assert header == "a,b"
    assert sorted(row.split(",")[0] for row in rows) == ["1", "2", "3"]
    assert sorted(float(row.split(",")[1]) for row in rows) == [1, 2.5, 3]


def test_a_file_without_rows(tmp_path: Path) -> None:
    folder = Folder(tmp_path, plan_of(), people(0))
    for form in ("csv", "parquet"):
        folder.run(f"in.{form}", f"out.{form}")
        assert folder.certificate(f"out.{form}").records == 0
    assert (tmp_path / "out.csv").read_text() == "sex,degree,grade,smokes,town\n"
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_shuffled_rows_are_the_same_rows(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scatter, "ROWS", 1000)
    plan, table = plan_of(numeric=True), people(20_000)
    folder = Folder(tmp_path, plan, table)
    for out in (f"out.{form}", f"again.{form}"):
        folder.run(f"in.{form}", out, *folder.keyed("--shuffle"))
        assert folder.certificate(out).shuffled
        assert "the order of the rows" not in folder.certificate(out).published_unchanged
    folder.run(f"in.{form}", f"order.{form}", *folder.keyed())
    kept, shuffled, again = ((tmp_path / f"{name}.{form}") for name in ("order", "out", "again"))
    if form == "csv":
        rows = [_records(path.read_text()) for path in (kept, shuffled, again)]
    else:
        rows = [list(map(str, pq.read_table(path).to_pylist())) for path in (kept, shuffled, again)]
    assert sorted(rows[0]) == sorted(rows[1]) == sorted(rows[2])
    # The key does not decide the order, and no row tends to stay where it was.
    assert rows[1] != rows[2]
    same = sum(a == b for a, b in zip(rows[0], rows[1], strict=True))
    others = sum(a == b for a, b in zip(rows[1], rows[2], strict=True))
    assert max(same, others) < 20


def _records(text: str) -> list[str]:
    import csv
    import io

    return [json.dumps(row) for row in csv.reader(io.StringIO(text))][1:]


def test_every_order_of_a_scattered_table_is_as_likely(tmp_path: Path) -> None:
    counts: dict[tuple[int, ...], int] = {}
    schema = pa.schema({"x": pa.int64()})
    for turn in range(1200):
        made = [tmp_path / f"{turn}-{i}" for i in range(2)]
        names = iter(made)
        rows = scatter.Scatter(lambda _name, names=names: next(names), schema, 2 * scatter.ROWS)  # type: ignore[misc]
        for value in ([0, 1], [2]):
            rows.write(pa.record_batch({"x": value}))
        order = tuple(x for batch in rows.batches() for x in batch["x"].to_pylist())
        counts[order] = counts.get(order, 0) + 1
        assert not any(path.exists() for path in made)
    assert len(counts) == 6
    # Chi-square with 5 degrees of freedom: beyond 38 once in four million.
    assert sum((count - 200) ** 2 / 200 for count in counts.values()) < 38


@pytest.mark.parametrize("out", ["out.csv", "-"])
def test_a_large_epsilon_is_said_with_what_it_means(tmp_path: Path, out: str) -> None:
    attribute = sv.Categorical("sex", SEX, "randomized_response", epsilon=7.5)
    (tmp_path / "plan.json").write_text(sv.Plan([attribute]).to_json())
    (tmp_path / "in.csv").write_text("sex\nF\n")
    said = "epsilon 7.5 per record is above 5: a suspicion of 1% can grow to 94.9%"
    files = ["-", "-", "--certificate", str(tmp_path / "c.json")]
    if out != "-":
        files = [str(tmp_path / "in.csv"), str(tmp_path / out)]
    words = ["protect", *files, "--plan", str(tmp_path / "plan.json")]
    done = CliRunner().invoke(cli.main, words, input="sex\nF\n")
    assert done.exit_code == 0, done.output
    assert said in done.output


def test_waves_by_ids(tmp_path: Path) -> None:
    table = people(1000).append_column("id", pa.array([f"p{i}" for i in range(1000)]))
    plan = plan_of(numeric=True)
    folder = Folder(tmp_path, plan, table)
    ids = ["--id-column", "id", "--pseudonym", "person", "--rerandomize-numeric"]
    folder.run("in.csv", "one.csv", *folder.keyed(*ids, "--after", "first"))
    before = str(tmp_path / "one.csv.certificate.json")
    pq.write_table(table.take(np.arange(1000)[::-1]), tmp_path / "in.parquet")
    folder.run("in.parquet", "two.parquet", *folder.keyed(*ids, "--after", before))
    key = bs.Key.from_bytes(KEY)
    first = plan.protect(
        table,
        key=key,
        release_name="2026",
        ids=sv.Wave("id", after="first", pseudonym="person", rerandomize_numeric=True),
    )
    two = pq.read_table(tmp_path / "two.parquet")
    for name in ("sex", "degree", "grade", "smokes", "person"):
        assert two[name].to_pylist()[::-1] == first.data[name].to_pylist()
    write_csv(tmp_path / "expected.csv", first.data)
    assert (tmp_path / "one.csv").read_text() == (tmp_path / "expected.csv").read_text()
    # The order of the categories changed.
    other = [
        sv.Categorical("sex", SEX[::-1], "randomized_response", beta=0.6),
        *plan.attributes[1:],
    ]
    (tmp_path / "plan.toml").write_text(sv.Plan(other, name="survey", keep=["town"]).to_toml())
    said = folder.refused("in.csv", "three.csv", *folder.keyed(*ids, "--after", before))
    assert "another order of the categories in column `sex`: --redraw re-randomizes" in said
    folder.run("in.csv", "three.csv", *folder.keyed(*ids, "--after", before, "--redraw"))
    ids_of = folder.certificate("three.csv").ids
    assert ids_of is not None
    assert ids_of.redrawn


def refusals(folder: Folder) -> dict[str, tuple[tuple[str, ...], str]]:
    path = folder.path
    (path / "short").write_text("abc\n")
    (path / "other.json").write_text("{}")
    version = (path / "plan.toml").read_text().replace("version = 1", "version = 2")
    (path / "version.toml").write_text(version)
    (path / "ragged.csv").write_text("sex,degree\nF\n")
    (path / "bytes.csv").write_bytes(b"sex,degree,grade,smokes,income,town\n\xff,none,1,true,1,x\n")
    (path / "empty.csv").write_text("")
    (path / "twice.csv").write_text("sex,sex\n")
    (path / "broken.parquet").write_bytes(b"PAR1 secret")
    header = "sex,degree,grade,smokes,income,town\n"
    (path / "level.csv").write_text(header + "F,none,1,true,1,x\nF,secret,2,true,1,x\n")
    (path / "whole.csv").write_text(header + "F,none,1,true,1,x\nF,none,secret,true,1,x\n")
    (path / "truth.csv").write_text(header + "F,none,1,secret,1,x\n")
    (path / "missing.csv").write_text(header + "F,none,1,true,1,x\n,none,1,true,1,x\n")
    (path / "column.csv").write_text("sex\nF\n")
    (path / "more.csv").write_text("name," + header + "secret,F,none,1,true,1,x\n")
    key = str(path / "key")
    return {
        "no file": (("none.csv", "out.csv"), "`in` must be a file; got none at"),
        "a folder": (("in.csv", "folder.csv"), "`out` must be a file; got a folder"),
        "the same": (("in.csv", "in.csv"), "`out` must be another file than `in`"),
        "the plan": (("in.csv", "out.csv", "--certificate", str(path / "plan.toml")),
                     "`certificate` must be another file than `plan`"),
        "a short key": (("in.csv", "out.csv", "--key-file", str(path / "short"),
                         "--release-name", "x"),
                        "must hold 64 hexadecimal digits"),
        "no label": (("in.csv", "out.csv", "--key-file", key), "`--release-name` must name what"),
        "ids without a key": (("in.csv", "out.csv", "--id-column", "town", "--after", "first"),
                              "`key` must be given with --id-column"),
        "no certificate": (("in.csv", "out.csv", *folder.keyed("--id-column", "town", "--after",
                           str(path / "other.json"))), "must be a certificate that this package"),
        "another version": (("in.csv", "out.csv", "--plan", str(path / "version.toml")),
                            "`version` must be"),
        "few rows": (("level.csv", "out.csv", *folder.keyed()), "must have at least 256 rows"),
        "ragged": (("ragged.csv", "out.csv", "--plan", str(path / "two.toml")),
                   "must have 2 fields in every row; got 1 in row 0\n"),
        "bytes": (("bytes.csv", "out.csv"), "`in` must be UTF-8; got other bytes in row 0"),
        "twice": (("twice.csv", "out.csv"), "got `sex` twice"),
        "broken": (("broken.parquet", "out.csv"), "`in` must be a file of its kind"),
        "a level": (("level.csv", "out.csv"), "got 1 other value, the first in row 1"),
        "a whole number": (("whole.csv", "out.csv"), "column `grade`: must hold integers, "
                           "as the plan says; got 1 other value, the first in row 1"),
        "missing": (("missing.csv", "out.csv"), "column `sex`: must hold no missing values; got 1"),
        "a column too few": (("column.csv", "out.csv"), "column `degree`: must be in `in`"),
        "a column too many": (("more.csv", "out.csv"), "`in` must hold columns that the plan"),
    }  # fmt: skip


def test_bad_input_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    folder = Folder(tmp_path, plan_of(), people(300))
    two = [sv.Categorical(name, ["F"], "uniform") for name in ("sex", "degree")]
    (tmp_path / "two.toml").write_text(sv.Plan(two).to_toml())
    (tmp_path / "folder.csv").mkdir()
    cases = refusals(folder)
    (tmp_path / "out.csv").write_text("the old one")
    for name, (words, sentence) in cases.items():
        said = folder.refused(*words)
        assert sentence in said, (name, said)
        assert said.startswith("Error: ")
        assert "secret" not in said, name
    assert (tmp_path / "out.csv").read_text() == "the old one"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (b"secret\n", "`in` must have 2 fields in every row; got 1 in row 150001"),
        (
            b"F,\xff secret\n",
            "`in` must be UTF-8; got other bytes in row 150001: --encoding says which one it is",
        ),
    ],
)
def test_a_row_that_cannot_be_read_is_named_wherever_it_is(
    tmp_path: Path, wrong: bytes, said: str
) -> None:
    plan = sv.Plan([sv.Categorical("sex", SEX, "randomized_response", beta=0.5)], keep=["town"])
    folder = Folder(tmp_path, plan, people(300))
    # Lines are no rows: some are empty.
    rows = [b'F,"two words"\n\n'] * 150_001
    (tmp_path / "late.csv").write_bytes(b"".join([b"sex,town\n", *rows, wrong, *rows[:9]]))
    assert folder.refused("late.csv", "out.csv") == f"Error: {said}\n"


def test_an_error_late_in_the_file_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By then some of the output is written.
    monkeypatch.setattr(parquet_file, "GROUP", 100_000)
    table = people(140_000).select(["sex", "grade"])
    plan = sv.Plan([sv.Categorical("grade", [1, 2, 3], "randomized_response", beta=0.5),
                    sv.Categorical("sex", SEX, "randomized_response", beta=0.5)])  # fmt: skip
    folder = Folder(tmp_path, plan, people(300))
    wrong = table["grade"].to_numpy().copy()
    wrong[135_000] = 77
    wrong_table = table.set_column(1, "grade", pa.array(wrong))
    pq.write_table(wrong_table, tmp_path / "late.parquet")
    (tmp_path / "out.parquet").write_text("the old one")
    said = folder.refused("late.parquet", "out.parquet")
    assert "column `grade`" in said
    assert "the first in row 135000" in said
    assert "77" not in said
    assert (tmp_path / "out.parquet").read_text() == "the old one"


def started(folder: Folder, out: str, *more: str, **options: Any) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "bistochastic_survey", "protect", "in.parquet", out]
    return subprocess.Popen(
        [*words, "--plan", "plan.toml", *more],
        cwd=folder.path,
        stdout=subprocess.DEVNULL,
        text=True,
        **{"stderr": subprocess.DEVNULL, **options},
    )


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_kill_leaves_the_old_output_or_the_new_one(tmp_path: Path, shuffle: bool) -> None:
    rows = 100_000
    folder = Folder(tmp_path, plan_of(numeric=True), people(2000))
    pq.write_table(people(rows), tmp_path / "in.parquet")
    old = "the old one"
    more = ["--shuffle"] if shuffle else []
    draw = random.Random(shuffle)
    begun = time.monotonic()
    done = started(folder, "out.csv", *more)
    assert done.wait() == 0
    whole = time.monotonic() - begun
    seen = set()
    for turn in range(5):
        (tmp_path / "out.csv").write_text(old)
        (tmp_path / "out.csv.certificate.json").write_text("{}")
        left = set(tmp_path.glob(".*part*"))
        process = started(folder, "out.csv", *more)
        if turn % 2:
            # Once there is something to be left behind.
            _wait_for_parts(tmp_path, process, left)
            time.sleep(draw.random() * 0.05)
        else:
            time.sleep(draw.random() * whole * 1.1)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for part in tmp_path.glob(".*part*"):
            assert stat.S_IMODE(part.stat().st_mode) == 0o700
            # A kill right before the rename leaves a file with the mode of the output there.
            kinds = {0o600, stat.S_IMODE((tmp_path / "out.csv").stat().st_mode)}
            assert all(stat.S_IMODE(each.stat().st_mode) in kinds for each in part.iterdir())
            seen.add("parts")
        text = (tmp_path / "out.csv").read_text()
        if text == old:
            seen.add("old")
        else:
            seen.add("new")
            assert text.count("\n") > rows
            assert text.endswith("\n")
    assert "parts" in seen
    (tmp_path / "in.parquet").unlink()
    pq.write_table(people(300), tmp_path / "in.parquet")
    assert started(folder, "out.csv", *more).wait() == 0
    assert not list(tmp_path.glob(".*"))
    assert folder.certificate("out.csv").records == 300


def _wait_for_parts(path: Path, process: subprocess.Popen[str], left: set[Path]) -> None:
    """Until there are parts that were not left by earlier runs."""
    while process.poll() is None and not set(path.glob(".*part*")) - left:
        time.sleep(0.002)


def test_a_run_at_work_keeps_its_parts(tmp_path: Path) -> None:
    folder = Folder(tmp_path, plan_of(), people(2000))
    pq.write_table(people(140_000), tmp_path / "in.parquet")
    first = started(folder, "out.csv")
    # With a file in it, a folder of parts is locked; another run may take it for a left one before.
    while first.poll() is None and not list(tmp_path.glob(".*part*/*")):
        time.sleep(0.002)
    # It is held in the middle of its work, however quick the machine.
    first.send_signal(signal.SIGSTOP)
    try:
        parts = list(tmp_path.glob(".*part*/*"))
        assert parts
        folder.run("in.csv", "out.csv")
        kept = all(part.exists() for part in parts)
    finally:
        first.send_signal(signal.SIGCONT)
        ended = first.wait()
    assert kept
    assert ended == 0
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("more", [[], ["--shuffle"]])
@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
def test_a_full_disk_leaves_the_old_output(tmp_path: Path, out: str, more: list[str]) -> None:
    folder = Folder(tmp_path, plan_of(), people(2000))
    pq.write_table(people(140_000), tmp_path / "in.parquet")
    (tmp_path / out).write_text("the old one")
    limit = 100_000

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    process = started(folder, out, *more, preexec_fn=small, stderr=subprocess.PIPE)
    _said, error = process.communicate()
    assert process.returncode == 1, error
    assert error == "Error: `out` must be on a disk that takes it; got File too large\n"
    assert (tmp_path / out).read_text() == "the old one"
    assert not list(tmp_path.glob(".*"))


def test_the_output_has_the_permissions_of_any_file(tmp_path: Path) -> None:
    folder = Folder(tmp_path, plan_of(), people(300))
    mask = os.umask(0o027)
    try:
        folder.run("in.csv", "out.csv")
        assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o640
        (tmp_path / "out.csv").chmod(0o604)
        folder.run("in.csv", "out.csv")
        assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o604
        (tmp_path / "link.csv").symlink_to("out.csv")
        folder.run("in.parquet", "link.csv")
        assert (tmp_path / "link.csv").is_symlink()
    finally:
        os.umask(mask)


def test_no_secret_value_is_seen_anywhere(tmp_path: Path) -> None:
    table = people(400)
    rows = table.num_rows
    planted = {
        "income": pa.array([424242.75] * rows),
        "name": pa.array(["Secretname"] * rows),
        "id": pa.array([f"Secretid{i}" for i in range(rows)]),
    }
    for name, column in planted.items():
        at = table.schema.get_field_index(name)
        table = table.append_column(name, column) if at < 0 else table.set_column(at, name, column)
    table = table.replace_schema_metadata({"note": "Secretnote"})
    # Every row says F, a level that the law may never let through alone.
    sex = sv.Categorical("sex", SEX, matrix=bs.permutation([1, 0]))
    table = table.set_column(0, "sex", pa.array(["F"] * rows))
    plan = sv.Plan([sex], name="survey", keep=["town"],
                   drop=["degree", "grade", "smokes", "income", "name"])  # fmt: skip
    folder = Folder(tmp_path, plan, table)
    pq.write_table(table, tmp_path / "in.parquet")
    ids = folder.keyed("--id-column", "id", "--pseudonym", "person", "--after", "first")
    told = [folder.run(f"in.{form}", f"out.{form}", *ids) for form in ("csv", "parquet")]
    told.append(folder.run("in.csv", "shuffled.csv", "--shuffle", *ids))
    for name in folder.files() - {"in.csv", "in.parquet", "key", "plan.toml"}:
        told.append((tmp_path / name).read_bytes().decode("latin-1"))
    found = pq.read_table(tmp_path / "out.parquet")
    told.append(str(found.schema.metadata) + str(plain(found)))
    assert len(told) == 3 + 6 + 1
    for text in told:
        for secret in ("424242", "Secret", KEY.hex()):
            assert secret not in text
    assert set(found["sex"].to_pylist()) == {"M"}


def test_a_link_in_place_of_the_certificate_is_refused(tmp_path: Path) -> None:
    plan = sv.Plan([sv.Categorical("x", ["a", "b"], "randomized_response", beta=0.6)])
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    (tmp_path / "in.csv").write_text("x\na\nb\n")
    (tmp_path / "precious").write_text("as it was")
    (tmp_path / "out.csv.certificate.json").symlink_to(tmp_path / "precious")
    words = ["protect", tmp_path / "in.csv", tmp_path / "out.csv", "--plan", tmp_path / "plan.toml"]
    done = CliRunner().invoke(cli.main, [str(word) for word in words])
    assert done.exit_code == 1
    assert "`certificate` must be a file; got a link, which could lead anywhere" in done.output
    assert (tmp_path / "precious").read_text() == "as it was"
    assert not (tmp_path / "out.csv").exists()


def test_a_wrong_byte_in_an_arrow_file_is_found_before_anything_is_drawn(tmp_path: Path) -> None:
    plan = sv.Plan([sv.Categorical("x", ["a", "b"], "randomized_response", beta=0.6)], keep=["k"])
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    table = pa.table({"x": ["a", "b"] * 8, "k": ["kept text"] * 16})
    with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as file:
        file.write_table(table)
    content = bytearray((tmp_path / "in.arrow").read_bytes())
    # The offsets of `k`: 0, 9, 18 and so on.
    at = content.index(np.arange(0, 9 * 17, 9, dtype=np.int32).tobytes())
    content[at + 7] = 64
    (tmp_path / "in.arrow").write_bytes(content)
    words = ["protect", tmp_path / "in.arrow", tmp_path / "out.csv", "--plan",
             tmp_path / "plan.toml"]  # fmt: skip
    done = CliRunner().invoke(cli.main, [str(word) for word in words])
    assert done.output == "Error: `in` must be a file of its kind; got a broken one\n"
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("column", ["frame", "ids", "max_rows", "release_name", "tolerance"])
def test_a_column_with_the_name_of_an_option_keeps_it(tmp_path: Path, column: str) -> None:
    (tmp_path / "in.csv").write_text(f"sex,{column}\nF,1\nM,2\n")
    plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "uniform")])
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    words = ["protect", str(tmp_path / "in.csv"), str(tmp_path / "out.csv")]
    done = CliRunner().invoke(cli.main, [*words, "--plan", str(tmp_path / "plan.toml")])
    assert done.exit_code == 1
    assert f"`{column}`" in done.stderr
    assert "--" not in done.stderr
