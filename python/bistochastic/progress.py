"""How far long work has come: a bar in a terminal or a notebook, once two seconds have passed.

Every call that may take longer goes through :func:`watched` or :func:`steps`. They draw from a
thread of their own, so that work which cannot tell how far it is shows at least that it goes on.
In a pipe, a log or a batch job nothing is written, and no thread is started.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, cast

from bistochastic.words import visible

if TYPE_CHECKING:
    from typing import TextIO

Told = Callable[[float], object]
"""A function that is told how far the work is."""
Progress = Told | bool | None
"""What a caller may say as ``progress``."""

# Seconds before anything is shown, and between two looks.
DELAY = 2.0
_STEP = 0.1

# Work inside of other work is that one's to show, or to be silent about.
_INSIDE: ContextVar[bool] = ContextVar("inside", default=False)
# One bar at a time, whatever the threads.
_SCREEN = threading.Lock()


@contextmanager
def watched(
    what: str, progress: object = None, *, words: Callable[[float], str] | None = None
) -> Iterator[Told | None]:
    """Show that ``what`` goes on; gives what the work tells its share to, or None.

    ``progress`` is what the caller said: a function is told itself, and nothing is shown; False is
    silence; None shows a bar after two seconds, True at once, where there is a place for one. With
    ``words`` the number told is no share, and is shown in these words.

    >>> heard = []
    >>> with watched("counting", heard.append) as tell:
    ...     tell(0.5)
    >>> heard
    [0.5]
    >>> with watched("counting", False) as tell:
    ...     print(tell)
    None
    """
    given = asked(progress)
    if callable(given):
        with _inside():
            yield given
        return
    with _shown(what, given) as state:
        if state is None:
            yield None
        elif words is None:
            yield state.share_is
        else:
            yield lambda x: state.note_is(words(x))


@contextmanager
def steps(progress: bool | None = None) -> Iterator[Callable[[str, float | None], None]]:
    """The same for work of several steps: call what this gives with a step and its share.

    The share is None where it is not known.

    >>> with steps(False) as tell:
    ...     tell("reading", 0.5)
    """
    with _shown("starting", progress) as state:
        if state is None:
            yield lambda _what, _share: None
        else:
            yield state.step_is


def asked(progress: object) -> Progress:
    """What a caller said, if it is one of the things that can be said.

    >>> asked(3)
    Traceback (most recent call last):
        ...
    TypeError: `progress` must be a function, True, False or None; got int
    """
    if progress is None or isinstance(progress, bool):
        return progress
    if callable(progress):
        return cast("Told", progress)
    got = type(progress).__name__
    raise TypeError(f"`progress` must be a function, True, False or None; got {got}")


@contextmanager
def _inside() -> Iterator[None]:
    token = _INSIDE.set(True)
    try:
        yield
    finally:
        _INSIDE.reset(token)


class _State:
    """What is known of the work, written by it and read by the thread that draws."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.share: float | None = None
        self.note = ""
        self.start = time.monotonic()

    def share_is(self, share: float) -> None:
        self.share = min(max(float(share), 0.0), 1.0)

    def note_is(self, note: str) -> None:
        self.note = note

    def step_is(self, what: str, share: float | None) -> None:
        self.what = what
        self.share = None
        if share is not None:
            self.share_is(share)

    @property
    def elapsed(self) -> str:
        seconds = int(time.monotonic() - self.start)
        return f"{seconds // 60}:{seconds % 60:02d}"

    @property
    def line(self) -> str:
        """All of it in one line."""
        share = "" if self.share is None else f" {100 * self.share:.0f} %"
        note = f" ({self.note})" if self.note else ""
        return visible(f"{self.what}{share}, {self.elapsed}{note}")


Draw = Callable[[_State], None]


@contextmanager
def _shown(what: str, asked: bool | None) -> Iterator[_State | None]:
    """The state that a thread draws from while this lasts; None where nothing will be drawn."""
    # Whoever works in threads or processes has a screen of their own, or none.
    own = threading.current_thread() is threading.main_thread() and not _is_child()
    wanted = asked is not False and (asked is True or own) and not _INSIDE.get()
    place = _place() if wanted else None
    if place is None or not _SCREEN.acquire(blocking=False):
        with _inside():
            yield None
        return
    state, over = _State(what), threading.Event()
    thread = threading.Thread(
        target=_draw,
        args=(place, state, over, 0.0 if asked else DELAY),
        name="bistochastic-progress",
        daemon=True,
    )
    try:
        thread.start()
        with _inside():
            yield state
    finally:
        over.set()
        try:
            # What is drawn goes away before whatever is printed next.
            if thread.ident is not None:
                thread.join()
        finally:
            _SCREEN.release()


def _draw(
    place: Callable[[], AbstractContextManager[Draw]],
    state: _State,
    over: threading.Event,
    delay: float,
) -> None:
    if over.wait(delay):
        return
    # A terminal that went away must not end the work.
    try:
        with place() as draw:
            draw(state)
            while not over.wait(_STEP):
                draw(state)
    except Exception:
        return


def _place() -> Callable[[], AbstractContextManager[Draw]] | None:
    """Where a bar can be drawn: a notebook, a terminal, or nowhere."""
    if _is_notebook():
        return _in_notebook
    stream = sys.stderr
    try:
        if stream is None or not stream.isatty():
            return None
    except (AttributeError, ValueError):
        return None
    import os

    if os.environ.get("TERM") == "dumb":
        return None
    return lambda: _in_terminal(stream)


def _is_child() -> bool:
    """Whether another process of Python started this one to work for it."""
    module = sys.modules.get("multiprocessing.process")
    return module is not None and module.parent_process() is not None


def _is_notebook() -> bool:
    """Whether a kernel of IPython runs this process; IPython in a terminal is a terminal."""
    module = sys.modules.get("IPython")
    shell = getattr(module, "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


@contextmanager
def _in_notebook() -> Iterator[Draw]:
    """A bar of HTML that is written over, and is gone at the end."""
    # Not a widget: where the page lacks the script for those, it would stay as a line of code.
    from importlib import import_module

    display = import_module("IPython.display")
    handle = display.display(display.HTML(""), display_id=True)
    last = ""

    def draw(state: _State) -> None:
        nonlocal last
        from html import escape

        value = "" if state.share is None else f' value="{state.share:.3f}"'
        text = f'<progress max="1"{value}></progress> {escape(state.line)}'
        if text != last:
            handle.update(display.HTML(text))
            last = text

    try:
        yield draw
    finally:
        handle.update(display.HTML(""))


@contextmanager
def _in_terminal(stream: TextIO) -> Iterator[Draw]:
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
    except ImportError:
        with _plainly(stream) as draw:
            yield draw
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn())
    # What others print is theirs: nothing is redirected.
    with Progress(
        *columns,
        console=Console(file=stream),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as bar:
        task = bar.add_task("", total=None)

        def draw(state: _State) -> None:
            total = None if state.share is None else 1.0
            bar.update(task, description=state.line, total=total, completed=state.share or 0.0)

        yield draw


@contextmanager
def _plainly(stream: TextIO) -> Iterator[Draw]:
    """A line that is written over, where rich is not installed."""
    width = 0

    def draw(state: _State) -> None:
        nonlocal width
        text = state.line
        width = max(width, len(text))
        stream.write(f"\r{text.ljust(width)}")
        stream.flush()

    try:
        yield draw
    finally:
        stream.write(f"\r{' ' * width}\r")
        stream.flush()
