"""Matrices as linear maps: one class for each structure with a way shorter than the dense one.

Composites are taken apart in :class:`Through`. What is left without a structure is dense.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from bistochastic import _core
from bistochastic.arguments import Array
from bistochastic.cached import cached
from bistochastic.errors import Refused
from bistochastic.matrix import Matrix
from bistochastic.progress import interruptible
from bistochastic.structure import (
    ClassRuns,
    Composition,
    Counts,
    Kron,
    Mixture,
    Product,
    Stochastic,
    Swap,
    Vector,
    asked,
    axes,
    classes,
    composition,
    even_kernel,
    first_row,
    has_rows,
    notes_of,
    parts_in,
    place_of,
    steps,
    swap,
    targets,
)

Basis = Literal["flat", "cyclic", "cosine"]

T = TypeVar("T")
Run: TypeAlias = Callable[[Array, bool], Array]

# Below this a singular value cannot be told from 0 in doubles: a condition of 2^50.
LEAST = 2.0**-50
# Largest size whose eigenvalues are written down, and most parts of a product whose eigenvalues are
# multiplied: the product is then right to ten digits.
_LARGEST, _ROUNDINGS = 1 << 28, 1 << 18
# Most parts of a composite that are taken one by one: if it can be written down, and if it cannot;
# and the size up to which it can.
_FEW, _MANY, _WRITTEN = 1 << 12, 1 << 18, 1024
# Axes up to this size are multiplied as arrays, several small ones at once up to this many cells.
_SHORT, _GROUP = 64, 32
# Classes up to this size are added code by code, and as many runs of classes are taken one by one.
_CODES, _RUNS = 16, 8


class Operator:
    """A matrix as a linear map. Vectors are rows."""

    @property
    def least(self) -> float:
        """The least singular value, the largest being 1; 0 if it cannot be told from it."""
        raise NotImplementedError

    @property
    def rank(self) -> int:
        """How many singular values are not 0."""
        raise NotImplementedError

    @property
    def is_singular(self) -> bool:
        """Whether the least singular value is below 2^-50."""
        return self.least < LEAST

    def apply(self, rows: Array, back: bool) -> Array:
        """Compute ``P.T @ x`` for each row x, or with ``back`` ``P @ x``."""
        raise NotImplementedError

    def solve(self, rows: Array, back: bool) -> Array:
        """Undo :meth:`apply`; asked only if the matrix is not singular."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Means(Operator):
    """The mean inside each class of consecutive codes: a projection."""

    runs: ClassRuns

    @property
    def least(self) -> float:
        return float((self.runs.sizes == 1).all())

    @property
    def rank(self) -> int:
        return self.runs.number

    @cached
    def _each(self) -> tuple[Counts, Counts]:
        each = self.runs.each()
        return each, np.repeat(np.arange(len(each)), each)

    def apply(self, rows: Array, back: bool) -> Array:
        if not self.is_singular:
            return rows.copy()
        sizes, many = self.runs.sizes, self.runs.many
        if len(sizes) > _RUNS:
            each, places = self._each
            return np.stack([(np.bincount(places, row) / each)[places] for row in rows])
        out = np.empty_like(rows)
        ends = np.cumsum(sizes * many)
        for size, number, end in zip(sizes.tolist(), many.tolist(), ends.tolist(), strict=True):
            here = slice(end - size * number, end)
            part = rows[:, here].reshape(len(rows), number, size)
            if size <= _CODES:
                total = part[..., 0].copy()
                for code in range(1, size):
                    total += part[..., code]
            else:
                total = part.sum(axis=2)
            total /= size
            out[:, here].reshape(part.shape)[...] = total[..., None]
        return out

    def solve(self, rows: Array, back: bool) -> Array:
        # Not singular, so every code is a class of its own.
        return rows.copy()


