"""The command line: parse, call, print. Importing a file of commands adds them to ``main``."""

from bistochastic_survey.cli import analysis, audit, demo, matrices, plans, releases
from bistochastic_survey.cli.group import main

__all__ = ["analysis", "audit", "demo", "main", "matrices", "plans", "releases"]
