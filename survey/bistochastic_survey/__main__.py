"""``python -m bistochastic_survey`` is the command line, and so is the script ``bistochastic``."""

from bistochastic_survey.cli import main


def run() -> None:
    """Run the command line in a process of its own."""
    main(prog_name="bistochastic")


if __name__ == "__main__":
    run()
