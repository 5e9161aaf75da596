"""``cached``: a property that is found once and then kept, without a lock."""

from functools import cached_property
from typing import Any, Self, TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class cached(cached_property[T_co]):  # noqa: N801 - a decorator, as `property` is
    """``functools.cached_property`` without the lock of Python 3.11, which all instances share.

    A process that is forked while another thread holds that lock waits for it for ever. Here two
    threads may both compute the value, and both get the one that was stored first. It works on
    frozen dataclasses, because the value goes into the instance's ``__dict__``.
    """

    @overload
    def __get__(self, instance: None, owner: type[object] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[object] | None = None) -> T_co: ...
    def __get__(self, instance: Any, owner: type[object] | None = None) -> Any:
        if instance is None:
            return self
        return vars(instance).setdefault(self.attrname, self.func(instance))
