"""``bistochastic protect - -``: real pipes, bounded memory, one sentence for what is wrong."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bistochastic as bs
import bistochastic_survey as sv

COMMAND = [sys.executable, "-m", "bistochastic_survey", "protect", "-", "-"]
WRITTEN = ["--plan", "plan.toml", "--certificate", "c.json"]
IDS = ["--key-file", "key", "--id-column", "id", "--after", "first", "--pseudonym", "who"]


def made(folder: Path, **options: Any) -> sv.Plan:
    columns = [
        sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6),
        sv.Categorical("grade", [1, 2, 3], "randomized_response", beta=0.6, missing="keep"),
        sv.Categorical("smokes", [False, True], "randomized_response", beta=0.6),
    ]
    plan = sv.Plan(columns, name="pipe", **{"keep": ["note", "income"], "drop": ["id"], **options})
    (folder / "plan.toml").write_text(plan.to_toml())
    bs.Key.from_bytes(bytes(range(32))).to_file(folder / "key")
    return plan


def people(rows: int) -> list[dict[str, Any]]:
    return [
        {"sex": "FM"[i % 2], "grade": (1, 2, 3, None)[i % 4], "smokes": i % 3 == 0,
         "note": ("x", "", None, 'a "b"', "kön, d\\n")[i % 5], "income": i / 8, "id": f"p{i}"}
        for i in range(rows)
    ]  # fmt: skip


def as_csv(rows: list[dict[str, Any]]) -> str:
    def field(value: Any) -> str:
        if value is None:
            return ""
        text = str(value).lower() if isinstance(value, bool) else str(value)
        is_quoted = isinstance(value, str) and (not text or set(text) & set(',"'))
        return '"' + text.replace('"', '""') + '"' if is_quoted else text

    lines = [",".join(rows[0]), *(",".join(map(field, row.values())) for row in rows)]
    return "\n".join(lines) + "\n"


def as_ndjson(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def piped(folder: Path, text: str | bytes, *more: str) -> subprocess.CompletedProcess[str]:
    data = text.encode() if isinstance(text, str) else text
    done = subprocess.run([*COMMAND, *WRITTEN, *more], cwd=folder, input=data, capture_output=True)
    out, error = done.stdout.decode(), done.stderr.decode()
    return subprocess.CompletedProcess(done.args, done.returncode, out, error)


def test_a_pipe_gives_what_a_file_gives_in_both_formats(tmp_path: Path) -> None:
    plan, rows = made(tmp_path), people(40_000)
    (tmp_path / "in.csv").write_text(as_csv(rows))
    words = ["protect", "in.csv", "out.csv", "--plan", "plan.toml", *IDS]
    subprocess.run([*COMMAND[:3], *words], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    done = piped(tmp_path, as_csv(rows), *IDS)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (tmp_path / "out.csv").read_text()
    assert all(line.startswith("Warning: ") for line in done.stderr.splitlines())
    # Another program may have written it: names in any order, other spaces, a mark, empty lines.
    mixed = [dict(reversed(row.items())) if i % 2 else row for i, row in enumerate(rows)]
    text = "\ufeff" + as_ndjson(mixed).replace("\n", "\r\n\n").replace('": ', '" :')
    lined = piped(tmp_path, text, *IDS, "--format", "ndjson")
    assert lined.returncode == 0, lined.stderr
    found = [json.loads(line) for line in lined.stdout.splitlines()]
    assert as_csv(found) == done.stdout
    # The certificate is of the bytes that were written.
    certificate = sv.Certificate.from_json((tmp_path / "c.json").read_text())
    (tmp_path / "piped.csv").write_text(done.stdout)
    with pytest.raises(ValueError, match="must be a file of its certificate"):
        sv.verify(tmp_path / "piped.csv", certificate=certificate)
    piped(tmp_path, as_csv(rows), *IDS)
    certificate = sv.Certificate.from_json((tmp_path / "c.json").read_text())
    assert sv.verify(tmp_path / "piped.csv", certificate=certificate, plan=plan).records == 40_000


def test_numbers_that_are_not_protected_pass_as_they_are_spelled(tmp_path: Path) -> None:
    made(tmp_path, keep="*", drop=[])
    cells = ["1.50", "1e999", "-0.0", "12345678901234567890123", "true", "null", '"\\u00e9\\n"']
    head = '"sex": "F", "grade": 1, "smokes": true'
    text = "".join(f'{{{head}, "note": {cell}}}\n' for cell in cells)
    done = piped(tmp_path, text, "--format", "ndjson")
    assert done.returncode == 0, done.stderr
    assert [line[line.index('"note": ') + 8 : -1] for line in done.stdout.splitlines()] == cells


def test_integers_are_ids_as_in_a_table(tmp_path: Path) -> None:
    plan = made(tmp_path)
    rows = [{**row, "id": i} for i, row in enumerate(people(300))]
    done = piped(tmp_path, as_ndjson(rows), *IDS, "--format", "ndjson")
    table = {name: [row[name] for row in rows] for name in rows[0]}
    wave = sv.Wave("id", after="first", pseudonym="who")
    release = plan.protect(table, key=bs.Key.from_bytes(bytes(range(32))), ids=wave)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert {name: [row[name] for row in found] for name in release.data} == {
        name: list(cells) for name, cells in release.data.items()
    }


FINE = people(2)
HOSTILE: dict[str, tuple[str, str | bytes, str]] = {
    "an open quote": ("csv", 'sex,grade,smokes,note,income,id\nF,1,true,"Mud,1,a\nM,1,true,x,1,b\n',
                      "must end every quote in its line"),
    "a quote over rows": ("csv", 'sex,grade,smokes,note,income,id\nF,1,true,"Mud\nHut",1,a\n',
                          "must end every quote in its line"),
    "few fields": ("csv", "sex,grade,smokes,note,income,id\nF,1\n", "got 2 in row 0"),
    "a byte": ("csv", b"sex,grade,smokes,note,income,id\nF,1,true,\xffMud,1,a\n", "must be UTF-8"),
    "no header": ("csv", "", "must have a header"),
    "a category": ("csv", "sex,grade,smokes,note,income,id\nMud,1,true,x,1,a\n", "in row 0"),
    "no row": ("ndjson", "\n\n", "must hold a row, which names the columns"),
    "nested": ("ndjson", as_ndjson([{**FINE[0], "note": {"a": "Mud"}}]), "`note`: must hold"),
    "a list": ("ndjson", as_ndjson([*FINE, {**FINE[0], "sex": ["Mud"]}]), "another value in row 2"),
    "a text": ("ndjson", as_ndjson([{**FINE[0], "grade": "1"}]), "`grade`: must hold integers"),
    "a float": ("ndjson", as_ndjson([{**FINE[0], "grade": 1.0}]), "`grade`: must hold integers"),
    "a number": ("ndjson", as_ndjson([{**FINE[0], "smokes": 1}]), "`smokes`: must hold booleans"),
    "a truth": ("ndjson", as_ndjson([{**FINE[0], "grade": True}]), "`grade`: must hold integers"),
    "a long one": ("ndjson", as_ndjson([{**FINE[0], "grade": 2**63}]), "must hold integers"),
    "a name twice": ("ndjson", '{"sex": "Mud", "sex": "F"}\n', "no name twice in it; got"),
    "inside": ("ndjson", '{"sex": {"a": 1, "a": "Mud"}}\n', "no name twice in it; got something"),
    "a name less": ("ndjson", as_ndjson([*FINE, {"sex": "Mud"}]), "got others in row 2"),
    "a name more": ("ndjson", as_ndjson([*FINE, {**FINE[0], "Mud": 1}]), "got others in row 2"),
    "half a line": ("ndjson", as_ndjson(FINE) + '{"sex": "Mud', "got something else in row 2"),
    "a table": ("ndjson", json.dumps([{"sex": "Mud"}]), "must hold a JSON object"),
    "NaN": ("ndjson", '{"sex": NaN}\n', "must hold a JSON object"),
    "half a pair": ("ndjson", '{"sex": "\\ud800"}\n', "must hold a JSON object"),
    "deep": ("ndjson", '{"sex": ' + "[" * 100_000 + "\n", "must hold a JSON object"),
    "endless": ("ndjson", '{"sex": "' + "Mud" * 1_000_000, "at most 1 MiB in every line"),
    "bytes": ("ndjson", b'{"sex": "\xff"}\n', "must hold a JSON object"),
    "a category in JSON": ("ndjson", as_ndjson([*FINE, {**FINE[0], "sex": "Mud"}]), "in row 2"),
    "a column less": ("ndjson", '{"sex": "F"}\n', "must be in `in`; got none of that name"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_lines_are_one_sentence_and_write_nothing(tmp_path: Path, case: str) -> None:
    made(tmp_path)
    form, text, said = HOSTILE[case]
    done = piped(tmp_path, text, "--format", form)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    assert "Mud" not in done.stderr.removeprefix("Error: column `Mud`")
    assert not (tmp_path / "c.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--shuffle"], "`shuffle` must be left out in a pipe"),
        (["--id-column", "id", "--after", "first"], "`key` must be given with --id-column"),
        (["--certificate", "plan.toml"], "`certificate` must be another file than `plan`"),
    ],
)
def test_what_a_pipe_cannot_do_is_refused(tmp_path: Path, words: list[str], said: str) -> None:
    made(tmp_path)
    done = piped(tmp_path, as_csv(FINE), *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    plan = sv.Plan([sv.Numeric("income", "k_anonymous", k=3)], keep=["note"])
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    assert "must not be numeric in a pipe" in piped(tmp_path, "income,note\n1,x\n").stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-", "out.csv", "--certificate", "c.json"], "must be - if `in` is, and only then"),
        (["in.csv", "-", "--certificate", "c.json"], "must be - if `in` is, and only then"),
        (["-", "-"], "`certificate` must be given with -; got none"),
        (["in.csv", "out.csv", "--format", "csv"], "`format` must go with -"),
    ],
)
def test_files_and_pipes_do_not_mix(tmp_path: Path, words: list[str], said: str) -> None:
    made(tmp_path)
    given = [*COMMAND[:4], *words, "--plan", "plan.toml"]
    done = subprocess.run(given, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr


FEED = """
import sys
head, rest = open(sys.argv[1], "rb").read().split(b"\\n", 1)
sys.stdout.buffer.write(head + b"\\n")
for _ in range(int(sys.argv[2])):
    sys.stdout.buffer.write(rest)
