"""Pieces of a table read, drawn and written at the same time, in order."""

from __future__ import annotations

import queue
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

# Batches that wait on each side.
DEPTH = 2
_END = object()
Item = TypeVar("Item")
Made = TypeVar("Made")


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, made in another thread a few at a time; its errors are raised here.

    >>> list(ahead(range(5)))
    [0, 1, 2, 3, 4]
    """
    waiting: queue.Queue[Any] = queue.Queue(DEPTH)
    stop = threading.Event()

    def put(item: object) -> bool:
        while not stop.is_set():
            try:
                waiting.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            for item in items:
                if not put((item, None)):
                    return
            put((_END, None))
        except BaseException as error:
            put((_END, error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while True:
            item, error = waiting.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        stop.set()
        thread.join()


def abreast(do: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
    """``do(item)`` for every item, in order, two at a time; errors are raised here.

    Where one waits for its threads at the end, the other one works.

    >>> list(abreast(lambda i: i * i, range(5)))
    [0, 1, 4, 9, 16]
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2, thread_name_prefix="bistochastic-piece") as threads:
        waiting: deque[Future[Made]] = deque()
        try:
            for item in items:
                waiting.append(threads.submit(do, item))
                if len(waiting) > 2:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for each in waiting:
                each.cancel()


class Behind:
    """Does something with items in another thread, in order; its errors are raised here.

    >>> done = []
    >>> with Behind(done.append) as behind:
    ...     for i in range(5):
    ...         behind.put(i)
    >>> done
    [0, 1, 2, 3, 4]
    """

    def __init__(self, do: Callable[[Any], None]) -> None:
        self._waiting: queue.Queue[Any] = queue.Queue(DEPTH)
        self._error: BaseException | None = None
        self._do = do
        self._thread = threading.Thread(target=self._work, daemon=True)

    def _work(self) -> None:
        while (item := self._waiting.get()) is not _END:
            if self._error is None:
                try:
                    self._do(item)
                except BaseException as error:
                    self._error = error

    def put(self, item: object) -> None:
        """Hand an item over; waits while others are waiting."""
        if self._error is not None:
            raise self._error
        self._waiting.put(item)

    def __enter__(self) -> Behind:
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._waiting.put(_END)
        self._thread.join()
        if kind is None and self._error is not None:
            raise self._error
