"""Every script in ``examples`` runs, and makes what its README says."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

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
        # `make adult` draws the first from data; the second is a picture of a page.
        assert made | {"adult.png", "report.png"} == set(kept)
        assert all(path.stat().st_size < 100_000 for path in (*tmp_path.iterdir(), *kept.values()))
    else:
        drawn = {"averages_undone", "choose_a_matrix", "own_figure"}
        assert made == ({f"{name}.png"} if name in drawn else set())
    readme = (ROOT / "examples" / "README.md").read_text()
    assert f"`{name}.py`" in readme
    assert capsys.readouterr().err == ""
