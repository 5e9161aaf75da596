"""``examples/library.py``: the first half of ``make demo``."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "library.py"
# Runs the script, then prints the most memory that it took.
RUN = """
import pathlib, re, runpy, sys
sys.argv = [sys.argv[1], sys.argv[2]]
runpy.run_path(sys.argv[0], run_name="__main__")
# Not what `resource` says, which starts with the memory of the process that started this one.
status = pathlib.Path("/proc/self/status").read_text()
print("MiB", int(re.search(r"VmHWM:\\s+([0-9]+) kB", status)[1]) >> 10)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux counts it")
def test_it_shows_each_part_with_its_time_in_little_memory() -> None:
    words = [sys.executable, "-c", RUN, str(SCRIPT), str(10**8)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    parts = re.findall(r"(?m)^(\w.*?) +[0-9]+\.[0-9]{3} s$", done.stdout)
    assert [part.split()[0] for part in parts] == [
        "Randomize", "Estimate", "Entropy", "Entropy", "Recompute", "Decompose", "Add",
    ]  # fmt: skip
    assert "Randomize 100,000,000 codes (uint8)" in parts
    # The twelve cells of Table 1, five of them with another reading.
    assert len(re.findall(r"(?m)^  .* = .*%", done.stdout)) == 12
    assert len(re.findall(r"(?m)% with ", done.stdout)) == 5
    assert "their weights sum to exactly 1" in done.stdout
    assert int(done.stdout.split()[-1]) < 1024
