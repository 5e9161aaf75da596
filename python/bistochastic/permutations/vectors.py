"""Two vectors of a caller's as numbers of one kind, compared without losing any of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from bistochastic.arguments import array, doubles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from bistochastic.arguments import Array

    Vector = Sequence[int | float | Fraction] | np.ndarray
    Exact = list[int | Fraction]
    Numbers = np.ndarray | Exact

# How far sums of floats may be apart, of the sum of the absolute values: well above what summing
# proportions leaves behind, well below what a histogram of people can show.
SLACK = 1e-12


def vector(name: str, given: object) -> Numbers:
    """Read a vector as a float64 or int64 array, or as a list if only that is exact."""
    listed = list(given) if isinstance(given, list | tuple) else None
    if listed is None:
        plain = array(name, "hold numbers in one row", given, by_code=True)
        if plain.ndim != 1 or plain.dtype.kind not in "iufO":
            got = plain.dtype.name if plain.ndim == 1 else f"{plain.ndim} axes"
            raise TypeError(f"`{name}` must hold numbers in one row; got {got}")
        if plain.dtype.kind == "O" or plain.dtype == np.uint64:
            listed = plain.tolist()
    if not len(plain if listed is None else listed):
        raise ValueError(f"`{name}` must hold at least one number; got none")
    values = plain if listed is None else _array(name, listed)
    if not isinstance(values, np.ndarray):
        return values
    if values.dtype.kind != "f":
        return values.astype(np.int64)
    values = doubles(name, values)
    bad = ~np.isfinite(values)
    if bad.any():
        at = int(np.argmax(bad))
        got = "NaN" if np.isnan(values[at]) else f"{values[at]:g}"
        raise ValueError(f"`{name}` must hold finite numbers; got {got} at {at}")
    return values


def pair(p: Vector, q: Vector) -> tuple[Numbers, Numbers]:
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
    scaled: Exact = [z.numerator * (unit // z.denominator) for z in exact]
    return scaled[: len(x)], scaled[len(x) :]


def listed(values: Numbers) -> Exact:
    """List an exact vector as Python numbers."""
    return values.tolist() if isinstance(values, np.ndarray) else values


def wholes(x: Numbers, y: Numbers) -> tuple[list[int], list[int]]:
    """Convert the result of :func:`pair` exactly to lists of integers of one unit."""
    if not (is_floats(x) and is_floats(y)):
        return [int(z) for z in listed(x)], [int(z) for z in listed(y)]
    mantissa, exponent = np.frexp(np.concatenate([x, y]))
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    exponent = np.where(whole == 0, exponent.max(), exponent)
    shifts = (exponent - exponent.min()).tolist()
    both = [w << s for w, s in zip(whole.tolist(), shifts, strict=True)]
    return both[: len(x)], both[len(x) :]


def is_floats(values: Numbers) -> TypeGuard[Array]:
    """Whether a vector is one of floats rather than exact numbers."""
    return isinstance(values, np.ndarray) and values.dtype == np.float64


def against(x: Numbers, y: Numbers) -> str:
    """Say what speaks against ``x`` majorizing ``y``; an empty string if nothing does."""
    ahead: np.ndarray
    if is_floats(x) and is_floats(y):
        ahead, slack = _ahead_floats(x, y)
    else:
        # Exactly by how much each sum of the largest of `x` is ahead.
        kind = np.int64 if isinstance(x, np.ndarray) else object
        falling = (np.sort(np.array(z, dtype=kind))[::-1] for z in (x, y))
        ahead, slack = np.cumsum(np.subtract(*falling)), 0
    if abs(ahead[-1]) > slack:
        return "sums that differ"
    first = int(np.argmax(ahead < -slack))
    if ahead[first] < -slack:
        largest = "the largest" if first == 0 else f"the {first + 1} largest"
        return f"less in {largest} of `p` than of `q`"
    return ""


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


def _round(name: str, values: Numbers) -> Array:
    if isinstance(values, np.ndarray):
        return values.astype(np.float64)
    try:
        return np.array([float(z) for z in values])
    except OverflowError:
        raise ValueError(
            f"`{name}` must hold numbers below 2^1024 next to floats; got a larger one"
        ) from None


def _array(name: str, values: list[Any]) -> Numbers:
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
