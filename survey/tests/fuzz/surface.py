"""What there is to call: every public name, found by introspection."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

import bistochastic as bs
import bistochastic_survey as sv
from bistochastic_survey.plan.labels import Labels
from fuzz import operations, plans
from fuzz.parameters import Scene, column, counts, ids, people
from returned import CLASSES

_COST = "cost='ordinal'"
# Parts of an audit, which has to be made first for every look at one of them.
_PLURALS = ("Disclosure", "Finding", "Giveaway", "Linkage")
_PARTS = {name: f"{name.lower()}s[0]" for name in _PLURALS} | {
    "Guess": "guesses[0]",
    "Rate": "guesses[0].rate",
    "Neighbours": "neighbours[0]",
}
# One valid object of each class that has methods, as source code.
MAKERS: dict[str, Callable[[Scene], str]] = {
    "Matrix": lambda s: s.matrix(),
    "Channel": lambda s: f"bs.Channel(forced=[0.6 / {min(s.size, 60)}] * {min(s.size, 60)})",
    "Blocks": lambda s: "bs.backend.Blocks(2, False)",
    "Column": column,
    "Ids": lambda s: f"bs.backend.Ids({ids(s)})",
    "Rows": lambda s: "bs.backend.Rows(7)",
    "RowsPerId": lambda s: "bs.backend.RowsPerId(1)",
    "Key": lambda s: f"bs.Key.insecure({s.rng.randrange(9)})",
    "Decomposition": lambda s: (
        f"{s.matrix()}.decompose({s.rng.choice(['', 'max_terms=2', 'mass=0.5'])})"
    ),
    "Estimate": lambda s: (
        f"{s.matrix()}.estimate(counts={counts(s)}, method={_method(s)}, population={_people(s)})"
    ),
    "Profile": lambda s: f"{s.matrix()}.profile({s.rng.choice(['', 'full=True', _COST])})",
    "Entry": lambda s: (
        f"{s.matrix()}.profile()['{s.rng.choice(['beta', 'capacity', 'epsilon', 'rank'])}']"
    ),
    "Guarantee": lambda s: f"bs.guarantee([{s.matrix()}], individuals={s.matrix()})",
    "Shuffled": lambda s: (
        f"bs.shuffled(bs.randomized_response({max(2, s.size % 16)}, epsilon=1), 50)"
    ),
    "Comparison": lambda s: f"bs.compare({s.matrix()}, {s.matrix()})",
    "TTransforms": lambda s: (
        "(lambda p: bs.theory.t_transforms(p, [Fraction(sum(p), len(p))] * len(p)))"
        f"({[s.rng.randrange(1000) for _ in range(min(s.size, 30))]})"
    ),
    "Displacement": lambda s: f"{s.matrix()}.displacement()",
    "Point": lambda s: f"bs.tradeoff({max(2, s.size % 16)}, betas=[0.5])[0]",
    "Allocation": lambda s: "sv.allocate([2, 5], beta=0.5)[0]",
    "Choice": lambda s: f"bs.strongest({max(2, s.size % 16)}, records=900, tolerance=0.1)[0]",
    "Strongest": lambda s: f"bs.strongest({max(2, s.size % 16)}, records=900, tolerance=0.1)",
    "Tradeoff": lambda s: f"bs.tradeoff({max(2, s.size % 16)}, betas=[0.3, 0.5])",
    "Classes": lambda s: (
        f"bs.masking.k_anonymous_classes({people(s)}, quasi_identifiers=['age', 'town'], k=2)"
    ),
    "Microaggregation": lambda s: (
        f"bs.masking.microaggregate({[s.rng.random() for _ in range(9)]}, k=2)"
    ),
    "Anatomy": lambda s: (
        f"bs.masking.anatomize({people(s)}, quasi_identifiers=['age'], sensitive=['town'], k=2)"
    ),
    "ReverseMap": lambda s: "bs.masking.reverse_map([1, 2, 3], [3, 1, 2.5])",
    "PermutationDistance": lambda s: "bs.masking.permutation_distance([1, 2, 3], [3, 1, 2.5])",
    "Plan": lambda s: plans.plan(s.rng),
    "Categorical": lambda s: plans.attribute(s.rng),
    "Joint": lambda s: plans.joint(s.rng),
    "Numeric": lambda s: plans.numeric(s.rng),
    "Labels": lambda s: f"{plans.joint(s.rng)}.axes[{s.rng.randrange(2)}]",
    "Groups": lambda s: (
        "sv.Categorical('x', [0, 1], groups=('y', {'n': bs.uniform(2), 's': bs.identity(2)}))"
        ".groups"
    ),
    "Axis": lambda s: "bs.identity(2).estimate(counts=[3, 1], categories=['a', 'b']).axes[0]",
    "Quantity": lambda s: (
        f"sv.Release({{'sex': ['F', 'M', 'M']}}, {plans.SIMPLE}).count({{'sex': 'F'}}, "
        f"population={_people(s)})"
    ),
    "Ratio": lambda s: (
        f"sv.Release({{'sex': ['F', 'M', 'M'], 'x': [1, 1, 2]}}, {plans.SIMPLE}).ratio({{'x': 1}}, "
        f"{{'sex': 'F'}}, population={_people(s)})"
    ),
    "Independence": lambda s: (
        f"sv.Release({{'sex': ['F', 'M', 'M'], 'x': [1, 1, 2]}}, {plans.SIMPLE})"
        ".test_independence('sex', 'x')"
    ),
    "Measures": lambda s: f"{plans.SIMPLE}.by_attribute['sex']",
    "Bits": lambda s: f"{plans.SIMPLE}.categorical",
    "Preview": lambda s: f"{plans.plan(s.rng)}.preview({s.rng.choice(['', '100'])})",
    "Release": lambda s: plans.release(s.rng),
    "Certificate": lambda s: f"{plans.release(s.rng)}.certificate",
    "ByIds": lambda s: f"{plans.SIMPLE}.protect({plans.TABLE}, {plans.BY_IDS}).certificate.ids",
    "Audit": lambda s: plans.audit(s.rng),
    **{
        name: lambda s, part=part: f"{plans.audit(s.rng)}.{part}"  # type: ignore[misc]
        for name, part in _PARTS.items()
    },
    "Pooled": lambda s: plans.grouped() + ".pooled[0]",
    "Scenario": lambda s: plans.grouped(", knows=['h']") + ".scenarios[0]",
    "Counts": lambda s: f"{plans.SIMPLE}.collector('sex').counts('sex')",
    "Design": lambda s: "sv.Design(weights='w', cluster='c')",
    "Wave": lambda s: plans.WAVE,
    "Central": lambda s: f"{plans.SIMPLE}.protect({plans.TABLE}, shuffle=True).certificate.central",
    "Observed": lambda s: plans.OBSERVED,
    "Analysis": lambda s: plans.analysis(s.rng),
    "Binned": lambda s: "sv.Binned('age', [0, 18, 65, 120], 'geometric', epsilon=1)",
    "Collector": lambda s: f"{plans.SIMPLE}.collector()",
    "Unit": lambda s: (
        "sv.Plan([sv.Categorical('sex', ['F', 'M'], 'uniform', unit='h')], keep=['h'])"
        ".protect({'sex': ['F', 'F'], 'h': [1, 1]}).certificate.units[0]"
    ),
    "Ledger": lambda s: "sv.Ledger(path('ledger'), budget=9)",
    "Spent": lambda s: plans.spent(),
    "Regression": lambda s: plans.regression(s.rng),
    "Transitions": lambda s: plans.transitions(s.rng),
    "KeySource": lambda s: "bs.KeySource.file(path('key'))",
    "BatchFunction": lambda s: plans.batch_function(s.rng),
    "Responder": lambda s: plans.responder(),
    "PlannedColumn": lambda s: f"{plans.SIMPLE}.column('sex')",
    "ColumnFunction": lambda s: (
        f"{plans.SIMPLE}.column('sex').function(key=bs.KeySource.file(path('key')))"
    ),
    "ProtectedBatches": lambda s: (
        f"{plans.SIMPLE}.protect_batches(pa.table({{'sex': ['F', 'M', 'M']}}))"
    ),
}
# Their functions take results of each other, not what users type.
FOR_TOOLS = ("choose", "estimate", "measures", "structure")
# Classes that callers make, by the module that they call.
MADE = {
    "bs": ("Channel",),
    "backend": ("Blocks", "Column", "Ids", "Rows", "RowsPerId"),
    "sv": (
        "Analysis", "Binned", "Categorical", "Design", "Joint", "Ledger", "Numeric", "Observed",
        "Plan", "Release", "Wave",
    ),
}  # fmt: skip
# These take seconds, so they are called less often.
_SELDOM = {"profile": 0.4, "compare": 0.2, "tradeoff": 0.1, "heatmap": 0.15, "plot": 0.1,
           "to_frame": 0.3, "cli": 12.0, "randomize": 4.0, "estimate": 3.0, "decompose": 3.0,
           "respond": 2.0,
           "build": 4.0, "decompose_all": 1.5, "from_file": 2.0,
           "report": 0.3,
           "protect": 6.0, "from_json": 2.0, "audit": 0.5, "chain": 0.4}  # fmt: skip
_OF_AUDITS = {"Audit", *_PARTS}


def _method(s: Scene) -> str:
    return repr(s.rng.choice(["inverse", "inverse", "mle", "simplex", "shrunk"]))


def _people(s: Scene) -> str:
    return repr(s.rng.choice(["sampled", "fixed"]))


@dataclass(frozen=True)
class Target:
    """One thing to call or to look up."""

    owner: str
    name: str
    kind: str
    signature: inspect.Signature

    @property
    def words(self) -> str:
        return f"{self.owner}.{self.name}"

    @property
    def weight(self) -> float:
        more = 2.5 if self.owner in ("bs", "sv") else 0.4 if self.kind == "property" else 1.0
        part = 0.04 if self.owner in _OF_AUDITS else 0.4
        return (
            _SELDOM.get(self.name, 1.0)
            * more
            * (1.0 if self.owner in ("bs", "sv", "Matrix") else part)
        )


_NOTHING = inspect.Signature()


def classes() -> dict[str, type]:
    """Every class of both packages, results among them, and what attributes hold categories in."""
    return {"Labels": Labels} | CLASSES


def _members(owner: str, cls: type) -> list[Target]:
    out = []
    inherited = set(dir(tuple)) if issubclass(cls, tuple) else set()
    for name in dir(cls):
        if name.startswith("_") or name in inherited:
            continue
        member = inspect.getattr_static(cls, name)
        reached = getattr(cls, name)
        static = type(member).__name__ in ("staticmethod", "builtin_function_or_method")
        kind = "static" if static else "method" if callable(reached) else "property"
        signature = _NOTHING if kind == "property" else inspect.signature(reached)
        out.append(Target(owner, name, kind, signature))
    fields = [n for n in getattr(cls, "__dataclass_fields__", {}) if not n.startswith("_")]
    out += [Target(owner, n, "property", _NOTHING) for n in fields if n not in dir(cls)]
    for operation in operations.OF.get(owner, operations.USUAL).split():
        signature = inspect.signature(operations.OPERATIONS[operation])
        out.append(Target(owner, operation, "operation", signature))
    return out


def _functions(owner: str, module: Any) -> list[Target]:
    out = []
    for name in module.__all__:
        member = getattr(module, name)
        if isinstance(member, types.ModuleType):
            if hasattr(member, "__all__") and name not in FOR_TOOLS:
                out += _functions(name, member)
        elif inspect.isroutine(member):
            out.append(Target(owner, name, "function", inspect.signature(member)))
    return out


@cache
def targets() -> tuple[Target, ...]:
    """Everything that is called, in an order that does not change."""
    found = _functions("bs", bs) + _functions("sv", sv)
    for owner, cls in classes().items():
        found += _members(owner, cls)
    for owner, names in MADE.items():
        module = {"bs": bs, "sv": sv}.get(owner) or getattr(bs, owner)
        made = [(name, inspect.signature(getattr(module, name))) for name in names]
        found += [Target(owner, name, "function", signature) for name, signature in made]
    found.append(Target("sv", "cli", "terminal", _NOTHING))
    found.append(Target("sv", "chain", "chain", _NOTHING))
    return tuple(sorted(found, key=lambda t: (t.owner, t.name, t.kind)))


@cache
def weights() -> tuple[float, ...]:
    """How often each of them is called, as running sums."""
    return tuple(accumulate(target.weight for target in targets()))
