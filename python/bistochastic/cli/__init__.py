"""The command line: parse, call, print. Importing a file of commands adds them to ``main``."""

from bistochastic.cli import compare, decompose, inspect, keys, plans, protect, shows
from bistochastic.cli.group import main

__all__ = ["compare", "decompose", "inspect", "keys", "main", "plans", "protect", "shows"]
