"""The library works with NumPy alone, and names no other library and no toolkit."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "python" / "bistochastic"
LIBRARY = (
    "errors", "kept", "words", "arguments", "progress", "pipeline", "patience", "structure",
    "operators", "matrix", "families", "designs", "exchange", "measures", "estimate",
    "permutations", "numeric", "choose", "sources", "masking", "theory", "plot",
)  # fmt: skip
FILES = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if path.relative_to(PACKAGE).parts[0].removesuffix(".py") in LIBRARY
    and path.name != "allocate.py"
)
OTHERS = "pandas|polars|pyarrow|narwhals|bistochastic_survey|parquet"
TOOLKIT = "adapters|plan|tables|models|files|report|audit|cli|labels|samples|markup"
# Places that the next steps clear: what they still name.
LEFT = {"anatomy.py", "columns.py", "classes.py", "ranks.py", "order.py", "heat.py"}

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
    imports = rf"^\s*from bistochastic(\.({TOOLKIT})\b| import .*\b({TOOLKIT})\b)"
    wrong = [
        f"{path.relative_to(PACKAGE)}: {one.group(0).strip()}"
        for path in FILES
        if path.name not in LEFT
        for one in re.finditer(rf"(?im)\b({OTHERS})\b|{imports}", path.read_text())
    ]
    assert not wrong
