"""The layers of the core, and the maps of the tree, both read from the source.

``src/lib.rs`` lists the layers, the lowest first. A file imports from its own layer and from those
below it. CONTRIBUTING.md maps the whole tree; what it names exists, and what exists is named.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"

pytestmark = pytest.mark.skipif(not SOURCE.is_dir(), reason="runs in a checkout")

# Tests may look up: a law is checked against what upper layers make of it.
TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:[^\n{]*;\n|(?:.*\n)*?\}\n)", re.M)
COMMENTS = re.compile(r"//[^\n]*")


@functools.cache
def product(text: str) -> str:
    """The text without tests and comments."""
    if re.search(r"^#!\[cfg\(test\)\]", text, re.M):
        return ""
    return COMMENTS.sub("", TESTS.sub("", text + "\n"))


def layers() -> list[str]:
    """The rooms of ``lib.rs``, the lowest first."""
    return re.findall(r"^//! \| \[?`(\w+)`\]? \|", (SOURCE / "lib.rs").read_text(), re.M)


def module(path: str) -> list[str]:
    """``draw/alias/mod.rs`` is ``["draw", "alias"]``."""
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


def upward(order: list[str], path: str, text: str) -> list[str]:
    """The rooms above its own that a file imports."""
    own = order.index(module(path)[0])
    return sorted(name for name in imported(path, text) if name in order[own + 1 :])


def rust() -> dict[str, str]:
    paths = sorted(SOURCE.rglob("*.rs"))
    texts = {path.relative_to(SOURCE).as_posix(): path.read_text() for path in paths}
    del texts["lib.rs"]
    return texts


def test_imports_point_down() -> None:
    order, texts = layers(), rust()
    found = {path: upward(order, path, text) for path, text in texts.items()}
    assert {path: rooms for path, rooms in found.items() if rooms} == {}
    # It did look: all but a few files import something from another room.
    assert sum(bool(imported(path, text)) for path, text in texts.items()) > len(texts) // 2


def added(text: str) -> list[str]:
    """The methods that a file adds to ``law::Matrix``."""
    blocks = re.findall(r"^impl Matrix \{\n((?:.*\n)*?)\}\n", product(text), re.M)
    return [name for block in blocks for name in re.findall(r"^    pub fn (\w+)", block, re.M)]


def called(names: list[str], text: str) -> list[str]:
    """Those of the methods that a file calls."""
    text = product(text)
    return [name for name in names if re.search(rf"\.{name}\(", text)]


def test_no_law_calls_what_an_upper_layer_adds_to_a_matrix() -> None:
    # A method needs no import to be called.
    order, texts = layers(), rust()
    rank = {path: order.index(module(path)[0]) for path in texts}
    law, top = order.index("law"), order.index("py")
    found, seen = [], 0
    for above, text in texts.items():
        names = added(text) if law < rank[above] < top else []
        seen += len(names)
        found += [
            (path, name)
            for path in texts
            if rank[path] < rank[above]
            for name in called(names, texts[path])
        ]
    assert found == []
    assert seen > 3


def test_the_test_would_see_an_upward_import() -> None:
    order = layers()
    assert order[-1] == "py"
    assert order.index("system") < order.index("law") < order.index("draw")
    for text in (
        "use crate::draw::key::Key;",
        "use crate::{draw, error};",
        "use crate::{error::{Error, Result}, birkhoff::Sum};",
        "fn f() { crate::draw::word::low(); }",
        "use super::super::draw;",
        "#[cfg(test)]\nmod tests {\n}\nuse crate::draw;",
        "#[cfg(test)]\nmod counted;\nuse crate::draw;",
    ):
        assert upward(order, "law/rate.rs", text), text
    for text in (
        "use crate::number::dd::Dd;",
        "use crate::law::draw;",
        "// see crate::draw",
        "#[cfg(test)]\nmod tests {\n    use crate::draw;\n}",
        "#![cfg(test)]\nuse crate::draw;",
        "use super::draw;",
    ):
        assert not upward(order, "law/rate.rs", text), text
    assert upward(order, "law/mod.rs", "use super::draw;") == ["draw"]
    assert not upward(order, "draw/key.rs", "use crate::law;")
    assert added("impl Matrix {\n    pub fn sampler(&self) {}\n}\n") == ["sampler"]
    assert called(["sampler"], "m.sampler();") == ["sampler"]


# The maps.

LEFT_OUT = {"__init__.py", "mod.rs", "__pycache__", "py.typed"}
NAMES = re.compile(r"(?:[\w.-]+\.(?:rs|pyi?|json|md|sh|csv)|\w+/)(?=\s)")


def named(text: str) -> dict[str, set[str]]:
    """From each folder whose inside the map shows to the names that it gives there."""
    maps = re.search(r"## The map.*?```\n(.*?)```", text, re.S)
    assert maps is not None
    folders: dict[str, set[str]] = {}
    inside: list[str] = []
    for line in maps.group(1).splitlines():
        depth = (len(line) - len(line.lstrip(" "))) // 2
        if depth > 3:
            continue  # a sentence that goes on
        if depth == 0:
            inside = [line.split()[0].rstrip("/")]
            continue
        place, rest = "/".join(inside[:depth]), line.lstrip(" ") + " "
        while found := NAMES.match(rest):
            folders.setdefault(place, set()).add(found.group())
            inside = [*inside[:depth], found.group().rstrip("/")]
            rest = rest[found.end() :].removeprefix("  ")
    return folders


def differences(text: str, root: Path) -> list[str]:
    """What the map names and is not there, and what is there and has no name."""
    found = []
    for folder, names in named(text).items():
        there = {
            path.name + "/" * path.is_dir()
            for path in (root / folder).iterdir()
            if path.name not in LEFT_OUT and path.suffix != ".so"
        }
        names = names - LEFT_OUT
        found += [f"{folder}/{name} is not there" for name in names - there]
        found += [f"{folder}/{name} is not in the map" for name in there - names]
    return sorted(found)


def test_the_map_names_what_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert differences(text, ROOT) == []
    assert {"src", "src/law", "src/draw", "python/bistochastic"} <= set(named(text))
    for line in re.findall(r"^(\S+/\S*) ", text.split("## The map")[1].split("```")[1], re.M):
        assert (ROOT / line).exists(), line


def test_the_map_of_the_crate_names_its_rooms() -> None:
    rooms = {module(path)[0] for path in rust()}
    assert set(layers()) == rooms
    assert len(layers()) == len(rooms)


def test_the_test_would_see_a_missing_name(tmp_path: Path) -> None:
    (tmp_path / "src" / "law").mkdir(parents=True)
    for name in ("lib.rs", "law/mod.rs", "law/rate.rs", "law/lines.rs"):
        (tmp_path / "src" / name).touch()
    whole = "## The map\n```\nsrc/   x\n  lib.rs   x\n  law/   x\n    rate.rs  lines.rs   x\n```"
    assert differences(whole, tmp_path) == []
    assert differences(whole.replace("  lines.rs", ""), tmp_path) == [
        "src/law/lines.rs is not in the map"
    ]
    assert differences(whole.replace("lib.rs", "lob.rs"), tmp_path) == [
        "src/lib.rs is not in the map",
        "src/lob.rs is not there",
    ]
