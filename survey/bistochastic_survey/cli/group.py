"""The group of all commands: how they print, and how they say what went wrong."""

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

import click

from bistochastic.errors import Refused, RefusedType
from bistochastic_survey.wording import shown, visible_lines

# Commands in the order of work.
_ORDER = (
    "demo", "plan", "protect", "inspect", "report", "estimate", "regress", "audit", "verify", "key",
)  # fmt: skip
# The package's name of an argument, and what is typed for it.
_TYPED = {
    "frame": "in",
    "id_column": "--id-column",
    "ids": "--id-column",
    "max_rows": "--max-rows-per-id",
    "release_name": "--release-name",
    "rerandomize_numeric": "--rerandomize-numeric",
    "tolerance": "--within",
}
# A cure in Python, and the same on the command line.
_CURES = {
    "categories_from_data=True": "--categories-from-data",
    "key=None": "no --key-file",
    "max_rows says": "--max-rows-per-id says",
    "given with ids": "given with --id-column",
    "redraw=True": "--redraw",
    "rerandomize_numeric=True": "--rerandomize-numeric",
    "use ids": "use --id-column",
}


def say(text: object = "", *, nl: bool = True, err: bool = False) -> None:
    """Print lines, with everything escaped that a terminal would not read as text."""
    click.echo(visible_lines(str(text)), nl=nl, err=err)


def warn(sentence: str) -> None:
    """Print a warning to stderr."""
    head = click.style("Warning:", fg="yellow", bold=True)
    click.echo(f"{head} {visible_lines(sentence)}", err=True)


def say_json(data: object) -> None:
    """Print plain data as JSON; a number that JSON cannot hold is a string."""
    click.echo(json.dumps(_finite(data), indent=2, allow_nan=False, default=str))


def _finite(data: object) -> object:
    if isinstance(data, dict):
        return {str(name): _finite(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data


def in_shell(sentence: str) -> str:
    """Write the cures of a sentence as they are typed."""
    for said, typed in _CURES.items():
        sentence = sentence.replace(said, typed)
    return sentence


def _as_typed(error: Refused | RefusedType, params: Sequence[click.Parameter]) -> str:
    """Say what was refused with the options of a command; names of columns stay as they are."""
    typed = dict(_TYPED)
    if any(each.name == "file" for each in params):
        typed["frame"] = "file"
    # The package's `path` was typed as an option.
    if any("--out" in each.opts for each in params):
        typed["path"] = typed["out"] = "--out"
    error.name = typed.get(error.name, error.name)
    for name, option in typed.items():
        error.must = error.must.replace(f"`{name}`", f"`{option}`")
    error.must, error.got = in_shell(error.must), in_shell(error.got)
    return str(error)


class Interrupted(click.ClickException):
    """Ctrl-C, which needs no message."""

    # As shells count: 128 and the number of the signal.
    exit_code = 130

    def show(self, file: IO[str] | None = None) -> None:
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
        return list(_ORDER)

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with _show_errors_as_text():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> object:
        try:
            with _show_errors_as_text():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted("interrupted") from None
        except (ValueError, TypeError, IndexError, FileExistsError, ImportError) as error:
            for each in (error, error.__context__):
                # A setting of the machine is no fault of the file or the column it stopped at.
                if isinstance(each, Refused) and each.name.startswith("BISTOCHASTIC_"):
                    error, each.column = each, ()
            params = getattr(self.commands.get(ctx.invoked_subcommand or ""), "params", ())
            if isinstance(error, Refused | RefusedType):
                raise click.ClickException(_as_typed(error, params)) from error
            raise click.ClickException(str(error)) from error
        except BrokenPipeError:
            # What reads the output has ended: click ends, too, without a word.
            raise
        except OSError as error:
            must = "be a file that the system takes"
            told = Refused(shown(error.filename or "file"), must, error.strerror)
            raise click.ClickException(str(told)) from error
        except (MemoryError, OverflowError) as error:
            raise click.ClickException("`size` must fit in memory; got a larger one") from error


@click.group(cls=_Sentence)
@click.version_option(package_name="bistochastic")
def main() -> None:
    """Publish individual records without revealing which values are true.

    \b
    bistochastic plan survey.csv --codebook codebook.csv --epsilon 1 --out plan.toml
    bistochastic protect survey.csv protected.csv --plan plan.toml --shuffle
    bistochastic report protected.csv.certificate.json --out report.html
    """
