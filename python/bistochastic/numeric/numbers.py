"""Numbers that can be ranked or averaged: finite, with nothing missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import arguments

if TYPE_CHECKING:
    from numpy.typing import NDArray


def finite(name: str, given: Any) -> np.ndarray:
    """Read an array of finite numbers, in the type of the input."""
    must = "be an array of numbers"
    plain = arguments.array(name, must, given)
    if plain.dtype.kind == "O" or plain.dtype.itemsize > 8:
        plain = arguments.floats(name, must, given, by_code=False)
    if plain.dtype.kind not in "iuf":
        what = f"dtype {plain.dtype}" if plain.ndim else type(given).__name__
        raise TypeError(f"`{name}` must {must}; got {what}")
    if plain.dtype.kind != "f":
        return plain
    nan = np.isnan(plain)
    if nan.any():
        raise ValueError(f"`{name}` must hold no NaN; got {_several(nan)}")
    infinite = np.isinf(plain)
    if infinite.any():
        raise ValueError(f"`{name}` must hold no infinite numbers; got {_several(infinite)}")
    return plain


def _several(wrong: NDArray[np.bool_]) -> str:
    first = tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
    at = f"position {first[0]}" if len(first) == 1 else str(first)
    return f"{int(wrong.sum())}, the first at {at}"
