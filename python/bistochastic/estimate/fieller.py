"""Fieller's bounds of a ratio: all ratios that the data do not contradict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bistochastic.arguments import Array


def fieller(
    top: Array, below: float, nn: Array, nd: Array, dd: float, t: float
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Find all r with ``(top - r below)^2 <= t^2 (nn - 2 r nd + r^2 dd)``, and if they are bounded.

    ``nn``, ``nd`` and ``dd`` are the variances and the covariance of ``top`` and ``below``. The
    ratios are between two roots if ``below`` is further than ``t`` standard errors from 0.
    Otherwise they are all numbers outside of the roots, or all numbers: then they are not bounded,
    and roots that do not exist are NaN.
    """
    a = below**2 - t * t * dd
    b = top * below - t * t * nd
    c = top**2 - t * t * nn
    inside = b * b - a * c
    with np.errstate(all="ignore"):
        root = np.sqrt(np.where(inside >= 0, inside, np.nan))
        one, other = (b - root) / a, (b + root) / a
    # For a > 0 the roots exist: top / below itself is between them.
    bounded = np.full(len(top), a > 0)
    one = np.where(bounded & (inside < 0), top / below if below else np.nan, one)
    other = np.where(bounded & (inside < 0), top / below if below else np.nan, other)
    return np.fmin(one, other), np.fmax(one, other), bounded
