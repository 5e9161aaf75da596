"""Rooms of the Python side: imports point down."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "bistochastic"
FILES = sorted(PACKAGE.rglob("*.py"))

# From the bottom up. A file may import from its own room and from those before it.
ROOMS = (
    "_core",
    "errors",
    "kept",
    "words",
    "markup",
    "arguments",
    "progress",
    "pipeline",
    "patience",
    "structure",
    "operators",
    "matrix",
    "difference_sets",
    "families",
    "exchange",
    "measures",
    "estimate",
    "permutations",
    "numeric",
    "choose",
    "backend",
    "labels",
    "samples",
    "sources",
    "adapters",
    "plan",
    "tables",
    "models",
    "files",
    "report",
    "plot",
    "audit",
    "masking",
    "theory",
    "cli",
    "__init__",
    "__main__",
)
# Public names of the library, which are imported from the package itself above its rooms.
LIBRARY = ("Key", "Matrix", "uniform")
# What is imported inside a function when it is called, upwards all the same, and why.
LATE = {
    ("errors", "words"): "an exception writes the names of columns",
    ("matrix", "measures"): "profile, deniability and posterior are methods of a matrix",
    ("matrix", "estimate"): "estimate, required_records and standard_error are methods of a matrix",
    ("matrix", "exchange"): "to_json and from_json are methods of a matrix",
    ("matrix", "numeric"): "permute, average and displacement are methods of a matrix",
    ("estimate", "plot"): "an estimate draws itself",
    ("plan", "report"): "a plan, a certificate and a release write a report of themselves",
    ("plan", "models"): "regress, transitions and change are methods of a plan",
    ("plan", "tables"): "estimate, count, ratio, mean and the like are methods of a plan",
}
# What is imported for annotations alone, upwards all the same, and why.
NAMED = {
    "matrix": "what everything is about: rooms below are handed matrices",
    "measures": "Profile, which a method of Matrix returns",
    "estimate": "Estimate, which a method of Matrix returns",
    "numeric": "Displacement, which a method of Matrix returns",
    "permutations": "Decomposition, which a method of Matrix returns",
    "tables": "Collector, which a method of Plan returns",
    "models": "Regression and the like, which methods of Plan return",
}


@dataclass(frozen=True)
class Import:
    """One import line: from a room to a room, and when it is run."""

    source: str
    target: str
    when: str
    line: int

    @property
    def points_down(self) -> bool:
        return ROOMS.index(self.target) <= ROOMS.index(self.source)

    @property
    def is_allowed(self) -> bool:
        if self.points_down:
            return True
        if self.when == "annotations":
            return self.target == "matrix" or (
                self.source in ("matrix", "plan") and self.target in NAMED
            )
        return self.when == "call" and (self.source, self.target) in LATE


def room_of(module: str) -> str:
    """The room of ``bistochastic.room.file``; the package itself is its ``__init__``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def targets(node: ast.AST) -> list[str]:
    """The rooms that an import line names."""
    if isinstance(node, ast.Import):
        return [room_of(a.name) for a in node.names if a.name.split(".")[0] == "bistochastic"]
    if not isinstance(node, ast.ImportFrom):
        return []
    assert node.level == 0, "imports are written with the name of the package"
    if node.module == "bistochastic":
        # `from bistochastic import x`: a room, or else a name of the package itself.
        known = {*ROOMS, *LIBRARY}
        rooms = [a.name if a.name in known else "__init__" for a in node.names]
        return ["backend" if room in LIBRARY else room for room in rooms]
    if node.module and node.module.startswith("bistochastic."):
        return [room_of(node.module)]
    return []


@functools.cache
def imports(source: str, text: str) -> tuple[Import, ...]:
    """Every import of the package in a file of a room."""
    found: list[Import] = []

    def walk(node: ast.AST, when: str) -> None:
        found.extend(Import(source, to, when, getattr(node, "lineno", 0)) for to in targets(node))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            when = "call"
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for typed in node.body:
                walk(typed, "annotations")
            for other in node.orelse:
                walk(other, when)
            return
        for child in ast.iter_child_nodes(node):
            # No expression holds an import.
            if not isinstance(child, ast.expr):
                walk(child, when)

    walk(ast.parse(text), "import")
    return tuple(found)


def room_of_file(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


@pytest.mark.skipif(not PACKAGE.is_dir(), reason="runs in a checkout")
def test_imports_point_down() -> None:
    wrong = []
    for path in FILES:
        for one in imports(room_of_file(path), path.read_text()):
            if not one.is_allowed:
                place = f"{path.relative_to(PACKAGE)}:{one.line}"
                wrong.append(f"{place} imports {one.target} ({one.when})")
    assert not wrong, "a room imports from those before it in ROOMS\n" + "\n".join(wrong)


@pytest.mark.skipif(not PACKAGE.is_dir(), reason="runs in a checkout")
def test_every_room_has_its_place_and_every_exception_is_needed() -> None:
    assert {room_of_file(path) for path in FILES} | {"_core"} == set(ROOMS)
    every = [one for path in FILES for one in imports(room_of_file(path), path.read_text())]
    up = [one for one in every if not one.points_down]
    assert {(one.source, one.target) for one in up if one.when == "call"} == set(LATE)
    assert {one.target for one in up if one.when == "annotations"} == set(NAMED)


def test_the_test_would_see_an_import_that_points_up() -> None:
    for text in (
        "from bistochastic import plot",
        "from bistochastic.plot import heatmap",
        "import bistochastic.plot",
        "import bistochastic as bs",
        "from bistochastic import Matrix",
        "if TYPE_CHECKING:\n    pass\nelse:\n    from bistochastic import plot",
        "def f():\n    from bistochastic.cli import main",
        "class A:\n    def f(self):\n        import bistochastic_survey.audit",
        "if TYPE_CHECKING:\n    from bistochastic.plot import heatmap",
    ):
        assert [one for one in imports("estimate", text) if not one.is_allowed], text
    for text in (
        "from bistochastic import _core, families",
        "from bistochastic.estimate import intervals",
        "if TYPE_CHECKING:\n    from bistochastic.matrix import Matrix",
        "import numpy",
    ):
        assert all(one.is_allowed for one in imports("estimate", text)), text
    # A method may import late what the import of the file may not.
    late = "def f():\n    from bistochastic import numeric"
    assert all(one.is_allowed for one in imports("matrix", late))
    assert not all(one.is_allowed for one in imports("matrix", "from bistochastic import numeric"))
