"""Whether a matrix keeps what is required of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bistochastic import _core
from bistochastic.errors import GuaranteeError
from bistochastic.measures.bits import log2_up
from bistochastic.measures.survey import lines

if TYPE_CHECKING:
    from bistochastic.matrix import Matrix
    from bistochastic.measures.survey import Lines


def line_betas(matrix: Matrix, found: Lines, bits: float, beta: float) -> tuple[float, float]:
    """The betas of the worst row and column, not above the true ones; ``bits`` are of all rows."""
    from fractions import Fraction

    def share(held: float) -> float:
        # The worst line is perfect just when all are.
        if beta == 1 or held == bits:
            return beta
        most = log2_up(matrix.size - matrix.padding)
        near = min(held / most, math.nextafter(1.0, 0.0))
        fits = Fraction(near) * Fraction(most) <= Fraction(held)
        return near if fits else math.nextafter(near, 0)

    return share(found.worst_row[1]), share(found.worst_column[1])


def require(matrix: Matrix, **asked: float | None) -> None:
    """See :meth:`bistochastic.Matrix.require`."""
    wanted = {
        name: _core.as_real(name, "be a number", limit)
        for name, limit in asked.items()
        if limit is not None
    }
    if not wanted:
        names = ", ".join(asked)
        raise ValueError(f"`require` must be given at least one of {names}; got none")
    for name, limit in wanted.items():
        if name == "epsilon" and not limit >= 0:
            raise ValueError(f"`epsilon` must be at least 0; got {_exact(limit)}")
        if name != "epsilon" and not 0 <= limit <= 1:
            raise ValueError(f"`{name}` must be from 0 to 1; got {_exact(limit)}")
    found = lines(matrix, [], full=True) if {"row_beta", "column_beta"} & set(wanted) else None
    for name, limit in wanted.items():
        if name in ("beta", "epsilon"):
            own = float(getattr(matrix, name))
        elif found is None:
            most = f"`{name}` must be at least {_exact(limit)}"
            raise GuaranteeError(f"{most}; got a matrix too large to look at")
        else:
            both = line_betas(matrix, found, matrix.entropy_rate, matrix.beta)
            own = both[name == "column_beta"]
        if name == "epsilon" and own > limit:
            raise GuaranteeError(f"`epsilon` must be at most {_exact(limit)}; got {_exact(own)}")
        if name != "epsilon" and own < limit:
            raise GuaranteeError(f"`{name}` must be at least {_exact(limit)}; got {_exact(own)}")


def _exact(x: float) -> str:
    """All digits that tell a number from its neighbours."""
    return "NaN" if math.isnan(x) else repr(x).removesuffix(".0")
