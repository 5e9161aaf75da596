"""Matrices as JSON, for other programs and other machines: :meth:`Matrix.to_json`, ``from_json``.

``schemas/matrix.json`` beside this file is the format as a JSON Schema. What this file knows of the
parameters of a family it reads there.

1. A matrix is written as its family and its realized parameters, with what was requested beside
   them. No number that is sampled is a float, so that every machine reads the same law.
2. Integers up to 2^53 are numbers. Larger ones are text, since many readers would round them.
   Fractions are text, ``"1/3"``. A request may hold floats, and ``"inf"``.
3. A composite lists the matrices that it is made of under ``parts``, each once, the inner ones
   first. ``matrices`` holds places in that list. So a file is never larger than its parts.

A string is read as if a stranger had written it: every fault is one sentence that names its place.
"""

import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bistochastic import _core
from bistochastic.arguments import meant
from bistochastic.errors import OutOfMemoryError, Refused, RefusedType
from bistochastic.formatting import shown
from bistochastic.matrix import Matrix

# An object of JSON.
Fields = dict[str, Any]

FORMAT = "bistochastic.matrix"
VERSION = 1
# Up to here every double is an integer of its own.
EXACT = 2**53
# A number, its spelling and its place in a list need about this many bytes.
_BYTES = 64


def to_json(matrix: Matrix) -> str:
    """Write the string of :meth:`bistochastic.Matrix.to_json`."""
    # As pickles do: one (family, parameters, requested), or all distinct ones, inner ones first.
    given = matrix.__reduce__()[1]
    laws = given[0] if len(given) == 1 else [given]
    texts: dict[str, int] = {}
    # Equal ones become one, so equal matrices have equal strings.
    places: list[int] = []
    for family, parameters, requested in laws:
        written = {
            name: [places[i] for i in value] if name == "matrices" else _written(value)
            for name, value in parameters.items()
        }
        asked = {name: _written(value) for name, value in requested.items()}
        law = {"family": family, "parameters": written, "requested": asked}
        places.append(texts.setdefault(json.dumps(law, allow_nan=False), len(texts)))
    *parts, last = texts
    head = f'{{"format": "{FORMAT}", "version": {VERSION}, '
    tail = f', "parts": [{", ".join(parts)}]}}' if parts else "}"
    return head + last[1:-1] + tail


def _written(value: Any) -> object:
    if isinstance(value, np.ndarray):
        _core.require_memory("to_json", 1, value.size, _BYTES)
        if value.size == 0 or value.max() <= EXACT:
            return value.tolist()
        value = value.tolist()
    if isinstance(value, list):
        return [_written(item) for item in value]
    # A string if JSON might lose digits of a number, or has none.
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, int):
        return value if abs(value) <= EXACT else str(value)
    return value if math.isfinite(value) else str(value)


def headed(here: "Here", form: str, needed: tuple[str, ...], more: tuple[str, ...] = ()) -> None:
    """Check the names of the fields, the format and its version."""
    # Fields of another format, such as that of a channel, are not merely unknown.
    here.table()
    if "format" in here and here["format"].value != form:
        raise here["format"].refuse(f'be "{form}"')
    here.keys(("format", "version", *needed), more)
    version = here["version"]
    if isinstance(version.value, bool) or version.value != VERSION:
        raise version.refuse(f"be {VERSION}")


def from_json(text: str) -> Matrix:
    """Read the matrix of :meth:`bistochastic.Matrix.from_json`."""
    here, laws = parsed(text), ("family", "parameters")
    headed(here, FORMAT, laws, ("requested", "parts"))
    listed = here["parts"].items("be a list of matrices") if "parts" in here else []
    made: list[Matrix] = []
    held: set[int] = set()
    for part in listed:
        part.keys(laws, ("requested",))
        made.append(_built(part, made, held))
    matrix = _built(here, made, held)
    for i, part in enumerate(listed):
        if i not in held:
            raise part.refuse("be held by a matrix after it", "one that none holds")
    return matrix


@cache
def schema() -> Fields:
    """Return the format as a JSON Schema (draft 2020-12)."""
    path = Path(__file__).with_name("schemas") / "matrix.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