@dataclass(frozen=True)
class _Flat(Operator):
    """``own I + all J``: what sums to 0 is multiplied by ``own``, and sums are kept."""

    size: int
    own: float
    all: float

    @property
    def least(self) -> float:
        return 1.0 if self.size == 1 else abs(self.own)

    @property
    def rank(self) -> int:
        return self.size if self.own else 1

    def apply(self, rows: Array, back: bool) -> Array:
        out = np.multiply(rows, self.own)
        out += self.all * rows.sum(axis=1, keepdims=True)
        return out

    def solve(self, rows: Array, back: bool) -> Array:
        out = np.subtract(rows, self.all * rows.sum(axis=1, keepdims=True))
        out *= 1 / self.own
        return np.asarray(out)


@dataclass(frozen=True)
class _Moved(Operator):
    """A permutation: the number at ``u`` moves to ``targets[u]``."""

    targets: Counts

    @property
    def least(self) -> float:
        return 1.0

    @property
    def rank(self) -> int:
        return len(self.targets)

    def apply(self, rows: Array, back: bool) -> Array:
        if back:
            return np.ascontiguousarray(rows[:, self.targets])
        out = np.empty_like(rows)
        out[:, self.targets] = rows
        return out

    def solve(self, rows: Array, back: bool) -> Array:
        return self.apply(rows, not back)


@dataclass(frozen=True)
class _Swapped(Operator):
    """Two codes that change places unless they stay: their sum and difference are eigenvectors."""

    size: int
    pair: Swap

    @cached
    def least(self) -> float:
        return abs(self._apart)

    @property
    def _apart(self) -> float:
        return float(2 * self.pair.keep - 1)

    @property
    def rank(self) -> int:
        return self.size - int(self._apart == 0)

    def apply(self, rows: Array, back: bool) -> Array:
        out, keep = rows.copy(), float(self.pair.keep)
        one, other = rows[:, self.pair.i], rows[:, self.pair.j]
        out[:, self.pair.i] = keep * one + (1 - keep) * other
        out[:, self.pair.j] = (1 - keep) * one + keep * other
        return out

    def solve(self, rows: Array, back: bool) -> Array:
        out = rows.copy()
        one, other = rows[:, self.pair.i], rows[:, self.pair.j]
        middle, half = (one + other) / 2, (one - other) / 2 / self._apart
        out[:, self.pair.i], out[:, self.pair.j] = middle + half, middle - half
        return out


@dataclass(frozen=True)
class _Tridiagonal(Operator):
    """Steps to the next code, by elimination; eigenvalues in closed form if all steps are alike."""

    size: int
    steps: Vector

    @property
    def _alpha(self) -> float | None:
        return float(self.steps.shares()[0]) if len(self.steps.counts) == 1 else None

    @cached
    def _lines(self) -> _core.Tridiagonal:
        counts = self.steps.counts
        inner = np.resize(counts, self.size - 1) if self._alpha is not None else counts
        padded = np.concatenate([[0], inner, [0]])
        stays = self.steps.total - padded[:-1] - padded[1:]
        return _core.Tridiagonal(stays / self.steps.total, inner / self.steps.total)

    def apply(self, rows: Array, back: bool) -> Array:
        return self._lines.run(rows, False)

    def solve(self, rows: Array, back: bool) -> Array:
        return self._lines.run(rows, True)

    def _eigenvalue(self, alpha: float, k: int) -> float:
        # I - alpha L of the path graph.
        return 1 - 4 * alpha * math.sin(math.pi * k / (2 * self.size)) ** 2

    @cached
    def least(self) -> float:
        n, alpha = self.size, self._alpha
        if n == 1:
            return 1.0
        if alpha is not None:
            # The eigenvalues fall with k; 0 lies between two neighbours, or beyond the last.
            turn = math.asin(math.sqrt(1 / (4 * alpha))) if alpha > 0.25 else math.pi / 2
            at = min(n - 1, int(turn * 2 * n / math.pi))
            near = (min(k, n - 1) for k in range(max(0, at - 1), at + 3))
            least = min(1.0, *(abs(self._eigenvalue(alpha, k)) for k in near))
            return least if least >= LEAST else 0.0
        if self._lines.within([LEAST] * 4)[0]:
            return 0.0
        low, high = LEAST, 1.0
        while high / low > 1 + 1e-10:
            # The smallest number with an eigenvalue between it and its negative.
            step = (high / low) ** 0.2
            tried = [low * step**k for k in range(1, 5)]
            found = [count > 0 for count in self._lines.within(tried)]
            first = found.index(True) if any(found) else 4
            high = tried[first] if first < 4 else high
            low = tried[first - 1] if first else low
        return low

    @cached
    def is_singular(self) -> bool:
        if self._alpha is not None or self.size == 1:
            return self.least < LEAST
        return not self._lines.is_dominant and self._lines.within([LEAST] * 4)[0] > 0

    @cached
    def rank(self) -> int:
        if self.size == 1:
            return 1
        if self._alpha is not None:
            # The eigenvalues are all different.
            return self.size - (self._alpha > 0 and self.least == 0)
        return self.size - self._lines.within([LEAST] * 4)[0]


