"""Who may import whom: the library below, the toolkit above, folders that stand apart."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOUSES = {
    "bistochastic": ROOT / "python" / "bistochastic",
    "bistochastic_survey": ROOT / "survey" / "bistochastic_survey",
}
# Folders of the toolkit that never import each other.
APART = ("audit", "cli", "models", "report")
# Methods that hand over to another file, which is imported if they are called.
HAND_OVER = {
    "Plan": (
        "__repr__ batch_function client_json collector column for_frame on preview protect "
        "protect_batches report responder"
    ),
    "Release": (
        "_repr_html_ calibration_weights change correlation count covariance estimate mean "
        "ratio regress test_independence transitions"
    ),
}
METHODS = {f"{cls}.{name}" for cls, names in HAND_OVER.items() for name in names.split()}
# Where imports wait, and why. This list only gets shorter.
_LOOKED = "imported if somebody looks at the object"
_FIRST = "slow to import, and seldom needed"
_ROUND = "both files need each other"
LATE = {
    "__init__.py importlib": "names are imported at their first use",
    "audit/__init__.py audit": "`import bistochastic_survey` leaves the attack alone",
    "audit/results.py audit": _LOOKED,
    "arguments.py difflib": _FIRST,
    "birkhoff.py pathlib": _FIRST,
    "birkhoff.py secrets": _FIRST,
    "errors.py formatting": _ROUND,
    "estimate/quantiles.py statistics": _FIRST,
    "estimate/result.py plot": "an estimate draws itself",
    "files/atomic.py fcntl": "not on Windows",
    "files/child.py resource": "not on Windows",
    "formatting.py html": _LOOKED,
    "keys.py importlib": _FIRST,
    "keys.py secrets": _FIRST,
    "ledger.py fcntl": "not on Windows",
    "measures/bits.py decimal": _FIRST,
    "measures/efficiency.py estimate": _ROUND,
    "plan/plan_json.py tomllib": _FIRST,
    "plan/preview.py pages": _LOOKED,
    "plan/preview.py report": _LOOKED,
    "release/certificate.py pages": _LOOKED,
    "release/certificate.py report": _LOOKED,
    "release/protect.py concurrent": _FIRST,
    "release/run.py importlib": _FIRST,
}


def imports(text: str) -> Iterator[tuple[str, str, bool]]:
    """Each module that a file imports, where, and whether that waits for a call."""

    def walk(node: ast.AST, where: str, late: bool) -> Iterator[tuple[str, str, bool]]:
        if isinstance(node, ast.Import):
            yield from ((each.name, where, late) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written with the name of the package"
            module = str(node.module)
            inside = [f"{module}.{each.name}" for each in node.names]
            yield from ((each, where, late) for each in (inside if module in HOUSES else [module]))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            where = f"{where}.{node.name}".lstrip(".")
            late = late or not isinstance(node, ast.ClassDef)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, where, late)

    return walk(ast.parse(text), "", False)


def place(module: str) -> str:
    """The folder or file of one of our modules; of another, the library."""
    first, *rest = module.split(".")
    return rest[0] if first in HOUSES and rest else first


def together(path: str, text: str) -> set[str]:
    """The folders that stand apart from this file's own, and that it imports from."""
    ours = [module for module, _, _ in imports(text) if module.startswith("bistochastic_survey.")]
    own = path.split("/")[0]
    others = {place(module) for module in ours} - {own}
    return {f"{path} {other}" for other in others if own in APART and other in APART}


def late(path: str, text: str) -> set[str]:
    """What a file imports inside functions, but for other people's libraries."""
    known = {*HOUSES, *sys.stdlib_module_names}
    return {
        f"{path} {place(module)}"
        for module, where, waits in imports(text)
        if waits and where not in METHODS and not path.startswith("cli/")
        if module.split(".")[0] in known
    }


def files() -> list[tuple[str, str, str]]:
    """Every file: its house, its path inside and its text."""
    found = []
    for house, folder in HOUSES.items():
        for path in sorted(folder.rglob("*.py")):
            found.append((house, path.relative_to(folder).as_posix(), path.read_text("utf-8")))
    return found


def compare(found: set[str], listed: set[str]) -> None:
    assert not found - listed, f"do without these imports: {sorted(found - listed)}"
    assert not listed - found, f"no longer needed, remove them: {sorted(listed - found)}"


in_a_checkout = pytest.mark.skipif(not HOUSES["bistochastic"].is_dir(), reason="in a checkout")


@in_a_checkout
def test_the_library_never_imports_the_toolkit() -> None:
    for house, path, text in files():
        roots = {module.split(".")[0] for module, _, _ in imports(text)}
        assert house != "bistochastic" or "bistochastic_survey" not in roots, path


@in_a_checkout
def test_folders_that_stand_apart_never_import_each_other() -> None:
    toolkit = [each for each in files() if each[0] == "bistochastic_survey"]
    found = {one for _, path, text in toolkit for one in together(path, text)}
    assert not found


@in_a_checkout
def test_imports_stand_at_the_top() -> None:
    found = {one for _, path, text in files() for one in late(path, text)}
    compare(found, set(LATE))
    assert {where for _, _, text in files() for _, where, waits in imports(text) if waits} > METHODS


def test_the_tests_would_see_a_wrong_import() -> None:
    inside = "def f():\n    from bistochastic_survey import report"
    assert together("models/panels.py", inside) == {"models/panels.py report"}
    assert together("cli/releases.py", "import bistochastic_survey.audit.page") == {
        "cli/releases.py audit"
    }
    assert not together("plan/plan.py", inside)
    assert not together("audit/page.py", "from bistochastic_survey.audit.results import Rate")
    assert late("table/values.py", inside) == {"table/values.py report"}
    method = "class Plan:\n    def report(self):\n        import json"
    assert not late("plan/plan.py", method)
    assert late("plan/plan.py", method.replace("report", "row")) == {"plan/plan.py json"}
    assert not late("choose/optimal.py", "def f():\n    import scipy.sparse")
    assert not late("cli/releases.py", inside)
    assert not late("a.py", "if TYPE_CHECKING:\n    import json")


def test_code_stays_short() -> None:
    house = HOUSES["bistochastic_survey"]
    found = {
        path.relative_to(house).as_posix(): len(path.read_text().splitlines())
        for path in house.rglob("*.py")
    }
    most = {"plan/plan.py": 800}
    assert {path for path, lines in found.items() if lines > most.get(path, 620)} == set()
    assert 1000 < sum(found.values()) <= 23_500
