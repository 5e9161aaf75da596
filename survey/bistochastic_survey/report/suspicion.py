"""The largest suspicion after a reported value, in numbers that never overstate privacy.

A reader suspected the true value ``u`` with probability ``b``, and sees the reported value ``v``.
By Bayes the suspicion is then ``b p_uv / (b p_uv + sum over w of b_w p_wv)``. It is largest if all
the rest, ``1 - b``, was on the true value ``w`` that explains ``v`` worst. So the most, over all
true and reported values, is ``b k / (b k + 1 - b)`` with ``k`` the largest ratio ``p_uv / p_wv``:
``exp(epsilon)``.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

from bistochastic import Matrix, measures
from bistochastic.structure import Kron, composition, wide_factors

# The suspicions in a report.
STATED = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
# The numbers of records with the same true value that they speak of.
MANY = (1, 2, 3, 5, 10)
# The largest matrix whose exact rows are looked up.
_ROWS = 4096
# Decimals of a percentage that is all but 100.
_CLOSE = 6


def odds(matrix: Matrix) -> Fraction | None:
    """Compute the largest factor by which a reported value favours one true value over another.

    ``None`` if it is infinite. Exact if the core knows the entries that make it, and otherwise not
    below it.
    """
    if math.isinf(matrix.epsilon):
        return None
    if matrix.epsilon == 0:
        return Fraction(1)
    kron = composition(matrix)
    if isinstance(kron, Kron):
        # True values of all factors at once: the ratios multiply.
        each = [odds(factor) for factor in wide_factors(kron)]
        if all(part is not None for part in each):
            return math.prod((part for part in each if part is not None), start=Fraction(1))
    bound = exponential(matrix.epsilon)
    if matrix.is_exact and matrix.size <= _ROWS:
        found = measures.lines(matrix, [])
        if found is not None and found.witness is not None:
            u, w, v = found.witness
            ratio = matrix.exact_row(u)[v] / matrix.exact_row(w)[v]
            # Epsilon is within 1e-12 of the exact one, so this is the largest ratio.
            if ratio >= bound * (1 - Fraction(1, 10**9)):
                return ratio
    return bound


def exponential(epsilon: float) -> Fraction:
    """Compute ``exp(epsilon)`` of a finite epsilon, not below it."""
    with localcontext(prec=40):
        near = Fraction(Decimal(epsilon).exp())
    # 40 digits are right to one unit in the last.
    return near * (1 + Fraction(1, 10**38))


def after(suspicion: Fraction, most: Fraction | None) -> Fraction:
    """Compute the most that a suspicion can become, by the largest odds."""
    if most is None:
        return Fraction(1)
    return suspicion * most / (suspicion * most + 1 - suspicion)


def percent(share: Fraction) -> str:
    """Write a proportion in percent, rounded up; never 100% unless it is."""
    if not 0 < share < 1:
        return "0%" if share <= 0 else "100%"
    hundredfold = 100 * share
    places = 2 - math.floor(math.log10(hundredfold))
    for decimals in range(max(0, places), max(places, _CLOSE) + 1):
        whole = math.ceil(hundredfold * 10**decimals)
        if whole < 100 * 10**decimals:
            return _decimal(whole, decimals)
    return "practically 100%"


def percent_down(share: Fraction) -> str:
    """Write a proportion in percent, rounded down."""
    if share <= 0:
        return "0%"
    hundredfold = share * 100
    decimals = max(0, 2 - math.floor(math.log10(hundredfold)))
    return _decimal(math.floor(hundredfold * 10**decimals), decimals)


def _decimal(whole: int, decimals: int) -> str:
    """Write a number of units of the last decimal, without noughts at the end."""
    text = f"{Decimal(whole).scaleb(-decimals):f}"
    return f"{text.rstrip('0').rstrip('.') if decimals else text}%"
