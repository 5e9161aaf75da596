"""What averages with a public matrix give away, as in examples/averages_undone.py."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bistochastic as bs

SCRIPT = Path(__file__).parents[2] / "examples" / "averages_undone.py"

pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="runs in a checkout")


@pytest.fixture(scope="module")
def script() -> Any:
    spec = spec_from_file_location("averages_undone", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_invertible_average_is_undone_by_anybody(script: Any) -> None:
    x = script.incomes()
    for matrix in (bs.tridiagonal(0.1, size=1000), bs.randomized_response(1000, keep=0.5)):
        y = script.release(matrix, x)
        assert np.abs(y - x).max() > 1000
        assert np.abs(script.solve(matrix, y) - x).max() < 0.05


def test_a_singular_average_is_undone_by_whoever_knows_one(script: Any) -> None:
    x = script.incomes()
    matrix = bs.tridiagonal(0.5, size=1000)
    y = script.release(matrix, x)
    with pytest.raises(bs.errors.SingularMatrixError):
        matrix.solve(y)
    for known in (0, 500, 999):
        found = script.solve_with_one_known(matrix, y, known, x[known])
        assert np.abs(found - x).max() < 0.5
    # Without the known one, nothing is certain: another guess moves all others.
    wrong = script.solve_with_one_known(matrix, y, 500, x[500] + 1000)
    assert np.abs(wrong - x).min() > 900


def test_the_script_runs_and_draws(
    script: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    script.main(tmp_path)
    assert (tmp_path / "averages_undone.png").stat().st_size > 10_000
    said = capsys.readouterr().out
    assert said.count("every income within") == 2
    assert "matplotlib" in sys.modules


def test_class_means_are_not_undone(script: Any) -> None:
    # Two tables with the same class means: no attacker can tell which it was.
    x = np.array([20.0, 30.0, 50.0, 70.0])
    other = np.array([25.0, 25.0, 40.0, 80.0])
    matrix = bs.blocks([2, 2])
    assert script.release(matrix, x).tolist() == script.release(matrix, other).tolist()
