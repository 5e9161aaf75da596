"""The paper's tables, theorems and propositions, recomputed on the spot.

N. Ruiz and J. Domingo-Ferrer, "Bistochastic privacy", MDAI 2022. One function per statement
computes a list of rows, and ``page.md`` has the words around them. ``make paper`` runs this file
and writes what it prints to ``docs/explanation/paper.md``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, SupportsFloat

import numpy as np

import bistochastic as families
from bistochastic.theory import majorizes, t_transforms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from bistochastic import Matrix

# The size of Table 1, and that of the matrices whose zeros are filled.
_SIZE, _FILLED = 12, 1000
# Numbers of four people.
_PEOPLE = (20, 31, 54, 90)


def _rows(matrix: Matrix) -> list[list[Fraction]]:
    return [matrix.exact_row(u) for u in range(matrix.size)]


def _beta(rows: NDArray[np.float64]) -> float:
    """Take the formula of beta at its word, also for rows that do not sum to 1."""
    positive = rows[rows > 0]
    bits = float(-(positive * np.log2(positive)).sum() / len(rows))
    return bits / float(np.log2(len(rows)))


def _tenths(*rows: list[int]) -> list[list[Fraction]]:
    return [[Fraction(n, 10) for n in row] for row in rows]


class Decomposition(NamedTuple):
    """A matrix as a mixture of permutations, Theorem 1."""

    what: str
    matrix: Matrix
    permutations: tuple[tuple[int, ...], ...]
    weights: tuple[Fraction, ...]

    @property
    def not_permuting(self) -> Fraction:
        """The weight of the identity."""
        stay = tuple(range(self.matrix.size))
        pairs = zip(self.permutations, self.weights, strict=True)
        return sum((weight for targets, weight in pairs if targets == stay), Fraction(0))

    @property
    def is_exact(self) -> bool:
        """Whether the weighted permutations add up to the matrix, fraction by fraction."""
        size = self.matrix.size
        rows = [[Fraction(0)] * size for _ in range(size)]
        for targets, weight in zip(self.permutations, self.weights, strict=True):
            for u, v in enumerate(targets):
                rows[u][v] += weight
        return rows == _rows(self.matrix) and sum(self.weights) == 1


def decompositions() -> list[Decomposition]:
    """Give the two of Section 2.2, other weights for the second, and one for Expression (3)."""
    strict = families.randomized_response(3, epsilon=0)
    lax = families.randomized_response(3, epsilon=2)
    keep, lie = lax.exact_row(0)[:2]
    shifts = tuple(tuple((u + by) % 3 for u in range(3)) for by in range(3))
    # The three swaps add up to the matrix of ones, as the three shifts do.
    swaps = (shifts[0], (0, 2, 1), (2, 1, 0), (1, 0, 2))
    inside = tuple((*shift, *(3 + v for v in shift)) for shift in shifts)
    thirds = (Fraction(1, 3),) * 3
    blocks = families.k_anonymous(6, k=3)
    return [
        Decomposition("(2), epsilon 0, by shifts", strict, shifts, thirds),
        Decomposition("(2), epsilon 2, by shifts", lax, shifts, (keep, lie, lie)),
        Decomposition("(2), epsilon 2, by swaps", lax, swaps, (keep - lie, lie, lie, lie)),
        Decomposition("(3), two classes of 3, by shifts", blocks, inside, thirds),
    ]


class Truth(NamedTuple):
    """The trace of a matrix, that of Expression (2) with its epsilon, and its column sums."""

    what: str
    epsilon: float
    trace: float
    most: float
    columns: tuple[float, ...]


def _truth(what: str, rows: list[list[Fraction]]) -> Truth:
    """Correct Proposition 1: epsilon is from the extremes over ``u`` within each column ``v``."""
    size, columns = len(rows), list(zip(*rows, strict=True))
    ratio = max(max(column) / min(column) for column in columns)
    trace, most = sum(rows[u][u] for u in range(size)), size * ratio / (size - 1 + ratio)
    sums = tuple(float(sum(column)) for column in columns)
    return Truth(what, math.log(ratio), float(trace), float(most), sums)


def proposition1() -> list[Truth]:
    """Give matrices that are locally private, one of them not bistochastic."""
    two = families.randomized_response(2, keep=Fraction(5, 9))
    three = families.randomized_response(3, keep=Fraction(6, 8))
    return [
        _truth("[[.6, .4], [.5, .5]]", _tenths([6, 4], [5, 5])),
        _truth("(2), 2 categories, ratio 5/4", _rows(two)),
        _truth("circulant .6, .3, .1", _rows(families.circulant([6, 3, 1]))),
        _truth("(2), 3 categories, ratio 6", _rows(three)),
    ]


class Spread(NamedTuple):
    """A histogram before and after a matrix."""

    what: str
    before: tuple[int, ...]
    after: tuple[Fraction, ...]

    @property
    def bits(self) -> tuple[float, float]:
        """Shannon entropy before and after."""
        return _entropy(self.before), _entropy(self.after)

    @property
    def majorized(self) -> bool:
        """Whether the histogram before majorizes the one after, exactly."""
        return majorizes(self.before, self.after)


def _entropy(histogram: Sequence[int | Fraction]) -> float:
    shares = [float(count / sum(histogram)) for count in histogram if count]
    return math.fsum(-share * math.log2(share) for share in shares)


def _spread(what: str, before: tuple[int, ...], rows: list[list[Fraction]]) -> Spread:
    """Compute ``P^T p`` in fractions."""
    columns = zip(*rows, strict=True)
    after = [sum(n * p for n, p in zip(before, each, strict=True)) for each in columns]
    return Spread(what, before, tuple(map(Fraction, after)))


def theorem2() -> list[Spread]:
    """Give histograms that a matrix flattens, leaves or, if not bistochastic, sharpens."""
    half = _rows(families.randomized_response(3, keep=Fraction(1, 2)))
    moved = _rows(families.permutation([1, 2, 0]))
    return [
        _spread("(2), keep 1/2", (8, 3, 1), half),
        _spread("(2), keep 1/2", (4, 4, 4), half),
        _spread("(3), classes of 3 and 2", (4, 4, 4, 1, 1), _rows(families.blocks([3, 2]))),
        _spread("a permutation", (8, 3, 1), moved),
        _spread("[[.9, .1], [.8, .2]]", (1, 1), _tenths([9, 1], [8, 2])),
    ]


class Clear(NamedTuple):
    """Beta if one category is published unchanged and the rest secret; how many can be at 0.9."""

    size: int
    one: float
    many: int


def average() -> list[Clear]:
    """Show that beta is an average over categories."""

    def beta(size: int, clear: int) -> float:
        return families.blocks([1] * clear + [size - clear]).beta

    found = []
    for size in (3, 12, 100, 1000):
        many = next(n for n in range(size) if beta(size, n + 1) < 0.9)
        found.append(Clear(size, beta(size, 1), many))
    return found


class Joint(NamedTuple):
    """Sums over several attributes, by Definition 2, and one joint matrix, by Definition 3."""

    what: str
    bits: float
    joint_bits: float
    most: float
    joint_most: float


def _joint(what: str, *matrices: Matrix) -> Joint:
    whole = families.kron(*matrices)
    bits = math.fsum(m.entropy_rate for m in matrices)
    most = math.fsum(m.max_bits for m in matrices)
    return Joint(what, bits, whole.entropy_rate, most, whole.max_bits)


def proposition2() -> list[Joint]:
    """Show that bits of several attributes add up, and so do their maxima."""
    private = families.randomized_response(12, epsilon=3)
    classes = families.k_anonymous(12, k=4)
    return [
        _joint("(2) epsilon 3 and (3) k = 4, on 12 each", private, classes),
        _joint("perfect secrecy on 12 and on 3", families.uniform(12), families.uniform(3)),
        _joint("unprotected on 2, secret on 1000", families.identity(2), families.uniform(1000)),
    ]


class Dominance(NamedTuple):
    """The smallest diagonal entry of a matrix, its rank and its condition in the 2-norm."""

    what: str
    size: int
    least: float
    rank: int
    condition: float


def proposition3() -> list[Dominance]:
    """Give a diagonal of exactly 1/2, diagonals above it, and diagonals below it."""
    matrices = {
        "[[.5, .5], [.5, .5]]": families.tridiagonal([0.5]),
        "(7), alpha .2": families.tridiagonal(0.2, size=12),
        "(7), alpha .2499": families.tridiagonal(0.2499, size=500),
        "(7), alpha .4": families.tridiagonal(0.4, size=12),
        "(2), epsilon 1": families.randomized_response(12, epsilon=1),
        "a permutation": families.permutation([1, 2, 0]),
    }
    return [
        Dominance(what, m.size, min(m[u, u] for u in range(m.size)),
                  int(m.profile().rank or 0), m.condition)
        for what, m in matrices.items()
    ]  # fmt: skip


class Filling(NamedTuple):
    """Zeros replaced by gamma without adjusting the rest, compared with a mixture.

    ``row_sum`` is the largest, and ``beta`` what its formula gives. The mixture is
    ``(1 - r gamma) P + gamma J``, whose sums are exactly 1.
    """

    gamma: float
    row_sum: float
    beta: float
    mixed_beta: float
    mixed_epsilon: float


def fillings() -> list[Filling]:
    """Make super doubly stochastic matrices of size 1000 from Expression (7), alpha 0.1."""
    matrix, secret = families.tridiagonal(0.1, size=_FILLED), families.uniform(_FILLED)
    array = matrix.to_dense()
    found = []
    for gamma in (Fraction(0), Fraction(1, 10**5), Fraction(1, 10**4), Fraction(1, 10**3)):
        filled = np.where(array == 0, float(gamma), array)
        weights = {matrix: 1 - _FILLED * gamma, secret: _FILLED * gamma}
        parts = {part: weight for part, weight in weights.items() if weight}
        mixed = families.mix(list(parts), weights=list(parts.values()))
        sums, beta = float(filled.sum(axis=1).max()), _beta(filled)
        found.append(Filling(float(gamma), sums, beta, mixed.beta, mixed.epsilon))
    return found


class Cell(NamedTuple):
    """One cell of Table 1: the printed per cent, and beta of the matrix that the text describes.

    ``reading`` describes what reproduces the print, with the beta ``read``, if the text does not.
    """

    family: str
    parameter: str
    printed: int
    implied: float
    reading: str
    read: float

    @property
    def agrees(self) -> bool:
        """Whether the print is the text's number, rounded."""
        return round(100 * self.implied) == self.printed


