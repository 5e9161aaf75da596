"""One case after the other: build, call, judge, laws; a pipe is told before each."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import shutil
import signal
import sys
import types
import warnings
from pathlib import Path
from random import Random
from typing import Any

from fuzz import case as cases
from fuzz import chain, containers, hostile, judge, laws, operations, prelude, surface
from fuzz.case import Case
from fuzz.prelude import BrokenLawError, hold

# A few GiB: what asks for more is to be refused, or to raise MemoryError.
ROOM = 4 << 30
FILE = 64 << 20


class Runner:
    """Runs cases, each in a folder of its own, and tells a pipe."""

    def __init__(self, seed: str, pipe: int, home: Path) -> None:
        self.seed, self.pipe, self.folder = seed, pipe, home
        self.names: dict[str, Any] = {
            **prelude.names(self.folder),
            "CLASSES": surface.classes(),
            "hostile": hostile,
            "containers": containers.Containers(),
            "operations": types.SimpleNamespace(**vars(operations), **operations.OPERATIONS),
            "pd": containers.pd,
            "pl": containers.pl,
            "pa": containers.pa,
        }
        self.known = {id(cls) for cls in surface.classes().values()}

    def tell(self, **what: Any) -> None:
        os.write(self.pipe, json.dumps(what).encode() + b"\n")

    def clean(self) -> None:
        for inner in self.folder.iterdir():
            shutil.rmtree(inner) if inner.is_dir() else inner.unlink()

    def value(self, source: str) -> Any:
        return eval(source, dict(self.names))

    def run(self, number: int) -> str | None:
        """What is wrong with the case of that number, or nothing."""
        self.tell(case=number)
        case = cases.make(self.seed, number)
        self.clean()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            wrong = self._run(case, Random(f"laws {self.seed}/{number}"))
        return wrong or judge.of_warnings(warned, case)

    def _run(self, case: Case, rng: Random) -> str | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                positional, named = self._arguments(case.arguments)
        except containers.UnbuiltError:
            return None
        except Exception as error:
            # Arguments hold matrices and keys, too.
            wrong = judge.of_exception(error, case)
            return wrong and f"argument: {wrong}"
        try:
            it = self.value(case.receiver) if case.receiver else None
            result = self._call(case, it, positional, named)
        except SystemExit:
            raise
        except BaseException as error:
            return judge.of_exception(error, case)
        if case.missing:
            return "a missing value was taken for a number"
        return self._laws(case, it, result, rng)

    def _arguments(self, sources: Any) -> tuple[list[Any], dict[str, Any]]:
        positional = [self.value(source) for name, source in sources if not name]
        return positional, {name: self.value(source) for name, source in sources if name}

    def _call(self, case: Case, it: Any, positional: list[Any], named: dict[str, Any]) -> Any:
        if case.target.kind == "property":
            return getattr(it, case.target.name)
        if case.target.kind == "terminal":
            return self._terminal(positional)
        if case.target.kind == "chain":
            return chain.run(self.folder, *positional)
        own = case.call.startswith("it.")
        call = getattr(it, case.target.name) if own else self.value(case.call)
        if case.target.kind == "operation":
            positional = [it, *positional]
        return call(*positional, **named)

    def _terminal(self, words: list[str]) -> Any:
        from click.testing import CliRunner

        from bistochastic_survey.cli import main

        out = CliRunner().invoke(main, words)
        if out.exception is not None and not isinstance(out.exception, SystemExit):
            raise out.exception
        hold(out.exit_code in (0, 1, 2), f"exit code {out.exit_code}")
        told = [line[7:] for line in out.stderr.splitlines() if line.startswith("Error: ")]
        one = len(told) == 1 and judge.SENTENCE.fullmatch(told[0])
        hold(out.exit_code != 1 or one, f"not one sentence: {out.stderr[-300:]!r}")
        return None

    def _laws(self, case: Case, it: Any, result: Any, rng: Random) -> str | None:
        wrong = self._unknown(result)
        if wrong:
            return wrong
        given = self._bound(case) if case.valid else {}
        run = laws.Run(case.target.name, case.target.owner, it, given, result, rng, case.is_deep)
        for name, law in laws.of(run, valid=case.valid):
            self.tell(law=name)
            try:
                law()
            except BrokenLawError as broken:
                return f"law {name}: {broken}"
            except MemoryError:
                continue
            except BaseException as error:
                if case.is_deep and judge.of_exception(error, case) is None:
                    # Deep composites may be refused, in a sentence.
                    continue
                return f"law {name}: {type(error).__name__}: {error}"
        if case.plain and self._repeats(case):
            self.tell(law="containers")
            try:
                other = self._call(case, it, *self._arguments(case.plain))
            except Exception as error:
                typed = ("must have a dtype that holds", "`out` must be an array like the codes")
                if any(words in str(error) for words in typed):
                    # The answer to an array has its dtype; that to another column need not.
                    return None
                return f"law containers: taken in a container, as a list not: {error}"
            if not laws.alike(result, other):
                return "law containers: the container changes the result"
        return None

    def _bound(self, case: Case) -> dict[str, Any]:
        """Arguments by name, made afresh: what was given may be used up."""
        if case.target.kind not in ("method", "function"):
            return {}
        positional, named = self._arguments(case.arguments)
        names = [n for n in case.target.signature.parameters if n != "self"]
        return {**dict(zip(names, positional, strict=False)), **named}

    def _repeats(self, case: Case) -> bool:
        """Whether the same call gives the same: without a key, what is drawn does not."""
        draws = case.target.name in (
            "randomize", "respond", "sample_permutation", "sample", "permute", "average", "protect"
        )  # fmt: skip
        return not draws or dict(case.arguments).get("key", "None") != "None"

    def _unknown(self, result: Any) -> str | None:
        """A class of the package that nothing here calls the methods of."""
        for one in (result, *(result[:1] if isinstance(result, list | tuple) else ())):
            cls = type(one)
            ours = cls.__module__.split(".")[0] in ("bistochastic", "bistochastic_survey")
            if ours and id(cls) not in self.known and not isinstance(one, type | types.ModuleType):
                return f"not fuzzed: {cls.__name__}; say in surface.py how one is made"
        return None


def main(seed: str, pipe: int, home: Path, first: int, step: int, last: int) -> None:
    """Run cases ``first``, ``first + step``, ... below ``last``; what is wrong goes to the pipe."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.pop("BISTOCHASTIC_THREADS", None)
    sys.setrecursionlimit(1000)
    # Nor are disks filled: what is written by a name alone stays in the folder, too.
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    os.chdir(home)
    runner = Runner(seed, pipe, home)
    for number in range(first, last, step):
        wrong = runner.run(number)
        if wrong is not None:
            runner.tell(wrong=wrong[:2000])
    runner.tell(done=True)
