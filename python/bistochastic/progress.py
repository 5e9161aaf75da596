"""How far long work has come: a function of the caller's, or one line on a terminal; and Ctrl-C.

Every call that may take long goes through :func:`watched`. The work itself says how far it is, so
work that cannot say shows nothing. In a pipe, a log or a batch job nothing is written.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TextIO, TypeVar, cast

from bistochastic.errors import RefusedType

T = TypeVar("T")
Told = Callable[[float], object]
"""A function that receives the fraction of the work that is done."""
Progress = Told | bool | None
"""The values that a caller may pass as ``progress``."""

# Seconds before anything is shown, and between two looks.
DELAY = 2.0
_STEP = 0.1
# Up to this size LAPACK answers before anybody could press a key.
SMALL = 512

# Work inside other work has no line: the outer work decides.
_INSIDE: ContextVar[bool] = ContextVar("inside", default=False)


@contextmanager
def watched(
    what: str,
    progress: object = None,
    *,
    words: Callable[[float], str] | None = None,
    ends: bool = False,
) -> Iterator[Told | None]:
    """Give the function that the work ``what`` calls with its share, or None.

    ``progress`` is the caller's: a function is called, and nothing is shown; False shows nothing;
    None shows a line after two seconds, True at once, if there is a place for one. With ``words``
    the number is not a share, and is shown in these words. With ``ends`` a function is called with
    1 at the end, for work that cannot say more.
    """
    given = asked(progress)
    line = None if callable(given) or _INSIDE.get() else _line(what, given, words)
    try:
        with quiet():
            yield given if callable(given) else None if line is None else line.tell
    finally:
        if line is not None:
            line.write("")
    if callable(given) and ends:
        given(1.0)


@contextmanager
def quiet() -> Iterator[bool]:
    """Show no progress inside, for a tool that shows a bar of its own.

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


def asked(progress: object) -> Progress:
    """Check what a caller passed."""
    if progress is None or isinstance(progress, bool) or callable(progress):
        return cast("Progress", progress)
    raise RefusedType("progress", "be a function, True, False or None", type(progress).__name__)


class _Line:
    """One line that is written over while the work goes on, and is gone at the end."""

    def __init__(
        self, what: str, stream: TextIO, delay: float, words: Callable[[float], str] | None
    ) -> None:
        self._what, self._stream, self._words = what, stream, words
        self._start = time.monotonic()
        self._next, self._width = self._start + delay, 0

    def tell(self, share: float) -> None:
        """Write how far the work is, unless it was written just now."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _STEP
            far = f"{100 * share:.0f}%" if self._words is None else f"({self._words(share)})"
            minutes, seconds = divmod(int(now - self._start), 60)
            self.write(f"{self._what} {far}, {minutes}:{seconds:02d}")

    def write(self, text: str) -> None:
        """Write over what was written before."""
        # A terminal that went away must not end the work.
        with suppress(OSError, ValueError):
            if text or self._width:
                self._stream.write(f"\r{' ' * self._width}\r{text}")
                self._stream.flush()
        self._width = len(text)


def _line(what: str, asked: object, words: Callable[[float], str] | None) -> _Line | None:
    """Make a line, if there is a terminal or a notebook that shows it."""
    # Other threads and processes may have a screen of their own, or none.
    module = sys.modules.get("multiprocessing.process")
    child = module is not None and module.parent_process() is not None
    own = threading.current_thread() is threading.main_thread() and not child
    if asked is False or not (asked or own):
        return None
    # A kernel of IPython is a notebook.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    notebook = getattr(shell, "kernel", None) is not None
    with suppress(AttributeError, ValueError):
        if notebook or (sys.stderr.isatty() and os.environ.get("TERM") != "dumb"):
            return _Line(what, sys.stderr, 0.0 if asked else DELAY, words)
    return None


def interruptible(size: int, call: Callable[..., T], *arguments: object) -> T:
    """Run ``call(*arguments)``, on a thread of its own if ``size`` is large.

    LAPACK does not look at signals, and Python raises them on the main thread only. So the main
    thread waits, and an interrupt ends the waiting. The call itself goes on in the background to
    its end; its result is not read, and its memory is freed then. A process that exits
    meanwhile waits for it: a thread cut off inside LAPACK would keep the process from ending.
    """
    if size <= SMALL or threading.current_thread() is not threading.main_thread():
        return call(*arguments)
    found: list[T] = []
    raised: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            found.append(call(*arguments))
        except BaseException as error:
            raised.append(error)
        finally:
            done.set()

    try:
        threading.Thread(target=work, name="bistochastic-lapack").start()
    except RuntimeError:
        # No thread is to be had: without one, rather than not at all.
        work()
    while not done.wait(0.05):
        pass
    if raised:
        raise raised[0]
    return found[0]
