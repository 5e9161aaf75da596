"""Both houses have one version, and the toolkit requires the library of that version."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not (ROOT / "Cargo.toml").exists(), reason="runs in a checkout")
def test_both_houses_have_one_version() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["package"]["version"]
    toolkit = tomllib.loads((ROOT / "survey" / "pyproject.toml").read_text("utf-8"))["project"]
    assert toolkit["version"] == version
    assert f"bistochastic=={version}" in toolkit["dependencies"]
