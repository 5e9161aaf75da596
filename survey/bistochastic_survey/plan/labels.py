"""``Labels``: the declared categories of a column, in the order of their codes.

An integer is the same category however a column holds it: as an integer, as a float that is
whole and below 2^53 in magnitude, or as a string of its plain digits. ``"01"``, ``"+1"``, ``"-0"``
and ``"1.0"`` are not the digits of 1 or 0, and a boolean is no number. :func:`spelling` has this
rule, and nothing else has it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from bistochastic.errors import Refused, RefusedType
from bistochastic_survey import checks
from bistochastic_survey.cached import cached
from bistochastic_survey.wording import Shown, cut, shown

Label = str | int | bool
Kind = Literal["text", "integer", "boolean"]

_KINDS: dict[type, Kind] = {str: "text", int: "integer", bool: "boolean"}
# The integers that an Arrow, polars or NumPy column can hold.
_LEAST, _MOST = -(2**63), 2**63 - 1
# From here on one double represents several integers.
EXACT = 2**53
_DIGITS = re.compile(r"0|-?[1-9][0-9]{0,18}")


@dataclass(frozen=True)
class Labels(Shown):
    """Categories of one kind: strings, integers or booleans.

    Two lists with the same numbers are equal only if their kinds are: ``True`` is not 1.
    """

    values: tuple[Label, ...]
    kind: Kind

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def of(cls, name: str, given: Any) -> Labels:
        """Read what a caller declared; raise ``ValueError`` or ``TypeError`` if it is wrong."""
        must = "be a list of strings, integers or booleans"
        name = shown(name)
        if isinstance(given, str | bytes):
            raise RefusedType(name, must, type(given).__name__)
        values = tuple(_plain(value) for value in checks.items(name, must, given))
        if not values:
            raise Refused(name, "hold at least one category", "none")
        kinds = {_KINDS.get(type(value)) for value in values}
        if len(kinds) > 1 or None in kinds:
            got = " and ".join(sorted({type(value).__name__ for value in values}))
            raise RefusedType(name, f"{must}, all of one kind", got)
        seen: set[Label] = set()
        for value in values:
            if value in seen:
                got = f"'{shown(value)}'" if isinstance(value, str) else str(value)
                raise Refused(name, "be distinct", f"{got} twice")
            seen.add(value)
            if type(value) is int and not _LEAST <= value <= _MOST:
                raise Refused(name, "be below 2^63 in magnitude", "a larger number")
            if isinstance(value, str):
                _check_text(name, value)
        return cls(values, _KINDS[type(values[0])])

    def code(self, value: Any) -> int | None:
        """Find the code of a category in any spelling; None if it is not a category."""
        return self._codes.get(spelling(value))

    def __repr__(self) -> str:
        values = ", ".join(cut([repr(value) for value in self.values]))
        return f"Labels(values=({values}{',' * (len(self) == 1)}), kind={self.kind!r})"

    @cached
    def _codes(self) -> dict[Any, int]:
        return {spelling(value): code for code, value in enumerate(self.values)}

    @cached
    def _respelled(self) -> Labels | None:
        """Strings as the integers that they spell, and the other way round."""
        if self.kind == "integer":
            return Labels(tuple(str(value) for value in self.values), "text")
        found = (plain_integer(str(value)) for value in self.values)
        whole = tuple(number for number in found if number is not None)
        return Labels(whole, "integer") if len(whole) == len(self) else None

    @cached
    def _bounds(self) -> tuple[int, int, bool]:
        """The least and the largest of integers, and whether they are 0, 1, 2, and so on."""
        values = [int(value) for value in self.values]
        return min(values), max(values), values == list(range(len(values)))

    def __getstate__(self) -> dict[str, Any]:
        return {"values": self.values, "kind": self.kind}


def spelled_as(labels: Labels, kind: Kind) -> Labels | None:
    """Convert all categories to strings or to integers, once; None if one cannot be converted."""
    if kind == labels.kind:
        return labels
    if "boolean" in (kind, labels.kind):
        return None
    return labels._respelled


def padded(labels: Labels, many: int) -> Labels:
    """List the categories and then those that are only reported: more integers or strings."""
    if labels.kind == "boolean":
        must = "be strings or integers if some codes are never true"
        raise RefusedType("categories", must, "booleans")
    whole = spelled_as(labels, "integer")
    if whole is None:
        more: tuple[Label, ...] = tuple(f"(unused {i + 1})" for i in range(many))
    else:
        first = max(int(value) for value in whole.values) + 1
        more = tuple(first + i for i in range(many))
        if labels.kind == "text":
            more = tuple(str(value) for value in more)
    return Labels.of("categories", [*labels.values, *more])


def spelling(value: Any) -> str | bool | None:
    """Return what distinguishes categories: the digits of an integer, a string or a boolean."""
    value = _plain(value)
    if type(value) is float and value.is_integer() and abs(value) < EXACT:
        value = int(value)
    if type(value) is int:
        return str(value) if _LEAST <= value <= _MOST else None
    return value if isinstance(value, str | bool) else None


def key(value: Any) -> Any:
    """Return a key that is the same for all spellings of one value."""
    known = spelling(value)
    return value if known is None else known


def plain_integer(text: str) -> int | None:
    """Read an integer in plain digits."""
    number = int(text) if _DIGITS.fullmatch(text) else _MOST + 1
    return number if _LEAST <= number <= _MOST else None


def _plain(value: Any) -> Any:
    if type(value) in _KINDS:
        return value
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind in ("i", "u", "b", "U", "f") and getattr(value, "ndim", 1) == 0:
        return value.item()
    return value


def _check_text(name: str, text: str) -> None:
    if text.endswith("\0"):
        # NumPy would drop it.
        raise Refused(name, "not end in the character U+0000", "one that does")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refused(name, "be Unicode", "half of a surrogate pair") from None
