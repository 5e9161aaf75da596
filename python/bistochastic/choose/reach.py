"""A family by what users know: the least noise that reaches an epsilon or a truthfulness."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core, arguments, families
from bistochastic.errors import OutOfReachError, Refused, RefusedType
from bistochastic.formatting import exact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from bistochastic.matrix import Matrix

    # A matrix from a number: the larger it is, the more noise.
    Make = Callable[[float], Matrix]

# The requests that a family accepts in addition to its own parameters.
KNOWN = ("epsilon", "beta", "truthfulness")


def by_suspicion(suspicion: object) -> float:
    """Compute the epsilon at which a suspicion grows at most from one probability to another.

    A reported value multiplies the odds of a true category by at most ``e^epsilon``.

    >>> import bistochastic as bs
    >>> bs.choose.by_suspicion((0.1, 0.3))
    1.349...
    """
    must = "be two probabilities (before, after), the second the larger one"
    if not isinstance(suspicion, tuple | list) or len(suspicion) != 2:
        raise RefusedType("suspicion", must, type(suspicion).__name__)
    before, after = (_core.as_real("suspicion", "be two probabilities", x) for x in suspicion)
    if not 0 < before < after < 1:
        raise Refused("suspicion", must, f"{before:g} and {after:g}")
    return math.log(after / (1 - after) * ((1 - before) / before)) * (1 - 1e-15)


def ways(family: str, size: int, cost: NDArray[np.float64] | None) -> tuple[Make, float, float]:
    """Return how a family is made from a number, and its range, from less noise to more."""
    if family == "randomized_response":
        return (lambda x: families.randomized_response(size, keep=1 - x), 0.0, 1 - 1 / size)
    if family == "tridiagonal":
        return (lambda x: families.tridiagonal(x, size=size), 0.0, 0.5)
    if family == "k_anonymous":
        return (lambda x: families.k_anonymous(size, k=math.ceil(x)), 1.0, float(size))
    if family == "geometric":
        return (lambda x: families.geometric(size, temperature=math.exp(x)), *_logarithms(1.0, 1.0))
    assert cost is not None
    steps = cost[np.isfinite(cost) & (cost > 0)]
    if not len(steps):
        raise Refused("cost", "hold a positive number", "none")
    table = np.asarray(cost)
    ends = _logarithms(float(steps.min()), float(steps.max()))
    coldest = float(steps.max()) / 2**14
    return (lambda x: families.gibbs(table, temperature=max(math.exp(x), coldest)), *ends)


def _logarithms(least: float, most: float) -> tuple[float, float]:
    # Cold enough for any tolerance, and as hot as no matrix needs to be.
    return math.log(0.02 * least), math.log(1e5 * most)


def reach(family: str, size: int, parameters: Mapping[str, Any]) -> Matrix | None:
    """Find the least noisy matrix that reaches one number; None if the family accepts it itself.

    >>> import bistochastic as bs
    >>> bs.choose.reach("geometric", 5, {"truthfulness": 0.5}).truthfulness
    0.49999...
    >>> bs.choose.reach("geometric", 5, {"beta": 0.5}) is None
    True
    """
    asked = [name for name in KNOWN if parameters.get(name) is not None]
    takes = families.TAKEN.get(family, ())
    others = set(parameters) - {*asked, "size", "cost"}
    searched = (*families.BY_BETA, "gibbs")
    if len(asked) != 1 or asked[0] in takes or others or family not in searched:
        return None
    (name,) = asked
    limit = arguments.limit(name, parameters[name])
    if family == "randomized_response":
        # Exactly: the truthful probability is its parameter.
        matrix = families.randomized_response(size, keep=parameters[name])
    else:
        cost = parameters.get("cost")
        table = None if cost is None else np.asarray(cost, float)
        if family == "gibbs" and table is None:
            raise RefusedType("cost", "be given for gibbs", "nothing")
        make, low, high = ways(family, size, table)
        own: Callable[[Matrix], float] = lambda m: float(getattr(m, name) or 0.0)  # noqa: E731
        least = own(make(high))
        if family == "k_anonymous" and name == "epsilon":
            # Anything less than one class excludes true categories.
            least = math.inf
        if least > limit:
            must = "inf" if least == math.inf else f"at least {exact(least)}"
            must = f"`{name}` must be {must} for {family}"
            raise OutOfReachError(f"{must}; got {exact(limit)}", least=least)
        matrix = make(smallest(low, high, lambda x: own(make(x)) <= limit))
    requested = {"size": size} if family != "gibbs" else {}
    return _core.restore(family, _core.arrays(matrix), {**requested, name: parameters[name]})


def smallest(low: float, high: float, holds: Callable[[float], bool]) -> float:
    """Find the first number for which it holds, if it does from some number up to ``high``."""
    if holds(low):
        return low
    while (middle := (low + high) / 2) not in (low, high) and high - low > 1e-13 * abs(middle):
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def largest(low: float, high: float, holds: Callable[[float], bool], within: float = 0.0) -> float:
    """Find the largest number from ``low`` on for which it holds, if it does up to some number."""
    while (middle := (low + high) / 2) not in (low, high) and high - low > within * abs(middle):
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
