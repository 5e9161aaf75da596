"""The command line, as a user sees it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner

import bistochastic as bs
from bistochastic_survey import __main__, cli


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli.main, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_demo_goes_the_whole_way() -> None:
    text = run("demo")
    for words in ("1. The plan", "2. The protected table", "3. The certificate", "4. Estimates"):
        assert words in text
    assert "2,201 people" in text
    assert "here epsilon 1 of each column" in text
    assert "A suspicion of 1% about a person can grow to 35.6%" in text
    assert "Published unchanged: nothing" in text
    readme = (Path(__file__).parents[3] / "README.md").read_text()
    assert "the central epsilon is at most 0.51 (delta 1e-6)" in readme
    assert "central epsilon at most 0.51 (delta 1e-6)" in text
    assert "crew -> " in text
    # 2,201 people before and after, whatever was drawn.
    rows = [line.split() for line in text.splitlines() if line.startswith("survived  ")]
    counts = [row for row in rows if row[1] in ("no", "yes")]
    assert [row[2] for row in counts] == ["1,490", "711"]
    for at in (2, 3, 4):
        # Estimates sum to everyone too, each rounded for show.
        assert abs(sum(int(row[at].replace(",", "")) for row in counts) - 2201) <= (at == 4)
    assert max(map(len, text.splitlines())) <= 92


def test_the_demo_writes_its_data_once(tmp_path: Path) -> None:
    path = tmp_path / "titanic.csv"
    assert "titanic.codebook.csv" in run("demo", "--data", str(path))
    lines = path.read_text().splitlines()
    assert lines[0] == "class,sex,age,survived"
    assert len(lines) == 2202
    codebook = (tmp_path / "titanic.codebook.csv").read_text().splitlines()
    assert codebook[:2] == ["column,category", "class,1st"]
    assert "`data` must be a new file" in refusal("demo", "--data", str(path))
    assert "be in a folder that there is" in refusal(
        "demo", "--data", str(tmp_path / "no" / "x.csv")
    )


def test_key_new_writes_a_key_once(tmp_path: Path) -> None:
    path = tmp_path / "survey.key"
    text = run("key", "new", str(path))
    assert bs.Key.from_file(path).fingerprint in text
    assert path.read_text().strip() not in text
    result = CliRunner().invoke(cli.main, ["key", "new", str(path)])
    assert result.exit_code == 1
    assert "`path` must be a new file" in result.output
    missing = CliRunner().invoke(cli.main, ["key", "new", str(tmp_path / "none" / "key")])
    assert missing.exit_code == 1
    assert "Traceback" not in missing.output


def test_inspect_shows_all_measures_of_a_matrix(tmp_path: Path) -> None:
    m = bs.randomized_response(12, beta=0.6)
    path = tmp_path / "m.JSON"
    path.write_text(m.to_json())
    text = run("inspect", str(path))
    assert re.search(r"^beta +0\.6 +exact", text, re.M)
    assert re.search(r"^channel capacity, any prior, bits +1\.43399 +exact", text, re.M)
    assert str(m.parameters["keep"]) in text
    path.write_text(bs.blocks([2, 3]).to_json())
    assert "a reported value rules out a true one" in run("inspect", str(path))
    path.write_text(bs.permutation(list(range(99))).to_json())
    assert "(99 entries)" in run("inspect", str(path), "--full")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["inspect", "missing.json"], "`target` must be a file to read; got none at"),
        (["inspect", "missing.csv"], "`target` must end in .toml or .json; got .csv"),
        (["inspect", "a\0.csv"], "`target` must be the path of a file; got one with a character"),
        (["demo", "--data", ""], "`data` must be a new file; got the existing `.`\n"),
        (
            ["estimate", "x" * 5000 + ".csv", "--plan", "p.toml"],
            ".csv` must be a file that the system",
        ),
        *[
            ([*words, "x" * 5000 + ".json", *more], "; got ")
            for words, more in (
                (["verify"], []),
                (["inspect"], []),
                (["plan"], []),
                (["report"], ["--out", "x.html"]),
                (["plan", __file__, "--out"], []),
            )
        ],
    ],
)
def test_the_command_line_answers_bad_input_in_one_sentence(
    arguments: list[str], sentence: str
) -> None:
    result = CliRunner().invoke(cli.main, arguments)
    assert result.exit_code != 0
    assert sentence in result.output
    assert "Traceback" not in result.output


def test_the_console_script_runs() -> None:
    (entry,) = metadata.entry_points(group="console_scripts", name="bistochastic")
    assert entry.load() is __main__.run
    script = shutil.which("bistochastic", path=sysconfig.get_path("scripts"))
    assert script is not None
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert bs.__version__ in done.stdout


def refusal(*arguments: str) -> str:
    result = CliRunner().invoke(cli.main, arguments)
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 1
    assert re.fullmatch(r"Error: `.*` must .*; got .*\n", result.output), result.output
    return result.output


INTERRUPTS = """
import os, signal, sys

class Finder:
    def find_spec(self, name, *more):
        if name == os.environ["INTERRUPT_AT"]:
            os.kill(os.getpid(), signal.SIGINT)

# Where the tests run in the background, the signal is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send to oneself")
@pytest.mark.parametrize("script", [False, True])
def test_ctrl_c_ends_the_command_quietly(tmp_path: Path, script: bool) -> None:
    # A command that runs imports it.
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTS)
    words = [sys.executable, "-m", "bistochastic_survey"]
    if script:
        words = [shutil.which("bistochastic", path=sysconfig.get_path("scripts")) or ""]
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path, "INTERRUPT_AT": "bistochastic_survey.release.run"}
    done = subprocess.run(
        [*words, "demo"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "\n")
