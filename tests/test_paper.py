"""The paper's statements, the demo and the command line, as a user sees them."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import mpmath
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given

import bistochastic as bs
from bistochastic import cli, paper
from bistochastic.cli import demo
from bistochastic.paper import reference
from bistochastic.paper.table import peak_alpha
from bistochastic.words import down


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


def test_the_paper_command_prints_every_statement() -> None:
    text = run("paper")
    assert "5 of its 12 cells do not follow" in text
    assert "alpha = 0.3     35 %       40.614 %         35.224 %" in text
    assert "rows sum to 0.9333" in text
    for title in ("Section 2.2", "Proposition 1", "Proposition 2", "Proposition 3", "Theorem 2"):
        assert f"{title}: " in text
    assert "0.001         1.998           1.089          1.000             0.000" in text
    assert all(len(line) <= 92 for line in text.splitlines() if "  " not in line.strip())


def test_the_page_is_what_is_computed_now() -> None:
    page = Path(__file__).parent.parent / "docs" / "paper.md"
    assert page.read_text(encoding="utf-8") == run("paper", "--markdown"), "run `make paper`"


def bits(*shares: Any) -> Any:
    """Entropy in bits with 50 digits."""
    return -sum(share * mpmath.log(share, 2) for share in shares if share)


@pytest.fixture
def fifty_digits() -> Iterator[None]:
    with mpmath.workdps(50):
        yield


@pytest.mark.usefixtures("fifty_digits")
def test_the_twelve_cells_are_those_of_fifty_digit_arithmetic() -> None:
    mpf, top = mpmath.mpf, mpmath.log(12, 2)

    def response(keep: Any, lie: Any) -> Any:
        return bits(keep, *[lie] * 11)

    def step(alpha: Any) -> Any:
        return (2 * bits(alpha, 1 - alpha) + 10 * bits(alpha, alpha, 1 - 2 * alpha)) / 12

    def private(epsilon: int) -> Any:
        return response(mpmath.exp(epsilon) / (11 + mpmath.exp(epsilon)),
                        1 / (11 + mpmath.exp(epsilon)))  # fmt: skip

    tenth = mpf(1) / 10
    implied = [
        *(private(epsilon) for epsilon in (5, 3, 1)),
        *(mpmath.log(k, 2) for k in (2, 3, 6)),
        *(step(n * tenth) for n in (1, 3, 4)),
        *(response(n * tenth, (1 - n * tenth) / 11) for n in (9, 6, 2)),
    ]
    read = implied.copy()
    read[4], read[7] = mpmath.log(4, 2), step(2 * tenth)
    read[9:] = [response(n * tenth, (1 - n * tenth) / 12) for n in (9, 6, 2)]
    for cell, exact, other in zip(paper.table1(), implied, read, strict=True):
        assert cell.implied == pytest.approx(float(exact / top), abs=1e-12)
        assert cell.read == pytest.approx(float(other / top), abs=1e-12)
    ends = (mpf("0.334"), mpf("0.49"))
    peak = mpmath.findroot(lambda a: mpmath.diff(step, a), ends, solver="anderson")
    assert peak_alpha() == pytest.approx(float(peak), abs=1e-12)
    assert f"{peak_alpha():.4f}" == "0.3406"
    assert peak_alpha(4) == pytest.approx(0.363, abs=5e-4)


def test_the_decompositions_of_section_2_2() -> None:
    strict, lax, swapped, classes = paper.decompositions()
    e2 = math.exp(2)
    assert strict.weights == classes.weights == (Fraction(1, 3),) * 3
    assert [float(w) for w in lax.weights] == pytest.approx(
        [e2 / (2 + e2), 1 / (2 + e2), 1 / (2 + e2)], abs=1e-15
    )
    assert [float(w) for w in swapped.weights] == pytest.approx(
        [(e2 - 1) / (2 + e2), *[1 / (2 + e2)] * 3], abs=1e-15
    )
    for found in (strict, lax, swapped, classes):
        assert found.is_exact
        # Again, as a mixture in the core, which knows nothing of this page.
        mixed = bs.mix(
            [bs.permutation(targets) for targets in found.permutations], weights=found.weights
        )
        for u in range(found.matrix.size):
            assert mixed.exact_row(u) == found.matrix.exact_row(u)
    # The paper's matrices, its second and third term.
    assert strict.permutations == ((0, 1, 2), (1, 2, 0), (2, 0, 1))
    wrong = replace(lax, weights=(Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)))
    assert not wrong.is_exact


def test_proposition_1_as_it_holds() -> None:
    odd, best, circulant, best3 = paper.proposition1()
    assert odd.epsilon == pytest.approx(math.log(1.25), abs=1e-15)
    assert odd.columns == pytest.approx((1.1, 0.9))
    assert (odd.trace, odd.most) == pytest.approx((1.1, 10 / 9))
    assert (best.epsilon, best.trace) == pytest.approx((math.log(1.25), 10 / 9))
    assert (circulant.epsilon, circulant.trace, circulant.most) == pytest.approx(
        (math.log(6), 1.8, 2.25)
    )
    assert best3.trace == pytest.approx(2.25)
    assert reference.epsilon(np.array([[0.6, 0.4], [0.5, 0.5]])) == pytest.approx(odd.epsilon)


@given(st.integers(2, 6), st.data())
def test_expression_2_has_the_largest_trace_at_its_epsilon(size: int, data: st.DataObject) -> None:
    # Over random matrices whose rows sum to 1, bistochastic or not.
    counts = st.lists(st.integers(1, 50), min_size=size, max_size=size)
    rows = [data.draw(counts) for _ in range(size)]
    exact = [[Fraction(n, sum(row)) for n in row] for row in rows]
    ratio = max(max(column) / min(column) for column in zip(*exact, strict=True))
    assert sum(exact[u][u] for u in range(size)) <= size * ratio / (size - 1 + ratio)


def test_theorem_2_never_decreases() -> None:
    raised, flat, classes, moved, odd = paper.theorem2()
    assert raised.after == tuple(Fraction(n, 4) for n in (20, 15, 13))
    assert raised.bits == pytest.approx(
        (float(bits(8 / 12, 3 / 12, 1 / 12)), float(bits(5 / 12, 3.75 / 12, 3.25 / 12)))
    )
    assert flat.after == flat.before
    assert classes.after == classes.before
    assert sorted(moved.after) == sorted(moved.before)
    assert moved.bits[0] == moved.bits[1]
    assert odd.bits == pytest.approx((1, float(bits(0.85, 0.15))))
    assert [spread.majorized for spread in paper.theorem2()] == [True] * 4 + [False]


def test_beta_is_an_average() -> None:
    def beta(size: int, clear: int) -> float:
        return (size - clear) / size * math.log(size - clear) / math.log(size)

    for clear in paper.average():
        assert clear.one == pytest.approx(beta(clear.size, 1), abs=1e-12)
        assert beta(clear.size, clear.many + 1) < 0.9 - 1e-6
        assert clear.many == 0 or beta(clear.size, clear.many) > 0.9 + 1e-6
    assert [(c.size, c.many) for c in paper.average()] == [(3, 0), (12, 0), (100, 8), (1000, 87)]
    assert [round(c.one, 3) for c in paper.average()][:3] == [0.421, 0.885, 0.988]


def test_proposition_2_and_definition_2_as_definition_3() -> None:
    mixed, secret, clear = paper.proposition2()
    # 2.161632683037008 bits at epsilon 3 and 2 bits for classes of 4.
    assert mixed.bits == pytest.approx(4.161632683037008, abs=1e-12)
    whole = np.kron(reference.randomized_response(12, 3), reference.blocks([4, 4, 4]))
    assert mixed.joint_bits == pytest.approx(
        reference.entropy_rate(np.asarray(whole, dtype=np.float64)), abs=1e-12
    )
    assert secret.joint_bits == pytest.approx(math.log2(36), abs=1e-12)
    assert clear.joint_bits / clear.joint_most == pytest.approx(
        math.log(1000) / math.log(2000), abs=1e-12
    )
    for joint in (mixed, secret, clear):
        assert joint.joint_most == pytest.approx(joint.most, abs=1e-12)


def test_proposition_3_is_strict_sufficient_and_no_condition() -> None:
    half, strict, barely, loose, response, moved = paper.proposition3()
    assert (half.least, half.rank, half.condition) == (0.5, 1, math.inf)

    # The eigenvalues of one alpha are 1 - 2 alpha (1 - cos(pi k / r)).
    def condition(alpha: float, size: int) -> float:
        values = [1 - 2 * alpha * (1 - math.cos(math.pi * k / size)) for k in range(size)]
        return max(map(abs, values)) / min(map(abs, values))

    assert strict.condition == pytest.approx(condition(0.2, 12), rel=1e-9)
    assert barely.condition == pytest.approx(condition(0.2499, 500), rel=1e-9)
    assert barely.least > 0.5
    assert loose.condition == pytest.approx(condition(0.4, 12), rel=1e-9)
    assert loose.condition == pytest.approx(141.73870135245127, rel=1e-9)
    assert loose.least < 0.5
    assert response.condition == pytest.approx((11 + math.e) / (math.e - 1), rel=1e-9)
    assert moved.condition == pytest.approx(1)
    assert [d.rank == d.size for d in paper.proposition3()] == [False] + [True] * 5


@pytest.mark.usefixtures("fifty_digits")
def test_filling_zeros_gives_a_beta_above_one_and_mixing_does_not() -> None:
    top, tenth = mpmath.log(1000, 2), mpmath.mpf(1) / 10
    for filling, exponent in zip(paper.fillings(), (None, 5, 4, 3), strict=True):
        gamma = mpmath.mpf(10) ** -exponent if exponent else mpmath.mpf(0)

        def rows(ends: list[Any], inner: list[Any]) -> Any:
            return (2 * bits(*ends) + 998 * bits(*inner)) / 1000 / top

        filled = rows([9 * tenth, tenth, *[gamma] * 998], [tenth, 8 * tenth, tenth, *[gamma] * 997])
        assert filling.beta == pytest.approx(float(filled), abs=1e-10)
        assert filling.row_sum == pytest.approx(float(1 + 998 * gamma), abs=1e-10)
        some = 1 - 1000 * gamma
        mixed = rows(
            [some * 9 * tenth + gamma, some * tenth + gamma, *[gamma] * 998],
            [*[some * tenth + gamma] * 2, some * 8 * tenth + gamma, *[gamma] * 997],
        )
        assert filling.mixed_beta == pytest.approx(float(mixed), abs=1e-10)
        if gamma:
            epsilon = mpmath.log((some * 9 * tenth + gamma) / gamma)
            assert filling.mixed_epsilon == pytest.approx(float(epsilon), abs=1e-9)
        else:
            assert filling.mixed_epsilon == math.inf
    assert [round(filling.beta, 3) for filling in paper.fillings()] == [0.092, 0.109, 0.225, 1.089]
    assert paper.fillings()[-1].mixed_beta == 1


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
    for at in (2, 3, 4):
        # Estimates sum to everyone too, each rounded for show.
        assert abs(sum(int(row[at].replace(",", "")) for row in counts) - 2201) <= (at == 4)
    joint = [
        line.split()[-4:] for line in text.splitlines() if line.startswith(("1st, ", "crew, "))
    ]
    assert len(joint) == 8
    assert [row[0] for row in joint] == ["118", "62", "4", "141", "670", "192", "3", "20"]


@pytest.mark.parametrize("beta", ["0", "1"])
def test_the_demo_at_both_ends(beta: str) -> None:
    text = run("demo", "--beta", beta)
    rows = [line.split() for line in text.splitlines() if line.startswith(("age  ", "sex  "))]
    told = [row[2:5] for row in rows if row[1] in ("child", "female")]
    assert told == ([["470"] * 3, ["109"] * 3] if beta == "0" else [])
    assert ("perfect secrecy tell nothing" in text) == (beta == "1")


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
    assert "a report excludes a truth" in run("inspect", "blocks", "--sizes", "2,3")
    assert "2/3" in run("inspect", "randomized_response", "--size", "4", "--keep", "2/3")
    assert "first_row=[3, 1], total=4" in run("inspect", "circulant", "--first-row", "3,1")
    assert "size         3" in run("inspect", "tridiagonal", "--alphas", "0.1,0.2")
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
    assert "size         2" in run("inspect", str(tmp_path / "sheet.CSV"))
    np.savez(tmp_path / "two.npz", a=m.to_dense(), b=m.to_dense())
    for name in ("m.npy", "m.npz", "m.csv", "whole.csv"):
        text = run("inspect", str(tmp_path / name))
        assert "family       dense" in text
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
    assert "size         12" in run(*kron)
    parts = ["--matrix", "uniform size=3", "--matrix", "identity size=3"]
    assert "0.555556  exact" in run("inspect", "mix", *parts, "--weights", "2/3,1/3")
    assert re.search(r"^beta +1 +exact", run("inspect", "product", *parts), re.M)
    assert "size         5" in run(
        "inspect", "t_transform", *["--size", "5", "--i", "0", "--j", "3", "--keep", "0.5"]
    )
    ordered = ["inspect", "geometric", "--size", "12", "--beta", "0.6"]
    assert re.search(r"^beta +0\.6 +exact", run(*ordered), re.M)
    assert "epsilon per unit of cost" not in run(*ordered)
    assert "epsilon per unit of cost" in run(*ordered, "--distance", "ordinal")
    believed = run("inspect", "uniform", "--size", "2", "--prior", "3/4,1/4", "--full")
    assert re.search(r"^best guess under the prior +0\.75 +exact", believed, re.M)
    assert "size         2" in run("inspect", "reflected", "--kernel", "0.5,0.25,0")
    assert "size         1" in run("inspect", "blocks", "--sizes", "1")


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