@dataclass(frozen=True, eq=False)
class _Dense(Operator):
    """An array whose rows sum to 1, with its inverse."""

    entries: Array

    @cached
    def _values(self) -> Array:
        values = np.linalg.svd(self.entries, compute_uv=False)
        return np.where(values > 2.0**-49 * len(values), values / values[0], 0.0)

    @cached
    def least(self) -> float:
        return float(self._values[-1])

    @cached
    def rank(self) -> int:
        return int(np.count_nonzero(self._values))

    @cached
    def _inverse(self) -> Array:
        return np.asarray(interruptible(len(self.entries), np.linalg.inv, self.entries))

    def apply(self, rows: Array, back: bool) -> Array:
        return rows @ (self.entries.T if back else self.entries)

    def solve(self, rows: Array, back: bool) -> Array:
        return rows @ (self._inverse.T if back else self._inverse)


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


@dataclass(frozen=True)
class _Spectral(Operator):
    """Transform, multiply or divide by the eigenvalues, transform back."""

    size: int
    spectrum: Spectrum

    @cached
    def _turns(self) -> NDArray[np.complex128]:
        return np.asarray(np.exp(-0.5j * np.pi / self.size * np.arange(self.size // 2 + 1)))

    @cached
    def _magnitudes(self) -> Array:
        found = np.abs(self.spectrum.values)
        return np.where(found < LEAST, 0.0, found)

    @cached
    def least(self) -> float:
        return min(1.0, float(self._magnitudes.min()))

    @cached
    def rank(self) -> int:
        seen = self._magnitudes > 0
        if self.spectrum.basis == "cosine":
            return int(seen.sum())
        # All but the first, and the one in the middle, stand for two.
        alone = [0, self.size // 2] if self.size % 2 == 0 else [0]
        return 2 * int(seen.sum()) - int(seen[alone].sum())

    def apply(self, rows: Array, back: bool) -> Array:
        return interruptible(self.size >> 10, self._run, rows, back, np.multiply)

    def solve(self, rows: Array, back: bool) -> Array:
        return interruptible(self.size >> 10, self._run, rows, back, np.divide)

    def _run(self, rows: Array, back: bool, scale: np.ufunc) -> Array:
        n, values = self.size, self.spectrum.values
        if self.spectrum.basis == "cyclic":
            found = np.fft.rfft(rows)
            scale(found, values.conj() if back else values, out=found)
            return np.fft.irfft(found, n)
        # With A_k = V_k exp(-i pi k / 2n), V the Fourier transform of even places in order and then
        # odd places backwards, the cosine transform is X_k = Re A_k and X_(n-k) = -Im A_k.
        half = n - n // 2
        found = np.fft.rfft(np.concatenate([rows[:, ::2], rows[:, 1::2][:, ::-1]], axis=1))
        found *= self._turns
        here, there = values[: n // 2 + 1], np.concatenate([values[:1], values[: half - 1 : -1]])
        scale(found.real, here[: n // 2 + 1], out=found.real)
        scale(found.imag, there[: n // 2 + 1], out=found.imag)
        found *= self._turns.conj()
        folded = np.fft.irfft(found, n)
        out = np.empty_like(rows)
        out[:, ::2], out[:, 1::2] = folded[:, :half], folded[:, half:][:, ::-1]
        return out


def _kept(matrix: Stochastic, name: str, make: Callable[[Stochastic], T]) -> T:
    """Return what was found out about a matrix before; a composite may hold one many times."""
    notes = notes_of(matrix)
    if name not in notes:
        notes[name] = make(matrix)
    found: T = notes[name]
    return found


def spectrum(matrix: Stochastic) -> Spectrum | None:
    """Return the eigenvalues, if a transform that other matrices share makes it diagonal."""
    return _kept(matrix, "spectrum", _spectrum)


def _spectrum(matrix: Stochastic) -> Spectrum | None:
    size = matrix.size
    if (two := asked(matrix, "two values")) is not None:
        return Spectrum("flat", np.array([two[2]]))
    if (row := first_row(matrix)) is not None:
        return Spectrum("cyclic", np.fft.rfft(row.shares())) if size <= _LARGEST else None
    if (kernel := even_kernel(matrix)) is not None and 2 * size <= _LARGEST:
        # The Fourier transform of the even law on the cycle of length 2 r.
        half = kernel.shares()
        cycle = np.concatenate([half, half[-2:0:-1]])
        return Spectrum("cosine", np.fft.rfft(cycle).real[:size])
    if (step := steps(matrix)) is not None and len(step.counts) == 1 and 3 <= size < 1 << 27:
        half_turns = np.sin(np.pi / (2 * size) * np.arange(size))
        return Spectrum("cosine", 1 - 4 * step.shares()[0] * half_turns**2)
    made = composition(matrix)
    return None if made is None or isinstance(made, Kron) else _joined(matrix, made)


def _joined(matrix: Stochastic, made: Composition) -> Spectrum | None:
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
    if parts_in(matrix) > _ROUNDINGS and not exact:
        return None
    return Spectrum(basis, math.prod(values[1:], start=values[0]))


def basis(matrix: Stochastic) -> Basis | None:
    """Say which transform makes the matrix diagonal; None if none is known."""
    found = spectrum(matrix)
    return None if found is None else found.basis


def operator(matrix: Stochastic) -> Operator | None:
    """Return the matrix as a linear map, if its structure gives a short way."""
    return _kept(matrix, "operator", _operator)


def _operator(matrix: Stochastic) -> Operator | None:
    size = matrix.size
    if not isinstance(matrix, Matrix):
        return _Dense(matrix.to_dense()) if has_rows(matrix) else None
    if (runs := classes(matrix)) is not None:
        return _Means(runs)
    if (two := asked(matrix, "two values")) is not None:
        return _Flat(size, two[2], two[1])
    if (to := targets(matrix)) is not None:
        return _Moved(to)
    if (step := steps(matrix)) is not None:
        return _Tridiagonal(size, step)
    if (pair := swap(matrix)) is not None:
        return _Swapped(size, pair)
    found = spectrum(matrix)
    if found is None:
        return None
    if found.basis == "flat":
        return _Flat(size, own := float(found.values[0]), (1 - own) / size)
    return _Spectral(size, found)


def _table(matrix: Stochastic, inverse: bool) -> Array | None:
    """Return a matrix as an array, if that is the shortest way for an axis of its size."""
    if matrix.size > _SHORT:
        return None
    if not inverse:
        return matrix.to_dense()
    found = spectrum(matrix)
    if found is None or found.basis != "flat" or abs(found.values[0]) < LEAST:
        return None
    # Two values, and so has the inverse.
    own = 1 / float(found.values[0])
    return own * np.eye(matrix.size) + (1 - own) / matrix.size


def rest_of_uniform(matrix: Stochastic) -> tuple[float, Matrix] | None:
    """Return the weight and the part of a mixture beside perfect secrecy, if there is only one."""
    made = composition(matrix)
    if not isinstance(made, Mixture) or len(made.parts) < 2:
        return None
    found = [(part, spectrum(part)) for part in made.parts]
    flat = [s is not None and s.basis == "flat" and s.values[0] == 0 for _, s in found]
    rest = [each for each, is_flat in zip(made, flat, strict=True) if not is_flat]
    return rest[0] if len(rest) == 1 else None


class Through:
    """Rows through any matrix, or its inverse: composites are taken apart once, for many rows.

    A kron goes axis by axis, a product factor by factor, a mixture part by part; a mixture with
    perfect secrecy is undone by what that leaves of the rest. ``dense`` undoes what has no
    structure. ``asked`` are the matrices that must not be singular for an inverse.
    """

    def __init__(
        self, matrix: Stochastic, dense: Callable[[Stochastic, Array, bool], Array] | None = None
    ) -> None:
        self.inverse, self._dense = dense is not None, dense
        self.asked: list[Stochastic] = []
        self._known: dict[int, Run] = {}
        self.apply = self._of(matrix)

    def _of(self, matrix: Stochastic, *, asked: bool = True) -> Run:
        """Compile a matrix. A product within a product is not asked for itself."""
        place = place_of(matrix)
        if place not in self._known:
            self._known[place] = self._compiled(matrix, asked=asked)
        return self._known[place]

    def _compiled(self, matrix: Stochastic, *, asked: bool) -> Run:
        made, own = composition(matrix), operator(matrix)
        if self.inverse and (asked if own is None and made is not None else _is_singular(own)):
            self.asked.append(matrix)
        if own is not None:
            return own.solve if self.inverse else own.apply
        if isinstance(made, Kron):
            return self._kron(matrix)
        if isinstance(made, Product) and not _is_crowded(matrix):
            inside = [self._of(part, asked=not _is_product(part)) for part in made.parts]
            return partial(_one_by_one, inside, self.inverse)
        if isinstance(made, Mixture) and not self.inverse and not _is_crowded(matrix):
            weighted = [(weight, self._of(part)) for weight, part in made]
            return partial(_weighted, weighted)
        if self.inverse and (rest := rest_of_uniform(matrix)) is not None:
            return partial(_unmixed, rest[0], self._of(rest[1]))
        if self._dense is not None:
            return partial(self._dense, matrix)
        entries = matrix.to_dense()
        return lambda rows, back: rows @ (entries.T if back else entries)

    def _kron(self, kron: Stochastic) -> Run:
        """Compile an axis at a time; small ones that follow each other are one array together."""
        done: list[tuple[int, Any]] = []
        for matrix in axes(kron):
            size, table = matrix.size, _table(matrix, self.inverse)
            cells, last = done[-1] if done else (0, None)
            if table is None:
                own = operator(matrix)
                still = isinstance(own, _Means) and not own.is_singular
                done.append((size, _unchanged if still else self._of(matrix)))
            elif isinstance(last, np.ndarray) and cells * size <= _GROUP:
                done[-1] = (cells * size, np.kron(last, table))
            else:
                done.append((size, table))
        return partial(_axis_by_axis, done)


def _is_singular(own: Operator | None) -> bool:
    return own is not None and own.is_singular


def _is_product(matrix: Stochastic) -> bool:
    return operator(matrix) is None and isinstance(composition(matrix), Product)


def _is_crowded(matrix: Stochastic) -> bool:
    """Whether there are too many parts, so that the matrix is better written down."""
    parts, size = parts_in(matrix), matrix.size
    if parts > _MANY and size > _WRITTEN:
        raise Refused("matrix", f"hold at most {_MANY} parts to be taken one by one", parts)
    return parts > _FEW and size <= _WRITTEN


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


def _unchanged(rows: Array, back: bool) -> Array:
    return rows


def _axis_by_axis(done: list[tuple[int, Any]], rows: Array, back: bool) -> Array:
    # Each step takes the first axis and leaves it as the last, so in the end all are in order.
    shape, spare, ours = rows.shape, None, False
    for size, step in done:
        turned = np.swapaxes(rows.reshape(len(rows), size, -1), 1, 2)
        if isinstance(step, np.ndarray):
            # Fresh memory takes longer to get than to fill, so two arrays take turns.
            out = np.empty(rows.size) if spare is None else spare
            spare = rows.reshape(-1) if ours else None
            table = step.T if back else step
            rows = np.matmul(turned, table, out=out.reshape(turned.shape))
        else:
            each = np.ascontiguousarray(turned).reshape(-1, size)
            rows, spare = step(each, back).reshape(turned.shape), None
        ours = isinstance(step, np.ndarray)
    return rows.reshape(shape)
