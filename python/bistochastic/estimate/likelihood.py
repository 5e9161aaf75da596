"""The likeliest true shares, exactly or by a search, and shares drawn towards a guess."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Self

import numpy as np

from bistochastic import linear, structure
from bistochastic.arguments import Array, positive
from bistochastic.errors import Refused
from bistochastic.linear import operator
from bistochastic.progress import check_progress, interruptible
from bistochastic.structure import Kron, Stochastic, composition

# Gaps in nats per record at which the search stops: one attribute, and joint tables too large to be
# looked at as one matrix.
_GAP, _JOINT_GAP = 1e-10, 1e-6
# Size up to which Newton's equations are written down: always, and if products are quick.
_DENSE, _QUICK = 2048, 512
# Steps at which it stops for good.
_STEPS, _JOINT_STEPS = 100_000, 2000
# Steps of expectation maximization before Newton's, and of conjugate gradients in each of those.
_WARM, _TURNS = 20, 4000
# The diagonal of those equations is between 0 and 1; this stands for it.
_DIAGONAL = 0.3


@dataclass(frozen=True)
class Limits:
    """A gap that is small enough, a time limit, and the function that receives the gap.

    >>> Limits.of("mle", None, 1e-6, 10).gap
    1e-06
    """

    gap: float | None = None
    seconds: float = math.inf
    progress: Callable[[float], object] = field(default_factory=partial(check_progress, None))
    _start: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, method: str, progress: object, gap: object, seconds: object) -> Self:
        """Read a caller's ``progress``, ``gap`` and ``seconds``; the ``method`` has to search."""
        heard = check_progress(progress)
        for name, value in {"progress": progress, "gap": gap, "seconds": seconds}.items():
            if value is not None and method not in ("mle", "shrunk"):
                raise Refused(name, "go with the method mle or shrunk", method)
        wanted = None if gap is None else positive("gap", gap, math.inf)
        limit = math.inf if seconds is None else positive("seconds", seconds, math.inf)
        return cls(wanted, limit, heard)

    @property
    def left(self) -> float:
        """Seconds until it is over."""
        return self.seconds - (time.perf_counter() - self._start)

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.left <= 0


def maximum(matrix: Stochastic, reports: Array, limits: Limits) -> tuple[Array, float, int]:
    """Find the likeliest true shares, the gap that is left, and the number of steps.

    1. If the inverse is a distribution it is the answer, since it explains the counts perfectly.
    2. For randomized response there is a closed form.
    3. Otherwise expectation maximization begins. Its step from pi is ``pi * P (reports / P^T pi)``.
       With ``g`` that factor, the likelihood is at most ``max g - 1`` nats per record below its
       maximum: it is concave, and its slope towards any distribution is at most that.
    4. Newton's steps inside the simplex go on from there.

    The search ends at the gap or the time of ``limits``, whichever comes first.
    """
    with linear.said_of("estimate", matrix):
        inverse = linear.solve(matrix, reports)
    search = _Search(matrix, reports, limits)
    if (inverse >= 0).all() and not matrix.padding:
        inverse = inverse / math.fsum(inverse)
        gap = search.certified(*search.look(inverse)[1:])
        if gap <= search.wanted:
            # The rest is rounding.
            return inverse, gap if gap > 1e-12 else 0.0, 0
    if (both := structure.two_valued(matrix)) is not None and both[0] > both[1]:
        lies = np.full(matrix.size, both[1])
        empty = both[1] * np.arange(float(matrix.size))
        return _response_likelihood(reports, both[0] - both[1], lies, empty), 0.0, 0
    if (answers := structure.forced(matrix)) is not None and answers[0] > 0:
        return _response_likelihood(reports, *answers), 0.0, 0
    # Counts over many decades can leave the range of doubles; the gap then says so.
    with np.errstate(all="ignore"):
        pi, gap = _inside(search)
        if search.dense is None and search.size <= _DENSE and gap > search.wanted:
            # Products through its structure did not come there: write the matrix down.
            search.dense, search.joint = matrix.to_dense()[search.true], False
            pi, gap = _inside(search)
        gap = search.certified(*search.look(pi)[1:])
    if not np.isfinite(pi).all():
        pi, gap = np.full(search.size, 1 / search.size), math.inf
    return pi, gap, search.steps


