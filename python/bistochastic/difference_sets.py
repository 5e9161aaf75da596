"""Cyclic difference sets, constructed: sets that share equally many residues with every shift.

A set of k residues modulo v is a difference set ``(v, k, lambda)`` if every residue except 0 is a
difference of two of its members exactly lambda times. Three constructions give all that are used:

* Singer: the powers of a primitive element of a field that lie in a hyperplane.
* Quadratic residues modulo a prime ``v = 3 mod 4``.
* Twin primes: ``v = p (p + 2)``.
"""

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bistochastic import _core
from bistochastic.arguments import Array
from bistochastic.errors import Refused, RefusedType

Residues = NDArray[np.int64]

# A set serves if its error is not above the least by more than this factor.
_NEAR = 1.01


class DifferenceSet(NamedTuple):
    """A difference set to be constructed: ``v`` codes, ``k`` residues, and how.

    ``field`` is ``(p, m, n)`` for a hyperplane of ``n`` dimensions over ``p^m`` elements, ``(p,)``
    for twin primes, and empty for quadratic residues and for the set of one residue.
    """

    v: int
    k: int
    field: tuple[int, ...] = ()

    def residues(self) -> Residues:
        """Construct the set, translated to hold 0, in rising order."""
        if self.k == 1:
            return np.zeros(1, np.int64)
        if len(self.field) == 3:
            found = _singer(self.v, *self.field)
        elif self.field:
            x, (p,) = np.arange(self.v), self.field
            one, other = (np.isin(np.arange(r), _squares(r)) for r in (p, p + 2))
            alike = (one[x % p] == other[x % (p + 2)]) & (x % p > 0)
            found = np.flatnonzero(alike | (x % (p + 2) == 0))
        else:
            found = _squares(self.v)
        found = np.sort((found - found[0]) % self.v)
        assert overlap(self.v, found) is not None
        return found


