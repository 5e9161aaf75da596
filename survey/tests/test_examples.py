"""The tutorials: notebooks that read well. ``make tutorials`` runs them and compares."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tools import notebooks

ROOT = Path(__file__).parents[2]
TUTORIALS = ROOT / "docs" / "tutorials"
NOTEBOOKS = sorted(path.name for path in TUTORIALS.glob("*.ipynb"))
every_notebook = pytest.mark.parametrize("name", NOTEBOOKS)


def stored(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((TUTORIALS / name).read_text(encoding="utf-8"))
    return found


def test_there_are_tutorials_without_pages_of_another_kind() -> None:
    assert NOTEBOOKS
    assert sorted(path.name for path in TUTORIALS.iterdir()) == NOTEBOOKS


@every_notebook
def test_it_is_a_notebook_that_reads_well(name: str) -> None:
    found = stored(name)
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    assert (TUTORIALS / name).read_text() == notebooks.serialize(found)
    cells = found["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert cells[0]["source"][0].startswith("# ")
    for before, cell in zip([None, *cells], cells, strict=False):
        assert set(notebooks.tags(cell)) <= {notebooks.RAISES, notebooks.VARIES}
        assert "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            # Every heading has words below it, and code explains itself in between.
            assert before is None or before["cell_type"] == "code"
        for link in re.findall(r"\]\(([^)\s]+)\)", "".join(cell["source"])):
            assert (TUTORIALS / link.partition("#")[0]).exists(), link
    counts = [cell["execution_count"] for cell in cells if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1))


@every_notebook
def test_it_says_nothing_of_the_machine_that_ran_it(name: str) -> None:
    text = (TUTORIALS / name).read_text()
    assert not re.search(r"/tmp/|/home/|/root|/Users/|object at 0x", text)
    # Keys that anyone can guess are said to be such.
    if "Key.insecure(" in text:
        assert "Anyone can guess" in text


def notebook(*sources: str, tags: tuple[str, ...] = ()) -> dict[str, Any]:
    cells = [
        {"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": [],
         "metadata": {"tags": list(tags)}}
        for source in sources
    ]  # fmt: skip
    return {"cells": cells}


def test_the_runner_wants_errors_where_they_are_announced() -> None:
    [cell] = notebooks.run(notebook("1 / 0", tags=(notebooks.RAISES,)))["cells"]
    assert cell["outputs"][0]["ename"] == "ZeroDivisionError"
    with pytest.raises(ZeroDivisionError):
        notebooks.run(notebook("1 / 0"))
    with pytest.raises(SystemExit, match="must raise"):
        notebooks.run(notebook("1", tags=(notebooks.RAISES,)))
    with pytest.raises(RuntimeError, match="ended with 3"):
        notebooks.run(notebook("!exit 3"))


def test_a_stale_output_is_seen() -> None:
    fresh = notebooks.run(notebook("import bistochastic as bs\nbs.uniform(2)", "print('one')"))
    assert not notebooks.compare(fresh, copy.deepcopy(fresh))
    for change in ("text", "html", "none"):
        old = copy.deepcopy(fresh)
        if change == "text":
            old["cells"][1]["outputs"][0]["text"] = ["two\n"]
        elif change == "html":
            old["cells"][0]["outputs"][0]["data"]["text/html"][-1] += "<p>more</p>"
        else:
            old["cells"][1]["outputs"] = []
        assert notebooks.compare(old, fresh), change
    for cell in fresh["cells"]:
        cell["metadata"]["tags"] = [notebooks.VARIES]
    old = copy.deepcopy(fresh)
    old["cells"][1]["outputs"][0]["text"] = ["two\n"]
    assert not notebooks.compare(old, fresh)
    old["cells"][1]["outputs"] = []
    assert notebooks.compare(old, fresh)
