"""``cached``: a property that is found once and then kept, without a lock."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    cached = cached_property
else:

    class cached(cached_property):  # noqa: N801 - a decorator, as `property` is
        """The lock of Python 3.11 may stay taken in a forked process: the first value stays."""

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return vars(instance).setdefault(self.attrname, self.func(instance))