def lies_equal(keep: float) -> Matrix:
    """Make the circulant of Table 1, whose false values are equally likely."""
    return families.circulant([keep] + [(1 - keep) / (_SIZE - 1)] * (_SIZE - 1))


def _short_of_one(keep: float) -> tuple[str, float]:
    """Take beta of ``keep`` and 11 entries of ``(1 - keep)/12``, which do not sum to 1."""
    row = np.full(_SIZE, (1 - keep) / _SIZE)
    row[0] = keep
    rows = np.stack([np.roll(row, u) for u in range(_SIZE)])
    return f"off-diagonals (1-p)/12, rows sum to {float(row.sum()):.4f}", _beta(rows)


def table1() -> list[Cell]:
    """Give the twelve cells of Table 1, in the paper's order."""
    make: dict[str, Callable[[float], Matrix]] = {
        "epsilon": lambda x: families.randomized_response(_SIZE, epsilon=x),
        "k": lambda x: families.k_anonymous(_SIZE, k=int(x)),
        "alpha": lambda x: families.tridiagonal(x, size=_SIZE),
        "p11": lies_equal,
    }
    rows: list[tuple[str, str, dict[float, int]]] = [
        ("differential privacy", "epsilon", {5: 17, 3: 60, 1: 97}),
        ("k-anonymity", "k", {2: 28, 3: 56, 6: 72}),
        ("tridiagonal", "alpha", {0.1: 24, 0.3: 35, 0.4: 40}),
        ("circulant", "p11", {0.9: 21, 0.6: 63, 0.2: 93}),
    ]
    readings = {"k = 3": ("k = 4", make["k"](4).beta)}
    readings["alpha = 0.3"] = ("alpha = 0.2", make["alpha"](0.2).beta)
    readings |= {f"p11 = {p:g}": _short_of_one(p) for p in (0.9, 0.6, 0.2)}
    found = []
    for family, name, printed in rows:
        for value, cell in printed.items():
            beta, parameter = make[name](value).beta, f"{name} = {value:g}"
            found.append(Cell(family, parameter, cell, beta, *readings.get(parameter, ("", beta))))
    return found


