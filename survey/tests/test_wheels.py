"""What `make wheels` relies on, without building: its judgements, its vectors, the workflow."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tools import wheels

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"


def imported(path: Path) -> set[str]:
    """The packages that a file names, wherever it imports them."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


def test_vectors_need_no_more_than_is_installed_with_a_wheel() -> None:
    there = {re.split(r"\W", need)[0] for need in wheels.NEEDED}
    there |= {"bistochastic", "numpy", *sys.stdlib_module_names}
    there |= {Path(name).stem for name in wheels.BESIDE}
    for name in (*wheels.VECTORS, *wheels.BESIDE):
        assert imported(ROOT / "tests" / name) <= there, name


def written(path: Path, held: dict[str, bytes], left_out: tuple[str, ...]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in held.items():
            if not name.endswith(left_out or ("nothing",)):
                archive.writestr(name, text)
    return path


def sources(home: Path, package: str) -> dict[str, bytes]:
    return {
        file.relative_to(home).as_posix(): b""
        for file in (home / package).rglob("*.*")
        if file.suffix not in wheels.LIBRARIES
    }


def crates() -> list[dict[str, str]]:
    """All that Cargo.lock has, as a list of crates names them."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text("utf-8"))["package"]
    return [{"name": each["name"], "version": each["version"]} for each in lock]


def a_wheel(folder: Path, *left_out: str, **more: bytes) -> Path:
    """One of the library with the sources of this tree and no code in its library."""
    info = f"bistochastic-{wheels.version()}.dist-info"
    held = {f"{info}/licenses/{name}": b"" for name in wheels.LICENCES}
    held |= (
        {f"{info}/{wheels.SBOM}": json.dumps({"components": crates()}).encode()}
        | sources(ROOT / "python", "bistochastic")
        | {"bistochastic/_core.abi3.so": b""}
    )
    held |= {f"bistochastic/{name}.so": text for name, text in more.items()}
    return written(folder / f"bistochastic-{wheels.version()}-cp311-abi3-any.whl", held, left_out)


def a_toolkit_wheel(
    folder: Path, *left_out: str, requires: str = wheels.version(), **more: bytes
) -> Path:
    info = f"bistochastic_survey-{wheels.version()}.dist-info"
    held = {f"{info}/licenses/{name}": b"" for name in wheels.TOOLKIT_LICENCES}
    held[f"{info}/METADATA"] = f"Requires-Dist: bistochastic=={requires}\n".encode()
    held |= sources(wheels.TOOLKIT, "bistochastic_survey")
    held |= {f"bistochastic_survey/{name}.so": text for name, text in more.items()}
    return written(folder / wheels.toolkit_wheel().name, held, left_out)


def test_a_whole_wheel_passes(tmp_path: Path) -> None:
    wheels.looked_into(a_wheel(tmp_path))
    wheels.looked_into_toolkit(a_toolkit_wheel(tmp_path))


@pytest.mark.parametrize(
    "name", ["THIRD-PARTY-LICENSES", "LICENSE-MIT", "py.typed", "schemas/matrix.json", "_core.pyi"]
)
def test_a_wheel_without_a_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(wheels.ReleaseError, match=f"must hold all of the package; got no .*{name}"):
        wheels.looked_into(a_wheel(tmp_path, name))


@pytest.mark.parametrize(
    "name", ["LICENSE-MIT", "py.typed", "schemas/plan.json", "schemas/client.json", "page.html.j2"]
)
def test_a_wheel_of_the_toolkit_without_a_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(wheels.ReleaseError, match=f"must hold all of the package; got no .*{name}"):
        wheels.looked_into_toolkit(a_toolkit_wheel(tmp_path, name))


def test_the_wheel_of_the_toolkit_would_hold_templates_and_words() -> None:
    builders = pytest.importorskip("hatchling.builders.wheel")
    files = builders.WheelBuilder(str(wheels.TOOLKIT)).recurse_included_files()
    held = {Path(each.distribution_path).as_posix() for each in files}
    found = (wheels.TOOLKIT / "bistochastic_survey").rglob("*.*")
    data = {file.relative_to(wheels.TOOLKIT).as_posix() for file in found
            if file.suffix in (".j2", ".json", ".toml")}  # fmt: skip
    assert {Path(name).suffix for name in data} == {".j2", ".json", ".toml"}
    assert data <= held


def test_a_wheel_without_the_list_of_its_crates_is_refused(tmp_path: Path) -> None:
    with pytest.raises(wheels.ReleaseError, match="must list its crates; got no sboms/"):
        wheels.looked_into(a_wheel(tmp_path, wheels.SBOM))


def test_the_list_of_crates_is_that_of_the_lock() -> None:
    wheels.compare_crates({"components": crates()})
    with pytest.raises(wheels.ReleaseError, match=r"must list its crates; got no rayon$"):
        wheels.compare_crates({"components": [c for c in crates() if c["name"] != "rayon"]})
    with pytest.raises(wheels.ReleaseError, match=r"must be in Cargo.lock; got rayon 0\.0\.1$"):
        wheels.compare_crates({"components": [*crates(), {"name": "rayon", "version": "0.0.1"}]})


def test_a_wheel_has_one_library_and_a_bounded_size(tmp_path: Path) -> None:
    with pytest.raises(wheels.ReleaseError, match="must hold one library; got none"):
        wheels.looked_into(a_wheel(tmp_path, "_core.abi3.so"))
    with pytest.raises(wheels.ReleaseError, match=r"must hold one library; got .*other"):
        wheels.looked_into(a_wheel(tmp_path, other=b""))
    with pytest.raises(wheels.ReleaseError, match="must have fewer than 3,000,000 bytes"):
        wheels.looked_into(a_wheel(tmp_path, other=os.urandom(1) * wheels.MOST))


def test_the_toolkit_is_python_alone_and_requires_its_library(tmp_path: Path) -> None:
    with pytest.raises(wheels.ReleaseError, match=r"must be Python alone; got .*other"):
        wheels.looked_into_toolkit(a_toolkit_wheel(tmp_path, other=b""))
    with pytest.raises(wheels.ReleaseError, match="must require the library of version"):
        wheels.looked_into_toolkit(a_toolkit_wheel(tmp_path, requires="0.0.1"))


@pytest.mark.parametrize("name", ["clients/vectors.json", "bistochastic/vectors.json"])
def test_a_wheel_with_a_file_of_somebody_else_is_refused(tmp_path: Path, name: str) -> None:
    wheel = a_wheel(tmp_path)
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr(name, b"")
    with pytest.raises(wheels.ReleaseError, match=f"must hold the package alone; got {name}"):
        wheels.looked_into(wheel)


def test_an_sdist_holds_sources_alone() -> None:
    known = ["src/lib.rs", ".ci/run", "survey/README.md", "tests/cases.py", "Cargo.toml",
             "python/bistochastic/_core.abi3.so"]  # fmt: skip
    assert not wheels.strange("src/lib.rs", known)
    strange = (".ci/run", "data/adult.csv", "notes.txt", "survey/README.md", known[-1])
    for name in strange:
        assert wheels.strange(name, known), name
    wanted = wheels.needed(known)
    assert {"src/lib.rs", "tests/cases.py", "Cargo.lock", *wheels.LICENCES} <= wanted


def test_the_citation_names_the_version() -> None:
    assert f"\nversion: {wheels.version()}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="the program is a script for a POSIX shell")
def test_an_environment_without_rust_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cargo = tmp_path / "cargo"
    cargo.write_text("#!/bin/sh\n")
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", "python")
    assert shutil.which("cargo") == str(cargo)
    clean = wheels.without_rust()
    assert shutil.which("cargo", path=clean["PATH"]) is None
    assert "PYTHONPATH" not in clean


@pytest.mark.skipif(not WORKFLOW.is_file(), reason="runs in a checkout")
def test_the_workflow_runs_parts_that_exist_and_actions_that_stay() -> None:
    text = WORKFLOW.read_text(encoding="utf-8")
    # It has machines of each kind, and emulates none.
    parts = set(wheels.PARTS) - {"all", "emulate"}
    assert set(re.findall(r"tools/wheels\.py (\w+)", text)) == parts


@pytest.mark.skipif(not WORKFLOW.is_file(), reason="runs in a checkout")
def test_workflows_use_actions_of_one_commit_each() -> None:
    for path in sorted(WORKFLOW.parent.glob("*.yml")):
        used = re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8"))
        assert used, path.name
        assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action) for action in used), path.name


@pytest.mark.skipif(not WORKFLOW.is_file(), reason="runs in a checkout")
def test_one_check_requires_every_job_of_the_tests() -> None:
    text = WORKFLOW.with_name("test.yml").read_text(encoding="utf-8")
    run = re.findall(r"- run: (make .*)", text)
    assert run == ["make test", "make test-rest", "make test-browser", "make test-engines"]
    # The second tier has a name without the first, which a job of its own runs.
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^test-all: test\n\t\$\(MAKE\) test-rest$", makefile, flags=re.M)
    assert re.search(r"^test-rest:$", makefile, flags=re.M)
    *jobs, last = re.findall(r"^  (\w+):$", text.partition("\njobs:\n")[2], flags=re.M)
    required = text[text.index(f"\n  {last}:\n") :]
    assert (last, f"    needs: [{', '.join(jobs)}]\n" in required) == ("required", True)
    assert f'test "$RESULTS" = "{" ".join(["success"] * len(jobs))}"' in required


def test_the_index_gets_readmes_whose_links_work_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = f"https://github.com/bistochastic/bistochastic/{{}}/v{wheels.version()}/"
    text = "![a](docs/a.png) [b](../b.md#c) [d](https://e.org) [f](#g) [h](i.md)"
    assert wheels.for_the_index(text, "survey") == (
        f"![a]({at.format('raw')}survey/docs/a.png) [b]({at.format('blob')}b.md#c)"
        f" [d](https://e.org) [f](#g) [h]({at.format('blob')}survey/i.md)"
    )
    # Copies: other tests read those of the tree at the same time.
    pages = (tmp_path / "README.md", tmp_path / "survey/README.md")
    (tmp_path / "survey").mkdir()
    for name in ("README.md", "survey/README.md", "Cargo.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(wheels, "ROOT", tmp_path)
    monkeypatch.setattr(wheels, "TOOLKIT", tmp_path / "survey")
    before = [page.read_bytes() for page in pages]
    with wheels.readmes_for_the_index():
        for page in pages:
            links = re.findall(r"\]\(([^)]*)\)", page.read_text("utf-8"))
            assert links
            assert all(link.startswith(("https://", "#")) for link in links), page
    assert [page.read_bytes() for page in pages] == before
