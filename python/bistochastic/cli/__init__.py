"""The command line: parse, call, print. Importing a file of commands adds them to ``main``."""

from bistochastic.cli import (
    audit,
    compare,
    decompose,
    estimate,
    inspect,
    keys,
    plans,
    protect,
    reports,
    shows,
)
from bistochastic.cli.group import main

__all__ = [
    "audit",
    "compare",
    "decompose",
    "estimate",
    "inspect",
    "keys",
    "main",
    "plans",
    "protect",
    "reports",
    "shows",
]
