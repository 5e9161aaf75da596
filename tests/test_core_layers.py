"""The layers of the core: a file imports from its own layer and from those below it."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"

pytestmark = pytest.mark.skipif(not SOURCE.is_dir(), reason="runs in a checkout")

# From the bottom up, in the order of `src/lib.rs`: folders and files of `src`.
LAYERS = [
    "error",
    "system",
    "number",
    "law",
    "draw",
    "birkhoff",
    "numeric",
    "rust",
    "py",
]

# A matrix keeps the tables to draw from it.
KEPT = {"law/matrix.rs": ["draw"]}

# Tests may look up: a law is checked against what upper layers make of it.
TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:[^\n{]*;\n|(?:.*\n)*?\}\n)", re.M)
COMMENTS = re.compile(r"//[^\n]*")


@functools.cache
def product(text: str) -> str:
    """The text without tests and comments."""
    if re.search(r"^#!\[cfg\(test\)\]", text, re.M):
        return ""
    return COMMENTS.sub("", TESTS.sub("", text + "\n"))


def module(path: str) -> list[str]:
    """``draw/sampler/mod.rs`` is ``["draw", "sampler"]``."""
    parts = path.removesuffix(".rs").split("/")
    return parts[:-1] if parts[-1] == "mod" else parts


def imported(path: str, text: str) -> set[str]:
    """The rooms that a file names by ``crate::`` or by ``super::``."""
    text = product(text)
    found = set(re.findall(r"\bcrate::(\w+)", text))
    for group in re.findall(r"\bcrate::\{([^;]*)\}", text):
        found |= set(re.findall(r"(?:^|,)\s*(\w+)", re.sub(r"\{[^{}]*\}", "", group)))
    for up, name in re.findall(r"\b((?:super::)+)(\w+)", text):
        if up.count("super") == len(module(path)):
            found.add(name)
    return found


def upward(path: str, text: str) -> list[str]:
    """The rooms above its own that a file imports."""
    own = LAYERS.index(module(path)[0])
    return sorted(name for name in imported(path, text) if name in LAYERS[own + 1 :])


def rust() -> dict[str, str]:
    paths = sorted(SOURCE.rglob("*.rs"))
    texts = {path.relative_to(SOURCE).as_posix(): path.read_text() for path in paths}
    # It names the layers, and what of them is public.
    del texts["lib.rs"]
    return texts


def test_every_folder_has_its_layer() -> None:
    assert {module(path)[0] for path in rust()} == set(LAYERS)


def lines(folder: Path, kind: str) -> dict[str, int]:
    """The lines of every file of a kind."""
    return {
        path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines())
        for path in folder.rglob(f"*.{kind}")
    }


# Most lines in all and in one file: what one person can still read.
@pytest.mark.parametrize(
    ("folder", "kind", "in_all", "in_one"),
    [("src", "rs", 25_000, 500), ("python/bistochastic", "py", 11_000, 620)],
)
def test_code_stays_short(folder: str, kind: str, in_all: int, in_one: int) -> None:
    found = lines(ROOT / folder, kind)
    assert {path: n for path, n in found.items() if n > in_one} == {}
    assert 1000 < sum(found.values()) <= in_all


def test_few_blocks_are_unsafe() -> None:
    blocks = sum(len(re.findall(r"\bunsafe\s*\{", product(text))) for text in rust().values())
    assert 0 < blocks <= 20


def test_imports_point_down() -> None:
    texts = rust()
    found = {path: upward(path, text) for path, text in texts.items()}
    assert {path: rooms for path, rooms in found.items() if rooms} == KEPT
    # It did look: all but a few files import something from another room.
    assert sum(bool(imported(path, text)) for path, text in texts.items()) > len(texts) // 2


def added(text: str) -> list[str]:
    """The methods that a file adds to ``law::Matrix``."""
    blocks = re.findall(r"^impl Matrix \{\n((?:.*\n)*?)\}\n", product(text), re.M)
    method = re.compile(r"^    pub(?:\(crate\))? fn (\w+)", re.M)
    return [name for block in blocks for name in method.findall(block)]


def called(names: list[str], text: str) -> list[str]:
    """Those of the methods that a file calls."""
    text = product(text)
    return [name for name in names if re.search(rf"\.{name}\(", text)]


def test_no_law_calls_what_an_upper_layer_adds_to_a_matrix() -> None:
    # A method needs no import to be called.
    texts = rust()
    rank = {path: LAYERS.index(module(path)[0]) for path in texts}
    law, top = LAYERS.index("law"), LAYERS.index("py")
    found, seen = [], 0
    for above, text in texts.items():
        names = added(text) if law < rank[above] < top else []
        seen += len(names)
        found += [
            (path, name)
            for path in texts
            if rank[path] == law
            for name in called(names, texts[path])
        ]
    assert found == []
    assert seen


def test_the_test_would_see_an_upward_import() -> None:
    for text in (
        "use crate::draw::key::Key;",
        "use crate::{draw, error};",
        "use crate::{error::{Error, Result}, birkhoff::Sum};",
        "fn f() { crate::draw::code::low(); }",
        "use super::super::draw;",
        "#[cfg(test)]\nmod tests {\n}\nuse crate::draw;",
        "#[cfg(test)]\nmod counted;\nuse crate::draw;",
    ):
        assert upward("law/rate.rs", text), text
    for text in (
        "use crate::number::dd::Dd;",
        "use crate::law::draw;",
        "// see crate::draw",
        "#[cfg(test)]\nmod tests {\n    use crate::draw;\n}",
        "#![cfg(test)]\nuse crate::draw;",
        "use super::draw;",
    ):
        assert not upward("law/rate.rs", text), text
    assert upward("law/mod.rs", "use super::draw;") == ["draw"]
    assert not upward("draw/key.rs", "use crate::law;")
    assert added("impl Matrix {\n    pub fn sampler(&self) {}\n}\n") == ["sampler"]
    assert called(["sampler"], "m.sampler();") == ["sampler"]