def _built(here: "Here", made: list[Matrix], held: set[int]) -> Matrix:
    forms, family = _core.families(), here["family"].value
    if not isinstance(family, str) or family not in forms:
        near = meant(family, forms) if isinstance(family, str) else ""
        must = f"be one of {', '.join(sorted(forms))}"
        raise here["family"].refuse(must, here["family"].short + near)
    kinds = {name: form.removeprefix("optional ") for name, form in forms[family]}
    more = tuple(name for name, form in forms[family] if form.startswith("optional "))
    inner = here["parameters"]
    inner.keys(tuple(name for name in kinds if name not in more), more)
    parameters: dict[str, object] = {}
    for name in inner.value:
        if kinds[name] == "places":
            places = _wholes(inner[name])
            for place, item in zip(places, inner[name].items(), strict=True):
                if place >= len(made):
                    must = f"be the place of one of the {len(made)} parts before it"
                    raise item.refuse(must, str(place))
            held.update(places)
            parameters[name] = [made[i] for i in places]
        else:
            parameters[name] = _READ[kinds[name]](inner[name])
    asked = here["requested"] if "requested" in here else here.below("requested", {})
    asked.keys((), tuple(schema()["$defs"]["requested"]["properties"]))
    requested: dict[str, Any] = {name: _request(asked[name]) for name in asked.value}
    try:
        matrix = _core.restore(family, parameters, requested)
    except OutOfMemoryError:
        raise
    except (ValueError, TypeError) as error:
        if str(getattr(error, "name", "")).startswith("BISTOCHASTIC_"):
            raise
        if isinstance(error, Refused | RefusedType) and error.name in kinds:
            # About a parameter: say where that is.
            raise inner.below(error.name, None).refuse(error.must, error.got) from None
        raise here.refuse("hold what its family takes", f"a refusal: {error}") from None
    # Every matrix keeps the request, so no reader is promised more than it does.
    for name in ("beta", "epsilon", "row_beta", "column_beta"):
        if name in requested:
            try:
                matrix.require(**{name: requested[name]})
            except ValueError:
                got = f"{name} {getattr(matrix, name, 'below it')}"
                cure = "leave `format`, `version` and `parameters` out to ask for another"
                must = "be what the matrix keeps"
                raise asked[name].refuse(must, f"{got}: {cure}") from None
    return matrix


# The types of JSON in words.
_KINDS = {
    dict: "an object",
    list: "a list",
    str: "text",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}
_MANY_DIGITS = re.compile(r"\d{40}")
_WHOLE = re.compile(r"0|[1-9][0-9]{0,38}")
_RATIO = re.compile(r"(0|[1-9][0-9]{0,38})/([1-9][0-9]{0,38})")


def _object(pairs: list[tuple[str, object]]) -> Fields:
    found: Fields = {}
    for name, value in pairs:
        if name in found:
            raise Refused(shown(name[:40]), "be given once", "it again")
        found[name] = value
    return found


def _whole_number(digits: str) -> int:
    # Python rejects thousands of digits with its own message, or is slow.
    if len(digits) > 40:
        raise Refused("text", "hold numbers of at most 40 digits", f"{len(digits)}")
    return int(digits)


def _finite(digits: str) -> float:
    found = float(digits)
    if not math.isfinite(found):
        raise Refused("text", "hold numbers that are finite", digits[:40])
    return found


def parsed(text: object) -> "Here":
    """Parse a string, and refuse what JSON or Python accepts and no field may hold."""
    if not isinstance(text, str):
        raise RefusedType("text", "be JSON as text", type(text).__name__)
    try:
        return Here(json.loads(
            text, object_pairs_hook=_object, parse_constant=_finite, parse_float=_finite,
            parse_int=_whole_number if _MANY_DIGITS.search(text) else None,
        ))  # fmt: skip
    except RecursionError:
        must = "hold lists and objects as deep as the format has them"
        raise Refused("text", must, "thousands of levels") from None
    except json.JSONDecodeError as error:
        end = error.pos >= len(text.rstrip())
        at = f"a fault in line {error.lineno}, column {error.colno}"
        raise Refused("text", "be JSON", "a string that ends too soon" if end else at) from None


