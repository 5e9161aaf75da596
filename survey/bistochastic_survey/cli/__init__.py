"""The command line: parse, call, print. Importing a file of commands adds them to ``main``."""

from bistochastic_survey.cli import analysis, audit, matrices, plans, releases, shows
from bistochastic_survey.cli.group import main

__all__ = ["analysis", "audit", "main", "matrices", "plans", "releases", "shows"]
