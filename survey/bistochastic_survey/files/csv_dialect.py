"""``Dialect``: how a CSV file separates, encodes and spells its cells."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from bistochastic.errors import Refused
from bistochastic_survey import checks
from bistochastic_survey.wording import shown

_TABS = ("tab", "\\t")
_UTF8 = ("utf-8", "utf-8-sig")
# Other characters that separate columns.
_OTHERS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class Dialect:
    """The options of a CSV file.

    ``separator`` is None if it was not given; it is then a comma, and a header that looks as if
    it had another one is rejected.
    """

    separator: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."

    @classmethod
    def of(
        cls, separator: str | None = None, encoding: str = "utf-8", decimal: str = "."
    ) -> Dialect:
        """Read and check a caller's options."""
        checks.of_type("separator", "be a string", separator, str | None)
        checks.of_type("decimal", "be a string", decimal, str)
        if separator in _TABS:
            separator = "\t"
        if separator is not None:
            must = "be one ASCII mark, no quote and no line end"
            if len(separator) != 1:
                raise Refused("separator", must, f"{len(separator)} characters")
            if not separator.isascii() or separator in '"\r\n\0' or separator.isalnum():
                raise Refused("separator", must, shown(repr(separator)))
        if decimal not in (".", ","):
            raise Refused("decimal", "be . or ,", shown(decimal))
        return cls(separator, _codec(encoding), decimal)

    @property
    def mark(self) -> str:
        """The character between two fields."""
        return "," if self.separator is None else self.separator

    @property
    def is_utf8(self) -> bool:
        """Whether the bytes are read as they are."""
        return self.encoding in _UTF8

    def other_separator(self, header: list[str]) -> str | None:
        """Guess the separator of a header that was read as a single name."""
        if self.separator is not None or len(header) != 1:
            return None
        return next((mark for mark in _OTHERS if mark in header[0] and mark != self.mark), None)


def _codec(given: str) -> str:
    must = "be one that Python knows, as utf-8, latin-1, cp1252 or utf-16"
    try:
        found = codecs.lookup(given)
    except (LookupError, ValueError, TypeError, UnicodeError):
        raise Refused("encoding", must, shown(given)) from None
    # Some codecs of Python turn bytes into bytes, or wrap a string into another one.
    if not found._is_text_encoding or found.incrementaldecoder is None:
        raise Refused("encoding", must, shown(given))
    return found.name
