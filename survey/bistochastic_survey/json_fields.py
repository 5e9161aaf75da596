"""Fields of JSON and TOML, read as if a stranger had written them: each fault names its place."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from bistochastic.errors import Refused
from bistochastic_survey.checks import of_type
from bistochastic_survey.wording import meant, shown

# An object of JSON.
Fields = dict[str, Any]
# Fields of plans and certificates that had other names once. Files under those are still read.
OLDER = {
    "groups": "strata", "how": "release", "categories_from_data": "domain_from_data",
    "release_name": "release", "stored": "kept", "group": "stratum", "notes": "statements",
    "unprotected_columns": "columns_in_clear", "published_unchanged": "in_clear",
}  # fmt: skip
# Each composite inside another adds three levels.
_DEEPEST = 256
# A string that does not end goes on to the last character, so nothing is read twice.
_MARKS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]|[\]}]', re.S)
_LONG = re.compile(r"\d{40}")
# The types of JSON in words; TOML has times, too.
_KINDS = {
    dict: "an object", list: "a list", str: "text", int: "an integer", float: "a number",
    bool: "true or false", type(None): "null",
}  # fmt: skip


def _pairs(pairs: list[tuple[str, object]]) -> object:
    found, many = dict(pairs), Counter(name for name, _value in pairs)
    return found if len(found) == len(pairs) else _Odd(many.most_common(1)[0][0], twice=True)


class _Odd(NamedTuple):
    """What JSON or Python accepts and no field may hold, or a name that an object has twice."""

    what: str
    twice: bool = False


def parsed(text: str) -> Any:
    """Parse a string: no name twice, no NaN, not too deep."""
    of_type("text", "be a string", text, str)
    depth, here = 0, Here(text)
    for mark in _MARKS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(mark[0][0], 0)
        if depth > _DEEPEST:
            got = f"more than {_DEEPEST} levels at character {mark.start()}"
            raise here.refuse("hold lists and objects as deep as the format has them", got)
    hooks: Fields = {"object_pairs_hook": _pairs, "parse_constant": _Odd}
    if _LONG.search(text):
        # Python rejects thousands of digits with its own message, or is slow.
        hooks["parse_int"] = lambda n: (
            int(n) if len(n) <= 40 else _Odd(f"a number of {len(n)} digits")
        )
    try:
        found = json.loads(text, **hooks)
    except json.JSONDecodeError as error:
        end = error.pos >= len(text.rstrip())
        at = f"a fault in line {error.lineno}, column {error.colno}"
        raise here.refuse("be JSON", "a string that ends too soon" if end else at) from None
    _refuse_odd(Here(found))
    return found


def _refuse_odd(here: Here) -> None:
    value = here.value
    if isinstance(value, _Odd) and value.twice:
        raise here.below(value.what, None).refuse("be given once", "it again")
    if isinstance(value, _Odd) or value in (math.inf, -math.inf):
        odd = value.what if isinstance(value, _Odd) else "a number beyond all floats"
        raise here.refuse("be a value of JSON", odd)
    if isinstance(value, dict):
        for name, below in value.items():
            _refuse_odd(here.below(name, below))
    elif isinstance(value, list) and not {str, int}.issuperset(map(type, value)):
        for item in here.items():
            _refuse_odd(item)


@dataclass(frozen=True)
class Here:
    """Plain data at one place of a file, and the path to it."""

    value: Any
    path: str = ""

    def refuse(self, must: str, got: str | None = None) -> ValueError:
        """Make the error that says what this must be and, unless ``got`` is given, what it is."""
        if got is None:
            is_short = isinstance(self.value, str) and len(self.value) <= 40
            plain = str(self.value) if type(self.value) is int else self.kind
            got = shown(repr(self.value)) if is_short else plain
        return Refused(self.path or "text", must, got)

    @property
    def kind(self) -> str:
        """The type of the data in words."""
        return _KINDS.get(type(self.value), type(self.value).__name__)

    def below(self, name: str, value: Any) -> Here:
        """Return the data of a field."""
        name = shown(name if len(name) <= 40 else f"{name[:40]}...")
        return Here(value, f"{self.path}.{name}" if self.path else name)

    def table(self) -> None:
        """Reject anything but an object."""
        if not isinstance(self.value, dict):
            raise self.refuse("be an object", self.kind)

    def keys(self, needed: tuple[str, ...], more: tuple[str, ...] = ()) -> None:
        """Reject anything but an object that has all required fields and no unknown ones."""
        self.table()
        known = (*needed, *more)
        older = {OLDER[name]: name for name in known if name in OLDER}
        for name in self.value:
            if older.get(name) in self.value:
                got = f"`{older[name]}`, too"
                raise self.below(name, None).refuse("be given under one name", got)
            if name not in known and name not in older:
                must = f"be one of {', '.join(known)}"
                raise self.below(name, None).refuse(must, f"an unknown name{meant(name, known)}")
        for name in needed:
            self[name]

    def __contains__(self, name: str) -> bool:
        return name in self.value or OLDER.get(name) in self.value

    def __getitem__(self, name: str) -> Here:
        self.table()
        if name not in self:
            raise self.below(name, None).refuse("be given", "nothing")
        name = name if name in self.value else OLDER[name]
        return self.below(name, self.value[name])

    def items(self) -> list[Here]:
        """Return the items of a list."""
        if not isinstance(self.value, list):
            raise self.refuse("be a list", self.kind)
        return [Here(value, f"{self.path}[{i}]") for i, value in enumerate(self.value)]

    def _of(self, kind: type, must: str) -> Any:
        if type(self.value) is not kind:
            raise self.refuse(must, self.kind)
        return self.value

    def text(self) -> str:
        """Read a string."""
        return str(self._of(str, "be a string"))

    def texts(self) -> list[str]:
        """Read a list of strings."""
        return [item.text() for item in self.items()]

    def flag(self) -> bool:
        """Read a boolean."""
        return bool(self._of(bool, "be true or false"))

    def whole(self, least: int, most: int) -> int:
        """Read an integer within bounds."""
        found = int(self._of(int, "be an integer"))
        if not least <= found <= most:
            raise self.refuse(f"be from {least} to {most}", shown(found))
        return found
