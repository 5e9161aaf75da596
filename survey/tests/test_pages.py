"""The READMEs and the pages of docs/: examples run, commands work, links lead on.

``make docs`` builds the site from the same pages and checks the links between them;
``survey/tests/test_site.py`` looks at what it built."""

from __future__ import annotations

import doctest
import json
import math
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, is_typeddict

import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey import cli
from bistochastic_survey.plan.preview import becomes
from bistochastic_survey.samples import TITANIC
from bistochastic_survey.wording import up

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(ROOT).as_posix(): path
    for path in (
        README,
        *sorted(DOCS.rglob("*.md")),
        *sorted(ROOT.glob("*/README.md")),
        ROOT / "examples/attacks/README.md",
        ROOT / "clients/js/README.md",
    )
    if path.is_file()
}
every_page = pytest.mark.parametrize("name", PAGES)

# Everything that has links: the pages above, what else is at the top, and the tutorials.
LINKED = PAGES | {
    path.relative_to(ROOT).as_posix(): path
    for path in (*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.ipynb")))
}
# Files of this repository are linked by their path, which works in every clone and at every commit.
ABSOLUTE = re.compile(
    r"https://(?:github\.com/bistochastic/bistochastic/(?:blob|tree|raw)/"
    r"|raw\.githubusercontent\.com/bistochastic/|bistochastic\.github\.io/bistochastic/.)"
)
# These commands build or install. Everything else in a shell example is run.
BUILDS = ("make ", "pip install ", "git clone ")
# `text` is the code of other software; tests of the clients run JavaScript.
LANGUAGES = ("python", "sh", "text", "js")
FENCE = re.compile(r"^```(\w*)$")
DIRECTIVE = re.compile(r"^```\{\w+\}.*\n(.*\n)*?```$", flags=re.M)
LINK = re.compile(r"\]\(([^)\s]+)\)")
# Names of the packages in text and code: `bs.kron`, `bs.errors.GuaranteeError`, `sv.Plan`.
NAME = re.compile(r"\b(bs|sv)\.([A-Za-z_]\w*(?:\.\w+)*)")
# Modules of the library whose `__all__` is public.
MODULES = (
    "backend", "choose", "errors", "estimate", "masking", "measures", "plot", "structure", "theory",
)  # fmt: skip


@dataclass(frozen=True)
class Block:
    """What stands between two fences."""

    language: str
    start: int
    lines: tuple[str, ...]


def blocks(text: str) -> list[Block]:
    found: list[Block] = []
    inside: tuple[str, int] | None = None
    held: list[str] = []
    blank = DIRECTIVE.sub(lambda found: "\n" * found[0].count("\n"), text)
    for number, line in enumerate(blank.splitlines()):
        fence = FENCE.match(line)
        if fence and inside is None:
            inside, held = (fence[1], number + 1), []
        elif fence and inside is not None:
            found.append(Block(*inside, tuple(held)))
            inside = None
        elif inside is not None:
            held.append(line)
    assert inside is None, "a fence is not closed"
    return found


def run_examples(name: str, text: str) -> str:
    """What the examples of a page get wrong. They share their names, and get none from outside."""
    # Line numbers stay those of the page.
    lines = [""] * len(text.splitlines())
    for block in blocks(text):
        if block.language == "python":
            lines[block.start : block.start + len(block.lines)] = block.lines
    parser = doctest.DocTestParser()
    examples = parser.get_doctest("\n".join(lines) + "\n", {}, name, name, 0)
    said: list[str] = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    doctest.DocTestRunner(verbose=False, optionflags=flags).run(examples, out=said.append)
    return "".join(said)


def commands(text: str) -> list[str]:
    """The lines of the shell examples, without remarks."""
    shell = [line for block in blocks(text) if block.language == "sh" for line in block.lines]
    return [line for line in shell if line.strip() and not line.startswith("#")]


def run_command(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """As a user would in that folder, with the package that is tested here."""
    programs = folder / ".programs"
    programs.mkdir(exist_ok=True)
    program = programs / "bistochastic"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bistochastic_survey "$@"\n')
    program.chmod(0o755)
    path = os.pathsep.join([str(programs), os.environ.get("PATH", "")])
    return subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def command_of(line: str) -> str:
    """The command of the package that a line is, or nothing where a shell does more than that."""
    words = shlex.split(line, comments=True)
    bare = re.sub(r"'[^']*'", "", line.split("#")[0])
    plain = words[:1] == ["bistochastic"] and not re.search(r"[|<>;&$`*?~]", bare)
    return words[1] if plain else ""


def first_pages() -> dict[str, str]:
    """Every command with the page that has it first, where it is run in a process of its own."""
    found: dict[str, str] = {}
    for name, path in PAGES.items():
        for line in commands(path.read_text()):
            found.setdefault(command_of(line), name)
    return found


def run_inside(line: str) -> tuple[int, str]:
    """A command without a process of its own: its exit code and what it says."""
    from click.testing import CliRunner

    done = CliRunner().invoke(cli.main, shlex.split(line, comments=True)[1:])
    return done.exit_code, f"{done.output}{done.exception or ''}"


def anchors(text: str) -> set[str]:
    """The names that headings can be linked by."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.M)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def prose(path: Path) -> str:
    """The Markdown of a page, or of the cells of a tutorial."""
    if path.suffix != ".ipynb":
        return path.read_text()
    cells = json.loads(path.read_text())["cells"]
    return "\n\n".join("".join(x["source"]) for x in cells if x["cell_type"] == "markdown")


def broken_links(path: Path, text: str) -> list[str]:
    found = []
    for link in LINK.findall(text):
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        if re.match(r"[a-z]+:", link):
            exists = not ABSOLUTE.match(link)
        else:
            exists = target.exists()
            if exists and anchor and target.suffix in (".md", ".ipynb"):
                exists = anchor in anchors(prose(target))
        if not exists:
            found.append(link)
    return found


@every_page
def test_examples_give_what_is_shown(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = run_examples(name, PAGES[name].read_text())
    assert not wrong, wrong


@every_page
def test_no_example_escapes_the_tests(name: str) -> None:
    for block in blocks(PAGES[name].read_text()):
        at = f"{name}:{block.start}"
        assert block.language in LANGUAGES, f"{at}: say which of {LANGUAGES}"
        if block.language == "python":
            # All of it is behind prompts or is what they print.
            assert block.lines[0].startswith(">>> "), at


@pytest.mark.skipif(sys.platform == "win32", reason="the shell examples are for a POSIX shell")
@every_page
def test_commands_succeed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = first_pages()
    for line in commands(PAGES[name].read_text()):
        command = command_of(line)
        if line.startswith(BUILDS):
            continue
        if command and first[command] != name:
            code, said = run_inside(line)
        else:
            done = run_command(line, tmp_path)
            code, said = done.returncode, done.stdout + done.stderr
        assert code == 0, f"{line}\n{said}"


def test_plans_that_may_be_copied_limit_epsilon() -> None:
    help_pages = [cli.main.help or "", *(each.help or "" for each in cli.main.commands.values())]
    text = "\n".join([*(path.read_text() for path in PAGES.values()), *help_pages])
    drafts = re.findall(r"^ *bistochastic plan (?!--check).*$", text, flags=re.M)
    assert len(drafts) >= 10
    assert [line for line in drafts if "--epsilon" not in line] == []


@every_page
def test_builds_that_are_named_exist(name: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`make (\w+)", PAGES[name].read_text()):
        assert re.search(rf"^{target}:", makefile, flags=re.M), target
    for line in commands(PAGES[name].read_text()):
        if line.startswith("make "):
            assert re.search(rf"^{line.split()[1]}:", makefile, flags=re.M), line


def test_the_pages_at_the_top_are_among_those_whose_links_are_followed() -> None:
    assert {"README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"} <= set(LINKED)
    assert "docs/pictures/start.png" in LINK.findall(README.read_text())


@pytest.mark.parametrize("name", LINKED)
def test_links_lead_somewhere(name: str) -> None:
    assert broken_links(LINKED[name], prose(LINKED[name])) == []


@pytest.mark.parametrize("name", [*LINKED, "scripts/trace.sh"])
def test_pages_of_the_documentation_that_are_named_exist(name: str) -> None:
    for file in re.findall(r"\bdocs/[\w/]+\.(?:md|rst|ipynb)\b", prose(ROOT / name)):
        assert (ROOT / file).is_file(), file


# The changelog names files as they were called then.
@pytest.mark.parametrize("name", sorted({*LINKED} - {"CHANGELOG.md"}))
def test_files_that_are_named_exist(name: str) -> None:
    folders = "benches|clients|docs|examples|mutants|python|scripts|src|survey|tests|tools"
    for path in re.findall(rf"`((?:{folders})/[\w./-]+)`", prose(LINKED[name])):
        assert (ROOT / path).exists(), path


# A table of the map, headed by a folder: the names in the first column of its rows are below it.
TABLE = re.compile(r"^\| `(\w[\w/]*/)` \|.*\n\|---\|---\|\n((?:\|.*\n)+)", flags=re.M)
# What no map has to name.
UNNAMED = {"__init__.py", "__main__.py", "__pycache__", "_core.pyi", "py.typed", "mod.rs", "lib.rs"}
SMALL = "Other files at the top are small helpers"


def test_the_map_has_every_folder_and_every_file() -> None:
    tables = TABLE.findall((ROOT / "CONTRIBUTING.md").read_text())
    assert [home for home, _ in tables] == [
        "src/", "python/bistochastic/", "survey/bistochastic_survey/"
    ]  # fmt: skip
    for home, rows in tables:
        first = "".join(re.findall(r"^\| (.+?) \|", rows, flags=re.M))
        named = sorted(re.findall(r"`([^`]+)`", first))
        found = {each.name + "/" * each.is_dir() for each in (ROOT / home).iterdir()}
        kept = {x for x in found if x.strip("/") not in UNNAMED and not x.endswith((".so", ".pyd"))}
        if SMALL in rows:
            kept = {each for each in kept if each.endswith("/") or each in named}
        assert named == sorted(kept), home


@every_page
def test_names_of_the_packages_exist(name: str) -> None:
    for package, dotted in set(NAME.findall(PAGES[name].read_text())):
        found: object = {"bs": bs, "sv": sv}[package]
        for part in dotted.split("."):
            assert hasattr(found, part), f"{package}.{dotted}"
            found = getattr(found, part)


def test_the_readme_is_short_and_says_how_strong_its_example_is() -> None:
    text = README.read_text()
    assert len(text.splitlines()) <= 130
    assert "`make demo`" in text
    assert "`make test`" in text
    assert "epsilon=1)" in text
    assert "add up to epsilon 4" in text
    # The first call of `protect` is one that may be copied.
    assert "insecure" not in text


def test_the_readme_has_its_sections_in_order() -> None:
    assert re.findall(r"^## (.+)$", README.read_text(), flags=re.M) == [
        "The library", "Speed", "Install", "The survey toolkit", "Which family?",
        "Guarantees and limits", "Stability", "Read on",
    ]  # fmt: skip


@pytest.mark.parametrize("path", [README, DOCS / "index.md"], ids=["README", "index"])
def test_the_first_pages_have_the_numbers_of_their_example(path: Path) -> None:
    text = " ".join(path.read_text().split())
    plan = sv.Plan.for_frame({name: list(listed) for name, listed in TITANIC.items()}, epsilon=1)
    published = [1265, 936]
    reported = [name for name, n in zip(("no", "yes"), published, strict=True) for _ in range(n)]
    release = sv.Release(
        {"survived": reported}, sv.Plan.for_frame({"survived": ["no", "yes"]}, epsilon=1)
    )
    estimate = release.estimate("survived")
    true = [sv.titanic()["survived"].count(name) for name in ("no", "yes")]
    ends = estimate.interval() * estimate.records
    assert estimate.reports * estimate.records == pytest.approx(published)
    numbers = zip(("no", "yes"), true, published, estimate.counts, *ends.T, strict=True)
    for name, *four, low, high in numbers:
        row = [name, *(f"{each:,.0f}" for each in four), f"{low:,.0f} to {high:,.0f}"]
        assert f"| {' | '.join(row)} |" in text
    off = [abs(round(each[0]) - true[0]) for each in (published, estimate.counts)]
    assert re.search(rf"off by {off[0]}\b.*? by {off[1]}\b", text)
    # One column, all four of a record, and the shuffled file.
    assert f"at most {becomes(1)}" in text
    assert f"add up to epsilon {plan.epsilon:g}: by all of them it grows" in text
    assert f"at most {becomes(plan.epsilon)}" in text
    central = plan.protect(sv.titanic(), shuffle=True).certificate.central
    assert central is not None
    stated = f"at most {up(central.epsilon, 2)} (delta 1e{math.log10(central.delta):.0f})"
    assert f"the central epsilon is {stated}" in text
    assert f"of the {len(reported):,} shuffled records" in text


def test_the_site_has_at_most_forty_pages() -> None:
    files = (each for each in DOCS.rglob("*") if each.suffix in (".md", ".rst", ".ipynb"))
    pages = [each for each in files if each.parent != DOCS / "paper"]
    assert len(pages) <= 40, sorted(each.name for each in pages)


def test_the_sidebar_has_two_halves_and_a_short_rest() -> None:
    trees = re.findall(
        r"^:caption: (.+)\n\n((?:.+\n)+?):::$", (DOCS / "index.md").read_text(), flags=re.M
    )
    halves = {caption: pages.splitlines() for caption, pages in trees}
    assert list(halves) == ["The library", "The survey toolkit", "For both"]
    library, toolkit, both = halves.values()
    # Each begins with its ten minutes and ends with its names.
    assert (library[0], library[-1]) == ("library", "reference/api/library")
    assert (toolkit[0], toolkit[-1]) == ("tutorials/first_table", "reference/api/toolkit")
    assert len(both) <= 7 < len(library)
    listed = [page for page in (*library, *toolkit, *both) if "<" not in page]
    files = (each for each in DOCS.rglob("*") if each.suffix in (".md", ".rst", ".ipynb"))
    pages = {each.relative_to(DOCS).with_suffix("").as_posix() for each in files}
    assert sorted(listed) == sorted(pages - {"index", "paper/page"})


def test_the_page_of_references_has_every_entry_of_the_bibliography() -> None:
    text = (DOCS / "references.bib").read_text()
    entries = re.findall(r"^@\w+\{(\w+),\n((?:  .*\n)+)\}", text, flags=re.M)
    page = (DOCS / "reference/references.md").read_text()
    rows = [line for line in page.splitlines() if re.match(r"\| (?!source)", line)]
    assert len(dict(entries)) == len(entries) == len(rows) > 80
    for key, fields in entries:
        held = dict(re.findall(r"^  (\w+) = \{(.*)\},$", fields, flags=re.M))
        assert {"author", "title", "year"} <= set(held), key
        # Accents and formulas are spelled differently there.
        words = re.findall(r"[A-Za-z]{6,}", re.sub(r"\\\S+|\$.*?\$", " ", held["title"]))
        [row] = [row for row in rows if all(word in row for word in [*words, held["year"]])]
        assert held.get("doi", "") in row, key


def test_every_source_is_named_where_it_is_used() -> None:
    own = {"references.md", "page.md"}
    files = [path for path in PAGES.values() if path.name not in own]
    files += [*DOCS.rglob("*.ipynb")]
    files += [*ROOT.glob("python/**/*.py"), *ROOT.glob("survey/bistochastic_survey/**/*.py")]
    text = " ".join(" ".join(path.read_text(encoding="utf-8").split()) for path in files)
    bib = (DOCS / "references.bib").read_text()
    # These have no person as an author, and are known by their title.
    names = {"wp29": "Opinion 05/2014", "iso20889": "ISO/IEC 20889"}
    for accent, plain in (("\\'e", "é"), ("\\c{c}", "ç"), ("\\'o", "ó"), ('\\"a', "ä")):
        bib = bib.replace(accent, plain)
    entry = r"^@\w+\{(\w+),\n  author = \{(.+?)(?:,| and |\},$)(?:.*\n)+?  year = \{(\d+)"
    first = re.findall(entry, bib, flags=re.M)
    assert len(first) > 80
    # By the first author, and soon after by the year.
    named = {key: names.get(key, rf"{name}\b[^|]{{,120}}?\b{year}") for key, name, year in first}
    assert [key for key, words in named.items() if not re.search(rf"\b{words}\b", text)] == []


def test_every_howto_has_examples() -> None:
    for name, path in PAGES.items():
        if name.startswith("docs/howto/"):
            assert blocks(path.read_text()), name


def documented() -> list[tuple[str, Any]]:
    """What the pages of the reference name, by its place, such as ``bistochastic.plot.heatmap``."""
    found = []
    for path in sorted((DOCS / "reference/api").glob("*.rst")):
        for place in re.findall(r"^\.\. auto\w+:: (\S+)$", path.read_text(), flags=re.M):
            home, _, last = place.rpartition(".")
            found.append((place, getattr(import_module(home), last)))
    return found


def public(package: ModuleType) -> dict[str, Any]:
    """The public names of a house: of the package, and of its public modules."""
    homes = [package, *(getattr(package, name) for name in package.__all__)]
    homes += [import_module(f"bistochastic.{name}") for name in MODULES if package is bs]
    return {
        f"{home.__name__}.{name}": getattr(home, name)
        for home in homes
        if isinstance(home, ModuleType)
        for name in home.__all__
        if not isinstance(getattr(home, name), ModuleType)
    }


@pytest.mark.parametrize("package", [bs, sv])
def test_the_api_pages_have_every_public_name_once(package: ModuleType) -> None:
    described = documented()
    known = Counter(id(each) for _, each in described)
    assert [place for place, each in described if known[id(each)] > 1] == []
    assert [place for place, each in public(package).items() if id(each) not in known] == []


@pytest.mark.parametrize("package", [bs, sv])
def test_the_help_of_every_public_name_has_an_example(package: ModuleType) -> None:
    # Examples of docstrings are run by pytest, too.
    called = {place: each for place, each in public(package).items() if callable(each)}
    types = {place for place, each in called.items() if get_args(each) or is_typeddict(each)}
    shown = {place for place, each in called.items() if ">>> " in (each.__doc__ or "")}
    assert set(called) - types - shown == set()


def test_every_parameter_of_the_api_is_described() -> None:
    pytest.importorskip("sphinx")
    conf = runpy.run_path(str(DOCS / "conf.py"))
    used: set[tuple[str, str]] = set()
    missing: list[str] = []
    for place, found in documented():
        if is_typeddict(found):
            continue
        name = place.partition(".")[2]
        bases = found.__mro__ if isinstance(found, type) else ()
        own = [vars(base) for base in bases if "bistochastic" in base.__module__]
        methods = [each for names in own for each in names if each[0] != "_"]
        called = {f"{name}.{each}": getattr(found, each) for each in methods}
        kind = "class" if isinstance(found, type) else "function"
        called |= {name: found} if conf["has_parameters"](kind, name) else {}
        for function, held in called.items():
            # A type such as `Literal[...]` can be called, but never is.
            if not callable(held) or get_args(held) or ":param" in (held.__doc__ or ""):
                continue
            described = conf["describe_parameters"](function, held)
            missing += [f"{function}: {each}" for each, words in described.items() if not words]
            used |= {(function, each) for each in described}
    assert not missing, f"docs/parameters.toml: {missing}"
    tables = {table: words for table, words in conf["PARAMETERS"].items() if table != "common"}
    held = {(table, each) for table, words in tables.items() for each in words}
    # Nothing else has words of its own.
    assert sorted(held - used) == []


def test_the_page_of_commands_has_every_command() -> None:
    page = (DOCS / "reference/api/toolkit.rst").read_text()
    [listed] = re.findall(r"^ +:commands: (.*)$", page, flags=re.M)
    assert sorted(listed.split(",")) == sorted(cli.main.commands)


def test_the_tests_would_see_a_fault(tmp_path: Path) -> None:
    right, wrong = "```python\n>>> 1 + 1\n2\n```\n", "```python\n>>> 1 + 1\n3\n```\n"
    assert not run_examples("page", right)
    assert "page" in run_examples("page", wrong)
    assert "NameError" in run_examples("page", "```python\n>>> bs.uniform(2)\n```\n")
    assert commands("```sh\n# a remark\nbistochastic key\n```\n") == ["bistochastic key"]
    assert run_command("bistochastic --version", tmp_path).returncode == 0
    assert run_command("bistochastic inspect nothing.toml", tmp_path).returncode == 1
    assert run_inside("bistochastic key --help  # a remark")[0] == 0
    assert run_inside("bistochastic inspect nothing.toml")[0] == 1
    assert command_of("bistochastic key new x  # y > z") == "key"
    assert command_of("bistochastic regress x --formula 'a ~ b'") == "regress"
    assert command_of("bistochastic key new x > y") == command_of("printf x") == ""
    assert set(first_pages()) - {""} == set(cli.main.commands)
    page = tmp_path / "page.md"
    page.write_text("# A b\n")
    good, bad = "[x](page.md#a-b) [y](https://example.org)", "[x](page.md#c) [y](none.md)"
    assert broken_links(page, good) == []
    assert broken_links(page, bad) == ["page.md#c", "none.md"]
    ours = "https://github.com/bistochastic/bistochastic"
    assert broken_links(page, f"[x]({ours}) [y]({ours}/blob/main/README.md)") == [
        f"{ours}/blob/main/README.md"
    ]
    tutorial = tmp_path / "tutorial.ipynb"
    tutorial.write_text(
        '{"cells": [{"cell_type": "markdown", "source": ["# A b\\n", "[x](none)"]}]}'
    )
    assert broken_links(tutorial, prose(tutorial)) == ["none"]
    assert broken_links(page, "[x](tutorial.ipynb#a-b)") == []
