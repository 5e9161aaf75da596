"""The group of all commands, and how it says what went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from bistochastic.cli.screen import say, say_json, warn
from bistochastic.words import visible_lines

# Commands in the order of work; commands that are not listed come last.
_ORDER = (
    "demo", "plan", "protect", "inspect", "report", "estimate", "regress", "transitions", "audit",
    "risk", "choose", "verify", "ledger", "key", "compare", "decompose", "paper",
)  # fmt: skip
# The package's name of an argument, and the option that is typed.
_TYPED = {
    "`frame`": "`in`",
    "allow_insecure=True": "--allow-insecure",
    "categories_from_data=True": "--categories-from-data",
    "rerandomize_numeric=True": "--rerandomize-numeric",
    "full=True": "--full",
    "id_column": "--id-column",
    "key=None": "no --key-file",
    "max_line_ends": "--max-line-ends",
    "max_rows_per_id": "--max-rows-per-id",
    "redraw=True": "--redraw",
    "`tolerance`": "`--within`",
    "release_name": "--release-name",
}


def in_shell(sentence: str) -> str:
    """Write a message of the package with options as they are typed.

    >>> in_shell("`after` must agree; got another key: redraw=True re-randomizes")
    '`after` must agree; got another key: --redraw re-randomizes'
    """
    for said, typed in _TYPED.items():
        sentence = sentence.replace(said, typed)
    return sentence


class Interrupted(click.ClickException):
    """Ctrl-C, which needs no message."""

    # As shells count: 128 and the number of the signal.
    exit_code = 130

    def __init__(self) -> None:
        super().__init__("interrupted")

    def show(self, file: Any = None) -> None:
        """End the line in which the terminal shows ^C."""
        click.echo(file=file, err=True)


@contextmanager
def _show_errors_as_text() -> Iterator[None]:
    """Make click print its messages about typed words as plain text."""
    try:
        yield
    except click.ClickException as error:
        # Final only for type checkers; all of click's own subclasses print it.
        vars(error)["message"] = visible_lines(error.message)
        raise


class _Sentence(click.Group):
    """Errors of the package are one sentence and exit code 1, never a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        known = {name: place for place, name in enumerate(_ORDER)}
        return sorted(self.commands, key=lambda name: (known.get(name, len(known)), name))

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with _show_errors_as_text():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _show_errors_as_text():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None
        except (ValueError, TypeError, IndexError, FileExistsError, ImportError) as error:
            said = in_shell(str(error))
            command = self.commands.get(ctx.invoked_subcommand or "")
            if any("--out" in each.opts for each in getattr(command, "params", ())):
                # The package's `path` was typed as an option.
                said = said.replace("`path`", "`out`").replace("`out`", "`--out`")
            raise click.ClickException(said) from error
        except (MemoryError, OverflowError) as error:
            raise click.ClickException("`size` must fit in memory; got a larger one") from error


@click.group(cls=_Sentence)
@click.version_option(package_name="bistochastic")
def main() -> None:
    """Publish individual records without revealing anyone's true values.

    \b
    bistochastic plan survey.csv --codebook codebook.csv --beta 0.6 --out plan.toml
    bistochastic protect survey.csv protected.csv --plan plan.toml --shuffle
    bistochastic report protected.csv.certificate.json --out report.html
    """


__all__ = ["Interrupted", "in_shell", "main", "say", "say_json", "warn"]
