"""The toolkit uses public names of the library alone: the library is a backend for other tools.

``contract.txt`` lists the private names that are still used. It only gets shorter.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import bistochastic as bs

PACKAGE = Path(__file__).parents[2] / "python" / "bistochastic"
ALLOWED = Path(__file__).with_name("contract.txt")
# What the toolkit is made of, below PACKAGE. Everything else there is the library.
TOOLKIT = (
    "__main__.py", "adapters", "audit", "choose/allocate.py", "cli", "files", "labels.py", "markup",
    "models", "plan", "report", "samples.py", "tables",
)  # fmt: skip
LIBRARY_INSIDE = ("report/comparison.py",)
# Modules whose ``__all__`` is public beside the package's own.
MODULES = (
    "backend", "choose", "errors", "estimate", "masking", "measures", "plot", "structure", "theory",
)  # fmt: skip


def is_toolkit(module: str) -> bool:
    """Whether a module, such as ``plan.run``, or a name in it belongs to the toolkit."""
    path = module.replace(".", "/")
    if any(path.startswith(each.removesuffix(".py")) for each in LIBRARY_INSIDE):
        return False
    homes = (each.removesuffix(".py") for each in TOOLKIT)
    return any(path == home or path.startswith(f"{home}/") for home in homes)


def is_module(name: str) -> bool:
    path = PACKAGE / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file() or name == "_core"


def files() -> list[Path]:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".")
        if is_toolkit(name.removesuffix(".__init__")):
            found.append(path)
    return found


def later() -> dict[str, str]:
    """The names of the package itself that come from the toolkit."""
    return {name: home for home, names in bs._LATER.items() for name in names} | {"audit": "audit"}


def used(text: str) -> set[str]:
    """Every name of the library in a file: imported, or an attribute of an imported module."""
    modules: dict[str, str] = {}
    found: set[str] = set()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.name.split(".")[0] == "bistochastic":
                    held = each.name if each.asname else "bistochastic"
                    modules[each.asname or "bistochastic"] = held.partition(".")[2]
        elif isinstance(node, ast.ImportFrom) and node.module:
            home = node.module.split(".")
            if home[0] != "bistochastic":
                continue
            for each in node.names:
                name = ".".join([*home[1:], each.name])
                if is_module(name):
                    modules[each.asname or each.name] = name
                else:
                    found.add(name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            parts = ast.unparse(node).split(".")
            if parts[0] in modules and all(part.isidentifier() for part in parts):
                before = modules[parts[0]]
                name = ".".join([before, parts[1]] if before else parts[1:2])
                if not is_module(name):
                    found.add(name)
    return {name for name in found if not is_toolkit(name) and name.split(".")[0] not in later()}


def public() -> set[str]:
    found = set(bs.__all__)
    for module in MODULES:
        held = importlib.import_module(f"bistochastic.{module}")
        found |= {f"{module}.{name}" for name in held.__all__}
    return found


def private(texts: list[str]) -> set[str]:
    return {name for text in texts for name in used(text)} - public()


@pytest.mark.skipif(not PACKAGE.is_dir(), reason="runs in a checkout")
def test_the_toolkit_uses_public_names_of_the_library() -> None:
    allowed = ALLOWED.read_text().split()
    assert allowed == sorted(set(allowed))
    found = private([path.read_text() for path in files()])
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
        ("from bistochastic.words import shown", "words.shown"),
        ("from bistochastic import words as w\nw.shown(x)", "words.shown"),
        ("def f():\n    import bistochastic.words as w\n    w.shown(x)", "words.shown"),
        ("import bistochastic as bs\nbs.nothing", "nothing"),
        ("from bistochastic import backend\nbackend._narrow(x)", "backend._narrow"),
    ):
        assert private([text]) == {name}, text
    for text in (
        "from bistochastic import Key, backend\nbackend.draw([], Key)",
        "from bistochastic_survey.release.run import Run",
        "from bistochastic.errors import GuaranteeError",
        "import numpy as np\nnp.zeros(2)",
    ):
        assert private([text]) == set(), text