def _response_likelihood(
    reports: Array, truth: float, lies: Array, noise: Array | None = None
) -> Array:
    """Maximize if what is no truth does not depend on it: noise alone explains the smallest shares.

    On the support the reported shares are matched in proportion to the mass that k empty categories
    leave, ``1 - noise_k``, their lies; k grows while the next share would be negative.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(reports if noise is not None else reports / lies, kind="stable")
    phi, lie = reports[order], lies[order]
    left = 1 - np.concatenate([[0.0], np.cumsum(phi)[:-1]])
    if noise is None:
        noise = np.concatenate([[0.0], np.cumsum(lie)[:-1]])
    empty = lie * left > (1 - noise) * phi
    # The first that is not empty ends the run.
    first = int(np.argmin(empty)) if not empty.all() else len(phi) - 1
    s = left[first]
    shares = np.zeros_like(phi)
    shares[first:] = ((1 - noise[first]) * phi[first:] - s * lie[first:]) / (s * truth)
    found = np.empty_like(shares)
    found[order] = np.maximum(shares, 0.0)
    return found / math.fsum(found)


class _Search:
    """Shares through the matrix, and slopes of the likelihood back."""

    def __init__(self, matrix: Stochastic, reports: Array, limits: Limits) -> None:
        self.matrix, self.size = matrix, matrix.size - matrix.padding
        self.true = structure.true_codes(matrix)
        quick, made = operator(matrix) is not None, composition(matrix)
        # Without a structure every product is dense, so the matrix is written down once.
        few = matrix.size <= (_QUICK if quick else _DENSE)
        written = few or not (quick or made)
        self.dense = matrix.to_dense()[self.true] if written else None
        self.joint = self.dense is None and isinstance(made, Kron)
        self.seen = np.flatnonzero(reports)
        self.phi = reports[self.seen]
        self.steps, self.unknown, self.noise = 0, False, 0.0
        self.wanted, self.most = (_JOINT_GAP, _JOINT_STEPS) if self.joint else (_GAP, _STEPS)
        self.wanted = self.wanted if limits.gap is None else limits.gap
        self.limits = limits
        # Seconds of the slowest step so far.
        self.slow = 0.0

    @property
    def is_over(self) -> bool:
        """Whether no steps are left, or no time for two more."""
        return self.steps >= self.most or self.limits.left <= 2 * self.slow

    def forth(self, x: Array) -> Array:
        """Compute ``P^T x``."""
        if self.dense is not None:
            return np.asarray(x @ self.dense)
        return np.asarray(linear.from_truths(self.matrix, x[None, :])[0])

    def back(self, y: Array) -> Array:
        """Compute ``P y``."""
        if self.dense is not None:
            return np.asarray(self.dense @ y)
        return np.asarray(linear.to_truths(self.matrix, y[None, :])[0])

    def solve(self, weights: Array, root: Array, z: Array, right: Array, within: float) -> Array:
        """Newton's equations by conjugate gradients, for matrices that are never written down.

        They are ``(B B^T + diag z) y = right`` with ``B = root P sqrt(weights)``. The search ends
        with at most the share ``within`` of the right side left.
        """
        turns = max(0, min(_TURNS, self.most - self.steps))
        if self.limits.left < math.inf:
            # A turn is a step there and back, as a look is.
            turns = max(1, min(turns, int(self.limits.left / max(2 * self.slow, 1e-6)) - 2))
        everywhere = np.zeros(self.matrix.size)
        everywhere[self.seen] = weights
        near = 1 / (z + _DIAGONAL)
        found, rest = np.zeros_like(right), right.copy()
        enough = within * within * float(rest @ rest)
        direction = near * rest
        product = float(direction @ rest)
        for _ in range(turns):
            self.steps += 1
            table = self.forth(root * direction)
            table *= everywhere
            image = root * self.back(table) + z * direction
            bent = float(image @ direction)
            if not bent > 0:
                break
            length = product / bent
            found += length * direction
            rest -= length * image
            if float(rest @ rest) <= enough:
                break
            ahead = near * rest
            before, product = product, float(ahead @ rest)
            direction *= product / before
            direction += ahead
        return found

    def look(self, pi: Array) -> tuple[float, Array, Array]:
        """Compute log-likelihood per record, factor of the next step, and expected shares."""
        self.steps += 1
        start = time.perf_counter()
        table = self.forth(pi)
        expected = table[self.seen]
        # A transform leaves rounding errors in place of tiny numbers.
        plain = self.dense is not None or self.joint
        self.noise = 0.0 if plain else 4e-16 * float(table.max())
        floor = max(1e-300, self.noise / 40)
        self.unknown = not float(expected.min()) >= floor
        expected = np.maximum(expected, floor)
        likelihood = float(self.phi @ np.log(expected))
        table.fill(0.0)
        table[self.seen] = self.phi / expected
        factor = self.back(table)
        self.slow = max(self.slow, time.perf_counter() - start)
        return likelihood, np.maximum(factor, 0.0, out=factor), expected

    def gap(self, factor: Array, total: float = 1.0) -> float:
        """Compute the gap at the last shares, which sum to ``total``; infinite if it is unknown."""
        top = float(factor.max()) * total
        return max(0.0, top - 1) if math.isfinite(top) and not self.unknown else math.inf

    def certified(self, factor: Array, expected: Array) -> float:
        """Return the gap, and by how much the rounding of a transform may have lowered it."""
        gap = self.gap(factor)
        if self.noise and gap < math.inf:
            table = np.zeros(self.matrix.size)
            table[self.seen] = self.phi * self.noise / expected**2
            gap += float(self.back(table).max())
        return gap


def _inside(search: _Search) -> tuple[Array, float]:
    """Make Newton's steps on the conditions of the maximum, from inside the simplex.

    The shares are a maximum if ``1 - g`` is some ``z >= 0`` with ``z_u pi_u = 0``. Both are kept
    positive while their mean product falls tenfold per step. In units of sqrt(pi) the equations are
    ``(B B^T + diag z) y = ...`` with ``B = sqrt(pi) P sqrt(reports) / expected``.
    """
    r = search.size
    pi = np.full(r, 1 / r)
    for _ in range(_WARM):
        _, factor, expected = search.look(pi)
        if search.gap(factor) <= search.wanted or search.is_over:
            return pi, search.gap(factor)
        search.limits.progress(search.gap(factor))
        pi *= factor
    pi = np.maximum(pi, 1e-6 / r)
    _, factor, expected = search.look(pi)
    z = np.maximum(1 - factor, 0.1 * np.abs(1 - factor) + 1e-3)
    best, least, nearest, stuck = pi, math.inf, math.inf, 0
    while search.steps < search.most:
        total = float(pi.sum())
        gap = search.gap(factor, total)
        near = float(pi @ z)
        stuck = 0 if gap < least or near < 0.9 * nearest else stuck + 1
        nearest = min(near, nearest)
        if gap < least:
            best, least = pi / total, gap
        if least <= search.wanted or stuck > 10 or search.is_over:
            break
        search.limits.progress(least)
        target = 0.1 * near / r
        if not (target > 1e-300 and float(pi.min()) > 0 and float(z.min()) > 0):
            break
        right = target / pi - (1 - factor)
        root = np.sqrt(pi)
        weights = search.phi / expected**2
        right *= root
        if search.dense is not None and search.size <= _DENSE:
            scaled = _direct(search, search.dense, weights, root, z, right)
        else:
            scaled = search.solve(weights, root, z, right, min(0.01, 0.1 * gap**0.5))
        if not np.isfinite(scaled).all():
            break
        step = root * scaled
        rise = (target - pi * z - z * step) / pi
        pi = pi + _longest(pi, step) * step
        z = z + _longest(z, rise) * rise
        _, factor, expected = search.look(pi)
    return np.asarray(best), least


def _longest(x: Array, step: Array) -> float:
    falling = step < 0
    return min(1.0, 0.995 * float((x[falling] / -step[falling]).min(initial=math.inf)))


def _direct(
    search: _Search, dense: Array, weights: Array, root: Array, z: Array, right: Array
) -> Array:
    """Newton's equations written down. Shares next to 0 have only their own ``z`` to heed."""
    scaled = right / z
    live = np.flatnonzero(root > 1e-12 * root.max())
    part = dense[np.ix_(live, search.seen)]
    part *= root[live, None]
    part *= np.sqrt(weights)
    equations = part @ part.T
    equations[np.diag_indices(len(live))] += z[live]
    try:
        scaled[live] = interruptible(len(live), np.linalg.solve, equations, right[live])
    except np.linalg.LinAlgError:
        scaled[live] = math.nan
    return scaled


