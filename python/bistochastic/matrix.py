"""``Matrix``: the class that users see, over the core's law.

It does little itself. :mod:`operators`, :mod:`estimate`, :mod:`measures` and others do the work.
Laws, measures and draws are inherited from the core.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from bistochastic import _core
from bistochastic.progress import watched

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from bistochastic.estimate import Estimate
    from bistochastic.measures.profile import Profile
    from bistochastic.numeric.displacement import Displacement
    from bistochastic.permutations.decomposition import Decomposition
    from bistochastic.progress import Progress


def _refused(sign: str) -> Callable[[object, object], NoReturn]:
    """Arithmetic that NumPy would else reject in words about something else."""

    def refuse(_self: object, _other: object) -> NoReturn:
        must = "be asked of arrays, as `to_dense()` gives them"
        raise TypeError(f"`{sign}` must {must}; got a Matrix")

    return refuse


def _randomize(matrix: Matrix, codes: Any, **options: Any) -> Any:
    """Draw as the core does; a column of another library comes back as one."""
    if type(codes) is np.ndarray or type(codes) is list:
        return _core.Law.randomize(matrix, codes, **options)
    from bistochastic.adapters import door, values

    plain = values.codes_of(codes, matrix.size)
    return door.recoded(codes, _core.Law.randomize(matrix, plain, **options))


class Matrix(_core.Law):
    """A bistochastic matrix, with exact fractions as its entries.

    Row ``u`` gives the probability with which the true category ``u`` is reported as each ``v``.
    All rows and columns sum to 1, exactly. Matrices come from the functions of their families
    (:func:`randomized_response`, :func:`k_anonymous`, ...) or from :func:`build`. They are
    immutable, hashable and picklable. Two are equal if family and realized parameters are.

    >>> import bistochastic as bs
    >>> m = bs.randomized_response(12, beta=0.6)
    >>> m
    <Matrix randomized_response 12 x 12: beta 0.6, epsilon 3.01077, exact>
    >>> sum(m.exact_row(3)) == 1
    True
    """

    # Where it is found, whatever file it is written in.
    __module__ = "bistochastic"
    __slots__ = ()

    def __init_subclass__(cls, **_named: object) -> NoReturn:
        raise TypeError("type 'bistochastic.Matrix' is not an acceptable base type")

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        """``np.asarray(m)``: the same as :meth:`to_dense`, in any dtype.

        Arithmetic does not use it: ``x @ m`` and ``m + x`` raise ``TypeError``, because the array
        may be far larger than you expect. Every call writes a new array, so ``copy=False`` raises
        ``ValueError``.

        >>> import numpy as np
        >>> np.asarray(bs.blocks([1, 2]), dtype=np.float32)
        array([[1. , 0. , 0. ],
               [0. , 0.5, 0.5],
               [0. , 0.5, 0.5]], dtype=float32)
        >>> np.ones(3) @ bs.blocks([1, 2])
        Traceback (most recent call last):
            ...
        TypeError: `@` must join two matrices; `to_dense()` gives arrays; got ndarray
        """
        if copy is False:
            must = "be None or True, since the numbers are always written again"
            raise ValueError(f"`copy` must {must}; got False")
        numbers = self.to_dense()
        if dtype is None or np.dtype(dtype) == numbers.dtype:
            return numbers
        _core.require_memory("to_dense", self.size, self.size, np.dtype(dtype).itemsize)
        return numbers.astype(dtype)

    if not TYPE_CHECKING:
        randomize = wraps(_core.Law.randomize)(_randomize)

    __add__ = __radd__ = _refused("+")
    __sub__ = __rsub__ = _refused("-")
    __mul__ = __rmul__ = _refused("*")
    __truediv__ = __rtruediv__ = _refused("/")

    def to_json(self) -> str:
        """The matrix as JSON, for other programs and machines: :meth:`from_json` reads it.

        It holds the family and the realized parameters, which are the law exactly, and
        :attr:`requested`. Integers beyond 2^53 and fractions are text, so that no reader
        rounds them. The matrices inside a composite are listed under ``parts``, each once. Equal
        matrices with equal requests give equal strings, on any platform.

        ``schemas/matrix.json`` in the package describes the format as a JSON Schema. Raises
        :class:`bistochastic.errors.OutOfMemoryError` if the text would not fit in memory.

        >>> print(bs.randomized_response(3, keep=0.5).to_json())
        {"format": "bistochastic.matrix", "version": 1, "family": "randomized_response",
        "parameters": {"size": 3, "keep": "1/2"}, "requested": {"size": 3, "keep": 0.5}}
        """
        from bistochastic import exchange

        return exchange.to_json(self)

    @staticmethod
    def from_json(text: str) -> Matrix:
        """The matrix that :meth:`to_json` wrote: equal, with the same :attr:`requested`.

        The text may come from a stranger, so everything in it is checked. A fault raises
        ``ValueError`` with one sentence that names its place. So does a requested beta or epsilon
        that the matrix does not keep.

        >>> m = bs.kron(bs.randomized_response(12, beta=0.6), bs.uniform(2))
        >>> bs.Matrix.from_json(m.to_json()) == m
        True
        >>> bs.Matrix.from_json(m.to_json().replace("12", "0"))
        Traceback (most recent call last):
            ...
        ValueError: `parts[0].parameters.size` must be from 1 to 9007199254740992; got 0
        """
        from bistochastic import exchange

        return exchange.from_json(text)

    def apply(self, x: ArrayLike) -> NDArray[np.float64]:
        """``P.T @ x``: the expected counts of reports, if the true counts are ``x``.

        ``x`` is a vector of ``size`` finite numbers, or an array with one column per vector. The
        result has the same shape, in float64. Structured families take O(r) or O(r log r) for ``r``
        categories. :func:`kron` goes axis by axis, ``a @ b`` factor by factor.

        >>> bs.blocks([1, 2]).apply([10, 3, 5])
        array([10.,  4.,  4.])
        """
        from bistochastic import operators

        return operators.apply(self, x)

    def solve(self, y: ArrayLike) -> NDArray[np.float64]:
        """The ``x`` with ``apply(x) = y``: counts before randomization, from counts of reports.

        The result is unbiased, so it may be negative. It takes what :meth:`apply` takes. Errors in
        ``y`` grow by a factor of up to :attr:`condition`. If :attr:`is_singular`, it raises
        :class:`bistochastic.errors.SingularMatrixError`, which says what can still be told apart.

        >>> m = bs.randomized_response(4, keep=0.5)
        >>> m.solve(m.apply([8, 4, 2, 1])).round(12)
        array([8., 4., 2., 1.])
        >>> bs.blocks([1, 2]).solve([10, 4, 4])
        Traceback (most recent call last):
            ...
        bistochastic.errors.SingularMatrixError: `solve` must be asked of an invertible matrix; ...
        """
        from bistochastic import operators

        return operators.solve(self, y)

    @property
    def condition(self) -> float:
        """The condition number in the 2-norm: how much errors may grow in :meth:`solve`.

        The largest singular value is 1, so this is one over the smallest. It is ``inf`` if the
        smallest is 0, or below 2^-50 and found by a transform or elimination, which cannot tell it
        from 0. Dense matrices take a singular value decomposition. Of a very large product of
        matrices of different structure it is found by iteration and may be too low;
        :meth:`profile` says so.

        >>> round(bs.randomized_response(12, epsilon=3).condition, 6)
        1.628748
        >>> bs.blocks([3, 3]).condition
        inf
        """
        from bistochastic import operators

        return operators.condition(self)

    @property
    def is_singular(self) -> bool:
        """Whether the matrix cannot be inverted.

        True if that is known exactly, or if :attr:`condition` is above 2^50.

        >>> bs.tridiagonal(0.5, size=4).is_singular, bs.tridiagonal(0.4, size=4).is_singular
        (True, False)
        """
        from bistochastic import operators

        return operators.is_singular(self)

    def profile(
        self,
        *,
        cost: ArrayLike | Literal["ordinal"] | None = None,
        prior: ArrayLike | None = None,
        full: bool = False,
        progress: Progress = None,
    ) -> Profile:
        """All measures of the matrix. Each is exact, a bound, or not computed, with the reason.

        It shows beta beside the worst row and column, what an attacker can do (capacity, guessing,
        leakage, epsilon, deniability) and what an analyst can still learn (rank, condition).

        * ``cost`` is an array of ``size x size`` numbers, or ``"ordinal"`` for ``|u - v|``. It adds
          the metric epsilon (epsilon per unit of cost) and the expected cost.
        * ``prior`` is a distribution over the categories. It adds what an attacker who knows it is
          left with.
        * ``full=True`` computes everything that can be computed. Otherwise what would take long is
          left out, and says so. That depends on the matrix alone, never on the machine.
        * ``progress`` is that of :meth:`decompose`; the share is that of the parts of the profile.

        >>> p = bs.blocks([10, 1, 1]).profile()
        >>> p.worst_row, round(p.capacity, 6), p["epsilon"].status
        (0.0, 1.584963, 'exact')
        """
        from bistochastic.measures.assemble import profile_of

        whole = _core.as_flag("full", full)
        return profile_of(self, cost=cost, prior=prior, full=whole, progress=progress)

    def require(
        self,
        *,
        beta: float | None = None,
        epsilon: float | None = None,
        row_beta: float | None = None,
        column_beta: float | None = None,
    ) -> None:
        """Raise :class:`bistochastic.errors.GuaranteeError` unless the matrix keeps all of these.

        * ``beta``: at least this, on average over the categories
        * ``epsilon``: at most this
        * ``row_beta``: at least this for the least protected category, ``worst_row`` of
          :meth:`profile`
        * ``column_beta``: at least this for the most revealing reported value, ``worst_column``

        >>> bs.randomized_response(12, beta=0.6).require(beta=0.6, column_beta=0.6)
        >>> bs.k_anonymous(12, k=3).require(epsilon=5)
        Traceback (most recent call last):
            ...
        bistochastic.errors.GuaranteeError: `epsilon` must be at most 5; got inf
        """
        from bistochastic import measures

        measures.require(
            self, beta=beta, epsilon=epsilon, row_beta=row_beta, column_beta=column_beta
        )

    def deniability(self, gamma: float) -> int:
        """How many truths explain every report about as well as the true one does.

        (k, gamma)-plausible deniability: the minimum, over all ``u, v`` with ``p_uv > 0``, of the
        number of ``w`` with ``1/gamma <= p_uv / p_wv <= gamma``, ``u`` itself included. At gamma 2
        these are the truths that explain the report at least half as well, and at most twice as
        well.

        * At gamma 1 it is the k of k-anonymity.
        * At ``e^epsilon`` it is the size.
        * At ``inf`` it counts the truths that a report leaves possible.

        Of very large matrices it is a lower bound; :meth:`profile` says where.

        >>> bs.k_anonymous(12, k=3).deniability(1)
        3
        >>> bs.randomized_response(12, epsilon=1).deniability(3)
        12
        """
        from bistochastic import measures

        return measures.deniability(self, gamma)

    def posterior(self, v: int, prior: ArrayLike | None = None) -> NDArray[np.float64]:
        """How likely each truth ``u`` is after a report ``v``: ``Pr(u | v)``.

        It is proportional to ``prior[u] * p_uv``. Without a ``prior`` all truths are taken as
        equally likely before, and the result is column ``v``.

        >>> bs.blocks([1, 2]).posterior(2, prior=[0.5, 0.3, 0.2])
        array([0. , 0.6, 0.4])
        """
        from bistochastic import measures

        return measures.posterior(self, v, prior)

    def estimate(
        self,
        codes: ArrayLike | None = None,
        *,
        counts: ArrayLike | None = None,
        method: Literal["inverse", "mle", "simplex", "shrunk"] = "inverse",
        population: Literal["sampled", "fixed"] = "sampled",
        classes: bool = False,
        categories: object = None,
        records: int | None = None,
        weights: ArrayLike | None = None,
        progress: Progress = None,
        gap: float | None = None,
        seconds: float | None = None,
    ) -> Estimate:
        """Frequencies of the original from its reports.

        Give either the reports, ``codes``, or how many records reported each category, ``counts``.

        ==============  ==========================================================
        ``method``      the result
        ==============  ==========================================================
        ``"inverse"``   unbiased; may be negative; :meth:`solve` of the shares
        ``"mle"``       the distribution under which the reports are most likely
        ``"simplex"``   the distribution nearest to the inverse
        ``"shrunk"``    likelihood drawn towards a guess; for few records or much
                        noise
        ==============  ==========================================================

        The guess of ``"shrunk"`` is uniform, or the product of the marginals of a :func:`kron`. The
        reports decide how far it is drawn.

        ``population`` is ``"sampled"`` if the records are a sample of the people to be described.
        It is ``"fixed"`` if they are all of them (as in PRAM). Then the errors come from
        randomization alone.

        Counts of a :func:`kron` may be a table with one axis per factor. Counts with labels
        (pandas) must be in the order of the codes: integers from 0 up, sorted text, or the
        categories of a categorical.

        ``classes=True`` estimates only the totals of the classes of :func:`blocks`,
        :func:`k_anonymous` and the like, which are reported as they are.

        ``categories`` are their names: a list, or a dict with a list for each column of a joint
        table. The result prints and exports them.

        ``weights`` are survey weights, one per report. The errors are then those of a sample drawn
        with replacement; a plan takes strata, clusters and replicates, too. Never give weighted
        sums as ``counts``, which are numbers of records: with ``records`` a sum above it is
        rejected.

        ``gap`` and ``seconds`` end the search of ``"mle"`` and ``"shrunk"`` early: at a likelihood
        this many nats per record below its maximum, or after this many seconds. ``progress``: a
        function is called with the gap on the way; else a bar appears after two seconds, as in
        :meth:`decompose`.

        Raises

        * ``ValueError`` for codes out of range, negative counts, a wrong number of counts, and no
          records
        * :class:`bistochastic.errors.SingularMatrixError` if the matrix cannot be inverted

        >>> m = bs.randomized_response(3, epsilon=2)
        >>> m.estimate([0, 0, 1, 2, 0, 1, 0, 0]).counts.round(2)
        array([6.1 , 1.69, 0.22])
        >>> m.estimate([0, 0, 1, 2], weights=[1, 2, 1, 1], categories=["no", "yes", "?"])
        Estimated from 4 records with weights of 5, 3 degrees of freedom (method: inverse, 95% ...)
        category  reported  frequency  count  standard_error   low  high
        --------  --------  ---------  -----  --------------  ----  ----
        no            0.60       0.73      4            0.42  0.00  1.00
        yes           0.20       0.14      1            0.32  0.00  1.00
        ?             0.20       0.14      1            0.32  0.00  1.00
        """
        from bistochastic import estimate

        return estimate.estimate(
            self, codes, counts=counts, method=method, population=population, classes=classes,
            categories=categories, records=records, weights=weights, progress=progress, gap=gap,
            seconds=seconds,
        )  # fmt: skip

    def required_records(self, tolerance: float, *, confidence: float = 0.95) -> int:
        """How many sampled records make every share's error at most ``tolerance``.

        This holds whatever the true shares are, with the normal interval of that ``confidence``:
        ``z^2 / tolerance^2`` times the largest variance that one record can add to a share, with
        ``z`` the normal quantile. The intervals of an estimate are a little wider, by a term of the
        order of one over the number of records.

        Beyond 4096 categories the variance is an upper bound, except for randomized response,
        circulant and :func:`kron`. A ``tolerance`` or ``confidence`` outside (0, 1) raises
        ``ValueError``.

        >>> bs.identity(2).required_records(0.01)
        9604
        >>> bs.randomized_response(2, keep=0.75).required_records(0.01)
        38415
        """
        from bistochastic.estimate import planning

        return planning.required_records(self, tolerance, confidence)

    def standard_error(self, prior: ArrayLike, records: int) -> NDArray[np.float64]:
        """The standard error that each share will have, before there are any data.

        ``prior`` is your guess of the true shares, ``records`` how many will be sampled. The error
        is that of the method ``"inverse"``: the root of ``(sum over w of G_vw^2 lambda_w -
        prior_v^2) / records``, with ``G`` the inverse of ``P.T`` and ``lambda = P.T @ prior``.
        Raises ``ValueError`` if ``prior`` is not a distribution or ``records`` is below 1.

        >>> bs.randomized_response(2, keep=0.75).standard_error([0.5, 0.5], 100)
        array([0.1, 0.1])
        """
        from bistochastic.estimate import planning

        return planning.standard_error(self, prior, records)

    def decompose(
        self,
        *,
        policy: str = "bottleneck",
        bits: int | None = None,
        mass: float = 1.0,
        max_terms: int | None = None,
        restarts: int = 1,
        progress: Progress = None,
    ) -> Decomposition:
        """Theorem 1 (Birkhoff): the matrix as a weighted sum of permutations, exactly.

        All is done in integers: the weights sum to 1 and the terms to the matrix, with ``==``.
        The result does not depend on the number of threads. Ctrl-C stops the work.

        * ``policy="bottleneck"`` always takes the permutation whose smallest entry is largest. It
          gives few terms, the largest first. ``"any"`` takes the first permutation it finds: up to
          ``r^2 - 2r + 2`` terms, each close to the one before, at about a microsecond per term.
        * ``bits`` first moves the matrix to the coarser grid ``2**-bits``, which gives fewer terms.
          It raises if an entry would become 0. A mixture or product whose common denominator
          reaches 2^63 needs it.
        * ``mass`` and ``max_terms`` stop early. What is left out is the ``residual``.
        * ``restarts`` tries other orders for ``"bottleneck"``, on small matrices also shorter
          steps, and keeps the fewest terms.
        * ``progress``: a function is called a few times per second with the share that is done.
          Without one, a bar appears after two seconds in a terminal or a notebook, and nothing
          elsewhere; ``True`` shows it at once, ``False`` never.

        Some families have closed forms, whatever the policy: identity, permutation, T-transform,
        uniform, randomized response, circulant, tridiagonal, blocks and k-anonymity. A ``kron`` is
        decomposed by its factors. Their permutations are described, not stored.

        One of J permutations hides at most log2 J bits of a whole column. Compare ``joint_entropy``
        with ``entropy_rate`` times the number of records, which records hide that are randomized
        one by one.

        >>> m = bs.dense([[5, 2, 1], [1, 4, 3], [2, 2, 4]])
        >>> d = m.decompose()
        >>> [(str(weight), permutation.tolist()) for weight, permutation in d]
        [('1/2', [0, 1, 2]), ('1/4', [1, 2, 0]), ('1/8', [0, 2, 1]), ('1/8', [2, 0, 1])]
        >>> sum(d.exact_weights) == 1 and bool((d.reconstruct() == m.to_dense()).all())
        True
        >>> bs.tridiagonal(0.3, size=1000).decompose().terms
        3
        """
        with watched("decomposing", progress) as tell:
            return _core.decompose(self, (policy, bits, mass, max_terms, restarts), tell)

    def permute(
        self,
        values: object,
        *,
        order: ArrayLike | Literal["rank"] | None = None,
        key: _core.Key | None = None,
        stream: str | None = None,
        allow_shift: bool = False,
    ) -> Any:
        """The values of ``size`` individuals, moved by one random permutation.

        ``out[s[u]] = values[u]`` with the ``s`` of :meth:`sample_permutation` for the same key and
        stream: all values are kept, and ``apply(values)`` is expected in each place. Values
        of any type, series and Arrow arrays come back in what they came in. Rows of a table or a
        frame move as a whole: columns that are to part ways are permuted one by one.

        ``order`` says who is next to whom: None as the rows stand, ``"rank"`` by the values
        themselves, ties in random order, or an array with the row at each place, as
        ``np.argsort(ages)``. :meth:`displacement` tells how far values move.

        What a whole column would share is rejected unless ``allow_shift=True``: a :func:`kron` (all
        classes are shuffled alike), a :func:`mix` (one part is drawn for all; blocks with two or
        more in every class may be mixed), a :func:`circulant` (one shift for all). Matrices that
        are drawn entry by entry are rejected beyond 4096 individuals.

        >>> incomes = [21, 25, 30, 18, 47, 52]
        >>> key = bs.Key.insecure(1)
        >>> bs.k_anonymous(6, k=3).permute(incomes, order="rank", key=key, stream="income")
        [25, 18, 30, 21, 52, 47]
        >>> bs.circulant([1, 1, 0, 0, 0, 0]).permute(incomes)
        Traceback (most recent call last):
            ...
        ValueError: `matrix` must move individuals apart from each other unless ...
        """
        from bistochastic.numeric import permute

        shift = _core.as_flag("allow_shift", allow_shift)
        return permute.permute(self, values, order=order, key=key, stream=stream, allow_shift=shift)

    def average(
        self,
        values: object,
        *,
        order: ArrayLike | Literal["rank"] | None = None,
        allow_invertible: bool = False,
        key: _core.Key | None = None,
        stream: str | None = None,
    ) -> Any:
        """Microaggregation: replace the value of each record by the mean of its class.

        :meth:`apply` for releases. Only :func:`uniform` and :func:`blocks` with two or more in
        every class are accepted; their k is ``deniability(1)``. Every other product with a public
        matrix can be undone by anyone, or by anyone with a few values, so it raises
        :class:`bistochastic.errors.InvertibleReleaseError` with the rank of the matrix unless
        ``allow_invertible=True``. Nothing is drawn, so the result has no beta.

        ``order`` is that of :meth:`permute`; a key is used for ties of ``"rank"`` alone. One column
        or several, in float64 and in what they came in. Within one unit in the last place of the
        exact average for classes, tridiagonal and randomized response, elsewhere within 1e-12 of
        the largest value.

        >>> m = bs.k_anonymous(6, k=3)
        >>> m.average([21, 25, 30, 18, 47, 52], order="rank"), m.deniability(1)
        ([21.333333333333332, 21.333333333333332, 43.0, 21.333333333333332, 43.0, 43.0], 3)
        >>> bs.tridiagonal(0.5, size=6).average([21, 25, 30, 18, 47, 52])
        Traceback (most recent call last):
            ...
        bistochastic.errors.InvertibleReleaseError: ... got a matrix of rank 5 out of 6, which ...
        """
        from bistochastic.numeric import average

        named = _core.as_flag("allow_invertible", allow_invertible)
        return average.average(
            self, values, order=order, allow_invertible=named, key=key, stream=stream
        )

    def displacement(self) -> Displacement:
        """Compute how far :meth:`permute` moves values, as parts of all places, from the matrix.

        On ranks, neighbours are close, so beta sounds like more than it is. Products and matrices
        without a structure are limited to 4096 records.

        >>> print(bs.k_anonymous(1000, share=0.05).displacement())
        records             1000
        beta of the column  0.5663
        joint entropy       4284.16 bits, 0.5023 of a full shuffle
        mean move           1.6660% of all places
        10% move at most    0.3000%
        50% move at most    1.5000%
        90% move at most    3.4000%
        all move at most    4.9000%
        do not move         2.0000% of the records
        """
        from bistochastic.numeric import displacement

        return displacement.displacement(self)

    def __repr__(self) -> str:
        from bistochastic import report

        return report.line(self)

    def _repr_html_(self) -> str:
        from bistochastic import report

        return report.html(self)


_core.register(Matrix=Matrix)
