"""Containers of other libraries, which the library itself needs none of.

A test that makes one is skipped where the other library is not installed.
"""

from __future__ import annotations

from functools import reduce
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest


class Later:
    """A name of another library, which is imported when it is called."""

    def __init__(self, *path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Later:
        return Later(*self._path, name)

    def __call__(self, *given: Any, **named: Any) -> Any:
        library, *names = self._path
        return reduce(getattr, names, pytest.importorskip(library))(*given, **named)


pa: Any = Later("pyarrow")
pd: Any = Later("pandas")
pl: Any = Later("polars")
NAS: list[Any] = [import_module("pandas").NA] if find_spec("pandas") else []
"""What pandas writes for a missing value, if it is there."""
