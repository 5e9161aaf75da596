"""Records as categories: a column of N records permuted or averaged by a matrix over them.

The matrix is never formed. An order is an array of rows: ``order[i]`` is the row at place ``i``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bistochastic import _core, arguments, linear, structure
from bistochastic.arguments import Array
from bistochastic.errors import InvertibleReleaseError, Refused, RefusedType
from bistochastic.formatting import Shown, down
from bistochastic.matrix import Matrix
from bistochastic.structure import Kron, Mixture, Product, by_parts, composition

Key = _core.Key | None
Places = NDArray[np.int64]

Order: TypeAlias = "ArrayLike | Literal['rank'] | None"

# Size up to which a matrix without a structure is looked at entry by entry.
_DENSE = 4096
# Furthest move that is counted.
_REACH = 1 << 23


def permute(
    matrix: Matrix, values: object, order: Order, key: Key, stream: str | None, allow_shift: bool
) -> np.ndarray:
    """Set ``out[s[u]] = values[u]``, with the records in ``order``."""
    size = matrix.size
    values = _rows_of(values, size)
    rows = _order(matrix, values, order, key, stream)
    width = int(values.itemsize * np.prod(values.shape[1:], dtype=np.int64))
    kind, dtype = values.dtype.kind, values.dtype
    # The type without the notes that it may hold.
    plain = dtype if kind == "T" else np.dtype(dtype.str)
    ordered = values if rows is None else values[rows]
    _core.require_memory("permute", 1, size, max(width, 1))
    moved = np.empty(values.shape, plain)
    # A row of a few bytes is moved without knowing what they are, as an unsigned integer.
    if kind not in "OT" and width in (1, 2, 4, 8):
        packed = np.require(ordered, requirements=["C", "A"])
        given, made = (x.reshape(-1).view(np.uint8).view(f"u{width}") for x in (packed, moved))
        _core.permute_into(matrix, given, made, allow_shift, key, stream)
    else:
        moved[...] = ordered[_core.origins(matrix, allow_shift, key, stream)]
    out = moved if rows is None else np.empty_like(moved)
    if rows is not None:
        out[rows] = moved
    if kind in "fc":
        # Every NaN in the same way: its bits can hold something.
        out[np.isnan(out)] = np.nan
    return out


def _rows_of(values: object, size: int) -> np.ndarray:
    must = "be an array or a list with a row for each record"
    found = arguments.array("values", must, values)
    if not found.ndim:
        got = "a single number" if isinstance(values, np.ndarray) else type(values).__name__
        raise RefusedType("values", must, got)
    if found.dtype.kind == "V":
        raise RefusedType("values", must, "records with fields of their own")
    if len(found) != size:
        raise Refused("values", f"be one for each of the {size} individuals", len(found))
    return found


def average(
    matrix: Matrix, values: object, order: Order, key: Key, stream: str | None, invertible: bool
) -> Array:
    """Compute ``P.T @ values``, with the records in ``order``."""
    if not invertible:
        _refuse_invertible(matrix)
    plain, must = _rows_of(values, matrix.size), "hold numbers, one column or several"
    if plain.ndim not in (1, 2):
        raise Refused("values", must, f"{plain.ndim} axes")
    numbers = arguments.finite("values", must, plain).astype(np.float64)
    rows = _order(matrix, numbers, order, key, stream)
    if rows is None:
        return linear.apply(matrix, numbers)
    out = np.empty_like(numbers)
    out[rows] = linear.apply(matrix, numbers[rows])
    return out


def _refuse_invertible(matrix: Matrix) -> None:
    """Anything but a projection onto the means of classes of two and more."""
    secret, size = structure.classes(matrix), matrix.size
    alone = 0 if secret is None else int(secret.many[secret.sizes == 1].sum())
    if secret is not None and not alone:
        return
    rank = matrix.profile()["rank"].value
    got = f"a matrix of rank {rank} out of {size}, which anybody can undo"
    if rank is None:
        got = f"a matrix over {size} records that may be undone"
    elif alone and rank < size:
        got = f"{alone} of {size} records in classes of one, whose values it would publish"
    elif rank < size:
        got = f"a matrix of rank {rank} out of {size}, which {size - rank} known values can undo"
    must = "be used with uniform or blocks with two or more in every class"
    raise InvertibleReleaseError("average", f"{must} unless `allow_invertible` is True", got)


def _order(
    matrix: Matrix, values: object, order: object, key: Key, stream: str | None
) -> Places | None:
    """Find the row at each place; None if rows keep their order."""
    if order is None:
        return None
    if isinstance(order, str):
        if order != "rank":
            raise Refused("order", 'be None, "rank" or rows by number', f"{order!r}")
        return by_rank(matrix, values, key, stream)
    size = matrix.size
    must = f"hold each row from 0 to {size - 1} once"
    found = arguments.array("order", must, order)
    if found.dtype.kind not in "iu" or found.ndim != 1:
        got = f"dtype {found.dtype}" if found.ndim == 1 else f"{found.ndim} axes"
        raise RefusedType("order", must, got)
    if not np.array_equal(np.sort(found), np.arange(size)):
        raise Refused("order", must, f"{len(found)} numbers that are not these")
    return np.ascontiguousarray(found, dtype=np.int64)


def by_rank(matrix: Matrix, values: object, key: Key, stream: str | None) -> Places:
    """Sort the rows from the smallest value to the largest, equal ones in random order.

    In the order of the file, neighbours with equal values would stay neighbours.
    """
    must = "be one column of values that have an order"
    plain = arguments.array("values", must, values)
    if plain.ndim != 1:
        raise Refused("values", f'{must} for order="rank"', f"{plain.ndim} axes")
    if plain.dtype.kind not in "biufmMOSU":
        raise RefusedType("values", must, f"dtype {plain.dtype}")
    arguments.refuse("values", "missing values", arguments.lost(plain))
    try:
        order = np.argsort(plain, kind="stable")
    except TypeError:
        raise RefusedType("values", must, "objects that have none") from None
    _, starts, lengths = np.unique(plain[order], return_index=True, return_counts=True)
    ties = lengths > 1
    runs = [np.ascontiguousarray(x, np.int64) for x in (order, starts[ties], lengths[ties])]
    return _core.shuffle_ties(matrix, runs[0], runs[1], runs[2], key, stream)


@dataclass(frozen=True, repr=False)
class Displacement(Shown):
    """The privacy of a permuted column, and the distances that values move.

    * ``beta`` is the beta of the column. For a :func:`mix` it is the smallest beta of a component,
      since one component is drawn for all records.
    * ``joint_entropy`` is the bits of the whole permutation of a matrix of classes, and
      ``joint_share`` the same divided by ``log2 N!``. Both are None for other matrices.
    * ``mean``, the percentiles ``p10``, ``p50`` and ``p90`` over records and draws, and
      ``furthest``, the bound of all moves, are fractions of the N rows or ranks.
    * ``unmoved`` is the expected fraction of records that do not move.

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
        facts = [
            ["records", str(self.size)],
            ["beta of the column", down(self.beta, 4)],
            ["joint entropy", joint],
            ["mean move", f"{self.mean:.4%} of all places"],
            *([f"{q} move at most", f"{x:.4%}"] for q, x in (
                ("10%", self.p10), ("50%", self.p50), ("90%", self.p90), ("all", self.furthest)
            )),
            ["do not move", f"{self.unmoved:.4%} of the records"],
        ]  # fmt: skip
        return "\n".join(f"{name:<20}{text}" for name, text in facts)

    def __repr__(self) -> str:
        return f"<Displacement of {self.size} records: beta {down(self.beta)}>"


