"""What results share: properties that are found once, without a lock, and equality with arrays."""

from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    cached = cached_property
else:

    class cached(cached_property):  # noqa: N801 - a decorator, as `property` is
        """``functools.cached_property`` without the lock of Python 3.11, which all instances share.

        A process that is forked while another thread holds that lock waits for it for ever. Here
        two threads may both compute the value, and both get the one that was stored first. It works
        on frozen dataclasses, because the value goes into the instance's ``__dict__``.
        """

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            return vars(instance).setdefault(self.attrname, self.func(instance))


class Compared:
    """A dataclass that is equal to another with equal fields, which may be arrays."""

    def __eq__(self, other: object) -> bool:
        return _equal(self, other)

    def __hash__(self) -> int:
        own: Any = self
        held = (getattr(self, each.name) for each in fields(own))
        return hash(tuple(x for x in held if isinstance(x, int | str)))


def _equal(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    if is_dataclass(a):
        return all(_equal(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    return bool(a == b)
