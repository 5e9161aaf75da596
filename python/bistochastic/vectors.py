"""A caller's vector of numbers, read without losing any: counts, fractions or floats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    Vector = Sequence[int | float | Fraction] | NDArray[Any]
    Exact = list[int | Fraction]
    Floats = NDArray[np.float64]


def vector(name: str, values: Any) -> NDArray[Any] | Exact:
    """A vector as a float64 or int64 array, or as a list where only that is exact."""
    if not isinstance(values, list | tuple):
        values = np.asarray(values)
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
        values = values.astype(np.float64)
        bad = ~np.isfinite(values)
        if bad.any():
            at = int(np.argmax(bad))
            got = "NaN" if np.isnan(values[at]) else f"{values[at]:g}"
            raise ValueError(f"`{name}` must hold finite numbers; got {got} at {at}")
    elif isinstance(values, np.ndarray):
        values = values.astype(np.int64)
    return values  # type: ignore[no-any-return]


def pair(p: Vector, q: Vector) -> tuple[Any, Any]:
    """Both as float64 arrays, as int64 arrays whose sums are safe, or as lists of whole numbers."""
    x, y = vector("p", p), vector("q", q)
    if len(x) != len(y):
        raise ValueError(f"`q` must hold as many numbers as `p`, {len(x)}; got {len(y)}")
    if any(isinstance(z, np.ndarray) and z.dtype == np.float64 for z in (x, y)):
        return _rounded("p", x), _rounded("q", y)
    if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
        largest = max(abs(int(edge)) for z in (x, y) for edge in (z.min(), z.max()))
        if 2 * largest * len(x) < 2**63:
            return x, y
    from math import lcm

    exact = listed(x) + listed(y)
    unit = lcm(*{z.denominator for z in exact})
    scaled = [z.numerator * (unit // z.denominator) for z in exact]
    return scaled[: len(x)], scaled[len(x) :]


def listed(values: NDArray[Any] | Exact) -> Exact:
    """An exact vector as a list of Python numbers."""
    return values.tolist() if isinstance(values, np.ndarray) else values


def wholes(x: Floats, y: Floats) -> tuple[list[int], list[int]]:
    """Floats as whole numbers of one unit, a power of two, exactly."""
    mantissa, exponent = np.frexp(np.concatenate([x, y]))
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    exponent = np.where(whole == 0, exponent.max(), exponent)
    shifts = (exponent - exponent.min()).tolist()
    both = [w << s for w, s in zip(whole.tolist(), shifts, strict=True)]
    return both[: len(x)], both[len(x) :]


def _rounded(name: str, values: NDArray[Any] | Exact) -> Floats:
    if isinstance(values, np.ndarray):
        return values.astype(np.float64)
    try:
        return np.array([float(z) for z in values])
    except OverflowError:
        raise ValueError(
            f"`{name}` must hold numbers below 2^1024 beside floats; got a larger one"
        ) from None


def _array(name: str, values: list[Any]) -> NDArray[Any] | Exact:
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
        return _rounded(name, values)
    return values


def _number(name: str, at: int, value: Any) -> int | float | Fraction:
    from fractions import Fraction

    if isinstance(value, Fraction):
        return value
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    raise TypeError(f"`{name}` must hold numbers; got {type(value).__name__} at {at}")
