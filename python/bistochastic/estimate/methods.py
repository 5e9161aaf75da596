"""From reported values to an estimate: methods and class totals."""

import math
from contextlib import nullcontext
from typing import Any

import numpy as np

from bistochastic import _core, arguments, families, structure
from bistochastic import linear as operators
from bistochastic.arguments import Array
from bistochastic.errors import Refused, RefusedType
from bistochastic.estimate import likelihood
from bistochastic.estimate.likelihood import Limits
from bistochastic.estimate.linear import Linear, Map
from bistochastic.estimate.result import Axis, Estimate
from bistochastic.estimate.sample import Tallies, summed, wrong_weight
from bistochastic.formatting import shown
from bistochastic.matrix import Matrix
from bistochastic.measures.priors import project
from bistochastic.structure import Kron, Stochastic, composition

METHODS = ("inverse", "mle", "simplex", "shrunk")
"""The methods of :meth:`bistochastic.Matrix.estimate`."""
POPULATIONS = ("sampled", "fixed")
"""Whether the records are a sample, or everyone."""
# What the errors of a channel leave out.
_KNOWN = "errors assume that the probabilities of the channel are known, not estimated"
# Parts of a kron whose axes of one category count, in the shape of a table.
_FEW = 256


def estimate(
    matrix: Stochastic,
    codes: object = None,
    *,
    counts: object = None,
    method: object = "inverse",
    population: object = "sampled",
    classes: object = False,
    categories: object = None,
    records: object = None,
    weights: object = None,
    progress: object = None,
    gap: object = None,
    seconds: object = None,
) -> Estimate:
    """See :meth:`bistochastic.Matrix.estimate`."""
    how = arguments.one_of("method", method, METHODS)
    who = arguments.one_of("population", population, POPULATIONS)
    by_class = _core.as_flag("classes", classes)
    limits = Limits.of(how, progress, gap, seconds)
    truths = matrix.size - matrix.padding
    axes = () if categories is None or by_class else _axes_of(categories, truths)
    limit = None if records is None else _core.as_whole("records", records, 1)
    if weights is not None and (by_class or limit is not None):
        other = "classes" if by_class else "records"
        raise RefusedType("weights", f"be given without {other}", "both")
    if weights is not None:
        linear = Linear(*weighted(matrix, codes, counts, weights), fixed=who == "fixed", exact=True)
        return of_linear(linear, how, who, limits, matrix=matrix, axes=axes)
    seen = tally(matrix, codes, counts)
    return of_counts(matrix, seen, how, who, limits, classes=by_class, axes=axes, limit=limit)


def _axes_of(categories: Any, size: int) -> tuple[Axis, ...]:
    must = f"hold {size} names, or for each column a list of its own"
    by_column = hasattr(categories, "keys") and not hasattr(categories, "dtype")
    lists = dict(categories) if by_column else {"category": categories}
    axes = []
    for name, names in lists.items():
        if not isinstance(name, str):
            raise RefusedType("categories", "name its columns by text", type(name).__name__)
        listed = tuple(arguments.items("categories", must, names))
        try:
            distinct = len(set(listed)) == len(listed)
        except TypeError:
            kinds = sorted({type(x).__name__ for x in listed if type(x).__hash__ is None})
            got = ", ".join(kinds) or "what cannot be compared"
            raise RefusedType("categories", "be strings or numbers", got) from None
        if not distinct:
            raise Refused("categories", "be distinct", f"one twice in `{shown(name)}`")
        axes.append(Axis(name, listed))
    if math.prod(len(axis.categories) for axis in axes) != size or not axes:
        got = " x ".join(str(len(axis.categories)) for axis in axes) or "none"
        raise Refused("categories", must, got)
    return tuple(axes)


def tally(matrix: Stochastic, codes: object, counts: object) -> Array:
    """Count the reported values, or read the counts that were given."""
    if (codes is None) == (counts is None):
        got = "neither" if codes is None else "both"
        raise RefusedType("estimate", "be given codes or counts", got)
    if codes is None:
        return _of_counts(matrix, counts)
    array = code_array(codes)
    if array.ndim > 1 and isinstance(composition(matrix), Kron):
        # Columns side by side look just like this, and would be counted as many records as cells.
        how = "np.ravel_multi_index(columns, sizes)"
        must = f"hold one joint code per record, as {how} makes them"
        raise Refused("codes", must, f"shape {array.shape}")
    return _core.count(array.reshape(-1), matrix.size).astype(float)


