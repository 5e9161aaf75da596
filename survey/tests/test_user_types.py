"""Type checkers see what a user gets in ``typed_user.py``: mypy, and pyright if it is there."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args, get_overloads

import pytest

import bistochastic as bs
import bistochastic_survey as sv
import typed_user
from bistochastic import _core, families
from returned import CLASSES

ROOT = Path(__file__).parents[2]
USER = Path(typed_user.__file__)
# A line for each mistake that a checker has to see.
WRONG = """
import bistochastic as bs
import bistochastic_survey as sv
import polars as pl
plan = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomised_response", beta=0.6)])
release: sv.Release[int] = plan.protect(pl.DataFrame({"sex": ["F"]}))
release.count({"sex": "F"}, design=sv.Design(weight="w"))
plan.protect(release.data, relase="a")
plan.on(pl.LazyFrame(), id_column="person")
release.estimate("sex").to_frame("pandsa")
sv.Categorical("sex", "FM", "randomized_response", beta=0.6)
plan.protect([1, 2])
plan.collector("sex").estimate(methd="mle")
bs.randomized_response(2, epsilonn=1)
bs.randomized_response(2, epsilon=1, beta=0.5)
bs.randomized_response(2)
bs.k_anonymous(4, k=2, beta=0.5)
bs.geometric(4)
bs.tridiagonal(0.25)
bs.gibbs([[0, 1], [1, 0]], temprature=1.0)
bs.difference_set(30)
bs.uniform(2).randomize([0, 1], key=bs.Key.generate())
bs.uniform(2).estimate([0, 1], categories="FM")
bs.uniform(2).permute([1.0, 2.0]).nothing
bs.build("uniform", siz=2)
sv.Categorical("sex", ["F", "M"], "randomized_response", epsilonn=1)
sv.Joint(("a", "b"), [[1, 2], [3, 4]], "randomized_response", imposible=[(1, 3)])
sv.Binned("age", [0, 18, 99], "geometric", outptu="number")
sv.Numeric("income", "k_anonymous", k=5, whithin="region")
sv.Numeric("income", "k_anonymous", k="5")
"""


def checked(tool: list[str], *paths: Path) -> str:
    houses = os.pathsep.join(str(ROOT / house) for house in ("python", "survey"))
    found = subprocess.run(
        [*tool, *map(str, paths)], cwd=ROOT, capture_output=True, text=True, check=False,
        timeout=280, env={**os.environ, "MYPYPATH": houses},
    )  # fmt: skip
    return found.stdout + found.stderr


def test_what_a_user_writes_runs() -> None:
    typed_user.main()


@pytest.mark.parametrize("name", ["mypy", "pyright"])
def test_a_checker_sees_the_mistakes_and_nothing_else(name: str, tmp_path: Path) -> None:
    """The extra ``test`` has basedpyright, whose wheel brings its own Node."""
    tool = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    if name == "pyright":
        beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        found = shutil.which("basedpyright", path=beside) or shutil.which("pyright", path=beside)
        if found is None:
            pytest.skip("pyright is not installed")
        tool = [found, "--level", "error", "--pythonpath", sys.executable]
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG)
    said = checked(tool, USER, wrong)
    errors = [line for line in said.splitlines() if "error: " in line]
    assert all("wrong.py:" in line for line in errors), said
    assert {int(line.split(":")[1]) for line in errors} == set(range(5, WRONG.count("\n") + 1)), (
        said
    )


def signatures() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function, method and property of both packages, with its overloads."""
    for package in (bs, sv):
        for name in package.__all__:
            if inspect.isfunction(found := getattr(package, name)):
                yield name, found
    for owner in CLASSES.values():
        for name, found in vars(owner).items():
            if name.startswith("_") and name not in ("__call__", "__getitem__", "__iter__"):
                continue
            if isinstance(found, classmethod | staticmethod):
                found = found.__func__
            elif isinstance(found, property):
                found = found.fget
            elif hasattr(found, "func"):
                found = found.func  # a cached property
            if inspect.isfunction(found):
                yield f"{owner.__name__}.{name}", found


def test_no_public_signature_returns_plain_any() -> None:
    seen, plain = 0, []
    for name, found in signatures():
        each = get_overloads(found) or [found]
        seen += len(each)
        plain += [name for one in each if one.__annotations__.get("return") in ("Any", Any)]
        # The classes of the core have a stub, which has no signature without a type.
        assert all("return" in one.__annotations__ for one in each), name
    assert seen > 200
    assert plain == []


def test_the_families_are_those_of_the_core() -> None:
    assert sorted(get_args(families.Family)) == sorted(_core.families())
