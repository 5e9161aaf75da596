"""The examples of docs/engines.md that need Spark, Ray and Dask: ``make test-engines``."""

from __future__ import annotations

from pathlib import Path

import pytest

import engine_world  # noqa: F401 - binds engines to the loopback address
from test_pages import PAGES, run_examples

for each in ("pyspark", "ray", "dask"):
    pytest.importorskip(each)


def test_examples_of_heavy_engines_give_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGES["docs/engines.md"].read_text()
    assert page.count("# doctest: +SKIP") > 15
    wrong = run_examples("docs/engines.md", page.replace("# doctest: +SKIP", ""))
    assert not wrong, wrong
