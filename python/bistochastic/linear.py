"""Matrices as linear maps in NumPy: ``P.T @ x``, its inverse, spectra and conditions.

Each structure with a way shorter than the dense one is an :class:`Operator`. Composites are taken
apart by :func:`through`. What is left without a structure is dense.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial, wraps
from typing import Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from bistochastic import _core, arguments, structure
from bistochastic.arguments import Array
from bistochastic.cached import cached
from bistochastic.errors import Refused, RefusedType, SingularMatrixError
from bistochastic.matrix import Matrix
from bistochastic.progress import interruptible
from bistochastic.structure import Kron, Mixture, Product, Stochastic, composition

Basis = Literal["flat", "cyclic", "cosine"]
Run: TypeAlias = Callable[[Array, bool], Array]
Steps: TypeAlias = list[tuple[int, Run | Array]]
T = TypeVar("T")

# Beyond this condition doubles cannot tell a matrix from a singular one, and below this a singular
# value from 0.
MOST = 2.0**50
LEAST = 1 / MOST
# Largest size whose eigenvalues are written down, and most parts of a product whose eigenvalues are
# multiplied: the product is then right to ten digits.
_LARGEST, _ROUNDINGS = 1 << 28, 1 << 18
# Most parts of a composite that are taken one by one, not written down.
_FEW = 1 << 12
# Size up to which a composite without a common structure is made dense for its condition.
_DENSE = 2048


@dataclass(frozen=True, eq=False)
class Operator:
    """A matrix as a linear map. Vectors are rows.

    ``apply`` computes ``P.T @ x`` for each row x, or with its second argument ``P @ x``. ``solve``
    undoes it, and is called only if the matrix is not singular. ``values`` computes the least
    singular value, the largest being 1, and the rank; ``clear`` may see in less time that it is not
    singular.
    """

    apply: Run
    solve: Run
    values: Callable[[], tuple[float, int]]
    clear: Callable[[], bool] = lambda: False

    @cached
    def _found(self) -> tuple[float, int]:
        return self.values()

    @property
    def least(self) -> float:
        """The least singular value, the largest being 1; 0 if it cannot be told from it."""
        return self._found[0]

    @property
    def rank(self) -> int:
        """How many singular values are not 0."""
        return self._found[1]

    @cached
    def is_singular(self) -> bool:
        """Whether the least singular value is below 2^-50."""
        return not self.clear() and self.least < LEAST


def _means(runs: structure.ClassRuns) -> Operator:
    """The mean inside each class of consecutive codes: a projection."""
    alone = bool((runs.sizes == 1).all())

    def apply(rows: Array, back: bool) -> Array:
        if alone:
            return rows.copy()
        each = runs.each()
        return np.repeat(np.add.reduceat(rows, runs.starts(), axis=1) / each, each, axis=1)

    return Operator(apply, apply, lambda: (float(alone), runs.number))


def _flat(size: int, own: float, all_: float) -> Operator:
    """``own I + all J``: what sums to 0 is multiplied by ``own``, and sums are kept."""

    def apply(rows: Array, back: bool) -> Array:
        out = np.multiply(rows, own)
        out += all_ * rows.sum(axis=1, keepdims=True)
        return out

    def solve(rows: Array, back: bool) -> Array:
        out = np.subtract(rows, all_ * rows.sum(axis=1, keepdims=True))
        out *= 1 / own
        return np.asarray(out)

    return Operator(apply, solve, lambda: (1.0 if size == 1 else abs(own), size if own else 1))


def _moved(to: structure.Counts) -> Operator:
    """A permutation: the number at ``u`` moves to ``to[u]``."""
    of = np.empty_like(to)
    of[to] = np.arange(len(to))

    def apply(rows: Array, back: bool) -> Array:
        return np.ascontiguousarray(rows[:, to if back else of])

    return Operator(apply, lambda rows, back: apply(rows, not back), lambda: (1.0, len(to)))


def _swapped(size: int, pair: structure.Swap) -> Operator:
    """Two codes that change places unless they stay: their sum and difference are eigenvectors."""
    apart = float(2 * pair.keep - 1)

    def run(rows: Array, scale: float) -> Array:
        out = rows.copy()
        one, other = rows[:, pair.i], rows[:, pair.j]
        middle, half = (one + other) / 2, (one - other) / 2 * scale
        out[:, pair.i], out[:, pair.j] = middle + half, middle - half
        return out

    return Operator(
        lambda rows, back: run(rows, apart),
        lambda rows, back: run(rows, 1 / apart),
        lambda: (abs(apart), size - int(apart == 0)),
    )


def _tridiagonal(size: int, step: structure.Vector) -> Operator:
    """Steps to the next code, by elimination; eigenvalues in closed form if all steps are alike."""
    inner = np.resize(step.counts, size - 1)
    padded = np.concatenate([[0], inner, [0]])
    stays = (step.total - padded[:-1] - padded[1:]) / step.total
    lines = _core.Tridiagonal(stays, inner / step.total)

    def values() -> tuple[float, int]:
        if size == 1:
            return 1.0, 1
        if len(step.counts) == 1:
            alpha = float(step.shares()[0])
            # Eigenvalues 1 - 4 alpha sin^2(pi k / 2 size) of I - alpha L of the path graph fall
            # with k, and are all different; 0 lies between two neighbours, or beyond the last.
            turn = math.asin(math.sqrt(1 / (4 * alpha))) if alpha > 0.25 else math.pi / 2
            at = min(size - 1, int(turn * 2 * size / math.pi))
            near = (min(k, size - 1) for k in range(max(0, at - 1), at + 3))
            sines = (math.sin(math.pi * k / (2 * size)) for k in near)
            least = min(1.0, *(abs(1 - 4 * alpha * sine**2) for sine in sines))
            return (least, size) if least >= LEAST else (0.0, size - 1)
        if faint := lines.within([LEAST] * 4)[0]:
            return 0.0, size - faint
        low, high = LEAST, 1.0
        while high / low > 1 + 1e-10:
            # The smallest number with an eigenvalue between it and its negative.
            tried = [low * (high / low) ** (k / 5) for k in range(1, 5)]
            found = [count > 0 for count in lines.within(tried)]
            first = found.index(True) if any(found) else 4
            high = tried[first] if first < 4 else high
            low = tried[first - 1] if first else low
        return low, size

    run = lines.run
    return Operator(lambda rows, _: run(rows, False), lambda rows, _: run(rows, True), values)


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues in a basis that other matrices share.

    ``flat``: one number, for everything that sums to 0, in every basis. ``cyclic``: of the Fourier
    basis, 0 to size/2. ``cosine``: of the cosine basis (DCT-II), one per code.
    """

    basis: Basis
    values: NDArray[np.float64] | NDArray[np.complex128]

    def spread(self, basis: Basis, size: int) -> NDArray[np.float64] | NDArray[np.complex128]:
        """Return the values in a basis that is at least as large."""
        if self.basis == basis:
            return self.values
        values = np.full(size // 2 + 1 if basis == "cyclic" else size, self.values[0])
        values[0] = 1.0
        return values


def _spectral(n: int, spectrum: Spectrum) -> Operator:
    """Transform, multiply or divide by the eigenvalues, transform back."""
    values, cyclic = spectrum.values, spectrum.basis == "cyclic"
    turns = cache(lambda: np.exp(-0.5j * np.pi / n * np.arange(n // 2 + 1)))

    def lengths() -> tuple[float, int]:
        seen = np.abs(values) >= LEAST
        least = min(1.0, float(np.abs(values).min())) if seen.all() else 0.0
        if not cyclic:
            return least, int(seen.sum())
        # All but the first, and the one in the middle, stand for two.
        alone = [0, n // 2] if n % 2 == 0 else [0]
        return least, 2 * int(seen.sum()) - int(seen[alone].sum())

    def run(rows: Array, back: bool, scale: np.ufunc) -> Array:
        if cyclic:
            found = np.fft.rfft(rows)
            scale(found, values.conj() if back else values, out=found)
            return np.fft.irfft(found, n)
        # With A_k = V_k exp(-i pi k / 2n), V the Fourier transform of even places in order and then
        # odd places backwards, the cosine transform is X_k = Re A_k and X_(n-k) = -Im A_k.
        half = n - n // 2
        found = np.fft.rfft(np.concatenate([rows[:, ::2], rows[:, 1::2][:, ::-1]], axis=1))
        found *= turns()
        here, there = values[: n // 2 + 1], np.concatenate([values[:1], values[: half - 1 : -1]])
        scale(found.real, here[: n // 2 + 1], out=found.real)
        scale(found.imag, there[: n // 2 + 1], out=found.imag)
        found *= turns().conj()
        folded = np.fft.irfft(found, n)
        out = np.empty_like(rows)
        out[:, ::2], out[:, 1::2] = folded[:, :half], folded[:, half:][:, ::-1]
        return out

    return Operator(
        lambda rows, back: interruptible(n >> 10, run, rows, back, np.multiply),
        lambda rows, back: interruptible(n >> 10, run, rows, back, np.divide),
        lengths,
    )


def singular_values(dense: Array) -> Array:
    """Compute all singular values, as eigenvalues if the matrix is symmetric."""
    if np.array_equal(dense, dense.T):
        return np.asarray(np.abs(interruptible(len(dense), np.linalg.eigvalsh, dense)))
    return np.asarray(interruptible(len(dense), lambda: np.linalg.svd(dense, compute_uv=False)))


def dense_rank(values: Array) -> int:
    """Compute the rank: the number of singular values that doubles tell from 0."""
    return int((values > 8 * len(values) * np.finfo(float).eps).sum())


def _written(entries: Array, largest: float | None = 1.0) -> Operator:
    """An array, with its inverse. Without the ``largest`` singular value that is computed."""

    @cache
    def inverse() -> Array:
        return interruptible(len(entries), np.linalg.inv, entries)

    def values() -> tuple[float, int]:
        found = singular_values(entries)
        rank = dense_rank(found)
        return float(found.min() / (largest or found.max())) * (rank == len(found)), rank

    def clear() -> bool:
        # For the direction v that the inverse stretches most and a normal z, |z . v| < 2^-10 has
        # probability 8e-4, for all of four 4e-13; otherwise 1024 |P^-1 z| is not below its norm.
        probes = np.random.default_rng(0).standard_normal((4, len(entries)))
        try:
            return bool(1024 * np.linalg.norm(probes @ inverse(), axis=1).max() < MOST)
        except np.linalg.LinAlgError:
            return False

    return Operator(
        lambda rows, back: rows @ (entries.T if back else entries),
        lambda rows, back: rows @ (inverse().T if back else inverse()),
        values,
        clear,
    )


def _kept(find: Callable[[Stochastic], T]) -> Callable[[Stochastic], T]:
    """Find something out about a matrix once: a composite may hold the same one many times."""

    @wraps(find)
    def found(matrix: Stochastic) -> T:
        notes = _core.notes(matrix) if isinstance(matrix, Matrix) else matrix.notes
        if find.__name__ not in notes:
            notes[find.__name__] = find(matrix)
        known: T = notes[find.__name__]
        return known

    return found


@_kept
def spectrum(matrix: Stochastic) -> Spectrum | None:
    """Return the eigenvalues, if a transform that other matrices share makes it diagonal."""
    size = matrix.size
    if (two := structure.asked(matrix, "two values")) is not None:
        return Spectrum("flat", np.array([two[2]]))
    if (row := structure.first_row(matrix)) is not None:
        return Spectrum("cyclic", np.fft.rfft(row.shares())) if size <= _LARGEST else None
    if (kernel := structure.even_kernel(matrix)) is not None and 2 * size <= _LARGEST:
        # The Fourier transform of the even law on the cycle of length 2 r.
        half = kernel.shares()
        cycle = np.concatenate([half, half[-2:0:-1]])
        return Spectrum("cosine", np.fft.rfft(cycle).real[:size])
    step = structure.steps(matrix)
    if step is not None and len(step.counts) == 1 and 3 <= size < 1 << 27:
        half_turns = np.sin(np.pi / (2 * size) * np.arange(size))
        return Spectrum("cosine", 1 - 4 * step.shares()[0] * half_turns**2)
    made = composition(matrix)
    return None if made is None or isinstance(made, Kron) else _joined(matrix, made)


def _joined(matrix: Stochastic, made: structure.Composition) -> Spectrum | None:
    """Join the eigenvalues of a mixture or a product number by number, if they share a basis."""
    found = [spectrum(part) for part in made.parts]
    parts = [each for each in found if each is not None]
    bases = {part.basis for part in parts} - {"flat"}
    if len(parts) < len(found) or len(bases) > 1:
        return None
    basis: Basis = bases.pop() if bases else "flat"
    values = [part.spread(basis, matrix.size) for part in parts]
    if isinstance(made, Mixture):
        return Spectrum(basis, np.tensordot(made.weights, np.stack(values), 1))
    # Every factor's eigenvalue is off by a rounding, and in a power those add up: one next to 1,
    # raised to a large power, may be anything.
    exact = all(part.basis == "flat" and part.values[0] in (0, 1) for part in parts)
    if structure.parts_in(matrix) > _ROUNDINGS and not exact:
        return None
    return Spectrum(basis, math.prod(values[1:], start=values[0]))


def basis(matrix: Stochastic) -> Basis | None:
    """Say which transform makes the matrix diagonal; None if none is known."""
    return found.basis if (found := spectrum(matrix)) else None


@_kept
def operator(matrix: Stochastic) -> Operator | None:
    """Return the matrix as a linear map, if its structure gives a short way."""
    size = matrix.size
    if not isinstance(matrix, Matrix):
        return _written(matrix.to_dense(), None) if structure.has_rows(matrix) else None
    if (runs := structure.classes(matrix)) is not None:
        return _means(runs)
    if (two := structure.asked(matrix, "two values")) is not None:
        return _flat(size, two[2], two[1])
    if (to := structure.targets(matrix)) is not None:
        return _moved(to)
    if (step := structure.steps(matrix)) is not None:
        return _tridiagonal(size, step)
    if (pair := structure.swap(matrix)) is not None:
        return _swapped(size, pair)
    found = spectrum(matrix)
    if found is None:
        return None
    if found.basis == "flat":
        return _flat(size, own := float(found.values[0]), (1 - own) / size)
    return _spectral(size, found)


@_kept
def dense(matrix: Stochastic) -> Operator:
    """Return a matrix without a structure as an array with its inverse, which are kept with it."""
    return _written(matrix.to_dense())


def rest_of_uniform(matrix: Stochastic) -> tuple[float, Matrix] | None:
    """Return the weight and the part of a mixture beside perfect secrecy, if there is only one."""
    made = composition(matrix)
    if not isinstance(made, Mixture) or len(made.parts) < 2:
        return None
    found = [(each, spectrum(each[1])) for each in made]
    rest = [each for each, s in found if s is None or s.basis != "flat" or s.values[0] != 0]
    return rest[0] if len(rest) == 1 else None


def through(matrix: Stochastic, *, inverse: bool = False) -> Run:
    """Compile a matrix, or its inverse, for many rows: composites are taken apart once.

    A kron goes axis by axis, a product factor by factor, a mixture part by part; a mixture with
    perfect secrecy is undone by what that leaves of the rest.
    """

    def compiled(part: Stochastic, of: Callable[[Stochastic], Run]) -> Run:
        if (own := operator(part)) is not None:
            return own.solve if inverse else own.apply
        few, rest = structure.parts_in(part) <= _FEW, rest_of_uniform(part)
        match composition(part):
            case Kron():
                if flat := _flat_axes(part, inverse):
                    return lambda rows, back: _core.flat_axes(rows, flat)
                steps: Steps = [(axis.size, of(axis)) for axis in structure.axes(part)]
                return partial(_axis_by_axis, steps, {})
            case Product(parts=parts) if few:
                return partial(_one_by_one, [of(each) for each in parts], inverse)
            case Mixture() as mixture if few and not inverse:
                return partial(_weighted, [(weight, of(each)) for weight, each in mixture])
            case Mixture() if rest is not None and inverse:
                return partial(_unmixed, rest[0], of(rest[1]))
        return dense(part).solve if inverse else dense(part).apply

    return structure.by_parts(matrix, compiled)


def _flat_axes(matrix: Stochastic, inverse: bool) -> list[tuple[int, float]]:
    """Return sizes, and what multiplies all that sums to 0; nothing if an axis needs more."""
    found = [(axis.size, spectrum(axis)) for axis in structure.axes(matrix)]
    short = [(n, s.values) for n, s in found if n <= _LONG and s and s.basis == "flat"]
    flat = [(n, float(values[0].real) ** (-1 if inverse else 1)) for n, values in short]
    return flat if len(flat) == len(found) else []


def _one_by_one(factors: list[Run], inverse: bool, rows: Array, back: bool) -> Array:
    # P^T of a product takes the first factor first, P the second; inverses the other way round.
    for run in reversed(factors) if back != inverse else factors:
        rows = run(rows, back)
    return rows


def _weighted(parts: list[tuple[float, Run]], rows: Array, back: bool) -> Array:
    total = np.zeros_like(rows)
    for weight, run in parts:
        total += weight * run(rows, back)
    return total


def _unmixed(weight: float, run: Run, rows: Array, back: bool) -> Array:
    # Sums are kept, so what perfect secrecy added is known: a share of the mean.
    added = (1 - weight) * rows.mean(axis=1, keepdims=True)
    return run((rows - added) / weight, back)


# Axes of up to this many codes are tables, neighbours with a product up to it one table. Many
# cells pay for the tables. Sums along axes of more than the last are added up in pairs.
_TOGETHER, _CELLS, _LONG = 16, 1 << 12, 1 << 12


def _axis_by_axis(steps: Steps, tables: dict[bool, Steps], rows: Array, back: bool) -> Array:
    if rows.size >= _CELLS:
        tables[back] = tables.get(back) or _in_tables(steps, back)
        with np.errstate(over="ignore", invalid="ignore"):
            found = _in_turn(tables[back], rows, back)
            # The product of two inverses may overflow where one after the other does not.
            if np.isfinite(found.sum()):
                return found
    return _in_turn(steps, rows, back)


def _in_tables(steps: Steps, back: bool) -> Steps:
    joined: Steps = []
    for size, step in steps:
        if size <= _TOGETHER and callable(step):
            table, before = step(np.eye(size), back), joined[-1][1] if joined else None
            if isinstance(before, np.ndarray) and len(before) * size <= _TOGETHER:
                joined.pop()
                table = np.kron(before, table).astype(np.float64, copy=False)
            joined.append((len(table), table))
        else:
            joined.append((size, step))
    return joined


def _in_turn(steps: Steps, rows: Array, back: bool) -> Array:
    # Each step takes the first axis and leaves it as the last, so in the end all are in order.
    shape = rows.shape
    for size, step in steps:
        turned = np.swapaxes(rows.reshape(len(rows), size, -1), 1, 2)
        if isinstance(step, np.ndarray):
            rows = turned @ step
        else:
            rows = step(np.ascontiguousarray(turned).reshape(-1, size), back).reshape(turned.shape)
    return rows.reshape(shape)


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
        rows = arguments.doubles(name, rows)
    # Aligned, too: an array may be a view of any bytes.
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
    return _by_rows("y", matrix, y, partial(undo, back=back))


_through = _kept(through)


def forth(matrix: Stochastic, rows: Array, *, back: bool = False) -> Array:
    """Multiply checked, contiguous rows by ``P``, or with ``back`` by its transpose."""
    # A sum may pass the largest double; what is infinite says so.
    with np.errstate(all="ignore"):
        return _through(matrix)(rows, back)


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


def undo(matrix: Stochastic, rows: Array, *, back: bool = False) -> Array:
    """Find what :func:`forth` multiplies to these checked, contiguous rows."""
    if is_singular(matrix):
        raise singular_error("solve", matrix)
    with np.errstate(all="ignore"):
        return through(matrix, inverse=True)(rows, back)


@_kept
def condition(matrix: Stochastic) -> float:
    """Compute the condition in the 2-norm; see :attr:`bistochastic.Matrix.condition`."""
    return _condition(matrix, whole=True)


@_kept
def _bound(matrix: Stochastic) -> float:
    """Bound the condition from above, without the singular values of products."""
    return _condition(matrix, whole=False)


def _condition(matrix: Stochastic, *, whole: bool) -> float:
    own, value_of = operator(matrix), condition if whole else _bound
    match composition(matrix) if own is None else None:
        case Kron() as kron:
            return math.prod(value_of(factor) for factor in structure.wide_factors(kron))
        case Mixture() if (rest := rest_of_uniform(matrix)) is not None:
            # Perfect secrecy maps vectors that sum to 0 to 0, so only the rest acts on them.
            return value_of(rest[1]) / rest[0]
        case Product(parts=parts):
            pair = [value_of(factor) for factor in parts]
            # A permutation before or after changes no singular value.
            if not whole or min(pair) == 1 or max(pair) == math.inf or matrix.size > _DENSE:
                return math.prod(pair)
    least = (own or dense(matrix)).least
    return 1 / least if least > 0 else math.inf


def is_singular(matrix: Stochastic) -> bool:
    """Whether a matrix is singular or almost; see :attr:`bistochastic.Matrix.is_singular`."""
    own = operator(matrix)
    if own is None and composition(matrix) is None:
        own = dense(matrix)
    if own is not None:
        return own.is_singular
    return _bound(matrix) > MOST and condition(matrix) > MOST


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
        at = next((i for i, factor in enumerate(made.parts) if is_singular(factor)), None)
        if at is None:
            break
        inside.append(f"whose factor {at} is one ")
        matrix = made.parts[at]
    if len(inside) > 3:
        inside = [*inside[:2], "that holds one "]
    return "".join(inside) + _what_it_tells(matrix)


def _what_it_tells(matrix: Stochastic) -> str:
    r = matrix.size
    if structure.is_uniform(matrix):
        return "that reveals only the total of all categories"
    if (secret := structure.classes(matrix)) is not None:
        return f"that reveals only the totals of its {secret.number} classes"
    if (pair := structure.swap(matrix)) is not None:
        return f"that reveals categories {pair.i} and {pair.j} only together"
    if structure.has_rows(matrix) and r <= _DENSE:
        rank = dense_rank(singular_values(matrix.to_dense()))
        if rank < r:
            return f"of rank {rank}, that separates only this many combinations of {r} categories"
    if (own := operator(matrix)) is not None and own.rank < r:
        left = {"cyclic": "Fourier components", "cosine": "cosine components"}
        what = left.get(basis(matrix) or "", "combinations")
        return f"of rank {own.rank} in doubles, that separates only this many {what} of {r}"
    return "that reveals some combinations of categories too faintly for doubles"
