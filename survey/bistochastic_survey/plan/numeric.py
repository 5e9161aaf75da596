"""``Numeric``: a column of numbers, permuted among the records or averaged in classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

import bistochastic as bs
from bistochastic import Matrix, structure
from bistochastic.backend import Family
from bistochastic.errors import Refused, RefusedType
from bistochastic_survey import checks
from bistochastic_survey.plan.attributes import (
    FAMILIES,
    Categorical,
    Joint,
    make,
    named,
    refuse_at_once,
    refuse_padding,
)
from bistochastic_survey.plan.binned import clipped
from bistochastic_survey.release.columns import WholeColumn
from bistochastic_survey.wording import about, shown

Given = Mapping[str, object]


@dataclass(frozen=True, init=False, repr=False)
class Numeric(WholeColumn):
    """A column of numbers, permuted among the records or averaged in classes.

    The matrix has one row per record, so it is made when their number is known: by
    :meth:`Plan.for_records`, or with the data. With ``order="rank"`` neighbours are records of
    neighbouring values, so a family of small steps exchanges similar values.

    ``within="region"`` permutes inside the groups of an unprotected column: the mean of each group
    is published, and stays exact. ``missing="keep"`` publishes missing numbers as missing. In both
    cases a group with fewer than ``min_group`` numbers raises an error, and the stated bits are the
    least for a group of this size or larger. Request ``k``, ``keep`` or ``epsilon`` then, not
    ``beta``. ``top`` and ``bottom`` replace larger and smaller numbers first.

    ``how="permute"`` moves values between records: the set of values is published unchanged, so
    epsilon is infinite. ``how="average"`` gives class means; it is not random, so it hides no bits.

    >>> import bistochastic_survey as sv
    >>> income = sv.Numeric("income", "k_anonymous", k=5)
    >>> income
    <Numeric `income`, permute by rank: k_anonymous, k=5>
    >>> income.for_records(1000).matrix
    <Matrix k_anonymous 1000 x 1000: beta ...>
    """

    def __init__(
        self,
        column: str,
        family: Family | None = None,
        *,
        matrix: Matrix | None = None,
        order: Literal["rank"] | None = "rank",
        how: Literal["permute", "average"] = "permute",
        within: str | None = None,
        min_group: int = 10,
        missing: Literal["raise", "keep"] = "raise",
        bottom: float | None = None,
        top: float | None = None,
        **parameters: Any,
    ) -> None:
        name = named("column", column)
        with about([name]):
            if (family is None) == (matrix is None):
                got = "none" if family is None else "both"
                raise Refused("matrix", "be given by one of family and matrix", got)
            if matrix is not None:
                if not isinstance(matrix, Matrix):
                    raise RefusedType("matrix", "be a matrix", type(matrix).__name__)
                refuse_padding("numbers", [matrix])
                if parameters:
                    other = next(iter(parameters))
                    raise RefusedType(shown(other), "come with a family", "none")
            elif not isinstance(family, str) or family not in FAMILIES:
                make(family, 1, {})  # type: ignore[arg-type] # says what is known
            else:
                refuse_at_once(family, parameters)
            if order is not None:
                checks.one_of("order", order, ("rank",))
            checks.one_of("how", how, ("permute", "average"))
            checks.one_of("missing", missing, ("raise", "keep"))
            by = None if within is None else named("within", within)
            least = checks.whole("min_group", min_group, 2)
            low, high = clipped(bottom, top)
            if by == name:
                raise Refused("within", "be an unprotected column", "the column itself")
            if by is not None or missing == "keep":
                _check_grouped(family, parameters, least)
        given = tuple((key, _frozen(value)) for key, value in sorted(parameters.items()))
        super().__init__(name, family, given, matrix, order, how, by, least, missing, low, high)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column, as a tuple of one name."""
        return (self.column,)

    @property
    def kind(self) -> str:
        """The name of the class in a plan's file."""
        return "numeric"

    def for_records(self, n: int) -> Numeric:
        """Return the same attribute with its matrix over ``n`` records."""
        with about([self.column]):
            if self.matrix is not None and self.matrix.size == n:
                return self
            if self.family is None and self.matrix is not None:
                raise Refused("matrix", f"have a row for each of {n} records", self.matrix.size)
            return bound_to(self, self._matrix_for(n))

    def _matrix_for(self, n: int) -> Matrix:
        """Build the matrix over ``n`` records."""
        given = {key: list(value) if isinstance(value, tuple) else value
                 for key, value in self.given}  # fmt: skip
        matrix = make(self.family or "", n, given)
        refuse_padding("numbers", [matrix])
        return matrix

    @property
    def _example(self) -> Matrix:
        """A matrix of the family, over its own records or a few."""
        return self.matrix or self._matrix_for(max(self.min_group, 100))

    @property
    def least_bits(self) -> float:
        """The bits of the smallest group, or of any larger one: see :func:`_check_grouped`."""
        k = dict(self.given).get("k")
        if k is not None:
            return bs.uniform(int(k)).entropy_rate
        return self._matrix_for(self.min_group).entropy_rate

    @property
    def _drawn(self) -> str:
        """The family and its parameters."""
        law = self.family or ("" if self.matrix is None else self.matrix.family)
        return ", ".join([law, *(f"{key}={value}" for key, value in self.given)])

    def __repr__(self) -> str:
        order = "" if self.order is None else f" by {self.order}"
        order += "" if self.within is None else f" within `{shown(self.within)}`"
        many = "" if self.matrix is None else f" of {self.matrix.size} records"
        return f"<Numeric `{shown(self.column)}`, {self.how}{order}: {self._drawn}{many}>"


def _check_grouped(family: str | None, parameters: Given, least: int) -> None:
    """Raise an error for a family whose least bits over all sizes of groups are not known.

    Classes of at least k records hide log2 k bits or more in a group of any size. For randomized
    response the bits grow with the size n of the group: they are ``h(p) + (1 - p) log2(n - 1)`` for
    a fixed truthful probability p, and ``log2(e + n - 1) - p epsilon log2(exp 1)`` for a fixed
    epsilon, with e its exponential and p = e / (e + n - 1), which falls. So the smallest group has
    the least.
    """
    for name in ("beta", "share"):
        if parameters.get(name) is not None:
            must = "not be given if the sizes of groups come from the data"
            cure = "use k, keep or epsilon"
            raise RefusedType(name, f'{must}, as with within and missing="keep"', f"it: {cure}")
    if family is None:
        raise RefusedType("matrix", "be given by a family for groups of any size", "a matrix")
    k = parameters.get("k")
    if k is not None and not least >= checks.whole("k", k, 1):
        raise Refused("min_group", "be at least k", least)
    if k is None and structure.two_valued(make(family, least, parameters)) is None:
        must = "have k, or be randomized_response or uniform, for groups of any size"
        raise Refused("family", must, shown(family))


def bound_to(attribute: Numeric, matrix: Matrix) -> Numeric:
    """Return the same attribute with this matrix over the records."""
    bound = object.__new__(Numeric)
    held = {each.name: getattr(attribute, each.name) for each in fields(WholeColumn)}
    WholeColumn.__init__(bound, **{**held, "matrix": matrix})
    return bound


def _frozen(value: object) -> object:
    listed = value.tolist() if hasattr(value, "tolist") else value
    return tuple(listed) if isinstance(listed, list | tuple) else listed


Attribute = Categorical | Joint | Numeric
"""What a plan does to one column, or to several."""
