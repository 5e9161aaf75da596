"""From reports back to frequencies: estimates, their errors, and what cannot be told.

Reports follow ``lambda = P^T pi``. With G the inverse of ``P^T``, the inverse estimate is ``G``
times the reported shares: a mean over records of ``G[:, report]``, the pseudo-responses, so that
its variance is theirs over the number of records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core, measures, operators, structure
from bistochastic.estimate import intervals
from bistochastic.words import cells, table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bistochastic.matrix import Matrix

    Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated frequencies of the original, with their errors.

    ``frequencies`` and ``counts`` come from the method that was asked for. Errors and intervals are
    always those of the unbiased inverse.

    ``gap`` says how far the likelihood may be below its maximum, in nats per record (a nat is a
    unit of information, about 1.44 bits). For ``"shrunk"`` it is below on purpose. ``steps`` says
    how often the reports were taken through the matrix and back to find the maximum.

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
    """How far the likelihood may be below its maximum, in nats per record; 0 if it is reached."""
    steps: int
    """How often reports were taken through the matrix and back; 0 if that was not needed."""
    matrix: Matrix = field(repr=False)
    """The matrix that the reports were drawn from."""
    reports: Array = field(repr=False)
    """The shares of the reports."""

    def __post_init__(self) -> None:
        # Frozen is frozen: arrays too.
        self.frequencies.flags.writeable = False
        self.reports.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is made anew and frozen again: NumPy does not pickle that an array is.
        return type(self), tuple(getattr(self, one.name) for one in fields(self))

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
        """The inverse estimate, which errors and intervals are of."""
        if self.method == "inverse":
            return self.frequencies
        return operators.solve(self.matrix, self.reports)

    @cached_property
    def _scatter(self) -> tuple[Array, Array]:
        """Variances of a pseudo-response over all records, and their standard errors."""
        return intervals.scatter(self.matrix, self.reports, self._unbiased)

    @cached_property
    def _variance(self) -> Array:
        """Those that count: of a fixed population without what truths differ by."""
        spread, _ = self._scatter
        if self.population == "fixed":
            return intervals.within_population(spread, self._unbiased)
        return spread

    @cached_property
    def standard_errors(self) -> Array:
        """The standard error of each share under ``inverse``, the root of an unbiased variance.

        * With a sample of one record it is infinite.
        * The other methods are biased and have no errors of their own. ``mle`` and ``simplex``
          agree with ``inverse`` if that is a distribution. So these errors are theirs too, once
          there are many records and no share is 0.
        * They are exact up to 10,000 categories, at any size for randomized response, circulant and
          permutations, and for a :func:`kron` of such matrices. Otherwise random probes estimate
          them; :attr:`standard_errors_within` says how well.

        >>> import bistochastic as bs
        >>> bs.identity(2).estimate(counts=[50, 50]).standard_errors.round(4)
        array([0.0503, 0.0503])
        """
        if self._per_record == math.inf:
            return np.full(self.matrix.size, math.inf)
        return np.sqrt(self._variance * self._per_record)

    @property
    def _per_record(self) -> float:
        """From the variance of a pseudo-response to that of the mean, without bias."""
        if self.population == "fixed":
            return 1 / self.records
        if self.matrix.size == 1:
            return 0.0
        return 1 / (self.records - 1) if self.records > 1 else math.inf

    @property
    def standard_errors_within(self) -> float:
        """The relative standard error of the standard errors themselves: 0 if they are exact.

        It is that of all shares together. In a fixed population that of a single share may be
        larger.

        >>> import bistochastic as bs
        >>> bs.identity(2).estimate(counts=[50, 50]).standard_errors_within
        0.0
        """
        doubt = float(self._scatter[1].sum())
        return doubt and doubt / float(self._variance.sum()) / 2

    @cached_property
    def covariance(self) -> Array:
        """The covariance matrix of the inverse estimate, formed only when asked for.

        With a sample of one record it is unknown: variances are ``inf``, covariances NaN.

        >>> import bistochastic as bs
        >>> bs.identity(2).estimate(counts=[50, 50]).covariance.round(4)
        array([[ 0.0025, -0.0025],
               [-0.0025,  0.0025]])
        """
        r = self.matrix.size
        # The unit matrix, its solution and their product.
        _core.require_memory("covariance", r, r, 32)
        if self._per_record == math.inf:
            unknown = np.full((r, r), math.nan)
            np.fill_diagonal(unknown, math.inf)
            return unknown
        # Columns of G; the core refuses what does not fit in memory.
        inverse = operators.solve(self.matrix, np.eye(r))
        spread = (inverse * self.reports) @ inverse.T
        if self.population == "fixed":
            spread -= np.diag(self._unbiased)
        else:
            spread -= np.outer(self._unbiased, self._unbiased)
        return np.asarray(spread * self._per_record)

    def interval(self, confidence: float = 0.95, *, simultaneous: bool = False) -> Array:
        """Lower and upper bounds of every share, of shape ``(r, 2)``.

        ====================  =======================  ====================================
        matrix and records    interval                 guarantee
        ====================  =======================  ====================================
        randomized response,  Clopper-Pearson, mapped  exact, for a ``confidence`` of 0.5
        permutations          through the matrix       or more
        others, many records  normal, widened for      approximate; see below
                              skewness
        others, few records   Hoeffding or empirical   valid for any number of records,
                              Bernstein                wide for few
        ====================  =======================  ====================================

        The normal intervals are used once the reports vary enough. They were checked in many cases:
        enumerated ones for samples, simulated ones for fixed populations, at confidences from 0.8
        to 1 - 1e-10. In none of them is a share missed more often than promised.

        1. The bounds are about the true share, whatever the ``method``. A biased estimate may lie
           outside of them.
        2. They are cut to [0, 1]. If both are 0, or both are 1, such reports are unlikely from this
           matrix.
        3. ``simultaneous=True`` covers all shares together (Bonferroni).
        4. For randomized response a fixed population gets the intervals of a sample, which are
           wider than necessary.

        >>> import bistochastic as bs
        >>> m = bs.randomized_response(2, keep=0.75)
        >>> m.estimate(counts=[10, 0]).interval().round(3)
        array([[0.883, 1.   ],
               [0.   , 0.117]])
        """
        alpha = 1 - intervals.confidence_of(confidence)
        r = self.matrix.size
        if _core.as_flag("simultaneous", simultaneous):
            alpha /= r
        n = self.records
        certain = structure.is_certain(self.matrix)
        still = certain or self.matrix.truthfulness == 1
        if r == 1 or (self.population == "fixed" and still):
            # Nothing was left to chance.
            low = high = self._unbiased
        elif certain or _core.basis(self.matrix) == "flat":
            low, high = intervals.response_bounds(
                self.matrix, self.reports, self._unbiased, n, alpha
            )
        else:
            spread, doubt = self._scatter
            low, high = intervals.mean_bounds(
                self._unbiased,
                spread + 3 * doubt,
                intervals.extremes(self.matrix),
                n,
                alpha,
                fixed=self.population == "fixed",
            )
        return np.clip(np.stack([low, high], axis=1), 0.0, 1.0)

    def contains(self, prior: Any, confidence: float = 0.95) -> bool:
        """Whether the reports are compatible with true shares ``prior``, by a chi-square test.

        The statistic is ``n sum of (reported_v - (P^T prior)_v)^2 / (P^T prior)_v``. If few reports
        of some category are expected, its limit is raised. Categories of which less than ``1 / r``
        reports are expected count as one.

        >>> import bistochastic as bs
        >>> e = bs.randomized_response(3, epsilon=2).estimate(counts=[520, 290, 190])
        >>> e.contains([0.59, 0.27, 0.14]), e.contains([0.4, 0.4, 0.2])
        (True, False)
        """
        level = intervals.confidence_of(confidence)
        law = measures.distribution("prior", self.matrix.size, prior)
        expected = np.maximum(operators.apply(self.matrix, law), 0.0)
        possible = expected > 0
        if self.reports[~possible].any():
            return False
        n = self.records
        return intervals.region(n * expected[possible], n * self.reports[possible], level)

    def to_frame(self, library: str | None = None) -> Any:
        """The table as a data frame.

        ``library`` is ``"pandas"`` or ``"polars"``. Without it the frame is one of pandas if that
        is installed, else one of polars.

        >>> import bistochastic as bs
        >>> found = bs.identity(2).estimate(counts=[3, 1])
        >>> list(found.to_frame("pandas"))  # doctest: +SKIP
        ['reported', 'frequency', 'standard_error', 'low', 'high']
        """
        known = ("pandas", "polars")
        if library is not None and not isinstance(library, str):
            got = type(library).__name__
            raise TypeError(f'`library` must be "pandas" or "polars"; got {got}')
        if library is not None and library not in known:
            raise ValueError(f'`library` must be "pandas" or "polars"; got {library!r}')
        columns = self._columns()
        for name in known if library is None else (library,):
            try:
                module = __import__(name)
            except ImportError:
                continue
            return module.DataFrame(columns)
        if library is None:
            raise ImportError("`to_frame` must find pandas or polars; got neither")
        raise ImportError(f"`to_frame` must find {library}; got none: install it")

    def _columns(self, *, errors: bool = True) -> dict[str, Array]:
        shares = {"reported": self.reports, "frequency": self.frequencies}
        if not errors:
            return shares
        bounds = self.interval()
        return {
            **shares,
            "standard_error": self.standard_errors,
            "low": bounds[:, 0],
            "high": bounds[:, 1],
        }

    def _rows(self, most: int = 20) -> tuple[list[str], list[list[str]]]:
        # What is only to be looked at must not take long.
        columns = self._columns(errors=intervals.is_quick(self.matrix))
        r = self.matrix.size
        shown = list(range(r)) if r <= most else [*range(most // 2), *range(r - most // 2, r)]
        form = ".4f" if r <= 1000 else ".3g"
        rows = [[str(v), *(f"{column[v]:{form}}" for column in columns.values())] for v in shown]
        if r > most:
            rows.insert(most // 2, ["..."] * (len(columns) + 1))
        return ["category", *columns], rows

    def _title(self) -> str:
        gap = f", gap {self.gap:.1e} nats per record" if self.gap > 0 else ""
        records = "1 record" if self.records == 1 else f"{self.records:,} records"
        later = "" if intervals.is_quick(self.matrix) else "; errors when asked for"
        return f"{self.method} from {records} ({self.population}){gap}{later}"

    def __repr__(self) -> str:
        return f"<Estimate: {self._title()}>\n{table(*self._rows())}"

    def _repr_html_(self) -> str:
        from html import escape

        header, rows = self._rows()
        head = cells(*(("th", text) for text in header))
        body = "".join(cells(*(("td", text) for text in row)) for row in rows)
        return f"<p>{escape(self._title())}</p><table>{head}{body}</table>"
