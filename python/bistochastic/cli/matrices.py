"""Matrices from what is typed: a family with its parameters, or a file."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

from bistochastic import _core, families
from bistochastic.cli.files import is_file, read_table
from bistochastic.cli.numbers import number
from bistochastic.words import shown

if TYPE_CHECKING:
    from bistochastic.matrix import Matrix

# How the text of a parameter is read: a number, a vector, either, or a file with a table.
_NUMBERS = ("size", "k", "epsilon", "beta", "keep", "temperature", "i", "j")
_VECTORS = ("sizes", "targets", "first_row", "kernel", "weights")
_EITHER = ("alphas",)
_TABLES = ("cost", "array")


def value(name: str, text: str) -> Any:
    """Read the value of a parameter from its text."""
    if name == "cost" and text == "ordinal":
        return text
    if name in _TABLES:
        return read_table(text)
    if name in _VECTORS or (name in _EITHER and "," in text):
        return [number(part) for part in text.split(",")]
    return number(text)


def parameters_of(family: str) -> tuple[str, ...]:
    """List the parameters of a family, as its function names them.

    >>> parameters_of("k_anonymous")
    ('size', 'k', 'beta', 'share')
    """
    make = getattr(families, family, None) if family in _core.families() else None
    return () if make is None else tuple(signature(make).parameters)


def from_words(words: str) -> Matrix:
    """Build a matrix from "family name=value name=value", or read it from a file."""
    if is_file(words):
        return families.dense(read_table(words))
    family, *pairs = words.split() or [""]
    given: dict[str, object] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        known = (*_NUMBERS, *_VECTORS, *_EITHER, *_TABLES)
        if not equals or name not in known or name in given:
            got = "no =" if not equals else "a name twice" if name in given else "an unknown name"
            raise ValueError(f"`{shown(pair)}` must be name=value, once for a name; got {got}")
        given[name] = value(name, text)
    return families.build(family, **given)
