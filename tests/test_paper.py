"""The paper's table, the demo and the command line, as a user sees them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import bistochastic as bs
from bistochastic import cli, demo, paper
from bistochastic.report import down


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli.main, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_seven_cells_follow_from_the_text_and_five_have_another_reading() -> None:
    cells = paper.table1()
    assert [round(100 * cell.implied, 3) for cell in cells] == [
        16.762, 60.297, 97.411, 27.894, 44.211, 72.106,
        23.611, 40.614, 39.892, 22.732, 65.683, 97.336,
    ]  # fmt: skip
    wrong = [cell for cell in cells if not cell.agrees]
    assert [cell.parameter for cell in wrong] == [
        "k = 3", "alpha = 0.3", "p11 = 0.9", "p11 = 0.6", "p11 = 0.2",
    ]  # fmt: skip
    for cell in wrong:
        assert cell.reading
        assert round(100 * cell.read) == cell.printed
    for cell in cells:
        assert cell.agrees == (not cell.reading)


def test_the_paper_command_prints_all_three_columns() -> None:
    text = run("paper")
    assert "5 of its 12 cells do not follow" in text
    assert "alpha = 0.3     35 %       40.614 %         35.224 %" in text
    assert "rows sum to 0.9333" in text


def test_the_demo_counts_everyone_once() -> None:
    assert sum(demo.COUNTS) == 2201
    assert len(demo.COUNTS) == 32
    assert demo.marginal("class") == [325, 285, 706, 885]
    assert demo.marginal("sex") == [1731, 470]
    assert demo.marginal("age") == [109, 2092]
    assert demo.marginal("survived") == [1490, 711]
    text = run("demo")
    for family in ("randomized_response", "k_anonymous", "tridiagonal"):
        assert family in text
    assert "2,201 people" in text
    assert "Out of reach" in text
    assert "Out of reach" not in run("demo", "--beta", "0.3")


def test_the_demo_releases_everyone_before_and_after() -> None:
    columns = demo.people()
    for name, column in columns.items():
        assert np.bincount(column).tolist() == demo.marginal(name)
    text = run("demo")
    assert "1st -> " in text
    # 2,201 people before and after, whatever was drawn.
    rows = [line.split() for line in text.splitlines() if line.startswith("survived  ")]
    counts = [row for row in rows if row[1] in ("no", "yes")]
    for at in (2, 3):
        assert sum(int(row[at].replace(",", "")) for row in counts) == 2201


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
    assert "beta          0.6\n" in text
    assert str(m.parameters["keep"]) in text
    assert "infinite" in run("inspect", "blocks", "--sizes", "2,3")
    assert "2/3" in run("inspect", "randomized_response", "--size", "4", "--keep", "2/3")
    assert "first_row=[3, 1], total=4" in run("inspect", "circulant", "--first-row", "3,1")
    assert "size          3" in run("inspect", "tridiagonal", "--alphas", "0.1,0.2")
    assert "epsilon       0\n" in run(
        "inspect", "randomized_response", "--size", "3", "--epsilon", "0"
    )


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
    assert "size          2" in run("inspect", str(tmp_path / "sheet.CSV"))
    np.savez(tmp_path / "two.npz", a=m.to_dense(), b=m.to_dense())
    for name in ("m.npy", "m.npz", "m.csv", "whole.csv"):
        text = run("inspect", str(tmp_path / name))
        assert "family        dense" in text
        assert f"beta          {down(m.beta)}\n" in text
    assert "total=4" in run("inspect", str(tmp_path / "whole.csv"))
    assert run("compare", str(tmp_path / "m.npy"), "uniform size=3").count("\n") == 4
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
    assert "beta          0.5" in text


def test_every_family_can_be_inspected() -> None:
    kron = ["inspect", "kron", "--matrix", "uniform size=3", "--matrix", "k_anonymous size=4 k=2"]
    assert "size          12" in run(*kron)
    parts = ["--matrix", "uniform size=3", "--matrix", "identity size=3"]
    assert "truthfulness  0.555556" in run("inspect", "mix", *parts, "--weights", "2/3,1/3")
    assert "beta          1\n" in run("inspect", "product", *parts)
    assert "size          5" in run(
        "inspect", "t_transform", *["--size", "5", "--i", "0", "--j", "3", "--keep", "0.5"]
    )
    assert "beta          0.6" in run("inspect", "geometric", "--size", "12", "--beta", "0.6")
    assert "size          2" in run("inspect", "reflected", "--kernel", "0.5,0.25,0")
    assert "size          1" in run("inspect", "blocks", "--sizes", "1")


def test_compare() -> None:
    text = run("compare", "--size", "12", "--beta", "0.4")
    for family in ("identity", "randomized_response", "k_anonymous", "tridiagonal", "uniform"):
        assert family in text
    text = run("compare", "k_anonymous size=12 k=3", "tridiagonal alphas=0.3 size=12")
    assert "0.44211" in text
    assert "0.40614" in text
    page = bs.compare(bs.uniform(2))._repr_html_()
    assert page.count("<tr>") == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["inspect", "uniform", "--size", "0"], "`size` must be from 1 to"),
        (["inspect", "uniform", "--size", "many"], "'many' is not a number"),
        (["inspect", "uniform"], "`size` must be given for uniform; got nothing"),
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
    text = subprocess.run(
        [sys.executable, "-m", "bistochastic", "--version"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "bistochastic" in text