def peak_alpha(size: int = _SIZE) -> float:
    """Find the one alpha at which a tridiagonal matrix of a size has the most entropy.

    The two end rows hold alpha once and the others twice, so the derivative of the entropy is
    ``2 log((1-a)/a) + 2 (size-2) log((1-2a)/a)`` up to a factor: it falls from a = 1/3 on.
    """
    low, high = 1 / 3, 1 / 2
    for _ in range(60):
        alpha = (low + high) / 2
        slope = math.log((1 - alpha) / alpha) + (size - 2) * math.log((1 - 2 * alpha) / alpha)
        low, high = (alpha, high) if slope > 0 else (low, alpha)
    return low


class Class(NamedTuple):
    """A class of Anatomy: its sensitive values, the surest guess, and pairings told apart."""

    values: tuple[str, ...]
    guess: Fraction
    pairings: int


def anatomy() -> list[Class]:
    """Show that 1/k is the surest guess only if the values of a class differ."""
    found = []
    for values in (("flu", "gout", "cold"), ("flu", "flu", "cold"), ("flu", "flu", "flu")):
        counts = [values.count(value) for value in dict.fromkeys(values)]
        pairings = math.factorial(len(values)) // math.prod(map(math.factorial, counts))
        found.append(Class(values, Fraction(max(counts), len(values)), pairings))
    return found


