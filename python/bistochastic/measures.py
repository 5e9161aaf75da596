"""What an attacker can do and an analyst can learn: one function a measure, kron by its rules.

Privacy is rounded against us: what an attacker gains up, what remains hidden down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bistochastic import _core, operators

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from bistochastic._core import Matrix

    Array = NDArray[np.float64]

# Sums of up to some millions of logarithms in doubles stay this close.
SLACK = 1e-12
# Entries up to which a composite is written out for a measure that has no rule.
TABLE = 4096
# Size up to which a product is written out for one column.
_PRODUCT = 512


@dataclass(frozen=True)
class Lines:
    """The single lines of a matrix: what the core's survey says, put together over factors."""

    worst_row: tuple[int, float]
    worst_column: tuple[int, float]
    worst_exact: bool
    row_bits: float | Array | None
    peaks: Fraction
    peaks_exact: bool
    least_diagonal: Fraction
    deniability: list[tuple[int, bool]]
    witness: tuple[int, int, int] | None


def lines(matrix: Matrix, gammas: list[float], *, full: bool = False) -> Lines | None:
    """The survey of the lines; None where there are too many to look at."""
    from fractions import Fraction

    if matrix.family == "kron":
        return _of_factors(matrix, gammas, full=full)
    found = _core.survey(matrix, gammas, full)
    if found is None:
        return None
    found["peaks"] = Fraction(*found["peaks"])
    found["least_diagonal"] = Fraction(*found["least_diagonal"])
    return Lines(**found)


def _of_factors(matrix: Matrix, gammas: list[float], *, full: bool) -> Lines | None:
    """Bits add, peaks and diagonals multiply, joint codes are in C order."""
    factors: list[Matrix] = matrix.parameters["matrices"]
    # Truths within gamma_k of each other in every factor are within the product of the gammas.
    share = 1 / len(factors)
    split = [gamma if gamma in (1, math.inf) else max(1.0, gamma**share * (1 - 1e-12))
             for gamma in gammas]  # fmt: skip
    found = [lines(factor, split, full=full) for factor in factors]
    if any(part is None for part in found):
        return None
    each = [part for part in found if part is not None]
    sizes = [factor.size for factor in factors]

    def joint(codes: list[int]) -> int:
        code = 0
        for digit, size in zip(codes, sizes, strict=True):
            code = code * size + digit
        return code

    def worst(pairs: list[tuple[int, float]]) -> tuple[int, float]:
        return joint([u for u, _ in pairs]), math.fsum(bits for _, bits in pairs) * (1 - 1e-15)

    return Lines(
        worst_row=worst([part.worst_row for part in each]),
        worst_column=worst([part.worst_column for part in each]),
        worst_exact=all(part.worst_exact for part in each),
        row_bits=_joint_bits(matrix.size, sizes, [part.row_bits for part in each]),
        peaks=math.prod((part.peaks for part in each), start=each[0].peaks * 0 + 1),
        peaks_exact=all(part.peaks_exact for part in each),
        least_diagonal=math.prod(
            (part.least_diagonal for part in each), start=each[0].least_diagonal * 0 + 1
        ),
        deniability=_joint_deniability(matrix, gammas, each, full=full),
        witness=_joint_witness(factors, each, joint),
    )


def _joint_bits(
    size: int, sizes: list[int], bits: list[float | Array | None]
) -> float | Array | None:
    if any(part is None for part in bits):
        return None
    if all(isinstance(part, float) for part in bits):
        return math.fsum(part for part in bits if isinstance(part, float))
    if size > 1 << 24:
        return None
    total = np.zeros(1)
    for part, n in zip(bits, sizes, strict=True):
        row = np.broadcast_to(np.asarray(part, dtype=np.float64), n)
        total = np.add.outer(total, row).reshape(-1)
    return total


def _joint_deniability(
    matrix: Matrix, gammas: list[float], each: list[Lines], *, full: bool
) -> list[tuple[int, bool]]:
    if matrix.size <= TABLE:
        found = _core.survey(matrix, gammas, full)
        if found is not None:
            return list(found["deniability"])
    joint = []
    for i, gamma in enumerate(gammas):
        k = math.prod(part.deniability[i][0] for part in each)
        known = all(part.deniability[i][1] for part in each)
        # Supports multiply; and no more than all can be alike.
        joint.append((k, known and (gamma == math.inf or k == matrix.size)))
    return joint


