"""One name for one thing, in Python, in profiles and in the shell; what is returned is public."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from pathlib import Path
from typing import Any

import click
import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic import _core, families
from bistochastic_survey import cli
from returned import CLASSES

HOUSES = (bs, sv)
PACKAGES = [Path(str(house.__file__)).parent for house in HOUSES]
STUBS = PACKAGES[0] / "_core.pyi"
# What a name is for where it is on the command line alone.
SHELL = {
    "top": "how many terms are shown",
    "out": "the file that terms, a plan or a page are written to",
    "plan": "the file that the plan is read from",
    "key_file": "the file that the key is read from",
    "certificate": "the file that the certificate is written to",
    "data": "the file that the data of the demo are written to",
    "by": "the columns of a table",
    "id_column": "the column of ids",
    "max_rows_per_id": "the rows that an id may have",
    "format": "the form of a table",
    "separator": "what stands between the columns of a CSV file",
    "encoding": "the encoding of a CSV file",
    "decimal": "the decimal mark of a CSV file",
    "markdown": "the form of the page",
    "as_json": "print JSON instead of tables",
    "fail_above": "the exit code of an audit",
    "check": "check a plan instead of writing one",
    "version": "which version this is",
    "help": "what there is",
}


def options(command: click.Command) -> dict[str, Any]:
    """The options of a command, each with its default."""
    return {str(p.name): p.default for p in command.params if isinstance(p, click.Option)}


def parameters(function: Any) -> dict[str, Any]:
    """The parameters of a function, each with its default."""
    return {p.name: p.default for p in inspect.signature(function).parameters.values()}


def every_family() -> dict[str, dict[str, Any]]:
    made = {name: getattr(families, name, None) for name in _core.families()}
    return {name: parameters(make) for name, make in made.items() if make is not None}


def test_options_are_called_as_in_python() -> None:
    of_families = {name for given in every_family().values() for name in given}
    stand_for = {
        "inspect": of_families
        | set(parameters(bs.Matrix.profile))
        | set(parameters(sv.Plan.preview)),
        "demo": of_families,
        "plan": set(parameters(sv.Plan.for_frame)) | set(parameters(sv.Plan.require)),
        "protect": set(parameters(sv.Plan.protect)) | set(parameters(sv.Wave)),
        "estimate": set(parameters(sv.Release.estimate))
        | set(parameters(sv.Design))
        | {"mean", "ratio", "count"},
        "audit": set(parameters(sv.audit)),
        "report": set(parameters(sv.Plan.report)),
        "regress": set(parameters(sv.Release.regress)) | set(parameters(sv.Design)),
        "verify": set(parameters(sv.verify)),
    }
    commands = {n: c for n, c in cli.main.commands.items() if not isinstance(c, click.Group)}
    assert set(stand_for) == set(commands)
    for name, command in commands.items():
        assert set(options(command)) <= stand_for[name] | set(SHELL), name
        for param in command.params:
            if isinstance(param, click.Option) and param.name not in SHELL:
                # `--matrix` is given once for each of the `matrices`; `--keep` names columns.
                spelled = {"matrices": "--matrix", "tolerance": "--within"}
                typed = spelled.get(str(param.name))
                if (name, param.name) == ("inspect", "keep"):
                    typed = "--truthfulness"
                assert param.opts == [typed or f"--{param.name}".replace("_", "-")]


def test_measures_are_called_as_the_attributes_of_a_matrix() -> None:
    m = bs.randomized_response(4, beta=0.5)
    profile = m.profile()
    shared = {entry.name for entry in profile} & set(dir(m))
    assert {"entropy_rate", "beta", "epsilon", "truthfulness", "is_ergodic", "condition"} <= shared
    for name in shared:
        assert getattr(profile, name) == getattr(m, name), name
    # No measure of a matrix goes by another name in its profile.
    assert not {"bits", "ergodic"} & {entry.name for entry in profile}


def written_classes() -> set[str]:
    """The classes of both packages that are not private."""
    found = set()
    for path in [STUBS, *(path for package in PACKAGES for path in package.rglob("*.py"))]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.add(node.name)
    return found


@functools.cache
def core() -> ast.Module:
    """The signatures of the core."""
    return ast.parse(STUBS.read_text())


def annotations_of(name: str) -> set[str]:
    """The classes that a public name returns or holds, by its annotations."""
    member = next((getattr(h, name) for h in HOUSES if name in h.__all__), None) or CLASSES[name]
    stubs = core()
    texts = []
    if inspect.isclass(member):
        for cls in member.__mro__[:-1]:
            texts += [str(given) for given in vars(cls).get("__annotations__", {}).values()]
            for called, one in vars(cls).items():
                if called.startswith("_"):
                    continue
                reached = one.fget if isinstance(one, property) else getattr(one, "func", one)
                texts.append(str(getattr(reached, "__annotations__", {}).get("return", "")))
            for node in stubs.body:
                if isinstance(node, ast.ClassDef) and node.name == cls.__name__:
                    functions = [f for f in node.body if isinstance(f, ast.FunctionDef)]
                    texts += [ast.unparse(f.returns) for f in functions if f.returns]
    else:
        texts.append(str(getattr(member, "__annotations__", {}).get("return", "")))
    # `pa.Table` is of another package, whose class ours may be called like.
    return {
        word for text in texts for word in re.findall(r"(?<!\bpa\.)(?<!\blib\.)\b[A-Z]\w+", text)
    }


def test_every_class_that_is_returned_is_documented() -> None:
    classes = written_classes()
    named = {*bs.__all__, *sv.__all__, *CLASSES}
    returned = {word for name in named for word in annotations_of(name)} & classes
    assert {"Matrix", "Profile", "Entry", "Estimate", "Decomposition", "Comparison"} <= returned
    assert {"Tradeoff", "Key"} <= returned
    # Users have categories as tuples; a list of them with their codes is of no use outside.
    # The same holds for the classes of numbers, whose ends are `breaks`.
    exported = {*CLASSES, "Labels", "Bins"}
    assert returned <= exported, sorted(returned - exported)


def test_every_public_name_is_there_and_is_found_by_dir() -> None:
    for house in HOUSES:
        assert all(getattr(house, name) is not None for name in house.__all__)
        assert set(house.__all__) <= set(dir(house))
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            _ = house.nothing
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", bs.__version__)
