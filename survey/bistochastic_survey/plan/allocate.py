"""``sv.allocate``: a budget for a whole record, shared out among its columns.

Truthful probabilities, weighted, are to be as large as possible. Each column gets randomized
response, which is the most truthful matrix at its beta and at its epsilon.

* Under a total of bits the optimum has ``epsilon_k = c weight_k``, up to the largest epsilon that
  ``min_beta`` allows: the price of a bit is the same in all columns. One number c is searched for.
* Under a total epsilon the truthful probability is convex for small epsilons, so spending on few
  columns may be best. The total is split in steps, which get finer around the best split.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bistochastic import randomized_response
from bistochastic.errors import Refused
from bistochastic.measures import log2_up
from bistochastic_survey import checks
from bistochastic_survey.checks import Array
from bistochastic_survey.wording import Shown

# Steps of a total epsilon into which it is split first, how many times finer the next are, and how
# often.
_STEPS, _FINER, _PASSES = 200, 4, 10
# Below the one nothing is revealed, on the grid, and beyond the other nothing is hidden.
_LEAST, _MOST = 1e-17, 36.0
# A hair less epsilon makes up for numbers that are stated rounded.
_LESS = (0.0, *(10.0**-k for k in range(13, -1, -1)))


class Allocation(NamedTuple):
    """The share of one column: the stated numbers of ``bs.randomized_response(size, epsilon=...)``.

    >>> import bistochastic_survey as sv
    >>> sv.allocate([2, 4], beta=0.5)[0].epsilon
    2.4...
    """

    epsilon: float
    beta: float
    bits: float

    def _repr_html_(self) -> str:
        return Shown._repr_html_(self)


def allocate(
    sizes: Sequence[int],
    *,
    beta: float | None = None,
    epsilon: float | None = None,
    weights: Sequence[float] | None = None,
    min_beta: float | Sequence[float] | None = None,
) -> list[Allocation]:
    """Share out a budget among columns of ``sizes`` categories to be as truthful as possible.

    Give exactly one budget for the whole record:

    * ``beta``: the bits of all columns, divided by the most possible, are at least this
    * ``epsilon``: the epsilons of all columns sum to at most this

    ``weights`` say how much a true reported value counts in each column, by default the same. The
    sum of weights times truthful probabilities is as large as the budget allows. Without
    ``min_beta`` a column with a large weight may be published almost unchanged: give the least beta
    of each column, or one for all.

    The result has ``(epsilon, beta, bits)`` for each column. Pass the epsilon to
    ``bs.randomized_response(size, epsilon=...)``. Raises ``ValueError`` without exactly one budget,
    and if no budget keeps ``min_beta``.

    >>> import bistochastic as bs
    >>> found = sv.allocate([9, 16, 2], beta=0.6, weights=[1, 2, 1], min_beta=0.3)
    >>> [round(a.epsilon, 4) for a in found], [round(a.beta, 4) for a in found]
    ([1.926, 3.852, 1.926], [0.8236, 0.4354, 0.5497])
    >>> sum(a.bits for a in found) / bs.uniform(9 * 16 * 2).max_bits >= 0.6
    True
    """
    many = [checks.whole("sizes", size, 1) for size in
            checks.items("sizes", "list numbers of categories", sizes)]  # fmt: skip
    if not many:
        raise Refused("sizes", "hold at least one number of categories", "none")
    worth = _per_column("weights", weights, len(many), 1.0, math.inf)
    floors = _per_column("min_beta", min_beta, len(many), 0.0, 1.0)
    if (beta is None) == (epsilon is None):
        got = "none" if beta is None else "both"
        raise Refused("allocate", "be given exactly one of beta, epsilon", got)
    r = np.array(many, float)
    caps = np.array([_cap(size, floor) for size, floor in zip(many, floors.tolist(), strict=True)])
    if beta is not None:
        return _by_bits(many, worth, caps, checks.limit("beta", beta))
    total = checks.limit("epsilon", epsilon)
    best = np.zeros(len(r)) if total < _LEAST else caps
    if best.sum() > total:
        best = _by_epsilon(r, worth, caps, total)
    for less in _LESS:
        found = _realised(many, (1 - less) * best)
        if total == math.inf or sum(Fraction(a.epsilon) for a in found) <= Fraction(total):
            break
    return found


def _cap(size: int, floor: float) -> float:
    """Find the largest epsilon whose randomized response has at least this beta."""
    most = min(_MOST, randomized_response(size, beta=floor).epsilon)
    each = ((1 - less) * most for less in _LESS)
    return next(x for x in each if randomized_response(size, epsilon=x).beta >= floor)


def _per_column(name: str, given: object, count: int, default: float, most: float) -> Array:
    """Read one number for each column, or one for all."""
    must = "be at least 0" if most == math.inf else f"be from 0 to {most:g}"
    if given is None:
        return np.full(count, default)
    listed = [given] * count
    if not isinstance(given, int | float):
        listed = checks.items(name, "hold one number per column", given)
        if len(listed) != count:
            raise Refused(name, f"hold {count} numbers, one per column", len(listed))
    found = [checks.real(name, must, x) for x in listed]
    for i, x in enumerate(found):
        if not (0 <= x <= most and x < math.inf):
            got = "NaN" if math.isnan(x) else f"{x:g}"
            raise Refused(name, must, f"{got} for column {i}")
    return np.array(found)


def _realised(sizes: list[int], epsilons: Array) -> list[Allocation]:
    made = [randomized_response(size, epsilon=float(x))
            for size, x in zip(sizes, epsilons, strict=True)]  # fmt: skip
    return [Allocation(m.epsilon, m.beta, m.entropy_rate) for m in made]


def _by_bits(sizes: list[int], weights: Array, caps: Array, beta: float) -> list[Allocation]:
    """Equal prices of a bit: ``epsilon = c weight``, with the largest c that leaves enough bits."""
    r = np.array(sizes, float)
    wanted = beta * float(np.log2(r).sum())

    def bits(c: float) -> float:
        # Of randomized response, in closed form.
        epsilons = np.minimum(c * weights, caps)
        lies = (r - 1) * np.exp(-epsilons)
        return float(((epsilons * lies / (1 + lies) + np.log1p(lies)) / math.log(2)).sum())

    top = _MOST / max(float(weights[weights > 0].min(initial=math.inf)), 1e-12)
    low, high = (top, top) if bits(top) >= wanted else (0.0, top)
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if bits(middle) >= wanted else (low, middle)
    # Enough for a beta of the record that is rounded down, too, however it is computed.
    most = sum(Fraction(log2_up(size)) for size in sizes)
    safe = Fraction(beta) * most * (1 + Fraction(1, 2**50))
    for less in _LESS:
        found = _realised(sizes, np.minimum((1 - less) * low * weights, caps))
        if sum(Fraction(a.bits) for a in found) >= safe:
            break
    return found


def _by_epsilon(r: Array, weights: Array, caps: Array, total: float) -> Array:
    """Find the best split into steps of the total, then into ever smaller steps around it."""
    unit, centre, around = total / _STEPS, np.zeros(len(r)), 0
    for _ in range(_PASSES):
        # The choices of column k are centre_k + unit t for t from -around on.
        spare = int((total - float(centre.sum())) / unit * (1 + 1e-12))
        gains = []
        for size, weight, cap, middle in zip(r, weights, caps, centre, strict=True):
            most = 2 * around if around else math.ceil(min(_STEPS, cap / unit))
            x = middle + unit * (np.arange(most + 1) - around)
            held = np.clip(x, 0.0, cap)
            # What is truthful beyond perfect secrecy, which is exact for small epsilons, too.
            more = -np.expm1(-held) * (size - 1) / size / (1 + (size - 1) * np.exp(-held))
            gains.append(np.where(x < -unit / 2, -math.inf, weight * more))
        # No more than all columns can take.
        most = sum(len(gain) - 1 for gain in gains)
        chosen = _best_split(gains, min(spare + around * len(r), most))
        centre = np.clip(centre + unit * (chosen - around), 0.0, caps)
        unit, around = unit / _FINER, 2 * _FINER
    return centre


def _best_split(gains: list[Array], budget: int) -> NDArray[np.int64]:
    """Choose one place in each list, their sum at most the budget, for the largest sum of gains."""
    best, chosen = np.zeros(budget + 1), []
    for gain in gains:
        # Row s holds best[s - t] + gain[t] for every t.
        before = np.concatenate([np.full(len(gain) - 1, -math.inf), best])
        held = np.lib.stride_tricks.sliding_window_view(before, len(gain))[:, ::-1] + gain
        chosen.append(held.argmax(axis=1))
        best = held.max(axis=1)
    found = np.zeros(len(gains), np.int64)
    left = budget
    for k in range(len(gains) - 1, -1, -1):
        found[k] = chosen[k][left]
        left -= int(found[k])
    return found
