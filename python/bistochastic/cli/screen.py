"""Print on a terminal: tables and colours through rich, if it is installed, and plain in pipes."""

from __future__ import annotations

import json
import math
import re
import sys
from typing import Any

import click

from bistochastic.words import visible_lines

# The second line of every table that the package prints.
_RULE = re.compile(r"-+(  -+)*")
_STYLES = {"Warnings:": "bold yellow"}


def say(text: object = "", *, nl: bool = True, err: bool = False) -> None:
    """Print lines, with everything escaped that a terminal would not read as text.

    >>> say("a\\x1b[31mb")
    a\\x1b[31mb
    """
    plain = visible_lines(str(text))
    if nl and not err and sys.stdout.isatty() and _draw(plain):
        return
    click.echo(plain, nl=nl, err=err)


def warn(sentence: str) -> None:
    """Print a warning to stderr.

    >>> warn("the rows are in the order of the original")
    """
    head = click.style("Warning:", fg="yellow", bold=True)
    click.echo(f"{head} {visible_lines(sentence)}", err=True)


def say_json(data: Any) -> None:
    """Print plain data as JSON; a number that JSON cannot hold is a string.

    >>> say_json({"epsilon": math.inf, "beta": 0.5})
    {
      "epsilon": "inf",
      "beta": 0.5
    }
    """
    click.echo(json.dumps(_finite(data), indent=2, allow_nan=False, default=str))


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(name): _finite(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data


def _draw(text: str) -> bool:
    """Draw text with its tables and headings; False if rich is not installed."""
    try:
        from rich.console import Console
        from rich.padding import Padding
        from rich.text import Text
    except ImportError:
        return False
    console = Console(highlight=False, emoji=False, markup=False, soft_wrap=False)
    lines = text.split("\n")
    while lines:
        if len(lines) > 1 and _RULE.fullmatch(lines[1]):
            end = lines.index("") if "" in lines else len(lines)
            console.print(_table(lines[:end]))
            lines = lines[end:]
            continue
        line = lines.pop(0)
        indent = len(line) - len(line.lstrip())
        heading = line.endswith(":") and not indent
        style = _STYLES.get(line, "bold" if heading else "")
        console.print(
            Padding(Text(line.strip(), style), (0, 0, 0, indent), expand=False) if line else ""
        )
    return True


def _table(lines: list[str]) -> Any:
    """Read a printed table into a table of rich, which folds long cells."""
    from rich.table import Table
    from rich.text import Text

    spans = [match.span() for match in re.finditer("-+", lines[1])]
    found = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    cells = [[line[a:b].rstrip() for a, b in spans] for line in (lines[0], *lines[2:])]
    for column in zip(*cells, strict=True):
        right = any(cell.startswith(" ") for cell in column)
        found.add_column(Text(column[0].strip()), justify="right" if right else "left")
    for row in cells[1:]:
        found.add_row(*(Text(cell.strip()) for cell in row))
    return found
