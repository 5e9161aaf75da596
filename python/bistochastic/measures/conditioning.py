"""Rank and condition of a matrix as entries of its profile."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from bistochastic import _core, linear, structure
from bistochastic.measures.profile import Entry, missing, status_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from bistochastic.matrix import Matrix

# Size up to which singular values need a second or two.
_SINGULAR_VALUES = 1500
# The same of a composite, which is written down first.
_WRITTEN = 1024


def conditioning(matrix: Matrix, *, full: bool) -> list[Entry]:
    """Rank and condition."""
    return structure.by_parts(matrix, partial(_conditioning_of, full=full))


def _conditioning_of(
    matrix: Matrix, known_of: Callable[[Matrix], list[Entry]], *, full: bool
) -> list[Entry]:
    size = matrix.size
    spectrum = _core.spectrum(matrix)
    if spectrum is not None:
        counted = spectrum[1] == size or structure.counts_rank(matrix)
        return [_rank(spectrum[1], counted), _condition(linear.condition(matrix), counted)]
    made = structure.composition(matrix)
    if isinstance(made, structure.Kron):
        each = [known_of(factor) for factor in structure.wide_factors(made)]
        pairs = [[part.value for part in parts] for parts in each]
        if all(value is not None for pair in pairs for value in pair):
            known = status_of(all(e.status == "exact" for pair in each for e in pair))
            rank = math.prod(int(pair[0] or 0) for pair in pairs)
            product = math.prod(float(pair[1] or 0) for pair in pairs)
            return [Entry("rank", rank, known), Entry("condition", product, known)]
        return [missing(name, "a factor is too large") for name in ("rank", "condition")]
    composite = made is not None
    if full or size <= (_WRITTEN if composite else _SINGULAR_VALUES):
        values_of = linear.singular_values(matrix.to_dense())
        rank = linear.dense_rank(matrix, values_of)
        least = float(values_of.min()) if rank == size else 0.0
        _core.keep_condition(matrix, linear.inverse(least))
        counted = rank == size
        return [_rank(rank, counted), _condition(linear.condition(matrix), counted)]
    # The rank and condition of a very large product: from its factors or by iteration.
    why = "too large for singular values; full=True takes them"
    factors = made.parts if isinstance(made, structure.Product) else ()
    conditions = [known_of(factor)[1] for factor in factors]
    values = [entry.value for entry in conditions if entry.value is not None]
    if not values or len(values) < len(conditions):
        return [missing("rank", why), missing("condition", why)]
    exact = all(entry.status == "exact" for entry in conditions)
    if max(values) > linear.MOST:
        return [missing("rank", why), _condition(math.inf, exact)]
    if min(values) == 1:
        # A permutation before or after changes no singular value.
        return [_rank(matrix.size, exact), _condition(max(values), exact)]
    note = "found by iteration through the factors, may be higher"
    found = linear.by_iteration(matrix)
    return [_rank(matrix.size, exact), Entry("condition", found, "bound", note)]


def _rank(value: int, counted: bool) -> Entry:
    note = "" if counted else "at least: singular values above 2^-50"
    return Entry("rank", value, status_of(counted), note)


def _condition(value: float, counted: bool) -> Entry:
    note = "singular: some true values cannot be distinguished" if value > linear.MOST else ""
    if note and not counted:
        note = "beyond 2^50, too close to singular"
    return Entry("condition", value, status_of(counted), note)
