"""Operators and protocols as functions, so that they are called as everything else is."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np

import bistochastic as bs


def squared(m: Any, times: int) -> Any:
    """``m @ m``, again and again: shared parts, exponentially many if each is visited."""
    for _ in range(times):
        m = m @ m
    return m


def mixed(m: Any, times: int) -> Any:
    """Half of it and half of it, again and again."""
    for _ in range(times):
        m = bs.mix([m, m], weights=[0.5, 0.5])
    return m


def doubled(m: Any, times: int) -> Any:
    """``kron(m, m)``, again and again."""
    for _ in range(times):
        m = bs.kron(m, m)
    return m


def krons(m: Any, times: int) -> Any:
    """Many attributes alike."""
    return bs.kron(*[m] * times)


def item(self: Any, u: Any, v: Any) -> Any:
    return self[u, v]


def subscript(self: Any, index: Any) -> Any:
    return self[index]


def equals(self: Any, anything: Any) -> Any:
    return self == anything


def differs(self: Any, anything: Any) -> Any:
    return self != anything


def hashed(self: Any) -> Any:
    return hash(self)


def then(self: Any, anything: Any) -> Any:
    return self @ anything


def after(self: Any, anything: Any) -> Any:
    return anything @ self


def shown(self: Any) -> Any:
    return repr(self) + str(self) + f"{self}"


def as_html(self: Any) -> Any:
    return self._repr_html_()


def pickled(self: Any) -> Any:
    return pickle.loads(pickle.dumps(self))


def copied(self: Any) -> Any:
    return copy.copy(self)


def deep_copied(self: Any) -> Any:
    return copy.deepcopy(self)


def as_array(self: Any) -> Any:
    return np.asarray(self)


def length(self: Any) -> Any:
    return len(self)


def walked(self: Any) -> Any:
    """The first things that iteration gives."""
    return [x for _, x in zip(range(50), self, strict=False)]


def within(self: Any, anything: Any) -> Any:
    return anything in self


# What each class is asked for besides its own names.
OF = {
    "Matrix": (item, subscript, equals, differs, hashed, then, after, shown, as_html, pickled,
    copied, deep_copied, as_array),
    "Key": (equals, differs, shown),
    "Decomposition": (subscript, shown, length, walked),
    "Estimate": (shown, as_html, pickled, deep_copied),
    "Profile": (shown, as_html, walked, pickled),
    "Entry": (shown, equals),
    "Comparison": (shown, as_html),
    "Conjunction": (shown, equals, pickled),
    "TTransforms": (shown, length, walked, equals, pickled),
    "Displacement": (shown, equals, pickled),
    "Step": (shown, equals),
    "Point": (shown, equals, pickled),
    "Classes": (shown, pickled),
    "Microaggregation": (shown, pickled),
    "Anatomy": (shown, pickled),
    "ReverseMap": (shown, pickled),
    "PermutationDistance": (shown, pickled),
    "Bits": (shown, equals, pickled),
    "ByIds": (shown, equals, pickled),
    "Categorical": (shown, equals, hashed, pickled),
    "Certificate": (shown, equals, pickled),
    "Function": (shown, equals, pickled),
    "Joint": (shown, equals, hashed, pickled),
    "Counts": (shown, pickled),
    "KeySource": (shown, equals, hashed, pickled),
    "Labels": (shown, equals, hashed, length, pickled),
    "Axis": (shown, equals, pickled),
    "Quantity": (shown, equals, pickled),
    "Ratio": (shown, equals, pickled),
    "Measures": (shown, equals, pickled),
    "Numeric": (shown, equals, hashed, pickled),
    "Plan": (shown, equals, hashed, pickled, deep_copied),
    "Preview": (shown,),
    "ProtectedBatches": (shown, walked),
    "Release": (shown,),
    "Strata": (shown, equals, hashed, pickled),
}  # fmt: skip
