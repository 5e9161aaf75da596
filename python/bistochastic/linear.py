"""``P.T @ x`` and its inverse: checks, conditions, and dense matrices through LAPACK."""

from __future__ import annotations

import math
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bistochastic import arguments, structure
from bistochastic.errors import Refused, RefusedType, SingularMatrixError
from bistochastic.operators import Through, basis, operator, rest_of_uniform
from bistochastic.progress import interruptible
from bistochastic.structure import (
    Kron,
    Mixture,
    Product,
    Stochastic,
    by_parts,
    classes,
    composition,
    has_rows,
    is_uniform,
    notes_of,
    place_of,
    swap,
    wide_factors,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bistochastic.arguments import Array

# Beyond this condition doubles cannot distinguish a matrix from a singular one.
MOST = 2.0**50
# Size up to which a composite without a common structure is made dense for its condition.
_DENSE = 2048


def _by_rows(
    name: str, matrix: Stochastic, given: object, operate: Callable[[Stochastic, Array], Array]
) -> Array:
    """Check the vectors, operate on them as contiguous rows, and return them as they were given."""
    r = matrix.size
    must = f"hold {r} finite numbers, or that many rows with one column per vector"
    array = arguments.array(name, must, given)
    arguments.refuse_labels(name, given, columns=False)
    if array.dtype.kind not in "fiu":
        raise RefusedType(name, must, f"dtype {array.dtype}")
    if array.ndim not in (1, 2) or array.shape[0] != r:
        raise Refused(name, must, f"shape {array.shape}")
    rows = array.reshape(r, -1).T
    if rows.dtype != np.float64:
        rows = arguments.doubles(name, np.ascontiguousarray(rows))
    # Aligned, too: an array may be a view of any bytes.
    if not (rows.flags.c_contiguous and rows.flags.aligned):
        rows = np.require(rows, requirements=["C", "A"])
    if not (finite := np.isfinite(rows)).all():
        at = int(finite.argmin()) % r
        raise Refused(name, must, f"a number that is not finite at position {at}")
    found = operate(matrix, rows)
    return found[0] if array.ndim == 1 else found.T


def apply(matrix: Stochastic, x: object) -> Array:
    """Compute ``P.T @ x``; see :meth:`bistochastic.Matrix.apply`."""
    return _by_rows("x", matrix, x, forth)


def solve(matrix: Stochastic, y: object, *, back: bool = False) -> Array:
    """Find the ``x`` with ``P.T @ x = y``; see :meth:`bistochastic.Matrix.solve`."""
    return _by_rows("y", matrix, y, partial(_solve, back=back))


def solve_back(matrix: Stochastic, rows: Array) -> Array:
    """Find, for every row of scores, the ``g`` with ``P @ g = scores``.

    The mean of ``g`` over the reported values of a true category is the score of that category.
    """
    return _solve(matrix, np.ascontiguousarray(rows, dtype=np.float64), back=True)


def forth(matrix: Stochastic, rows: Array, *, back: bool = False) -> Array:
    """Multiply checked, contiguous rows by ``P``, or with ``back`` by its transpose."""
    own = operator(matrix)
    # A sum may pass the largest double; what is infinite says so.
    with np.errstate(all="ignore"):
        return (Through(matrix) if own is None else own).apply(rows, back)


def from_truths(matrix: Stochastic, rows: Array) -> Array:
    """Do the same as :func:`forth`, for rows that hold only the codes that can be true."""
    if matrix.padding:
        held, rows = rows, np.zeros((len(rows), matrix.size))
        rows[:, structure.true_codes(matrix)] = held
    return forth(matrix, np.ascontiguousarray(rows))


def to_truths(matrix: Stochastic, rows: Array) -> Array:
    """Multiply each row by the transpose of ``P``, and return the codes that can be true."""
    found = forth(matrix, np.ascontiguousarray(rows), back=True)
    return found[:, structure.true_codes(matrix)] if matrix.padding else found


def _solve(matrix: Stochastic, rows: Array, *, back: bool = False) -> Array:
    own = operator(matrix)
    if own is None:
        return _undone(Through(matrix, _by_lapack), rows, back=back)
    if own.is_singular:
        raise singular_error("solve", matrix)
    with np.errstate(all="ignore"):
        return own.solve(rows, back)


def _undone(through: Through, rows: Array, *, back: bool) -> Array:
    for part in through.asked:
        if is_singular(part):
            raise singular_error("solve", part)
    with np.errstate(all="ignore"):
        return through.apply(rows, back)


def _by_lapack(matrix: Stochastic, rows: Array, back: bool) -> Array:
    """Multiply rows by the inverse of a matrix without a structure."""
    found, most = _probed(matrix, rows, back=back)
    if most > MOST and condition(matrix) > MOST:
        raise singular_error("solve", matrix)
    return found


def _probed(matrix: Stochastic, rows: Array, *, back: bool) -> tuple[Array, float]:
    """Solve rows by LAPACK; return them with a bound of the condition, infinite if in doubt.

    Four fixed normal vectors are solved with the given ones. For the direction v that the inverse
    stretches most and a normal z, ``|z . v| < 2^-10`` has probability 8e-4, for all of four 4e-13;
    otherwise ``1024 |P^-1 z|`` is not below the condition. So most matrices need no singular
    values.
    """
    dense = matrix.to_dense()
    probes = np.random.default_rng(0).standard_normal((4, matrix.size))
    both = np.concatenate([rows, probes]).T
    try:
        found = interruptible(matrix.size, np.linalg.solve, dense if back else dense.T, both).T
    except np.linalg.LinAlgError:
        raise singular_error("solve", matrix) from None
    most = 1024 * float(np.linalg.norm(found[len(rows) :], axis=1).max())
    return np.ascontiguousarray(found[: len(rows)]), most if most < MOST / 1024 else math.inf


def singular_values(dense: Array) -> Array:
    """Compute all singular values, as eigenvalues if the matrix is symmetric."""
    if np.array_equal(dense, dense.T):
        return np.asarray(np.abs(interruptible(len(dense), np.linalg.eigvalsh, dense)))
    values = interruptible(len(dense), lambda: np.linalg.svd(dense, compute_uv=False))
    return np.asarray(values)


def dense_rank(matrix: Stochastic, values: Array) -> int:
    """Compute the rank: the number of singular values that doubles tell from 0."""
    return int((values > 8 * matrix.size * np.finfo(float).eps).sum())


def inverse(least: float) -> float:
    """Compute the condition of a matrix whose largest singular value is 1."""
    return 1 / least if least > 0 else math.inf


def by_iteration(matrix: Stochastic) -> float:
    """Bound the norm of the inverse from below by power iteration, mostly closely."""
    r = matrix.size
    x = np.random.default_rng(r).choice([-1.0, 1.0], (1, r)) / math.sqrt(r)
    grown = 1.0
    through, own = Through(matrix, _by_lapack), place_of(matrix)
    through.asked = [part for part in through.asked if place_of(part) != own]
    for _ in range(30):
        x = _undone(through, _undone(through, x, back=False), back=True)
        length = float(np.linalg.norm(x))
        if not math.isfinite(length):
            return math.inf
        grown = max(grown, math.sqrt(length))
        x /= length
    return grown


def condition(matrix: Stochastic) -> float:
    """Compute the condition in the 2-norm; see :attr:`bistochastic.Matrix.condition`."""
    return by_parts(matrix, _kept_condition)


def _kept_condition(matrix: Stochastic, found: Callable[[Stochastic], float]) -> float:
    notes = notes_of(matrix)
    if "condition" not in notes:
        keep_condition(matrix, _condition(matrix, found))
    known: float = notes["condition"]
    return known


def keep_condition(matrix: Stochastic, found: float) -> None:
    """Keep a condition with the matrix, for the next who asks."""
    notes_of(matrix)["condition"] = found


def _by_structure(matrix: Stochastic, found: Callable[[Stochastic], float]) -> float | None:
    """Compute the condition from the spectrum or from ``found`` of the parts, if it follows."""
    if (own := operator(matrix)) is not None:
        return inverse(own.least)
    match composition(matrix):
        case Kron() as kron:
            return math.prod(found(factor) for factor in wide_factors(kron))
        case Mixture() if (rest := rest_of_uniform(matrix)) is not None and matrix.size > 1:
            # Perfect secrecy maps vectors that sum to 0 to 0, so only the rest acts on them.
            return found(rest[1]) / rest[0]
    return None


def _condition(matrix: Stochastic, found: Callable[[Stochastic], float]) -> float:
    known = _by_structure(matrix, found)
    if known is not None:
        return known
    if isinstance(product := composition(matrix), Product):
        pair = [found(factor) for factor in product.parts]
        # A permutation before or after changes no singular value.
        if min(pair) == 1 or max(pair) == math.inf:
            return max(pair)
        if matrix.size > _DENSE:
            return by_iteration(matrix)
    values = singular_values(matrix.to_dense())
    return inverse(float(values.min())) if dense_rank(matrix, values) == matrix.size else math.inf


def is_singular(matrix: Stochastic) -> bool:
    """Whether a matrix is singular or almost; see :attr:`bistochastic.Matrix.is_singular`."""
    if (own := operator(matrix)) is not None:
        return own.is_singular
    return by_parts(matrix, _at_most) > MOST and condition(matrix) > MOST


def _at_most(matrix: Stochastic, found: Callable[[Stochastic], float]) -> float:
    """Bound the condition without singular values; infinite if in doubt."""
    known = notes_of(matrix).get("condition")
    known = _by_structure(matrix, found) if known is None else known
    if known is not None:
        return known
    if isinstance(product := composition(matrix), Product):
        return math.prod(found(factor) for factor in product.parts)
    try:
        return _probed(matrix, np.empty((0, matrix.size)), back=False)[1]
    except SingularMatrixError:
        return math.inf


def singular_error(what: str, matrix: Stochastic) -> SingularMatrixError:
    """Say why ``what`` is impossible with a singular matrix, and what it still reveals."""
    must = "be used with an invertible matrix"
    return SingularMatrixError(what, must, f"one {_what_is_left(matrix)}")


@contextmanager
def said_of(what: str, matrix: Stochastic) -> Iterator[None]:
    """Name ``what`` in the error, if a step inside finds that the matrix is singular."""
    try:
        yield
    except SingularMatrixError:
        raise singular_error(what, matrix) from None


def _what_is_left(matrix: Stochastic) -> str:
    """Say what a singular matrix still distinguishes, found in its factors."""
    inside = []
    while isinstance(made := composition(matrix), Kron | Product):
        given = enumerate(made.parts)
        at = next(((i, factor) for i, factor in given if is_singular(factor)), None)
        if at is None:
            break
        inside.append(f"whose factor {at[0]} is one ")
        matrix = at[1]
    if len(inside) > 3:
        inside = [*inside[:2], "that holds one "]
    return "".join(inside) + _what_it_tells(matrix)


def _what_it_tells(matrix: Stochastic) -> str:
    r = matrix.size
    if is_uniform(matrix):
        return "that reveals only the total of all categories"
    if (secret := classes(matrix)) is not None:
        return f"that reveals only the totals of its {secret.number} classes"
    if (pair := swap(matrix)) is not None:
        return f"that reveals categories {pair.i} and {pair.j} only together"
    if has_rows(matrix) and r <= _DENSE:
        rank = dense_rank(matrix, singular_values(matrix.to_dense()))
        if rank < r:
            return f"of rank {rank}, that separates only this many combinations of {r} categories"
    if (own := operator(matrix)) is not None and own.rank < r:
        left = {"cyclic": "Fourier components", "cosine": "cosine components"}
        what = left.get(basis(matrix) or "", "combinations")
        return f"of rank {own.rank} in doubles, that separates only this many {what} of {r}"
    return "that reveals some combinations of categories too faintly for doubles"
