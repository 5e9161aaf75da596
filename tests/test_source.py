"""Rules of the source that no compiler checks."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from bistochastic import _core

SOURCE = Path(__file__).parents[1] / "src"
PACKAGE = Path(__file__).parents[1] / "python" / "bistochastic"

# What allocates as much as it is told and ends the process where it cannot. A list that is short
# whatever a caller gives is written `vec![a, b]` or collected by type (`.collect::<Option<_>>()`).
ALLOCATES = re.compile(
    r"vec!\[[^\[\]]*;|\.collect\(\)|\.collect::<Vec|::with_capacity\(|\.to_vec\(\)"
)
# These rooms hold keys, words and labels of a few bytes; Python's boundary has Python's own lists.
SMALL = (
    "system/memory.rs",
    "system/erase.rs",
    "py/",
    "draw/keystream/",
    "draw/key.rs",
    "draw/derive.rs",
    "mutant.rs",
    "error.rs",
)


def rooms() -> list[Path]:
    return [
        path
        for path in sorted(SOURCE.rglob("*.rs"))
        if not path.relative_to(SOURCE).as_posix().startswith(SMALL)
    ]


@pytest.mark.skipif(not SOURCE.is_dir(), reason="runs in a checkout")
def test_memory_that_grows_with_input_is_asked_for_in_one_room() -> None:
    found = []
    for path in rooms():
        product = re.split(r"^#!?\[cfg\(test\)\]", path.read_text(), maxsplit=1, flags=re.M)[0]
        for number, line in enumerate(product.splitlines(), 1):
            if ALLOCATES.search(line) and not line.strip().startswith("//"):
                found.append(f"{path.relative_to(SOURCE)}:{number}: {line.strip()}")
    assert not found, "use system::memory (zeros, filled, room, copied, gather)\n" + "\n".join(
        found
    )
    assert len(rooms()) > 50


def test_the_test_would_see_an_allocation() -> None:
    for line in (
        "let x = vec![0; n];",
        "x.iter().collect()",
        "Vec::with_capacity(n)",
        "x.to_vec()",
    ):
        assert ALLOCATES.search(line), line
    for line in ("vec![a, b]", ".collect::<Option<_>>()", "x.gather()", "memory::zeros(n)"):
        assert not ALLOCATES.search(line), line


@pytest.mark.skipif(not SOURCE.is_dir(), reason="runs in a checkout")
def test_the_core_imports_nothing_of_the_package() -> None:
    # It is handed what it needs when the package is imported: `py/package.rs`.
    names = re.compile(r"import\(\s*\"(\w+)")
    found = [
        (path.relative_to(SOURCE).as_posix(), name)
        for path in sorted(SOURCE.rglob("*.rs"))
        for name in names.findall(path.read_text())
    ]
    assert len(found) > 5
    foreign = {"numpy", "fractions", "math", "os", "builtins"}
    assert [(path, name) for path, name in found if name not in foreign] == []


# Whoever has a closed form asks a matrix for its structure, never for its name: else a new family
# that is made of the same would have none of them.
NAME = "(?:" + "|".join(sorted(_core.families())) + ")"
COMPARES = re.compile(
    rf"""
    \.name\(\)\s*(?:==|!=)                         # m.family.name() == ...
    | (?:==|!=)\s*[\w.&*]*\.name\(\)                # ... == m.family.name()
    | \bmatch\b[^{{;]*(?<!get_type\(\))\.name\(\)                    # match m.family.name() {{ ...
    | \bmatches!\([^;]*\.name\(\)                   # matches!(m.family.name(), ...)
    | \bcontains\([^;)]*\.name\(\)                  # NAMES.contains(&m.family.name())
    | (?:==|!=)\s*"{NAME}" | "{NAME}"\s*(?:==|!=)
    | "{NAME}"\s*(?:=>|\||if\b) | \|\s*"{NAME}"      # arms of a match
    | \[\s*"{NAME}"\s*,\s*"{NAME}"                  # a list of names to look in
    """,
    re.VERBOSE,
)
# The families themselves, and the command line, whose presets are names that people type.
FAMILIES = (
    "law/matrix.rs",
    "law/registry.rs",
    "law/family/",
    "law/shared/",
    "families.py",
    "cli/",
)


def rust_comparisons(text: str) -> list[int]:
    """Lines on which a family's name is compared, tests and comments left out."""
    product = re.split(r"^#\[cfg\(test\)\]", text, maxsplit=1, flags=re.M)[0]
    product = re.sub(r"//[^\n]*", "", product)
    return [product.count("\n", 0, found.start()) + 1 for found in COMPARES.finditer(product)]


def python_comparisons(text: str) -> list[int]:
    """The same of Python: a name in a comparison or a pattern, or any comparison of ``.family``."""
    names = set(_core.families())

    def is_name(node: ast.AST) -> bool:
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return any(is_name(item) for item in node.elts)
        named = isinstance(node, ast.Attribute) and node.attr == "family"
        return named or (isinstance(node, ast.Constant) and node.value in names)

    found = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Compare(left=left, comparators=others):
                if any(is_name(side) for side in (left, *others)):
                    found.append(node.lineno)
            case ast.Match(subject=subject) if is_name(subject):
                found.append(node.lineno)
            case ast.MatchValue(value=value) if is_name(value):
                found.append(node.lineno)
    return found


@pytest.mark.skipif(not SOURCE.is_dir(), reason="runs in a checkout")
def test_a_matrix_is_asked_for_its_structure_not_for_its_name() -> None:
    found = []
    for root, pattern, look in (
        (SOURCE, "*.rs", rust_comparisons),
        (PACKAGE, "*.py", python_comparisons),
    ):
        for path in sorted(root.rglob(pattern)):
            name = path.relative_to(root).as_posix()
            if not name.startswith(FAMILIES):
                found += [f"{name}:{line}" for line in look(path.read_text())]
    assert not found, "ask for the structure (Structure, bistochastic.structure)\n" + "\n".join(
        found
    )


def test_the_test_would_see_a_comparison() -> None:
    for line in (
        'if m.family.name() == "identity" {}',
        'let x = family != "circulant";',
        "match family.name() { _ => 1 }",
        'match name { "kron" => 1 }',
        '"identity"\n        | "uniform" => true,',
        'const CLASSES: [&str; 2] = ["identity", "uniform"];',
        "CLASSES.contains(&m.family.name())",
    ):
        assert rust_comparisons(line), line
    for line in ('build("circulant", given)', 'format!("a {}", m.family.name())', '// == "mix"'):
        assert not rust_comparisons(line), line
    for line in (
        'm.family == "kron"',
        "m.family in NAMES",
        'family != "permutation"',
        'x in ("dense", "balance")',
        "match m.family:\n    case _: pass",
        'match x:\n    case "mix" | "product": pass',
    ):
        assert python_comparisons(line), line
    for line in (
        'build("kron", x)',
        'f"{m.family}"',
        'FAMILIES = ("geometric",)',
        'x == "inverse"',
    ):
        assert not python_comparisons(line), line


def test_properties_that_are_found_once_have_no_lock() -> None:
    # In Python 3.11 a `cached_property` has a lock, which a forked child may find taken for ever.
    found = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "cached_property" in path.read_text()
    ]
    assert found == ["kept.py"], "use bistochastic.kept"


def test_errors_say_what_was_got() -> None:
    files = [*SOURCE.rglob("*.rs"), *PACKAGE.rglob("*.py")]
    vague = re.compile(r'Error::\w+\([^;]*?, "(?:an)?other(?:s| number| length)?"\)|, "more"\)')
    assert not [path.name for path in files if vague.search(path.read_text())]
