"""Names that the examples in docstrings take for granted."""

from typing import Any

import pytest

import bistochastic


@pytest.fixture(autouse=True)
def _examples_know_bs(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["bs"] = bistochastic
