"""A law that is broken."""

from __future__ import annotations

from typing import Any


class BrokenLawError(Exception):
    """A law that is broken, in words."""


def hold(true: Any, words: str) -> None:
    """Raise unless ``true``."""
    if not true:
        raise BrokenLawError(words)
