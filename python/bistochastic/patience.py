"""Long calls of LAPACK that Ctrl-C stops."""

import threading
from collections.abc import Callable
from typing import TypeVar

from bistochastic.progress import watched

T = TypeVar("T")

# Up to this size LAPACK answers before anybody could press a key.
SMALL = 512


def interruptible(size: int, call: Callable[..., T], *arguments: object) -> T:
    """Run ``call(*arguments)``, on a thread of its own if ``size`` is large.

    LAPACK does not look at signals, and Python raises them on the main thread only. So the main
    thread waits, and an interrupt ends the waiting. The call itself goes on in the background to
    its end; its result is not read, and its memory is freed then. A process that exits
    meanwhile waits for it: a thread cut off inside LAPACK would keep the process from ending.

    >>> interruptible(1000, sum, [1, 2, 3])
    6
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
    with watched("linear algebra"):
        while not done.wait(0.05):
            pass
    if raised:
        raise raised[0]
    return found[0]
