"""Long calls of the library: a function is told, nothing is shown, and Ctrl-C stops them."""

from __future__ import annotations

import inspect
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bistochastic as bs

M = bs.dense(np.array([[5, 2, 1], [1, 4, 3], [2, 2, 4]]))
# Every call that takes `progress`, on something small.
CALLS: dict[str, Callable[[Any], Any]] = {
    "Matrix.decompose": lambda p: M.decompose(progress=p),
    "decompose_all": lambda p: bs.decompose_all([M, M], progress=p),
    "Matrix.profile": lambda p: M.profile(full=True, progress=p),
    "compare": lambda p: bs.compare(M, bs.uniform(3), progress=p),
    "tradeoff": lambda p: bs.tradeoff(4, betas=[0.3, 0.5], progress=p),
    "Matrix.estimate": lambda p: M.estimate(counts=[5, 3, 1], method="mle", progress=p),
}
every_call = pytest.mark.parametrize("name", CALLS)


def test_the_calls_are_all_that_take_progress() -> None:
    taken = set()
    for owner in (bs, bs.masking, bs.theory):
        for name in owner.__all__:
            thing = getattr(owner, name)
            if thing is bs.Matrix:
                members = [m for m in dir(thing) if not m.startswith("_")]
                calls = {f"Matrix.{m}": getattr(thing, m) for m in members}
            else:
                calls = {} if isinstance(thing, type) else {name: thing}
            taken |= {
                name
                for name, call in calls.items()
                if callable(call) and "progress" in inspect.signature(call).parameters
            }
    assert taken == set(CALLS)


@every_call
def test_a_function_is_told_and_nothing_is_shown(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    heard: list[float] = []
    CALLS[name](heard.append)
    assert heard
    if name != "Matrix.estimate":
        assert heard == sorted(heard)
        assert heard[-1] == 1.0
        assert all(0 <= share <= 1 for share in heard)
    assert capfd.readouterr() == ("", "")


@every_call
def test_the_result_is_the_same_with_a_function_and_without(name: str) -> None:
    results = [CALLS[name](progress) for progress in (None, lambda _share: None)]
    assert repr(results[0]) == repr(results[1])


@every_call
def test_anything_else_is_refused(name: str) -> None:
    for wrong in (3, "yes", 0.5, [True], True, False):
        with pytest.raises(TypeError, match="`progress` must be a function or None; got "):
            CALLS[name](wrong)


def test_a_function_may_stop_the_work() -> None:
    def stop(_share: float) -> None:
        raise RuntimeError("enough")

    for call in CALLS.values():
        with pytest.raises(RuntimeError, match="enough"):
            call(stop)


def test_the_inverse_has_no_gap_to_tell() -> None:
    with pytest.raises(ValueError, match="`progress` must go with the method mle or shrunk"):
        M.estimate(counts=[5, 3, 1], progress=lambda _gap: None)


def test_ctrl_c_stops_long_calls_of_the_core() -> None:
    """A real one: a decomposition that would take minutes."""
    code = (
        "import numpy as np, bistochastic as bs\n"
        "counts = np.random.default_rng(1).integers(1, 10**6, (150, 150)).astype(float)\n"
        "try:\n"
        "    bs.balance(counts).decompose(\n"
        "        restarts=10_000, progress=lambda share: print('working', flush=True)\n"
        "    )\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped')\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "working\n"
        run.send_signal(signal.SIGINT)
        *_, last = run.stdout
    assert (last, run.returncode) == ("stopped\n", 0)