def displacement(matrix: Matrix) -> Displacement:
    """Compute how far values move; see :meth:`bistochastic.Matrix.displacement`."""
    size = matrix.size
    both = by_parts(matrix, _moves)
    reach = len(both) // 2
    share = both[reach:].copy()
    share[1:] += both[:reach][::-1]
    below = np.cumsum(share)
    # The first distances that these shares do not exceed; sums of doubles fall short by a hair.
    most = np.array([0.1, 0.5, 0.9]) * below[-1] * (1 - 1e-12)
    p10, p50, p90 = (np.searchsorted(below, most) / size).tolist()
    bits = matrix.joint_entropy
    whole = math.lgamma(size + 1) / math.log(2)
    return Displacement(
        size=size,
        beta=column_beta(matrix),
        joint_entropy=bits,
        joint_share=None if bits is None else (min(bits / whole, 1.0) if whole > 0 else 0.0),
        mean=float(np.arange(reach + 1) @ share) / size,
        p10=p10,
        p50=p50,
        p90=p90,
        furthest=float(np.flatnonzero(share > 0)[-1]) / size,
        unmoved=float(share[0]),
    )


def column_beta(matrix: Matrix) -> float:
    """Return beta if one permutation serves the whole column.

    >>> m = bs.mix([bs.identity(4), bs.uniform(4)], weights=[0.5, 0.5])
    >>> bs.measures.column_beta(m) < m.beta
    True
    """
    return by_parts(matrix, _own_beta)[0]


