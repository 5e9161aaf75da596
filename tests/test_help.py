"""What ``help()`` says of each public name: what it is, an example that runs, its parameters."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterator
from typing import Any, is_typeddict

import pytest

import bistochastic as bs

MODULES = [bs, *(getattr(bs, name) for name in bs.__all__ if inspect.ismodule(getattr(bs, name)))]
# Doctest runs the examples themselves.
NAMES = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in MODULES
    for name in module.__all__
    if callable(getattr(module, name)) and not str(getattr(module, name)).startswith("typing.")
    if not is_typeddict(getattr(module, name))
}
METHODS = (types.FunctionType, types.MethodDescriptorType, types.BuiltinFunctionType)
# What the name says: the matrix that a question is about, a key, the other one of two things.
SAID = {"b", "matrix", "other", "path", "seed"}


def members(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    """A function, or the public methods of a class that it defines itself."""
    if not inspect.isclass(thing):
        yield name, thing
        return
    for base in thing.__mro__:
        if base.__module__.startswith("bistochastic"):
            for called in vars(base):
                found = inspect.getattr_static(base, called)
                method = getattr(found, "__func__", found)
                if not called.startswith("_") and isinstance(method, METHODS):
                    yield f"{name}.{called}", method


def prose(thing: Any) -> str:
    """What is said outside of examples."""
    return re.sub(r"(?m)^\s*(>>>|\.\.\.).*$", "", inspect.getdoc(thing) or "")


@pytest.mark.parametrize("name", NAMES)
def test_each_public_name_has_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(NAMES[name]) or "")


@pytest.mark.parametrize("name", NAMES)
def test_each_parameter_is_described(name: str) -> None:
    for called, thing in members(name, NAMES[name]):
        known = set(inspect.signature(thing).parameters) - {"self", "cls"} - SAID
        words = set(re.findall(r"\w+", prose(thing)))
        assert not {each for each in known if not each.startswith("_")} - words, called


def test_a_missing_parameter_would_be_seen() -> None:
    assert "size" in prose(bs.identity)
    assert "beta" in prose(bs.tradeoff)
    # An example is no description.
    assert "families" not in prose(bs.compare)
    assert len(NAMES) > 120
