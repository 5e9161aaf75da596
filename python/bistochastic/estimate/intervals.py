"""How far an estimate may be off: variances of the inverse estimate, and intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from bistochastic import linear, structure
from bistochastic.arguments import Array
from bistochastic.estimate import quantiles
from bistochastic.structure import Kron, Stochastic, composition

# Size up to which the inverse is looked at row by row if an estimate is only to be shown.
_QUICK = 2000
# Entries of the inverse that are held at a time.
_HELD = 1 << 23

# The bets; beyond twice as many records the intervals are valid, but a little wider.
_NODES = 8192
# The least mean that is tried: 0 and 1 cannot be bet against.
_EDGE = 1e-15
# Bets whose fortune is below the largest one's by this factor's logarithm add nothing.
_NOTHING = 45.0


def inverse_rows(matrix: Stochastic) -> Iterator[tuple[slice, Array]]:
    """Give rows of G, one block at a time: row v holds the pseudo-responses of share v."""
    r = matrix.size
    step = max(1, _HELD // r)
    for start in range(0, r, step):
        stop = min(r, start + step)
        yield slice(start, stop), linear.undo(matrix, np.eye(stop - start, r, start), back=True)


def _first_column(matrix: Stochastic) -> Array:
    return linear.solve(matrix, np.eye(1, matrix.size)[0])


def is_quick(matrix: Stochastic) -> bool:
    """Whether errors of all shares need no large inverse, row by row."""
    kron = composition(matrix)
    if isinstance(kron, Kron):
        return all(is_quick(factor) for factor in structure.wide_factors(kron))
    small = matrix.size <= _QUICK
    return small or structure.shift_invariant(matrix) or structure.is_certain(matrix)


def scatter(matrix: Stochastic, reports: Array, shares: Array) -> Array:
    """Compute the variance of one pseudo-response of every share.

    It is ``sum over w of reports_w (G_vw - shares_v)^2``, with ``shares = G reports``.
    """
    return np.maximum(squared_rows(matrix, reports) - shares**2, 0.0)


def squared_rows(matrix: Stochastic, weights: Array) -> Array:
    """Compute ``sum over w of G_vw^2 weights_w`` for every v."""
    r = matrix.size
    match linear.basis(matrix):
        case "flat" if r > 1:
            # ``a I + q J`` has the inverse ``(I - q J) / a``: two different entries a row.
            own, other = _first_column(matrix)[:2] ** 2
            return np.asarray(own * weights + other * (math.fsum(weights) - weights))
        case "cyclic":
            # G is circulant too, and so are its squares: a cyclic convolution.
            spread = np.fft.rfft(_first_column(matrix) ** 2) * np.fft.rfft(weights)
            return np.maximum(np.fft.irfft(spread, r), 0.0)
    if structure.is_certain(matrix):
        return linear.solve(matrix, weights)
    kron = composition(matrix)
    if not isinstance(kron, Kron):
        total = np.empty(r)
        for rows, block in inverse_rows(matrix):
            total[rows] = block**2 @ weights
        return total
    # The entries of a kron multiply, so their squares are summed axis by axis.
    factors: Sequence[Stochastic] = structure.wide_factors(kron)
    array = weights.reshape([factor.size for factor in factors])
    for axis, factor in enumerate(factors):
        moved = np.moveaxis(array, axis, -1)
        lines = np.ascontiguousarray(moved).reshape(-1, factor.size)
        if factor.size > 2048:
            squared = np.stack([squared_rows(factor, line) for line in lines])
        else:
            squared = lines @ (linear.solve(factor, np.eye(factor.size)) ** 2).T
        array = np.moveaxis(squared.reshape(moved.shape), -1, axis)
    return np.ascontiguousarray(array).reshape(-1)


def within_population(spread: Array, shares: Array) -> Array:
    """Compute the part of the scatter that only randomization adds, without that of sampling."""
    return np.asarray(np.maximum(spread - shares * (1 - shares), 0.0))


def extremes(matrix: Stochastic) -> tuple[Array, Array]:
    """Find the least and the largest pseudo-response of every share: the ends of G's rows."""
    r = matrix.size
    if structure.shift_invariant(matrix):
        column = _first_column(matrix)
        return np.full(r, column.min()), np.full(r, column.max())
    if structure.is_certain(matrix):
        return np.zeros(r), np.ones(r)
    kron = composition(matrix)
    if isinstance(kron, Kron):
        return reduce(corners, map(extremes, structure.wide_factors(kron)))
    least, most = np.empty(r), np.empty(r)
    for rows, block in inverse_rows(matrix):
        least[rows], most[rows] = block.min(axis=1), block.max(axis=1)
    return least, most