def _own_beta(matrix: Matrix, found: Callable[[Matrix], tuple[float, bool]]) -> tuple[float, bool]:
    # Also whether a component is drawn for everyone.
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
            parts = [weight * found(part) for weight, part in mixture]
            out = np.zeros(max(map(len, parts)))
            for part in parts:
                short = (len(out) - len(part)) // 2
                out[short : len(out) - short] += part
            return out
        case Kron() as kron:
            return _of_axes([(factor.size, found(factor)) for factor in kron.parts])
        case Product():
            return _of_entries(matrix)
    n = matrix.size
    if (runs := structure.classes(matrix)) is not None:
        _refuse_wide(int(runs.sizes.max()))
        return _of_classes(runs, n)
    if (alphas := structure.steps(matrix)) is not None:
        shares = alphas.shares()
        moved = float(shares[0] * (n - 1) if len(shares) == 1 else shares.sum()) / n
        return np.array([moved, 1 - 2 * moved, moved])
    if (exchange := structure.swap(matrix)) is not None:
        reach, moved = abs(exchange.i - exchange.j), float((1 - exchange.keep) / n)
        _refuse_wide(reach)
        out = np.zeros(2 * reach + 1)
        out[0] = out[-1] = moved
        out[reach] += 1 - 2 * moved if reach else 1.0
        return out
    _refuse_wide(n)
    if (pair := structure.two_valued(matrix)) is not None:
        return moves_of_row(np.append(pair[0], np.full(n - 1, pair[1])), n)
    if (places := structure.targets(matrix)) is not None:
        moves = places - np.arange(n)
        reach = int(np.abs(moves).max(initial=0))
        return np.bincount(moves + reach, minlength=2 * reach + 1) / n
    if (kernel := structure.even_kernel(matrix)) is not None:
        return moves_of_kernel(kernel.shares(), n)
    if (row := structure.first_row(matrix)) is not None:
        return moves_of_row(row.shares(), n)
    return _of_entries(matrix)


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
    if reach > _REACH:
        raise Refused("matrix", f"move values by at most {_REACH} places to be measured", reach)


def _of_classes(found: structure.ClassRuns, size: int) -> Array:
    """Count the moves inside classes: in a class of n, n - d pairs are d apart, each with 1/n."""
    reach = int(found.sizes.max()) - 1
    out = np.zeros(2 * reach + 1)
    sizes, inverse = np.unique(found.sizes, return_inverse=True)
    counts = np.bincount(inverse, weights=found.many)
    for n, number in zip(sizes.tolist(), counts.tolist(), strict=True):
        d = np.abs(np.arange(1 - n, n))
        out[reach + 1 - n : reach + n] += number * (n - d) / n
    return out / size


def moves_of_row(shares: Array, n: int) -> Array:
    """Count the moves of shifts: a shift by j moves n - j up by j and j down by n - j."""
    out = np.zeros(2 * n - 1)
    j = np.arange(n)
    out[n - 1 + j] += shares * (n - j) / n
    out[j[1:] - 1] += shares[1:] * j[1:] / n
    return out


def moves_of_kernel(c: Array, n: int) -> Array:
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
