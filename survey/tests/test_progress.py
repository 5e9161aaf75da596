"""Bars of long calls: in a terminal, in a notebook, and nowhere else; and no half files."""

from __future__ import annotations

import io
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey import cli, progress
from bistochastic_survey.cli.group import Interrupted
from bistochastic_survey.progress import watched

pty = pytest.importorskip("pty", reason="terminals are those of POSIX")

M = bs.dense(np.array([[5, 2, 1], [1, 4, 3], [2, 2, 4]]))
PLAN = sv.Plan([sv.Categorical("sex", ["F", "M"], "randomized_response", beta=0.6)])
# Its likeliest shares have no closed form, so that there is a search.
SEARCHED = sv.Plan([sv.Categorical("x", [0, 1, 2], matrix=M)])
TABLE = {"sex": ["F", "M", "M"] * 100}
RELEASE = PLAN.protect(TABLE)
# Every call that takes `progress`, on something small.
CALLS: dict[str, Callable[[Any], Any]] = {
    "Plan.protect": lambda p: PLAN.protect(TABLE, progress=p),
    "audit": lambda p: sv.audit(TABLE, RELEASE, progress=p),
    "Release.estimate": lambda p: sv.Release({"x": [0] * 5 + [1] * 3 + [2]}, SEARCHED).estimate(
        "x", method="mle", progress=p
    ),
}
# The library tells the gap of a likelihood rather than a share, on a line of its own.
GAPS = ("Release.estimate",)
every_call = pytest.mark.parametrize("name", CALLS)


class Place:
    """A place for a bar that remembers what was drawn there."""

    def __init__(self) -> None:
        self.asked = 0
        self.opened = 0
        self.drawn: list[str] = []
        self.seen = threading.Event()

    def __call__(self) -> Callable[[], Any]:
        self.asked += 1
        return self._open

    @contextmanager
    def _open(self) -> Iterator[Callable[[Any], None]]:
        self.opened += 1

        def draw(state: Any) -> None:
            self.drawn.append(state.line)
            self.seen.set()

        yield draw
        self.drawn.append("gone")


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Place:
    found = Place()
    monkeypatch.setattr(progress, "_place", found)
    return found


@every_call
def test_a_function_is_told_and_nothing_is_shown(name: str, place: Place) -> None:
    heard: list[float] = []
    CALLS[name](heard.append)
    assert heard
    if name not in GAPS:
        assert heard == sorted(heard)
        assert heard[-1] == 1.0
        assert all(0 <= share <= 1 for share in heard)
    assert not place.asked


@every_call
def test_the_result_is_the_same_with_a_bar_and_without(name: str, place: Place) -> None:
    results = [CALLS[name](progress) for progress in (None, True, False, lambda _share: None)]
    # Asked for by None and True.
    assert place.asked == (0 if name in GAPS else 2)
    assert len({repr(result) for result in results}) == 1


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


