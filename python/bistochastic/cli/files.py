"""Square tables from files: CSV, NPY, NPZ, Matrix Market."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bistochastic.cli import matrix_market
from bistochastic.cli.numbers import number
from bistochastic.words import shown

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np


_FILES = (".csv", ".npy", ".npz", ".mtx")


def is_file(words: str) -> bool:
    """Whether what was typed names a file rather than a family."""
    return words.lower().endswith(_FILES) and "=" not in words


def read_table(path: str) -> np.ndarray:
    """Read a square table from a CSV, NPY, NPZ or Matrix Market file."""
    import warnings

    import numpy as np

    file = Path(path)
    kind = file.suffix.lower()
    if kind not in _FILES:
        raise ValueError(
            f"`{shown(path)}` must end in {', '.join(_FILES)}; got {kind or 'no ending'}"
        )
    if not file.is_file():
        raise ValueError(f"`{shown(path)}` must be a file; got none there")
    if kind == ".csv":
        return _csv(file)
    if kind == ".mtx":
        return matrix_market.read(file)
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
        raise ValueError(
            f"`{shown(path)}` must be a whole {kind} file of numbers; got {got}"
        ) from None
    if len(found) != 1:
        raise ValueError(f"`{shown(path)}` must hold one array; got {len(found)}")
    return found[0]


def _csv(file: Path) -> np.ndarray:
    import numpy as np

    try:
        # A mark at the beginning, as spreadsheets write it, is not a part of the first number.
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f"`{shown(file)}` must be readable; got {error.strerror}") from None
    except UnicodeDecodeError as error:
        got = f"none at byte {error.start}"
        raise ValueError(f"`{shown(file)}` must be readable UTF-8 text; got {got}") from None
    rows: list[list[int | float | Fraction]] = []
    for line in (line for line in text.splitlines() if line.strip()):
        row: list[int | float | Fraction] = []
        for part in line.split(","):
            try:
                row.append(number(part.strip()))
            except click.BadParameter:
                got = f"none in row {len(rows)}, column {len(row)}"
                raise ValueError(f"`{shown(file)}` must hold numbers; got {got}") from None
        rows.append(row)
    if not rows or len({len(row) for row in rows}) > 1:
        raise ValueError(f"`{shown(file)}` must have rows of one length; got several or none")
    numbers = [number for row in rows for number in row]
    if any(isinstance(number, float) for number in numbers):
        return np.asarray([[float(number) for number in row] for row in rows])
    return np.asarray(rows)
