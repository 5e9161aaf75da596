"""``bs.guarantee``: Definitions 1 to 3 of the paper, for one column, several, or a joint domain.

Given the true values, columns are reported independently. So the matrix of a record is the
Kronecker product of the columns' matrices, its bits and epsilon are their sums, and Definition 2
over the columns is Definition 3 for that product.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, Self

from bistochastic import _core, arguments
from bistochastic.errors import Refused
from bistochastic.formatting import Shown, down, up
from bistochastic.individuals import column_beta
from bistochastic.matrix import Matrix
from bistochastic.measures.bits import above, below, log2_up
from bistochastic.structure import Kron, composition


@dataclass(frozen=True, repr=False)
class Guarantee(Shown):
    """What matrices hide: the result of :func:`guarantee`.

    ``bits`` of ``max_bits`` are hidden, and ``beta`` is their ratio. ``epsilon`` is the worst case
    for a record. ``definition`` is the paper's: 1 for one column, 2 for several, 3 for a joint
    domain. ``over`` is ``"categories"`` or ``"individuals"``. ``individuals`` is the second
    guarantee of matrices over both; it is None for matrices over one of them.

    >>> g = bs.guarantee([bs.uniform(8), bs.identity(2)])
    >>> g.definition, g.bits, g.max_bits, g.beta, g.epsilon
    (2, 3.0, 4.0, 0.75, inf)
    """

    definition: int
    bits: float
    max_bits: float
    beta: float
    epsilon: float
    over: Literal["categories", "individuals"] = "categories"
    individuals: Self | None = None

    def __repr__(self) -> str:
        bits = f"{down(self.bits)} of {self.max_bits:.6g} bits"
        said = f"{self.over}: {bits}, beta {down(self.beta)}, epsilon {up(self.epsilon)}"
        found = f"<Guarantee by Definition {self.definition} over {said}>"
        return found if self.individuals is None else f"{found}\n{self.individuals!r}"


def guarantee(
    matrices: Matrix | Guarantee | Iterable[Matrix | Guarantee],
    *,
    individuals: Matrix | Guarantee | Iterable[Matrix | Guarantee] = (),
    joint: bool = False,
) -> Guarantee:
    """State what one or several matrices hide, by Definitions 1 to 3 of the paper.

    - One matrix ``P`` of size ``r`` is Definition 1: ``H(P)`` of ``log2 r`` bits are hidden.
    - Several matrices, one per column, are Definition 2: bits, largest bits and epsilons are added.
    - A matrix over the joint domain of several columns is Definition 3. A :func:`kron` is one, and
      so is any single matrix with ``joint=True``.

    ``individuals`` are matrices over records, whose permutations exchange the numbers of a column
    (:meth:`Matrix.permute`). They get a guarantee of their own, in ``individuals`` of the result:
    the bits of categories and of records mean different things, so they are never added. One
    permutation serves a whole column, so a mixture hides what its weakest component hides. Epsilon
    is infinite, because the set of numbers is published. Without ``matrices`` the result is about
    the individuals.

    ``bits`` and ``beta`` are rounded down, ``epsilon`` up. A guarantee may stand for its column.
    The padding of a matrix, codes that are never true, is not counted.

    >>> sex, smokes = bs.randomized_response(2, beta=0.6), bs.randomized_response(2, beta=0.8)
    >>> bs.guarantee(sex)
    <Guarantee by Definition 1 over categories: 0.6 of 1 bits, beta 0.6, epsilon 1.76551>
    >>> bs.guarantee([sex, smokes])
    <Guarantee by Definition 2 over categories: 1.4 of 2 bits, beta 0.7, epsilon 2.90179>
    >>> bs.guarantee(bs.kron(sex, smokes))
    <Guarantee by Definition 3 over categories: 1.4 of 2 bits, beta 0.7, epsilon 2.90179>
    >>> bs.guarantee([sex, smokes], individuals=[bs.k_anonymous(16, k=4)])
    <Guarantee by Definition 2 over categories: 1.4 of 2 bits, beta 0.7, epsilon 2.90179>
    <Guarantee by Definition 1 over individuals: 2 of 4 bits, beta 0.5, epsilon inf>
    """
    kinds = Matrix | Guarantee
    columns = [_of_categories(each) for each in matrices_in("matrices", matrices, kinds)]
    records = [_of_records(each) for each in matrices_in("individuals", individuals, kinds)]
    if not columns and not records:
        raise Refused("matrices", "hold a matrix, unless there are `individuals`", "none")
    if _core.as_flag("joint", joint):
        if len(columns) != 1:
            raise Refused("joint", "go with one matrix", len(columns))
        columns = [replace(columns[0], definition=3)]
    if not columns:
        return _add(records)
    return replace(_add(columns), individuals=_add(records) if records else None)


def matrices_in(name: str, given: object, kinds: Any = Matrix) -> list[Any]:
    """List matrices, of which a single one may stand alone."""
    if isinstance(given, kinds):
        return [given]
    must = "be a matrix, or a list of them"
    return arguments.things(name, must, given, kinds, "hold matrices")


def _of_categories(column: Matrix | Guarantee) -> Guarantee:
    if isinstance(column, Guarantee):
        if column.over != "categories" or column.individuals is not None:
            raise Refused("matrices", "be over categories", "a guarantee over individuals")
        return column
    definition = 3 if isinstance(composition(column), Kron) else 1
    most = log2_up(column.size - column.padding)
    return Guarantee(definition, column.entropy_rate, most, column.beta, column.epsilon)


def _of_records(column: Matrix | Guarantee) -> Guarantee:
    if isinstance(column, Guarantee):
        if column.over != "individuals":
            raise Refused("individuals", "be over individuals", "a guarantee over categories")
        return column
    beta, bits = column_beta(column), column.entropy_rate
    if beta != column.beta:
        bits = min(bits, below(Fraction(beta) * Fraction(column.max_bits)))
    return Guarantee(1, bits, log2_up(column.size), beta, math.inf, "individuals")


def _add(columns: Sequence[Guarantee]) -> Guarantee:
    if len(columns) == 1:
        return columns[0]
    bits = sum((Fraction(each.bits) for each in columns), Fraction(0))
    most = sum((Fraction(each.max_bits) for each in columns), Fraction(0))
    betas = [each.beta for each in columns]
    # A weighted mean of numbers that are all rounded down.
    beta = min(max(below(bits / most) if most else 1.0, min(betas)), max(betas))
    epsilons = [each.epsilon for each in columns]
    worst = math.inf if math.inf in epsilons else above(sum(map(Fraction, epsilons), Fraction(0)))
    return Guarantee(2, below(bits), float(most), beta, worst, columns[0].over)
