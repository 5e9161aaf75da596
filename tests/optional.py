"""Packages that the library works without: a test that calls a missing one is skipped."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest


class _Missing:
    def __init__(self, package: str) -> None:
        self._package = package

    def __getattr__(self, name: str) -> _Missing:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_given: Any, **_named: Any) -> Any:
        pytest.skip(f"needs {self._package}")


def optional(module: str) -> Any:
    """A module, or what skips the test that calls something of it."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        return _Missing(module.partition(".")[0])
