"""Options for the dialect of CSV files, the same for every command that reads tables."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING

import click

from bistochastic.adapters.csv_dialect import Dialect

if TYPE_CHECKING:
    from collections.abc import Callable

_OPTIONS = (
    click.option("--separator", metavar="CHAR",
                 help="Separator of the columns of CSV files: a mark, or tab.  [default: ,]"),
    click.option("--encoding", default="utf-8", show_default=True,
                 help="Encoding of a CSV file that is read, as latin-1, cp1252 or utf-16."),
    click.option("--decimal", default=".", show_default=True, metavar="CHAR",
                 help="Decimal mark of numbers in CSV files: . or a comma."),
    click.option("--max-line-ends", default=0, show_default=True, metavar="N",
                 help="Line ends that a field of a CSV file may hold, in columns that are neither "
                 "protected nor ids nor groups."),
)  # fmt: skip


def reads_csv(command: Callable[..., None]) -> Callable[..., None]:
    """Add these options to a command, which gets them as ``dialect``."""

    @wraps(command)
    def with_dialect(
        *args: object, separator: str | None, encoding: str, decimal: str, max_line_ends: int,
        **others: object,
    ) -> None:  # fmt: skip
        command(*args, dialect=Dialect(separator, encoding, decimal, max_line_ends), **others)

    for option in reversed(_OPTIONS):
        with_dialect = option(with_dialect)
    return with_dialect