def list_sets(least: int, most: int) -> Iterator[DifferenceSet]:
    """List the nontrivial sets with ``least <= v <= most`` that can be constructed."""
    sieve = np.ones(most + 1, bool)
    sieve[:2] = False
    for p in range(2, math.isqrt(most) + 1):
        if sieve[p]:
            sieve[p * p :: p] = False
    primes = np.flatnonzero(sieve)
    for v in primes[(primes % 4 == 3) & (primes >= max(7, least))].tolist():
        yield DifferenceSet(v, v // 2)
    for p in primes[: np.searchsorted(primes, math.isqrt(most), "right")].tolist():
        if p > 2 and least <= p * (p + 2) <= most and p + 2 in primes:
            yield DifferenceSet(p * (p + 2), p * (p + 2) // 2, (p,))
        m = 1
        while (q := p**m) * q < most:
            # Points of a projective space of n - 1 dimensions, and those of a hyperplane.
            n, k, v = 3, q + 1, q * q + q + 1
            while v <= most:
                if v >= least:
                    yield DifferenceSet(v, k, (p, m, n))
                n, k, v = n + 1, v, q * v + 1
            m += 1


def _seen(epsilon: float, v: object, k: object) -> tuple[Array, Array]:
    """Compute how often a reported value counts for its true category, and for any other."""
    v, k = np.asarray(v, float), np.asarray(k, float)
    shared, low = k * (k - 1) / np.maximum(v - 1, 1), math.exp(-epsilon)
    total = k + (v - k) * low
    return k / total, (shared + (k - shared) * low) / total


def error(size: int, epsilon: float, v: object, k: object) -> Array:
    """Compute n times the squared error of all ``size`` shares, summed, if all shares are equal.

    A reported value counts for category x if it is a shift of x in the set. Its probability is
    ``p`` under x and ``q`` under every other true category. So a share of 1 / size is seen as
    ``s = q + (p - q) / size`` and estimated with variance ``s (1 - s) / (n (p - q)^2)``.
    """
    p, q = _seen(epsilon, v, k)
    s = q + (p - q) / size
    with np.errstate(divide="ignore"):
        return np.asarray(size * s * (1 - s) / (p - q) ** 2)


def best(size: int, epsilon: float) -> DifferenceSet:
    """Choose the smallest set up to four times the size whose error is within 1% of the least."""
    if epsilon > math.log(size) or epsilon == 0:
        return DifferenceSet(size, 1)
    _core.require_memory("difference_set", 4, size, 64)
    known, vs, ks = _with_one_residue(size)
    errors = error(size, epsilon, vs, ks)
    within = np.flatnonzero(errors <= _NEAR * errors.min())
    return min((known[i].v, errors[i], known[i]) for i in within)[2]


def spread(size: int, epsilon: float, share: float | None) -> float:
    """Compute n times the largest variance of an estimated share with the chosen set.

    It is ``s (1 - s) / (p - q)^2`` as in :func:`error`, for the given share or the worst one.
    """
    p, q = (float(x) for x in _seen(epsilon, *best(size, epsilon)[:2]))
    s = min(max(q, 0.5), p) if share is None else q + (p - q) * share
    return s * (1 - s) / (p - q) ** 2


@lru_cache(maxsize=16)
def _with_one_residue(size: int) -> tuple[list[DifferenceSet], Residues, Residues]:
    known = [DifferenceSet(size, 1), *list_sets(size, 4 * size)]
    return known, np.array([d.v for d in known]), np.array([d.k for d in known])


def overlap(v: int, residues: Residues) -> int | None:
    """Count how often each difference occurs, lambda; None if not all occur equally often."""
    held = np.zeros(v)
    held[residues] = 1
    # Integers below v, which a transform gives to far less than 1/2.
    shared = np.rint(np.fft.irfft(np.abs(np.fft.rfft(held)) ** 2, v)).astype(np.int64)[1:]
    return int(shared[0]) if v > 1 and (shared == shared[0]).all() else None


def given(size: int, pair: object) -> tuple[int, Residues]:
    """Read a caller's ``(v, residues)``, translated to hold 0."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise RefusedType("set", "be (v, residues)", type(pair).__name__)
    v = _core.as_whole("set", pair[0], max(2, size))
    members = np.unique([_core.as_code("set", r, v) for r in pair[1]])
    if not 0 < len(members) < v or overlap(v, members) is None:
        raise Refused("set", "hold every difference equally often", "residues that do not")
    return v, np.sort((members - members[0]) % v)


def best_counts(v: int, k: int, holds: Callable[[int, int], bool]) -> tuple[int, int]:
    """Find the counts inside and outside the set that are farthest apart while ``holds`` is true.

    Up to 65,536 codes they are out of 2^53, if integers are: ``k inside + (v - k) outside = 2^53``
    has solutions if the common divisor of k and v divides 2^53. Otherwise they are out of less than
    2^63: ``outside`` leaves room for the ratio, which is doubled until it no longer holds.
    """
    if holds(1, 0):
        return 1, 0
    common = math.gcd(k, v)
    if v <= 1 << 16 and common & (common - 1) == 0:
        total, inner, outer = (1 << 53) // common, k // common, (v - k) // common
        start = total * pow(inner, -1, outer) % outer

        def pair(t: int) -> tuple[int, int]:
            inside = start + t * outer
            return inside, (total - inner * inside) // outer

        low = -((start - -(-total // (inner + outer))) // outer)
        high = ((total - outer) // inner - start) // outer
    else:
        doublings = 1
        while doublings < 40 and holds(1 << doublings, 1):
            doublings += 1
        most = (1 << 63) - 1
        outside = most // ((k << doublings) + v - k)

        def pair(t: int) -> tuple[int, int]:
            return t, outside

        low, high = outside, (most - (v - k) * outside) // k
    if not holds(*pair(low)):
        return 1, 1
    while low < high:
        middle = high - (high - low) // 2
        low, high = (middle, high) if holds(*pair(middle)) else (low, middle - 1)
    return pair(low)


def _squares(v: int) -> Residues:
    return np.unique(np.arange(1, v // 2 + 1, dtype=np.int64) ** 2 % v)


def _singer(v: int, p: int, m: int, n: int) -> Residues:
    """List the i below v for which ``x^i`` is in a hyperplane over ``p^m``, x primitive.

    A coordinate of ``x^i`` is a linear function f over p. The coordinates of ``w x^i``, with w from
    a basis of the field of ``p^m`` over p, are all 0 exactly in a hyperplane over that field. Its
    elements are powers of ``x^v``, so one sequence ``f(x^i)`` of m v numbers gives all.
    """
    degree = m * n
    step = _primitive(p, degree)
    width = math.isqrt(m * v) + 1
    # f(x^(i + j width)) is row j, f times x^(j width), by column i, x^i.
    columns, rows = np.zeros((degree, width)), np.zeros((width, degree))
    columns[0, 0] = rows[0, -1] = 1
    for i in range(1, width):
        columns[:, i] = step @ columns[:, i - 1] % p
    leap = _power(step, width, p)
    for j in range(1, width):
        rows[j] = rows[j - 1] @ leap % p
    # Sums of products of residues, exact in doubles.
    sequence = (rows @ columns % p).reshape(-1)[: m * v].reshape(m, v)
    return np.flatnonzero(~sequence.any(axis=0))


def _primitive(p: int, degree: int) -> NDArray[np.int64]:
    """Multiplication by x modulo the first primitive polynomial over p: its order is the most."""
    order = p**degree - 1
    proper = [order // r for r in _factors(order)]
    one = np.eye(degree, dtype=np.int64)
    for code in range(1, order):
        if code % p:
            step = np.eye(degree, k=-1, dtype=np.int64)
            step[:, -1] = [code // p**i % p for i in range(degree)]
            if (_power(step, order, p) == one).all() and all(
                (_power(step, e, p) != one).any() for e in proper
            ):
                return step
    raise AssertionError("every field has a primitive element")


def _power(matrix: NDArray[np.int64], exponent: int, p: int) -> NDArray[np.int64]:
    found = np.eye(len(matrix), dtype=np.int64)
    while exponent:
        if exponent & 1:
            found = found @ matrix % p
        matrix, exponent = matrix @ matrix % p, exponent >> 1
    return found


def _factors(number: int) -> set[int]:
    found, r = set[int](), 2
    while r * r <= number:
        if number % r:
            r += 1
        else:
            found.add(r)
            number //= r
    return {*found, number} - {1}
