"""Bars of long calls: in a terminal, in a notebook, and nowhere else; and no half files."""

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey import cli
from bistochastic_survey import progress as bars
from bistochastic_survey.cli.group import Interrupted

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
# These are told the gap of a likelihood rather than a share.
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

    def is_here(self, _asked: bool) -> bool:
        self.asked += 1
        return True

    def draw(self, state: dict[str, Any], over: threading.Event, delay: float) -> None:
        if not over.wait(delay):
            with self._open() as draw:
                draw(types.SimpleNamespace(line=state["description"]))
                over.wait()


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Place:
    """A place for the bars of the toolkit."""
    found = Place()
    monkeypatch.setattr(bars, "_has_place", found.is_here)
    monkeypatch.setattr(bars, "_draw", found.draw)
    return found


both = pytest.mark.parametrize("house", [bars], ids=["toolkit"])


def parameters(owner: Any, name: str) -> list[str]:
    return list(inspect.signature(getattr(owner, name)).parameters)


def test_the_calls_are_all_that_take_progress() -> None:
    taken = set()
    for owner, name in [(o, n) for o in (sv,) for n in o.__all__]:
        thing = getattr(owner, name)
        if isinstance(thing, type):
            members = [
                m for m in dir(thing) if not m.startswith("_") and callable(getattr(thing, m))
            ]
            if issubclass(thing, sv.Plan | sv.Release):
                taken |= {f"{name}.{m}" for m in members if "progress" in parameters(thing, m)}
        elif callable(thing) and "progress" in parameters(owner, name):
            taken.add(name)
    assert taken == set(CALLS)


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
    assert place.asked == 2
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
        assert not bars._INSIDE.get(), name


@both
def test_nothing_is_shown_before_two_seconds(
    house: Any, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert house.DELAY == 2.0
    monkeypatch.setattr(house, "DELAY", 3600.0)
    with house.watched("working") as tell:
        assert tell is not None
        tell(0.5)
    assert not place.opened
    monkeypatch.setattr(house, "DELAY", 0.0)
    with house.watched("working") as tell:
        assert tell is not None
        tell(0.5)
        assert place.seen.wait(60)
    assert place.drawn[0].startswith("working")
    assert place.drawn[-1] == "gone"


@both
def test_work_inside_of_work_has_no_bar_of_its_own(house: Any, place: Place) -> None:
    for outer in (None, True, False, lambda _share: None):
        before = place.asked
        with house.watched("outer", outer), house.watched("inner", True) as tell:
            assert tell is None
        assert place.asked - before == (outer is None or outer is True)


def test_a_screen_that_goes_away_ends_no_work_of_the_toolkit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Gone(io.StringIO):
        asked = threading.Event()

        def isatty(self) -> bool:
            return True

        def write(self, _text: str) -> int:
            self.asked.set()
            raise OSError("gone")

    monkeypatch.setattr(sys, "stderr", Gone())
    monkeypatch.setenv("TERM", "xterm")
    with bars.watched("working", True) as tell:
        assert tell is not None
        assert Gone.asked.wait(60)


@both
def test_nothing_is_started_where_nobody_looks(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Dumb(io.StringIO):
        def isatty(self) -> bool:
            return True

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a thread was started")

    monkeypatch.setattr(threading, "Thread", refuse)
    for stream in (io.StringIO(), None, object()):
        monkeypatch.setattr(sys, "stderr", stream)
        with house.watched("working", True) as tell:
            assert tell is None
    monkeypatch.setattr(sys, "stderr", Dumb())
    monkeypatch.setenv("TERM", "dumb")
    with house.watched("working", True) as tell:
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


# Real terminals, pipes and signals.

WORK = """
import sys, time
{before}
from {house} import progress
progress.DELAY = 0.05
print("before")
with progress.watched("decomposing") as tell:
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


@pytest.mark.parametrize("house", ["bistochastic_survey"])
def test_a_terminal_has_a_bar_that_goes_away(house: str) -> None:
    written, said, code = in_terminal(WORK.format(before="", house=house, seconds=1.0))
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
    "plan --out": lambda path: run(
        "plan", "--codebook", path.parent / "book.csv", "--beta", "0.6", "--out", path
    ),
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