class Chain(NamedTuple):
    """Whether a matrix has zeros, is ergodic, and leaves the uniform distribution unchanged."""

    what: str
    zeros: int
    ergodic: bool
    stationary: bool
    beta: float
    truthfulness: float


def chains() -> list[Chain]:
    """Give matrices with zeros that are ergodic, and others that are not."""
    matrices = {
        "(2), epsilon 1": families.randomized_response(_SIZE, epsilon=1),
        "(3), k = 3": families.k_anonymous(_SIZE, k=3),
        "(7), alpha .1": families.tridiagonal(0.1, size=_SIZE),
        "a permutation": families.permutation([*range(1, _SIZE), 0]),
        "the identity": families.identity(_SIZE),
    }
    found = []
    for what, m in matrices.items():
        rows = _rows(m)
        zeros = sum(row.count(Fraction(0)) for row in rows)
        stationary = all(sum(column) == 1 for column in zip(*rows, strict=True))
        ergodic = bool(m.profile().is_ergodic)
        found.append(Chain(what, zeros, ergodic, stationary, m.beta, m.truthfulness or 0.0))
    return found


class Mean(NamedTuple):
    """The mean of numbers before and after, and what the numbers are."""

    what: str
    before: Fraction
    after: Fraction


def _mean(values: Sequence[Fraction | int]) -> Fraction:
    return Fraction(sum(values)) / len(values)


def means() -> list[Mean]:
    """Show what keeps a mean: rows that sum to 1, of ``P^T x``; columns, of ``P x``."""
    numbers, both = _PEOPLE, families.circulant([6, 2, 1, 1])
    product = _spread("", numbers, _rows(both)).after
    only_rows = _tenths([6, 4, 0, 0], [3, 5, 2, 0], [2, 2, 4, 2], [5, 1, 1, 3])
    skewed = _spread("", numbers, only_rows).after
    averaged = [sum(p * x for p, x in zip(row, numbers, strict=True)) for row in only_rows]
    spread = theorem2()[0]
    counts = [tuple(map(Fraction, spread.before)), spread.after]
    scores = [(each[1] + 2 * each[2]) / sum(each) for each in counts]
    return [
        Mean("P^T x, numbers of four people, a circulant", _mean(numbers), _mean(product)),
        Mean("P^T x, a matrix of which only rows sum to 1", _mean(numbers), _mean(skewed)),
        Mean("P x, the same matrix", _mean(numbers), _mean(averaged)),
        Mean("scores 0, 1, 2 of 8, 3 and 1 records, (2) keep 1/2", *scores),
    ]


class Order(NamedTuple):
    """Two distributions, their entropies, and whether the first majorizes the second."""

    first: tuple[int, ...]
    second: tuple[int, ...]

    @property
    def cells(self) -> tuple[str, ...]:
        """What the table shows: tenths, each entry compared, sums compared, entropies."""
        pairs = list(zip(self.first, self.second, strict=True))
        one_by_one = all(x > y for x, y in pairs[:-1])
        return (
            _each([n / 20 for n in self.first], "g"), _each([n / 20 for n in self.second], "g"),
            "yes" if one_by_one else "no", "yes" if majorizes(self.first, self.second) else "no",
            f"{_entropy(self.first):.4f}", f"{_entropy(self.second):.4f}",
        )  # fmt: skip


def orders() -> list[Order]:
    """Give pairs for which the printed definition, majorization and entropy disagree."""
    return [
        Order((10, 6, 4), (8, 8, 4)),
        Order((12, 4, 4), (10, 9, 1)),
        Order((12, 7, 1), (10, 6, 4)),
    ]


def sizes_of_expression_7() -> tuple[int, int]:
    """Count the categories of the matrix as printed for 12, and of one with a parameter fewer."""
    printed, right = (families.tridiagonal([0.1] * n).size for n in (_SIZE, _SIZE - 1))
    return printed, right


