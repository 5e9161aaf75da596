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
from typing import TypeVar, cast

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
    what: str, progress: object = None, *, words: Callable[[float], str] | None = None
) -> Iterator[Told | None]:
    """Give the function that the work ``what`` calls with its share, or None.

    ``progress`` is the caller's: a function is called, and nothing is shown; False shows nothing;
    None shows a line after two seconds, True at once, if there is a place for one. With ``words``
    the number is not a share, and is shown in these words.
    """
    given = asked(progress)
    with quiet() as inside:
        if callable(given) or inside or given is False or not _has_place(given is True):
            yield given if callable(given) else None
            return
        start = time.monotonic()
        next_look, width = start + (0.0 if given else DELAY), 0

        def write(text: str) -> None:
            nonlocal width
            # A terminal that went away must not end the work.
            with suppress(OSError, ValueError):
                sys.stderr.write(f"\r{' ' * width}\r{text}")
                sys.stderr.flush()
            width = len(text)

        def tell(share: float) -> None:
            nonlocal next_look
            now = time.monotonic()
            if now >= next_look:
                next_look = now + _STEP
                far = f"{share:.0%}" if words is None else f"({words(share)})"
                minutes, seconds = divmod(int(now - start), 60)
                write(f"{what} {far}, {minutes}:{seconds:02d}")

        try:
            yield tell
        finally:
            if width:
                write("")


@contextmanager
def quiet() -> Iterator[bool]:
    """Show no progress inside, for a tool that shows a bar of its own.

    Gives whether a caller is quiet already: then an outer call has the bar, or wants none.

    >>> with bs.backend.quiet() as inside:
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


def _has_place(wanted: bool) -> bool:
    """Whether stderr is a terminal; unless wanted, threads and child processes have none."""
    module = sys.modules.get("multiprocessing.process")
    child = module is not None and module.parent_process() is not None
    if not wanted and (child or threading.current_thread() is not threading.main_thread()):
        return False
    # The output of a notebook's cell is a terminal that does not say so.
    if "ipykernel" in sys.modules:
        return True
    with suppress(AttributeError, ValueError):
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return False


def interruptible(size: int, call: Callable[..., T], *arguments: object) -> T:
    """Run ``call(*arguments)``, on a thread of its own if ``size`` is large.

    LAPACK does not look at signals, and Python raises them on the main thread only. So the main
    thread waits, and an interrupt ends the waiting. The call itself goes on in the background to
    its end, and a process that exits meanwhile waits for it.
    """
    if size <= SMALL or threading.current_thread() is not threading.main_thread():
        return call(*arguments)
    found: list[T] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            found.append(call(*arguments))
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=work, name="bistochastic-lapack")
    thread.start()
    while thread.is_alive():
        thread.join(0.05)
    if raised:
        raise raised[0]
    return found[0]