def corners(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the least and the most of products, each of a number between ``one`` and ``other``."""
    found = [np.outer(a, b).ravel() for a in one for b in other]
    return np.minimum.reduce(found), np.maximum.reduce(found)


def unknown(cells: int) -> Array:
    """Return the covariance matrix of shares whose errors are not known."""
    return np.where(np.eye(cells, dtype=bool), math.inf, math.nan)


def response_bounds(
    matrix: Stochastic, reports: Array, shares: Array, n: int, alpha: float
) -> tuple[Array, Array]:
    """Compute exact bounds if a share is an affine function of one reported share.

    They are Clopper and Pearson's for that share, mapped. In a fixed population the number of
    records that report v is a sum of unlike indicators. It is less spread than the binomial of the
    same mean (Hoeffding 1956: tails further than 1 from it are not heavier; nearer ones are not
    missed at ``alpha`` to 1/2).
    """
    if structure.is_certain(matrix):
        return quantiles.clopper_pearson(shares * n, n, alpha)
    if (answers := structure.forced(matrix)) is None:
        own, other = _first_column(matrix)[:2]
        apart, start = own - other, other
    else:
        apart, start = 1 / answers[0], -answers[1] / answers[0]
    low, high = quantiles.clopper_pearson(reports * n, n, alpha)
    ends = np.stack([apart * low + start, apart * high + start])
    return ends.min(axis=0), ends.max(axis=0)


def mean_bounds(
    centre: Array, spread: Array, ends: tuple[Array, Array], n: int, alpha: float, *, fixed: bool
) -> tuple[Array, Array]:
    """Bound a share, the mean of ``n`` independent pseudo-responses between known ``ends``.

    A pseudo-response is what one reported value adds to the inverse estimate of a share. ``spread``
    is their variance and ``s^2`` the part of it that counts: all of it in a sample, the part that
    randomization adds in a ``fixed`` population. ``z`` is the normal quantile.

    1. If ``n s^2`` is at least ``max(5, z^2)`` times the squared range, the bounds are normal:

        ``centre - z s / sqrt(n - 1) - k (centre - least)``  and
        ``centre + z s / sqrt(n - 1) + k (most - centre)``, with ``k = (z^2 + 2) / (3 n)``.

    2. Otherwise Hoeffding's bounds hold, for any n and any distribution of independent numbers.
    3. Once n is so large that they can be half as wide, the empirical Bernstein bounds of Maurer
       and Pontil (2009) replace them. Their variance is the whole spread. They have three ways
       to fail, two tails and a variance that looks too small, and each gets ``alpha / 3``.

    Why the terms with k in step 1 pay for skewness. The third moment about the mean m is between
    ``(least - m)`` and ``(most - m)`` times ``s^2``. The bounds of a studentised mean move by that
    factor times ``(2 z^2 + 1) / (6 n)`` (Hall 1983), on a lattice by half a step more.

    In a ``fixed`` population m is 0 or 1 per record, and the variance is estimated by the mean of
    ``g^2 - g``. Its covariance with the mean of g exceeds the third moment by ``(2 m - 1) s^2``.
    This adds ``z^2 / 2`` below if m is 0 and above if it is 1. So ``1.5 - least`` is enough
    in place of ``centre - least``, and ``most + 0.5`` in place of ``most - centre``.

    >>> half = np.array([0.5])
    >>> mean_bounds(half, half**2, (0 * half, 2 * half), 1000, 0.05, fixed=False)
    (array([0.468...]), array([0.531...]))
    """
    least, most = ends
    wide = most - least
    z = -quantiles.normal(alpha / 2)
    k = (z * z + 2) / (3 * n)
    own = within_population(spread, centre) if fixed else spread
    below, above = (1.5 - least, most + 0.5) if fixed else (centre - least, most - centre)
    others = max(1, n - 1)
    normal = z * np.sqrt(own / others)
    log = math.log(3 / alpha)
    hoeffding = math.sqrt(math.log(2 / alpha) / (2 * n))
    floor = log * (2 / math.sqrt(n * others) + 1 / (3 * n))
    if 2 * floor > hoeffding:
        careful = wide * hoeffding
    else:
        careful = np.sqrt(2 * log * spread / others) + wide * floor
    enough = n * own >= max(5.0, z * z) * wide**2
    low = centre - np.where(enough, normal + k * below, careful)
    return low, centre + np.where(enough, normal + k * above, careful)


def region(expected: Array, reported: Array, confidence: float) -> bool:
    """Whether reported counts are in the chi-square region around positive expected ones.

    1. Cells with an expected number of records below ``1 / r`` count as one cell.
    2. If that is still less than ``1 / r``, their number is tested by itself, as a binomial one. It
       gets half of the error probability. Then they join the next cell.
    3. ``sum (reported - expected)^2 / expected`` has mean ``r - 1`` and variance ``2 (r - 1) + (sum
       of n / expected - r^2 - 2 r + 2) / n``. Its limit is the quantile of a chi-square of that
       mean and variance, or the usual one if that is larger.
    4. The root of the sum may exceed the root of the limit by half of the allowance for the
       skewness of the rarest cell in :func:`mean_bounds`. Half, because nothing is estimated here.
    """
    n = math.fsum(expected)
    few = 1 / len(expected)
    order = np.argsort(expected)
    together = int((expected < few).sum())
    if together:
        rest = order[together:]
        rare, seen = expected[order[:together]].sum(), reported[order[:together]].sum()
        if rare < few and len(rest):
            low, _ = quantiles.clopper_pearson(np.rint(seen)[None], round(n), 1 - confidence)
            if low[0] > rare / n:
                return False
            confidence = min((1 + confidence) / 2, math.nextafter(1, 0))
            rare, seen, rest = rare + expected[rest[0]], seen + reported[rest[0]], rest[1:]
        expected, reported = np.append(expected[rest], rare), np.append(reported[rest], seen)
    r = len(expected)
    if r == 1:
        return True
    found = math.fsum((reported - expected) ** 2 / expected)
    variance = 2 * (r - 1) + math.fsum(1 / expected) - (r * r + 2 * r - 2) / n
    limit = quantiles.chi_square(confidence, r - 1)
    if variance > 2 * (r - 1):
        scale = variance / (2 * (r - 1))
        limit = max(limit, scale * quantiles.chi_square(confidence, (r - 1) / scale))
    z = quantiles.two_sided(confidence)
    rarest = float((expected * (1 - expected / n)).min())
    allowed = math.sqrt(limit) + (z * z + 2) / (6 * math.sqrt(rarest))
    return found <= allowed**2


def fieller(
    top: Array, below: float, nn: Array, nd: Array, dd: float, t: float
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Find all r with ``(top - r below)^2 <= t^2 (nn - 2 r nd + r^2 dd)``, and if they are bounded.

    ``nn``, ``nd`` and ``dd`` are the variances and the covariance of ``top`` and ``below``. The
    ratios are between two roots if ``below`` is further than ``t`` standard errors from 0.
    Otherwise they are all numbers outside of the roots, or all numbers: then they are not bounded,
    and roots that do not exist are NaN.

    >>> low, high, bounded = fieller(np.array([50.0]), 100.0, np.array([9.0]), np.zeros(1), 4.0, 2)
    >>> low.round(3), high.round(3), bounded
    (array([0.438]), array([0.564]), array([ True]))
    """
    a = below**2 - t * t * dd
    b = top * below - t * t * nd
    c = top**2 - t * t * nn
    inside = b * b - a * c
    with np.errstate(all="ignore"):
        root = np.sqrt(np.where(inside >= 0, inside, np.nan))
        ends = np.stack([(b - root) / a, (b + root) / a])
    # For a > 0 the roots exist: top / below itself is between them.
    bounded = np.full(len(top), a > 0)
    ends = np.where(bounded & (inside < 0), top / below if below else np.nan, ends)
    return np.fmin(*ends), np.fmax(*ends), bounded


def at_every_look(responses: Array, counts: Array, alpha: float) -> tuple[float, float]:
    """Bound a share, at every look at counts that grow, by what each code adds to its estimate.

    A usual 95% interval misses in 5% of cases, at one number of records that is fixed in
    advance. If you read it again and again, and stop at will, it misses in a third of all runs.
    These intervals miss at any time at all with the stated probability.

    For one category, a reported value y adds ``g_y`` to its estimate. On the scale from its
    least to its most this is ``x_y`` from 0 to 1, with mean ``m`` for a true share of ``least +
    m (most - least)``. A bet against ``m`` has a fixed theta in [0, 1]. It multiplies a fortune
    by ``b_y = x_y theta / m + (1 - x_y) (1 - theta) / (1 - m)``, whose mean is 1. With a K-th
    of the fortune in each of K bets, the fortune ``W(m)``, the mean over the bets of the
    product of all ``b_y^N_y``, never reaches 1 / alpha with probability 1 - alpha, at all looks
    together (Ville). It needs only the counts ``N_y``, in any order. The interval holds the
    shares against which no fortune of 1 / alpha was made.

    The nodes ``theta_j = sin^2((2 j - 1) pi / 4 K)`` integrate polynomials of degree up to 2 K
    - 1 over the arcsine law exactly, so for few records fewer nodes give the same number. For
    scores of two values the integral has a closed form.
    """
    least, most = float(responses.min()), float(responses.max())
    if least == most:
        return least, most
    # Equal scores, up to the rounding of the inverse, are one.
    x, where = np.unique(np.rint((responses - least) / (most - least) * 2**40), return_inverse=True)
    many = np.asarray(np.bincount(where.reshape(-1), counts), np.float64)
    fortune = _closed(many) if len(x) == 2 else _mixture(x / 2**40, many)
    mean = float((x / 2**40) @ many / many.sum())
    middle = min(max(mean, _EDGE), 1 - _EDGE)
    wanted = -math.log(alpha)

    def end(outer: float) -> float:
        inner = middle
        if fortune(outer) < wanted:
            return outer
        # The logarithm is convex, and at most 0 at the mean.
        for _ in range(200):
            half = (inner + outer) / 2
            if half in (inner, outer) or abs(inner - outer) < 1e-14:
                break
            inner, outer = (inner, half) if fortune(half) >= wanted else (half, outer)
        return outer

    low, high = end(_EDGE), end(1 - _EDGE)
    low, high = (0.0 if low == _EDGE else low), (1.0 if high == 1 - _EDGE else high)
    return least + low * (most - least), least + high * (most - least)


def _closed(many: Array) -> Callable[[float], float]:
    """The logarithm of W for scores 0 and 1."""
    zeros, ones = float(many[0]), float(many[1])
    level = math.lgamma(ones + 0.5) + math.lgamma(zeros + 0.5) - math.lgamma(ones + zeros + 1)
    level -= math.log(math.pi)
    return lambda m: level - ones * math.log(m) - zeros * math.log1p(-m)


def _mixture(x: Array, many: Array) -> Callable[[float], float]:
    """The logarithm of W for any scores from 0 to 1."""
    held = many > 0
    x, many = x[held], many[held]
    records = float(many.sum())
    size = 64
    while size < _NODES and 2 * size - 1 < records:
        size *= 2
    thetas = np.sin((2 * np.arange(1, size + 1) - 1) * np.pi / (4 * size)) ** 2

    def fortune(m: float) -> float:
        grown = np.zeros(len(thetas))
        for score, count in zip(x, many, strict=True):
            grown += count * np.log(score * thetas / m + (1 - score) * (1 - thetas) / (1 - m))
        top = float(grown.max())
        return top + math.log(float(np.exp(grown - top).sum()) / size)

    if size == _NODES:
        # The best bets against any m in question are near the mean: the others are left out, which
        # can only widen the interval.
        mean = float(x @ many / records)
        spread = float((x - mean) ** 2 @ many / records)
        reach = 3 * math.sqrt(2 * _NOTHING / records) * max(1.0, mean * (1 - mean) / spread)
        thetas = thetas[np.abs(thetas - mean) < max(reach, 0.05)]
    return fortune
