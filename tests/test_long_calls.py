"""Long calls of the library: a function is told, a terminal has one line, and Ctrl-C stops them."""

from __future__ import annotations

import inspect
import io
import os
import select
import signal
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bistochastic as bs
from bistochastic import progress
from bistochastic.progress import watched

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


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Screen:
    found = Screen()
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setenv("TERM", "xterm")
    return found


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
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = terminal(monkeypatch)
    heard: list[float] = []
    CALLS[name](heard.append)
    assert heard
    if name != "Matrix.estimate":
        assert heard == sorted(heard)
        assert heard[-1] == 1.0
        assert all(0 <= share <= 1 for share in heard)
    assert not screen.getvalue()


@every_call
def test_the_result_is_the_same_with_a_line_and_without(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = terminal(monkeypatch)
    results = [CALLS[name](progress) for progress in (None, True, False, lambda _share: None)]
    assert len({repr(result) for result in results}) == 1
    written = screen.getvalue()
    # What was written is written over with blanks.
    assert written
    assert not written.split("\r")[-1]


@every_call
def test_anything_else_is_refused(name: str) -> None:
    for wrong in (3, "yes", 0.5, [True]):
        with pytest.raises(TypeError, match="`progress` must be a function, True, False or None"):
            CALLS[name](wrong)


def test_a_function_may_stop_the_work() -> None:
    def stop(_share: float) -> None:
        raise RuntimeError("enough")

    for name, call in CALLS.items():
        with pytest.raises(RuntimeError, match="enough"):
            call(stop)
        assert not progress._INSIDE.get(), name


def test_the_inverse_is_silent_and_a_function_has_no_gap_to_hear() -> None:
    for said in (None, True, False):
        M.estimate(counts=[5, 3, 1], progress=said)
    with pytest.raises(ValueError, match="`progress` must go with the method mle or shrunk"):
        M.estimate(counts=[5, 3, 1], progress=lambda _gap: None)


def test_nothing_is_shown_before_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    assert progress.DELAY == 2.0
    for delay in (3600.0, 0.0):
        assert not screen.getvalue()
        monkeypatch.setattr(progress, "DELAY", delay)
        with watched("working") as tell:
            assert tell is not None
            tell(0.5)
    assert "\rworking 50%, 0:00\r" in screen.getvalue()


def test_work_inside_of_work_has_no_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    for outer in (None, True, False, lambda _share: None):
        with watched("outer", outer), watched("inner", True) as tell:
            assert tell is None
    assert not screen.getvalue()


def test_a_terminal_that_goes_away_ends_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with watched("working", True) as tell:
        assert tell is not None
        screen.close()
        tell(0.5)


def test_nothing_is_written_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal(monkeypatch)

    def silent(progress: bool | None) -> None:
        with watched("working", progress) as tell:
            assert tell is None

    thread = threading.Thread(target=silent, args=(None,))
    thread.start()
    thread.join()
    monkeypatch.setenv("TERM", "dumb")
    silent(True)
    for stream in (io.StringIO(), None, object()):
        monkeypatch.setattr(sys, "stderr", stream)
        silent(True)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    notebook = io.StringIO()
    monkeypatch.setattr(sys, "stderr", notebook)
    with watched("working", True) as tell:
        assert tell is not None
        tell(0.5)
    assert "working 50%" in notebook.getvalue()


def in_terminal(code: str, *, interrupt: bytes | None = None, **env: str) -> tuple[str, str, int]:
    """What a process writes to a terminal as its stderr, what to a pipe, and how it ends."""
    pty = pytest.importorskip("pty", reason="terminals are those of POSIX")
    control, screen = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=screen,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", **env},
    )
    os.close(screen)
    written = b""
    while True:
        ready, _, _ = select.select([control], [], [], 120)
        assert ready, "nothing is written any more"
        try:
            more = os.read(control, 65536)
        except OSError:
            break
        if not more:
            break
        written += more
        if interrupt is not None and interrupt in written:
            process.send_signal(signal.SIGINT)
            interrupt = None
    os.close(control)
    said, _ = process.communicate()
    return written.decode(), said.decode(), process.returncode


def test_long_calls_of_the_core_are_shown_and_stopped() -> None:
    """A real one: a decomposition that would take minutes."""
    code = (
        "import numpy as np, bistochastic as bs\n"
        "from bistochastic import progress\n"
        "progress.DELAY = 0.05\n"
        "counts = np.random.default_rng(1).integers(1, 10**6, (150, 150)).astype(float)\n"
        "try:\n"
        "    bs.balance(counts).decompose(restarts=10_000)\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped')\n"
    )
    written, said, status = in_terminal(code, interrupt=b"decomposing")
    assert (said, status) == ("stopped\n", 0)
    assert "decomposing" in written
