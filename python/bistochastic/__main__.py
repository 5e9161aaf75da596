"""``python -m bistochastic`` is the command line."""

from bistochastic.cli import main

main(prog_name="bistochastic")
