"""``Matrix``: the class that users see, over the core's law.

What it does itself is thin: :mod:`operators`, :mod:`estimate`, :mod:`profile` and the others do the
work. Laws, measures and draws are inherited from the core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from bistochastic import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from bistochastic.estimate import Estimate
    from bistochastic.measures.profile import Profile
    from bistochastic.numeric.displacement import Displacement
    from bistochastic.permutations.decomposition import Decomposition


def _refused(sign: str) -> Callable[[Any, object], NoReturn]:
    """Arithmetic that NumPy would else refuse in words about something else."""

    def refuse(_self: Any, _other: object) -> NoReturn:
        must = "be asked of arrays, as `to_dense()` gives them"
        raise TypeError(f"`{sign}` must {must}; got a Matrix")

    return refuse


class Matrix(_core.Law):
    """A bistochastic matrix: exact rational laws, one a row.

    Row ``u`` gives the probability with which the true category ``u`` is reported as each ``v``.
    All rows and columns sum to 1, exactly. Matrices come from the functions of their families
    (:func:`randomized_response`, :func:`k_anonymous`, ...) or from :func:`build`; they are
    immutable, hashable, picklable, and equal where family and realised parameters are.

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

    def __init_subclass__(cls, **_named: Any) -> NoReturn:
        raise TypeError("type 'bistochastic.Matrix' is not an acceptable base type")

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """``np.asarray(m)``: the same as :meth:`to_dense`, in any type of NumPy's.

        Arithmetic does not use it: ``x @ m`` and ``m + x`` raise TypeError, since a matrix that
        became an array without a word may be far larger than anyone meant. The numbers are written
        anew every time, so that ``copy=False`` raises ``ValueError``.

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
            must = "be None or True, since the numbers are written anew"
            raise ValueError(f"`copy` must {must}; got False")
        numbers = self.to_dense()
        if dtype is None or np.dtype(dtype) == numbers.dtype:
            return numbers
        _core.require_memory("to_dense", self.size, self.size, np.dtype(dtype).itemsize)
        return numbers.astype(dtype)

    __add__ = __radd__ = _refused("+")
    __sub__ = __rsub__ = _refused("-")
    __mul__ = __rmul__ = _refused("*")
    __truediv__ = __rtruediv__ = _refused("/")

    def to_json(self) -> str:
        """The matrix as JSON, for other programs and machines: :meth:`from_json` reads it.

        Family and realised parameters, which are the law exactly, with :attr:`requested` beside
        them. Whole numbers beyond 2^53 and fractions are text, so that no reader rounds them. The
        matrices of a composite stand under ``parts``, each once. Equal matrices with equal requests
        give equal texts, on any platform. ``schemas/matrix.json`` in the package is a JSON Schema
        of it. Raises :class:`bistochastic.errors.OutOfMemoryError` where it would not fit.

        >>> print(bs.randomized_response(3, keep=0.5).to_json())
        {"format": "bistochastic.matrix", "version": 1, "family": "randomized_response",
        "parameters": {"size": 3, "keep": "1/2"}, "requested": {"size": 3, "keep": 0.5}}
        """
        from bistochastic import exchange

        return exchange.to_json(self)

    @staticmethod
    def from_json(text: str) -> Matrix:
        """The matrix that :meth:`to_json` wrote: equal, with the same :attr:`requested`.

        The text may come from a stranger: it is checked as the parameters of any matrix are. What
        is wrong raises ``ValueError`` with one sentence that names its place; so does a requested
        beta or epsilon that the matrix does not keep.

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
        """``P.T @ x``: the expected reports of frequencies ``x``, by the structure of the matrix.

        ``x`` is a vector of ``size`` finite numbers, or an array with one column per vector; the
        result has its shape, in float64. Structured families take O(r) or O(r log r), :func:`kron`
        goes axis by axis, ``a @ b`` factor by factor.

        >>> bs.blocks([1, 2]).apply([10, 3, 5])
        array([10.,  4.,  4.])
        """
        from bistochastic import operators

        return operators.apply(self, x)

    def solve(self, y: ArrayLike) -> NDArray[np.float64]:
        """The ``x`` with ``apply(x) = y``: frequencies before randomization, possibly negative.

        Unbiased. Takes what :meth:`apply` takes. Errors of ``y`` grow by up to :attr:`condition`.
        Raises :class:`bistochastic.errors.SingularMatrixError`, with what can still be told apart,
        where :attr:`is_singular`.

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

        The largest singular value is 1, so this is the inverse of the least one; ``inf`` where that
        is 0 or, found by a transform or elimination, cannot be told from it (below 2^-50). Dense
        matrices take a singular value decomposition. For a very large product of matrices of
        different structure it is found by iteration and may come out low; :meth:`profile` says so.

        >>> round(bs.randomized_response(12, epsilon=3).condition, 6)
        1.628748
        >>> bs.blocks([3, 3]).condition
        inf
        """
        from bistochastic import operators

        return operators.condition(self)

    @property
    def is_singular(self) -> bool:
        """Whether the matrix is singular: known exactly, or its :attr:`condition` exceeds 2^50.

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
    ) -> Profile:
        """Everything the matrix can tell, each number exact, a bound, or not computed and why.

        Beta beside the worst row and column, what an attacker can do (capacity, guessing, leakage,
        epsilon, deniability) and what an analyst can still learn (rank, condition). ``cost`` is an
        array of ``size x size`` numbers, or ``"ordinal"`` for ``|u - v|``, and adds the metric
        epsilon and the expected cost; ``prior`` is a distribution over the categories, and adds
        what an attacker with that prior is left with. At most about ten seconds, unless ``full``.

        >>> p = bs.blocks([10, 1, 1]).profile()
        >>> p.worst_row, round(p.capacity, 6), p["epsilon"].status
        (0.0, 1.584963, 'exact')
        """
        from bistochastic.measures.assemble import profile_of

        whole = _core.as_flag("full", full)
        return profile_of(self, cost=cost, prior=prior, full=whole)

    def deniability(self, gamma: float) -> int:
        """The largest k such that every report has k truths within ``gamma`` of the true one.

        (k, gamma)-plausible deniability: ``min over u, v with p_uv > 0`` of the number of ``w``
        with ``1/gamma <= p_uv/p_wv <= gamma``, ``u`` itself included. At gamma 1 it is the k of
        k-anonymity, at ``e^epsilon`` the size; with gamma ``inf`` it counts the truths that a
        report leaves possible. Of very large matrices a smaller number that is certain;
        :meth:`profile` says which.

        >>> bs.k_anonymous(12, k=3).deniability(1)
        3
        >>> bs.randomized_response(12, epsilon=1).deniability(3)
        12
        """
        from bistochastic import measures

        return measures.deniability(self, gamma)

    def posterior(self, v: int, prior: ArrayLike | None = None) -> NDArray[np.float64]:
        """What a report ``v`` says of the truth: ``Pr(u | v)`` for every ``u``.

        Under a uniform prior this is column ``v``; otherwise it is proportional to
        ``prior[u] * p_uv``.

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
    ) -> Estimate:
        """Frequencies of the original from reports: ``codes``, or ``counts`` of them.

        ``method`` is ``"inverse"`` (unbiased, may be negative), ``"mle"`` (maximum likelihood, a
        distribution), ``"simplex"`` (the distribution nearest to the inverse) or ``"shrunk"``
        (likelihood drawn towards uniform, or of a :func:`kron` towards the product of its
        marginals, by a weight that is read off the reports: for few records or much noise).
        ``population`` is ``"sampled"`` where the records are a sample of those to be described,
        ``"fixed"`` where they are all of them (PRAM). Of a :func:`kron` counts may be a table with
        an axis a factor. Counts with labels (pandas) must be in the order of the codes: whole
        numbers from 0 up, text sorted, a categorical by its categories. Reports follow
        ``lambda = P.T @ pi``, so that the inverse is :meth:`solve` of their shares. Codes out of
        range, negative counts, another number of them and no records at all raise ``ValueError``.
        A singular matrix raises
        :class:`bistochastic.errors.SingularMatrixError`; ``classes=True`` estimates the totals of
        its classes, which blocks report as they are.

        >>> m = bs.randomized_response(3, epsilon=2)
        >>> m.estimate([0, 0, 1, 2, 0, 1, 0, 0]).counts.round(2)
        array([6.1 , 1.69, 0.22])
        """
        from bistochastic import estimate

        return estimate.estimate(
            self, codes, counts=counts, method=method, population=population, classes=classes
        )

    def required_records(self, tolerance: float, *, confidence: float = 0.95) -> int:
        """How many records, a sample, bring every share's normal interval within ``tolerance``.

        Whatever the shares: ``z^2 / tolerance^2`` times the largest variance that a pseudo-response
        can have, z the normal quantile of ``confidence``; a bound of it for structured matrices
        beyond 4096 categories, but for randomized response, circulant and :func:`kron`. What an
        estimate's intervals add for skewness is of the order of one over the records. Numbers
        outside (0, 1) raise ``ValueError``.

        >>> bs.identity(2).required_records(0.01)
        9604
        >>> bs.randomized_response(2, keep=0.75).required_records(0.01)
        38415
        """
        from bistochastic.estimate import planning

        return planning.required_records(self, tolerance, confidence)

    def standard_error(self, prior: ArrayLike, records: int) -> NDArray[np.float64]:
        """The standard error of each share under ``inverse``, before any record is drawn.

        ``prior`` is what the true shares are thought to be, ``records`` how many are sampled. The
        root of ``(sum over w of G_vw^2 lambda_w - prior_v^2) / records``, with ``G`` the inverse of
        ``P.T`` and ``lambda = P.T @ prior``. Raises ``ValueError`` where ``prior`` is no
        distribution or ``records`` is below 1.

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
        progress: Callable[[float], object] | None = None,
    ) -> Decomposition:
        """Theorem 1 (Birkhoff): the matrix as a weighted sum of permutations, exactly.

        All is done in whole numbers: the weights sum to 1 and the terms to the matrix, with ``==``.

        ``policy="bottleneck"`` takes the permutation whose smallest entry is largest, again and
        again: few terms, largest first. ``"any"`` takes the next best one: up to ``r^2 - 2r + 2``
        terms, each close to the one before, at a microsecond or so each. Identity, permutation,
        T-transform, uniform, randomized response, circulant, tridiagonal, blocks and k-anonymity
        have closed forms, and ``kron`` is decomposed by its factors, whatever the policy; their
        permutations are described, not stored.

        ``bits`` moves the matrix to the coarser grid ``2**-bits`` first, which makes fewer terms,
        or raises if an entry would vanish. A mixture or product whose common denominator reaches
        2^63 needs it. ``mass`` and ``max_terms`` stop early; what is missing is the ``residual``.
        ``restarts`` tries other orders for the bottleneck, on small matrices shorter steps too,
        and keeps the fewest terms. The result does not depend on the number of threads.
        ``progress`` is called with the share that is done a few times a second; Ctrl-C stops the
        work.

        A mixture of J permutations hides at most log2 J bits of a whole column: compare
        ``joint_entropy`` with what records randomized one by one would have.

        >>> m = bs.dense([[5, 2, 1], [1, 4, 3], [2, 2, 4]])
        >>> d = m.decompose()
        >>> [(str(weight), permutation.tolist()) for weight, permutation in d]
        [('1/2', [0, 1, 2]), ('1/4', [1, 2, 0]), ('1/8', [0, 2, 1]), ('1/8', [2, 0, 1])]
        >>> sum(d.exact_weights) == 1 and bool((d.reconstruct() == m.to_dense()).all())
        True
        >>> bs.tridiagonal(0.3, size=1000).decompose().terms
        3
        """
        return _core.decompose(self, policy, bits, mass, max_terms, restarts, progress)

    def permute(
        self,
        values: Any,
        *,
        order: ArrayLike | Literal["rank"] | None = None,
        key: _core.Key | None = None,
        stream: str | None = None,
        allow_shift: bool = False,
    ) -> Any:
        """The values of ``size`` individuals, moved by one random permutation.

        ``out[s[u]] = values[u]`` with the ``s`` of :meth:`sample_permutation` for the same key and
        stream: everybody's value is kept, and ``apply(values)`` is expected in each place. Values
        of any type, rows of a table, series and Arrow arrays come back in what they came in.

        ``order`` says who is next to whom: None as the rows stand, ``"rank"`` by the values
        themselves, ties in random order, or an array with the row at each place, as
        ``np.argsort(ages)``. :meth:`displacement` tells how far values move.

        What a whole column would share is refused unless ``allow_shift=True``: a :func:`kron` (all
        classes are shuffled alike), a :func:`mix` (one part is drawn for everybody; blocks with two
        or more in every class may be mixed), a :func:`circulant` (one shift for all). Matrices that
        are drawn entry by entry are refused beyond 4096 individuals.

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
        values: Any,
        *,
        order: ArrayLike | Literal["rank"] | None = None,
        allow_invertible: bool = False,
        key: _core.Key | None = None,
        stream: str | None = None,
    ) -> Any:
        """Microaggregation: everybody's value becomes the mean of their class.

        :meth:`apply` for releases. Only :func:`uniform` and :func:`blocks` with two or more in
        every class are accepted; their k is ``deniability(1)``. Every other product with a public
        matrix can be undone, by anybody or by who knows a few values, so it raises
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
        """How far :meth:`permute` moves values, in shares of the ranks, from the matrix alone.

        On ranks neighbours are close, so that beta alone sounds like more than it is. Of products,
        and of matrices without a structure, up to 4096 individuals.

        >>> print(bs.k_anonymous(1000, share=0.05).displacement())
        individuals            1000
        beta of the column     0.5663
        joint entropy          4284.16 bits, 0.5023 of all orders
        mean move              1.6660% of the ranks
        10 % move at most      0.3000%
        half move at most      1.5000%
        90 % move at most      3.4000%
        do not move            2.0000% of the records
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