# Size up to which the information of a reported value is computed exactly, and probes beyond.
_INFORMED, _PROBES = 1024, 16
# Nats, of all records together, to which the maximum is found: far below their information.
_NATS = 0.1
_CLIMB_STEPS = 5000


def shrunk(
    matrix: Stochastic, reports: Array, records: float, limits: Limits
) -> tuple[Array, float, int]:
    """Draw shares towards a guess; return them, the gap to the largest likelihood, the steps.

    With ``n`` records, a guess ``s`` and a weight ``k``, they maximize, over distributions ``pi``,

        sum over v of reports_v log (P^T pi)_v - (k / n) sum over u of pi_u log (pi_u / s_u).

    The weight counts pseudo-records and is estimated from the data, see :func:`_weight`. The
    search for that maximum ends at the gap or the time of ``limits``.
    """
    if linear.is_singular(matrix):
        raise linear.singular_error("estimate", matrix)
    n, kron = records, composition(matrix)
    if isinstance(kron, Kron):
        factors: Sequence[Stochastic] = structure.wide_factors(kron)
        table = reports.reshape([factor.size for factor in factors])
        axes = set(range(table.ndim))
        sums = (table.sum(axis=tuple(axes - {k})) for k in range(table.ndim))
        marginals = [
            np.maximum(shrunk(factor, each, n, limits)[0], 1e-100)
            for factor, each in zip(factors, sums, strict=True)
        ]
        guess = reduce(np.multiply.outer, marginals).reshape(-1)
        # Under a product the information of several attributes multiplies, with 1 for the total;
        # the marginals are fitted, so their information says nothing more about the weight.
        parts = [_information(factor, s) for factor, s in zip(factors, marginals, strict=True)]
        told = math.prod(1 + part for part in parts) - 1 - math.fsum(parts)
        degrees = len(guess) - 1 - sum(len(each) - 1 for each in marginals)
    else:
        size = matrix.size - matrix.padding
        guess, degrees = np.full(size, 1 / size), size - 1
        told = _information(matrix, guess)
    expected = _forth(matrix, guess)
    weight = math.inf
    if degrees > 0 and told > 0:
        chi = n * math.fsum((reports - expected) ** 2 / expected)
        weight = _weight(chi, n, told, degrees, len(guess))
    pi, steps = guess, 1
    if weight < math.inf:
        wanted = max(_NATS / n, 1e-13) if limits.gap is None else limits.gap
        pi, steps = _climb(matrix, reports, guess, weight / n, wanted, limits)
    factor = _factor(matrix, reports, _forth(matrix, pi))
    return pi / pi.sum(), max(0.0, float(factor.max()) - 1), steps