def code_array(codes: object) -> np.ndarray:
    """Read codes as a plain array of integers; True and False are 1 and 0."""
    must = "be an array of integers without missing values"
    array = arguments.array("codes", must, codes)
    if array.size == 0 and array.dtype.kind in "fO":
        # An empty list has no type.
        array = array.astype(np.int64)
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    if array.dtype.kind not in "iu":
        raise RefusedType("codes", must, f"dtype {array.dtype}")
    return np.require(array, array.dtype.newbyteorder("="), ["C", "A"])


def _of_counts(matrix: Stochastic, counts: object) -> Array:
    r = matrix.size
    must = f"hold {r} non-negative numbers"
    numbers = arguments.array("counts", must, counts)
    if numbers.dtype.kind not in "fiu":
        what = f"dtype {numbers.dtype}" if numbers.ndim else type(counts).__name__
        raise RefusedType("counts", must, what)
    shapes = {(r,), _axes(matrix)}
    kron = composition(matrix)
    if isinstance(kron, Kron):
        shapes.add(tuple(factor.size for factor in kron.parts))
    if numbers.shape not in shapes:
        wanted = " or ".join(str(shape) for shape in sorted(shapes, key=len))
        raise Refused("counts", f"{must}, of shape {wanted}", f"shape {numbers.shape}")
    arguments.refuse_labels("counts", counts)
    flat = arguments.doubles("counts", numbers).reshape(-1)
    arguments.refuse_faults("counts", must, flat)
    if (flat % 1 > 0).any() and float(flat.sum()) < 1.5:
        raise Refused("counts", f"{must} of records", f"shares that sum to {float(flat.sum()):g}")
    return flat


def _axes(matrix: Stochastic) -> tuple[int, ...]:
    """List the sizes of all axes; if they are very many, without axes of one category."""
    if structure.parts_in(matrix) > _FEW:
        return tuple(axis.size for axis in structure.axes(matrix))
    kron = composition(matrix)
    if not isinstance(kron, Kron):
        return (matrix.size,)
    return tuple(size for factor in kron.parts for size in _axes(factor))


def of_counts(
    matrix: Stochastic,
    counts: Array,
    method: str,
    population: str,
    limits: Limits,
    *,
    classes: bool = False,
    axes: tuple[Axis, ...] = (),
    limit: int | None = None,
) -> Estimate:
    """Make an estimate from how many records reported each category.

    It is :meth:`bistochastic.Matrix.estimate` for a tool that has checked its counts: ``method``,
    ``population`` and ``classes`` are as there, ``axes`` its categories and ``limit`` its records;
    ``limits`` ends a search.

    >>> m, counts = bs.randomized_response(2, keep=0.75), np.array([60.0, 40.0])
    >>> of_counts(m, counts, "inverse", "sampled", Limits()).frequencies
    array([0.7, 0.3])
    """
    with np.errstate(over="ignore"):
        records = float(counts.sum())
    if limit is not None and records > limit:
        must = f"be numbers of records, {limit} of them at most"
        raise Refused("counts", must, f"a sum of {records:g}: weights go with codes, as weights=")
    if not records >= 0.5:
        got = f"{records:g}" if records else "none"
        raise Refused("estimate", "be given at least one record", got)
    if not records < 2**63:
        raise Refused("counts", "sum to less than 2^63", f"{records:g}")
    n = round(records)
    if classes:
        # Classes are reported unchanged, as by the identity matrix.
        found = structure.classes(matrix)
        if found is None:
            must = "be used with identity, uniform, blocks or k_anonymous"
            got = matrix.family if isinstance(matrix, Matrix) else "a channel"
            raise Refused("classes", must, got)
        totals = np.add.reduceat(counts, found.starts())
        shares = totals / totals.sum()
        told = families.identity(len(shares))
        return Estimate(shares, n, "classes", population, 0.0, 0, told, shares)
    reports = counts / records
    if matrix.padding:
        tallies = Tallies.counted(n, counts, counts, n)
        linear = Linear(Map.back_from(matrix), tallies, fixed=population == "fixed", exact=True)
        return of_linear(linear, method, population, limits, matrix=matrix, axes=axes)
    frequencies, gap, steps = fit_shares(matrix, reports, records, method, limits)
    return Estimate(
        frequencies, n, method, population, gap, steps, matrix, reports, axes, notes=_notes(matrix)
    )


def _notes(matrix: Stochastic | None) -> tuple[str, ...]:
    return () if matrix is None or isinstance(matrix, Matrix) else (_KNOWN,)


