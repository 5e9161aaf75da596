"""The examples of the pages on Spark, Ray and Dask: ``make test-engines``."""

from __future__ import annotations

from pathlib import Path

import pytest

import engine_world  # noqa: F401 - binds engines to the loopback address
from test_pages import PAGES, run_examples

SKIPPED = "# doctest: +SKIP"


@pytest.mark.parametrize(
    ("engine", "module"), [("spark", "pyspark"), ("ray", "ray"), ("dask", "dask")]
)
def test_examples_of_heavy_engines_give_what_is_shown(
    engine: str, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    name = f"docs/howto/{engine}.md"
    page = PAGES[name].read_text()
    assert page.count(SKIPPED) >= 5
    wrong = run_examples(name, page.replace(SKIPPED, ""))
    assert not wrong, wrong