def _weight(chi: float, n: float, told: float, degrees: int, cells: int) -> float:
    """Estimate how many pseudo-records the guess is worth, from how badly it explains the data.

    Let ``pi - s`` vary with variances ``s / k``. Then Pearson's ``chi`` of the counts against the
    guess has mean ``degrees + n told / k`` and, if the guess is true, variance ``2 degrees``. To
    keep noise from looking like a departure, ``1 / k`` has an exponential prior with mean ``2 /
    cells``: half a pseudo-record per cell (Jeffreys). The likeliest ``1 / k`` solves

        n told (chi - degrees - n told / k) / (2 degrees) = cells / 2.
    """
    departure = chi - degrees - cells * degrees / (n * told)
    return n * told / departure if departure > 0 else math.inf


def _information(matrix: Stochastic, shares: Array) -> float:
    """Compute ``sum of shares_u p_uv^2 / (P^T shares)_v, less 1``.

    For the identity it is the size less 1. It is the trace of a product of matrices: rows ``z
    sqrt(shares)`` through P, squared, with unit vectors z or, beyond some size, random signs.
    """
    r = len(shares)
    expected = _forth(matrix, shares)
    root = np.sqrt(shares)
    if r <= _INFORMED:
        return float((linear.from_truths(matrix, np.diag(root)) ** 2 / expected).sum()) - 1
    signs = np.random.default_rng(0)
    total = 0.0
    for _ in range(_PROBES):
        row = (root * signs.choice([-1.0, 1.0], r))[None, :]
        total += float((linear.from_truths(matrix, row) ** 2 / expected).sum())
    return total / _PROBES - 1


