"""What is typed: numbers, columns, conditions, and matrices by their parameters or from a file."""

from __future__ import annotations

import csv
import warnings
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from bistochastic import build, dense
from bistochastic.errors import Refused
from bistochastic_survey.wording import shown

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from bistochastic import Matrix

_FILES = (".csv", ".npy", ".npz")
# How the text of a parameter is read: a number, a vector, or a file with a table.
_NUMBERS = ("size", "k", "epsilon", "beta", "keep", "temperature", "i", "j", "alphas")
_VECTORS = ("sizes", "targets", "first_row", "kernel", "weights")
_TABLES = ("cost", "array")


def number(text: str) -> int | float | Fraction:
    """Read a number as it is written: 3, 0.65 or 2/3."""
    try:
        if "/" in text:
            return Fraction(text)
        try:
            return int(text)
        except ValueError:
            return float(text)
    except (ValueError, ZeroDivisionError):
        raise click.BadParameter(f"{text!r} is not a number") from None


def split(option: str, typed: str) -> list[str]:
    """Split at commas; quotes keep a comma, as in CSV."""
    try:
        [found] = csv.reader([typed], strict=True, skipinitialspace=True)
    except (csv.Error, ValueError):
        must = "be names with commas between them"
        raise Refused(f"--{option}", must, "a quote that does not end, or a line end") from None
    return found


def columns_named(option: str, given: Sequence[str], known: Collection[str]) -> list[str]:
    """List the columns that an option names, which may be given several times.

    The name of a column is that column; anything else is split at commas.
    """
    found: list[str] = []
    for typed in given:
        parts = [typed] if typed in known else split(option, typed)
        found += [each if each in known else each.strip() for each in parts]
    return found


def conditions(where: Sequence[str], known: Collection[str]) -> dict[str, list[str]]:
    """Read ``sex=F,M`` as a column and categories; if names have an =, the longest that fits."""
    found: dict[str, list[str]] = {}
    for typed in where:
        fits = [name for name in known if typed.startswith(f"{name}=")]
        column = max(fits, key=len, default=typed.partition("=")[0])
        levels = typed[len(column) + 1 :]
        if "=" not in typed or not column or not levels:
            raise Refused("--where", "be like column=category,category", shown(typed))
        if column in found:
            raise Refused("--where", "name a column once", f"`{shown(column)}` twice")
        found[column] = split("where", levels)
    return found


def value(name: str, text: str) -> Any:
    """Read the value of a parameter from its text."""
    if name == "cost" and text == "ordinal":
        return text
    if name in _TABLES:
        return read_table(text)
    if name in _VECTORS or (name == "alphas" and "," in text):
        return [number(part) for part in text.split(",")]
    return number(text)


def is_file(words: str, endings: tuple[str, ...] = _FILES) -> bool:
    """Whether what was typed names a file rather than a family."""
    return words.lower().endswith(endings) and "=" not in words


def from_words(words: str) -> Matrix:
    """Build a matrix from "family name=value name=value", or read it from a file."""
    if is_file(words):
        return dense(read_table(words))
    family, *pairs = words.split() or [""]
    given: dict[str, object] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or name not in (*_NUMBERS, *_VECTORS, *_TABLES) or name in given:
            got = "no =" if not equals else "a name twice" if name in given else "an unknown name"
            raise Refused(shown(pair), "be name=value, once for a name", got)
        given[name] = value(name, text)
    return build(family, **given)


def read_table(path: str) -> np.ndarray:
    """Read a square table from a CSV, NPY or NPZ file."""
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in _FILES:
        raise _refused(path, f"end in {', '.join(_FILES)}", kind or "no ending")
    if not file.is_file():
        raise _refused(path, "be a file", "none there")
    if kind == ".csv":
        try:
            # A mark at the beginning, as spreadsheets write it, is not a part of the first number.
            text = file.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise _refused(path, "be readable", error.strerror) from None
        except UnicodeDecodeError as error:
            raise _refused(path, "be readable UTF-8 text", f"none at byte {error.start}") from None
        return _csv(path, text.splitlines())
    try:
        # A header is read as Python code, and what Python warns of in there says nothing to a user.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = np.load(file, allow_pickle=False)
            if kind == ".npy":
                return np.asarray(loaded)
            if not isinstance(loaded, np.lib.npyio.NpzFile):
                raise TypeError
            with loaded as arrays:
                found = [np.asarray(arrays[name]) for name in arrays.files]
    except MemoryError:
        raise
    except Exception as error:
        # NumPy's parser raises many errors for a broken header: all mean that it has no numbers.
        got = f"one that NumPy refuses ({type(error).__name__})"
        raise _refused(path, f"be a whole {kind} file of numbers", got) from None
    if len(found) != 1:
        raise _refused(path, "hold one array", len(found))
    return found[0]


def _refused(path: str, must: str, got: object) -> ValueError:
    return Refused(shown(path), must, got)


def _csv(path: str, lines: list[str]) -> np.ndarray:
    rows: list[list[int | float | Fraction]] = []
    for line in (line for line in lines if line.strip()):
        rows.append([])
        for part in line.split(","):
            try:
                rows[-1].append(number(part.strip()))
            except click.BadParameter:
                got = f"none in row {len(rows) - 1}, column {len(rows[-1])}"
                raise _refused(path, "hold numbers", got) from None
    if not rows or len({len(row) for row in rows}) > 1:
        raise _refused(path, "have rows of one length", "several or none")
    if any(isinstance(number, float) for row in rows for number in row):
        return np.asarray([[float(number) for number in row] for row in rows])
    return np.asarray(rows)
