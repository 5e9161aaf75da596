"""The command line: parse, call, print. Importing a file of commands adds them to ``main``."""

from bistochastic.cli import (
    audit,
    choose,
    compare,
    decompose,
    estimate,
    inspect,
    keys,
    ledger,
    plans,
    protect,
    regress,
    reports,
    risk,
    shows,
    transitions,
    verify,
)
from bistochastic.cli.group import main

__all__ = [
    "audit",
    "choose",
    "compare",
    "decompose",
    "estimate",
    "inspect",
    "keys",
    "ledger",
    "main",
    "plans",
    "protect",
    "regress",
    "reports",
    "risk",
    "shows",
    "transitions",
    "verify",
]
