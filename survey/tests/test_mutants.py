"""The patches of ``make mutants`` fit the sources."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATCHES = sorted((ROOT / "mutants").glob("*.patch"))


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="runs in a checkout of git")
@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: str(patch.stem))
def test_every_fault_on_purpose_applies(patch: Path) -> None:
    done = subprocess.run(
        ["git", "apply", "--check", str(patch)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "# Found by: " in patch.read_text()
