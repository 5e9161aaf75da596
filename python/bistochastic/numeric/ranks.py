"""The permutation model: a masked column is the original in another order, plus a residual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic.arguments import share
from bistochastic.numeric.columns import finite, numbers, read
from bistochastic.words import Shown, shown, table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bistochastic.arguments import Array

    Columns = Sequence[np.ndarray]


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
        found = np.quantile(self.table, share("q", q), axis=0)
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
    pairs, _, wrap = _pairs(x, y)
    made = [_reverse(before, after) for before, after in pairs]
    return ReverseMap(wrap([z for z, _ in made]), wrap([residual for _, residual in made]))


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
    pairs, names, wrap = _pairs(x, y)
    made = [_distance(before, after) for before, after in pairs]
    return PermutationDistance(wrap(made), len(made[0]), names, np.stack(made, axis=1))


def _reverse(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, Array]:
    z = np.empty_like(x)
    # The last key is the first to count; the sort is stable.
    z[np.lexsort((x, y))] = np.sort(x)
    return z, y.astype(np.float64) - z.astype(np.float64)


def _distance(x: np.ndarray, y: np.ndarray) -> Array:
    z, _ = _reverse(x, y)
    ordered = np.sort(x)

    def rank(values: np.ndarray) -> Array:
        first = np.searchsorted(ordered, values, side="left")
        last = np.searchsorted(ordered, values, side="right")
        return (first + last - 1) / 2

    return np.abs(rank(x) - rank(z))


def _pairs(
    x: object, y: object
) -> tuple[list[tuple[np.ndarray, np.ndarray]], tuple[object, ...], Callable[[Columns], object]]:
    """Read the columns of both, their names, and what makes one thing of columns, as ``y`` came."""
    _same_rows(x, y)
    if isinstance(x, Mapping) and isinstance(y, Mapping):
        (left, before), (right, after) = read("x", x), read("y", y)
        _same_shape((before,), (after,))
        if set(left) != set(right):
            got = f"{len(set(left) ^ set(right))} in one of them only"
            raise ValueError(f"`y` must have the columns of `x`; got {got}")
        for name in right:
            _same_rows(left[name], right[name])
        pairs = [
            (numbers("x", name, left[name]), numbers("y", name, right[name])) for name in right
        ]
        return pairs, tuple(right), lambda made: dict(zip(right, made, strict=True))
    original, masked = finite("x", x), finite("y", y)
    _same_shape(original.shape, masked.shape)
    if original.ndim == 1:
        return [(original, masked)], (0,), lambda made: made[0]
    if original.ndim != 2:
        raise ValueError(f"`x` must have one or two axes; got {original.ndim}")
    pairs = list(zip(original.T, masked.T, strict=True))
    return pairs, tuple(range(len(pairs))), lambda made: np.stack(made, axis=1)


def _same_rows(x: object, y: object) -> None:
    """Reject pandas series or frames whose rows have other labels: ranks would be compared
    between different records, which looks like protection."""
    equals, after = getattr(getattr(x, "index", None), "equals", None), getattr(y, "index", None)
    if equals and hasattr(after, "equals") and not equals(after):
        cure = "reset_index(drop=True) on both if they are in the same order"
        raise ValueError(f"`y` must have the index of `x`; got one that differs: {cure}")


def _same_shape(before: tuple[int, ...], after: tuple[int, ...]) -> None:
    if before != after:
        raise ValueError(f"`y` must have the shape of `x`, {before}; got {after}")
    if 0 in before:
        raise ValueError("`x` must hold at least one number; got none")
