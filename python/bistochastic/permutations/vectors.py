"""Two vectors of a caller's as numbers of one kind, compared without losing any of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic.arguments import array, doubles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from bistochastic.arguments import Array

    Vector = Sequence[int | float | Fraction] | np.ndarray
    Exact = list[int | Fraction]

# How far sums of floats may be apart, of the sum of the absolute values: well above what summing
# proportions leaves behind, well below what a histogram of people can show.
SLACK = 1e-12


def vector(name: str, values: Any) -> np.ndarray | Exact:
    """Read a vector as a float64 or int64 array, or as a list if only that is exact."""
    if not isinstance(values, list | tuple):
        values = array(name, "hold numbers in one row", values, by_code=True)
        if values.ndim != 1 or values.dtype.kind not in "iufO":
            got = values.dtype.name if values.ndim == 1 else f"{values.ndim} axes"
            raise TypeError(f"`{name}` must hold numbers in one row; got {got}")
        if values.dtype.kind == "O" or values.dtype == np.uint64:
            values = values.tolist()
    if len(values) == 0:
        raise ValueError(f"`{name}` must hold at least one number; got none")
    if not isinstance(values, np.ndarray):
        values = _array(name, list(values))
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        values = doubles(name, values)
        bad = ~np.isfinite(values)
        if bad.any():
            at = int(np.argmax(bad))
            got = "NaN" if np.isnan(values[at]) else f"{values[at]:g}"
            raise ValueError(f"`{name}` must hold finite numbers; got {got} at {at}")
    elif isinstance(values, np.ndarray):
        values = values.astype(np.int64)
    return values  # type: ignore[no-any-return]


def pair(p: Vector, q: Vector) -> tuple[Any, Any]:
    """Read two as float64 arrays, as int64 arrays whose sums are safe, or as lists of integers."""
    x, y = vector("p", p), vector("q", q)
    if len(x) != len(y):
        raise ValueError(f"`q` must hold as many numbers as `p`, {len(x)}; got {len(y)}")
    if is_floats(x) or is_floats(y):
        return _round("p", x), _round("q", y)
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        largest = max(abs(int(edge)) for z in (x, y) for edge in (z.min(), z.max()))
        if 2 * largest * len(x) < 2**63:
            return x, y
    from math import lcm

    exact = listed(x) + listed(y)
    unit = lcm(*{z.denominator for z in exact})
    scaled = [z.numerator * (unit // z.denominator) for z in exact]
    return scaled[: len(x)], scaled[len(x) :]


def listed(values: np.ndarray | Exact) -> Exact:
    """List an exact vector as Python numbers."""
    return values.tolist() if isinstance(values, np.ndarray) else values


def wholes(x: Any, y: Any) -> tuple[list[int], list[int]]:
    """Convert the result of :func:`pair` exactly to lists of integers of one unit."""
    if not is_floats(x):
        return [int(z) for z in listed(x)], [int(z) for z in listed(y)]
    mantissa, exponent = np.frexp(np.concatenate([x, y]))
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    exponent = np.where(whole == 0, exponent.max(), exponent)
    shifts = (exponent - exponent.min()).tolist()
    both = [w << s for w, s in zip(whole.tolist(), shifts, strict=True)]
    return both[: len(x)], both[len(x) :]


def is_floats(values: np.ndarray | Exact) -> bool:
    """Whether a vector is one of floats rather than exact numbers."""
    return isinstance(values, np.ndarray) and values.dtype == np.float64


def against(x: Any, y: Any) -> str:
    """Say what speaks against ``x`` majorizing ``y``; an empty string if nothing does."""
    if isinstance(x, np.ndarray):
        ahead, slack = _ahead_floats(x, y) if is_floats(x) else _ahead_wholes(x, y)
        level, first = bool(abs(ahead[-1]) <= slack), int(np.argmax(ahead < -slack))
        short = bool(ahead[first] < -slack)
    else:
        total = 0
        first, short = 0, False
        for n, (a, b) in enumerate(zip(sorted(x)[::-1], sorted(y)[::-1], strict=True)):
            total += a - b
            if total < 0 and not short:
                first, short = n, True
        level = total == 0
    if not level:
        return "sums that differ"
    if short:
        largest = "the largest" if first == 0 else f"the {first + 1} largest"
        return f"less in {largest} of `p` than of `q`"
    return ""


def _ahead_wholes(x: NDArray[np.int64], y: NDArray[np.int64]) -> tuple[np.ndarray, float]:
    """Compute exactly by how much each sum of the largest of ``x`` is ahead."""
    return np.cumsum(np.sort(x)[::-1] - np.sort(y)[::-1]), 0


def _ahead_floats(x: Array, y: Array) -> tuple[np.ndarray, float]:
    """Compute by how much each sum of the largest of ``x`` is ahead, and the difference ignored.

    Every double is split into two integers, the second in units so small that the loss is
    negligible, and these are summed exactly.
    """
    bits = min(40, 61 - len(x).bit_length())
    exponent = int(np.frexp(max(np.abs(x).max(), np.abs(y).max()))[1])

    def parts(values: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        # In two steps, as 2^(bits - exponent) itself may be no double.
        scaled = np.ldexp(np.ldexp(np.sort(values)[::-1], -exponent), bits)
        high = np.rint(scaled)
        low = np.rint(np.ldexp(scaled - high, bits))
        return high.astype(np.int64), low.astype(np.int64)

    (x_high, x_low), (y_high, y_low) = parts(x), parts(y)
    high, low = np.cumsum(x_high - y_high), np.cumsum(x_low - y_low)
    total = float(max(np.abs(x_high).sum(), np.abs(y_high).sum()))
    return high + np.ldexp(low.astype(np.float64), -bits), SLACK * total


def _round(name: str, values: np.ndarray | Exact) -> Array:
    if isinstance(values, np.ndarray):
        return values.astype(np.float64)
    try:
        return np.array([float(z) for z in values])
    except OverflowError:
        raise ValueError(
            f"`{name}` must hold numbers below 2^1024 next to floats; got a larger one"
        ) from None


def _array(name: str, values: list[Any]) -> np.ndarray | Exact:
    kinds = set(map(type, values))
    if not kinds <= {int, float}:
        values = [_number(name, at, z) for at, z in enumerate(values)]
        kinds = set(map(type, values))
    if kinds == {int}:
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            return values
    if float in kinds:
        return _round(name, values)
    return values


def _number(name: str, at: int, value: object) -> int | float | Fraction:
    from fractions import Fraction

    if isinstance(value, Fraction):
        return value
    if isinstance(value, float | np.floating):
        return float(value)
    # A timedelta is an integer type of NumPy, too.
    if isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64):
        return int(value)
    raise TypeError(f"`{name}` must hold numbers; got {type(value).__name__} at {at}")