def _joint_witness(
    factors: list[Matrix], each: list[Lines], joint: Any
) -> tuple[int, int, int] | None:
    """Where a factor excludes a truth, the others stay put; else the widest of all together."""
    barred = [i for i, factor in enumerate(factors) if math.isinf(factor.epsilon)]
    codes: list[tuple[int, int, int]] = []
    for i, (factor, part) in enumerate(zip(factors, each, strict=True)):
        if i == barred[0] if barred else factor.epsilon > 0:
            if part.witness is None:
                return None
            codes.append(part.witness)
        else:
            codes.append((0, 0, int(factor.row(0).argmax())))
    u, w, v = (joint(list(digits)) for digits in zip(*codes, strict=True))
    return u, w, v


def deniability(matrix: Matrix, gamma: Any) -> int:
    """(k, gamma)-deniability; see :meth:`bistochastic.Matrix.deniability`."""
    must = "`gamma` must be a number of at least 1"
    if isinstance(gamma, str | bytes | bool):
        raise TypeError(f"{must}; got {type(gamma).__name__}")
    try:
        factor = float(gamma)
    except (TypeError, ValueError):
        raise TypeError(f"{must}; got {type(gamma).__name__}") from None
    except OverflowError:
        factor = math.inf if gamma > 0 else -math.inf
    if not factor >= 1:
        raise ValueError(f"{must}; got {factor:g}")
    found = lines(matrix, [factor])
    if found is None:
        # Its own truth is always among them; all are at e^epsilon.
        return matrix.size if math.log(factor) * (1 - 1e-15) > matrix.epsilon else 1
    return found.deniability[0][0]


