"""What goes wrong on engines: functions that fail, dawdle or die, and input that is bad."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import bistochastic as bs
from release.test_batch_function import people


class Once:
    """Fails the first time that a batch is seen anywhere, by a mark in a folder."""

    def __init__(self, f: Any, mark: Path) -> None:
        self.f, self.mark = f, mark

    def __call__(self, batches: Any) -> Any:
        for batch in batches:
            yield self.f.batch(batch)
            self._fail()

    def table(self, table: Any) -> Any:
        self._fail()
        return self.f.table(table)

    def frame(self, frame: Any) -> Any:
        # Dask asks with an empty frame what comes out.
        if len(frame):
            self._fail()
        return self.f.frame(frame.reset_index(drop=True))

    def _fail(self) -> None:
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


def texts_if_long(table: pa.Table) -> pa.Table:
    """Ids as texts in a table of 50 rows: another schema than that of the others."""
    if table.num_rows < 50:
        return table
    return table.set_column(0, "person", table["person"].cast(pa.string()))


SECRET = "planted value"
# What may be wrong with a table or a key, by name.
BAD_INPUT = (
    "no key file",
    "another key",
    "unknown category",
    "missing id",
    "no id column",
    "column that the plan does not name",
)


def bad_input(
    case: str, options: dict[str, Any], folder: Path
) -> tuple[pa.Table, dict[str, Any], str]:
    """A table, options that go with it, and the sentence that they end in."""
    table, changed = people(100), dict(options)
    if case == "no key file":
        changed["key"] = bs.KeySource.file(folder / "gone.key", fingerprint="0" * 16)
        return table, changed, "`key` must be a file on every machine; got none at "
    if case == "another key":
        bs.Key.generate().to_file(folder / "other.key")
        changed["key"] = bs.KeySource.file(folder / "other.key", fingerprint="0" * 16)
        return table, changed, "`key` must be the one with fingerprint 0000000000000000; got "
    if case == "unknown category":
        bad = pa.array([SECRET if i == 60 else "a" for i in range(100)])
        must = "column `race`: must hold declared categories only"
        said = f"{must}; got 1 other value, .* row \\d+ of its batch"
        return table.set_column(1, "race", bad), changed, said
    if case == "missing id":
        ids = pa.array([None if i == 3 else i for i in range(100)])
        must = "column `person`: must hold no missing ids; got 1, the first in row 3 of its batch"
        return table.set_column(0, "person", ids), changed, must
    if case == "no id column":
        return table.drop_columns(["person"]), changed, "column `person`: must be in `frame`"
    more = table.append_column("income", pa.array(range(100)))
    return more, changed, "must hold columns that the plan protects, keeps or drops; got `income`"
