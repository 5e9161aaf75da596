"""Names that the source of a case may use."""

from __future__ import annotations

import io
import math
import os
import tempfile
import zipfile
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import bistochastic as bs
import bistochastic_survey as sv


class BrokenLawError(Exception):
    """A law that is broken, in words."""


def hold(true: Any, words: str) -> None:
    """Raise unless ``true``."""
    if not true:
        raise BrokenLawError(words)


class Later:
    """A module that is imported when a case names it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def spoil(vector: Any, where: float, value: Any) -> Any:
    """A list with one entry, at this share of it, replaced."""
    if isinstance(vector, np.ndarray | np.generic):
        vector = np.atleast_1d(vector).tolist()
    listed = list(vector) if isinstance(vector, list | tuple) else [vector]
    inner = listed
    if listed and isinstance(listed[0], list):
        inner = listed[min(int(where * len(listed)), len(listed) - 1)]
    if inner:
        inner[min(int(where * len(inner)), len(inner) - 1)] = value
    return listed


def infinite(cost: Any) -> Any:
    """Costs of which one pair is impossible."""
    out = cost.astype(float)
    out[0, 1] = out[1, 0] = math.inf
    return out


def npy(array: Any) -> bytes:
    """An array as a NumPy file."""
    file = io.BytesIO()
    try:
        np.save(file, np.asarray(array), allow_pickle=True)
    except Exception:
        # What cannot be saved gives a file that stops in the middle.
        return file.getvalue()
    return file.getvalue()


def npy_header(header: str) -> bytes:
    """The beginning of a NumPy file with a header of one's own."""
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + min(len(text), 65535).to_bytes(2, "little") + text


def npz(**arrays: Any) -> bytes:
    """Arrays as one NumPy archive."""
    return zipped({f"{name}.npy": npy(array) for name, array in arrays.items()})


def zipped(members: dict[str, bytes]) -> bytes:
    """A zip file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def arrow() -> bytes:
    """People as an Arrow file."""
    import pyarrow as pa

    file = io.BytesIO()
    table = pa.table({"id": [1, 2, 3], "sex": ["F", "M", "M"]})
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return file.getvalue()


def sav(compress: bool) -> bytes:
    """People as a file of SPSS."""
    import polars as pl
    import pyreadstat

    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "people.sav"
        table = pl.DataFrame({"id": [1, 2, 3], "sex": ["F", "M", "M"]})
        pyreadstat.write_sav(table, str(file), compress=compress)
        return file.read_bytes()


def flip(data: bytes, where: float, byte: int) -> bytes:
    """One byte changed."""
    at = int(where * len(data))
    return data[:at] + bytes([byte]) + data[at + 1 :]


def junk(seed: int, length: int) -> bytes:
    """Bytes without any sense."""
    return Random(seed).randbytes(length)


def print_nothing(*_: Any) -> None:
    """A call-back."""


def figure_axes(panels: int) -> Any:
    """Axes to draw into."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure()
    FigureCanvasAgg(figure)
    return list(figure.subplots(1, panels, squeeze=False)[0])


def names(home: Path) -> dict[str, Any]:
    """Everything by name; files go to the folder ``home``."""

    def unused(name: str) -> Path:
        while (home / name).exists():
            name = f"_{name}"
        return home / name

    def path(name: str) -> Path:
        if name == "key" and not (home / "key").exists():
            write("key", b"ab" * 32 + b"\n")
        return home / name

    def write(name: str, data: bytes) -> str:
        file = unused(name)
        file.write_bytes(data)
        file.chmod(0o600)
        return str(file)

    def folder(name: str) -> str:
        place = unused(name)
        place.mkdir()
        return str(place)

    tools: list[Callable[..., Any]] = [
        arrow, sav,
        spoil, infinite, npy, npy_header, npz, zipped, flip, junk, print_nothing, figure_axes, path,
        write, folder,
    ]  # fmt: skip
    return {
        **{tool.__name__: tool for tool in tools},
        "bs": bs,
        "sv": sv,
        "np": np,
        "math": math,
        "os": os,
        "Fraction": Fraction,
        "Decimal": Decimal,
    }
