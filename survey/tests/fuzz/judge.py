"""Which exceptions, warnings and words are fine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from warnings import WarningMessage

from fuzz.case import Case
from fuzz.hostile import HostileError
from fuzz.values import SECRETS

# A plan says first which column it is about.
SENTENCE = re.compile(
    r"(`[^`\n]+` |columns? `[^`\n]+`(, `[^`\n]+`)*: (`[^`\n]+` )?)must [^\n]*; got [^\n]*[^.\n]"
)
# Python itself, or the boundary, says that a call has other parameters.
_SIGNATURE = re.compile(
    r"(Matrix|Key|Decomposition)?\.?[\w.<>]+\(\) (got|missing|takes) [^\n]*"
    r"|No constructor defined[^\n]*|cannot create '[^\n]*' instances"
)
_KINDS = (ValueError, TypeError, IndexError, OSError, ImportError)
# A reader or writer of files may say what the system says.
_FILES = {"from_file", "to_file", "to_npz"}
# Here Python asks the other object too, which may raise what it likes.
_BOTH = {"equals", "differs", "after", "then"}


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def _lies(case: Case) -> bool:
    return any(f"hostile.{how}" in case.source for how in ("returns", "number", "shrinking"))


def secret(text: str) -> bool:
    """Whether a value of a person or a key is shown."""
    return any(word in text for word in SECRETS)


def of_exception(error: BaseException, case: Case) -> str | None:
    """What is wrong with what was raised, or nothing."""
    name, text = type(error).__name__, str(error)
    if not isinstance(error, Exception):
        return f"panic: {text}" if "Panic" in name else f"{name}: {text}"
    if any(secret(str(one)) for one in _chain(error)):
        return f"a secret is shown by {name}"
    fine = (
        any(isinstance(one, HostileError) for one in _chain(error))
        or isinstance(error, MemoryError)
        or (isinstance(error, _KINDS) and SENTENCE.fullmatch(text))
        or (isinstance(error, TypeError) and _SIGNATURE.fullmatch(text))
        or (isinstance(error, OSError) and error.errno and case.target.name in _FILES)
        # Objects that lie to Python itself are told so by Python.
        or (isinstance(error, TypeError | ValueError | IndexError) and _lies(case))
        or (case.target.name in _BOTH and case.target.kind == "operation")
    )
    return None if fine else f"{name}: {text}"


def of_warnings(warned: list[WarningMessage], case: Case) -> str | None:
    """What is wrong with what was warned of, or nothing: a sentence of our own is fine."""
    if case.target.name in _BOTH and case.target.kind == "operation":
        return None
    for one in warned:
        # A file that NumPy leaves open is closed when it is collected, in any later case.
        if not str(one.message).startswith("`") and one.category is not ResourceWarning:
            return f"{one.category.__name__}: {one.message}"
    return None


def signature(case: Case, what: str) -> str:
    """The same for all failures of one cause, as far as one can tell."""
    short = re.sub(r"0x[0-9a-f]+|\d+", "#", what)
    short = re.sub(r"'[^']*'", "'...'", short)
    short = re.sub(r"not (\w+)$", "not ...", short)
    return f"{case.words}: {short[:160]}"
