"""What a matrix means to a reader: the largest suspicion after a reported value, in numbers that
never overstate privacy, and the accuracy of estimates.

A reader suspected the true value ``u`` with probability ``b``, and sees the reported value ``v``.
By Bayes the suspicion is then ``b p_uv / (b p_uv + sum over w of b_w p_wv)``. It is largest if all
the rest, ``1 - b``, was on the true value ``w`` that explains ``v`` worst. So the most, over all
true and reported values, is ``b k / (b k + 1 - b)`` with ``k`` the largest ratio ``p_uv / p_wv``:
``exp(epsilon)``.
"""

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from statistics import NormalDist

from bistochastic import Matrix, measures, structure
from bistochastic.errors import SingularMatrixError
from bistochastic.estimate import largest_variance, mean_standard_error

# The suspicions in a report.
STATED = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
# The numbers of records with the same true value that they speak of.
MANY = (1, 2, 3, 5, 10)
# The largest matrix whose exact rows are looked up.
_ROWS = 4096
# Decimals of a percentage that is all but 100.
_CLOSE = 6
# Size up to which the worst case is searched for.
_SEARCHED = 1024
# 95 of 100 estimates are within this many standard errors.
_WIDE = NormalDist().inv_cdf(0.975)


def odds(matrix: Matrix) -> Fraction | None:
    """Compute the largest factor by which a reported value favours one true value over another.

    ``None`` if it is infinite. Exact if the core knows the entries that make it, and otherwise not
    below it.
    """
    if math.isinf(matrix.epsilon):
        return None
    if matrix.epsilon == 0:
        return Fraction(1)
    kron = structure.composition(matrix)
    if isinstance(kron, structure.Kron):
        # True values of all factors at once: the ratios multiply.
        each = [odds(factor) for factor in structure.wide_factors(kron)]
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


@dataclass(frozen=True)
class Precision:
    """How well proportions of one column are estimated by inversion; ``None`` if that is unknown.

    ``error`` is the standard error of a proportion if all categories are equally frequent.
    ``within`` is how far 95 of 100 estimates are from the true proportion at most, in the worst
    case. ``alike`` is the number of unprotected records that would be as precise as ``error``.
    """

    error: float | None = None
    within: float | None = None
    alike: int | None = None
    note: str = ""


def precision(matrix: Matrix, records: int, design_effect: float = 1.0) -> Precision:
    """Compute how well proportions are estimated, for a sample with this design effect."""
    n = matrix.size - matrix.padding
    if n == 1:
        return Precision(note="there is one category, and its proportion is known")
    if structure.is_uniform(matrix):
        return Precision(note="nothing: a reported value does not depend on the true value")
    try:
        error = mean_standard_error(matrix, records)
    except SingularMatrixError:
        same = "several true tables give the same reported one"
        note = f"not the proportions of single categories: {same}"
        if (found := structure.classes(matrix)) is not None:
            note = f"only the totals of its {found.number:,} classes, which are not changed at all"
        return Precision(note=note)
    if error is None:
        return Precision(note="not computed: too large, or too close to singular")
    # Without protection the error is sqrt((1/n)(1 - 1/n) / records), by the same design.
    alike = math.floor((n - 1) / (n * n * error * error) * (1 + 1e-12))
    wider = math.sqrt(design_effect)
    within = None
    if n <= _SEARCHED:
        within = _WIDE * math.sqrt(largest_variance(matrix) / records) * wider
    return Precision(error * wider, within, min(alike, records))
