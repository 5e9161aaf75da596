"""Faults on purpose stay out of what is installed, and their list is true."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from bistochastic import _core
from mutants.registry import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.rs"))
every_mutant = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: str(mutant.name))


def test_the_installed_library_has_no_mutants() -> None:
    """The switch is read by its name, which would stand in the library."""
    assert b"BISTOCHASTIC_MUTANT" not in Path(str(_core.__file__)).read_bytes()


def test_nothing_but_their_own_target_turns_mutants_on() -> None:
    features = tomllib.loads((ROOT / "Cargo.toml").read_text())["features"]
    assert [name for name, needs in features.items() if "mutants" in [name, *needs]] == ["mutants"]
    maturin = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]
    assert maturin["features"] == ["python"]
    asked = re.findall(r"--(?:all-features|features[ =]\S+)", (ROOT / "Makefile").read_text())
    assert not [words for words in asked if "mutants" in words or "all" in words]


def test_the_list_has_the_switches_of_the_source() -> None:
    listed = [(mutant.name, mutant.room) for mutant in MUTANTS if not mutant.old]
    found = [
        (name, file.relative_to(ROOT).as_posix())
        for file in SOURCES
        for name in re.findall(r'mutant!\(\s*"([^"]+)"\s*\)', file.read_text())
        if file.name != "mutant.rs"
    ]
    assert sorted(found) == sorted(listed)
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names)


@every_mutant
def test_what_a_mutant_replaces_and_who_kills_it_is_there(mutant: Mutant) -> None:
    assert mutant.killed_by
    if mutant.old:
        assert (ROOT / mutant.room).read_text().count(mutant.old) == 1
    for test in mutant.killed_by:
        if test.startswith("tests/"):
            file, name = test.split("::")
            text = (ROOT / file).read_text()
            assert f"\ndef {name.split('[')[0]}(" in text
        else:
            *rooms, inner, name = test.split("::")
            assert inner == "tests"
            stem = ROOT.joinpath("src", *rooms)
            files = [stem.with_suffix(".rs"), stem / "mod.rs"]
            assert any(f"fn {name}()" in f.read_text() for f in files if f.exists())
