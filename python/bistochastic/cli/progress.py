"""How far long work has come: a bar on a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def bar() -> Iterator[Callable[[str, float], None]]:
    """Call what this gives with the name of a step and the share of it that is done."""
    if not sys.stderr.isatty():
        yield lambda _what, _share: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        with _plain() as tell:
            yield tell
        return
    with Progress(console=Console(stderr=True), transient=True) as progress:
        steps: dict[str, object] = {}

        def tell(what: str, share: float) -> None:
            if what not in steps:
                steps[what] = progress.add_task(what, total=1.0)
            progress.update(steps[what], completed=share)  # type: ignore[arg-type]

        yield tell


@contextmanager
def _plain() -> Iterator[Callable[[str, float], None]]:
    """A line that is written over, where rich is not installed."""
    width = 0

    def tell(what: str, share: float) -> None:
        nonlocal width
        text = f"{what} {100 * share:3.0f} %"
        width = max(width, len(text))
        sys.stderr.write(f"\r{text.ljust(width)}")
        sys.stderr.flush()

    try:
        yield tell
    finally:
        sys.stderr.write(f"\r{' ' * width}\r")
        sys.stderr.flush()
