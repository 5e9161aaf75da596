"""Batches of a table read, drawn and written at the same time, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from itertools import repeat
from typing import Any, TypeVar

_END: Any = object()
Item = TypeVar("Item")
Made = TypeVar("Made")


def abreast(do: Callable[[Item], Made], items: Iterable[Item], threads: int = 2) -> Generator[Made]:
    """Call ``do(item)`` for every item in other threads, a few ahead; give results in order.

    With one thread the calls are in order too. With two, one works while the other waits for its
    threads at the end. Errors are raised here.

    >>> list(abreast(lambda i: i * i, range(5)))
    [0, 1, 4, 9, 16]
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads, thread_name_prefix="bistochastic-batch") as pool:
        waiting: deque[Future[Made]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(do, item))
                if len(waiting) > 2:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for each in waiting:
                each.cancel()


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """Give the same items, made in another thread a few ahead.

    >>> list(ahead(range(5)))
    [0, 1, 2, 3, 4]
    """
    rest = iter(items)
    for item in abreast(lambda _: next(rest, _END), repeat(None), threads=1):
        if item is _END:
            return
        yield item
