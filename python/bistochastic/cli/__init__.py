"""The command line: parse, call, print. Importing a file of commands adds them to ``main``."""

from bistochastic.cli import analysis, audit, matrices, plans, releases, shows
from bistochastic.cli.group import main

__all__ = ["analysis", "audit", "main", "matrices", "plans", "releases", "shows"]
