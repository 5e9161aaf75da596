"""The group of all commands, and how it says what went wrong."""

from __future__ import annotations

from typing import Any

import click


class _Sentence(click.Group):
    """Errors of the package are one sentence and exit code 1, never a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (ValueError, TypeError, IndexError, FileExistsError) as error:
            raise click.ClickException(str(error)) from error
        except (MemoryError, OverflowError) as error:
            raise click.ClickException("`size` must fit in memory; got a larger one") from error


@click.group(cls=_Sentence)
@click.version_option(package_name="bistochastic")
def main() -> None:
    """Privacy by bistochastic matrices: how much each matrix hides, and what it leaves.

    Make keys, inspect, compare and decompose matrices, show the demo. Files are randomized and
    estimated from Python: see Matrix.randomize and Matrix.estimate.
    """
