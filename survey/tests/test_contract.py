"""The toolkit uses public names of the library alone: the library is a backend for other tools.

``contract.txt`` lists the private names that are still used. It only gets shorter.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import bistochastic as bs

ROOT = Path(__file__).parents[2]
TOOLKIT = ROOT / "survey" / "bistochastic_survey"
LIBRARY = ROOT / "python" / "bistochastic"
ALLOWED = Path(__file__).with_name("contract.txt")
# Modules whose ``__all__`` is public beside the package's own.
MODULES = (
    "backend", "choose", "errors", "estimate", "masking", "measures", "plot", "structure", "theory",
)  # fmt: skip


def is_module(name: str) -> bool:
    path = LIBRARY / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file() or name == "_core"


def used(text: str) -> set[str]:
    """Every name of the library in a file: imported, or an attribute of an imported module."""
    modules: dict[str, str] = {}
    found: set[str] = set()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                first, _, rest = each.name.partition(".")
                if first == "bistochastic":
                    modules[each.asname or first] = rest if each.asname else ""
        elif isinstance(node, ast.ImportFrom) and node.module:
            first, _, home = node.module.partition(".")
            for each in node.names if first == "bistochastic" else ():
                name = f"{home}.{each.name}".lstrip(".")
                if is_module(name):
                    modules[each.asname or each.name] = name
                else:
                    found.add(name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            first, *parts = ast.unparse(node).split(".")
            name = modules.get(first, "")
            if first not in modules or not all(part.isidentifier() for part in parts):
                continue
            # The first name that is no module is the one that is used.
            while parts and (not name or is_module(name)):
                name = f"{name}.{parts.pop(0)}".lstrip(".")
            if not is_module(name):
                found.add(name)
    return found


def public() -> set[str]:
    found = set(bs.__all__) | {"__version__"}
    for module in MODULES:
        held = importlib.import_module(f"bistochastic.{module}")
        found |= {f"{module}.{name}" for name in held.__all__}
    return found


def private(texts: list[str]) -> set[str]:
    return {name for text in texts for name in used(text)} - public()


@pytest.mark.skipif(not TOOLKIT.is_dir(), reason="runs in a checkout")
def test_the_toolkit_uses_public_names_of_the_library() -> None:
    allowed = ALLOWED.read_text().split()
    assert allowed == sorted(set(allowed))
    found = private([path.read_text() for path in sorted(TOOLKIT.rglob("*.py"))])
    more, gone = sorted(found - set(allowed)), sorted(set(allowed) - found)
    assert not more, f"make these public, or do without: {more}"
    assert not gone, f"no longer used, remove them from {ALLOWED.name}: {gone}"


def test_every_public_name_exists() -> None:
    for module in MODULES:
        held = importlib.import_module(f"bistochastic.{module}")
        assert len(set(held.__all__)) == len(held.__all__), module
        for name in held.__all__:
            assert hasattr(held, name), f"{module}.{name}"


def test_the_test_would_see_a_private_name() -> None:
    for text, name in (
        ("from bistochastic import _core\n_core.count(x, 2)", "_core.count"),
        ("from bistochastic.formatting import shown", "formatting.shown"),
        ("from bistochastic import formatting as f\nf.shown(x)", "formatting.shown"),
        ("import bistochastic.formatting as f\nf.shown(x)", "formatting.shown"),
        ("def f():\n    import bistochastic.formatting\n"
         "    bistochastic.formatting.shown(x)", "formatting.shown"),
        ("import bistochastic as bs\nbs.nothing", "nothing"),
        ("import bistochastic as bs\nbs._core.count(x, 2)", "_core.count"),
        ("from bistochastic import backend\nbackend._narrow(x)", "backend._narrow"),
    ):  # fmt: skip
        assert private([text]) == {name}, text
    for text in (
        "from bistochastic import Key, backend\nbackend.draw([], Key)",
        "from bistochastic_survey.release.run import Run",
        "from bistochastic.errors import GuaranteeError",
        "import numpy as np\nnp.zeros(2)",
    ):
        assert private([text]) == set(), text
