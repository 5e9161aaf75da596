"""Matrices as JSON, for other programs and other machines: :meth:`Matrix.to_json`, ``from_json``.

``schemas/matrix.json`` beside this file is the format as a JSON Schema. What this file knows of the
parameters of a family it reads there.

1. A matrix is written as its family and its realised parameters, with what was requested beside
   them. No number that is sampled is a float, so that every machine reads the same law.
2. Whole numbers up to 2^53 are numbers. Larger ones are text, since many readers would round them.
   Fractions are text, ``"1/3"``. A request may hold floats, and ``"inf"``.
3. A composite lists the matrices that it is made of under ``parts``, each once, the inner ones
   first. ``matrices`` holds places in that list. So a file is never larger than its parts.

A text is read as if a stranger had written it: every fault is one sentence that names its place.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from bistochastic import _core
from bistochastic.errors import OutOfMemoryError
from bistochastic.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from bistochastic.matrix import Matrix

# An object of JSON.
Fields = dict[str, Any]

FORMAT = "bistochastic.matrix"
VERSION = 1
# Up to here every double is a whole number of its own.
_EXACT = 2**53
# A number, the text of one and the place of it in a list take about so many bytes.
_BYTES = 64


def to_json(matrix: Matrix) -> str:
    """The text of :meth:`bistochastic.Matrix.to_json`."""
    # As pickles do: one (family, parameters, requested), or all distinct ones, inner ones first.
    given = matrix.__reduce__()[1]
    laws = given[0] if len(given) == 1 else [given]
    texts: dict[str, int] = {}
    # Equal ones become one, so that equal matrices have equal texts.
    places: list[int] = []
    for family, parameters, requested in laws:
        written = {name: _written(name, value, places) for name, value in parameters.items()}
        asked = {name: _number(value) for name, value in requested.items()}
        law = {"family": family, "parameters": written, "requested": asked}
        places.append(texts.setdefault(json.dumps(law, allow_nan=False), len(texts)))
    *parts, last = texts
    head = f'{{"format": "{FORMAT}", "version": {VERSION}, '
    tail = f', "parts": [{", ".join(parts)}]}}' if parts else "}"
    return head + last[1:-1] + tail


def plain(matrix: Matrix) -> Fields:
    """The same as plain data, for files of which a matrix is a part."""
    found: Fields = json.loads(to_json(matrix))
    return found


def _written(name: str, value: Any, places: list[int]) -> Any:
    if name == "matrices":
        return [places[i] for i in value]
    if isinstance(value, np.ndarray):
        _core.require_memory("to_json", 1, value.size, _BYTES)
        if value.size == 0 or value.max() <= _EXACT:
            return value.tolist()
        value = value.tolist()
    if isinstance(value, list):
        return [_written(name, item, places) for item in value]
    return _number(value)


def _number(value: float | Fraction) -> int | float | str:
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, int):
        return value if abs(value) <= _EXACT else str(value)
    return "inf" if value == np.inf else value


def from_json(text: str) -> Matrix:
    """The matrix of :meth:`bistochastic.Matrix.from_json`."""
    if not isinstance(text, str):
        raise TypeError(f"`text` must be JSON as text; got {type(text).__name__}")
    return read(_parsed(text), "")


def read(data: Any, path: str) -> Matrix:
    """The matrix of :func:`plain`, which stands at this path of a file."""
    laws = ("family", "parameters")
    whole = _fields(path, data, ("format", "version", *laws), ("requested", "parts"))
    if whole["format"] != FORMAT:
        _refuse(_under(path, "format"), f'be "{FORMAT}"', _short(whole["format"]))
    if isinstance(whole["version"], bool) or whole["version"] != VERSION:
        _refuse(_under(path, "version"), f"be {VERSION}", _short(whole["version"]))
    parts, listed = whole.get("parts", []), _under(path, "parts")
    if not isinstance(parts, list):
        _refuse(listed, "be a list of matrices", _kind(parts))
    made: list[Matrix] = []
    held: set[int] = set()
    for i, part in enumerate(parts):
        at = f"{listed}[{i}]"
        made.append(_built(at, _fields(at, part, laws, ("requested",)), made, held))
    matrix = _built(path, whole, made, held)
    for i in range(len(made)):
        if i not in held:
            _refuse(f"{listed}[{i}]", "be held by a matrix after it", "one that none holds")
    return matrix


@cache
def schema() -> Fields:
    """The format as a JSON Schema (draft 2020-12).

    >>> from bistochastic.exchange import schema
    >>> schema()["title"]
    'A bistochastic matrix'
    """
    path = Path(__file__).with_name("schemas") / "matrix.json"
    found: Fields = json.loads(path.read_text(encoding="utf-8"))
    return found


@cache
def _forms() -> dict[str, tuple[dict[str, str], set[str]]]:
    """Of every family its parameters, each with the name of its form, and those it must have."""
    forms = {}
    for law in schema()["$defs"]["law"]["oneOf"]:
        parameters = law["properties"]["parameters"]
        kinds = {
            name: form["$ref"].rpartition("/")[2] for name, form in parameters["properties"].items()
        }
        forms[law["properties"]["family"]["const"]] = (kinds, set(parameters["required"]))
    return forms


def _built(path: str, law: Fields, made: list[Matrix], held: set[int]) -> Matrix:
    """One matrix, of those before it."""
    forms, family = _forms(), law["family"]
    if not isinstance(family, str) or family not in forms:
        _refuse(_under(path, "family"), f"be one of {', '.join(sorted(forms))}", _short(family))
    kinds, needed = forms[family]
    inner = _under(path, "parameters")
    required = tuple(name for name in kinds if name in needed)
    optional = tuple(name for name in kinds if name not in needed)
    given = _fields(inner, law["parameters"], required, optional)
    parameters = {}
    for name, value in given.items():
        below = _under(inner, name)
        if kinds[name] == "places":
            places = _places(below, value, len(made))
            held.update(places)
            parameters[name] = [made[i] for i in places]
        else:
            parameters[name] = _READ[kinds[name]](below, value)
    asked = _under(path, "requested")
    known = tuple(schema()["$defs"]["requested"]["properties"])
    requested = _fields(asked, law.get("requested", {}), (), known)
    requested = {name: _request(_under(asked, name), value) for name, value in requested.items()}
    try:
        matrix = _core.restore(family, parameters, requested)
    except OutOfMemoryError:
        raise
    except (ValueError, TypeError) as error:
        raise ValueError(_placed(path, inner, kinds, str(error))) from None
    # What was asked for is kept by every matrix, so that nobody is told more than it does.
    for name in ("beta", "epsilon"):
        if name in requested:
            try:
                matrix.require(**{name: requested[name]})
            except ValueError:
                got = f"{name} {getattr(matrix, name)}"
                cure = "leave `format`, `version` and `parameters` out to ask for another"
                _refuse(_under(asked, name), "be what the matrix keeps", f"{got}: {cure}")
    return matrix


def _placed(path: str, inner: str, kinds: dict[str, str], sentence: str) -> str:
    """A sentence of the core about a parameter, with the place of that parameter."""
    found = re.match(r"`(\w+)`", sentence)
    if found and found[1] in kinds:
        return f"`{_under(inner, found[1])}`{sentence[found.end() :]}"
    return f"`{path or 'text'}` must hold what its family takes; got a refusal: {sentence}"


# What JSON can be, for a sentence; TOML has times, too.
_KINDS = {
    dict: "an object",
    list: "a list",
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}
# The deepest place is parts[0].parameters.counts[0][0].
_DEEPEST = 16
# A text that does not end goes on to the last character, so that nothing is looked at twice.
_MARKS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]|[\]}]', re.S)
_MANY_DIGITS = re.compile(r"\d{40}")
_WHOLE = re.compile(r"0|[1-9][0-9]{0,38}")
_RATIO = re.compile(r"(0|[1-9][0-9]{0,38})/([1-9][0-9]{0,38})")


class _Odd:
    """Something that JSON lets through, or Python, and that no place may hold."""

    def __init__(self, what: str) -> None:
        self.what = what


class _Twice(_Odd):
    """An object that holds one name twice."""


def _pairs(pairs: list[tuple[str, Any]]) -> Any:
    found: Fields = {}
    for name, value in pairs:
        if name in found:
            return _Twice(name)
        found[name] = value
    return found


def _few_digits(digits: str) -> Any:
    # Python refuses thousands of digits in words of its own, or takes long.
    return int(digits) if len(digits) <= 40 else _Odd(f"a number of {len(digits)} digits")


def _parsed(text: str) -> Any:
    """What a text holds, with things in it that no place may hold marked as such."""
    depth = 0
    for mark in _MARKS.finditer(text):
        first = mark[0][0]
        depth += 1 if first in "[{" else -1 if first in "]}" else 0
        if depth > _DEEPEST:
            got = f"more than {_DEEPEST} levels at character {mark.start()}"
            _refuse("text", "hold lists and objects as deep as the format has them", got)
    digits: Fields = {"parse_int": _few_digits} if _MANY_DIGITS.search(text) else {}
    try:
        return json.loads(text, object_pairs_hook=_pairs, parse_constant=_Odd, **digits)
    except json.JSONDecodeError as error:
        end = error.pos >= len(text.rstrip())
        got = "a text that ends too soon" if end else f"a fault at character {error.pos}"
    _refuse("text", "be JSON", got)


def _refuse(path: str, must: str, got: str) -> NoReturn:
    raise ValueError(f"`{path or 'text'}` must {must}; got {got}") from None


def _under(path: str, name: str) -> str:
    name = shown(name if len(name) <= 40 else f"{name[:40]}...")
    return f"{path}.{name}" if path else name


def _kind(given: Any) -> str:
    return given.what if isinstance(given, _Odd) else _KINDS.get(type(given), type(given).__name__)


def _short(given: object) -> str:
    """A word or a number itself, if it is short; what it is, of anything else."""
    if isinstance(given, str) and len(given) <= 40:
        return shown(repr(given))
    return str(given) if type(given) is int else _kind(given)


def _fields(path: str, given: Any, required: tuple[str, ...], optional: tuple[str, ...]) -> Fields:
    """An object with these names, and no others."""
    if isinstance(given, _Twice):
        _refuse(_under(path, given.what), "be given once", "it again")
    if not isinstance(given, dict):
        _refuse(path, "be an object", _kind(given))
    known = (*required, *optional)
    for name in given:
        if name not in known:
            _refuse(_under(path, name), f"be one of {', '.join(known)}", "an unknown name")
    for name in required:
        if name not in given:
            _refuse(_under(path, name), "be given", "nothing")
    return given


def _whole(path: str, given: object) -> int:
    if isinstance(given, str) and _WHOLE.fullmatch(given) and int(given) < 2**63:
        return int(given)
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    if type(given) is int and 0 <= given <= _EXACT:
        return given
    beyond = type(given) is int and given > 0
    must = "be a whole number from 0 to below 2^63, beyond 2^53 as text"
    _refuse(path, must, "a number beyond 2^53" if beyond else _short(given))


def _wholes(path: str, given: object) -> list[int]:
    if not isinstance(given, list):
        _refuse(path, "be a list of whole numbers", _kind(given))
    # Almost always, and many times faster than one by one.
    if set(map(type, given)) == {int} and min(given) >= 0 and max(given) <= _EXACT:
        return given
    return [_whole(f"{path}[{i}]", item) for i, item in enumerate(given)]


def _vector(path: str, given: object) -> Any:
    return np.array(_wholes(path, given), dtype=np.int64)


def _table(path: str, given: object) -> Any:
    if not isinstance(given, list) or not given:
        _refuse(path, "be a list of rows", "an empty one" if given == [] else _kind(given))
    rows = [_wholes(f"{path}[{i}]", row) for i, row in enumerate(given)]
    for i, row in enumerate(rows):
        if len(row) != len(rows):
            _refuse(f"{path}[{i}]", f"hold {len(rows)} numbers, one per row", str(len(row)))
    return np.array(rows, dtype=np.int64)


def _fraction(path: str, given: object) -> Fraction:
    found = _RATIO.fullmatch(given) if isinstance(given, str) else None
    if not found:
        _refuse(path, 'be a fraction as text, as in "1/3"', _short(given))
    return Fraction(int(found[1]), int(found[2]))


def _fractions(path: str, given: object) -> list[Fraction]:
    if not isinstance(given, list):
        _refuse(path, "be a list of fractions", _kind(given))
    return [_fraction(f"{path}[{i}]", item) for i, item in enumerate(given)]


def _alphas(path: str, given: object) -> Any:
    return _vector(path, given) if isinstance(given, list) else _whole(path, given)


def _places(path: str, given: object, before: int) -> list[int]:
    places = _wholes(path, given)
    for i, place in enumerate(places):
        if place >= before:
            must = f"be the place of one of the {before} parts before it"
            _refuse(f"{path}[{i}]", must, str(place))
    return places


def _request(path: str, given: object) -> int | float | Fraction:
    """A number as it was asked for."""
    if given == "inf":
        return float("inf")
    if type(given) is float and np.isfinite(given):
        return given
    if type(given) is int and abs(given) <= _EXACT:
        return given
    if isinstance(given, str) and _WHOLE.fullmatch(given) and int(given) < 2**127:
        return int(given)
    if isinstance(given, str) and _RATIO.fullmatch(given):
        fraction = _fraction(path, given)
        if max(fraction.numerator, fraction.denominator) < 2**127:
            return fraction
    _refuse(path, "be a number, a fraction as text or inf", _short(given))


_READ: dict[str, Callable[[str, Any], Any]] = {
    "whole": _whole,
    "wholes": _vector,
    "alphas": _alphas,
    "table": _table,
    "fraction": _fraction,
    "fractions": _fractions,
}
