"""Strings of a CSV file that are numbers, digit for digit.

A string is an integer if it is spelled as Python spells one and fits into 64 bits: no zeros in
front, no plus. It is a number if it is a decimal one without zeros in front, and a double keeps
its value: the shortest spelling of the double is the same decimal number.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bistochastic.errors import Refused
from bistochastic_survey.table.arrow_cells import Cells, flags
from bistochastic_survey.table.arrow_cells import whole as one_chunk
from bistochastic_survey.table.frames import Mask

_EXPONENT = r"([eE][-+]?[0-9]+)?$"
# How numbers are spelled, and how they may be if the plan says that they are numbers.
_FORMS = {False: r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?" + _EXPONENT,
          True: r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)" + _EXPONENT}  # fmt: skip
_WHOLE = {False: r"^(0|-?[1-9][0-9]*)$", True: r"^-?[0-9]+$"}
_WORDS = {"integer": "integers, as its categories are", "number": "numbers",
          "date": "days such as 2026-01-31",
          "boolean": "booleans, as its categories are",
          "exact": "numbers that can be kept digit for digit: whole ones below 2^63 in magnitude, "
                   "or all of them with up to 15 digits"}  # fmt: skip
# Every decimal number of this many digits survives a double.
_SHORT = 15
# So many strings mostly show what all of them are.
_FIRST = 64
_SMALL, _LARGE = 1e-290, 1e290
# Integers up to here are doubles.
_EXACT = 1 << 53
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


def integers(texts: Cells) -> Cells | None:
    """Read strings as integers; None if one is not spelled as an integer."""
    if len(texts) > _FIRST and integers(texts.slice(0, _FIRST)) is None:
        # Strings that cannot be cast are slow, value by value.
        return None
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


def numbers(texts: Cells, decimal: str, *, loose: bool = False) -> tuple[Cells, Mask, Mask]:
    """Strings as numbers: whole ones if all of them are, else doubles; then two masks.

    The first mask marks strings that are not numbers, the second numbers that no double holds.
    ``loose`` allows zeros in front, ``.5`` and ``5.``, for columns that the plan calls numbers.
    """
    texts = pointed(texts, decimal)
    found = integers(texts)
    none = np.zeros(len(texts), bool)
    if found is not None:
        return found, none, none
    wrong = ~flags(pc.match_substring_regex(texts, _FORMS[loose]), True)
    plain = pc.if_else(pa.array(wrong), pa.scalar(None, texts.type), texts)
    if loose and _are_whole(plain.slice(0, _FIRST)) and _are_whole(plain):
        try:
            return plain.cast(pa.int64()), wrong, none
        except pa.ArrowInvalid:
            # Too large for one of them.
            pass
    found = plain.cast(pa.float64())
    return found, wrong, _lost(plain, found)


def _are_whole(texts: Cells) -> bool:
    return bool(flags(pc.match_substring_regex(texts, _WHOLE[True]), True).all())


def _lost(texts: Cells, doubles: Cells) -> Mask:
    """Mark rows whose shortest spelling as a double is another number than the string."""
    kept = flags(pc.less_equal(pc.binary_length(texts), _SHORT), True)
    if not kept.all():
        # Mostly they are spelled the same.
        kept |= flags(pc.equal(doubles.cast(pa.string()), texts), True)
    size = np.abs(np.asarray(doubles.fill_null(1.0)))
    # Beyond these, an exponent may have made nothing of the digits, or too much.
    kept &= (size >= _SMALL) & (size <= _LARGE)
    rest = np.flatnonzero(~kept)
    if len(rest):
        words = one_chunk(texts.take(pa.array(rest))).dictionary_encode()
        known = np.array([_is_kept(text) for text in words.dictionary.to_pylist()], bool)
        kept[rest] = known[words.indices.to_numpy()]
    return ~kept


def _is_kept(text: str) -> bool:
    try:
        return Decimal(repr(float(text))) == Decimal(text)
    except (InvalidOperation, OverflowError):
        return False


def lost_in_doubles(whole_numbers: Cells) -> Mask:
    """Mark integers that change if they become doubles and are spelled again."""
    values = np.asarray(whole_numbers.fill_null(0))
    lost = (values > _EXACT) | (values < -_EXACT)
    large = np.flatnonzero(lost)
    if len(large):
        texts = pa.array(values[large]).cast(pa.string())
        lost[large] = _lost(texts, texts.cast(pa.float64()))
    return lost


def check_in_doubles(parts: list[np.ndarray], name: str) -> None:
    """Reject integers of a column of floats, in parts, that would be other ones as floats."""
    done = 0
    for part in parts:
        if part.dtype.kind in "iu":
            check(lost_in_doubles(pa.array(part)), name, "exact", done)
        done += len(part)


def check(wrong: Mask, name: str, kind: str, done: int) -> None:
    """Reject a column with such rows by a sentence with the first; ``done`` rows were before."""
    if wrong.any():
        several = int(wrong.sum())
        got = f"{several} other value{'s' * (several > 1)}"
        where = f"the first in row {done + int(np.argmax(wrong))}"
        raise Refused("", f"hold {_WORDS[kind]}", f"{got}, {where}", column=name)


def wrong_whole(texts: Cells) -> Mask:
    """Mark strings that are not spelled as an integer of 64 bits."""
    # Python reads no number of thousands of digits.
    return np.array([
        text is not None and not (
            len(text) <= 20 and re.match(_WHOLE[False], text) and _LEAST <= int(text) <= _MOST
        )
        for text in texts.to_pylist()
    ], bool)  # fmt: skip


def kind(texts: Cells, decimal: str) -> str:
    """What all of some strings are: ``"whole"``, ``"decimal"`` or ``"text"``; ``""`` if missing.

    Whole numbers that no double holds are ``"long"``.
    """
    texts = texts.drop_null()
    if not len(texts):
        return ""
    found = integers(texts)
    if found is not None:
        return "long" if lost_in_doubles(found).any() else "whole"
    _found, wrong, lost = numbers(texts, decimal)
    return "text" if wrong.any() or lost.any() else "decimal"


def joined(kinds: set[str]) -> str:
    """What a column is whose parts are of these kinds: ``"whole"``, ``"decimal"`` or ``"text"``."""
    if "text" in kinds or kinds <= {""} or kinds >= {"decimal", "long"}:
        return "text"
    return "decimal" if "decimal" in kinds else "whole"
