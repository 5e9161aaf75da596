"""Bits that a reported value reveals: mutual information, and capacity over all priors."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bistochastic import linear, structure
from bistochastic.arguments import Array
from bistochastic.matrix import Matrix
from bistochastic.measures.bits import SLACK, entropy, log2_up
from bistochastic.measures.survey import TABLE, Lines, lines
from bistochastic.structure import Kron, Mixture, Product, composition, wide_factors


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
        survey = found if part is matrix else lines(part, [], full=full)
        return _capacity(part, survey, known, full=full)

    return structure.by_parts(matrix, of)


def _capacity(
    matrix: Matrix, found: Lines | None, known: Callable[[Matrix], Capacity], *, full: bool
) -> Capacity:
    r = matrix.size
    at_uniform = mutual_information(matrix)
    made = composition(matrix)
    if isinstance(made, Kron):
        each = [known(factor) for factor in wide_factors(made)]
        bits = math.fsum(part.bits for part in each)
        how = "; ".join(sorted({part.how for part in each if part.how}))
        return Capacity(bits, math.fsum(part.gap for part in each), how)
    if (classes := structure.classes(matrix)) is not None:
        return Capacity(log2_up(classes.number), 0.0, "")
    if structure.is_certain(matrix):
        return Capacity(log2_up(r), 0.0, "")
    if (swap := structure.swap(matrix)) is not None and r > 2:
        keep = float(swap.keep)
        coin = entropy(np.array([keep, 1 - keep]))
        bits = math.log2(r - 2 + 2 ** (1 - coin)) + SLACK
        return Capacity(min(log2_up(r), bits), 0.0, "")
    if structure.shift_invariant(matrix):
        # Rows are permutations of each other and so are columns: the uniform prior is the best.
        certain = matrix.is_exact and not matrix.padding
        return Capacity(at_uniform, 0.0 if certain else math.inf, "")
    if found is None:
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
    if found.row_bits is None:
        # No prior beats the divergence of the worst row from the uniform report.
        bits = max(0.0, log2_up(r) - found.worst_row[1])
        gap = bits - at_uniform if matrix.is_exact else math.inf
        return Capacity(bits, gap, "from the worst row")
    return _blahut_arimoto(matrix, found, full=full)


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
