"""Intervals of tables cover the truth as often as they say: a small case of ``make study``."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

BENCH = Path(__file__).parents[2] / "benches" / "coverage.py"


def study() -> Any:
    spec = importlib.util.spec_from_file_location("coverage_study", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_intervals_cover_the_truth() -> None:
    rng = np.random.default_rng(4)
    n = 3000
    sex = rng.choice(["F", "M"], n, p=[0.35, 0.65])
    frame = {
        "sex": sex,
        "race": rng.choice(["a", "b", "c"], n),
        "salary": np.where(rng.random(n) < np.where(sex == "F", 0.3, 0.6), "high", "low"),
        "weight": rng.uniform(0.5, 3, n),
        "hours": rng.normal(40, 5, n) + 3 * (sex == "M"),
    }
    found = study().coverage(frame, 50, 800, 1)
    assert len(found) == 16
    for name, (hits, tries) in found.items():
        # False alarm below 1e-6 of all 16 together, for intervals of exactly 95 %.
        assert stats.binom.cdf(hits, tries, 0.95) > 1e-6 / 16, (name, hits, tries)
    assert any(hits < tries for hits, tries in found.values())
