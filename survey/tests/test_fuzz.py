"""A minute of `make fuzz` from a fixed seed, and that nothing public is left out of it."""

from __future__ import annotations

import inspect
import sys

import pytest

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic import _core
from cases import LAWS
from fuzz import case, judge, operations, oracle, parameters, surface, terminal
from fuzz.watch import Watch, report

SEED, CASES = "1", 16_000


@pytest.mark.timeout(1500)
def test_nothing_crashes_hangs_or_breaks_a_law() -> None:
    watch = Watch(SEED, limit=40.0, last=CASES)
    watch.run(children=2)
    assert watch.count == CASES
    watch.again()
    assert not watch.found, "\n" + report(watch)


def test_every_parameter_can_be_drawn() -> None:
    for target in surface.targets():
        for name, parameter in target.signature.parameters.items():
            if name == "self" or parameter.kind in (
                inspect.Parameter.VAR_POSITIONAL,
                inspect.Parameter.VAR_KEYWORD,
            ):
                continue
            assert parameters.known(target.name, name), f"say in parameters.py what {name} may be"


def test_every_class_has_a_maker() -> None:
    assert set(surface.classes()) == set(surface.MAKERS) >= set(operations.OF)


def test_every_public_name_is_called() -> None:
    called = {(target.owner, target.name) for target in surface.targets()}
    made = {target.owner for target in surface.targets()}
    for owner, module in (("bs", bs), ("sv", sv)):
        for name in module.__all__:
            assert (owner, name) in called or name in made | {"errors", *surface.FOR_TOOLS}, name
    for name in dir(bs.Matrix):
        assert name.startswith("_") or ("Matrix", name) in called, name


def test_every_option_of_the_command_line_can_be_drawn() -> None:
    for words, command in terminal.commands():
        for option in command.params:
            flag = getattr(option, "is_flag", False)
            assert flag or option.name in terminal.DRAW, f"say what {words} {option.name} may be"


def test_every_family_has_its_definition() -> None:
    source = inspect.getsource(oracle.rows)
    for family in _core.families():
        assert family in LAWS or f'"{family}"' in source, f"define {family} in cases.LAWS"


def test_a_case_is_a_function_of_seed_and_number() -> None:
    first = [case.make("a", n).source for n in range(200)]
    assert first == [case.make("a", n).source for n in range(200)]
    assert first != [case.make("b", n).source for n in range(200)]
    assert len(set(first)) > 150


def test_the_judge_tells_our_sentences_from_other_words() -> None:
    cases = (case.make("a", n) for n in range(1000))
    # Operations of Python have errors of Python.
    one = next(each for each in cases if each.target.kind == "function")
    assert judge.of_exception(ValueError("`size` must be from 1 to 3; got 4"), one) is None
    assert judge.of_exception(MemoryError(), one) is None
    for wrong in (
        KeyError("x"),
        ValueError("cannot convert float NaN to integer"),
        ValueError("`size` must be from 1 to 3; got 4."),
        OverflowError("`size` must be small; got more"),
        ValueError("`codes` must be small; got 918273645"),
        AttributeError("'Series' object has no attribute 'ndim'"),
    ):
        assert judge.of_exception(wrong, one) is not None, wrong


# A child that hangs in case 1, is killed in case 2 and tells of a fault in case 3.
CHILD = """
import json, os, sys, time
pipe, first = int(sys.argv[1]), int(sys.argv[2])
def tell(**what): os.write(pipe, json.dumps(what).encode() + b"\\n")
for n in range(first, 5):
    tell(case=n)
    if n == 1: time.sleep(60)
    if n == 2: os.abort()
    if n == 3: tell(wrong="ValueError: no sentence")
tell(done=True)
"""


class Scripted(Watch):
    def command(self, pipe: int, home: str, first: int, step: int, last: int) -> list[str]:
        return [sys.executable, "-c", CHILD, str(pipe), str(first)]


def test_crashes_hangs_and_faults_are_seen_and_the_rest_is_run() -> None:
    watch = Scripted("a", limit=1.0, last=5)
    watch.run(children=1)
    assert watch.count == 5
    seen = {failure.number: failure.what for failure in watch.found.values()}
    assert sorted(seen) == [1, 2, 3]
    assert "hang" in seen[1]
    assert "SIGABRT" in seen[2]
    assert "--case 3" in report(watch)
