"""Show how far long work has come: a bar of rich in a terminal or a notebook, after two seconds.

A thread of its own draws. In a pipe, a log or a batch job nothing is written and no thread started.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any

from bistochastic.errors import RefusedType
from bistochastic_survey.wording import visible

# A function that receives the fraction of the work that is done, and what a caller may pass.
Told = Callable[[float], object]
Progress = Told | bool | None
Tell = Callable[[str, float | None], None]
# Seconds before anything is shown.
DELAY = 2.0
# Work inside other work has no bar: the outer work decides.
_INSIDE: ContextVar[bool] = ContextVar("inside", default=False)


@contextmanager
def watched(what: str, progress: object = None) -> Iterator[Told | None]:
    """Show that ``what`` goes on; give the function that the work calls with its share, or None.

    ``progress`` is the caller's: a function is called, and nothing is shown; False shows nothing;
    None shows a bar after two seconds, True at once, if there is a place for one.
    """
    if callable(progress):
        with _inside():
            yield progress
        return
    if progress is not None and not isinstance(progress, bool):
        raise RefusedType("progress", "be a function, True, False or None", type(progress).__name__)
    with _shown(what, progress) as tell:
        yield tell and (lambda share: tell(what, share))


@contextmanager
def _inside() -> Iterator[bool]:
    """Show no bar inside; say whether this is inside of other work already."""
    token = _INSIDE.set(True)
    try:
        yield token.old_value is True
    finally:
        _INSIDE.reset(token)


@contextmanager
def steps() -> Iterator[Tell]:
    """Show work of several steps: call the result with a step and its share, None if unknown."""
    with _shown("starting", None) as tell:
        yield tell or (lambda _what, _share: None)


@contextmanager
def _shown(what: str, asked: bool | None) -> Iterator[Tell | None]:
    """Give the function that changes what a thread draws; None if nothing will be drawn."""
    with _inside() as inside:
        if inside or asked is False or not _has_place(asked is True):
            yield None
            return
        state: dict[str, Any] = {"description": visible(what)}

        def tell(what: str, share: float | None) -> None:
            if share is not None:
                state.update(total=1.0, completed=share)
                what = f"{what} {share:.0%}"
            state["description"] = visible(what)

        over = threading.Event()
        drawn = state, over, 0.0 if asked else DELAY
        thread = threading.Thread(target=_draw, args=drawn, daemon=True)
        thread.start()
        try:
            yield tell
        finally:
            # The bar disappears before anything else is printed.
            over.set()
            thread.join()


def _has_place(asked: bool) -> bool:
    """Whether a bar can be drawn; unless asked, threads and children of a process have none."""
    process = sys.modules.get("multiprocessing.process")
    is_child = process is not None and process.parent_process() is not None
    if not asked and (is_child or threading.current_thread() is not threading.main_thread()):
        return False
    # A kernel of IPython is a notebook, where rich draws by widgets.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is not None:
        return find_spec("ipywidgets") is not None
    with suppress(AttributeError, ValueError):
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return False


def _draw(state: dict[str, Any], over: threading.Event, delay: float) -> None:
    # A terminal that went away must not end the work.
    with suppress(Exception):
        if over.wait(delay):
            return
        from rich import progress as rich
        from rich.console import Console

        text = rich.TextColumn("{task.description}", markup=False)
        columns = rich.SpinnerColumn(), text, rich.BarColumn(), rich.TimeElapsedColumn()
        # The output of other code is not redirected.
        with rich.Progress(
            *columns, console=Console(file=sys.stderr), transient=True, auto_refresh=False,
            redirect_stdout=False, redirect_stderr=False,
        ) as bar:  # fmt: skip
            task = bar.add_task("", total=None)
            bar.update(task, refresh=True, **state)
            while not over.wait(0.1):
                bar.update(task, refresh=True, **state)
