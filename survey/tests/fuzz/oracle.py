"""The law of a matrix by definition, in fractions; its measures in 40 digits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath

from cases import LAWS

Rows = list[list[Fraction]]


def rows(m: Any) -> Rows:
    """Every row, by the definition of the family."""
    p, n = m.parameters, m.size
    match m.family:
        case "randomized_response":
            off = (1 - p["keep"]) / (n - 1) if n > 1 else Fraction(0)
            return _shares(n, lambda u, v: p["keep"] if u == v else off)
        case "blocks":
            return _classes(p["sizes"])
        case "k_anonymous":
            classes = n // p["k"]
            return _classes([n // classes + (c < n % classes) for c in range(classes)])
        case "difference_set":
            k, (inside, outside) = len(p["residues"]), p["counts"]
            total, held = k * inside + (n - k) * outside, set(p["residues"])
            return _shares(
                n, lambda u, v: Fraction(inside if (v - u) % n in held else outside, total)
            )
        case "tridiagonal":
            alphas = p["alphas"] if isinstance(p["alphas"], list) else [p["alphas"]] * (n - 1)
            return _tridiagonal([Fraction(a, p["total"]) for a in alphas])
        case "reflected" | "geometric":
            c = [Fraction(x, p["total"]) for x in p["kernel"]]
            return _shares(n, lambda u, v: c[abs(u - v)] + c[min(u + v + 1, 2 * n - u - v - 1)])
        case "t_transform":
            return _swapped(n, p["i"], p["j"], p["keep"])
        case "kron":
            joint: Rows = [[Fraction(1)]]
            for part in map(rows, p["matrices"]):
                joint = [[a * b for a in x for b in y] for x in joint for y in part]
            return joint
        case "product":
            first, *others = map(rows, p["matrices"])
            for other in others:
                columns = list(zip(*other, strict=True))
                first = [
                    [sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0)) for y in columns]
                    for x in first
                ]
            return first
        case "mix":
            parts = list(map(rows, p["matrices"]))
            return _shares(n, lambda u,
            v: sum((w * part[u][v] for w, part in zip(p["weights"], parts, strict=True)),
                                               Fraction(0)))  # fmt: skip
    law = LAWS[m.family]
    return _shares(n, lambda u, v: law(p, n, u, v))


def _shares(n: int, entry: Any) -> Rows:
    return [[Fraction(entry(u, v)) for v in range(n)] for u in range(n)]


def _classes(sizes: list[int]) -> Rows:
    owner = [c for c, size in enumerate(sizes) for _ in range(size)]
    return _shares(len(owner), lambda u, v: Fraction(owner[u] == owner[v], sizes[owner[u]]))


def _tridiagonal(alphas: list[Fraction]) -> Rows:
    n = len(alphas) + 1
    sides = [Fraction(0), *alphas, Fraction(0)]

    def entry(u: int, v: int) -> Fraction:
        if u == v:
            return 1 - sides[u] - sides[u + 1]
        return alphas[min(u, v)] if abs(u - v) == 1 else Fraction(0)

    return _shares(n, entry)


def _swapped(n: int, i: int, j: int, keep: Fraction) -> Rows:
    def entry(u: int, v: int) -> Fraction:
        if u not in (i, j):
            return Fraction(u == v)
        return keep if u == v else 1 - keep if v in (i, j) else Fraction(0)

    return _shares(n, entry)


def _mp(x: Fraction) -> Any:
    return mpmath.mpf(x.numerator) / x.denominator


def entropy_rate(law: Rows) -> Any:
    """Bits: the mean over rows of -sum of p log2 p."""
    with mpmath.workdps(40):
        total = mpmath.fsum(-_mp(x) * mpmath.log(_mp(x), 2) for row in law for x in row if x)
        return total / len(law)


def max_bits(n: int) -> Any:
    with mpmath.workdps(40):
        return mpmath.log(n, 2)


def epsilon(law: Rows) -> Any:
    """The largest logarithm of a ratio within a column; infinite beside a zero."""
    worst: Fraction = Fraction(1)
    for column in zip(*law, strict=True):
        if min(column) == 0:
            if max(column) > 0:
                return mpmath.inf
            continue
        worst = max(worst, max(column) / min(column))
    with mpmath.workdps(40):
        return mpmath.log(_mp(worst))