def distribution(name: str, size: int, given: Any) -> Array:
    """A probability vector of ``size`` numbers, its sum brought to 1."""
    must = f"`{name}` must hold {size} non-negative numbers that sum to 1"
    try:
        array = np.asarray(given)
        if array.dtype.kind not in "fiuO":
            raise TypeError
        numbers = np.array(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{must}; got others") from None
    if numbers.shape != (size,):
        raise ValueError(f"{must}; got shape {numbers.shape}")
    wrong = ~(numbers >= 0) | ~np.isfinite(numbers)
    if wrong.any():
        raise ValueError(f"{must}; got another number at position {int(wrong.argmax())}")
    total = math.fsum(numbers)
    if not abs(total - 1) <= 1e-9:
        raise ValueError(f"{must}; got a sum of {total:.10g}")
    return numbers / total


def column(matrix: Matrix, v: int) -> Array:
    """Column ``v`` as doubles, by the structure of the matrix."""
    match matrix.family:
        case "kron":
            factors = matrix.parameters["matrices"]
            joint = np.ones(1)
            place = matrix.size
            for factor in factors:
                place //= factor.size
                joint = np.multiply.outer(joint, column(factor, v // place % factor.size))
            return joint.reshape(-1)
        case "mix":
            total = np.zeros(matrix.size)
            for weight, part in operators.parts(matrix):
                total += weight * column(part, v)
            return total
        case "product":
            if matrix.size <= _PRODUCT:
                return np.ascontiguousarray(matrix.to_dense()[:, v])
            first, second = matrix.parameters["matrices"]
            row = np.ascontiguousarray(column(second, v)[None, :])
            # A transform leaves a little rounding where there is nothing.
            return np.asarray(np.maximum(operators.forth(first, row, back=True)[0], 0.0))
    return _core.column(matrix, v)


def _code(name: str, matrix: Matrix, given: Any) -> int:
    must = f"`{name}` must be from 0 to {matrix.size - 1}"
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"{must}; got {type(given).__name__}")
    code = given.__index__()
    if not 0 <= code < matrix.size:
        raise IndexError(f"{must}; got {code}")
    return int(code)


def posterior(matrix: Matrix, v: Any, prior: Any = None) -> Array:
    """``Pr(u | v)``; see :meth:`bistochastic.Matrix.posterior`."""
    code = _code("v", matrix, v)
    if prior is None:
        return column(matrix, code)
    joint = distribution("prior", matrix.size, prior) * column(matrix, code)
    total = math.fsum(joint)
    if not total > 0:
        raise ValueError(
            f"`v` must be a report that the prior allows; got {code}, which it does not"
        )
    return joint / total


def log2_up(x: Any) -> float:
    """log2 of a positive integer or fraction: exact for powers of two, else not below it.

    >>> log2_up(8), log2_up(3) > 1.584962500721156
    (3.0, True)
    """
    n, d = x.numerator, x.denominator
    if d == 1 and n.bit_count() == 1:
        return float(n.bit_length() - 1)
    if n == 1 and d.bit_count() == 1:
        return -float(d.bit_length() - 1)
    # The quotient and the logarithm are each off by a unit or two in the last place.
    near = math.log2(n / d)
    return near + 4e-16 * max(1.0, abs(near))


def entropy(p: Array) -> float:
    """Bits of a probability vector."""
    positive = p[p > 0]
    return float(-(positive * np.log2(positive)).sum())


def guaranteed_max_leakage(beta: float, size: int) -> float:
    """The largest maximal leakage in bits that any matrix of this beta can have.

    Fano: among matrices with an entropy rate of ``beta log2 r`` randomized response gives the best
    guess at a uniform truth, ``p``, and maximal leakage is ``log2(r p)``. So for every prior and
    every function of the truth, a report multiplies the chance to guess it by at most ``r p``.

    >>> round(guaranteed_max_leakage(0.6029721880220981, 12), 6)
    2.954876
    >>> guaranteed_max_leakage(1.0, 12), guaranteed_max_leakage(0.0, 8)
    (0.0, 3.0)
    """
    if not 0 <= beta <= 1:
        raise ValueError(f"`beta` must be from 0 to 1; got {beta:g}")
    if size < 1:
        raise ValueError(f"`size` must be at least 1; got {size}")
    if size == 1 or beta == 1:
        return 0.0
    if beta == 0:
        return log2_up(size)
    if beta > 0.999:
        return min(log2_up(size), _near_secrecy(beta, size))
    # Entropy in nats of diag : off = e^x : 1 falls with x; the smaller bits have the larger p.
    low, high = 0.0, 800.0
    for _ in range(200):
        x = (low + high) / 2
        lies = (size - 1) * math.exp(-x)
        nats = x * lies / (1 + lies) + math.log1p(lies)
        if nats >= beta * math.log(size):
            low = x
        else:
            high = x
    p = 1 / (1 + (size - 1) * math.exp(-high))
    return min(log2_up(size), max(0.0, math.log2(size * p)) + SLACK)


def _near_secrecy(beta: float, size: int) -> float:
    """The same near perfect secrecy, where doubles lose it: ``p = (1 + y) / r``, in 60 digits.

    What is missing of ``ln r`` is ``p ln(1 + y) + (1 - p) ln(1 - y/(r - 1))``, which rises with y.
    """
    from decimal import Decimal, localcontext

    with localcontext(prec=60):
        r = Decimal(size)
        missing = (1 - Decimal(beta)) * r.ln()
        low, high = Decimal(0), r - 1
        for _ in range(140):
            y = (low + high) / 2
            p = (1 + y) / r
            lost = p * (1 + y).ln() + ((1 - p) * (1 - y / (r - 1)).ln() if p < 1 else 0)
            low, high = (y, high) if lost < missing else (low, y)
        bits = (1 + high).ln() / Decimal(2).ln()
    return math.nextafter(float(bits), math.inf)


@dataclass(frozen=True)
class Capacity:
    """Bits, not below the channel capacity; ``gap`` is how far they may be above it."""

    bits: float
    gap: float
    how: str


def capacity(matrix: Matrix, found: Lines | None, *, full: bool = False) -> Capacity:
    """Channel capacity: the mutual information under the prior that an attacker likes best."""
    r = matrix.size
    at_uniform = mutual_information(matrix, average(matrix, full=full))
    match matrix.family:
        case "kron":
            each = [
                capacity(factor, lines(factor, [], full=full), full=full)
                for factor in matrix.parameters["matrices"]
            ]
            bits = math.fsum(part.bits for part in each)
            how = "; ".join(sorted({part.how for part in each if part.how}))
            return Capacity(bits, math.fsum(part.gap for part in each), how)
        case "blocks" | "k_anonymous" | "uniform" | "identity":
            classes = _core.spectrum(matrix)
            return Capacity(log2_up(classes[1]) if classes else at_uniform, 0.0, "")
        case "permutation":
            return Capacity(log2_up(r), 0.0, "")
        case "t_transform" if r > 2:
            keep = float(matrix.parameters["keep"])
            coin = entropy(np.array([keep, 1 - keep]))
            bits = math.log2(r - 2 + 2 ** (1 - coin)) + SLACK
            return Capacity(min(log2_up(r), bits), 0.0, "")
    if _core.basis(matrix) in ("flat", "cyclic"):
        # Rows are permutations of each other and so are columns: the uniform prior is the best.
        certain = average(matrix, full=full).exact
        return Capacity(at_uniform, 0.0 if certain else math.inf, "")
    if found is None:
        return _by_parts(matrix, full=full)
    if found.row_bits is None:
        # No prior beats the divergence of the worst row from the uniform report.
        bits = max(0.0, log2_up(r) - found.worst_row[1])
        known = average(matrix, full=full).exact
        return Capacity(bits, bits - at_uniform if known else math.inf, "from the worst row")
    return _blahut_arimoto(matrix, found, full=full)


def _by_parts(matrix: Matrix, *, full: bool) -> Capacity:
    """Processing loses information, and capacity is convex in the matrix."""
    if matrix.family == "product":
        pair = matrix.parameters["matrices"]
        each = [capacity(part, lines(part, [], full=full), full=full).bits for part in pair]
        return Capacity(min(each), math.inf, "from the factors")
    if matrix.family == "mix":
        bits = math.fsum(
            weight * capacity(part, lines(part, [], full=full), full=full).bits
            for weight, part in operators.parts(matrix)
        )
        return Capacity(bits, math.inf, "from the parts")
    return Capacity(log2_up(matrix.size), math.inf, "from the size")


def _blahut_arimoto(matrix: Matrix, found: Lines, *, full: bool) -> Capacity:
    """Both bounds at every step: ``I <= C <= max_u D(p_u || q)``, q the reports under the prior.

    ``D(p_u || q) = -H_u - (P log2 q)_u``, so a step is two passes through the matrix. Steps longer
    than the classic one are tried as long as the mutual information grows.
    """
    r = matrix.size
    bits = np.broadcast_to(np.asarray(found.row_bits), r)
    structured = r > 512 and _core.structure_is_singular(matrix) is not None
    dense = matrix.to_dense() if not structured and (full or r <= TABLE) else None

    def through(x: Array, *, back: bool) -> Array:
        if dense is not None:
            return dense @ x if back else x @ dense
        row = np.ascontiguousarray(x[None, :])
        return np.asarray(operators.forth(matrix, row, back=back)[0])

    # Nanoseconds that a step takes, roughly; a second or two in all.
    each = 2.0 * r * r if dense is not None else 150.0 * r
    budget = (2e9 if dense is not None or r <= 1 << 16 else 3e8) * (20 if full else 1)
    steps = int(min(3000, max(1, budget / (each + 2e4))))
    prior = np.full(r, 1 / r)
    best = (prior, prior)
    low, high, speed = 0.0, math.inf, 1.0
    taken = 0
    while taken < steps:
        taken += 1
        reports = np.maximum(through(prior, back=False), 1e-300)
        divergence = -bits - through(np.log2(reports), back=True)
        top = float(divergence.max())
        mutual = float((prior * divergence).sum())
        high = min(high, top)
        if mutual < low - 1e-13 and speed > 1:
            # Too long a step: back to the best prior, and from there the classic one.
            prior, speed = _step(*best, 1.0), 1.0
            continue
        if mutual >= low:
            low, best = mutual, (prior, divergence)
        if high - low < 1e-9:
            break
        prior = _step(prior, divergence, speed)
        speed = min(speed * 1.5, 64.0)
    gap = max(0.0, high - low)
    how = f"within {gap:.1e} bits after {taken} steps" if gap > 1e-9 else ""
    return Capacity(min(high + SLACK, log2_up(r)), gap, how)


def _step(prior: Array, divergence: Array, speed: float) -> Array:
    moved = np.maximum(prior * np.exp2(speed * (divergence - divergence.max())), 1e-290)
    return np.asarray(moved / moved.sum())


@dataclass(frozen=True)
class Average:
    """Bits and beta, not above the true ones, and whether they are these."""

    bits: float
    beta: float
    exact: bool


def average(matrix: Matrix, *, full: bool) -> Average:
    """The entropy rate; a bound where it takes longer than a profile may."""
    quick = None if full else _core.quick_rate(matrix)
    if quick is not None:
        return Average(*quick, exact=False)
    return Average(matrix.entropy_rate, matrix.beta, matrix.certified == "exact")


def mutual_information(matrix: Matrix, mean: Average) -> float:
    """Bits that a report tells of a uniform truth: ``log2 r - entropy_rate``, not below it."""
    if mean.beta == 1:
        return 0.0
    rate = mean.bits
    most = log2_up(matrix.size)
    return most if rate == 0 else math.nextafter(most - rate, math.inf)


def cost_table(size: int, given: Any) -> Array | Literal["ordinal"]:
    """A table of costs, or the word for ``|u - v|``."""
    must = f'`cost` must be "ordinal" or {size} x {size} non-negative numbers'
    if isinstance(given, str):
        if given != "ordinal":
            raise ValueError(f"{must}; got {given!r}")
        return "ordinal"
    try:
        if np.asarray(given).dtype.kind not in "fiuO":
            raise TypeError
        table = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{must}; got others") from None
    if table.shape != (size, size):
        raise ValueError(f"{must}; got shape {table.shape}")
    wrong = ~(table >= 0)
    if wrong.any():
        u, v = divmod(int(wrong.argmax()), size)
        raise ValueError(f"{must}; got another at ({u}, {v})")
    return np.ascontiguousarray(table)


def metric_epsilon(dense: Array, cost: Array | Literal["ordinal"]) -> float:
    """The least e with ``p_uv <= exp(e cost(u, w)) p_wv`` for all u, w and v, not below it.

    On an ordinal scale neighbours decide, since distances along it add up.
    """
    if not isinstance(cost, str):
        return _core.metric_epsilon(dense, cost) * (1 + SLACK)
    with np.errstate(divide="ignore", invalid="ignore"):
        # The difference of near numbers is exact; two zeros are equal, which nan says here.
        gaps = np.abs(np.diff(dense, axis=0)) / np.minimum(dense[1:], dense[:-1])
    widest = float(np.fmax.reduce(gaps, axis=None, initial=0.0))
    # Off the grid a double is within a part in 2^53 of its probability.
    return math.log1p(widest) * (1 + SLACK) + 4.5e-16 if widest > 0 else 0.0


def expected_cost(dense: Array, cost: Array | Literal["ordinal"], prior: Array | None) -> float:
    """The mean cost of a report under the prior, uniform where there is none."""
    r = len(dense)
    if isinstance(cost, str):
        scale = np.arange(r)
        cost = np.abs(np.subtract.outer(scale, scale)).astype(np.float64)
    weights = np.full(r, 1 / r) if prior is None else prior
    # What never happens, truth or report, costs nothing, even an infinite cost.
    happens = (dense > 0) & (weights > 0)[:, None]
    each = np.where(happens, dense, 0) * np.where(happens, cost, 0)
    return float((each.sum(axis=1) * weights).sum())


def ordinal_epsilon(matrix: Matrix) -> tuple[float, bool] | None:
    """The metric epsilon under ``|u - v|`` of a structured matrix, and whether it is exact."""
    if matrix.certified != "exact" and matrix.family not in ("reflected", "geometric"):
        return None
    match matrix.family:
        case "uniform":
            return 0.0, True
        case "randomized_response":
            return matrix.epsilon, True
        case "reflected" | "geometric":
            # An entry is a sum of two of the kernel, and a step moves both by one place.
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.log(_core.arrays(matrix)["kernel"].astype(float))
                gaps = np.abs(np.diff(logs))
            return float(np.fmax.reduce(gaps, initial=0.0)) * (1 + SLACK), False
    # Somewhere on the scale a report starts or ceases to be possible.
    return (math.inf, True) if math.isinf(matrix.epsilon) else None


def ordinal_cost(matrix: Matrix) -> float | None:
    """The mean of ``|u - v|`` of a structured matrix under a uniform truth."""
    r = matrix.size
    match matrix.family:
        case "identity":
            return 0.0
        case "uniform" | "randomized_response":
            return matrix[0, 1] * (r * r - 1) / 3 if r > 1 else 0.0
        case "blocks":
            sizes = class_sizes(matrix).astype(float)
            return float(((sizes**2 - 1) / 3).sum() / r)
        case "k_anonymous":
            # Classes of two sizes, one apart.
            classes = round(r * matrix.truthfulness)
            n, larger = divmod(r, classes)
            each = (classes - larger) * (n * n - 1) + larger * ((n + 1) ** 2 - 1)
            return each / 3 / r
        case "tridiagonal":
            return 1.0 - matrix.truthfulness
        case "t_transform":
            given = matrix.parameters
            return float(2 * abs(given["i"] - given["j"]) * (1 - given["keep"]) / r)
        case "permutation":
            targets = _core.arrays(matrix)["targets"]
            return float(np.abs(targets - np.arange(r)).mean())
        case "circulant":
            # A shift by j moves r - j codes up by j, and j codes down by r - j.
            j = np.arange(r)
            given = _core.arrays(matrix)
            row = given["first_row"] / given["total"]
            return float((row * (2.0 * j * (r - j) / r)).sum())
        case "reflected" | "geometric":
            # A step of j moves r - j codes by j; the j folded ones move by |2s + 1 - j|, s < j,
            # whose sum is floor(j^2 / 2).
            j = np.arange(r + 1).astype(float)
            moved = ((r - j) * j + np.floor(j * j / 2)) / r
            given = _core.arrays(matrix)
            kernel = given["kernel"] / given["total"]
            return float(2 * (kernel[1:-1] * moved[1:-1]).sum() + kernel[-1] * moved[-1])
    return None


def remaining_uncertainty(matrix: Matrix, bits: float | Array, prior: Array) -> float:
    """``H(X | Y) = H(prior) + sum of prior_u H_u - H(reports)``, not above it."""
    reports = operators.forth(matrix, np.ascontiguousarray(prior[None, :]))[0]
    inside = float((prior * bits).sum())
    if matrix.beta == 1:
        # A report says nothing.
        return entropy(prior) * (1 - 1e-15)
    return max(0.0, entropy(prior) + inside - entropy(np.maximum(reports, 0)) - SLACK)


def best_guess(matrix: Matrix, prior: Array, peaks: Fraction | None) -> tuple[float, bool]:
    """``sum over v of max_u prior_u p_uv``, not below it, and whether it is that or above."""
    r = matrix.size
    top = float(prior.max())
    match matrix.family:
        case "identity" | "permutation":
            return 1.0, True
        case "uniform":
            return _up(top), True
        case "blocks" | "k_anonymous":
            sizes = class_sizes(matrix)
            starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
            return _up(math.fsum(np.maximum.reduceat(prior, starts))), True
        case "randomized_response" if r > 1:
            diag, off = matrix[0, 0], matrix[0, 1]
            second = float(np.partition(prior, -2)[-2])
            # The likeliest other truth is the top one, except for the top one itself.
            others = np.where(prior == top, top if (prior == top).sum() > 1 else second, top)
            return _up(math.fsum(np.maximum(diag * prior, off * others))), True
    if r <= TABLE:
        return _up(math.fsum((prior[:, None] * matrix.to_dense()).max(axis=0))), True
    if matrix.family == "tridiagonal":
        joint = _tridiagonal_joint(matrix, prior)
        return _up(math.fsum(np.maximum.reduce(joint))), True
    if peaks is None:
        return 1.0, False
    # A report multiplies the chance of a guess by at most the sum of the peaks.
    return min(1.0, _up(top * float(peaks))), False


def class_sizes(matrix: Matrix) -> NDArray[np.int64]:
    """How many codes each class of blocks has."""
    if matrix.family == "uniform":
        return np.array([matrix.size])
    if matrix.family == "blocks":
        return np.asarray(_core.arrays(matrix)["sizes"])
    spectrum = _core.spectrum(matrix)
    classes = spectrum[1] if spectrum else 1
    sizes = np.full(classes, matrix.size // classes, dtype=np.int64)
    sizes[: matrix.size % classes] += 1
    return sizes


def _tridiagonal_joint(matrix: Matrix, prior: Array) -> list[Array]:
    """``prior_u p_uv`` for u = v - 1, v, v + 1."""
    given = _core.arrays(matrix)
    alphas = np.broadcast_to(np.asarray(given["alphas"], dtype=float), matrix.size - 1)
    step = np.concatenate([[0.0], alphas, [0.0]]) / given["total"]
    left, right = np.roll(prior, 1) * step[:-1], np.roll(prior, -1) * step[1:]
    return [left, prior * (1 - step[:-1] - step[1:]), right]


def _up(x: float) -> float:
    """A probability whose products were each rounded once, not below the true one."""
    return min(1.0, x + 2 * math.ulp(x))