def markdown() -> str:
    """Make everything as the page ``docs/explanation/paper.md``."""
    page = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    return page.rstrip("\n").format(**_tables(), **_numbers())


def _table(header: str, rows: Iterable[Sequence[str]]) -> str:
    names = header.split(", ")
    lines = ["| " + " | ".join(cell or " " for cell in line) + " |" for line in (names, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(names), *lines[1:]])


def _after(prior: float, epsilon: float) -> float:
    """What a suspicion can become at most."""
    return prior * math.exp(epsilon) / (1 - prior + prior * math.exp(epsilon))


def _divergence(histogram: Sequence[int | Fraction]) -> float:
    """Bits between a histogram and (8/9, 1/9), which [[.9, .1], [.8, .2]] leaves unchanged."""
    shares = [float(count / sum(histogram)) for count in histogram]
    return math.fsum(p * math.log2(9 * p / n) for p, n in zip(shares, (8, 1), strict=True))


def _slope(matrix: Matrix) -> float:
    """By which factor randomized response shrinks a covariance: the difference of its entries."""
    return matrix[0, 0] - matrix[0, 1]


def _each(values: Iterable[SupportsFloat], form: str) -> str:
    return ", ".join(f"{float(value):{form}}" for value in values)


def _tables() -> dict[str, str]:
    """Make the tables of the page, by the names that it has for them."""
    cells = table1()
    return {
        "decompositions": _table("expression, weights, identity, adds up", (
            (d.what, _each(d.weights, ".4f"), f"{float(d.not_permuting):.4f}",
             "exactly" if d.is_exact else "no")
            for d in decompositions()
        )),
        "proposition1": _table("matrix, column sums, epsilon, trace, most at that epsilon", (
            (t.what, _each(t.columns, "g"), f"{t.epsilon:.4f}", f"{t.trace:.4f}", f"{t.most:.4f}")
            for t in proposition1()
        )),
        "theorem2": _table("matrix, before, after, bits before, bits after, majorized", (
            (s.what, _each(s.before, "g"), _each(s.after, "g"), f"{s.bits[0]:.4f}",
             f"{s.bits[1]:.4f}", "yes" if s.majorized else "no")
            for s in theorem2()
        )),
        "average": _table("categories, beta with one unchanged, unchanged at beta 0.9", (
            (str(c.size), f"{c.one:.3f}", str(c.many)) for c in average()
        )),
        "proposition2": _table("matrices, sum of bits, joint bits, sum of most, joint most, beta", (
            (j.what, *(f"{x:.4f}" for x in (*j[1:], j.joint_bits / j.joint_most)))
            for j in proposition2()
        )),
        "proposition3": _table("matrix, size, least diagonal, rank, condition", (
            (d.what, str(d.size), f"{d.least:.4g}", str(d.rank),
             f"{d.condition:.4g}" if math.isfinite(d.condition) else "singular")
            for d in proposition3()
        )),
        "fillings": _table(
            "gamma, rows sum to, beta if filled, beta if mixed, epsilon if mixed",
            ((f"{f.gamma:g}", *(f"{x:.3f}" for x in f[1:])) for f in fillings()),
        ),
        "table1": _table("family, parameter, printed, from its text, another reading, namely", (
            (c.family, c.parameter, f"{c.printed}%", f"{100 * c.implied:.3f}%",
             *(("", "") if c.agrees else (f"{100 * c.read:.3f}%", c.reading)))
            for c in cells
        )),
        "wrong": f"{sum(not cell.agrees for cell in cells)} of its {len(cells)}",
        "anatomy": _table("sensitive values of a class, surest guess, pairings told apart", (
            (" ".join(c.values), str(c.guess), str(c.pairings)) for c in anatomy()
        )),
        "chains": _table("matrix, zeros, ergodic, keeps the uniform distribution, beta, true", (
            (c.what, str(c.zeros), *("yes" if x else "no" for x in (c.ergodic, c.stationary)),
             f"{c.beta:.3f}", f"{c.truthfulness:.3f}")
            for c in chains()
        )),
        "means": _table("numbers and matrix, mean before, mean after", (
            (m.what, f"{float(m.before):g}", f"{float(m.after):g}")
            for m in means()
        )),
        "orders": _table(
            "first, second, each entry larger, majorizes, bits of the first, bits of the second",
            (order.cells for order in orders()),
        ),
    }  # fmt: skip


