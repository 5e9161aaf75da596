"""How far an estimate may be off: variances of the inverse estimate, and intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core, operators, quantiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bistochastic._core import Matrix

    Array = NDArray[np.float64]

# Size up to which the inverse is looked at row by row.
_EXACT = 10_000
# Random probes for the variances of larger structured matrices.
_PROBES = 128
# A normal interval needs this many times the squared range of a pseudo-response in its variance.
_WALD = 20.0


def confidence_of(given: Any) -> float:
    """A confidence between 0 and 1."""
    must = "`confidence` must be a number between 0 and 1"
    try:
        level = float(given)
    except (TypeError, ValueError):
        raise TypeError(f"{must}; got {type(given).__name__}") from None
    if not 0 < level < 1:
        raise ValueError(f"{must}; got {level:g}")
    return level


def squared_rows(matrix: Matrix, weights: Array) -> tuple[Array, float]:
    """``sum over w of G_vw^2 weights_w`` for every v, and its relative standard error."""
    r = matrix.size
    match _core.basis(matrix):
        case "flat" if r > 1:
            spectrum = _core.spectrum(matrix)
            if spectrum is not None:
                return _flat_squares(matrix, weights), 0.0
        case "cyclic":
            # G is circulant too, and so are its squares: a cyclic convolution.
            unit = np.zeros(r)
            unit[0] = 1
            column = operators.solve(matrix, unit)
            spread = np.fft.rfft(column**2) * np.fft.rfft(weights)
            return np.maximum(np.fft.irfft(spread, r), 0.0), 0.0
    if matrix.family == "permutation":
        return operators.solve(matrix, weights), 0.0
    if matrix.family == "kron":
        return _joint_squares(matrix, weights)
    if r <= _EXACT:
        total = np.zeros(r)
        step = max(1, (1 << 22) // r)
        for start in range(0, r, step):
            stop = min(r, start + step)
            units = np.zeros((r, stop - start))
            units[np.arange(start, stop), np.arange(stop - start)] = 1
            total += (operators.solve(matrix, units) ** 2) @ weights[start:stop]
        return total, 0.0
    # A random sign vector z has E (G sqrt(w) z)_v^2 = the sum; its relative variance is at most 2.
    rng = np.random.default_rng(0)
    total = np.zeros(r)
    root = np.sqrt(weights)
    for _ in range(_PROBES):
        total += operators.solve(matrix, root * rng.choice([-1.0, 1.0], r)) ** 2
    return total / _PROBES, math.sqrt(2 / _PROBES)


def _flat_squares(matrix: Matrix, weights: Array) -> Array:
    """For ``a I + q J`` the inverse is ``(I - q J) / a``: two different entries a row."""
    unit = np.zeros(matrix.size)
    unit[0] = 1
    column = operators.solve(matrix, unit)
    own, other = float(column[0]), float(column[1])
    return own**2 * weights + other**2 * (math.fsum(weights) - weights)


def _joint_squares(matrix: Matrix, weights: Array) -> tuple[Array, float]:
    """Entries of a kron multiply, so its squared entries are taken axis by axis."""
    factors = matrix.parameters["matrices"]
    array = weights.reshape([factor.size for factor in factors])
    error = 0.0
    for axis, factor in enumerate(factors):
        moved = np.moveaxis(array, axis, -1)
        rows = np.ascontiguousarray(moved).reshape(-1, factor.size)
        if factor.size > 2048:
            done, parts = zip(*(squared_rows(factor, row) for row in rows), strict=True)
            error += max(parts)
            squared = np.stack(done)
        else:
            squared = rows @ (operators.solve(factor, np.eye(factor.size)) ** 2).T
        array = np.moveaxis(squared.reshape(moved.shape), -1, axis)
    return np.ascontiguousarray(array).reshape(-1), error


def variances(squares: Array, shares: Array, n: int, population: str) -> Array:
    """Of a sample the unbiased estimate; of a fixed population what randomization alone adds."""
    if population == "fixed":
        return np.maximum(squares - shares, 0.0) / n
    return np.maximum(squares - shares**2, 0.0) / max(1, n - 1)


def bounds(
    matrix: Matrix,
    reports: Array,
    n: int,
    centre: Array,
    variance_within: tuple[Array, float],
    alpha: float,
) -> tuple[Array, Array]:
    """Bounds that miss a share with at most ``alpha``, around the unbiased ``centre``."""
    if matrix.size == 1:
        return np.ones(1), np.ones(1)
    if _core.basis(matrix) == "flat":
        # Each share is an affine function of one share of the reports. Randomization of a fixed
        # population is less spread than the binomial (Hoeffding), so the bounds hold there too.
        unit = np.zeros(matrix.size)
        unit[0] = 1
        column = operators.solve(matrix, unit)
        slope = float(column[0] - column[1])
        low, high = quantiles.clopper_pearson(reports * n, n, alpha)
        ends = np.stack([slope * low + column[1], slope * high + column[1]])
        return ends.min(axis=0), ends.max(axis=0)
    variance, error = variance_within
    spread = np.sqrt(variance * (1 + 3 * error))
    normal = quantiles.normal(1 - alpha / 2) * spread
    wide = inverse_range(matrix)
    # Maurer and Pontil: with probability 1 - alpha both sides, for numbers in a range.
    log = math.log(4 / alpha)
    careful = math.sqrt(2 * log) * spread + 7 * wide * log / (3 * max(1, n - 1))
    enough = n * n * variance >= _WALD * wide**2
    half = np.where(enough, normal, careful)
    return centre - half, centre + half


def inverse_range(matrix: Matrix) -> Array:
    """How far apart the pseudo-responses of each share can be: the range of every row of G."""
    r = matrix.size
    if _core.basis(matrix) == "cyclic":
        unit = np.zeros(r)
        unit[0] = 1
        column = operators.solve(matrix, unit)
        return np.full(r, float(np.ptp(column)))
    if r <= 4096:
        return np.asarray(np.ptp(operators.solve(matrix, np.eye(r)), axis=1))
    # No entry of the inverse is longer than its norm.
    return np.full(r, 2 * operators.condition(matrix))
