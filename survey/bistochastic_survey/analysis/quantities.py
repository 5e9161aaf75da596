"""``Quantity`` and ``Ratio``: one number about the original, with its error."""

import math
from dataclasses import dataclass

import numpy as np

from bistochastic.estimate import fieller, mean_bounds
from bistochastic_survey.analysis.request import between
from bistochastic_survey.wording import Shown


@dataclass(frozen=True, repr=False)
class Quantity(Shown):
    """A number about the original: a count, a mean, a covariance or a correlation.

    >>> Quantity("mean", 2.5, 0.1, 400, "sampled", 399)
    <mean 2.5, standard error 0.1, 95% from 2.30341 to 2.69659; 400 records (sampled)>
    """

    name: str
    value: float
    standard_error: float
    """The standard error; infinite if the design does not determine it."""
    records: int
    """The number of records that it is estimated from."""
    population: str
    """``"sampled"`` if the records are a sample, ``"fixed"`` if they are everyone."""
    degrees: float = math.inf
    """Degrees of freedom of the intervals."""
    limits: tuple[float, float] = (-math.inf, math.inf)
    """The range of possible values."""
    ends: tuple[float, float] | None = None
    """For a count of records that count alike: the least and the most that a record can add."""
    notes: tuple[str, ...] = ()
    """Notes on the value."""
    shift: tuple[float, float] = (0.0, 0.0)
    """How far below and above it the same number of the original may be, in addition to the error:
    by the widths of the classes of a binned column, by the moves of a permuted column."""

    def original(self, confidence: float = 0.95) -> tuple[float, float]:
        """Bound the same number of the original: :meth:`interval`, widened by :attr:`shift`.

        >>> Quantity("mean", 2.5, 0.1, 400, "fixed", shift=(0.5, 0.5)).original(0.9)
        (1.835..., 3.164...)
        """
        low, high = self.interval(confidence)
        return low - self.shift[0], high + self.shift[1]

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return lower and upper bounds, cut to the possible values of the quantity.

        They are Student's with :attr:`degrees`. For counts without weights they are the bounds of
        :meth:`bistochastic.estimate.Estimate.interval`, which hold for few records, too.

        >>> Quantity("mean", 2.5, 0.1, 400, "fixed").interval(0.9)
        (2.335..., 2.664...)
        """
        low, high = self._bounds(1 - between("confidence", confidence))
        least, most = self.limits
        return min(max(low, least), most), max(min(high, most), least)

    def _bounds(self, alpha: float) -> tuple[float, float]:
        if self.ends is None:
            if not math.isfinite(self.standard_error) or self.degrees < 1:
                return -math.inf, math.inf
            away = student(alpha, self.degrees) * self.standard_error
            return self.value - away, self.value + away
        n, fixed = self.records, self.population == "fixed"
        share = self.value / n
        spread = 0.0 if n == 1 else self.standard_error**2 / n
        if fixed:
            spread = max(0.0, spread + share * (1 - share))
        else:
            spread *= (n - 1) / n
        centre, around, least, most = (np.array([x]) for x in (share, spread, *self.ends))
        low, high = mean_bounds(centre, around, (least, most), n, alpha, fixed=fixed)
        return n * float(low[0]), n * float(high[0])

    def _said(self) -> str:
        low, high = self.interval()
        return f"95% from {low:.6g} to {high:.6g}"

    def __repr__(self) -> str:
        value = f"{self.name} {self.value:.6g}, standard error {self.standard_error:.6g}"
        of = f"{self.records:,} record{'s' * (self.records != 1)} ({self.population})"
        notes = "".join(f"\nnote: {text}" for text in self.notes)
        return f"<{value}, {self._said()}; {of}>{notes}"


@dataclass(frozen=True, repr=False)
class Ratio(Quantity):
    """A number over another, both estimated, with Fieller's bounds.

    If the denominator may be 0, the bounds are infinite: the reported values are compatible with
    any ratio, or with any ratio outside of a gap. :meth:`region` says which.

    >>> Ratio("ratio", 0.5, 0.5, 100, "sampled", 99, numerator=2.0, denominator=4.0,
    ...       variances=(4.0, 0.0, 9.0))
    <ratio 0.5, standard error 0.5, 95% unbounded: what it is a share of may be 0; 100 records ...
    """

    numerator: float = math.nan
    denominator: float = math.nan
    variances: tuple[float, float, float] = (math.nan, math.nan, math.nan)
    """The variance of the numerator, the covariance, and the variance of the denominator."""

    def region(self, confidence: float = 0.95) -> list[tuple[float, float]]:
        """Return all ratios compatible with the reported values: an interval, its outside, or all.

        >>> r = Ratio("ratio", 0.5, 0.1, 100, "sampled", 99, numerator=50.0, denominator=100.0,
        ...           variances=(9.0, 0.0, 4.0))
        >>> [tuple(round(x, 4) for x in part) for part in r.region()]
        [(0.438, 0.5636)]
        """
        alpha = 1 - between("confidence", confidence)
        if self.degrees >= 1 and all(math.isfinite(x) for x in self.variances):
            t = student(alpha, self.degrees)
            top, nn, nd = (np.array([x]) for x in (self.numerator, *self.variances[:2]))
            ends = fieller(top, self.denominator, nn, nd, self.variances[2], t)
            low, high, bounded = (each.item() for each in ends)
            if bounded:
                return [(low, high)]
            if math.isfinite(low) and math.isfinite(high):
                return [(-math.inf, low), (high, math.inf)]
        return [(-math.inf, math.inf)]

    def is_bounded(self, confidence: float = 0.95) -> bool:
        """Whether the denominator differs from 0 with this confidence.

        >>> Ratio("ratio", 1.0, 1.0, 9, "sampled", 8).is_bounded()
        False
        """
        parts = self.region(confidence)
        return len(parts) == 1 and math.isfinite(parts[0][0])

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the least and the greatest ratio of :meth:`region`; infinite if it is unbounded.

        >>> Ratio("ratio", 1.0, 1.0, 9, "sampled", 8).interval()
        (-inf, inf)
        """
        if not self.is_bounded(confidence):
            return -math.inf, math.inf
        return super().interval(confidence)

    def _bounds(self, alpha: float) -> tuple[float, float]:
        return self.region(1 - alpha)[0]

    def _said(self) -> str:
        if self.is_bounded():
            return super()._said()
        return "95% unbounded: what it is a share of may be 0"


def student(alpha: float, degrees: float) -> float:
    """Return the distance from 0 that Student's t exceeds with probability ``alpha``."""
    from scipy import special

    if math.isinf(degrees):
        return float(-special.ndtri(alpha / 2))
    return float(-special.stdtrit(degrees, alpha / 2))
