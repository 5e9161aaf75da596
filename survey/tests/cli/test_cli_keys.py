"""The command `key`: what it says of a key file, never the key."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

import bistochastic as bs
from bistochastic_survey import cli


@pytest.mark.skipif(os.name != "posix", reason="no modes on this platform")
def test_a_file_that_others_can_read_gives_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "survey.key"
    key = bs.Key.generate()
    key.to_file(path)
    path.chmod(0o640)
    shown = CliRunner().invoke(cli.main, ["key", "fingerprint", str(path)])
    assert (shown.exit_code, shown.stdout) == (0, f"{key.fingerprint}\n")
    assert shown.stderr.startswith("Warning: the key file can be read by others")
    path.chmod(0o600)
    shown = CliRunner().invoke(cli.main, ["key", "fingerprint", str(path)])
    assert (shown.exit_code, shown.stdout, shown.stderr) == (0, f"{key.fingerprint}\n", "")
