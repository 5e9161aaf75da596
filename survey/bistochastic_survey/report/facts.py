"""A matrix in names and numbers, and as a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bistochastic import Matrix
from bistochastic_survey.report.html import heat
from bistochastic_survey.report.html.pictures import LARGEST
from bistochastic_survey.wording import down, up

if TYPE_CHECKING:
    from collections.abc import Sequence


def facts(matrix: Matrix) -> list[tuple[str, str]]:
    """List names and numbers of a matrix that never overstate privacy."""
    share = matrix.truthfulness
    return [
        ("family", matrix.family),
        ("size", str(matrix.size)),
        ("entropy_rate", f"{down(matrix.entropy_rate)} of {matrix.max_bits:.6g}"),
        ("beta", down(matrix.beta)),
        ("epsilon", "infinite: some reported values rule out some true values"
         if math.isinf(matrix.epsilon) else up(matrix.epsilon)),
        ("truthfulness", "not computed" if share is None else f"{share:.6g}"),
        ("is_ergodic", {None: "not computed", True: "yes", False: "no"}[matrix.is_ergodic]),
        ("status", "exact" if matrix.is_exact else "bound"),
        ("parameters", _short(matrix.parameters)),
        ("requested", _short(matrix.requested)),
    ]  # fmt: skip


def _short(parameters: dict[str, object]) -> str:
    def value(x: object) -> str:
        if isinstance(x, list) and x and isinstance(x[0], list):
            return f"{len(x)} x {len(x[0])} counts"
        if isinstance(x, list) and len(x) > 4 and not isinstance(x[0], Matrix):
            return f"[{x[0]}, {x[1]}, ..., {x[-1]}] ({len(x)} numbers)"
        return str(x)

    return ", ".join(f"{name}={value(x)}" for name, x in parameters.items()) or "nothing"


def picture(matrix: Matrix, labels: Sequence[object] | None = None) -> str | None:
    """Draw a matrix as a heat map, with codes from 0 up; ``None`` if it is too large."""
    if matrix.size > LARGEST:
        return None
    title = "Probability of each reported category"
    return heat(matrix.to_dense().tolist(), labels, title=title, first=0)
