"""Functions for engines that fail, dawdle or die: what `test_engines.py` sends to workers."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any


class Once:
    """Fails the first time that a batch is seen anywhere, by a mark in a folder."""

    def __init__(self, f: Any, mark: Path) -> None:
        self.f, self.mark = f, mark

    def __call__(self, batches: Any) -> Any:
        for batch in batches:
            yield self.f.batch(batch)
            if not self.mark.exists():
                self.mark.touch()
                raise RuntimeError("the first try fails")


class Slow:
    """Takes a while, so that there is time to kill it."""

    def __init__(self, f: Any) -> None:
        self.f = f

    def __call__(self, batches: Any) -> Any:
        for batch in batches:
            time.sleep(0.5)
            yield self.f.batch(batch)


class Dies:
    """Kills its worker the first time, by a mark in a folder."""

    def __init__(self, f: Any, mark: Path) -> None:
        self.f, self.mark = f, mark

    def table(self, table: Any) -> Any:
        if not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.f.table(table)
