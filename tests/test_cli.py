"""The command line, as a user sees it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import warnings
from fractions import Fraction
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import bistochastic as bs
from bistochastic import __main__, cli
from bistochastic.words import down


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli.main, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_paper_command_prints_every_statement() -> None:
    text = run("paper")
    assert "5 of its 12 cells do not follow" in text
    assert "alpha = 0.3      35%        40.614%          35.224%" in text
    assert "rows sum to 0.9333" in text
    for title in ("Section 2.2", "Proposition 1", "Proposition 2", "Proposition 3", "Theorem 2"):
        assert f"{title}: " in text
    assert "0.001         1.998           1.089          1.000             0.000" in text
    assert all(len(line) <= 92 for line in text.splitlines() if "  " not in line.strip())


def test_the_demo_goes_the_whole_way() -> None:
    text = run("demo")
    for words in ("1. The plan", "2. The protected table", "3. The certificate", "4. Estimates"):
        assert words in text
    assert "2,201 people" in text
    assert "beta 0.6, epsilon 7.507" in text
    assert "Published unchanged: the order of the rows" in text
    assert "crew -> " in text
    # 2,201 people before and after, whatever was drawn.
    rows = [line.split() for line in text.splitlines() if line.startswith("survived  ")]
    counts = [row for row in rows if row[1] in ("no", "yes")]
    assert [row[2] for row in counts] == ["1,490", "711"]
    for at in (2, 3, 4):
        # Estimates sum to everyone too, each rounded for show.
        assert abs(sum(int(row[at].replace(",", "")) for row in counts) - 2201) <= (at == 4)
    joint = [
        line.split()[-3:] for line in text.splitlines() if line.startswith(("1st, ", "crew, "))
    ]
    assert [row[0] for row in joint] == ["670", "192", "141", "118"]
    assert max(map(len, text.splitlines())) <= 92


@pytest.mark.parametrize("beta", ["0", "1"])
def test_the_demo_at_both_ends(beta: str) -> None:
    text = run("demo", "--beta", beta)
    rows = [line.split() for line in text.splitlines() if line.startswith(("age  ", "sex  "))]
    told = [row[2:5] for row in rows if row[1] in ("child", "female")]
    assert told == ([["470"] * 3, ["109"] * 3] if beta == "0" else [])
    assert ("reported values reveal nothing" in text) == (beta == "1")


def test_the_demo_writes_its_data_once(tmp_path: Path) -> None:
    path = tmp_path / "titanic.csv"
    assert "titanic.codebook.csv" in run("demo", "--data", str(path))
    lines = path.read_text().splitlines()
    assert lines[0] == "class,sex,age,survived"
    assert len(lines) == 2202
    codebook = (tmp_path / "titanic.codebook.csv").read_text().splitlines()
    assert codebook[:2] == ["column,category", "class,1st"]
    assert "`data` must be a new file" in refusal("demo", "--data", str(path))
    assert "got No such file" in refusal("demo", "--data", str(tmp_path / "no" / "x.csv"))


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


def test_inspect() -> None:
    text = run("inspect", "randomized_response", "--size", "12", "--beta", "0.6")
    m = bs.randomized_response(12, beta=0.6)
    assert re.search(r"^beta +0\.6 +exact", text, re.M)
    assert re.search(r"^channel capacity, any prior, bits +1\.43399 +exact", text, re.M)
    assert str(m.parameters["keep"]) in text
    assert "a reported value rules out a true one" in run("inspect", "blocks", "--sizes", "2,3")
    assert "2/3" in run("inspect", "randomized_response", "--size", "4", "--truthfulness", "2/3")
    assert "first_row=[3, 1], total=4" in run("inspect", "circulant", "--first-row", "3,1")
    assert "size        3" in run("inspect", "tridiagonal", "--alphas", "0.1,0.2")
    none = run("inspect", "randomized_response", "--size", "3", "--epsilon", "0")
    assert re.search(r"^epsilon +0 +exact", none, re.M)


def test_a_matrix_from_a_file(tmp_path: Path) -> None:
    m = bs.tridiagonal(0.25, size=3)
    np.save(tmp_path / "m.npy", m.to_dense())
    np.savez(tmp_path / "m.npz", m.to_dense())
    np.savetxt(tmp_path / "m.csv", m.to_dense(), delimiter=",")
    (tmp_path / "whole.csv").write_text("3, 1, 0\n1, 2, 1\n0, 1, 3\n")
    (tmp_path / "ragged.csv").write_text("1,0\n0\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "bad.csv").write_text("1,0\n0,x\n")
    (tmp_path / "bad.npz").write_bytes(b"PK nothing")
    (tmp_path / "bad.npy").write_bytes(b"")
    (tmp_path / "sheet.CSV").write_text("\ufeff1/2,0.5\n0.5,1/2\n", encoding="utf-8")
    assert "size        2" in run("inspect", str(tmp_path / "sheet.CSV"))
    np.savez(tmp_path / "two.npz", a=m.to_dense(), b=m.to_dense())
    for name in ("m.npy", "m.npz", "m.csv", "whole.csv"):
        text = run("inspect", str(tmp_path / name))
        assert "family      dense" in text
        assert re.search(rf"^beta +{down(m.beta)} +exact", text, re.M)
    assert "total=4" in run("inspect", str(tmp_path / "whole.csv"))
    side = run("compare", str(tmp_path / "m.npy"), "uniform size=3")
    assert re.search(rf"^beta +{down(m.beta)} +1$", side, re.M)
    for name, sentence in {
        "ragged.csv": "rows of one length",
        "empty.csv": "rows of one length",
        "bad.csv": "row 1, column 1",
        "bad.npz": "a whole .npz file",
        "bad.npy": "a whole .npy file",
        "two.npz": "one array; got 2",
    }.items():
        result = CliRunner().invoke(cli.main, ["inspect", str(tmp_path / name)])
        assert result.exit_code != 0
        assert sentence in result.output
    np.savetxt(tmp_path / "cost.csv", [[0, 1, 2], [1, 0, 1], [2, 1, 0]], delimiter=",")
    text = run("inspect", "gibbs", "--cost", str(tmp_path / "cost.csv"), "--beta", "0.5")
    assert re.search(r"^beta +0\.5", text, re.M)


def test_every_family_can_be_inspected() -> None:
    kron = ["inspect", "kron", "--matrix", "uniform size=3", "--matrix", "k_anonymous size=4 k=2"]
    assert "size        12" in run(*kron)
    parts = ["--matrix", "uniform size=3", "--matrix", "identity size=3"]
    assert "0.555556  exact" in run("inspect", "mix", *parts, "--weights", "2/3,1/3")
    assert re.search(r"^beta +1 +exact", run("inspect", "product", *parts), re.M)
    assert "size        5" in run(
        "inspect", "t_transform", *["--size", "5", "--i", "0", "--j", "3", "--truthfulness", "0.5"]
    )
    ordered = ["inspect", "geometric", "--size", "12", "--beta", "0.6"]
    assert re.search(r"^beta +0\.6 +exact", run(*ordered), re.M)
    assert "epsilon per unit of cost" not in run(*ordered)
    assert "epsilon per unit of cost" in run(*ordered, "--cost", "ordinal")
    believed = run("inspect", "uniform", "--size", "2", "--prior", "3/4,1/4", "--full")
    assert re.search(r"^best guess under the prior +0\.75 +exact", believed, re.M)
    assert "size        2" in run("inspect", "reflected", "--kernel", "0.5,0.25,0")
    assert "size        1" in run("inspect", "blocks", "--sizes", "1")


def test_compare() -> None:
    text = run("compare", "--size", "12", "--beta", "0.4")
    for family in ("identity", "randomized_response", "k_anonymous", "tridiagonal", "uniform"):
        assert family in text
    text = run("compare", "k_anonymous size=12 k=3", "tridiagonal alphas=0.3 size=12")
    assert "0.44211" in text
    assert "0.40614" in text
    page = bs.compare(bs.uniform(2))._repr_html_()
    assert page.count("<tr>") == 2 + len(bs.uniform(2).profile().entries)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["inspect", "uniform", "--size", "0"], "`size` must be from 1 to"),
        (["inspect", "uniform", "--size", "many"], "'many' is not a number"),
        (["inspect", "uniform"], "`size` must be given for uniform; got nothing"),
        (
            ["inspect", "k_anonymous", "--size", "4", "--epsilon", "1"],
            "`epsilon` must be a parameter of k_anonymous",
        ),
        (["inspect", "circulant", "--first-row", "0.5,0.6"], "got a sum of 1.1"),
        (["inspect", "gauss"], "`family` must be one of balance, "),
        (["inspect", "tridiagonal", "--alphas", ""], "'' is not a number"),
        (["inspect", "blocks", "--sizes", "1,,2"], "'' is not a number"),
        (["inspect", "missing.csv"], "`missing.csv` must be a file; got none there"),
        (["compare", ""], "`family` must be one of balance, "),
        (["compare", "uniform size=3 size=4"], "once for a name"),
        (["compare", "uniform 3"], "`3` must be name=value"),
        (["compare", "--beta", "2"], "`beta` must be from 0 to 1; got 2"),
        (["demo", "--beta", "nan"], "`beta` must be from 0 to 1; got NaN"),
        *[
            ([*words, "x" * 5000 + ".json", *more], "; got ")
            for words, more in (
                (["verify"], []),
                (["inspect"], []),
                (["decompose"], []),
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


def test_commands_leave_pandas_alone(tmp_path: Path) -> None:
    # It takes longer to import than most commands run, and pyarrow would.
    plan = bs.Plan([bs.Categorical("a", ["x", "y"], "uniform"), bs.Numeric("b", "uniform")])
    (tmp_path / "plan.toml").write_text(plan.to_toml())
    (tmp_path / "in.csv").write_text("a,b\nx,1\ny,2\n")
    words = ["-m", "bistochastic", "protect", "in.csv", "out.csv", "--plan", "plan.toml"]
    done = subprocess.run([sys.executable, "-X", "importtime", *words], cwd=tmp_path,
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert "pyarrow.lib" in done.stderr
    assert "pandas.core" not in done.stderr
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 3


def decomposed(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli.main, ["decompose", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def test_files_are_decomposed_on_the_command_line(tmp_path: Path) -> None:
    table = np.array([[5, 2, 1], [1, 4, 3], [2, 2, 4]])
    np.savetxt(tmp_path / "m.csv", table, "%d", ",")
    np.save(tmp_path / "m.npy", table)
    entries = "".join(f"{u + 1} {v + 1} {x}\n" for (u, v), x in np.ndenumerate(table))
    header = "%%MatrixMarket matrix coordinate integer general\n% a comment\n3 3 9\n"
    (tmp_path / "m.mtx").write_text(header + entries)
    listed = "\n".join(str(x) for x in table.T.flat)
    array = f"%%MatrixMarket matrix array integer general\n3 3\n{listed}\n"
    (tmp_path / "a.mtx").write_text(array)
    want = bs.dense(table).decompose()
    for name in ("m.csv", "m.npy", "m.mtx", "a.mtx"):
        out = tmp_path / f"{name}.npz"
        code, text = decomposed(str(tmp_path / name), "--out", str(out))
        assert code == 0, text
        assert "4 terms" in text
        assert "the terms to the matrix, exactly" in text
        with np.load(out) as arrays:
            assert np.array_equal(arrays["permutations"], want.permutations)
            assert np.array_equal(arrays["weights"], want.weights)
            exactly = zip(arrays["numerators"], arrays["denominators"], strict=True)
            assert [Fraction(int(n), int(d)) for n, d in exactly] == want.exact_weights
    terms = str(tmp_path / "terms.csv")
    code, text = decomposed(str(tmp_path / "m.csv"), "--out", terms, "--top", "1")
    lines = (tmp_path / "terms.csv").read_text().splitlines()
    assert lines[:2] == ["weight,exact,0,1,2", "0.5,1/2,0,1,2"]
    assert len(lines) == 5
    code, text = decomposed("tridiagonal alphas=0.3 size=12", "--mass", "0.5")
    assert code == 0
    assert "Left out: 0.3 of the whole" in text


def test_files_that_are_no_bistochastic_matrix_are_explained(tmp_path: Path) -> None:
    def refused(name: str, text: str, *more: str) -> str:
        (tmp_path / name).write_text(text)
        code, output = decomposed(str(tmp_path / name), *more)
        assert code == 1
        return output

    assert "9 in row 2, off by 1" in refused("a.csv", "5,2,1\n1,4,3\n2,2,5\n")
    assert "7 in column 0, off by -1" in refused("b.csv", "5,2,1\n1,4,3\n1,2,5\n")
    assert "a sum of 0.9 in row 1, off by -1.0e-1" in refused("c.csv", "0.5,0.5\n0.5,0.4\n")
    start = "%%MatrixMarket matrix coordinate "
    assert "got 3 words in line 1" in refused("a.mtx", "1 2 3\n")
    assert "be real or integer or pattern; got complex" in refused(
        "b.mtx", start + "complex general\n"
    )
    assert "be square; got 2 x 3" in refused("c.mtx", start + "real general\n2 3 1\n1 1 1\n")
    assert "hold 2 entries; got 1" in refused("d.mtx", start + "real general\n1 1 2\n1 1 1\n")
    assert "one that is not in line 3" in refused("e.mtx", start + "real general\n1 1 1\n1 2 1\n")
    assert "one that is not in line 3" in refused("f.mtx", start + "real general\n1 1 1\n1 1 x\n")
    assert "`--out` must end in .npz, .csv; got .txt" in refused("d.csv", "1\n", "--out", "x.txt")
    code, text = decomposed(str(tmp_path / "nothing.mtx"))
    assert code == 1
    assert "must be a file; got none there" in text


def refusal(*arguments: str) -> str:
    result = CliRunner().invoke(cli.main, arguments)
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 1
    assert re.fullmatch(r"Error: `.*` must .*; got .*\n", result.output), result.output
    return result.output


def npy(header: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()


@pytest.mark.parametrize(
    "header",
    [
        "[" * 2000,
        "[" * 2000 + "]" * 2000,
        "(" * 2000,
        "{'descr': '<f8', 'fortran_order': False, 'shape': " + "-" * 2000 + "1}",
        "{'descr': " + "[" * 150 + "]" * 150 + ", 'fortran_order': False, 'shape': (2, 2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 2)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1, 1)}",
        # Python warns of the escape.
        "{'d\\escr': '<f8', 'fortran_order': False, 'shape': (2, 2)}",
        "",
    ],
)
def test_a_broken_header_is_one_sentence(tmp_path: Path, header: str) -> None:
    path = tmp_path / "m.npy"
    path.write_bytes(npy(header) + b"\0" * 64)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert "must be a whole .npy file of numbers" in refusal("inspect", str(path))
    assert not said


def test_sums_of_a_matrix_market_file_do_not_wrap(tmp_path: Path) -> None:
    path = tmp_path / "m.mtx"
    head = "%%MatrixMarket matrix coordinate integer"
    big = 2**62
    for kind, entries in {
        "general": [(1, 1)] * 4,
        "symmetric": [(2, 1)] * 2,
    }.items():
        lines = [f"{u} {v} {big}" for u, v in entries]
        path.write_text(f"{head} {kind}\n2 2 {len(lines)}\n" + "\n".join(lines) + "\n")
        assert "got one that is not in line 4" in refusal("inspect", str(path))
    # Each entry fits, the lines do not.
    lines = [f"{u} {v} {2**63 - 1}" for u in (1, 2) for v in (1, 2)]
    path.write_text(f"{head} general\n2 2 4\n" + "\n".join(lines) + "\n")
    refusal("inspect", str(path))


COUNTING = bytes(range(32))


def test_the_command_line_reads_digits_alone(tmp_path: Path) -> None:
    path = tmp_path / "survey.key"
    bs.Key.generate().to_file(path)
    path.write_bytes(COUNTING)
    for name in (path, tmp_path / "none"):
        shown = CliRunner().invoke(cli.main, ["key", "fingerprint", str(name)])
        assert shown.exit_code == 1
        assert shown.output.startswith("Error: ")
    path.write_text(COUNTING.hex())
    shown = CliRunner().invoke(cli.main, ["key", "fingerprint", str(path)])
    assert shown.output == "20aef655876fef61\n"


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
    words = [sys.executable, "-m", "bistochastic"]
    if script:
        words = [shutil.which("bistochastic", path=sysconfig.get_path("scripts")) or ""]
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    env = {**os.environ, "PYTHONPATH": path, "INTERRUPT_AT": "bistochastic.measures.assemble"}
    done = subprocess.run(
        [*words, "inspect", "uniform", "--size", "3"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "\n")
