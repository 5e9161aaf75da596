"""From reports back to frequencies: estimates, their errors, and what cannot be told.

Reports follow ``lambda = P^T pi``. With G the inverse of ``P^T``, the inverse estimate is ``G``
times the reported shares: a mean over records of ``G[:, report]``, the pseudo-responses, so that
its variance is theirs over the number of records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bistochastic import _core, measures, operators, quantiles
from bistochastic.errors import SingularMatrixError
from bistochastic.report import cells, table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bistochastic._core import Matrix

    Array = NDArray[np.float64]
    Method = Literal["inverse", "mle", "simplex", "shrunk"]
    Population = Literal["sampled", "fixed"]

METHODS = ("inverse", "mle", "simplex", "shrunk")
POPULATIONS = ("sampled", "fixed")
# Size up to which the inverse is looked at row by row.
_EXACT = 10_000
# Random probes for the variances of larger structured matrices.
_PROBES = 128
# Gaps in nats a record at which maximum likelihood stops: one attribute, and joint tables.
_GAP, _JOINT_GAP = 1e-10, 1e-6
_JOINT_STEPS = 2000
# A normal interval needs this many times the squared range of a pseudo-response in its variance.
_WALD = 20.0


@dataclass(frozen=True)
class Estimate:
    """Estimated frequencies of the original, with their errors.

    >>> import bistochastic as bs
    >>> m = bs.randomized_response(3, epsilon=2)
    >>> e = m.estimate(counts=[520, 290, 190])
    >>> e.frequencies.round(3), e.standard_errors.round(3)
    (array([0.608, 0.27 , 0.123]), array([0.023, 0.021, 0.018]))
    >>> e.interval()[0].round(3)
    array([0.561, 0.654])
    """

    frequencies: Array
    """Shares of the original that sum to 1; those of ``inverse`` may be negative."""
    records: int
    """How many reports there were."""
    method: str
    """How the shares were found."""
    population: str
    """``"sampled"`` where the records are a sample, ``"fixed"`` where they are everyone."""
    gap: float
    """How far the likelihood may be below its maximum, in nats a record; 0 where that is known."""
    matrix: Matrix = field(repr=False)
    """The matrix that the reports were drawn from."""
    reports: Array = field(repr=False)
    """The shares of the reports."""

    @property
    def counts(self) -> Array:
        """Estimated counts: frequencies times records.

        >>> import bistochastic as bs
        >>> bs.identity(2).estimate(counts=[30, 10]).counts
        array([30., 10.])
        """
        return self.frequencies * self.records

    @cached_property
    def _unbiased(self) -> Array:
        """The inverse estimate, whose errors are those of every method in the interior."""
        if self.method == "inverse":
            return self.frequencies
        return operators.solve(self.matrix, self.reports)

    @cached_property
    def _variance(self) -> tuple[Array, float]:
        """Variances of the shares, and the relative error with which they are known."""
        squares, error = squared_rows(self.matrix, self.reports)
        return _variances(squares, self._unbiased, self.records, self.population), error

    @property
    def standard_errors(self) -> Array:
        """The standard error of each share under ``inverse``; those of the others are not larger.

        Exact for randomized response, circulant and up to 10,000 categories; beyond, by random
        probes, known to :attr:`standard_errors_within` relatively.

        >>> import bistochastic as bs
        >>> bs.identity(2).estimate(counts=[50, 50]).standard_errors.round(4)
        array([0.0503, 0.0503])
        """
        return np.sqrt(self._variance[0])

    @property
    def standard_errors_within(self) -> float:
        """The relative standard error of the standard errors themselves: 0 where they are exact.

        >>> import bistochastic as bs
        >>> bs.identity(2).estimate(counts=[50, 50]).standard_errors_within
        0.0
        """
        return self._variance[1] / 2

    @cached_property
    def covariance(self) -> Array:
        """The covariance matrix of the inverse estimate, formed only when asked for.

        >>> import bistochastic as bs
        >>> bs.identity(2).estimate(counts=[50, 50]).covariance.round(4)
        array([[ 0.0025, -0.0025],
               [-0.0025,  0.0025]])
        """
        r = self.matrix.size
        # Columns of G; the core refuses what does not fit in memory.
        inverse = operators.solve(self.matrix, np.eye(r))
        spread = (inverse * self.reports) @ inverse.T
        if self.population == "fixed":
            return np.asarray((spread - np.diag(self._unbiased)) / self.records)
        own = np.outer(self._unbiased, self._unbiased)
        return np.asarray((spread - own) / max(1, self.records - 1))

    def interval(self, confidence: float = 0.95, *, simultaneous: bool = False) -> Array:
        """Lower and upper bounds of every share, of shape ``(r, 2)``.

        For randomized response exact (Clopper-Pearson, mapped through the law). Elsewhere normal
        where there are enough reports, and below that an empirical Bernstein interval on the
        pseudo-responses, which holds at any number of records. ``simultaneous`` covers all shares
        together (Bonferroni). Bounds are cut to [0, 1].

        >>> import bistochastic as bs
        >>> m = bs.randomized_response(2, keep=0.75)
        >>> m.estimate(counts=[10, 0]).interval().round(3)
        array([[0.883, 1.   ],
               [0.   , 0.117]])
        """
        alpha = 1 - confidence_of(confidence)
        if simultaneous:
            alpha /= self.matrix.size
        low, high = _bounds(self, alpha)
        return np.clip(np.stack([low, high], axis=1), 0.0, 1.0)

    def contains(self, pi: Any, confidence: float = 0.95) -> bool:
        """Whether the distribution ``pi`` is in the chi-square region of that confidence.

        ``n sum of (reported_v - (P^T pi)_v)^2 / (P^T pi)_v`` against the quantile: asks only what
        the reports can tell.

        >>> import bistochastic as bs
        >>> e = bs.randomized_response(3, epsilon=2).estimate(counts=[520, 290, 190])
        >>> e.contains([0.59, 0.27, 0.14]), e.contains([0.4, 0.4, 0.2])
        (True, False)
        """
        level = confidence_of(confidence)
        r = self.matrix.size
        law = measures.distribution("pi", r, pi)
        expected = np.maximum(operators.apply(self.matrix, law), 0.0)
        impossible = (expected <= 0) & (self.reports > 0)
        if impossible.any() or r == 1:
            return not impossible.any()
        positive = expected > 0
        off = (self.reports - expected)[positive] ** 2 / expected[positive]
        limit = quantiles.chi_square(level, max(1, int(positive.sum()) - 1))
        return bool(self.records * math.fsum(off) <= limit)

    def to_frame(self) -> Any:
        """The table as a data frame: pandas, or else polars.

        >>> import bistochastic as bs
        >>> list(bs.identity(2).estimate(counts=[3, 1]).to_frame())  # doctest: +SKIP
        ['reported', 'frequency', 'standard_error', 'low', 'high']
        """
        columns = self._columns()
        for library in ("pandas", "polars"):
            try:
                module = __import__(library)
            except ImportError:
                continue
            return module.DataFrame(columns)
        raise ImportError("`to_frame` must find pandas or polars; got neither")

    def _columns(self) -> dict[str, Array]:
        bounds = self.interval()
        return {
            "reported": self.reports,
            "frequency": self.frequencies,
            "standard_error": self.standard_errors,
            "low": bounds[:, 0],
            "high": bounds[:, 1],
        }

    def _rows(self, most: int = 20) -> tuple[list[str], list[list[str]]]:
        columns = self._columns()
        r = self.matrix.size
        shown = list(range(r)) if r <= most else [*range(most // 2), *range(r - most // 2, r)]
        rows = [[str(v), *(f"{column[v]:.4f}" for column in columns.values())] for v in shown]
        if r > most:
            rows.insert(most // 2, ["..."] * (len(columns) + 1))
        return ["category", *columns], rows

    def _title(self) -> str:
        gap = f", gap {self.gap:.1e} nats" if self.gap > 0 else ""
        return f"{self.method} from {self.records:,} records ({self.population}){gap}"

    def __repr__(self) -> str:
        return f"<Estimate: {self._title()}>\n{table(*self._rows())}"

    def _repr_html_(self) -> str:
        from html import escape

        header, rows = self._rows()
        head = cells(*(("th", text) for text in header))
        body = "".join(cells(*(("td", text) for text in row)) for row in rows)
        return f"<p>{escape(self._title())}</p><table>{head}{body}</table>"


@dataclass(frozen=True)
class ClassTotals:
    """What blocks let one estimate: the share of every class, which is reported as it is.

    >>> import bistochastic as bs
    >>> bs.blocks([1, 2]).estimate(counts=[50, 20, 30], classes=True).frequencies
    array([0.5, 0.5])
    """

    frequencies: Array
    standard_errors: Array
    counts: Array
    records: int
    sizes: NDArray[np.int64]


def confidence_of(given: Any) -> float:
    """A confidence between 0 and 1."""
    must = "`confidence` must be a number between 0 and 1"
    try:
        level = float(given)
    except (TypeError, ValueError):
        raise TypeError(f"{must}; got {type(given).__name__}") from None
    if not 0 < level < 1:
        raise ValueError(f"{must}; got {level:g}")
    return level


def _one_of(name: str, given: Any, known: tuple[str, ...]) -> str:
    if given not in known:
        raise ValueError(f"`{name}` must be one of {', '.join(known)}; got {given!r}")
    return str(given)


def tally(matrix: Matrix, codes: Any, counts: Any) -> Array:
    """The counts of the reports, from the reports or as given."""
    if (codes is None) == (counts is None):
        got = "neither" if codes is None else "both"
        raise TypeError(f"`estimate` must be given codes or counts; got {got}")
    if codes is not None:
        array = np.asarray(codes)
        if array.size == 0:
            array = array.astype(np.int64)
        if array.dtype.kind == "b":
            array = array.view(np.uint8) if array.flags.c_contiguous else array.astype(np.uint8)
        if array.dtype.kind not in "iu":
            must = "`codes` must be an array of whole numbers"
            raise TypeError(f"{must}; got dtype {array.dtype}")
        native = array.astype(array.dtype.newbyteorder("="), copy=False)
        return _core.count(np.ascontiguousarray(native).reshape(-1), matrix.size).astype(float)
    r = matrix.size
    must = f"`counts` must hold {r} non-negative numbers"
    try:
        numbers = np.asarray(counts)
        if numbers.dtype.kind not in "fiu":
            raise TypeError
    except (TypeError, ValueError):
        raise TypeError(f"{must}; got others") from None
    if numbers.size != r or numbers.shape not in ((r,), _table_shape(matrix)):
        raise ValueError(f"{must}; got shape {numbers.shape}")
    flat = numbers.astype(np.float64).reshape(-1)
    wrong = ~((flat >= 0) & np.isfinite(flat))
    if wrong.any():
        raise ValueError(f"{must}; got another at position {int(wrong.argmax())}")
    return flat


def _table_shape(matrix: Matrix) -> tuple[int, ...]:
    if matrix.family != "kron":
        return (matrix.size,)
    return tuple(factor.size for factor in matrix.parameters["matrices"])


def estimate(
    matrix: Matrix,
    codes: Any = None,
    *,
    counts: Any = None,
    method: Any = "inverse",
    population: Any = "sampled",
    classes: bool = False,
) -> Estimate | ClassTotals:
    """See :meth:`bistochastic.Matrix.estimate`."""
    how = _one_of("method", method, METHODS)
    who = _one_of("population", population, POPULATIONS)
    seen = tally(matrix, codes, counts)
    records = math.fsum(seen)
    if not records > 0:
        raise ValueError("`estimate` must be given at least one record; got none")
    n = round(records)
    if classes:
        return _class_totals(matrix, seen, n)
    reports = seen / records
    gap = 0.0
    if how == "mle":
        frequencies, gap = maximum_likelihood(matrix, reports)
    elif how == "shrunk":
        frequencies, gap = maximum_likelihood(matrix, reports, stop_after=_EARLY)
    else:
        frequencies = operators.solve(matrix, reports)
        if how == "simplex":
            frequencies = project(frequencies)
    return Estimate(frequencies, n, how, who, gap, matrix, reports)


def _class_totals(matrix: Matrix, seen: Array, n: int) -> ClassTotals:
    if matrix.family not in ("identity", "uniform", "blocks", "k_anonymous"):
        must = "`classes` must be asked of identity, uniform, blocks or k_anonymous"
        raise ValueError(f"{must}; got {matrix.family}")
    if matrix.family == "identity":
        sizes = np.ones(matrix.size, dtype=np.int64)
    else:
        sizes = measures.class_sizes(matrix)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    totals = np.add.reduceat(seen, starts)
    shares = totals / math.fsum(totals)
    errors = np.sqrt(shares * (1 - shares) / max(1, n - 1))
    return ClassTotals(shares, errors, totals, n, sizes)


def project(x: Array) -> Array:
    """The nearest distribution: what is over is taken off all alike, and nothing falls below 0.

    >>> project(np.array([0.7, 0.5, -0.2]))
    array([0.6, 0.4, 0. ])
    """
    falling = np.sort(x)[::-1]
    over = (np.cumsum(falling) - 1) / np.arange(1, len(x) + 1)
    last = int(np.nonzero(falling > over)[0][-1])
    return np.asarray(np.maximum(x - over[last], 0.0))


# Steps of EM after which "shrunk" stops, from uniform.
_EARLY = 200


def maximum_likelihood(
    matrix: Matrix, reports: Array, *, stop_after: int | None = None
) -> tuple[Array, float]:
    """The shares under which the reports are likeliest, and the gap that is left, in nats a record.

    Where the inverse is a distribution it is the answer, since it explains the reports perfectly.
    For randomized response it is exact; else expectation maximisation, whose step from pi is
    ``pi * P (reports / P^T pi)``: with ``g`` that factor, the likelihood is at most ``max g - 1``
    below its maximum (it is concave, and its slope towards any distribution is at most that).
    """
    if stop_after is None and not operators.is_singular(matrix):
        inverse = operators.solve(matrix, reports)
        if (inverse >= 0).all():
            return inverse / math.fsum(inverse), 0.0
        if matrix.family == "randomized_response" and matrix[0, 0] > matrix[0, 1]:
            return _response_likelihood(reports, matrix[0, 0], matrix[0, 1]), 0.0
    elif stop_after is None:
        raise SingularMatrixError(operators.singular_sentence("estimate", matrix))
    return _expectation_maximisation(matrix, reports, stop_after)


def _response_likelihood(reports: Array, keep: float, lie: float) -> Array:
    """Sorted, the smallest shares of reports are explained by lies alone, the others are scaled.

    On the support the reports are matched in proportion to the mass that k empty categories leave,
    ``1 - k lie``; k grows while the next share would come out negative.
    """
    order = np.argsort(reports, kind="stable")
    phi = reports[order]
    left = 1 - np.concatenate([[0.0], np.cumsum(phi)[:-1]])
    k = np.arange(len(phi))
    empty = lie * left > (1 - k * lie) * phi
    # The first that is not empty ends the run.
    first = int(np.argmin(empty)) if not empty.all() else len(phi) - 1
    s = left[first]
    shares = np.zeros_like(phi)
    shares[first:] = ((1 - first * lie) * phi[first:] - s * lie) / (s * (keep - lie))
    found = np.empty_like(shares)
    found[order] = np.maximum(shares, 0.0)
    return found / math.fsum(found)


def _expectation_maximisation(
    matrix: Matrix, reports: Array, stop_after: int | None
) -> tuple[Array, float]:
    """EM, extrapolated two steps at a time (SQUAREM) and kept only where the likelihood grows."""
    r = matrix.size
    joint = matrix.family == "kron"
    small = r <= 2048 and not joint
    dense = matrix.to_dense() if small else None
    seen = reports > 0

    def through(x: Array, *, back: bool) -> Array:
        if dense is not None:
            return dense @ x if back else x @ dense
        row = np.ascontiguousarray(x[None, :])
        # A transform may leave a little below 0 where there is nothing.
        return np.asarray(np.maximum(operators.forth(matrix, row, back=back)[0], 0.0))

    def look(pi: Array) -> tuple[float, Array]:
        """The log-likelihood a record, and the factor of the next step."""
        expected = np.maximum(through(pi, back=False), 1e-300)
        likelihood = float(reports[seen] @ np.log(expected[seen]))
        return likelihood, through(np.where(seen, reports / expected, 0.0), back=True)

    def gap_of(g: Array) -> float:
        return max(0.0, float(g.max()) - 1)

    wanted = _JOINT_GAP if joint else _GAP
    most = stop_after if stop_after is not None else (_JOINT_STEPS if joint else 200_000)
    pi = np.full(r, 1 / r)
    likelihood, g = look(pi)
    steps = 0
    while gap_of(g) > wanted and steps < most:
        first = pi * g
        _, h = look(first)
        second = first * h
        steps += 2
        change, bend = first - pi, second - 2 * first + pi
        length, curve = float(np.linalg.norm(change)), float(np.linalg.norm(bend))
        candidate = second
        if stop_after is None and curve > 0 and length > curve:
            jump = length / curve
            candidate = np.maximum(pi + 2 * jump * change + jump * jump * bend, 0.0)
            # What is 0 would stay so for ever.
            candidate = np.maximum(candidate, 1e-3 * second)
            candidate = candidate / candidate.sum()
        better, f = look(candidate)
        if better < likelihood and candidate is not second:
            candidate = second
            better, f = look(second)
        pi, likelihood, g = candidate, better, f
    return pi / math.fsum(pi), gap_of(g)


def squared_rows(matrix: Matrix, weights: Array) -> tuple[Array, float]:
    """``sum over w of G_vw^2 weights_w`` for every v, and its relative standard error."""
    r = matrix.size
    match _core.basis(matrix):
        case "flat" if r > 1:
            spectrum = _core.spectrum(matrix)
            if spectrum is not None:
                return _flat_squares(matrix, weights), 0.0
        case "cyclic":
            # G is circulant too, and so are its squares: a cyclic convolution.
            unit = np.zeros(r)
            unit[0] = 1
            column = operators.solve(matrix, unit)
            spread = np.fft.rfft(column**2) * np.fft.rfft(weights)
            return np.maximum(np.fft.irfft(spread, r), 0.0), 0.0
    if matrix.family == "permutation":
        return operators.solve(matrix, weights), 0.0
    if matrix.family == "kron":
        return _joint_squares(matrix, weights)
    if r <= _EXACT:
        total = np.zeros(r)
        step = max(1, (1 << 22) // r)
        for start in range(0, r, step):
            stop = min(r, start + step)
            units = np.zeros((r, stop - start))
            units[np.arange(start, stop), np.arange(stop - start)] = 1
            total += (operators.solve(matrix, units) ** 2) @ weights[start:stop]
        return total, 0.0
    # A random sign vector z has E (G sqrt(w) z)_v^2 = the sum; its relative variance is at most 2.
    rng = np.random.default_rng(0)
    total = np.zeros(r)
    root = np.sqrt(weights)
    for _ in range(_PROBES):
        total += operators.solve(matrix, root * rng.choice([-1.0, 1.0], r)) ** 2
    return total / _PROBES, math.sqrt(2 / _PROBES)


def _flat_squares(matrix: Matrix, weights: Array) -> Array:
    """For ``a I + q J`` the inverse is ``(I - q J) / a``: two different entries a row."""
    unit = np.zeros(matrix.size)
    unit[0] = 1
    column = operators.solve(matrix, unit)
    own, other = float(column[0]), float(column[1])
    return own**2 * weights + other**2 * (math.fsum(weights) - weights)


def _joint_squares(matrix: Matrix, weights: Array) -> tuple[Array, float]:
    """Entries of a kron multiply, so its squared entries are taken axis by axis."""
    factors = matrix.parameters["matrices"]
    array = weights.reshape([factor.size for factor in factors])
    error = 0.0
    for axis, factor in enumerate(factors):
        moved = np.moveaxis(array, axis, -1)
        rows = np.ascontiguousarray(moved).reshape(-1, factor.size)
        if factor.size > 2048:
            done, parts = zip(*(squared_rows(factor, row) for row in rows), strict=True)
            error += max(parts)
            squared = np.stack(done)
        else:
            squared = rows @ (operators.solve(factor, np.eye(factor.size)) ** 2).T
        array = np.moveaxis(squared.reshape(moved.shape), -1, axis)
    return np.ascontiguousarray(array).reshape(-1), error


def _variances(squares: Array, shares: Array, n: int, population: str) -> Array:
    """Of a sample the unbiased estimate; of a fixed population what randomization alone adds."""
    if population == "fixed":
        return np.maximum(squares - shares, 0.0) / n
    return np.maximum(squares - shares**2, 0.0) / max(1, n - 1)


def _bounds(found: Estimate, alpha: float) -> tuple[Array, Array]:
    matrix, n = found.matrix, found.records
    if matrix.size == 1:
        return np.ones(1), np.ones(1)
    if _core.basis(matrix) == "flat":
        # Each share is an affine function of one share of the reports. Randomization of a fixed
        # population is less spread than the binomial (Hoeffding), so the bounds hold there too.
        unit = np.zeros(matrix.size)
        unit[0] = 1
        column = operators.solve(matrix, unit)
        slope = float(column[0] - column[1])
        low, high = quantiles.clopper_pearson(found.reports * n, n, alpha)
        ends = np.stack([slope * low + column[1], slope * high + column[1]])
        return ends.min(axis=0), ends.max(axis=0)
    variance, error = found._variance
    centre = found._unbiased
    spread = np.sqrt(variance * (1 + 3 * error))
    normal = quantiles.normal(1 - alpha / 2) * spread
    wide = inverse_range(matrix)
    # Maurer and Pontil: with probability 1 - alpha both sides, for numbers in a range.
    log = math.log(4 / alpha)
    careful = math.sqrt(2 * log) * spread + 7 * wide * log / (3 * max(1, n - 1))
    enough = n * n * variance >= _WALD * wide**2
    half = np.where(enough, normal, careful)
    return centre - half, centre + half


def inverse_range(matrix: Matrix) -> Array:
    """How far apart the pseudo-responses of each share can be: the range of every row of G."""
    r = matrix.size
    if _core.basis(matrix) == "cyclic":
        unit = np.zeros(r)
        unit[0] = 1
        column = operators.solve(matrix, unit)
        return np.full(r, float(np.ptp(column)))
    if r <= 4096:
        return np.asarray(np.ptp(operators.solve(matrix, np.eye(r)), axis=1))
    # No entry of the inverse is longer than its norm.
    return np.full(r, 2 * operators.condition(matrix))