def test_nothing_is_shown_before_two_seconds(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    assert progress.DELAY == 2.0
    monkeypatch.setattr(progress, "DELAY", 3600.0)
    with watched("working") as tell:
        assert tell is not None
        tell(0.5)
    assert not place.opened
    monkeypatch.setattr(progress, "DELAY", 0.0)
    with watched("working") as tell:
        assert tell is not None
        tell(0.5)
        assert place.seen.wait(60)
    assert place.drawn[0].startswith("working")
    assert place.drawn[-1] == "gone"


def test_work_inside_of_work_has_no_bar_of_its_own(place: Place) -> None:
    for outer in (None, True, False, lambda _share: None):
        before = place.asked
        with watched("outer", outer), watched("inner", True) as tell:
            assert tell is None
        assert place.asked - before == (outer is None or outer is True)


def test_a_terminal_that_goes_away_ends_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = threading.Event()

    @contextmanager
    def broken() -> Iterator[Any]:
        gone.set()
        raise OSError("gone")
        yield

    monkeypatch.setattr(progress, "_place", lambda: broken)
    with watched("working", True):
        assert gone.wait(60)
    with watched("working", True) as tell:
        assert tell is not None


def test_nothing_is_started_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dumb(io.StringIO):
        def isatty(self) -> bool:
            return True

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a thread was started")

    monkeypatch.setattr(threading, "Thread", refuse)
    for stream in (io.StringIO(), None, object()):
        monkeypatch.setattr(sys, "stderr", stream)
        with watched("working", True) as tell:
            assert tell is None
    monkeypatch.setattr(sys, "stderr", Dumb())
    monkeypatch.setenv("TERM", "dumb")
    with watched("working", True) as tell:
        assert tell is None


# A notebook without Jupyter: what a kernel has that matters here.


class Shell:
    def __init__(self, kernel: object) -> None:
        self.kernel = kernel


def notebook(monkeypatch: pytest.MonkeyPatch, kernel: object) -> list[str]:
    shown: list[str] = []
    package: Any = types.ModuleType("IPython")
    display: Any = types.ModuleType("IPython.display")
    package.get_ipython = lambda: Shell(kernel)

    class Handle:
        def update(self, html: str) -> None:
            shown.append(html)

    def show(html: str, *, display_id: bool) -> Handle:
        assert display_id
        shown.append(html)
        return Handle()

    display.HTML = str
    display.display = show
    package.display = display
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_a_notebook_has_a_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = notebook(monkeypatch, object())
    with watched("<b>working", True) as tell:
        assert tell is not None
        tell(0.5)
        end = time.monotonic() + 60
        while not any("50%" in html for html in shown) and time.monotonic() < end:
            time.sleep(0.01)
    bar = next(html for html in shown if "50%" in html)
    assert re.match(r'<progress max="1" value="0.500"></progress> &lt;b&gt;working 50%', bar)
    assert shown[0] == shown[-1] == ""


# Real terminals, pipes and signals.

WORK = """
import sys, time
{before}
from bistochastic_survey import progress
from bistochastic_survey.progress import steps, watched
progress.DELAY = 0.05
print("before")
with watched("decomposing") as tell:
    if tell is not None:
        tell(0.25)
    time.sleep({seconds})
print("after")
"""


def in_terminal(code: str, *, interrupt: bytes | None = None, **env: str) -> tuple[str, str, int]:
    """What a process writes to a terminal as its stderr, what to a pipe, and how it ends."""
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


def test_a_terminal_has_a_bar_that_goes_away() -> None:
    written, said, code = in_terminal(WORK.format(before="", seconds=1.0))
    assert code == 0
    assert said == "before\nafter\n"
    assert "decomposing 25%" in written
    # The last that is written clears the line, and shows the cursor where it was hidden.
    assert written.rindex("\x1b[2K") > written.rindex("decomposing")
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")


# Whoever presses Ctrl-C finds the old file, or none, and nothing else.


def interrupted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    """Write something by that function, and then let it be as if Ctrl-C was pressed."""

    def stop(file: Any, *_: Any, **__: Any) -> None:
        if hasattr(file, "write"):
            file.write(b"half" if "b" in getattr(file, "mode", "") else "half")
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, stop)


WRITERS: dict[str, Callable[[Path], object]] = {
    "to_npz": lambda path: M.decompose().to_npz(path),
    "plan --out": lambda path: run("plan", "--codebook", path.parent / "book.csv", "--out", path),
    "demo --data": lambda path: run("demo", "--data", path),
    "report": lambda path: run("report", path.parent / "plan.json", "--out", path),
    "protect": lambda path: run(
        "protect", path.parent / "in.csv", path, "--plan", path.parent / "plan.json"
    ),
}
ENDINGS = {"to_npz": ".npz", "plan --out": ".toml", "report": ".html"}


def run(*words: Any) -> None:
    done = CliRunner().invoke(cli.main, [str(word) for word in words], standalone_mode=False)
    if isinstance(done.exception, Interrupted):
        raise KeyboardInterrupt
    if done.exception is not None:
        raise done.exception


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("name", WRITERS)
def test_ctrl_c_leaves_no_half_file(
    name: str, old: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import csv

    from bistochastic import birkhoff

    (tmp_path / "book.csv").write_text("column,category\nsex,F\nsex,M\n")
    (tmp_path / "in.csv").write_text("sex\n" + "F\nM\n" * 20)
    (tmp_path / "plan.json").write_text(PLAN.to_json())
    target = tmp_path / f"out{ENDINGS.get(name, '.csv')}"
    if old and name not in ("plan --out", "demo --data"):
        target.write_text("the old one")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with monkeypatch.context() as patch:
        interrupted(patch, np, "savez_compressed")
        interrupted(patch, Path, "write_text")
        interrupted(patch, csv, "writer")
        patch.setattr(birkhoff.Decomposition, "__iter__", lambda _: iter(_stopped()))
        with pytest.raises(KeyboardInterrupt):
            WRITERS[name](target)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    # The same, not interrupted, writes the whole of it.
    WRITERS[name](target)
    assert target.stat().st_size > len("the old one")
    assert not list(tmp_path.glob(".*"))


def _stopped() -> Iterator[Any]:
    yield from ()
    raise KeyboardInterrupt
