"""Every script in ``examples`` runs, and makes what its README says."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "examples").glob("*.py")))
def test_examples_run(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if name == "spark":
        pytest.skip("runs where Spark is: make test-engines")
    if name == "sklearn_transformer":
        pytest.importorskip("sklearn")
    if name == "library":
        pytest.skip("runs in test_library_example.py, on fewer codes")
    if name == "pandas_accessor" and hasattr(pd.DataFrame, "survey"):
        # Another test of this process registered it.
        monkeypatch.delattr(pd.DataFrame, "survey")
    monkeypatch.setattr(sys, "argv", [name, str(tmp_path)])
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
    made = {path.name for path in tmp_path.iterdir()}
    if name == "pictures":
        kept = {path.name: path for path in (ROOT / "docs" / "pictures").iterdir()}
        # `make adult` draws the first from data, `make bench-short` the second from what it
        # measured; the third is a picture of a page.
        assert made | {"adult.png", "growth.png", "report.png"} == set(kept)
        assert all(path.stat().st_size < 100_000 for path in (*tmp_path.iterdir(), *kept.values()))
    else:
        drawn = {"averages_undone", "choose_a_matrix", "own_figure"}
        assert made == ({f"{name}.png"} if name in drawn else set())
    readme = (ROOT / "examples" / "README.md").read_text()
    assert f"`{name}.py`" in readme
    assert capsys.readouterr().err == ""


def of_attack(name: str) -> dict[str, Any]:
    """The names that a script of ``examples/attacks`` defines."""
    return runpy.run_path(str(ROOT / "examples" / "attacks" / f"{name}.py"))


def test_attacks_undo_the_bad_release_and_not_ours() -> None:
    # Each bound is at least six standard deviations from what these fixed data give.
    recovered = of_attack("kept_order")["recovered"]
    assert recovered(False) > 0.95
    assert recovered(True) < 0.45
    made = of_attack("kept_dictionary")
    assert made["naive"]() == ["diabetes", "none", "flu"]
    assert made["protected"]() == made["CATEGORIES"]
    twice, by_plan = of_attack("same_key_twice")["main"]()
    assert twice == 1
    assert by_plan < 0.25
    recovered = of_attack("household")["recovered"]
    assert recovered(None) > 0.73
    assert recovered("house") < 0.66
    made = of_attack("average")
    assert made["undone"]() < 0.05
    assert "which anybody can undo" in made["refused"]()
    alone, found = of_attack("giveaway")["main"]()
    assert abs(alone - found) < 0.01
    assert found > 0.9


def test_every_attack_is_short_and_listed() -> None:
    folder = ROOT / "examples" / "attacks"
    listed = (folder / "README.md").read_text("utf-8")
    scripts = sorted(folder.glob("*.py"))
    assert len(scripts) == 6
    for path in scripts:
        assert f"({path.name})" in listed
        assert len(path.read_text("utf-8").splitlines()) <= 45
