"""``key``: written to a file, told apart by fingerprints."""

from __future__ import annotations

from pathlib import Path

import click

from bistochastic._core import Key
from bistochastic.cli.group import main, say
from bistochastic.words import shown


@main.group()
def key() -> None:
    """Make and identify keys. Whoever holds a key can undo the releases made with it."""


@key.command(name="new")
@click.argument("file", type=click.Path(path_type=Path))
def _key_new(file: Path) -> None:
    """Write a fresh key to FILE and print its fingerprint. FILE must not exist yet.

    \b
    bistochastic key new survey.key
    """
    fresh = Key.generate()
    try:
        fresh.to_file(file)
    except FileExistsError:
        raise
    except OSError as error:
        must = f"`{shown(file)}` must be a new file that can be written"
        raise ValueError(f"{must}; got {error.strerror}") from None
    say(f"{shown(file)}: key {fresh.fingerprint}, readable by you alone")
    say("Keep it as confidential as the original data; destroy it when no wave is due.")


@key.command(name="fingerprint")
@click.argument("file", type=click.Path(path_type=Path))
def _key_fingerprint(file: Path) -> None:
    """Print the fingerprint of the key in FILE, which holds 64 hexadecimal digits.

    \b
    bistochastic key fingerprint survey.key
    """
    say(read_key(file).fingerprint)


def read_key(file: Path) -> Key:
    """The key in a file, of hexadecimal digits alone; what is to say of the file goes to stderr."""
    import warnings

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = Key.from_file(file)
        except OSError as error:
            must = f"`{shown(file)}` must be a file that can be read"
            raise ValueError(f"{must}; got {error.strerror}") from None
    for warning in said:
        say(f"Warning: {warning.message}", err=True)
    return found
