"""Show how far long work has come: a bar in a terminal or a notebook, after two seconds.

Every call that may take longer goes through :func:`watched` or :func:`steps`. A thread of their own
draws, so work that cannot say how far it is shows at least that it goes on. In a pipe, a log or a
batch job nothing is written, and no thread is started.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, cast

from bistochastic.errors import RefusedType
from bistochastic.formatting import visible

if TYPE_CHECKING:
    from typing import TextIO

Told = Callable[[float], object]
"""A function that receives the fraction of the work that is done."""
Progress = Told | bool | None
"""The values that a caller may pass as ``progress``."""

# Seconds before anything is shown, and between two looks.
DELAY = 2.0
_STEP = 0.1

# Work inside other work has no bar: the outer work decides.
_INSIDE: ContextVar[bool] = ContextVar("inside", default=False)
# One bar at a time, whatever the threads.
_SCREEN = threading.Lock()


@contextmanager
def watched(
    what: str,
    progress: object = None,
    *,
    words: Callable[[float], str] | None = None,
    ends: bool = False,
) -> Iterator[Told | None]:
    """Show that ``what`` goes on; give the function that the work calls with its share, or None.

    ``progress`` is the caller's: a function is called, and nothing is shown; False shows nothing;
    None shows a bar after two seconds, True at once, if there is a place for one. With ``words``
    the number is not a share, and is shown in these words. With ``ends`` a function is called with
    1 at the end, for work that cannot say more.
    """
    given = asked(progress)
    if callable(given):
        with quiet():
            yield given
        if ends:
            given(1.0)
        return
    with _shown(what, given) as work:
        if work is None or words is None:
            yield None if work is None else lambda share: work.tell(work.what, share)
        else:
            yield lambda x: setattr(work, "note", f" ({words(x)})")


def asked(progress: object) -> Progress:
    """Check what a caller passed."""
    if progress is None or isinstance(progress, bool) or callable(progress):
        return cast("Progress", progress)
    raise RefusedType("progress", "be a function, True, False or None", type(progress).__name__)


@contextmanager
def quiet() -> Iterator[bool]:
    """Show no progress bar inside, for a tool that shows a bar of its own.

    Gives whether a caller is quiet already: then an outer call has the bar, or wants none.

    >>> import bistochastic as bs
    >>> from bistochastic import backend
    >>> with backend.quiet() as inside:
    ...     terms = bs.uniform(3).decompose()
    >>> inside
    False
    """
    token = _INSIDE.set(True)
    try:
        yield token.old_value is True
    finally:
        _INSIDE.reset(token)


class _Work:
    """The state of the work, written by the work and read by the thread that draws."""

    def __init__(self, what: str) -> None:
        self.what, self.note, self.start = what, "", time.monotonic()
        self.share: float | None = None

    def tell(self, what: str, share: float | None) -> None:
        self.what = what
        self.share = None if share is None else min(max(float(share), 0.0), 1.0)

    @property
    def line(self) -> str:
        """All of it in one line."""
        share = "" if self.share is None else f" {100 * self.share:.0f}%"
        minutes, seconds = divmod(int(time.monotonic() - self.start), 60)
        return visible(f"{self.what}{share}, {minutes}:{seconds:02d}{self.note}")


Draw = Callable[[_Work], None]
Place = Callable[[], AbstractContextManager[Draw]]


@contextmanager
def _shown(what: str, asked: bool | None) -> Iterator[_Work | None]:
    """Give the work that a thread draws while this lasts; None if nothing will be drawn."""
    # Other threads and processes may have a screen of their own, or none.
    own = threading.current_thread() is threading.main_thread() and not _is_child()
    wanted = asked is not False and (asked is True or own) and not _INSIDE.get()
    place = _place() if wanted else None
    if place is None or not _SCREEN.acquire(blocking=False):
        with quiet():
            yield None
        return
    work, over, delay = _Work(what), threading.Event(), 0.0 if asked else DELAY
    thread = threading.Thread(target=_draw, args=(place, work, over, delay), daemon=True)
    try:
        thread.start()
        with quiet():
            yield work
    finally:
        over.set()
        try:
            # The bar disappears before anything else is printed.
            if thread.ident is not None:
                thread.join()
        finally:
            _SCREEN.release()


def _draw(place: Place, work: _Work, over: threading.Event, delay: float) -> None:
    # A terminal that went away must not end the work.
    with suppress(Exception):
        if not over.wait(delay):
            with place() as draw:
                draw(work)
                while not over.wait(_STEP):
                    draw(work)


def _place() -> Place | None:
    """Find where a bar can be drawn: a notebook, a terminal, or nowhere."""
    # A kernel of IPython is a notebook; IPython in a terminal is a terminal.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is not None:
        return _in_notebook
    stream = sys.stderr
    with suppress(AttributeError, ValueError):
        if stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb":
            return lambda: _in_terminal(stream)
    return None


def _is_child() -> bool:
    """Whether another process of Python started this one to work for it."""
    module = sys.modules.get("multiprocessing.process")
    return module is not None and module.parent_process() is not None


@contextmanager
def _in_notebook() -> Iterator[Draw]:
    """Draw a bar of HTML that is written over, and is gone at the end."""
    # Not a widget: if the page lacks the script for those, it would stay as a line of code.
    from html import escape
    from importlib import import_module

    display = import_module("IPython.display")
    handle = display.display(display.HTML(""), display_id=True)
    last = ""

    def draw(work: _Work) -> None:
        nonlocal last
        value = "" if work.share is None else f' value="{work.share:.3f}"'
        text = f'<progress max="1"{value}></progress> {escape(work.line)}'
        if text != last:
            handle.update(display.HTML(text))
            last = text

    try:
        yield draw
    finally:
        handle.update(display.HTML(""))


@contextmanager
def _in_terminal(stream: TextIO) -> Iterator[Draw]:
    """Draw a bar of rich; without rich there is none."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn())
    # The output of other code is not redirected.
    with Progress(*columns, console=Console(file=stream), transient=True, redirect_stdout=False,
                  redirect_stderr=False) as bar:  # fmt: skip
        task = bar.add_task("", total=None)

        def draw(work: _Work) -> None:
            total = None if work.share is None else 1.0
            bar.update(task, description=work.line, total=total, completed=work.share or 0.0)

        yield draw
