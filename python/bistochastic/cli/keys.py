"""``key``: written to a file, and identified by its fingerprint."""

from __future__ import annotations

from pathlib import Path

import click

from bistochastic._core import Key
from bistochastic.cli.group import main, say, warn
from bistochastic.words import shown


@main.group(short_help="Make and identify keys.")
def key() -> None:
    """Make and identify keys. Anyone with a key can undo the releases made with it."""


@key.command(name="new", short_help="Write a new key to a file.")
@click.argument("file", type=click.Path(path_type=Path))
def _key_new(file: Path) -> None:
    """Write a new key to FILE and print its fingerprint. FILE must not exist yet.

    \b
    bistochastic key new survey.key
    """
    made = Key.generate()
    try:
        made.to_file(file)
    except FileExistsError:
        raise
    except OSError as error:
        must = f"`{shown(file)}` must be a new file that can be written"
        raise ValueError(f"{must}; got {error.strerror}") from None
    say(f"{shown(file)}: key {made.fingerprint}, which only you can read")
    say("Store it as securely as the original data. Destroy it when no further wave is due.")


@key.command(name="fingerprint", short_help="Print the fingerprint of a key.")
@click.argument("file", type=click.Path(path_type=Path))
def _key_fingerprint(file: Path) -> None:
    """Print the fingerprint of the key in FILE, which holds 64 hexadecimal digits.

    \b
    bistochastic key fingerprint survey.key
    """
    say(read_key(file).fingerprint)


def read_key(file: Path) -> Key:
    """Read the key in a file of hexadecimal digits; warnings about the file go to stderr."""
    import warnings

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = Key.from_file(file)
        except OSError as error:
            must = f"`{shown(file)}` must be a file that can be read"
            raise ValueError(f"{must}; got {error.strerror}") from None
    for warning in said:
        warn(str(warning.message))
    return found