def fit_shares(
    matrix: Stochastic, reports: Array, records: float, method: str, limits: Limits
) -> tuple[Array, float, int]:
    """Estimate shares by a method; return them, the gap of the likelihood, and the steps.

    ``reports`` are the shares of the reported values of this many ``records``; ``limits`` ends a
    search. The result has one share for each code that can be true.

    >>> shares, gap, steps = fit_shares(
    ...     bs.randomized_response(2, keep=0.75), np.array([0.2, 0.8]), 100, "mle", Limits()
    ... )
    >>> shares
    array([0., 1.])
    """
    if method == "mle":
        return likelihood.maximum(matrix, reports, limits)
    if method == "shrunk":
        return likelihood.shrunk(matrix, reports, records, limits)
    with operators.said_of("estimate", matrix):
        frequencies = operators.solve(matrix, reports)[structure.true_codes(matrix)]
    return (project(frequencies) if method == "simplex" else frequencies), 0.0, 0


def weighted(
    matrix: Stochastic, codes: object, counts: object, weights: object
) -> tuple[Map, Tallies]:
    """Tables of weights, and the map back, if one matrix is all there is."""
    if codes is None or counts is not None:
        raise RefusedType("weights", "be given with codes", "counts")
    plain, must = code_array(codes).reshape(-1), "hold non-negative numbers"
    array, rows = arguments.array("weights", must, weights), len(plain)
    if array.dtype.kind not in "iufb":
        raise RefusedType("weights", must, f"dtype {array.dtype}")
    if array.shape != (rows,):
        raise Refused("weights", f"{must}, one for each of {rows} records", f"shape {array.shape}")
    given = np.ascontiguousarray(array, dtype=np.float64)
    if (wrong := wrong_weight(given)) is not None:
        at, wants, got = wrong
        raise Refused("weights", wants, f"{got} at position {at}")
    if not given.any():
        raise Refused("weights", f"{must}, one of them positive", "none")
    if matrix.size >= 2**32:
        raise Refused("weights", "go with less than 2^32 categories", matrix.size)
    # Says which code is out of range.
    _core.count(plain, matrix.size)
    _core.require_memory("weights", 2, matrix.size, 8)
    places = plain.astype(np.int64)
    sums, squares = (summed(places, each, matrix.size) for each in (given, given**2))
    return Map.back_from(matrix), Tallies.counted(rows, sums, squares, rows, weighted=True)


def of_linear(
    linear: Linear,
    method: str,
    population: str,
    limits: Limits,
    *,
    matrix: Stochastic | None = None,
    axes: tuple[Axis, ...] = (),
    fit: tuple[Array, float, int] | None = None,
    notes: tuple[str, ...] = (),
) -> Estimate:
    """Make an estimate whose errors come from tables of weights, the ``linear`` estimate.

    ``method`` and ``population`` are those of :meth:`bistochastic.Matrix.estimate`. A ``matrix``,
    or the ``fit`` of a tool as :func:`fit_shares` returns it, is for other methods than the
    inverse; ``limits`` ends a search. ``axes`` and ``notes`` are shown.

    >>> m, counts = bs.randomized_response(2, keep=0.75), np.array([60.0, 40.0])
    >>> tallies = Tallies.counted(100, counts, counts, 100)
    >>> linear = Linear(Map.back_from(m), tallies, fixed=False, exact=True)
    >>> of_linear(linear, "inverse", "sampled", Limits(), axes=(bs.estimate.Axis("a", (0, 1)),))
    Estimated from 100 records (method: inverse, 95% intervals)
    a  reported  frequency  count  standard_error    low   high
    -  --------  ---------  -----  --------------  -----  -----
    0     0.600      0.700     70           0.098  0.484  0.909
    1     0.400      0.300     30           0.098  0.091  0.516
    """
    sample = linear.tallies.sample
    if not sample.records:
        raise Refused("estimate", "be given at least one record", "none")
    with operators.said_of("estimate", matrix) if matrix is not None else nullcontext():
        shares = linear.shares
    if method != "inverse" and fit is None:
        assert matrix is not None
        sums = linear.tallies.whole
        fit = fit_shares(matrix, sums / sums.sum(), sample.effective, method, limits)
    frequencies, gap, steps = fit or (shares, 0.0, 0)
    return Estimate(
        frequencies, sample.records, method, population, gap, steps, matrix, linear.reported, axes,
        linear, linear.total, (*notes, *_notes(matrix)),
    )  # fmt: skip
