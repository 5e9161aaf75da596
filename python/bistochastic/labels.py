"""``Labels``: the declared categories of a column, in the order of their codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from bistochastic import _core, arguments
from bistochastic.words import cut, shown

Label = str | int | bool
Kind = Literal["text", "integer", "boolean"]

_KINDS: dict[type, Kind] = {str: "text", int: "integer", bool: "boolean"}
# What an Arrow, polars or NumPy column of whole numbers holds.
_LEAST, _MOST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Labels:
    """Categories of one kind: texts, whole numbers or truth values.

    Two lists with the same numbers are equal only where their kinds are: ``True`` is not 1.

    >>> Labels.of("categories", [False, True]) == Labels.of("categories", [0, 1])
    False
    """

    values: tuple[Label, ...]
    kind: Kind

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def of(cls, name: str, given: Any) -> Labels:
        """What a caller declared; a ``ValueError`` or ``TypeError`` says what is wrong with it.

        >>> Labels.of("categories", ["F", "M"]).kind
        'text'
        >>> Labels.of("categories", ["F", "F"])
        Traceback (most recent call last):
            ...
        ValueError: `categories` must be distinct; got 'F' twice
        """
        must = "be a list of texts, whole numbers or truth values"
        name = shown(name)
        if isinstance(given, str | bytes):
            raise TypeError(f"`{name}` must {must}; got {type(given).__name__}")
        values = tuple(_plain(value) for value in arguments.items(name, must, given))
        if not values:
            raise ValueError(f"`{name}` must hold at least one category; got none")
        kinds = {_KINDS.get(type(value)) for value in values}
        if len(kinds) > 1 or None in kinds:
            got = " and ".join(sorted({type(value).__name__ for value in values}))
            raise TypeError(f"`{name}` must {must}, all of one kind; got {got}")
        seen: set[Label] = set()
        for value in values:
            if value in seen:
                raise ValueError(f"`{name}` must be distinct; got {_quoted(value)} twice")
            seen.add(value)
            if type(value) is int and not _LEAST <= value <= _MOST:
                raise ValueError(f"`{name}` must be below 2^63 in magnitude; got a larger number")
            if isinstance(value, str):
                _readable(name, value)
        return cls(values, _KINDS[type(values[0])])

    def code(self, value: Any) -> int | None:
        """The code of a category, None of what is none.

        >>> Labels.of("categories", [0, 1]).code(True) is None
        True
        """
        value = _plain(value)
        if _KINDS.get(type(value)) != self.kind:
            return None
        return self._codes().get(value)

    def __repr__(self) -> str:
        values = ", ".join(cut([repr(value) for value in self.values]))
        return f"Labels(values=({values}{',' * (len(self) == 1)}), kind={self.kind!r})"

    def _repr_html_(self) -> str:
        from bistochastic.markup import facts, fragment

        pairs = [("kind", self.kind), ("in order of their codes", ", ".join(cut(self.values)))]
        return fragment(facts(pairs, caption=f"{len(self):,} labels"))

    def _codes(self) -> dict[Label, int]:
        # Made once, though the class is frozen: a client asks for one record at a time.
        known = self.__dict__.get("_known")
        if known is None:
            known = {value: code for code, value in enumerate(self.values)}
            object.__setattr__(self, "_known", known)
        return known

    def __getstate__(self) -> dict[str, Any]:
        return {"values": self.values, "kind": self.kind}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)


def texts(labels: Labels) -> _core.Texts:
    """The categories as texts, to be looked up and written many at a time; made once, too."""
    known: _core.Texts | None = labels.__dict__.get("_texts")
    if known is None:
        known = _core.Texts([str(value) for value in labels.values])
        object.__setattr__(labels, "_texts", known)
    return known


def bounds(labels: Labels) -> tuple[int, int, bool]:
    """The least and the largest of whole numbers, and whether they are 0, 1, 2, and so on.

    >>> bounds(Labels.of("categories", [0, 1, 2])), bounds(Labels.of("categories", [7, 5]))
    ((0, 2, True), (5, 7, False))
    """
    known: tuple[int, int, bool] | None = labels.__dict__.get("_bounds")
    if known is None:
        values = [int(value) for value in labels.values]
        known = min(values), max(values), values == list(range(len(values)))
        object.__setattr__(labels, "_bounds", known)
    return known


def _plain(value: Any) -> Any:
    """A number, text or truth value of NumPy's as Python's."""
    if type(value) in _KINDS:
        return value
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind in ("i", "u", "b", "U") and getattr(value, "ndim", 1) == 0:
        return value.item()
    return value


def _readable(name: str, text: str) -> None:
    if text.endswith("\0"):
        # NumPy would drop it.
        raise ValueError(f"`{name}` must not end in the character U+0000; got one that does")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"`{name}` must be Unicode; got half of a surrogate pair") from None


def _quoted(value: Label) -> str:
    """A declared category in a sentence."""
    return f"'{shown(value)}'" if isinstance(value, str) else str(value)
