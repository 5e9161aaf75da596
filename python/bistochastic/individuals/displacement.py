"""Distances that values move under a permutation, computed only from the matrix.

With ``order="rank"`` neighbours have similar values, so a beta in ``log2 N`` overstates what is
hidden. The numbers here say how far a value moves, without looking at any value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bistochastic.errors import Refused
from bistochastic.formatting import Shown, down, percent
from bistochastic.structure import (
    Kron,
    Mixture,
    Product,
    by_parts,
    classes,
    composition,
    even_kernel,
    first_row,
    steps,
    swap,
    targets,
    two_valued,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from bistochastic.arguments import Array
    from bistochastic.matrix import Matrix
    from bistochastic.structure import ClassRuns

# Size up to which a matrix without a structure is looked at entry by entry.
_DENSE = 4096
# The most moves that are told apart: about half a GB and a second while they are counted.
_MOVES = 1 << 24


@dataclass(frozen=True, repr=False)
class Displacement(Shown):
    """The privacy of a permuted column, and the distances that values move.

    * ``beta`` is the beta of the column. For a :func:`mix` it is the smallest beta of a component,
      since one component is drawn for all records.
    * ``joint_entropy`` is the bits of the whole permutation of a matrix of classes, and
      ``joint_share`` the same divided by ``log2 N!``. Both are None for other matrices.
    * ``mean``, the percentiles ``p10``, ``p50`` and ``p90`` over records and draws, and
      ``furthest``, the bound of all moves, are fractions of N rows, or of N ranks if ``permute`` is
      called with ``order="rank"``.
    * ``unmoved`` is the expected fraction of records that do not move. More records may have the
      same value as before, because equal values are exchanged without effect.

    >>> import bistochastic as bs
    >>> d = bs.blocks([2, 2]).displacement()
    >>> d.mean, d.p90, d.furthest, d.unmoved, d.joint_entropy
    (0.125, 0.25, 0.25, 0.5, 2.0)
    """

    size: int
    beta: float
    joint_entropy: float | None
    joint_share: float | None
    mean: float
    p10: float
    p50: float
    p90: float
    furthest: float
    unmoved: float

    def __str__(self) -> str:
        joint = "not known"
        if self.joint_entropy is not None and self.joint_share is not None:
            joint = f"{self.joint_entropy:.6g} bits, {self.joint_share:.4f} of a full shuffle"
        facts = {
            "records": str(self.size),
            "beta of the column": f"{math.floor(self.beta * 1e4) / 1e4:.4f}",
            "joint entropy": joint,
            "mean move": f"{self.mean:.4%} of all places",
            "10% move at most": f"{self.p10:.4%}",
            "50% move at most": f"{self.p50:.4%}",
            "90% move at most": f"{self.p90:.4%}",
            "all move at most": f"{self.furthest:.4%}",
            "do not move": f"{self.unmoved:.4%} of the records",
        }
        width = max(map(len, facts)) + 2
        return "\n".join(f"{name:<{width}}{text}" for name, text in facts.items())

    def __repr__(self) -> str:
        return (
            f"<Displacement of {self.size} records: beta {down(self.beta)}, 50% move at most "
            f"{percent(self.p50)} of the places, 90% at most {percent(self.p90)}>"
        )


def displacement(matrix: Matrix) -> Displacement:
    """Compute how far values move; see :meth:`bistochastic.Matrix.displacement`."""
    size = matrix.size
    both = by_parts(matrix, _moves)
    reach = len(both) // 2
    share = both[reach:].copy()
    share[1:] += both[:reach][::-1]
    below = np.cumsum(share)

    def percentile(p: float) -> float:
        # The first distance that this many do not exceed; sums of doubles fall short by a hair.
        return float(np.searchsorted(below, p * below[-1] * (1 - 1e-12))) / size

    bits = matrix.joint_entropy
    most = math.lgamma(size + 1) / math.log(2)
    return Displacement(
        size=size,
        beta=column_beta(matrix),
        joint_entropy=bits,
        joint_share=None if bits is None else (min(bits / most, 1.0) if most > 0 else 0.0),
        mean=float(np.arange(reach + 1) @ share) / size,
        p10=percentile(0.1),
        p50=percentile(0.5),
        p90=percentile(0.9),
        furthest=float(np.flatnonzero(share > 0)[-1]) / size,
        unmoved=float(share[0]),
    )


def column_beta(matrix: Matrix) -> float:
    """Return beta if one permutation serves the whole column.

    >>> import bistochastic as bs
    >>> m = bs.mix([bs.identity(4), bs.uniform(4)], weights=[0.5, 0.5])
    >>> bs.measures.column_beta(m) < m.beta
    True
    """
    return by_parts(matrix, _column)[0]


def _column(matrix: Matrix, found: Callable[[Matrix], tuple[float, bool]]) -> tuple[float, bool]:
    """Find that beta, and whether a component is drawn for everyone."""
    made = composition(matrix)
    parts = [] if made is None else [found(part) for part in made.parts]
    drawn = isinstance(made, Mixture) or any(drawn for _, drawn in parts)
    beta = matrix.beta
    match made:
        case Mixture():
            beta = min(beta for beta, _ in parts)
        case Product() if drawn:
            # Knowing the other permutation leaves the bits of this one.
            beta = max(beta for beta, _ in parts)
        case Kron() if drawn and matrix.size > 1:
            sizes = [factor.size for factor in made.parts]
            bits = sum(beta * math.log2(n) for (beta, _), n in zip(parts, sizes, strict=True))
            beta = bits / math.log2(matrix.size)
    return beta, drawn


def _moves(matrix: Matrix, found: Callable[[Matrix], Array]) -> Array:
    """Compute the share of records and draws by move, from the furthest down to the furthest up."""
    match composition(matrix):
        case Mixture() as mixture:
            return _sum([weight * found(part) for weight, part in mixture])
        case Kron() as kron:
            return _of_axes([(factor.size, found(factor)) for factor in kron.parts])
        case Product():
            return _of_entries(matrix)
    n = matrix.size
    if (runs := classes(matrix)) is not None:
        _refuse_wide(int(runs.sizes.max()))
        return _of_classes(runs, n)
    if (alphas := steps(matrix)) is not None:
        shares = alphas.shares()
        moved = float(shares[0] * (n - 1) if len(shares) == 1 else shares.sum()) / n
        return np.array([moved, 1 - 2 * moved, moved])
    if (exchange := swap(matrix)) is not None:
        reach, moved = abs(exchange.i - exchange.j), float((1 - exchange.keep) / n)
        _refuse_wide(reach)
        out: Array = np.zeros(2 * reach + 1)
        out[0] = out[-1] = moved
        out[reach] += 1 - 2 * moved if reach else 1.0
        return out
    _refuse_wide(n)
    if (pair := two_valued(matrix)) is not None:
        keep, off = pair
        out = off * (n - np.abs(np.arange(1 - n, n))) / n
        out[n - 1] = keep
        return out
    if (places := targets(matrix)) is not None:
        moves = places - np.arange(n)
        reach = int(np.abs(moves).max(initial=0))
        return np.bincount(moves + reach, minlength=2 * reach + 1) / n
    if (kernel := even_kernel(matrix)) is not None:
        return _of_kernel(kernel.shares(), n)
    if (row := first_row(matrix)) is not None:
        return _of_row(row.shares(), n)
    return _of_entries(matrix)


def _sum(parts: list[Array]) -> Array:
    longest = max(len(part) for part in parts)
    out = np.zeros(longest)
    for part in parts:
        short = (longest - len(part)) // 2
        out[short : longest - short] += part
    return out


def _of_axes(axes: list[tuple[int, Array]]) -> Array:
    """Combine the moves of the axes, which are independent for each record."""
    # Along an axis of one place nothing moves, whatever its family allows for.
    axes = [(size, moves) for size, moves in axes if size > 1]
    reach = 0
    for size, moves in axes:
        reach = reach * size + len(moves) // 2
    _refuse_wide(reach)
    whole = np.ones(1)
    for size, moves in axes:
        more = len(moves) // 2
        # A move along the axes before is one by `size`, so two of them meet in no more than one.
        down, up = np.zeros(size), np.zeros(size)
        down[size - more :], up[: more + 1] = moves[:more], moves[more:]
        out = np.zeros((len(whole) + 1, size))
        out[:-1] += whole[:, None] * down
        out[1:] += whole[:, None] * up
        whole = out.ravel()[size - more : len(out) * size - size + more + 1]
    return whole


def _refuse_wide(reach: int) -> None:
    """Raise an error if there are too many different moves to be counted."""
    if 2 * reach > _MOVES:
        must = f"move values by at most {_MOVES // 2} places to be measured"
        raise Refused("matrix", must, reach)


def _of_classes(found: ClassRuns, size: int) -> Array:
    """Count the moves inside classes: in a class of n, n - d pairs are d apart, each with 1/n."""
    reach = int(found.sizes.max()) - 1
    out = np.zeros(2 * reach + 1)
    sizes, inverse = np.unique(found.sizes, return_inverse=True)
    counts = np.bincount(inverse, weights=found.many)
    for n, number in zip(sizes.tolist(), counts.tolist(), strict=True):
        d = np.abs(np.arange(1 - n, n))
        out[reach + 1 - n : reach + n] += number * (n - d) / n
    return out / size


def _of_row(shares: Array, n: int) -> Array:
    """Count the moves of shifts: a shift by j moves n - j up by j and j down by n - j."""
    out = np.zeros(2 * n - 1)
    j = np.arange(n)
    out[n - 1 + j] += shares * (n - j) / n
    out[j[1:] - 1] += shares[1:] * j[1:] / n
    return out


def _of_kernel(c: Array, n: int) -> Array:
    """Sum ``c_{v-u} + c_{u+v+1}``; the second term over all sums of the parity of the move."""
    cycle = np.concatenate([c, c[-2:0:-1]])
    # cycle[s + 1] for the sums s = 0..2n-2, added up by parity from the front.
    by_sum = cycle[np.arange(1, 2 * n) % (2 * n)]
    ahead = np.zeros(2 * n + 1)
    for parity in (0, 1):
        ahead[2 + parity :: 2] = np.cumsum(by_sum[parity::2])[: len(ahead[2 + parity :: 2])]
    d = np.arange(n)
    # Sums from d to 2n - 2 - d, in steps of two: ahead[s + 2] holds all up to s.
    folded = ahead[2 * n - d] - ahead[d]
    half = (c[:n] * (n - d) + folded) / n
    return np.concatenate([half[:0:-1], half])


def _of_entries(matrix: Matrix) -> Array:
    n = matrix.size
    if n > _DENSE:
        must = f"be at most {_DENSE} wide if it is a product or has no structure"
        raise Refused("matrix", must, n)
    dense = matrix.to_dense()
    return np.array([np.trace(dense, offset=d) for d in range(1 - n, n)]) / n
