"""Operators and protocols as functions, so that they are called as everything else is."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
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


OPERATIONS: dict[str, Callable[..., Any]] = {
    "item": lambda self, u, v: self[u, v],
    "subscript": lambda self, index: self[index],
    "equals": lambda self, anything: self == anything,
    "differs": lambda self, anything: self != anything,
    "hashed": lambda self: hash(self),
    "then": lambda self, anything: self @ anything,
    "after": lambda self, anything: anything @ self,
    "shown": lambda self: repr(self) + str(self) + f"{self}",
    "as_html": lambda self: str(self._repr_html_()),
    "pickled": lambda self: pickle.loads(pickle.dumps(self)),
    "copied": lambda self: copy.copy(self),
    "deep_copied": lambda self: copy.deepcopy(self),
    "as_array": lambda self: np.asarray(self),
    "length": lambda self: len(self),
    # The first things that iteration gives.
    "walked": lambda self: [x for _, x in zip(range(50), self, strict=False)],
}

# What each class is asked for besides its own names, if it is not the usual.
USUAL = "shown as_html equals pickled"
OF = {
    "Matrix": f"{USUAL} item subscript differs hashed then after copied deep_copied as_array",
    **dict.fromkeys(("Blocks", "Rows"), "shown equals hashed pickled"),
    **dict.fromkeys(("Column", "Ids"), "shown length"),
    "RowsPerId": "shown",
    "Key": "equals differs shown as_html",
    "Decomposition": "subscript shown as_html length walked",
    "Estimate": "shown as_html pickled deep_copied",
    "Profile": "shown as_html walked pickled",
    "Allocation": "shown length walked equals pickled",
    "Strongest": "shown as_html length walked",
    "Labels": f"{USUAL} hashed length",
    "Collector": "shown",
    "Plan": f"{USUAL} hashed deep_copied",
    "ProtectedBatches": "shown as_html walked",
    "Tradeoff": f"{USUAL} length walked",
    "Entry": "shown as_html equals",
    **dict.fromkeys(("Choice",), "shown pickled"),
    **dict.fromkeys(("Unit",), "shown equals pickled"),
    **dict.fromkeys(
        ("Comparison", "Ledger", "Transitions", "Preview", "Release"), "shown as_html"
    ),
    **dict.fromkeys(
        ("Audit", "Binned", "Rate", "Categorical", "Joint", "KeySource", "Numeric", "Groups",
         "ColumnFunction", "PlannedColumn", "Responder"),
        f"{USUAL} hashed",
    ),
    **dict.fromkeys(
        ("Classes", "Microaggregation", "Anatomy", "ReverseMap", "PermutationDistance", "Counts",
         "Regression"),
        "shown as_html pickled",
    ),
}  # fmt: skip
