"""The command line: parse, call, print. Importing a file of commands adds them to ``main``."""

from bistochastic_survey.cli import analysis, demo, inspect, releases
from bistochastic_survey.cli.group import main

__all__ = ["analysis", "demo", "inspect", "main", "releases"]
