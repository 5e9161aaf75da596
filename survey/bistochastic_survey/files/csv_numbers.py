"""Strings of a file as numbers, days and booleans; numbers digit for digit.

A string is an integer if it is spelled as Python spells one and fits into 64 bits: no zeros in
front, no plus. It is a number if it is a decimal one without zeros in front, and a double keeps
its value: the shortest spelling of the double is the same decimal number.
"""

import re
from decimal import Decimal, InvalidOperation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bistochastic.errors import Refused
from bistochastic_survey.table.arrow_cells import Cells, flags
from bistochastic_survey.table.frames import Mask

_EXPONENT = r"([eE][-+]?[0-9]+)?$"
# How numbers are spelled, and how they may be if the plan says that they are numbers.
_FORM = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?" + _EXPONENT
_LOOSE = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)" + _EXPONENT
_WORDS = {"integer": "integers, as the plan says", "number": "numbers",
          "date": "days such as 2026-01-31",
          "boolean": "booleans, as its categories are"}  # fmt: skip
_TRUTHS = r"^(true|True|TRUE|false|False|FALSE|0|1)$"
# The types of columns by their kind; all others are strings.
TYPES = {
    "integer": pa.int64(),
    "boolean": pa.bool_(),
    "whole": pa.int64(),
    "decimal": pa.float64(),
    "float": pa.float64(),
    "date": pa.date32(),
}
# Every decimal number of this many digits survives a double, and so do integers up to here.
_SHORT, _EXACT = 15, 1 << 53


def typed(texts: Cells, kind: str, name: str, done: int, decimal: str = ".") -> Cells:
    """Return a column of strings as its kind; ``done`` rows were before."""
    if kind == "text":
        return texts
    if kind in ("whole", "decimal"):
        # Every value was looked at before.
        return pointed(texts, decimal).cast(TYPES[kind])
    texts = pc.utf8_trim_whitespace(texts)
    if kind == "date":
        days = pc.strptime(texts, format="%Y-%m-%d", unit="s", error_is_null=True)
        days = days.cast(pa.date32())
        # A day that there is not is read as another one, or not at all.
        same = flags(pc.equal(days.cast(pa.string()), texts))
        check(~(same | flags(pc.is_null(texts))), name, kind, done)
        return days
    if kind in ("number", "float"):
        found, wrong = numbers(pointed(texts, decimal))
        check(wrong, name, "number", done)
        return found.cast(pa.float64()) if kind == "float" else found
    if kind == "integer":
        found = integers(texts)
        if found is None:
            others = [text is not None and not _is_whole(text) for text in texts.to_pylist()]
            check(np.array(others, bool), name, kind, done)
        return found
    check(~flags(pc.match_substring_regex(texts, _TRUTHS), True), name, kind, done)
    true = pc.is_in(texts, value_set=pa.array(["true", "True", "TRUE", "1"]))
    return pc.if_else(pc.is_valid(texts), true, pa.scalar(None, pa.bool_()))


def integers(texts: Cells) -> Cells | None:
    """Read strings as integers; None if one is not spelled as an integer."""
    try:
        found = texts.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    same = pc.all(pc.equal(found.cast(texts.type), texts)).as_py()
    return None if same is False else found


def pointed(texts: Cells, decimal: str) -> Cells:
    """Replace decimal commas by points; a string with a point is not a number then."""
    if decimal == ".":
        return texts
    texts = pc.if_else(pc.match_substring(texts, "."), "x", texts)
    return pc.replace_substring(texts, ",", ".")


def numbers(texts: Cells) -> tuple[Cells, Mask]:
    """Read strings as integers if all of them are, else as doubles; and which are no numbers."""
    wrong = ~flags(pc.match_substring_regex(texts, _LOOSE), True)
    plain = pc.if_else(pa.array(wrong), pa.scalar(None, texts.type), texts)
    try:
        return plain.cast(pa.int64()), wrong
    except pa.ArrowInvalid:
        found = plain.cast(pa.float64())
    return found, wrong | flags(pc.is_inf(found))


def check(wrong: Mask, name: str, kind: str, done: int) -> None:
    """Reject a column with such rows by a sentence with the first; ``done`` rows were before."""
    if wrong.any():
        several = int(wrong.sum())
        got = f"{several} other value{'s' * (several > 1)}"
        where = f"the first in row {done + int(np.argmax(wrong))}"
        raise Refused("", f"hold {_WORDS[kind]}", f"{got}, {where}", column=name)


def _is_whole(text: str) -> bool:
    # Python reads no number of thousands of digits.
    is_plain = len(text) <= 20 and re.fullmatch("0|-?[1-9][0-9]*", text)
    return bool(is_plain) and -(1 << 63) <= int(text) < 1 << 63


def kind(texts: Cells, decimal: str) -> str:
    """What all of some strings are: ``"whole"``, ``"decimal"`` or ``"text"``; ``""`` if missing.

    Whole numbers that may be none as doubles are ``"long"``.
    """
    texts = pointed(texts, decimal).drop_null()
    if not len(texts):
        return ""
    found = integers(texts)
    if found is not None:
        ends = pc.min_max(found).as_py().values()
        return "long" if any(abs(end) > _EXACT for end in ends) else "whole"
    if not pc.all(pc.match_substring_regex(texts, _FORM)).as_py():
        return "text"
    # The others are mostly spelled as their doubles are.
    rest = texts.filter(pc.invert(pc.match_substring_regex(texts, f"^[^eE]{{1,{_SHORT}}}$")))
    rest = rest.filter(pc.not_equal(rest.cast(pa.float64()).cast(pa.string()), rest))
    return "decimal" if all(map(_is_kept, rest.unique().to_pylist())) else "text"


def _is_kept(text: str) -> bool:
    try:
        return Decimal(repr(float(text))) == Decimal(text)
    except InvalidOperation:
        return False


def joined(kinds: set[str]) -> str:
    """What a column is whose parts are of these kinds: ``"whole"``, ``"decimal"`` or ``"text"``."""
    if "text" in kinds or kinds <= {""} or kinds >= {"decimal", "long"}:
        return "text"
    return "decimal" if "decimal" in kinds else "whole"
