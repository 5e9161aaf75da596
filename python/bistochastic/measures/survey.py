"""Single rows and columns of a matrix: the worst, the peaks, deniability, require."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from bistochastic import _core, arguments
from bistochastic.arguments import Array
from bistochastic.errors import GuaranteeError, Refused
from bistochastic.formatting import exact
from bistochastic.matrix import Matrix
from bistochastic.measures.bits import below, log2_up
from bistochastic.structure import Kron, composition, wide_factors

# Entries up to which a composite is written out for a measure without a closed form.
TABLE = 4096


@dataclass(frozen=True)
class Lines:
    """The single lines of a matrix: what the core's survey says, put together over factors.

    >>> bs.measures.lines(bs.blocks([1, 2]), [1.0]).worst_row
    (0, 0.0)
    """

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
    """Survey the rows and columns; None if they are too many to look at.

    The result has the code and the bits of the worst row and column, the sum of the largest entries
    of all columns (``peaks``), the least diagonal entry, and the deniability at each of ``gammas``.
    With ``full`` it looks at any number of them.

    >>> found = bs.measures.lines(bs.k_anonymous(6, k=3), [1.0])
    >>> found.peaks, found.least_diagonal, found.deniability
    (Fraction(2, 1), Fraction(1, 3), [(3, True)])
    """
    kron = composition(matrix)
    if isinstance(kron, Kron):
        return _of_factors(matrix, wide_factors(kron), gammas, full=full)
    found = _core.survey(matrix, gammas, full)
    if found is None:
        return None
    found["peaks"] = Fraction(*found["peaks"])
    found["least_diagonal"] = Fraction(*found["least_diagonal"])
    return Lines(**found)


def _of_factors(
    matrix: Matrix, factors: list[Matrix], gammas: list[float], *, full: bool
) -> Lines | None:
    """Bits add, peaks and diagonals multiply, joint codes are in C order."""
    # Truths within gamma_k of each other in every factor are within the product of the gammas.
    share = 1 / len(factors)
    split = [gamma if gamma in (1, math.inf) else max(1.0, gamma**share * (1 - 1e-12))
             for gamma in gammas]  # fmt: skip
    found = (lines(factor, split, full=full) for factor in factors)
    each = [part for part in found if part is not None]
    if len(each) < len(factors):
        return None
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
        peaks=math.prod((part.peaks for part in each), start=Fraction(1)),
        peaks_exact=all(part.peaks_exact for part in each),
        least_diagonal=math.prod((part.least_diagonal for part in each), start=Fraction(1)),
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
        total = np.add.outer(total, np.broadcast_to(np.asarray(part, np.float64), n)).ravel()
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
    factors: list[Matrix], each: list[Lines], joint: Callable[[list[int]], int]
) -> tuple[int, int, int] | None:
    """Find a joint witness: one factor if it excludes a category, else the widest of all."""
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


def deniability(matrix: Matrix, gamma: object) -> int:
    """(k, gamma)-deniability; see :meth:`bistochastic.Matrix.deniability`."""
    factor = arguments.real("gamma", "be a number of at least 1", gamma, lambda x: x >= 1)
    found = lines(matrix, [factor])
    if found is None:
        # The true category is always among them; at e^epsilon all are.
        everything = math.log(factor) * (1 - 1e-15) > matrix.epsilon
        return matrix.size - matrix.padding if everything else 1
    return found.deniability[0][0]


def line_betas(matrix: Matrix, found: Lines) -> tuple[float, float]:
    """Bound the betas of the worst row and column, which :func:`lines` ``found``, from below.

    >>> m = bs.blocks([1, 2])
    >>> bs.measures.line_betas(m, bs.measures.lines(m, []))
    (0.0, 0.0)
    """

    def share(held: float) -> float:
        # The worst line is perfect just when all are.
        if matrix.beta == 1 or held == matrix.entropy_rate:
            return matrix.beta
        most = log2_up(matrix.size - matrix.padding)
        return min(below(Fraction(held) / Fraction(most)), math.nextafter(1.0, 0.0))

    return share(found.worst_row[1]), share(found.worst_column[1])


def require(matrix: Matrix, **asked: float | None) -> None:
    """See :meth:`bistochastic.Matrix.require`."""
    given = {name: limit for name, limit in asked.items() if limit is not None}
    if not given:
        raise Refused("require", f"be given at least one of {', '.join(asked)}", "none")
    wanted = {name: _core.as_real(name, "be a number", limit) for name, limit in given.items()}
    for name, limit in wanted.items():
        most, must = (math.inf, "at least 0") if name == "epsilon" else (1.0, "from 0 to 1")
        if not 0 <= limit <= most:
            raise Refused(name, f"be {must}", exact(limit))
    found = lines(matrix, [], full=True) if {"row_beta", "column_beta"} & set(wanted) else None
    for name, limit in wanted.items():
        if name in ("beta", "epsilon"):
            own = float(getattr(matrix, name))
        elif found is None:
            must = f"`{name}` must be at least {exact(limit)}"
            raise GuaranteeError(f"{must}; got a matrix too large to look at")
        else:
            own = line_betas(matrix, found)[name == "column_beta"]
        if own > limit if name == "epsilon" else own < limit:
            must = f"be at {'most' if name == 'epsilon' else 'least'} {exact(limit)}"
            raise GuaranteeError(name, must, exact(own))