def _numbers() -> dict[str, str]:
    """Compute the numbers inside sentences of the page, by the names that it has for them."""
    _strict, lax, swaps, _classes = decompositions()
    keeps = [families.randomized_response(12, epsilon=e).truthfulness for e in (3, 6)]
    first, clear, peak = theorem2()[0], families.identity(12), peak_alpha()
    steps = t_transforms(first.before, first.after)
    response, tiny = families.randomized_response(12, epsilon=1), Fraction(1, 10**6)
    classes, secret = families.k_anonymous(12, k=3), families.uniform(12)
    mixed = families.mix([classes, secret], weights=[1 - 12 * tiny, 12 * tiny])
    some = families.blocks([1, 1, 1, 2])
    ten, steep = families.kron(*[response] * 10), families.tridiagonal(0.4, size=12)
    return {
        "stay": f"{float(lax.not_permuting):.4f}",
        "rounded": f"{float(lax.not_permuting):.2f}",
        "other": f"{float(swaps.not_permuting):.4f}",
        "keep3": f"{keeps[0]:.3f}",
        "keep6": f"{keeps[1]:.3f}",
        "steps": str(len(steps.steps)),
        "listed": ", then ".join(f"{i} and {j} with keep {keep}" for i, j, keep in steps.steps),
        "exactly": "exactly" if steps.apply(first.before) == list(first.after) else "inexactly",
        "sides": f"{2**clear.max_bits:.0f}",
        "left": f"{2**clear.entropy_rate:.0f}",
        "epsilons": _each((lies_equal(keep).epsilon for keep in (0.9, 0.6, 0.2)), ".3f"),
        "bound": str(3 * 3 - 2 * 3 + 2),
        "whole": f"{lax.matrix.decompose().joint_entropy:.2f}",
        "each": f"{1000 * lax.matrix.entropy_rate:.0f}",
        "sizes_beta": f"{families.blocks([3, 3]).beta:.3f}",
        "alike_beta": f"{families.blocks([1, 1]).beta:g}",
        "printed_size": str(sizes_of_expression_7()[0]),
        "right_size": str(sizes_of_expression_7()[1]),
        "slope": f"{_slope(families.randomized_response(12, epsilon=1)):.3f}",
        "residual": f"{max(abs(x - 48.75) for x in _PEOPLE):g}",
        "log12": f"{clear.max_bits:.3f}",
        "keep2": f"{families.randomized_response(12, epsilon=2).truthfulness:.4f}",
        "allstay": f"{1000 * math.log10(float(lax.not_permuting)):.0f}",
        "suspicion2": f"{100 * _after(0.01, 2):.2f}%",
        "permuted": str(Fraction(math.factorial(3), 3**3)),
        "gamma": f"{float(tiny):g}",
        "tiny_beta": f"{mixed.beta:.3f}",
        "tiny_epsilon": f"{mixed.epsilon:.1f}",
        "divergence0": f"{_divergence((1, 1)):.4f}",
        "divergence1": f"{_divergence(theorem2()[4].after):.4f}",
        "turned": _each([_spread("", (8, 2), _tenths([1, 9], [9, 1])).after[0] / 10], "g"),
        "response6": f"{families.randomized_response(12, beta=0.6).epsilon:.1f}",
        "geometric6": f"{families.geometric(12, beta=0.6).epsilon:.1f}",
        "product": _each(_spread("", _PEOPLE, _rows(families.circulant([6, 2, 1, 1]))).after, "g"),
        "condition1": f"{response.condition:.2f}",
        "condition3": f"{families.kron(*[response] * 3).condition:.0f}",
        "cells": f"{ten.size:,}",
        "ten_beta": f"{ten.beta:.3f}",
        "truthful": f"{some.truthfulness:g}",
        "rank": str(some.profile().rank),
        "strict_epsilon": f"{100 * response.beta:.1f}",
        "strict_k": f"{100 * families.k_anonymous(12, k=6).beta:.1f}",
        "orders3": str(math.factorial(3)),
        "mutual": f"{response.max_bits - response.entropy_rate:.3f}",
        "more_beta": f"{response.beta:.3f}",
        "less_beta": f"{steep.beta:.3f}",
        "fewer": f"{response.required_records(0.03):,}",
        "many": f"{steep.required_records(0.03):,}",
        "peak": f"{peak:.4f}",
        "most": f"{100 * families.tridiagonal(peak, size=_SIZE).beta:.3f}",
    }


if __name__ == "__main__":
    print(markdown())
