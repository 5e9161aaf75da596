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
    return str(self._repr_html_())


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
    "Key": (equals, differs, shown, as_html),
    "Decomposition": (subscript, shown, as_html, length, walked),
    "Estimate": (shown, as_html, pickled, deep_copied),
    "Profile": (shown, as_html, walked, pickled),
    "Entry": (shown, as_html, equals),
    "Comparison": (shown, as_html),
    "TTransforms": (shown, as_html, length, walked, equals, pickled),
    "Displacement": (shown, as_html, equals, pickled),
    "Step": (shown, as_html, equals),
    "Point": (shown, as_html, equals, pickled),
    "Tradeoff": (shown, as_html, length, walked, equals, pickled),
    "Allocation": (shown, length, walked, equals, pickled),
    "Choice": (shown, pickled),
    "Suggestion": (shown, equals, pickled),
    "Suggestions": (shown, length, walked),
    "Strongest": (shown, as_html, length, walked),
    "Classes": (shown, as_html, pickled),
    "Microaggregation": (shown, as_html, pickled),
    "Anatomy": (shown, as_html, pickled),
    "ReverseMap": (shown, as_html, pickled),
    "PermutationDistance": (shown, as_html, pickled),
    "Audit": (shown, equals, hashed, as_html, pickled),
    "Correlation": (shown, as_html, equals, pickled),
    "Counts": (shown, as_html, pickled),
    "Disclosure": (shown, as_html, equals, pickled),
    "Giveaway": (shown, as_html, equals, pickled),
    "Guess": (shown, as_html, equals, pickled),
    "Labels": (shown, as_html, equals, hashed, length, pickled),
    "Binned": (shown, as_html, equals, hashed, pickled),
    "Quantile": (shown, pickled),
    "Collector": (shown,),
    "Unit": (shown, equals, pickled),
    "Ledger": (shown, as_html),
    "Regression": (shown, as_html, pickled),
    "Spent": (shown, as_html, equals, pickled),
    "Transitions": (shown, as_html),
    "Wald": (shown, as_html, equals, pickled),
    "Linkage": (shown, as_html, equals, pickled),
    "Marginal": (shown, as_html, equals, pickled),
    "Neighbours": (shown, as_html, equals, pickled),
    "PairTable": (shown, as_html, equals, pickled),
    "Propensity": (shown, as_html, equals, pickled),
    "Rate": (shown, as_html, equals, hashed, pickled),
    "Repeats": (shown, as_html, equals, pickled),
    "Risk": (shown, as_html, pickled),
    "Finding": (shown, as_html, equals, pickled),
    "GroupMeans": (shown, as_html, equals, pickled),
    "Pooled": (shown, as_html, equals, pickled),
    "Scenario": (shown, as_html, equals, pickled),
    "Coefficients": (shown, equals, pickled),
    "Bits": (shown, as_html, equals, pickled),
    "ByIds": (shown, as_html, equals, pickled),
    "Categorical": (shown, as_html, equals, hashed, pickled),
    "Certificate": (shown, as_html, equals, pickled),
    "BatchFunction": (shown, as_html, equals, pickled),
    "Joint": (shown, as_html, equals, hashed, pickled),
    "KeySource": (shown, as_html, equals, hashed, pickled),
    "Axis": (shown, as_html, equals, pickled),
    "Quantity": (shown, as_html, equals, pickled),
    "Ratio": (shown, as_html, equals, pickled),
    "Measures": (shown, as_html, equals, pickled),
    "Numeric": (shown, as_html, equals, hashed, pickled),
    "Plan": (shown, as_html, equals, hashed, pickled, deep_copied),
    "Preview": (shown, as_html),
    "ProtectedBatches": (shown, as_html, walked),
    "Release": (shown, as_html),
    "Groups": (shown, as_html, equals, hashed, pickled),
}  # fmt: skip
