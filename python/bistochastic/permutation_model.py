"""The permutation model: any masking is a permutation of ranks and a residual (Appendix A.2).

Columns are arrays, or a mapping of names to arrays. :mod:`bistochastic.masking` offers all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bistochastic import arguments
from bistochastic.arguments import Array
from bistochastic.errors import Refused, RefusedType
from bistochastic.formatting import Shown, shown, table

# The quantiles of the distances that are printed.
_LEVELS = (0.1, 0.5, 0.9)


@dataclass(frozen=True, eq=False, repr=False)
class ReverseMap(Shown):
    """The original in the order of the masked values, and what is left.

    >>> import bistochastic as bs
    >>> found = bs.masking.reverse_map([1, 2, 3], [10, 30, 20])
    >>> found
    <ReverseMap of 3 records>
    >>> found.z, found.residual
    (array([1, 3, 2]), array([ 9., 27., 18.]))
    """

    z: Any
    """The original values with the ranks of the masked ones; as confidential as the original."""
    residual: Any
    """``y - z``: what masking did beyond moving values from one record to another."""

    def __repr__(self) -> str:
        # A repr shows nothing of the original.
        rows = next(iter(self.z.values()), ()) if isinstance(self.z, dict) else self.z
        return f"<ReverseMap of {len(rows)} records>"


@dataclass(frozen=True, eq=False, repr=False)
class PermutationDistance(Shown):
    """The number of ranks that each record was moved by.

    >>> import bistochastic as bs
    >>> print(bs.masking.permutation_distance([1, 2, 3, 4, 5], [1, 2, 5, 4, 3]))
    5 records, ranks moved
    column  10%  50%  90%  not moved
    ------  ---  ---  ---  ---------
    0         0    0    2        60%
    """

    distances: Any
    """One number for each record: an array, or arrays by name."""
    records: int
    columns: tuple[object, ...]
    """The names of the columns of a mapping; elsewhere their numbers."""
    table: Array
    """The distances with one column for each."""

    def quantile(self, q: float) -> float | Array:
        """Return the distance that a fraction ``q`` of the records does not exceed.

        The result is one number for a vector, else one for each column.

        >>> import bistochastic as bs
        >>> bs.masking.permutation_distance([1, 2, 3, 4, 5], [1, 2, 5, 4, 3]).quantile(0.9)
        2.0
        """
        found = np.quantile(self.table, arguments.limit("q", q), axis=0)
        single = isinstance(self.distances, np.ndarray) and self.distances.ndim == 1
        return float(found[0]) if single else found

    def __str__(self) -> str:
        # Quantiles, never a record.
        rows = []
        for name, column in zip(self.columns, self.table.T, strict=True):
            still = f"{100 * float((column == 0).mean()):.3g}%"
            levels = np.quantile(column, _LEVELS)
            rows.append([shown(name), *(f"{level:.6g}" for level in levels), still])
        header = ["column", *(f"{100 * level:g}%" for level in _LEVELS), "not moved"]
        return f"{self.records} records, ranks moved\n{table(header, rows)}"

    def __repr__(self) -> str:
        half = np.quantile(self.table, 0.5, axis=0)
        least, most = f"{half.min():.6g}", f"{half.max():.6g}"
        median = least if least == most else f"{least} to {most}"
        return f"<PermutationDistance: {self.records} records, median {median} ranks>"


def reverse_map(x: object, y: object) -> ReverseMap:
    """Compute ``z``, the original in the order of the masked values, and the residual ``y - z``.

    ``x`` is the original and ``y`` the masked version, record by record: vectors, tables, which
    are treated column by column, or mappings of the same names to columns. ``z[i]`` is the value of
    ``x`` with the same rank as ``y[i]`` (Appendix A.2 of the paper). So any masking is a
    permutation, ``x`` to ``z``, followed by a residual that does not change any rank. If the
    residual is small, only the permutation protects.

    Records with equal ``y`` are ordered by ``x``, so ties never look like protection. A release
    that has the values of the original in another order is its own ``z``.

    >>> import bistochastic as bs
    >>> incomes = [20_000, 31_000, 54_000, 90_000]
    >>> masked = [20_500, 90_100, 31_000, 53_900]
    >>> found = bs.masking.reverse_map(incomes, masked)
    >>> found.z, found.residual
    (array([20000, 90000, 31000, 54000]), array([ 500.,  100.,    0., -100.]))
    """
    pairs, _, together = _side_by_side(x, y)
    moved = [_reverse(*pair) for pair in pairs]
    left = [after.astype(np.float64) - z for (_, after), z in zip(pairs, moved, strict=True)]
    return ReverseMap(together(moved), together(left))


def permutation_distance(x: object, y: object) -> PermutationDistance:
    """Compute by how many ranks masking moved each record: ``|rank(x[i]) - rank(z[i])|``.

    :func:`reverse_map` explains ``x``, ``y`` and ``z``. Equal values have the mean of their ranks,
    in ``x`` and in ``z``: a record whose value did not change was not moved, and the order of the
    file does not matter. Print the result for quantiles, or call
    :meth:`PermutationDistance.quantile`.

    >>> import bistochastic as bs
    >>> found = bs.masking.permutation_distance([10, 20, 20, 30], [10, 30, 20, 20])
    >>> found
    <PermutationDistance: 4 records, median 0.75 ranks>
    >>> found.distances
    array([0. , 1.5, 0. , 1.5])
    """
    pairs, names, together = _side_by_side(x, y)
    made = [_distance(*pair) for pair in pairs]
    return PermutationDistance(together(made), len(made[0]), names, np.stack(made, axis=1))


def _reverse(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    z = np.empty_like(x)
    # The last key is the first to count; the sort is stable.
    z[np.lexsort((x, y))] = np.sort(x)
    return z


def _distance(x: np.ndarray, y: np.ndarray) -> Array:
    ordered = np.sort(x)
    both = np.stack([x, _reverse(x, y)])
    # Twice the mean rank of equal values, less 1.
    ranks = np.searchsorted(ordered, both) + np.searchsorted(ordered, both, side="right")
    return np.asarray(np.abs(np.diff(ranks, axis=0)[0]) / 2)


def _side_by_side(
    x: object, y: object
) -> tuple[list[tuple[np.ndarray, np.ndarray]], tuple[Hashable, ...], Callable[[Any], Any]]:
    """Read the columns of both, their names, and what makes one thing of columns, as ``y`` came."""
    (left, before), (right, after) = numbers_by_name("x", x), numbers_by_name("y", y)
    by_name = isinstance(y, Mapping)
    # Names say more than the number of columns.
    before, after = (before[:1], after[:1]) if by_name else (before, after)
    if before != after:
        raise Refused("y", f"have the shape of `x`, {before}", after)
    if 0 in before:
        raise Refused("x", "hold at least one number", "none")
    if set(left) != set(right):
        got = f"{len(set(left) ^ set(right))} in one of them only"
        raise Refused("y", "have the columns of `x`", got)

    def together(made: list[np.ndarray]) -> Any:
        if by_name:
            return dict(zip(right, made, strict=True))
        return made[0] if len(after) == 1 else np.stack(made, axis=1)

    return [(left[name], right[name]) for name in right], tuple(right), together


def numbers_by_name(name: str, given: object) -> tuple[dict[Any, np.ndarray], tuple[int, ...]]:
    """Read columns of finite numbers by name, or by number if they have none, and the shape."""
    if isinstance(given, Mapping):
        read = read_columns(name, given)
        titles = {each: title(name, each) for each in read}
        found = {each: single(titles[each], finite(titles[each], read[each])) for each in read}
        return found, (len(next(iter(found.values()))), len(found))
    plain = finite(name, given)
    if plain.ndim not in (1, 2):
        raise Refused(name, "have one or two axes", plain.ndim)
    return dict(enumerate(plain.T if plain.ndim == 2 else [plain])), plain.shape


def finite(name: str, given: object) -> np.ndarray:
    """Read an array of finite numbers, in the type of the input."""
    must = "be an array of numbers"
    plain = arguments.array(name, must, given)
    if plain.dtype.kind == "O" or plain.dtype.itemsize > 8:
        plain = arguments.floats(name, must, given, by_code=False)
    if plain.dtype.kind not in "iuf":
        what = f"dtype {plain.dtype}" if plain.ndim else type(given).__name__
        raise RefusedType(name, must, what)
    if plain.dtype.kind == "f":
        refuse(name, "NaN", np.isnan(plain))
        refuse(name, "infinite numbers", np.isinf(plain))
    return plain


def refuse(name: str, what: str, wrong: NDArray[np.bool_]) -> None:
    """Reject values that are wrong, by the position of the first."""
    if wrong.any():
        first = tuple(int(i) for i in np.unravel_index(int(wrong.argmax()), wrong.shape))
        at = f"position {first[0]}" if len(first) == 1 else str(first)
        raise Refused(name, f"hold no {what}", f"{int(wrong.sum())}, the first at {at}")


def title(argument: str, name: object) -> str:
    """Name a column in a sentence, if its name is a string or a number."""
    return f"{argument}[{shown(repr(name)) if type(name) in (str, int) else '...'}]"


def read_columns(argument: str, given: object) -> dict[Hashable, Any]:
    """Read a mapping of names to columns of one length."""
    must = "map names to columns"
    if not isinstance(given, Mapping):
        raise RefusedType(argument, must, type(given).__name__)
    if not given:
        raise Refused(argument, must, "none")
    try:
        lengths = {len(column) for column in given.values()}
    except TypeError:
        raise RefusedType(argument, must, "a column without a length") from None
    if len(lengths) > 1:
        raise Refused(argument, f"{must} of one length", f"{min(lengths)} and {max(lengths)}")
    return dict(given)


def single(name: str, found: np.ndarray) -> np.ndarray:
    """Reject more than one axis."""
    if found.ndim != 1:
        raise Refused(name, "hold one value for each record", f"{found.ndim} axes")
    return found
