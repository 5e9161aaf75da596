"""What an attacker learns: bits for any prior; posterior, uncertainty and best guess for one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from bistochastic import _core, arguments, linear, structure
from bistochastic.arguments import Array
from bistochastic.errors import Refused
from bistochastic.matrix import Matrix
from bistochastic.measures.bits import SLACK, entropy, log2_up
from bistochastic.measures.survey import TABLE, Lines, lines
from bistochastic.structure import Kron, Mixture, Product, Stochastic, composition, wide_factors

# Size up to which a product is written out for one column.
_PRODUCT = 512
# Larger shares come from a matrix close to singular, and rounding shows in their sums.
_FAR = 1e3


def column(matrix: Matrix, v: int) -> Array:
    """Column ``v`` as doubles, by the structure of the matrix."""
    return structure.by_parts(matrix, lambda part, found: _column(part, v, found))


def _column(matrix: Matrix, v: int, found: Callable[[Matrix], Array]) -> Array:
    match composition(matrix):
        case Kron() as kron:
            joint = np.ones(1)
            place = matrix.size
            for factor in wide_factors(kron):
                place //= factor.size
                joint = np.multiply.outer(joint, column(factor, v // place % factor.size))
            return joint.reshape(-1)
        case Mixture() as mixture:
            total = np.zeros(matrix.size)
            for weight, part in mixture:
                total += weight * found(part)
            return total
        case Product(parts=(first, second)):
            if matrix.size <= _PRODUCT:
                return np.ascontiguousarray(matrix.to_dense()[:, v])
            row = np.ascontiguousarray(found(second)[None, :])
            # A transform leaves small rounding errors in place of zeros.
            return np.asarray(np.maximum(linear.forth(first, row, back=True)[0], 0.0))
    return _core.column(matrix, v)


def distribution(name: str, size: int, given: object) -> Array:
    """Read a probability vector of ``size`` numbers, and scale its sum to 1."""
    must = f"hold {size} non-negative numbers that sum to 1"
    numbers = arguments.floats(name, must, given)
    if numbers.shape != (size,):
        raise Refused(name, must, f"shape {numbers.shape}")
    arguments.refuse_faults(name, must, numbers)
    total = math.fsum(numbers)
    if not abs(total - 1) <= 1e-9:
        raise Refused(name, must, f"a sum of {total:.10g}")
    return numbers / total


def project(x: Array) -> Array:
    """Find the nearest distribution: subtract the excess equally, and nothing falls below 0."""
    if np.abs(x).max() > _FAR:
        # The same from all, so the largest ones are not rounded to thousands.
        x = x - x.max()
    falling = np.sort(x)[::-1]
    over = (np.cumsum(falling) - 1) / np.arange(1, len(x) + 1)
    last = int(np.nonzero(falling > over)[0][-1])
    return np.asarray(np.maximum(x - over[last], 0.0))


def prior_of(matrix: Stochastic, prior: object) -> Array:
    """Read the ``prior`` of true categories, over all codes: 0 at codes that are never true.

    >>> bs.measures.prior_of(bs.uniform(3), [0.5, 0.5, 0])
    array([0.5, 0.5, 0. ])
    """
    found = np.zeros(matrix.size)
    where = structure.true_codes(matrix)
    found[where] = distribution("prior", matrix.size - matrix.padding, prior)
    return found


def posterior(matrix: Matrix, v: object, prior: object = None) -> Array:
    """Compute ``Pr(u | v)``; see :meth:`bistochastic.Matrix.posterior`."""
    code = _core.as_code("v", v, matrix.size)
    if prior is None and not matrix.padding:
        return column(matrix, code)
    given = 1.0 if prior is None else prior_of(matrix, prior)
    joint = (given * column(matrix, code))[structure.true_codes(matrix)]
    total = math.fsum(joint)
    if not total > 0:
        raise Refused("v", "be a report that the prior allows", f"{code}, which it does not")
    return joint / total


def remaining_uncertainty(matrix: Matrix, bits: float | Array, prior: Array) -> float:
    """Bound ``H(X | Y) = H(prior) + sum of prior_u H_u - H(reported values)`` from below."""
    reports = linear.forth(matrix, np.ascontiguousarray(prior[None, :]))[0]
    inside = float((prior * bits).sum())
    if matrix.beta == 1:
        # A report says nothing.
        return entropy(prior) * (1 - 1e-15)
    return max(0.0, entropy(prior) + inside - entropy(np.maximum(reports, 0)) - SLACK)


def best_guess(matrix: Matrix, prior: Array, peaks: Fraction | None) -> tuple[float, bool]:
    """Compute ``sum over v of max_u prior_u p_uv`` or a bound above it, and say which."""
    r = matrix.size
    top = float(prior.max())
    if structure.is_certain(matrix):
        return 1.0, True
    if (classes := structure.classes(matrix)) is not None:
        return _up(math.fsum(np.maximum.reduceat(prior, classes.starts()))), True
    if (pair := structure.two_valued(matrix)) is not None:
        diag, off = pair
        second = float(np.partition(prior, -2)[-2])
        # The likeliest other category is the top category, except for the top category itself.
        others = np.where(prior == top, top if (prior == top).sum() > 1 else second, top)
        return _up(math.fsum(np.maximum(diag * prior, off * others))), True
    if r <= TABLE:
        return _up(math.fsum((prior[:, None] * matrix.to_dense()).max(axis=0))), True
    if (steps := structure.steps(matrix)) is not None:
        # ``prior_u p_uv`` for u = v - 1, v, v + 1.
        alphas = np.broadcast_to(steps.counts.astype(float), r - 1)
        step = np.concatenate([[0.0], alphas, [0.0]]) / steps.total
        left, right = np.roll(prior, 1) * step[:-1], np.roll(prior, -1) * step[1:]
        joint = [left, prior * (1 - step[:-1] - step[1:]), right]
        return _up(math.fsum(np.maximum.reduce(joint))), True
    if peaks is None:
        return 1.0, False
    # A reported value multiplies the probability of a guess by at most the sum of the peaks.
    return min(1.0, _up(top * float(peaks))), False


def _up(x: float) -> float:
    """Raise a probability whose products were each rounded once above the exact one."""
    return min(1.0, x + 2 * math.ulp(x))


def mutual_information(matrix: Matrix) -> float:
    """Bound the bits revealed if all true categories are equally likely, from above.

    The exact number is ``log2 r - entropy_rate``.
    """
    if matrix.beta == 1:
        return 0.0
    most, bits = log2_up(matrix.size - matrix.padding), matrix.entropy_rate
    return most if bits == 0 else math.nextafter(most - bits, math.inf)


@dataclass(frozen=True)
class Capacity:
    """Bits, not below the channel capacity; ``gap`` is how far they may be above it."""

    bits: float
    gap: float
    how: str


def capacity(matrix: Matrix, found: Lines | None, *, full: bool = False) -> Capacity:
    """Channel capacity: the mutual information under the prior that an attacker likes best."""

    def of(part: Matrix, known: Callable[[Matrix], Capacity]) -> Capacity:
        own = found if part is matrix else lines(part, [], full=full)
        r = part.size
        at_uniform = mutual_information(part)
        made = composition(part)
        if isinstance(made, Kron):
            each = [known(factor) for factor in wide_factors(made)]
            bits = math.fsum(part.bits for part in each)
            how = "; ".join(sorted({part.how for part in each if part.how}))
            return Capacity(bits, math.fsum(part.gap for part in each), how)
        classes = structure.classes(part)
        if classes is not None or structure.is_certain(part):
            return Capacity(log2_up(r if classes is None else classes.number), 0.0, "")
        if (swap := structure.swap(part)) is not None and r > 2:
            keep = float(swap.keep)
            coin = entropy(np.array([keep, 1 - keep]))
            bits = math.log2(r - 2 + 2 ** (1 - coin)) + SLACK
            return Capacity(min(log2_up(r), bits), 0.0, "")
        if structure.shift_invariant(part):
            # Rows are permutations of each other and so are columns: the uniform prior is the best.
            certain = part.is_exact and not part.padding
            return Capacity(at_uniform, 0.0 if certain else math.inf, "")
        if own is None:
            # Processing loses information, and capacity is convex in the matrix.
            match made:
                case Product(parts=parts):
                    bits, how = min(known(part).bits for part in parts), "from the factors"
                case Mixture() as mixture:
                    bits = math.fsum(weight * known(part).bits for weight, part in mixture)
                    how = "from the parts"
                case _:
                    bits, how = log2_up(r), "from the size"
            return Capacity(bits, math.inf, how)
        if own.row_bits is None:
            # No prior beats the divergence of the worst row from the uniform report.
            bits = max(0.0, log2_up(r) - own.worst_row[1])
            gap = bits - at_uniform if part.is_exact else math.inf
            return Capacity(bits, gap, "from the worst row")
        return _blahut_arimoto(part, own, full=full)

    return structure.by_parts(matrix, of)


def _blahut_arimoto(matrix: Matrix, found: Lines, *, full: bool) -> Capacity:
    """Give both bounds at every step: ``I <= C <= max_u D(p_u || q)``, q the reported shares.

    ``D(p_u || q) = -H_u - (P log2 q)_u``, so a step is two passes through the matrix. Steps longer
    than the classic one are tried as long as the mutual information grows.
    """
    r = matrix.size
    bits = np.broadcast_to(np.asarray(found.row_bits), r)
    structured = r > 512 and linear.operator(matrix) is not None
    dense = matrix.to_dense() if not structured and (full or r <= TABLE) else None

    def through(x: Array, *, back: bool) -> Array:
        if dense is not None:
            return dense @ x if back else x @ dense
        row = np.ascontiguousarray(x[None, :])
        return np.asarray(linear.forth(matrix, row, back=back)[0])

    # Nanoseconds per step, roughly; a second or two in all.
    each = 2.0 * r * r if dense is not None else 150.0 * r
    budget = (2e9 if dense is not None or r <= 1 << 16 else 3e8) * (20 if full else 1)
    steps = int(min(3000, max(1, budget / (each + 2e4))))
    prior = np.full(r, 1 / r)
    best = (prior, prior)
    low, high, speed = 0.0, math.inf, 1.0
    taken = 0
    while taken < steps:
        taken += 1
        reports = np.maximum(through(prior, back=False), 1e-300)
        divergence = -bits - through(np.log2(reports), back=True)
        top = float(divergence.max())
        mutual = float((prior * divergence).sum())
        high = min(high, top)
        if mutual < low - 1e-13 and speed > 1:
            # Too long a step: back to the best prior, and from there the classic one.
            prior, speed = _step(*best, 1.0), 1.0
            continue
        if mutual >= low:
            low, best = mutual, (prior, divergence)
        if high - low < 1e-9:
            break
        prior = _step(prior, divergence, speed)
        speed = min(speed * 1.5, 64.0)
    gap = max(0.0, high - low)
    how = f"within {gap:.1e} bits after {taken} steps" if gap > 1e-9 else ""
    return Capacity(min(high + SLACK, log2_up(r)), gap, how)


def _step(prior: Array, divergence: Array, speed: float) -> Array:
    moved = np.maximum(prior * np.exp2(speed * (divergence - divergence.max())), 1e-290)
    return np.asarray(moved / moved.sum())
