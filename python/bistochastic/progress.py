"""Long calls: a function of the caller's hears how far they are, and Ctrl-C ends them."""

import threading
from collections.abc import Callable
from typing import TypeVar

from bistochastic.errors import RefusedType

T = TypeVar("T")
Progress = Callable[[float], object] | None
"""What a caller may pass as ``progress``: a function that receives the fraction that is done."""

# Up to this size LAPACK answers before anybody could press a key.
SMALL = 512


def check_progress(progress: object) -> Callable[[float], object]:
    """Check what a caller passed as ``progress``; return it, or a function that does nothing."""
    if progress is None or callable(progress):
        return progress or (lambda _share: None)
    raise RefusedType("progress", "be a function or None", type(progress).__name__)


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