"""


def measured(folder: Path, form: str, times: int) -> tuple[int, int]:
    """Protect rows many times; return the most memory in bytes, and the lines that came out."""
    rows = people(5000)
    (folder / "rows").write_text(as_csv(rows) if form == "csv" else "\n" + as_ndjson(rows))
    feed = [sys.executable, "-c", FEED, str(folder / "rows"), str(times)]
    with (
        subprocess.Popen(feed, stdout=subprocess.PIPE) as feeder,
        subprocess.Popen(
            [*COMMAND, *WRITTEN, "--format", form],
            cwd=folder, stdin=feeder.stdout, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ) as process,
    ):  # fmt: skip
        out = process.stdout
        assert out is not None
        lines = sum(part.count(b"\n") for part in iter(lambda: out.read(1 << 20), b""))
        _pid, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
    return used.ru_maxrss * 1024, lines


# Batches are made by the same code for both.
FORMS = ["csv", "ndjson"] if os.environ.get("BISTOCHASTIC_FUZZ") else ["ndjson"]


@pytest.mark.parametrize("form", FORMS)
def test_memory_does_not_grow_with_the_rows(tmp_path: Path, form: str) -> None:
    made(tmp_path)
    few, many = (measured(tmp_path, form, times) for times in (260, 500))
    assert (few[1], many[1]) == (1_300_000 + (form == "csv"), 2_500_000 + (form == "csv"))
    # The 1,200,000 rows more are 60 MB of text, and more as Arrow columns.
    assert many[0] - few[0] < 25_000_000, (few, many)


def test_a_reader_that_ends_early_ends_the_command(tmp_path: Path) -> None:
    made(tmp_path)
    process = subprocess.Popen(
        [*COMMAND, *WRITTEN], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _out, error = process.communicate(as_csv(people(20_000)).encode())
    assert process.returncode == 1
    assert error == b""
    assert not (tmp_path / "c.json").exists()


@pytest.mark.parametrize(
    "option", [("--separator", ";"), ("--decimal", ","), ("--encoding", "cp1252")]
)
def test_options_of_csv_are_refused_for_lines_of_json(
    tmp_path: Path, option: tuple[str, str]
) -> None:
    made(tmp_path)
    done = piped(tmp_path, as_ndjson(people(5)), *IDS, "--format", "ndjson", *option)
    assert (done.returncode, done.stdout) == (1, "")
    assert "`format` must be csv with a separator, an encoding or a decimal mark" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="a shell closes the stream")
def test_a_closed_stream_is_one_sentence(tmp_path: Path) -> None:
    made(tmp_path)
    for closed in ("<&-", ">&-"):
        command = shlex.join([*COMMAND, *WRITTEN, *IDS]) + f" {closed}"
        done = subprocess.run(command, shell=True, cwd=tmp_path, input=b"", capture_output=True)
        assert done.returncode == 1
        assert done.stdout == b""
        assert (
            done.stderr
            == b"Error: `out` must be - with both standard streams open; got a closed one\n"
        )


def test_a_wrong_setting_of_the_machine_blames_no_plan(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "in.csv").write_text(as_csv(people(5)))
    for words in (["in.csv", "out.csv", "--plan", "plan.toml"], ["-", "-", *WRITTEN, *IDS]):
        done = subprocess.run(
            [*COMMAND[:4], *words], cwd=tmp_path, input=b"", capture_output=True, check=False,
            env={**os.environ, "BISTOCHASTIC_THREADS": "two"},
        )  # fmt: skip
        assert done.returncode == 1
        must = b"Error: `BISTOCHASTIC_THREADS` must be an integer from 1 to "
        assert done.stderr.startswith(must), done.stderr