def _forth(matrix: Stochastic, pi: Array) -> Array:
    # A transform may leave a little below 0 in place of 0.
    return np.asarray(np.maximum(linear.from_truths(matrix, pi[None, :])[0], 1e-300))


def _factor(matrix: Stochastic, reports: Array, expected: Array) -> Array:
    """Compute the slope of the likelihood per record; its mean under pi is 1."""
    ratio = (reports / expected)[None, :]
    return np.asarray(np.maximum(linear.to_truths(matrix, ratio)[0], 0.0))


def _climb(
    matrix: Stochastic, reports: Array, guess: Array, rho: float, wanted: float, limits: Limits
) -> tuple[Array, int]:
    """Maximize the likelihood less ``rho`` times the divergence from the guess.

    Each step maximizes the likelihood's tangent less ``rho`` times the divergence from the guess
    and less the divergence from the current shares over ``length``: a weighted geometric mean. The
    step is made if the likelihood is not below the prediction, so the sum grows. Steps lengthen as
    long as that holds: noise makes the likelihood flat, and these steps are long where steps of
    expectation maximization are short. Then they go on a little the same way (Nesterov), as long as
    the sum grows.

    The tangent bounds the likelihood, so the maximum is at most ``rho log sum s exp(g / rho)``.
    """
    seen = reports > 0
    start = np.log(guess)

    def at(where: Array) -> tuple[Array, Array, float]:
        """Compute shares from these logarithms, expected reported shares, and the likelihood."""
        pi = np.exp(where)
        expected = _forth(matrix, pi)
        return pi, expected, float(reports[seen] @ np.log(expected[seen]))

    length, growth, speed = 1.0, 2.0, 1.0
    best, most = start, -math.inf
    here = start
    pi, expected, height = at(here)
    for step in range(1, _CLIMB_STEPS + 1):
        g = _factor(matrix, reports, expected)
        value = float(pi @ g) - rho * float(pi @ (here - start))
        left = rho * _log_sum(start + g / rho) - value
        limits.progress(max(0.0, left))
        if left <= wanted or limits.is_over:
            return pi, step
        while True:
            there = (here + length * (g + rho * start)) / (1 + length * rho)
            there -= _log_sum(there)
            new, expected, reached = at(there)
            promised = height + float(g @ (new - pi)) - float(new @ (there - here)) / length
            if reached >= promised - 1e-13 or length < 1e-6:
                break
            # Long enough: from here on most steps shall be accepted at once.
            length, growth = length / 2, 1.1
        length = min(length * growth, 1e12)
        found = reached - rho * float(new @ (there - start))
        if found < most and speed > 1:
            here, speed = best, 1.0
        else:
            faster = (1 + math.sqrt(1 + 4 * speed * speed)) / 2
            here = there + (speed - 1) / faster * (there - best)
            here = here - _log_sum(here)
            best, most, speed = there, found, faster
        pi, expected, height = at(here)
    return np.exp(best), _CLIMB_STEPS


def _log_sum(logarithms: Array) -> float:
    top = float(logarithms.max())
    return top + math.log(float(np.exp(logarithms - top).sum()))
