"""Square matrices from Matrix Market files, the text format of sparse matrix collections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bistochastic import arguments
from bistochastic.words import shown

if TYPE_CHECKING:
    from pathlib import Path


_FORMATS = ("coordinate", "array")
_FIELDS = ("real", "integer", "pattern")
_SYMMETRIES = ("general", "symmetric")


def read(path: Path) -> np.ndarray:
    """Read the matrix in ``path``: integers if the file says integer or pattern, else doubles.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "m.mtx"
    >>> text = "%%MatrixMarket matrix coordinate integer symmetric\\n2 2 2\\n1 1 3\\n2 1 1\\n"
    >>> _ = path.write_text(text)
    >>> read(path)
    array([[3, 1],
           [1, 0]])
    """

    def refuse(must: str, got: object) -> ValueError:
        return ValueError(f"`{shown(path)}` must {must}; got {got}")

    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise refuse("be readable UTF-8 text", error.strerror) from None
    except UnicodeDecodeError as error:
        raise refuse("be readable UTF-8 text", f"none at byte {error.start}") from None
    header = lines[0].lower().split() if lines else []
    if len(header) != 5 or header[:2] != ["%%matrixmarket", "matrix"]:
        must = 'begin with the words "%%MatrixMarket matrix" and three more'
        got = "other words" if len(header) == 5 else f"{len(header)} words"
        raise refuse(must, f"{got} in line 1")
    form, field, symmetry = header[2:]
    for word, known in ((form, _FORMATS), (field, _FIELDS), (symmetry, _SYMMETRIES)):
        if word not in known:
            raise refuse(f"be {' or '.join(known)}", shown(word))
    rows = [(i, line.split()) for i, line in enumerate(lines, 1) if line.strip()]
    rows = [(i, words) for i, words in rows[1:] if not words[0].startswith("%")]
    kind: type[int] | type[float] = float if field == "real" else int
    try:
        shape = [int(word) for word in rows[0][1]]
    except (IndexError, ValueError):
        raise refuse("give its size after the header", "none") from None
    if len(shape) != (3 if form == "coordinate" else 2) or shape[0] != shape[1] or shape[0] < 1:
        raise refuse("be square", " x ".join(map(str, shape[:2])))
    size, entries = shape[0], rows[1:]
    if size > 1 << 16:
        raise refuse("have at most 65536 rows", size)
    # By columns, as the array format lists them; of a symmetric one the lower triangle.
    half = symmetry == "symmetric"
    listed = size * (size + 1) // 2 if half else size * size
    expected = shape[2] if form == "coordinate" else listed
    if len(entries) != expected:
        raise refuse(f"hold {expected} entries", len(entries))
    # Checked before memory is requested: a row without an entry cannot sum to 1. Half a matrix
    # needs half as many, since an entry off the diagonal serves two rows.
    least = (size + 1) // 2 if half else size
    if len(entries) < least:
        raise refuse(f"hold at least {least} entries, since no row may be empty", len(entries))
    places = ((u, v) for v in range(size) for u in range(v if half else 0, size))
    matrix = arguments.zeros("matrix", size, np.int64 if kind is int else np.float64)
    for line, words in entries:
        try:
            if form == "coordinate":
                u, v = int(words[0]) - 1, int(words[1]) - 1
                number = 1 if field == "pattern" else kind(words[2])
            else:
                (u, v), number = next(places), kind(words[0])
            if not (0 <= u < size and 0 <= v < size):
                raise IndexError
            # As Python's own numbers: a sum that 64 bits do not hold raises an error instead of
            # wrapping.
            matrix[u, v] = matrix[u, v].item() + number
            if half and u != v:
                matrix[v, u] = matrix[v, u].item() + number
        except (IndexError, ValueError, OverflowError):
            raise refuse(
                "hold entries of the kind it says", f"one that is not in line {line}"
            ) from None
    return matrix
