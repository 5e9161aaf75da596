"""Ctrl-C before the command line has come up: it ends without a word, as it does later.

The package is imported before any line of a command runs, which takes a good part of a second. It
imports this file first. In other programs than ``bistochastic`` nothing is changed.
"""

import os
import sys
from itertools import pairwise
from typing import Any

INTERRUPTED = 130
"""How a process ends after Ctrl-C, as shells count: 128 and the number of the signal."""


def _is_command() -> bool:
    """Whether this process is ``bistochastic`` or ``python -m bistochastic``."""
    # A program that holds Python, rather than the other way round, may have no words.
    script = sys.argv[0] if getattr(sys, "argv", None) else ""
    if script == "-m":
        return ("-m", "bistochastic") in pairwise(sys.orig_argv)
    return os.path.split(script)[1] in ("bistochastic", "bistochastic.exe")


def _end(*_signal: Any) -> None:
    # Nothing is open yet, and an exception would be taken for a failed import by some library.
    os.write(2, b"\n")
    os._exit(INTERRUPTED)


def up() -> None:
    """The command line is there: from now on Ctrl-C is an exception again."""
    import signal

    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if _is_command():
    import signal

    # A process that was told to ignore the signal goes on ignoring it.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
