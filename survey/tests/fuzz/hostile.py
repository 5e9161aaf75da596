"""Objects whose special methods raise or lie."""

from __future__ import annotations

import contextlib
from typing import Any


class HostileError(Exception):
    """What our own objects raise: whoever passes it on is not to blame."""


class HostileLookupError(HostileError, KeyError, AttributeError, ValueError):
    """The same, but caught by those who look for less."""


# Special methods that a reader of arguments may call.
METHODS = (
    "__index__", "__int__", "__float__", "__complex__", "__len__", "__getitem__", "__iter__",
    "__next__", "__array__", "__eq__", "__hash__", "__bool__", "__repr__", "__str__", "__fspath__",
    "__call__", "__contains__", "__buffer__", "__dlpack__", "__arrow_c_array__",
    "__arrow_c_stream__", "__array_interface__", "__array_struct__", "__array_ufunc__",
    "__length_hint__", "__getattr__", "__matmul__", "__rmatmul__", "__lt__", "__reduce__",
)  # fmt: skip
NAMES = ("dtype", "ndim", "shape", "numerator", "denominator", "index", "keys", "size", "mask", "T")


def raises(*names: str) -> Any:
    """An object that raises wherever one of ``names`` is asked for."""

    def method(self: Any, *_: Any, **__: Any) -> Any:
        raise HostileLookupError("hostile")

    members: dict[str, Any] = {
        name: method if name.startswith("__") and not name.startswith("__array_") else
        property(method) for name in names
    }  # fmt: skip
    return type("Raises", (), members)()


def returns(**values: Any) -> Any:
    """An object that answers with the values given, methods and attributes alike."""

    def method(value: Any) -> Any:
        return lambda self, *_, **__: value

    members: dict[str, Any] = {
        name: method(value) if name.startswith("__") and not name.startswith("__array_") else value
        for name, value in values.items()
    }
    return type("Returns", (), members)()


def number(kind: type, value: Any) -> Any:
    """A subclass of ``int``, ``float``, ``str`` or ``bytes`` whose other methods raise."""

    def method(self: Any, *_: Any) -> Any:
        raise HostileLookupError("hostile")

    members = dict.fromkeys(("__eq__", "__hash__", "__repr__", "__str__"), method)
    return type("Sub", (kind,), members)(value)


def nested(depth: int) -> Any:
    """A list in a list in a list."""
    inner: Any = 0.5
    for _ in range(depth):
        inner = [inner]
    return inner


def loop() -> Any:
    """A list that holds itself."""
    inner: list[Any] = []
    inner.append(inner)
    return inner


def longer() -> Any:
    """A sequence that says it is shorter than it is."""

    class Longer:
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: Any) -> float:
            # Not without end: NumPy itself would read on for ever.
            if index > 5:
                raise IndexError
            return 0.5

    return Longer()


def shrinking(values: Any) -> Any:
    """A list that loses what it holds while it is read."""

    class Shrinking(list):  # type: ignore[type-arg]
        def __getitem__(self, index: Any) -> Any:
            with contextlib.suppress(IndexError):
                self.pop()
            return super().__getitem__(index)

        def __iter__(self) -> Any:
            while self:
                yield self.pop()

    return Shrinking(values)


def nasty(progress: Any) -> Any:
    """A call-back that raises at the first share it is told."""

    def called(*_: Any) -> Any:
        raise HostileError("hostile")

    return called
