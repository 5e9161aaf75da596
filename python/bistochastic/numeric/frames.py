"""A caller's numbers, and frames of any library: columns by name, new frames of that library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bistochastic import arguments
from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sized

    from numpy.typing import NDArray

_MUST = "be a frame (pandas, polars, pyarrow) or a dictionary of columns"
_NUMBERS = frozenset((int, float))


def finite(name: str, given: object) -> np.ndarray:
    """Read an array of finite numbers, in the type of the input."""
    must = "be an array of numbers"
    plain = arguments.array(name, must, given)
    if plain.dtype.kind == "O" or plain.dtype.itemsize > 8:
        plain = arguments.floats(name, must, given, by_code=False)
    if plain.dtype.kind not in "iuf":
        what = f"dtype {plain.dtype}" if plain.ndim else type(given).__name__
        raise TypeError(f"`{name}` must {must}; got {what}")
    if plain.dtype.kind != "f":
        return plain
    _refuse(name, "NaN", np.isnan(plain))
    _refuse(name, "infinite numbers", np.isinf(plain))
    return plain


def _refuse(name: str, what: str, wrong: NDArray[np.bool_]) -> None:
    if wrong.any():
        first = tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
        at = f"position {first[0]}" if len(first) == 1 else str(first)
        got = f"{int(wrong.sum())}, the first at {at}"
        raise ValueError(f"`{name}` must hold no {what}; got {got}")


@dataclass(frozen=True)
class Frame:
    """Columns by name, all of one length."""

    given: object
    argument: str
    columns: dict[Hashable, Sized]
    records: int

    def title(self, name: object) -> str:
        """Name a column in a sentence, by its position if its name is not a string or a number.

        >>> Frame.of("frame", {"age": [1, 2]}).title("age")
        "frame['age']"
        """
        if type(name) in (str, int):
            return f"{self.argument}[{shown(repr(name))}]"
        return f"{self.argument}, column {list(self.columns).index(name)},"

    @staticmethod
    def of(argument: str, given: object) -> Frame:
        """Read the columns of a frame; ``argument`` is what the caller calls it."""
        found = Frame.of_any(argument, given)
        if found is None:
            raise TypeError(f"`{argument}` must {_MUST}; got {type(given).__name__}")
        return found

    @staticmethod
    def of_any(argument: str, given: object) -> Frame | None:
        """Read the columns of a frame; None if it is not one.

        >>> Frame.of_any("X", [[1, 2]]) is None
        True
        """
        from bistochastic.adapters.values import columns_of

        pairs = list(given.items()) if isinstance(given, dict) else columns_of(given)
        if pairs is None:
            return None
        columns = dict(pairs)
        if len(columns) < len(pairs):
            must = f"`{argument}` must have columns of different names"
            raise ValueError(f"{must}; got one name several times")
        if not columns:
            raise ValueError(f"`{argument}` must {_MUST}; got no columns")
        try:
            lengths = {len(column) for column in columns.values()}
        except TypeError:
            raise TypeError(f"`{argument}` must {_MUST}; got a column without a length") from None
        if len(lengths) > 1:
            got = f"{min(lengths)} and {max(lengths)}"
            raise ValueError(f"`{argument}` must hold columns of one length; got {got}")
        return Frame(given, argument, columns, lengths.pop())

    def plain(self, name: Hashable) -> np.ndarray:
        """Read a column as an array with one axis and nothing missing."""
        title, column = self.title(name), self.columns[name]
        if isinstance(column, list | tuple) and not _NUMBERS.issuperset(map(type, column)):
            # NumPy would convert numbers that are next to strings to strings.
            found = np.fromiter(column, dtype=object, count=len(column))
        else:
            found = arguments.array(title, "be a column of values", column)
        self._check(name, found)
        if found.dtype.kind == "f":
            missing = np.isnan(found)
        elif found.dtype.kind in "mM":
            missing = np.isnat(found)
        elif found.dtype.kind == "O":
            items = (item is None or (isinstance(item, float) and item != item) for item in found)
            missing = np.fromiter(items, dtype=bool, count=len(found))
        else:
            return found
        _refuse(title, "missing values", missing)
        return found

    def numbers(self, name: Hashable) -> np.ndarray:
        """Read a column of finite numbers, of the type it came in."""
        found = finite(self.title(name), self.columns[name])
        self._check(name, found)
        return found

    def _check(self, name: object, found: np.ndarray) -> None:
        if found.shape != (self.records,):
            must = f"`{self.title(name)}` must hold one value for each of {self.records} records"
            raise ValueError(f"{must}; got shape {found.shape}")

    def codes(self, name: Hashable) -> tuple[NDArray[np.int64], int]:
        """Read a column as codes from 0 on, and count them.

        >>> Frame.of("frame", {"town": ["b", "a", "b"]}).codes("town")
        (array([0, 1, 0]), 2)
        """
        plain = self.plain(name)
        if plain.dtype.kind in "biufmM":
            values, found = np.unique(plain, return_inverse=True)
            return found.astype(np.int64), len(values)
        known: dict[object, int] = {}
        codes = np.empty(len(plain), dtype=np.int64)
        for i, value in enumerate(plain.tolist()):
            try:
                codes[i] = known.setdefault(value, len(known))
            except TypeError:
                must = f"`{self.title(name)}` must hold values that can be compared"
                raise TypeError(f"{must}; got {type(value).__name__} at position {i}") from None
        return codes, len(known)

    def like(self, columns: Mapping[Hashable, object]) -> object:
        """Make a frame of the same library, without the labels of pandas rows."""
        from bistochastic.adapters import door

        return door.table(self.given, columns)

    def labelled(self, columns: Mapping[Hashable, object]) -> object:
        """Make a frame of the same library, with the labels of pandas rows."""
        from bistochastic.adapters import door

        return door.labelled(self.like(columns), self.given)

    def taken(self, name: Hashable, order: NDArray[np.int64]) -> object:
        """Take the rows of a column in another order, without the labels of pandas rows."""
        from bistochastic.adapters import door

        return door.leaving(self.columns[name], order)

    def named(self, argument: str, given: object) -> list[Hashable]:
        """Check the names of columns that a caller gave: one, several, or a mapping from them."""
        must = f"`{argument}` must name columns of `{self.argument}`"
        single = isinstance(given, str) or (not hasattr(type(given), "__iter__"))
        names = (
            [given] if single else arguments.items(argument, "name columns", given, unordered=True)
        )
        if not names:
            raise ValueError(f"{must}; got none")
        seen = set()
        for i, name in enumerate(names):
            try:
                known = name in self.columns
            except TypeError:
                raise TypeError(f"{must}; got {type(name).__name__} at position {i}") from None
            if not known:
                # Python does not write numbers of thousands of digits.
                short = type(name) is str or (type(name) is int and abs(name) < 1 << 64)
                got = shown(repr(name)) if short else type(name).__name__
                raise ValueError(f"{must}; got {got} at position {i}")
            if name in seen:
                raise ValueError(f"{must}, each once; got one again at position {i}")
            seen.add(name)
        return names
