"""The library works with NumPy alone, and names no other library and no toolkit."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "python" / "bistochastic"
# Frame libraries and formats of files: the library takes arrays.
OTHERS = "pandas|polars|pyarrow|narwhals|duckdb|bistochastic_survey|parquet|csv"
HIDDEN = (
    "bistochastic_survey", "pandas", "polars", "pyarrow", "narwhals", "click", "jinja2", "scipy",
    "clarabel", "matplotlib", "rich",
)  # fmt: skip

CALLS = """
import sys
for name in ("pandas", "polars", "pyarrow", "narwhals", "click", "scipy", "rich"):
    sys.modules[name] = None
import bistochastic as bs
key = bs.Key.insecure(1)
m = bs.randomized_response(3, epsilon=1)
drawn = m.randomize([0, 1, 2, 0], key=key, stream="a", start=0)
found = m.estimate(drawn)
assert list(found.to_columns())[0] == "reported"
assert found._repr_html_().startswith("<pre>") and m._repr_html_().startswith("<pre>")
assert m.decompose().terms == 3
assert len(bs.uniform(3).permute([1, 2, 3], order="rank", key=key, stream="a")) == 3
assert bs.blocks([2, 2]).average([1, 3, 5, 7]).tolist() == [2, 2, 6, 6]
assert "Measure" in repr(bs.compare(m, bs.uniform(3)))
"""


def test_the_library_runs_with_numpy_alone() -> None:
    found = subprocess.run(
        [sys.executable, "-c", CALLS], capture_output=True, text=True, check=False, timeout=60
    )
    assert found.returncode == 0, found.stderr


@pytest.mark.skipif(not PACKAGE.is_dir(), reason="runs in a checkout")
def test_no_file_of_the_library_names_another_library_or_the_toolkit() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}: {one.group(0)}"
        for path in sorted(PACKAGE.rglob("*.py*"))
        if path.suffix in (".py", ".pyi")
        for one in re.finditer(rf"(?i)\b({OTHERS})\b", path.read_text())
    ]
    assert not wrong


def test_the_tests_of_the_library_are_found_without_the_toolkit() -> None:
    code = (
        f"import sys; sys.modules |= dict.fromkeys({HIDDEN})\n"
        "import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    )
    here = Path(__file__).parent
    paths = ["-o", f"pythonpath={here}", "-p", "no:cacheprovider", "--collect-only", str(here)]
    found = subprocess.run(
        [sys.executable, "-c", code, *paths], capture_output=True, text=True, check=False,
        timeout=280, cwd=here.parent,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout[-3000:]
