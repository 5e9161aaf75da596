"""Where pickles of earlier versions look for classes that live elsewhere now.

A pickle names the module of a class. These modules are no files any more; asking one of them for
a name imports the module that has it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

# The old module, and the one that has its classes now.
MOVED = {
    "bistochastic.majorization": "bistochastic.permutations.majorization",
    "bistochastic.profile": "bistochastic.measures.profile",
    "bistochastic.tradeoff": "bistochastic.choose.tradeoff",
}


class _Moved(ModuleType):
    def __getattr__(self, name: str) -> Any:
        # What Python itself asks a module for, as inspect does of every one, imports nothing.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(MOVED[self.__name__]), name)


for _old in MOVED:
    sys.modules.setdefault(_old, _Moved(_old))
