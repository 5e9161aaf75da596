"""``Estimate``: frequencies of the original, with their errors.

With G the inverse of ``P^T``, the inverse estimate is ``G`` times the reported shares: a mean over
records of the pseudo-responses ``G[:, reported]``, so its variance is theirs over the records.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from bistochastic import _core, arguments, structure
from bistochastic import linear as operators
from bistochastic.arguments import Array
from bistochastic.cached import Compared, cached
from bistochastic.errors import Refused
from bistochastic.estimate import intervals
from bistochastic.formatting import Shown, table
from bistochastic.linear import basis
from bistochastic.matrix import Matrix
from bistochastic.measures.priors import distribution
from bistochastic.structure import Stochastic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NO_WIDTH = "bounds cut to 0 or 1 leave no width: these matrices rarely give such reported values"
# A share below 0 only by rounding is not negative.
_TINY = 1e-9
_CERTAIN = "an interval without width: this share was not randomized"


@dataclass(frozen=True)
class Axis(Shown):
    """A column of an estimated table: its name, and its categories in the order of the table.

    >>> Axis("sex", ("F", "M"))
    Axis(name='sex', categories=('F', 'M'))
    """

    name: str
    categories: tuple[Any, ...]

    def words(self) -> list[str]:
        """Write the categories as they are printed; None is a missing value."""
        return ["(missing)" if each is None else str(each) for each in self.categories]

    def __repr__(self) -> str:
        names = [repr(each) for each in self.categories]
        names[6:-1] = names[6:-1] if len(names) <= 8 else ["..."]
        end = "," * (len(names) == 1)
        return f"Axis(name={self.name!r}, categories=({', '.join(names)}{end}))"


@dataclass(frozen=True, eq=False)
class Estimate(Compared, Shown):
    """Estimated frequencies of the original, with their errors.

    ``frequencies`` and ``counts`` come from the requested method. Errors and intervals always
    belong to the unbiased inverse estimate.

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
    """The number of records."""
    method: str
    """How the shares were found."""
    population: str
    """``"sampled"`` if the records are a sample, ``"fixed"`` if they are everyone."""
    gap: float
    """How far the likelihood may be below its maximum, in nats per record (1.44 bits), 0 if it is
    reached. For ``"shrunk"`` it is below on purpose."""
    steps: int
    """The number of multiplications by the matrix and back; 0 if none was needed."""
    matrix: Stochastic | None = field(repr=False)
    """The matrix of the reported values; None if there are several."""
    reports: Array = field(repr=False)
    """The proportions of the reported values."""
    axes: tuple[Axis, ...] = ()
    """The columns of the table with their categories; empty without labels."""
    _linear: Any = field(default=None, repr=False)
    """The source of errors, unless it is one matrix and equal weights."""
    total: float | None = None
    """The sum of the counts, if weights or a subgroup make it differ from ``records``."""
    notes: tuple[str, ...] = ()
    """The notes below the table."""
    always_valid: bool = False
    """Whether intervals hold at every look; see :meth:`interval`."""

    def __post_init__(self) -> None:
        # Frozen is frozen: arrays too.
        self.frequencies.flags.writeable = False
        self.reports.flags.writeable = False

    def __reduce__(self) -> tuple[object, ...]:
        # A copy is made and frozen again: NumPy does not pickle that an array is.
        return type(self), tuple(getattr(self, one.name) for one in fields(self))

    @property
    def counts(self) -> Array:
        """Estimated counts: frequencies times records, or times the sum of the weights.

        >>> bs.identity(2).estimate(counts=[30, 10]).counts
        array([30., 10.])
        """
        return self.frequencies * (self.records if self.total is None else self.total)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of categories of each column; without labels, of all categories.

        >>> two = {"a": [0, 1], "b": [0, 1]}
        >>> bs.identity(4).estimate(counts=[3, 1, 2, 2], categories=two).shape
        (2, 2)
        """
        return tuple(len(axis.categories) for axis in self.axes) or (len(self.frequencies),)

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the intervals under weights; infinite without weights."""
        return math.inf if self._linear is None else float(self._linear.degrees)

    @property
    def _law(self) -> Stochastic:
        assert self.matrix is not None
        return self.matrix

    @cached
    def _unbiased(self) -> Array:
        """The inverse estimate, which errors and intervals belong to."""
        if self.method == "inverse":
            return self.frequencies
        if self._linear is not None:
            return np.asarray(self._linear.shares)
        return operators.solve(self._law, self.reports)

    @cached
    def _scatter(self) -> Array:
        """Variances of a pseudo-response over all records."""
        return intervals.scatter(self._law, self.reports, self._unbiased)

    @cached
    def standard_errors(self) -> Array:
        """The standard error of each proportion under ``inverse``: the root of its variance.

        * For bounds use :meth:`interval`, never a proportion plus or minus 1.96 standard errors: in
          small tables that covers less than it says.
        * With a sample of one record it is infinite.
        * The other methods are biased and have no errors of their own. ``mle`` and ``simplex``
          agree with ``inverse`` if that is a distribution. So these errors also apply to them, if
          there are many records and no proportion is 0.
        * Beyond some thousand categories they take long, unless the matrix is randomized response,
          a circulant, a permutation or a :func:`kron` of such.

        >>> bs.identity(2).estimate(counts=[50, 50]).standard_errors.round(4)
        array([0.0503, 0.0503])
        """
        if self._linear is not None:
            return np.asarray(np.sqrt(self._linear.variance))
        if self._per_record == math.inf:
            return np.full(self._law.size, math.inf)
        spread = self._scatter
        if self.population == "fixed":
            spread = intervals.within_population(spread, self._unbiased)
        return np.sqrt(spread * self._per_record)

    @property
    def _per_record(self) -> float:
        """The factor from the variance of a pseudo-response to the unbiased one of the mean."""
        if self.population == "fixed":
            return 1 / self.records
        if self._law.size == 1:
            return 0.0
        return 1 / (self.records - 1) if self.records > 1 else math.inf

    @cached
    def covariance(self) -> Array:
        """The covariance matrix of the inverse estimate, computed only when you read it.

        With a sample of one record it is unknown: variances are ``inf``, covariances NaN.

        >>> bs.identity(2).estimate(counts=[50, 50]).covariance.round(4)
        array([[ 0.0025, -0.0025],
               [-0.0025,  0.0025]])
        """
        if self._linear is not None:
            return np.asarray(self._linear.covariance())
        r = self._law.size
        # The unit matrix, its solution and their product.
        _core.require_memory("covariance", r, r, 32)
        if self._per_record == math.inf:
            return intervals.unknown(r)
        # Columns of G; the core rejects what does not fit in memory.
        inverse = operators.solve(self._law, np.eye(r))
        spread = (inverse * self.reports) @ inverse.T
        share, fixed = self._unbiased, self.population == "fixed"
        spread -= np.diag(share) if fixed else np.outer(share, share)
        return np.asarray(spread * self._per_record)

    def interval(
        self,
        confidence: float = 0.95,
        *,
        simultaneous: bool = False,
        always_valid: bool | None = None,
    ) -> Array:
        """Return lower and upper bounds of every proportion, of shape ``(r, 2)``.

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

        The normal intervals are used once the reported values vary enough. They were checked in
        many cases: by enumeration for samples, by simulation for fixed populations, at confidences
        from 0.8 to 1 - 1e-10. In none of them is a proportion missed more often than promised.

        1. The bounds are for the true proportion, whatever the ``method``. A biased estimate may be
           outside of them.
        2. They are cut to [0, 1]. If both are 0, or both are 1, this matrix is unlikely to give
           such reported values.
        3. ``simultaneous=True`` covers all proportions together (Bonferroni).
        4. For randomized response a fixed population gets the intervals of a sample, which are
           wider than necessary.
        5. With weights they are Student's with :attr:`degrees`, which is approximate. In a subgroup
           that was itself protected they are Fieller's.
        6. ``always_valid=True`` is for counts that grow while you watch them: with the stated
           probability no interval misses, at any number of records. They are about twice as wide.
           Records have to be independent, count alike, and come from one and the same population
           all the time. By default this is :attr:`always_valid` of the estimate.

        >>> m = bs.randomized_response(2, keep=0.75)
        >>> m.estimate(counts=[10, 0]).interval().round(3)
        array([[0.883, 1.   ],
               [0.   , 0.117]])
        """
        alpha = 1 - arguments.between("confidence", confidence)
        if _core.as_flag("simultaneous", simultaneous):
            alpha /= len(self.frequencies)
        given = self.always_valid if always_valid is None else always_valid
        watched = _core.as_flag("always_valid", given)
        return self._at_every_look(alpha) if watched else self._interval(alpha)

    @cached
    def _usual(self) -> Array:
        """The intervals that are shown, found once for the table, the picture and the notes."""
        return self.interval()

    def _interval(self, alpha: float) -> Array:
        if self._linear is not None:
            low, high = self._linear.bounds(alpha)
            return np.asarray(np.clip(np.stack([low, high], axis=1), 0.0, 1.0))
        n, matrix = self.records, self._law
        certain, answers = structure.is_certain(matrix), structure.forced(matrix)
        if isinstance(matrix, Matrix):
            still = certain or matrix.truthfulness == 1
        else:
            still = answers is not None and answers[0] == 1
        if len(self.frequencies) == 1 or (self.population == "fixed" and still):
            # Nothing was randomized.
            low = high = self._unbiased
        elif certain or answers is not None or basis(matrix) == "flat":
            low, high = intervals.response_bounds(matrix, self.reports, self._unbiased, n, alpha)
        else:
            ends, fixed = intervals.extremes(matrix), self.population == "fixed"
            low, high = intervals.mean_bounds(
                self._unbiased, self._scatter, ends, n, alpha, fixed=fixed
            )
        return np.clip(np.stack([low, high], axis=1), 0.0, 1.0)

    def _at_every_look(self, alpha: float) -> Array:
        self._refuse_unlike("always_valid")
        linear = self._linear
        if self.population == "fixed":
            must = "be used with records that are a sample"
            raise Refused("always_valid", must, "population='fixed'")
        if linear is None:
            counts, cells = self.reports * self.records, len(self.frequencies)
        else:
            counts, cells = linear.tallies.whole.reshape(-1), linear.map.cells
        codes = np.eye(len(counts))
        _core.require_memory("always_valid", len(counts), cells, 32)
        added = operators.solve(self._law, codes).T if linear is None else linear.map.of(codes)
        found = [intervals.at_every_look(column, counts, alpha) for column in added.T]
        return np.asarray(np.clip(np.array(found), 0.0, 1.0))

    def poisoning(self, false_records: int) -> Array:
        """Bound how far records that people made up can move each estimated proportion.

        ``false_records`` of the reported values are chosen at will, the others are honest. A
        proportion moves by at most ``f (max_y Q[y, x] - min_y Q[y, x]) / n``, with Q the inverse of
        the matrix and n the records: the stronger the protection, the more one false record moves.
        The bound holds for the method ``inverse``.

        >>> e = bs.randomized_response(2, keep=0.75).estimate(counts=[600, 400])
        >>> e.poisoning(10)
        array([0.02, 0.02])
        """
        many = _core.as_whole("false_records", false_records, 0)
        if many > self.records:
            must = f"be at most {self.records}, the number of records"
            raise Refused("false_records", must, many)
        self._refuse_unlike("poisoning")
        linear = self._linear
        least, most = intervals.extremes(self._law) if linear is None else linear.map.ends()
        return np.asarray(many * (most - least) / self.records)

    def _refuse_unlike(self, what: str) -> None:
        linear, must = self._linear, "be used with records that count alike"
        if linear is not None and not (linear.exact and linear.tallies.sample.is_plain):
            raise Refused(what, must, "weights, strata or a domain")

    def contains(self, prior: object, confidence: float = 0.95) -> bool:
        """Whether true proportions ``prior`` are compatible with the data, by a chi-square test.

        A share of ``confidence`` of all data are compatible with the proportions they come from.
        The statistic is ``n sum of (reported_v - (P^T prior)_v)^2 / (P^T prior)_v``. If a category
        is expected to be reported rarely, the limit is raised. Categories with an expected number
        of records below ``1 / r`` count as one.

        >>> e = bs.randomized_response(3, epsilon=2).estimate(counts=[520, 290, 190])
        >>> e.contains([0.59, 0.27, 0.14]), e.contains([0.4, 0.4, 0.2])
        (True, False)
        """
        level = arguments.between("confidence", confidence)
        if self._linear is not None or self.matrix is None:
            must = "be used with records that count alike, drawn from one matrix"
            raise Refused("contains", must, "weights, strata or a domain")
        law = distribution("prior", self.matrix.size, prior)
        expected = np.maximum(operators.apply(self.matrix, law), 0.0)
        possible = expected > 0
        if self.reports[~possible].any():
            return False
        n = self.records
        return intervals.region(n * expected[possible], n * self.reports[possible], level)

    def to_columns(self) -> dict[str, np.ndarray]:
        """Return the table as arrays by name, of which any library makes its own table.

        There is a row for each cell. The columns of the table come first, then ``reported``,
        ``frequency``, ``count`` (with labels), ``standard_error``, ``low`` and ``high``. A wide
        table is ``e.counts.reshape(e.shape)``.

        >>> found = bs.identity(2).estimate(counts=[3, 1], categories={"a": ["x", "y"]})
        >>> found.to_columns()["a"], found.to_columns()["count"]
        (array(['x', 'y'], dtype='<U1'), array([3., 1.]))
        """
        levels = {}
        for name, values in self._levels().items():
            # Of their type if they share one, else objects.
            plain = set(map(type, values)) in ({bool}, {int}, {float}, {str})
            levels[name] = np.array(values, dtype=None if plain else object)
        return {**levels, **self._columns()}

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain Python values, for JSON; numbers that are unknown are None.

        >>> estimate = bs.identity(2).estimate(counts=[3, 1], categories={"a": ["x", "y"]})
        >>> estimate.to_dict()["table"][1]
        {'a': 'y', 'reported': 0.25, 'frequency': 0.25, 'count': 1.0, ...}
        """
        plain: dict[str, list[object]] = dict(self._levels())
        for name, values in self._columns().items():
            plain[name] = [x if math.isfinite(x) else None for x in values.tolist()]
        rows = zip(*plain.values(), strict=True)
        return {
            "records": self.records,
            "method": self.method,
            "population": self.population,
            "table": [dict(zip(plain, row, strict=True)) for row in rows],
            "notes": list(self.notes),
        }

    def plot(self, *, axes: object = None) -> "Figure":
        """Plot reported and estimated proportions, with 95% error bars; return the figure.

        ``axes`` are matplotlib axes to draw into. Without them a figure is made.

        >>> m = bs.randomized_response(2, keep=0.75)
        >>> figure = m.estimate(counts=[60, 40], categories=["no", "yes"]).plot()
        >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
        ['no', 'yes']
        """
        from bistochastic.plot import estimate

        return estimate(self, axes=axes)

    def _levels(self) -> dict[str, list[object]]:
        places = np.unravel_index(np.arange(len(self.frequencies)), self.shape)
        return {
            axis.name: [axis.categories[i] for i in place.tolist()]
            for axis, place in zip(self.axes, places, strict=False)
        }

    def _columns(self, *, errors: bool = True) -> dict[str, Array]:
        shares = {"reported": self.reports, "frequency": self.frequencies}
        if self.axes:
            shares["count"] = self.counts
        if not errors:
            return shares
        low, high = self._usual.T
        return {**shares, "standard_error": self.standard_errors, "low": low, "high": high}

    @property
    def _is_quick(self) -> bool:
        if self._linear is not None:
            return not self._linear.tallies.sample.lost
        return intervals.is_quick(self._law)

    def _rows(self, most: int = 20) -> tuple[list[str], list[list[str]]]:
        # Printing must not take long.
        columns = self._columns(errors=self._is_quick)
        r = len(self.frequencies)
        shown = list(range(r)) if r <= most else [*range(most // 2), *range(r - most // 2, r)]
        form = f".{self._decimals()}f" if r <= 1000 else ".3g"
        forms = {name: ",.0f" if name == "count" else form for name in columns}
        words: list[Sequence[object]] = [*(axis.words() for axis in self.axes)] or [range(r)]
        places = zip(*np.unravel_index(shown, self.shape), strict=True)
        rows = [
            [*(str(each[i]) for each, i in zip(words, at, strict=True)),
             *(f"{column[v]:{forms[name]}}" for name, column in columns.items())]
            for v, at in zip(shown, places, strict=True)
        ]  # fmt: skip
        header = [axis.name for axis in self.axes] or ["category"]
        if r > most:
            rows.insert(most // 2, ["..."] * (len(columns) + len(header)))
        return [*header, *columns], rows

    def _decimals(self) -> int:
        """Choose decimals that show two digits of a typical standard error."""
        errors = self.standard_errors if self._is_quick else np.array([0.5 / self.records**0.5])
        errors = errors[(errors > 0) & np.isfinite(errors)]
        if not len(errors):
            return 4
        return min(max(1 - math.floor(math.log10(float(np.median(errors)))), 2), 6)

    def _title(self) -> str:
        gap = f", gap {self.gap:.1e} nats per record" if self.gap > 0 else ""
        records = "1 record" if self.records == 1 else f"{self.records:,} records"
        if self._linear is not None:
            sample = self._linear.tallies.sample
            records += f" with weights of {self.total:,.6g}" * sample.weighted
            known = not sample.is_plain and not sample.lost
            records += f", {self.degrees:,.0f} degrees of freedom" * known
        later = "95% intervals" if self._is_quick else "intervals on request"
        people = ", a fixed population" if self.population == "fixed" else ""
        return f"from {records} (method: {self.method}{people}, {later}{gap})"

    def _remarks(self) -> list[str]:
        found = list(self.notes)
        below = int(np.count_nonzero(self.frequencies < -_TINY)) if self.method == "inverse" else 0
        if below:
            are = "1 cell is" if below == 1 else f"{below:,} cells are"
            cure = 'method="mle" gives proportions from 0 to 1'
            found.append(f"{are} estimated below 0, which noise can cause; {cure}")
        if not self._is_quick:
            return found
        if self.method not in ("inverse", "classes"):
            found.append("standard errors and bounds are from the method inverse")
        bounds = self._usual
        flat = bounds[:, 0] == bounds[:, 1]
        if flat.any():
            shares = self._unbiased[flat]
            sure = (self.standard_errors[flat] == 0) & (shares > -1e-9) & (shares < 1 + 1e-9)
            found += [_CERTAIN] * bool(sure.any()) + [_NO_WIDTH] * bool((~sure).any())
        return found

    def to_text(self) -> str:
        """Write the table with all its rows; printing leaves out the middle of a long one.

        >>> len(bs.identity(30).estimate(counts=[1] * 30).to_text().splitlines())
        33
        """
        return self._text(len(self.frequencies))

    def _text(self, most: int) -> str:
        left = range(max(1, len(self.axes)))
        lines = [f"Estimated {self._title()}", table(*self._rows(most), left=left)]
        if notes := self._remarks():
            lines += ["", "Notes:", *(f"  {each}" for each in notes)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self._text(20)
