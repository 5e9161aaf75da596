"""The examples of Spark, Ray and Dask on the page of engines: ``make test-engines``."""

from __future__ import annotations

from pathlib import Path

import pytest

import engine_world  # noqa: F401 - binds engines to the loopback address
from test_pages import PAGES, run_examples

SKIPPED = "# doctest: +SKIP"


@pytest.mark.parametrize(
    ("engine", "module"), [("Spark", "pyspark"), ("Ray", "ray"), ("Dask", "dask")]
)
def test_examples_of_heavy_engines_give_what_is_shown(
    engine: str, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    name = "docs/howto/engines.md"
    page = PAGES[name].read_text()
    setting = page[: page.index("\n## ")]
    start = page.index(f"\n## {engine}\n")
    section = page[start : page.index("\n## ", start + 1)]
    assert section.count(SKIPPED) >= 5
    wrong = run_examples(name, setting + section.replace(SKIPPED, ""))
    assert not wrong, wrong