class Here:
    """Plain data at one place of a file, and the path to it."""

    def __init__(self, value: Any, path: str = "") -> None:
        self.value = value
        self.path = path

    def refuse(self, must: str, got: str | None = None) -> ValueError:
        """Make the error that says what this must be and, unless ``got`` is given, what it is."""
        return Refused(self.path or "text", must, got or self.short)

    @property
    def kind(self) -> str:
        """The type of the data in words."""
        return _KINDS[type(self.value)]

    @property
    def short(self) -> str:
        """A word or a number itself, if it is short; what it is, of anything else."""
        if isinstance(self.value, str) and len(self.value) <= 40:
            return shown(repr(self.value))
        return str(self.value) if type(self.value) is int else self.kind

    def below(self, name: str, value: Any) -> "Here":
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
        for name in self.value:
            if name not in known:
                must = f"be one of {', '.join(known)}"
                raise self.below(name, None).refuse(must, f"an unknown name{meant(name, known)}")
        for name in needed:
            self[name]

    def __contains__(self, name: str) -> bool:
        return name in self.value

    def __getitem__(self, name: str) -> "Here":
        self.table()
        if name not in self:
            raise self.below(name, None).refuse("be given", "nothing")
        return self.below(name, self.value[name])

    def items(self, must: str = "be a list") -> "list[Here]":
        """Return the items of a list."""
        if not isinstance(self.value, list):
            raise self.refuse(must, self.kind)
        return [Here(value, f"{self.path}[{i}]") for i, value in enumerate(self.value)]


def _whole(here: "Here") -> int:
    given = here.value
    if isinstance(given, str) and _WHOLE.fullmatch(given) and int(given) < 2**63:
        return int(given)
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if type(given) is int and 0 <= given <= EXACT:
        return given
    beyond = type(given) is int and given > 0
    must = "be an integer from 0 to below 2^63, beyond 2^53 as text"
    raise here.refuse(must, "a number beyond 2^53" if beyond else None)


def _wholes(here: "Here") -> list[int]:
    given = here.value
    # Almost always, and many times faster than one by one.
    listed: list[int] = given if isinstance(given, list) else []
    if set(map(type, listed)) == {int} and min(listed) >= 0 and max(listed) <= EXACT:
        return listed
    return [_whole(item) for item in here.items("be a list of integers")]


def _table(here: "Here") -> np.ndarray:
    if here.value == []:
        raise here.refuse("be a list of rows", "an empty one")
    listed = here.items("be a list of rows")
    rows = [_wholes(row) for row in listed]
    for at, row in zip(listed, rows, strict=True):
        if len(row) != len(rows):
            raise at.refuse(f"hold {len(rows)} numbers, one per row", str(len(row)))
    return np.array(rows, dtype=np.int64)


def ratio(here: "Here") -> Fraction:
    """Read a fraction."""
    found = _RATIO.fullmatch(here.value) if isinstance(here.value, str) else None
    if not found:
        raise here.refuse('be a fraction as text, as in "1/3"')
    return Fraction(int(found[1]), int(found[2]))


def _request(here: "Here") -> int | float | Fraction:
    given = here.value
    if given == "inf":
        return float("inf")
    if type(given) is float and math.isfinite(given):
        return given
    if type(given) is int and abs(given) <= EXACT:
        return given
    if isinstance(given, str) and _WHOLE.fullmatch(given) and int(given) < 2**127:
        return int(given)
    if isinstance(given, str) and _RATIO.fullmatch(given):
        fraction = ratio(here)
        if max(fraction.numerator, fraction.denominator) < 2**127:
            return fraction
    raise here.refuse("be a number, a fraction as text or inf")


# By the names of the forms in the schema.
_READ: dict[str, Callable[[Here], object]] = {
    "whole": _whole,
    "wholes": lambda here: np.array(_wholes(here), dtype=np.int64),
    "alphas": lambda here: _READ["wholes" if isinstance(here.value, list) else "whole"](here),
    "table": _table,
    "fraction": ratio,
    "fractions": lambda here: [ratio(item) for item in here.items("be a list of fractions")],
}
